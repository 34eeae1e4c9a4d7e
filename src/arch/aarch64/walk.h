/* SPDX-License-Identifier: GPL-2.0-or-later */
/* arch/walk.h of AArch64. Register numbers: AADWARF64, 4.1. */
#ifndef STRATA_ARCH_AARCH64_WALK_H
#define STRATA_ARCH_AARCH64_WALK_H

#include "abi/types.h"

#define ARCH_REGISTERS    32u
#define REG_RESULT        0 /* of a system call: x0 */
#define REG_FP            29
#define REG_CARRIED       30 /* LR */
#define REG_SP            31
#define REGS_ALL          0xffffffffu
#define REGS_SP           (1u << REG_SP)
#define REGS_CARRIED      (1u << REG_CARRIED)
#define ARCH_RED_ZONE     0u
#define REGS_CALLER_SAVED (0x3ffffu | REGS_SP) /* x0 to x17, AAPCS64 6.1.1; x18 is the platform's */

#define ARCH_LINKS        1
#define ARCH_RETURN_BYTES 0 /* that a call pushes */

/*
 * A return address may be signed (FEAT_PAuth): what is above the bits of an address holds the signature then. Programs
 * have 48 bits (arch/arm64/include/asm/processor.h, DEFAULT_MAP_WINDOW), more only of what they ask for above that.
 */
#define ARCH_CODE_ADDRESS(word) ((word)&0xffffffffffffull)

/* Where the frame record, {FP, LR} of the caller, is when the instruction at a PC is about to be executed. */
enum arch_record {
	ARCH_RECORD_NONE,  /* not made yet, or no more: LR is the return address */
	ARCH_RECORD_AT_SP, /* made at SP, and FP is still the caller's, or again */
	ARCH_RECORD_AT_FP
};

static __always_inline enum arch_record arch_record_by_code(__u32 code)
{
	/* ret; paciasp, pacibsp, autiasp, autibsp; retaa, retab; bti */
	if (code == 0xd65f03c0 || (code & 0xffffff3f) == 0xd503233f || (code & 0xfffffbff) == 0xd65f0bff ||
	    (code & 0xffffff3f) == 0xd503241f)
		return ARCH_RECORD_NONE;
	if ((code & 0xffc07fff) == 0xa9807bfd) /* stp x29, x30, [sp, #-N]! */
		return ARCH_RECORD_NONE;
	if (code == 0x910003fd) /* mov x29, sp */
		return ARCH_RECORD_AT_SP;
	return ARCH_RECORD_AT_FP;
}

/* A struct sigcontext from its regs on (arch/arm64/include/uapi/asm/sigcontext.h): x0 to x30, sp, pc. */
#define ARCH_SIGNAL_WORDS 33

static __always_inline void arch_restore_signal(const __u64 *saved, __u64 *registers, __u64 *pc)
{
	int i;

	for (i = 0; i < 32; i++)
		registers[i] = saved[i];
	*pc = saved[32];
}

static __always_inline __s32 arch_code_cfa(__u64 code, __u64 more, bool behind, bool *saved)
{
	(void)code;
	(void)more;
	(void)behind;
	*saved = false;
	return -1; /* see arch_record_by_code() */
}

/*
 * Uprobes: a uretprobe changes LR when the function is entered, and the trampoline is one breakpoint; nothing is pushed
 * (arch/arm64/kernel/probes/uprobes.c). No uprobe is a call.
 */
#define URETPROBE_PUSHED 0
#define URETPROBE_PUSHED_REGISTERS                                                                                     \
	{                                                                                                              \
		0, 0, 0                                                                                                \
	}
#define UPROBE_CALL_BYTES      4
#define UPROBE_CALL            0
#define UPROBE_TRAMPOLINE_SIZE 0
#define UPROBE_TRAMPOLINE      0
#define UPROBE_TRAMPOLINE_MASK 0
#define ARCH_IS_CALL(code)     (((code)&0xfc000000) == 0x94000000)

/* Whether eight bytes end in BL or BLR (Arm ARM C4.1). */
static __always_inline bool arch_ends_in_call(__u64 code)
{
	return ARCH_IS_CALL(code >> 32) || (code >> 32 & 0xfffffc1f) == 0xd63f0000;
}

static __always_inline __s32 arch_uretprobe_epilogue(__u64 code)
{
	(void)code;
	return -1;
}

static __always_inline __u32 arch_uprobe_pushed(__u32 offset)
{
	(void)offset;
	return 0;
}

#define ARCH_HAS_LISP 0

#endif
