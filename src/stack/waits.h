/* SPDX-License-Identifier: GPL-2.0-or-later */
/* waits: what a thread that does not run waits for, by its system call and its stack. */
#ifndef STRATA_STACK_WAITS_H
#define STRATA_STACK_WAITS_H

#include "abi/tasks.h"
#include "stack/stack.h"

/*
 * Fills in waits_for and detail of a thread that has its frames. `task` is its state at the moment of these frames. 0
 * or -ENOMEM.
 */
int stack_explain(int pid, const struct stack_runtime *runtime, const struct task_event *task,
		  struct stack_thread *thread);

/* A descriptor of a process and what it is: "fd 3 /tmp/x". */
void stack_tell_descriptor(FILE *out, int pid, int fd);

/* For threads that wait for the GIL, adds which thread holds it, if one does. 0 or -ENOMEM. */
int stack_name_holder(struct stack_process *process);

#endif
