/* SPDX-License-Identifier: GPL-2.0-or-later */
/* arch/kernel.h of AArch64. */
#ifndef STRATA_ARCH_AARCH64_KERNEL_H
#define STRATA_ARCH_AARCH64_KERNEL_H

#include "abi/types.h"

/* struct user_pt_regs of arch/arm64/include/uapi/asm/ptrace.h, and what of struct pt_regs follows it. */
struct arch_registers {
	__u64 regs[31], sp, pc, pstate, orig_x0;
	__s32 syscallno;
	__u32 unused;
};

/*
 * By DWARF's numbers: AADWARF64, 4.1. Not a loop, because the verifier does not accept one over the fields of a
 * context.
 */
#define ARCH_COPY_REGISTERS(to, from)                                                                                  \
	do {                                                                                                           \
		__u64 *to_ = (to)->registers;                                                                          \
                                                                                                                       \
		to_[0] = (from)->regs[0];                                                                              \
		to_[1] = (from)->regs[1];                                                                              \
		to_[2] = (from)->regs[2];                                                                              \
		to_[3] = (from)->regs[3];                                                                              \
		to_[4] = (from)->regs[4];                                                                              \
		to_[5] = (from)->regs[5];                                                                              \
		to_[6] = (from)->regs[6];                                                                              \
		to_[7] = (from)->regs[7];                                                                              \
		to_[8] = (from)->regs[8];                                                                              \
		to_[9] = (from)->regs[9];                                                                              \
		to_[10] = (from)->regs[10];                                                                            \
		to_[11] = (from)->regs[11];                                                                            \
		to_[12] = (from)->regs[12];                                                                            \
		to_[13] = (from)->regs[13];                                                                            \
		to_[14] = (from)->regs[14];                                                                            \
		to_[15] = (from)->regs[15];                                                                            \
		to_[16] = (from)->regs[16];                                                                            \
		to_[17] = (from)->regs[17];                                                                            \
		to_[18] = (from)->regs[18];                                                                            \
		to_[19] = (from)->regs[19];                                                                            \
		to_[20] = (from)->regs[20];                                                                            \
		to_[21] = (from)->regs[21];                                                                            \
		to_[22] = (from)->regs[22];                                                                            \
		to_[23] = (from)->regs[23];                                                                            \
		to_[24] = (from)->regs[24];                                                                            \
		to_[25] = (from)->regs[25];                                                                            \
		to_[26] = (from)->regs[26];                                                                            \
		to_[27] = (from)->regs[27];                                                                            \
		to_[28] = (from)->regs[28];                                                                            \
		to_[29] = (from)->regs[29];                                                                            \
		to_[30] = (from)->regs[30];                                                                            \
		to_[31] = (from)->sp;                                                                                  \
		(to)->pc = (from)->pc;                                                                                 \
	} while (0)

/* Linux's convention: arch/arm64/kernel/entry.S. The first one's register has the result later. */
#define ARCH_COPY_ARGUMENTS(to, from)                                                                                  \
	do {                                                                                                           \
		__u64 *to_ = (to);                                                                                     \
                                                                                                                       \
		to_[0] = (from)->orig_x0;                                                                              \
		to_[1] = (from)->regs[1];                                                                              \
		to_[2] = (from)->regs[2];                                                                              \
		to_[3] = (from)->regs[3];                                                                              \
		to_[4] = (from)->regs[4];                                                                              \
		to_[5] = (from)->regs[5];                                                                              \
	} while (0)

/* PSR_MODE_MASK, PSR_MODE32_BIT: arch/arm64/include/uapi/asm/ptrace.h. */
#define arch_in_user_mode(from)  (!((from)->pstate & 0xf))
#define arch_in_other_mode(from) (((from)->pstate & 0x10) != 0)
#define arch_no_program(from)    (!(from)->pc && !(from)->sp)
#define arch_call(from)          ((__u64)(__s64)(from)->syscallno) /* NO_SYSCALL: arch/arm64/include/asm/ptrace.h */

/* On kernels without bpf_task_pt_regs() the size of struct pt_regs, which has grown, is unknown: no registers there. */
#define ARCH_REGISTERS_AT 0

/* THREAD_SIZE: arch/arm64/include/asm/memory.h; more with pages of 64 KiB, or KASAN. */
#define ARCH_STACK_BYTES 16384

/* The PC stays at a BRK. */
#define ARCH_BREAKPOINT_BYTES 0
#define ARCH_BREAKPOINT       0
#define ARCH_PUSHED           0

struct user_state___strata {
	unsigned long tp_value;
} __attribute__((preserve_access_index));

struct thread_struct___strata {
	struct user_state___strata uw;
} __attribute__((preserve_access_index));

struct task_struct___arch {
	struct thread_struct___strata thread;
} __attribute__((preserve_access_index));

/* TPIDR_EL0, as it was when the thread was switched away last. */
static __always_inline __u64 arch_thread_pointer(const struct task_struct *task)
{
	return ((const struct task_struct___arch *)task)->thread.uw.tp_value;
}

static __always_inline __u64 arch_read_thread_pointer(const struct task_struct *task)
{
	return BPF_CORE_READ((const struct task_struct___arch *)task, thread.uw.tp_value);
}

#endif
