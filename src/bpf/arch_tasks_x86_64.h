/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the iterator over threads needs to know of x86-64. Register numbers are DWARF's (psABI AMD64, figure 3.36). */
#ifndef STRATA_BPF_ARCH_TASKS_X86_64_H
#define STRATA_BPF_ARCH_TASKS_X86_64_H

#include "bpf/shim.h"

#include "abi/tasks.h"

#define ARCH_STACK_BYTES  16384 /* see arch_saved_registers() */
#define ARCH_PROGRAM32_CS 0x23  /* __USER32_CS: arch/x86/include/asm/segment.h */

/* struct pt_regs of arch/x86/include/uapi/asm/ptrace.h, in words. */
enum {
	WORD_R15,
	WORD_R14,
	WORD_R13,
	WORD_R12,
	WORD_BP,
	WORD_BX,
	WORD_R11,
	WORD_R10,
	WORD_R9,
	WORD_R8,
	WORD_AX,
	WORD_CX,
	WORD_DX,
	WORD_SI,
	WORD_DI,
	WORD_ORIG_AX,
	WORD_IP,
	WORD_CS,
	WORD_FLAGS,
	WORD_SP,
	WORD_SS,
	ARCH_WORDS
};

/* Takes what the kernel keeps of a thread's user registers; false when they are none of a program's. */
static __always_inline bool arch_task_registers(const __u64 words[ARCH_WORDS], struct task_event *event)
{
	__u64 *to = event->registers;

	if (!(words[WORD_CS] & 3) || (!words[WORD_IP] && !words[WORD_SP]))
		return false;
	if ((words[WORD_CS] & 0xffff) == ARCH_PROGRAM32_CS)
		event->flags |= TASK_32_BIT;
	to[0] = words[WORD_AX];
	to[1] = words[WORD_DX];
	to[2] = words[WORD_CX];
	to[3] = words[WORD_BX];
	to[4] = words[WORD_SI];
	to[5] = words[WORD_DI];
	to[6] = words[WORD_BP];
	to[7] = words[WORD_SP];
	to[8] = words[WORD_R8];
	to[9] = words[WORD_R9];
	to[10] = words[WORD_R10];
	to[11] = words[WORD_R11];
	to[12] = words[WORD_R12];
	to[13] = words[WORD_R13];
	to[14] = words[WORD_R14];
	to[15] = words[WORD_R15];
	to[16] = event->pc = words[WORD_IP];
	event->call = words[WORD_ORIG_AX];
	event->arguments[0] = words[WORD_DI];
	event->arguments[1] = words[WORD_SI];
	event->arguments[2] = words[WORD_DX];
	event->arguments[3] = words[WORD_R10];
	event->arguments[4] = words[WORD_R8];
	event->arguments[5] = words[WORD_R9];
	return true;
}

/* pthread_self() of glibc and musl. */
static __always_inline __u64 arch_task_thread_pointer(const struct task_struct *task)
{
	return BPF_CORE_READ(task, thread.fsbase);
}

#endif
