/* SPDX-License-Identifier: GPL-2.0-or-later */
/* task_lookup: the kernel functions by which a BPF program finds a task by its id. */
#ifndef STRATA_LANG_BUILTIN_TASK_LOOKUP_H
#define STRATA_LANG_BUILTIN_TASK_LOOKUP_H

#include "lang/core/compiler.h"

#define COMM_SIZE 16 /* TASK_COMM_LEN */

struct task_lookup {
	uint32_t find, release; /* the numbers of bpf_task_from_pid() and bpf_task_release(); 0: the kernel has none */
	uint32_t comm;          /* where the name lies in struct task_struct */
	uint8_t answers[64];    /* what was found of each type of programs */
};

/* NULL when programs of the unit that is checked, or generated, may not call them. */
const struct task_lookup *task_lookup(struct compiler *c);

#endif
