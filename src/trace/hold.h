/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * hold: has the command of -c stand still wherever it begins a program, until strata has read what is mapped there: so
 * its first stack is as good as its last. By ptrace: after exec, where the dynamic linker is about to begin, and at the
 * program's entry point, when its libraries are mapped and no instruction of it has run. A debug register says when,
 * and nothing is written into the program; where those do not work (virtual machines), an instruction in its own copy
 * of the code, which is taken away before anything of it runs.
 *
 * A traced process stands still at each of its signals as well. So it is let go for good at the first one that is not
 * SIGCHLD. Its children and threads are never held.
 *
 * All functions are to be called by the thread that called hold_begin(), whose child the process is.
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
 * python3.11). It stands still then. 0, and the file; -ESRCH when it ended before; -ETIMEDOUT when it has done neither
 * in so many seconds, and goes on. SIGCHLDs that come meanwhile are taken.
 */
int hold_until(struct hold *hold, const char *name, double seconds, char *ret, size_t size);

/* Lets it go on, if hold_until() has stopped it. */
void hold_continue(struct hold *hold, void (*arrived)(void *context), void *context);

/*
 * Takes what it has come to; to be called when there was a SIGCHLD. `arrived` is called while it stands still where a
 * program begins.
 */
void hold_take(struct hold *hold, void (*arrived)(void *context), void *context);

/* Lets it go. */
void hold_end(struct hold *hold);

#endif
