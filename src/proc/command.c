// SPDX-License-Identifier: GPL-2.0-or-later
#include "proc/command.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/patience.h"

#define PATIENCE_S 5.0  /* for the file system of what is executed */
#define TERM_MS    3000 /* for SIGTERM */
#define KILL_MS    1000

/*
 * What exec would close is closed before: a child that hangs in it, and cannot be ended, must not keep strata's events
 * and programs alive.
 */
static void close_own(int gate, int report)
{
	DIR *descriptors = opendir("/proc/self/fd");
	const struct dirent *entry;
	int fd, flags;

	while (descriptors && (entry = readdir(descriptors))) {
		fd = atoi(entry->d_name);
		flags = fd > STDERR_FILENO && fd != dirfd(descriptors) ? fcntl(fd, F_GETFD) : 0;
		if (flags > 0 && (flags & FD_CLOEXEC) && fd != gate && fd != report)
			close(fd);
	}
	if (descriptors)
		closedir(descriptors);
}

static void run_child(char *const *argv, const struct command_origin *origin, int gate, int report)
{
	char byte;
	int err;

	sigprocmask(SIG_SETMASK, &origin->mask, NULL);
	setrlimit(RLIMIT_NOFILE, &origin->files);
	close_own(gate, report);
	while (read(gate, &byte, 1) < 0 && errno == EINTR)
		;
	execvp(argv[0], argv);
	err = errno;
	if (write(report, &err, sizeof(err)) < 0)
		_exit(127);
	_exit(err == ENOENT ? 127 : 126);
}

int command_prepare(char *const *argv, const struct command_origin *origin, struct command *ret, struct diag *diag)
{
	int gate[2], report[2], err;

	*ret = (struct command){.pid = -1, .gate = -1, .report = -1, .pidfd = -1};
	if (pipe2(gate, O_CLOEXEC))
		return diag_fail(diag, errno, "command.pipe", "%s: no pipe: %s", argv[0], strerror(errno));
	if (pipe2(report, O_CLOEXEC)) {
		err = errno;
		close(gate[0]);
		close(gate[1]);
		return diag_fail(diag, err, "command.pipe", "%s: no pipe: %s", argv[0], strerror(err));
	}
	ret->pid = fork();
	if (!ret->pid) {
		close(gate[1]);
		close(report[0]);
		run_child(argv, origin, gate[0], report[1]);
	}
	err = errno;
	close(gate[0]);
	close(report[1]);
	if (ret->pid < 0) {
		close(gate[1]);
		close(report[0]);
		return diag_fail(diag, err, "command.fork", "%s cannot be started: %s", argv[0], strerror(err));
	}
	ret->gate = gate[1];
	ret->report = report[0];
	ret->pidfd = (int)syscall(SYS_pidfd_open, ret->pid, 0);
	return 0;
}

static void wait_some(struct command *command, int ms)
{
	struct pollfd ended = {.fd = command->pidfd, .events = POLLIN};

	if (command->pidfd >= 0)
		poll(&ended, 1, ms);
}

/* Takes the child's status if it has ended. */
static bool reap(struct command *command)
{
	int status = 0;

	if (waitpid(command->pid, &status, WNOHANG) != command->pid)
		return false;
	command->reaped = true;
	command->status = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
	return true;
}

static void end_now(struct command *command)
{
	kill(command->pid, SIGKILL);
	wait_some(command, KILL_MS);
	if (reap(command))
		return;
	command->left = true;
	command->status = 128 + SIGKILL; /* as it will be */
}

/* The child is in exec, which does not come back. */
static int give_up(struct command *command, const char *name, int err, struct diag *diag)
{
	char left[80] = "";

	end_now(command);
	if (command->left)
		snprintf(left, sizeof(left), "; process %d waits there, and cannot be ended before it does",
			 command->pid);
	if (err == -EINTR)
		return diag_fail(diag, EINTR, "command.signal", "%s was not executed: a signal came before it was%s",
				 name, left);
	return diag_fail(diag, ETIMEDOUT, "command.answer", "%s cannot be executed: its file system does not answer%s",
			 name, left);
}

int command_start(struct command *command, const char *name, struct diag *diag)
{
	int err = 0, waited;
	ssize_t got = 0;

	close(command->gate);
	command->gate = -1;
	waited = patience_wait(command->pid, command->report, PATIENCE_S);
	if (!waited)
		got = read(command->report, &err, sizeof(err)); /* less than PIPE_BUF: all at once, or its end */
	close(command->report);
	command->report = -1;
	if (waited)
		return give_up(command, name, waited, diag);
	if (got == (ssize_t)sizeof(err) && err)
		return diag_fail(diag, err, "command.exec", "%s cannot be executed: %s", name, strerror(err));
	return 0;
}

int command_finish(struct command *command)
{
	if (command->gate >= 0) { /* never started: it must not begin now */
		kill(command->pid, SIGKILL);
		close(command->gate);
		command->gate = -1;
	}
	if (command->report >= 0)
		close(command->report);
	command->report = -1;
	if (command->pid > 0 && !command->reaped && !command->left && !reap(command)) {
		kill(command->pid, SIGTERM);
		wait_some(command, TERM_MS);
		if (!reap(command))
			end_now(command);
	}
	if (command->pidfd >= 0)
		close(command->pidfd);
	command->pidfd = -1;
	return command->status;
}
