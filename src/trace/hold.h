/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * hold: stops the command of -c wherever it begins a program, until strata has read its mappings, so that its first
 * stack is as good as its last. `record` does not need this, because it finishes late samples afterwards.
 *
 * The command is stopped by ptrace: after exec, when the dynamic linker is about to begin, and at the program's entry
 * point, when its libraries are mapped and none of its own instructions has run. A debug register stops it there, and
 * nothing is written into the program. Where debug registers do not work (virtual machines), a breakpoint is written
 * into its private copy of the code, and removed before any of that code runs.
 *
 * A traced process also stops at each of its signals. So it is released for good at the first one that is not SIGCHLD.
 * Its children and threads are never held.
 *
 * All functions must be called by the thread that called hold_begin(), whose child the process is.
 */
#ifndef STRATA_TRACE_HOLD_H
#define STRATA_TRACE_HOLD_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "arch/ptrace.h"

struct hold {
	pid_t pid;    /* 0: nothing is held */
	bool written; /* the debug registers do not work here */
	struct arch_breakpoint entry;
	bool stopped; /* after exec, by hold_until() */
};

/* From now on `pid` is held; before its first exec. 0 or a negative errno: it may be traced by somebody else. */
int hold_begin(struct hold *hold, pid_t pid);

/*
 * Lets it run until it has executed the program `name`: a file of this name, or one that begins with it (python3:
 * python3.11). Then it is stopped: 0, and the file. -ESRCH if it ended before; -ETIMEDOUT if it has done neither within
 * that many seconds, and runs on. Takes SIGCHLDs that arrive meanwhile.
 */
int hold_until(struct hold *hold, const char *name, double seconds, char *ret, size_t size);

/* Lets it run on, if hold_until() has stopped it. */
void hold_continue(struct hold *hold, void (*arrived)(void *context), void *context);

/*
 * Handles a change of its state; to be called after a SIGCHLD. `arrived` is called while it is stopped at the beginning
 * of a program.
 */
void hold_take(struct hold *hold, void (*arrived)(void *context), void *context);

/* Releases it. */
void hold_end(struct hold *hold);

#endif
