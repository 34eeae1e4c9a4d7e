/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * tasks: functions about a task by its address, task_pid(task) and its like. The members are read when the event
 * happens, by targets ($next->tgid) that the handler gets for each address that can be followed back to the probe's own
 * variables; the call finds the target whose base has the address. The current task is the target $__task.
 */
#ifndef STRATA_LANG_DIALECT_STAP_TASKS_H
#define STRATA_LANG_DIALECT_STAP_TASKS_H

#include "lang/dialect/stap/run.h"

#define STAP_CURRENT_TASK "$__task"

/* The member of struct task_struct, as targets name it, that a function tells; NULL: it is none of them. */
const char *stap_task_member(const char *function);
/* $base->member as a target. */
struct stap_node *stap_task_target(struct compiler *c, const struct stap_node *base, const char *member);
/* The functions: functions.c has their table. */
void stap_task_value(struct stap_run *run, const struct stap_node *call, const struct stap_value *arguments,
		     struct stap_value *ret);
/* @cast(address, ...), of an address that the probe's record has. */
void stap_cast_value(struct stap_run *run, const struct stap_node *cast, const struct stap_value *address,
		     struct stap_value *ret);
/* Does the process belong to target() and what it has started? */
void stap_is_in_target(struct stap_run *run, const struct stap_node *call, const struct stap_value *arguments,
		       struct stap_value *ret);
/* The words of the current process's command line, with blanks between them. */
void stap_command_line(struct stap_run *run, const struct stap_node *call, const struct stap_value *arguments,
		       struct stap_value *ret);
/* proc_mem_size() and its like: pages of a process, the current one or by its number, at the time of the call. */
void stap_pages_of(struct stap_run *run, const struct stap_node *call, const struct stap_value *arguments,
		   struct stap_value *ret);

#endif
