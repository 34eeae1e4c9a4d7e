/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * stack: every thread's whole stack at this moment, and what each waits for.
 *
 * Nobody is stopped, unless that is asked for (freeze.h). A thread that does not run holds still: its registers are
 * read (kernel/tasks.h), its stack is walked in its process's memory, and then it is asked whether it has run
 * meanwhile. If so the stack is thrown away, and the thread is read again. Threads that run are sampled by the kernel
 * part, as for strata record, each once. Where neither came to an end in time the thread says that its stack is not
 * consistent.
 *
 * Not thread-safe. The result is plain data; all strings are its own.
 */
#ifndef STRATA_STACK_STACK_H
#define STRATA_STACK_STACK_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/diag.h"
#include "base/foreign.h"
#include "profile/profile.h"

enum stack_state {
	STACK_RUNNING,  /* on a CPU */
	STACK_RUNNABLE, /* it would run if it had one */
	STACK_SLEEPING,
	STACK_BLOCKED, /* as sleeping, and no signal ends that: disk, mostly */
	STACK_STOPPED,
	STACK_DEAD
};

const char *stack_state_name(enum stack_state state);

struct stack_thread {
	int tid;
	char name[16]; /* may be any bytes */
	enum stack_state state;
	const char *waits_for; /* the kind: "gil", "lock", ...; NULL: it does not wait */
	char *detail;          /* NULL: nothing is known */
	bool gil;              /* it holds the GIL */
	bool consistent;
	uint32_t depth;
	const struct frame **frames; /* innermost first */
};

struct stack_python {
	uint16_t version;              /* major << 8 | minor; 0: the process runs none */
	bool free_threaded;            /* there is no GIL */
	uint64_t data_start, data_end; /* the interpreter's own data; 0: not known */
};

struct stack_process {
	int pid;
	char comm[16];
	struct stack_python python;
	struct stack_thread *threads;
	size_t count;
	bool frozen;      /* all stacks are of one moment */
	double frozen_ms; /* for so long threads were held, at most */
};

struct stacks {
	struct profile *profile; /* whose frames they are */
	struct stack_process *processes;
	size_t count;
	double taken_ms; /* from the first reading to the last */
};

struct stack_options {
	const int *pids;
	size_t count;
	struct foreign_files *files; /* borrowed */
	bool freeze;                 /* hold the threads that run, so that all stacks of a process are of one moment */
};

/* A process that is gone by the time that it is read makes it fail: -ESRCH. 0, or a negative errno and a diag. */
int stack_take(const struct stack_options *options, struct stacks **ret, struct diag *diag);
void stack_destroy(struct stacks *stacks);

/* One process each. */
void stack_write_text(FILE *out, const struct stack_process *process, bool color);
/* One object on one line. */
void stack_write_json(FILE *out, const struct stack_process *process);

#endif
