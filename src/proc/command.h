/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * command: a child process that waits before it calls exec, so that it can be watched from its first instruction. What
 * it does before, as a copy of strata, is not sampled (TARGET_AWAITS_EXEC): its first sample is in exec, after the old
 * address space is gone.
 */
#ifndef STRATA_PROC_COMMAND_H
#define STRATA_PROC_COMMAND_H

#include <signal.h>
#include <stdbool.h>
#include <sys/resource.h>
#include <sys/types.h>

#include "base/diag.h"

struct command {
	pid_t pid;
	int gate;   /* closing it lets the child go on */
	int report; /* gives the child's errno if exec failed */
	int pidfd;  /* readable when the child has ended */
	bool reaped;
	bool left;  /* not even SIGKILL has ended it: it waits in the kernel, and will end when it returns from there */
	int status; /* in the shell's convention, once reaped */
};

/* What the caller has changed about itself, and the command gets back. */
struct command_origin {
	sigset_t mask;
	struct rlimit files; /* RLIMIT_NOFILE */
};

/* Forks. argv is NULL-terminated. */
int command_prepare(char *const *argv, const struct command_origin *origin, struct command *ret, struct diag *diag);

/*
 * Lets it exec. Fails with the reason if exec fails, with -ETIMEDOUT if its file system does not answer, and with
 * -EINTR if a signal that the caller blocks arrived meanwhile; then it was killed.
 */
int command_start(struct command *command, const char *name, struct diag *diag);

/*
 * Ends it if it still runs (SIGTERM, then SIGKILL after some seconds), and reads its status. If not even SIGKILL ends
 * it, it is left behind after some more seconds.
 */
int command_finish(struct command *command);

#endif
