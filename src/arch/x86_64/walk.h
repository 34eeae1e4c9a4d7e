/* SPDX-License-Identifier: GPL-2.0-or-later */
/* arch/walk.h of x86-64. Register numbers: psABI AMD64, figure 3.36. */
#ifndef STRATA_ARCH_X86_64_WALK_H
#define STRATA_ARCH_X86_64_WALK_H

#include "abi/types.h"

#define ARCH_REGISTERS    16u
#define REG_RESULT        0 /* of a system call: RAX */
#define REG_CARRIED       3 /* BX */
#define REG_FP            6
#define REG_SP            7
#define REGS_ALL          0xffffu
#define REGS_SP           (1u << REG_SP)
#define REGS_CARRIED      (1u << REG_CARRIED)
#define REGS_CALLER_SAVED 0x0f37u /* rax, rdx, rcx, rsi, rdi, r8 to r11: figure 3.4 */
#define ARCH_RED_ZONE     128u    /* 3.2.2 */

/*
 * The distance of the CFA from SP, from the code at a PC for which there is no table; 0 or less: the code does not
 * tell. `code` and `more` are its first sixteen bytes, `behind` that the PC is a return address. `*saved` is set when
 * the caller's FP lies at CFA - 16; else it is still in FP. Known are the ends of functions, what they begin with when
 * they have a frame pointer, and stubs that have none, such as CPython's for perf (Python/asm_trampoline.S): `sub $8,
 * %rsp; call *%rcx; add $8, %rsp; ret` up to 3.13.
 */
static __always_inline __s32 arch_code_cfa(__u64 code, __u64 more, bool behind, bool *saved)
{
	__s32 pushed = 0;

	*saved = false;
	if ((code & 0xff) == 0xc3 || (code & 0xff) == 0xc2) /* ret, ret $N */
		return 8;
	if ((code & 0xff80ffffffull) == 0xc300c48348ull) /* add $N, %rsp; ret */
		return 8 + (__s32)((code >> 24) & 0x7f);
	if ((code & 0xffff) == 0xc35d || (code & 0xffff) == 0xc25d) { /* pop %rbp; ret */
		*saved = true;
		return 16;
	}
	if (behind)
		return -1;
	if ((code & 0xffffffff) == 0xfa1e0ff3) { /* endbr64 */
		code = code >> 32 | more << 32;
		more >>= 32;
	}
	if ((code & 0xffffffff) == 0xe5894855 || (code & 0xffffffff) == 0xec8b4855) /* push %rbp; mov %rsp, %rbp */
		return 8;
	if ((code & 0xffffff) == 0xe58948 || (code & 0xffffff) == 0xec8b48) { /* mov %rsp, %rbp */
		*saved = true;
		return 16;
	}
	if ((code & 0x80ffffff) == 0xec8348) { /* sub $N, %rsp */
		pushed = (__s32)((code >> 24) & 0x7f);
		code = code >> 32 | more << 32;
	}
	if ((code & 0xff80fffffff8ffull) == 0xc300c48348d0ffull) /* call *%reg; add $N, %rsp; ret */
		return 8 - pushed + (__s32)((code >> 40) & 0x7f);
	return -1;
}

/*
 * The same for the end of a uretprobe's trampoline, when its system call has put the return address below what was
 * pushed: `pop %r11; pop %rcx; ret` (arch/x86/kernel/uprobes.c, uretprobe_trampoline_entry, since 6.11).
 */
static __always_inline __s32 arch_uretprobe_epilogue(__u64 code)
{
	if ((code & 0xffffffffull) == 0xc3595b41)
		return 16;
	if ((code & 0xffff) == 0xc359)
		return 8;
	return (code & 0xff) == 0xc3 ? 0 : -1;
}

/* What that trampoline pushes, from SP on: R11, CX and AX (uretprobe_trampoline, since 6.11). */
#define URETPROBE_PUSHED 24
#define URETPROBE_PUSHED_REGISTERS                                                                                     \
	{                                                                                                              \
		11, 2, 0                                                                                               \
	}

/* Whether eight bytes begin with a call of UPROBE_CALL_BYTES. */
#define ARCH_IS_CALL(code) (((code)&0xff) == 0xe8)

