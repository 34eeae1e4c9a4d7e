/* SPDX-License-Identifier: GPL-2.0-or-later */
/* task_state: the kernel's state of a thread, its TASK_* bits: why it does not run. */
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

#endif
