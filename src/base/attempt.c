// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/attempt.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/foreign_parts.h"
#include "base/patience.h"

struct answer {
	int result;
	struct diag diag;
};

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
	int ends[2], err;

	if (pipe2(ends, O_CLOEXEC))
		return work(context, diag);
	child = fork();
	if (!child)
		answer(ends[1], work, context);
	close(ends[1]);
	if (child < 0) {
		close(ends[0]);
		return work(context, diag);
	}
	err = patience_wait(child, ends[0], patience_s);
	if (!err)
		got = read(ends[0], &told, sizeof(told)); /* less than PIPE_BUF: all at once */
	close(ends[0]);
	if (err) {
		kill(child, SIGKILL); /* it may be long until it notices */
		return err == -EINTR ? diag_fail(diag, EINTR, "attempt.signal", "%s: given up, as a signal came", what)
				     : diag_fail(diag, ETIMEDOUT, "attempt.answer",
						 "%s: its file system does not answer", what);
	}
	waitpid(child, NULL, 0);
	if (got != sizeof(told))
		return diag_fail(diag, EIO, "attempt.child", "%s: the process that should do it was killed", what);
	if (diag && told.result < 0)
		*diag = told.diag;
	return told.result;
}

/* It keeps nothing of strata's but what it works with: what hangs must not keep programs attached. */
static void close_others(int a, int b)
{
	unsigned int low = (unsigned int)(a < b ? a : b), high = (unsigned int)(a < b ? b : a);

	if (low)
		syscall(SYS_close_range, 0, low - 1, 0);
	if (high > low + 1)
		syscall(SYS_close_range, low + 1, high - 1, 0);
	syscall(SYS_close_range, high + 1, ~0u, 0);
}

static _Noreturn void answer_descriptor(int socket, int keep, int (*work)(void *context), void *context)
{
	struct iovec part;
	int result;

	close_others(socket, keep);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	result = work(context);
	part = (struct iovec){&result, sizeof(result)};
	_exit(foreign_send(socket, &part, 1, &result, result >= 0 ? 1 : 0) ? 1 : 0);
}

int attempt_descriptor(double patience_s, int keep, int (*work)(void *context), void *context)
{
	int result = -EIO, ends[2], fds[2] = {-1, -1}, err;
	struct iovec part = {&result, sizeof(result)};
	pid_t child;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends))
		return -errno;
	child = fork();
	if (!child)
		answer_descriptor(ends[1], keep, work, context);
	err = child < 0 ? -errno : 0;
	close(ends[1]);
	if (!err)
		err = patience_wait(child, ends[0], patience_s);
	if (!err && foreign_receive(ends[0], &part, 1, fds, 2) != sizeof(result))
		result = -EIO; /* it was killed */
	close(ends[0]);
	if (err && child > 0)
		kill(child, SIGKILL);
	if (err)
		return err;
	waitpid(child, NULL, 0);
	return result < 0 ? result : fds[0] < 0 ? -EMFILE : fds[0];
}
