// SPDX-License-Identifier: GPL-2.0-or-later
/* Scripts of our own, held until they execute a program, for as long as they may take. */
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tap.h"
#include "trace/hold.h"

#define LONG_S  60.0
#define SHORT_S 0.2

static double now_s(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* A shell that begins when the other end of the gate is closed. */
static pid_t begin(const char *script, int *gate)
{
	int ends[2];
	pid_t pid;
	char byte;

	if (pipe(ends))
		return -1;
	pid = fork();
	if (!pid) {
		close(ends[1]);
		(void)!read(ends[0], &byte, 1);
		execl("/bin/sh", "sh", "-c", script, NULL);
		_exit(127);
	}
	close(ends[0]);
	*gate = ends[1];
	return pid;
}

static int held(const char *script, double seconds, char *program, size_t size)
{
	struct hold hold;
	double began;
	int gate = -1, ret;
	pid_t pid = begin(script, &gate);

	if (!ok(pid > 0 && !hold_begin(&hold, pid), "held: %s", script))
		return 1;
	close(gate);
	began = now_s();
	ret = hold_until(&hold, "sleep", seconds, program, size);
	ok(now_s() - began < LONG_S, "not for ever");
	ok(hold.stopped == !ret, "it stands still if it was found");
	hold_end(&hold);
	ok(!hold.pid, "let go");
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	return ret;
}

int main(void)
{
	char program[PATH_MAX];
	sigset_t before, after;

	sigprocmask(SIG_SETMASK, NULL, &before);
	is_int(held("/bin/true; exec sleep 1000", LONG_S, program, sizeof(program)), 0, "a script that executes it");
	ok(strstr(program, "/sleep") || strstr(program, "box"), "its file: %s", program);
	is_int(held("exit 3", LONG_S, program, sizeof(program)), -ESRCH, "one that ends");
	is_int(held("sleep 2 & wait", SHORT_S, program, sizeof(program)), -ETIMEDOUT, "one that waits");
	is_int(held("while :; do :; done", SHORT_S, program, sizeof(program)), -ETIMEDOUT, "one that is busy");
	is_int(held("while :; do /bin/true; done", SHORT_S, program, sizeof(program)), -ETIMEDOUT,
	       "one whose children end all the time");
	sigprocmask(SIG_SETMASK, NULL, &after);
	ok(sigismember(&before, SIGCHLD) == sigismember(&after, SIGCHLD), "SIGCHLD is as it was");
	return tap_done();
}
