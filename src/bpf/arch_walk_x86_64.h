/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the native walker needs to know of x86-64: register numbers and what a signal leaves on the stack. Plain C, for
 * BPF and the host. Register numbers are DWARF's (psABI AMD64, figure 3.36).
 */
#ifndef STRATA_BPF_ARCH_WALK_X86_64_H
#define STRATA_BPF_ARCH_WALK_X86_64_H

#include "bpf/scratch.h"
#include "bpf/shim.h"

#define REG_RESULT        0 /* of a system call: RAX */
#define REG_BX            3
#define REG_FP            6
#define REG_SP            7
#define REGS_ALL          0xffffu
#define REGS_BX           (1u << REG_BX)
#define REGS_CALLER_SAVED 0x0f37u /* rax, rdx, rcx, rsi, rdi, r8 to r11: figure 3.4 */

/*
 * How many bytes of stack the code at a PC gives back before it returns, when that is all that it does:
 * `add $N, %rsp; ret` or `ret`. `code` is its first eight bytes. -1 when it does anything else.
 */
static __always_inline __s32 arch_epilogue(__u64 code)
{
	if ((code & 0xff) == 0xc3)
		return 0;
	if ((code & 0xff80ffffffull) == 0xc300c48348ull)
		return (code >> 24) & 0x7f;
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

/*
 * Takes the registers from walk->signal_registers, the first words of a struct sigcontext
 * (arch/x86/include/uapi/asm/sigcontext.h): r8-r15, di, si, bp, bx, dx, ax, cx, sp, ip.
 */
static __always_inline void arch_restore_signal(struct native_walk *walk)
{
	const __u64 *saved = walk->signal_registers;

	walk->registers[8] = saved[0];
	walk->registers[9] = saved[1];
	walk->registers[10] = saved[2];
	walk->registers[11] = saved[3];
	walk->registers[12] = saved[4];
	walk->registers[13] = saved[5];
	walk->registers[14] = saved[6];
	walk->registers[15] = saved[7];
	walk->registers[5] = saved[8];
	walk->registers[4] = saved[9];
	walk->registers[REG_FP] = saved[10];
	walk->registers[REG_BX] = saved[11];
	walk->registers[1] = saved[12];
	walk->registers[0] = saved[13];
	walk->registers[2] = saved[14];
	walk->registers[REG_SP] = saved[15];
	walk->pc = saved[16];
	walk->sp = saved[15];
	walk->fp = saved[10];
}

#endif
