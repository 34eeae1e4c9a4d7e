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

/*
 * An int, and a byte since 7.2 (include/linux/sched.h). libbpf gives a load the kernel's size if the member's type here
 * has no sign, and the load is of the member itself.
 */
struct task_struct___on_cpu {
	volatile unsigned int on_cpu;
} __attribute__((preserve_access_index));

/* Is the thread on a CPU at this moment? */
static __always_inline bool task_on_cpu(struct task_struct *task)
{
	return ((struct task_struct___on_cpu *)task)->on_cpu;
}

#endif
