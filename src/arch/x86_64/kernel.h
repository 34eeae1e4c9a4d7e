/* SPDX-License-Identifier: GPL-2.0-or-later */
/* arch/kernel.h of x86-64. */
#ifndef STRATA_ARCH_X86_64_KERNEL_H
#define STRATA_ARCH_X86_64_KERNEL_H

#include "abi/types.h"

/*
 * struct pt_regs of arch/x86/include/uapi/asm/ptrace.h, which is also how the kernel keeps them. Not the type of
 * vmlinux.h: since 6.9 its cs is a u16 in a union, and an access to it does not fit older kernels.
 */
struct arch_registers {
	__u64 r15, r14, r13, r12, bp, bx, r11, r10, r9, r8, ax, cx, dx, si, di, orig_ax, ip, cs, flags, sp, ss;
};

/* By DWARF's numbers: psABI AMD64, figure 3.36. */
#define ARCH_COPY_REGISTERS(to, regs)                                                                                  \
	do {                                                                                                           \
		__u64 *to_ = (to)->registers;                                                                          \
                                                                                                                       \
		to_[0] = (regs)->ax;                                                                                   \
		to_[1] = (regs)->dx;                                                                                   \
		to_[2] = (regs)->cx;                                                                                   \
		to_[3] = (regs)->bx;                                                                                   \
		to_[4] = (regs)->si;                                                                                   \
		to_[5] = (regs)->di;                                                                                   \
		to_[6] = (regs)->bp;                                                                                   \
		to_[7] = (regs)->sp;                                                                                   \
		to_[8] = (regs)->r8;                                                                                   \
		to_[9] = (regs)->r9;                                                                                   \
		to_[10] = (regs)->r10;                                                                                 \
		to_[11] = (regs)->r11;                                                                                 \
		to_[12] = (regs)->r12;                                                                                 \
		to_[13] = (regs)->r13;                                                                                 \
		to_[14] = (regs)->r14;                                                                                 \
		to_[15] = (regs)->r15;                                                                                 \
		(to)->pc = (regs)->ip;                                                                                 \
	} while (0)

/* psABI AMD64, A.2.1. */
#define ARCH_COPY_ARGUMENTS(to, regs)                                                                                  \
	do {                                                                                                           \
		__u64 *to_ = (to);                                                                                     \
                                                                                                                       \
		to_[0] = (regs)->di;                                                                                   \
		to_[1] = (regs)->si;                                                                                   \
		to_[2] = (regs)->dx;                                                                                   \
		to_[3] = (regs)->r10;                                                                                  \
		to_[4] = (regs)->r8;                                                                                   \
		to_[5] = (regs)->r9;                                                                                   \
	} while (0)

#define USER32_CS 0x23 /* __USER32_CS: arch/x86/include/asm/segment.h */

#define arch_in_user_mode(regs)  ((regs)->cs & 3)
#define arch_in_other_mode(regs) (((regs)->cs & 0xffff) == USER32_CS)
#define arch_no_program(regs)    (!(regs)->ip && !(regs)->sp) /* copy_thread(): arch/x86/kernel/process.c */
#define arch_call(regs)          ((regs)->orig_ax)

/* THREAD_SIZE and TOP_OF_KERNEL_STACK_PADDING: arch/x86/include/asm/page_64_types.h, thread_info.h. */
#define ARCH_STACK_BYTES  16384
#define ARCH_REGISTERS_AT (ARCH_STACK_BYTES - 0 - sizeof(struct arch_registers))

#define ARCH_BREAKPOINT_BYTES 1
#define ARCH_BREAKPOINT       0xcc /* INT3 */
#define ARCH_PUSHED           8    /* `push` of one byte: the first so many registers */

struct thread_struct___strata {
	unsigned long fsbase;
} __attribute__((preserve_access_index));

struct task_struct___arch {
	struct thread_struct___strata thread;
} __attribute__((preserve_access_index));

/* The FS base. */
static __always_inline __u64 arch_thread_pointer(const struct task_struct *task)
{
	return ((const struct task_struct___arch *)task)->thread.fsbase;
}

static __always_inline __u64 arch_read_thread_pointer(const struct task_struct *task)
{
	return BPF_CORE_READ((const struct task_struct___arch *)task, thread.fsbase);
}

#endif