/* Whether eight bytes may end in a call: `call rel32`, or FF /2 of two to seven bytes (SDM volume 2, CALL). */
static __always_inline bool arch_ends_in_call(__u64 code)
{
	return (code >> 24 & 0xff) == 0xe8 || (code >> 48 & 0x38ff) == 0x10ff || (code >> 40 & 0x38ff) == 0x10ff ||
	       (code >> 32 & 0x38ff) == 0x10ff || (code >> 16 & 0x38ff) == 0x10ff || (code >> 8 & 0x38ff) == 0x10ff;
}

/*
 * The trampoline that a uprobe on a NOP of five bytes calls: `push %rcx; push %r11; push %rax; mov $336, %rax; syscall;
 * pop %rax; pop %r11; pop %rcx; ret` (arch/x86/kernel/uprobes.c, uprobe_trampoline_entry, since 6.18).
 */
#define UPROBE_CALL_BYTES      5
#define UPROBE_CALL            0xe8
#define UPROBE_TRAMPOLINE      0xc0c74850534151ull /* its first bytes, at the beginning of a page */
#define UPROBE_TRAMPOLINE_MASK 0xffffffffffffffull
#define UPROBE_TRAMPOLINE_SIZE 18

/* What lies on the stack above the return address at an offset in it. */
static __always_inline __u32 arch_uprobe_pushed(__u32 offset)
{
	if (offset < 4)
		return offset < 1 ? 0 : offset < 3 ? 8 : 16;
	return offset < 14 ? 24 : offset < 16 ? 16 : offset < 17 ? 8 : 0;
}

#define ARCH_LINKS        0
#define ARCH_RETURN_BYTES 8 /* that a call pushes */

/* No pointers are authenticated. */
#define ARCH_CODE_ADDRESS(word) (word)

/* Frames are no records here. */
enum arch_record { ARCH_RECORD_NONE, ARCH_RECORD_AT_SP, ARCH_RECORD_AT_FP };

static __always_inline enum arch_record arch_record_by_code(__u32 code)
{
	(void)code;
	return ARCH_RECORD_AT_FP;
}

/* The first words of a struct sigcontext (arch/x86/include/uapi/asm/sigcontext.h). */
#define ARCH_SIGNAL_WORDS 17

/* r8-r15, di, si, bp, bx, dx, ax, cx, sp, ip. */
static __always_inline void arch_restore_signal(const __u64 *saved, __u64 *registers, __u64 *pc)
{
	registers[8] = saved[0];
	registers[9] = saved[1];
	registers[10] = saved[2];
	registers[11] = saved[3];
	registers[12] = saved[4];
	registers[13] = saved[5];
	registers[14] = saved[6];
	registers[15] = saved[7];
	registers[5] = saved[8];
	registers[4] = saved[9];
	registers[REG_FP] = saved[10];
	registers[REG_CARRIED] = saved[11];
	registers[1] = saved[12];
	registers[0] = saved[13];
	registers[2] = saved[14];
	registers[REG_SP] = saved[15];
	*pc = saved[16];
}

/* SBCL's code: see runtime/sbcl/bpf/step.h. `before` and `code`: the eight bytes before PC, and from it on. */
#define ARCH_HAS_LISP                   1
#define LISP_ENTERED(code)              (((code)&0xffffff) == 0x08458f)
#define LISP_MAKES_FRAME(before, code)  ((before) >> 32 == 0x242c8948 && ((code)&0xffffff) == 0xec8b48)
#define LISP_RETURNS_MANY(before, code) ((before) >> 32 == 0x006d8b48 && ((code)&0xffffff) == 0xf873ff)
/* Of the eight bytes before a return address: `call *word`, whose address is the last four; `call routine`. */
#define LISP_CALLS_BY_WORD(call) (((call) >> 8 & 0xffffff) == 0x2514ff)
#define LISP_CALLS(call)         (((call) >> 24 & 0xff) == 0xe8)

/* Does FP belong to a frame that was made but not yet entered? */
static __always_inline bool lisp_made_frame(__u64 before, __u64 code)
{
	__u32 setting = before & 0xffffffff; /* of FP, and the next instruction's first byte */

	return before >> 8 == 0xec8b48242c8948ull || (before >> 16 & 0xf8fffff8ffffull) == 0xe88b49288949ull ||
	       ((setting == 0xb8ec8b48 || (setting & 0xfff8ffff) == 0xb8e88b49) && (code & 0xffff) == 0xd0ff);
}

#endif
