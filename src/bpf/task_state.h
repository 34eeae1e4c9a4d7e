/* SPDX-License-Identifier: GPL-2.0-or-later */
/* task_state: the kernel's state of a thread: its TASK_* bits, which say why it does not run, and whether it does. */
#ifndef STRATA_BPF_TASK_STATE_H
#define STRATA_BPF_TASK_STATE_H

#include "bpf/shim.h"

/* Before 5.14. */
struct task_struct___state {
	volatile long state;
} __attribute__((preserve_access_index));

static __always_inline __u32 task_state(struct task_struct *task)
{
	struct task_struct___state *old = (void *)task;

	if (bpf_core_field_exists(old->state))
		return (__u32)BPF_CORE_READ(old, state);
	return BPF_CORE_READ(task, __state);
}

/* Is the thread on a CPU at this moment? An int, and a byte since 7.2 (include/linux/sched.h). */
static __always_inline bool task_on_cpu(struct task_struct *task)
{
	if (bpf_core_field_size(task->on_cpu) == sizeof(__u8))
		return *(volatile __u8 *)&task->on_cpu;
	return *(volatile __u32 *)&task->on_cpu;
}

#endif
