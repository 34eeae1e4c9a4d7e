// SPDX-License-Identifier: GPL-2.0-or-later
#include "record/command.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define PATIENCE_MS 3000

static void run_child(char *const *argv, const struct command_origin *origin, int gate, int report)
{
	char byte;
	int err;

	sigprocmask(SIG_SETMASK, &origin->mask, NULL);
	setrlimit(RLIMIT_NOFILE, &origin->files);
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

int command_start(struct command *command, const char *name, struct diag *diag)
{
	int err = 0;
	ssize_t got;

	close(command->gate);
	command->gate = -1;
	do
		got = read(command->report, &err, sizeof(err));
	while (got < 0 && errno == EINTR);
	close(command->report);
	command->report = -1;
	if (got == (ssize_t)sizeof(err) && err)
		return diag_fail(diag, err, "command.exec", "%s cannot be executed: %s", name, strerror(err));
	return 0;
}

static void wait_some(struct command *command)
{
	struct pollfd ended = {.fd = command->pidfd, .events = POLLIN};

	if (command->pidfd >= 0)
		poll(&ended, 1, PATIENCE_MS);
}

int command_finish(struct command *command)
{
	int status = 0;

	if (command->gate >= 0) { /* never started: it must not begin now */
		kill(command->pid, SIGKILL);
		close(command->gate);
		command->gate = -1;
	}
	if (command->report >= 0)
		close(command->report);
	command->report = -1;
	if (command->pid > 0 && !command->reaped) {
		pid_t got = waitpid(command->pid, &status, WNOHANG);

		if (!got) {
			kill(command->pid, SIGTERM);
			wait_some(command);
			got = waitpid(command->pid, &status, WNOHANG);
		}
		if (!got) {
			kill(command->pid, SIGKILL);
			waitpid(command->pid, &status, 0);
		}
		command->reaped = true;
		command->status = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
	}
	if (command->pidfd >= 0)
		close(command->pidfd);
	command->pidfd = -1;
	return command->status;
}
