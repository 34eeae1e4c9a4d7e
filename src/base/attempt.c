// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/attempt.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/process_stat.h"

#define LOOK_MS 100 /* how often it is looked whether the child gets on */

struct answer {
	int result;
	struct diag diag;
};

static double now_s(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* Waits for the child's answer, or its end. False when it does nothing but wait. */
static bool wait_for(pid_t child, int fd, double patience_s)
{
	struct pollfd ready = {.fd = fd, .events = POLLIN};
	unsigned long before = 0, ticks;
	double since = now_s();
	char state;

	while (poll(&ready, 1, LOOK_MS) <= 0) {
		ticks = process_stat_ticks(child, &state);
		/* One that could run but gets no CPU is not one that waits. */
		if (ticks != before || state == 'R')
			since = now_s();
		else if (now_s() > since + patience_s)
			return false;
		before = ticks;
	}
	return true;
}

/* Who reads a standard stream to its end would wait as long as the child. */
static void close_streams(void)
{
	int fd, null = open("/dev/null", O_RDWR);

	for (fd = STDIN_FILENO; null >= 0 && fd <= STDERR_FILENO; fd++)
		dup2(null, fd);
}

static _Noreturn void answer(int fd, int (*work)(void *context, struct diag *diag), void *context)
{
	struct answer told = {};

	close_streams();
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	told.result = work(context, &told.diag);
	if (write(fd, &told, sizeof(told)) != sizeof(told))
		_exit(1);
	_exit(0);
}

int attempt(double patience_s, const char *what, int (*work)(void *context, struct diag *diag), void *context,
	    struct diag *diag)
{
	struct answer told;
	ssize_t got = 0;
	pid_t child;
	int ends[2];

	if (pipe2(ends, O_CLOEXEC))
		return work(context, diag);
	child = fork();
	if (!child)
		answer(ends[1], work, context);
	close(ends[1]);
	if (child > 0 && wait_for(child, ends[0], patience_s))
		got = read(ends[0], &told, sizeof(told)); /* less than PIPE_BUF: all at once */
	else if (child > 0)
		got = -1;
	close(ends[0]);
	if (child < 0)
		return work(context, diag);
	if (got < 0) {
		kill(child, SIGKILL); /* it may be long until it notices */
		return diag_fail(diag, ETIMEDOUT, "attempt.answer", "%s: its file system does not answer", what);
	}
	waitpid(child, NULL, 0);
	if (got != sizeof(told))
		return diag_fail(diag, EIO, "attempt.child", "%s: the process that should do it was killed", what);
	if (diag && told.result < 0)
		*diag = told.diag;
	return told.result;
}
