/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * command: a child process that waits before it calls exec, so that it can be watched from its first instruction.
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
	bool left;  /* not even SIGKILL has ended it: it waits in the kernel, and ends when it comes back */
	int status; /* in the shell's convention, once reaped */
};

/* What the caller has changed of itself and a command shall have as it was. */
struct command_origin {
	sigset_t mask;
	struct rlimit files; /* RLIMIT_NOFILE */
};

/* Forks. argv is NULL-terminated. */
int command_prepare(char *const *argv, const struct command_origin *origin, struct command *ret, struct diag *diag);

/*
 * Lets it exec. Fails with the reason when exec does, with -ETIMEDOUT when its file system does not answer, and with
 * -EINTR when a signal that the caller blocks came meanwhile: then it was killed.
 */
int command_start(struct command *command, const char *name, struct diag *diag);

/*
 * Ends it if it still runs (SIGTERM, then SIGKILL after some seconds), and takes its status. One that not even SIGKILL
 * ends is left after some more seconds, as if it had.
 */
int command_finish(struct command *command);

#endif
