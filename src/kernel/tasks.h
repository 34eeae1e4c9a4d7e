/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * tasks: the state of a process's threads at this moment: registers, kernel stack, how often each has left a CPU. A BPF
 * iterator reads it, and neither stops nor wakes a thread. ptrace would do both, and a system call interrupted in this
 * way may fail with EINTR. It takes 0.2 ms for a process with 100 threads. Needs CAP_BPF and CAP_PERFMON. Not
 * thread-safe.
 */
#ifndef STRATA_KERNEL_TASKS_H
#define STRATA_KERNEL_TASKS_H

#include <stdint.h>

#include "abi/tasks.h"
#include "base/diag.h"
#include "base/vec.h"

struct tasks;

struct task_list {
	VEC(uint8_t) bytes;
	VEC(size_t) starts; /* of each event in `bytes` */
};

int tasks_create(struct tasks **ret, struct diag *diag);
void tasks_destroy(struct tasks *tasks);

/* The threads of a process, in place of what the list has. 0 or a negative errno; no thread at all is not an error. */
int tasks_read(struct tasks *tasks, int pid, struct task_list *list);
void task_list_deinit(struct task_list *list);

/* By number, from 0; the kernel stack's addresses follow it. */
const struct task_event *task_list_at(const struct task_list *list, size_t index);

#endif
