// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * ptrace(2). A tracee begun with PTRACE_SEIZE behaves as any other process but for the stops that its tracer asked for,
 * and those for its signals.
 */
#include "trace/hold.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/time.h"
#include "kernel/features.h"

#define PATIENCE_MS 1000

static void resume(struct hold *hold, enum __ptrace_request how, int signal)
{
	/* It may have been killed meanwhile. */
	ptrace(how, hold->pid, NULL, (void *)(intptr_t)signal);
}

static void let_go(struct hold *hold, int signal)
{
	arch_clear_breakpoint(hold->pid, &hold->entry);
	resume(hold, PTRACE_DETACH, signal);
	*hold = (struct hold){};
}

static uint64_t entry_point(pid_t pid)
{
	char path[32];
	Elf64_auxv_t entry;
	uint64_t ret = 0;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/auxv", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return 0;
	while (read(fd, &entry, sizeof(entry)) == (ssize_t)sizeof(entry))
		if (entry.a_type == AT_ENTRY)
			ret = entry.a_un.a_val;
	close(fd);
	return ret;
}

/* The next stop: its signal, with the event in the bits above 8. 0: none now; -1: it has ended. */
static int next_stop(const struct hold *hold)
{
	siginfo_t info = {};

	/* Its end is left for the one who wants its status. */
	while (waitid(P_PID, (id_t)hold->pid, &info, WSTOPPED | WEXITED | WNOWAIT | WNOHANG))
		if (errno != EINTR)
			return -1;
	if (!info.si_pid)
		return 0;
	if (info.si_code != CLD_TRAPPED && info.si_code != CLD_STOPPED)
		return -1;
	waitid(P_PID, (id_t)hold->pid, &info, WSTOPPED | WNOHANG);
	return info.si_status;
}

#define EXEC_STOP (SIGTRAP | PTRACE_EVENT_EXEC << 8)

int hold_begin(struct hold *hold, pid_t pid)
{
	*hold = (struct hold){.written = !feature_breakpoints()};
	if (ptrace(PTRACE_SEIZE, pid, NULL, PTRACE_O_TRACEEXEC))
		return -errno;
	hold->pid = pid;
	return 0;
}

static bool executes(pid_t pid, const char *name, char *ret, size_t size)
{
	char path[32];
	const char *slash;
	ssize_t length;

	snprintf(path, sizeof(path), "/proc/%d/exe", pid);
	length = readlink(path, ret, size - 1);
	if (length <= 0)
		return false;
	ret[length] = '\0';
	slash = strrchr(ret, '/');
	return slash && !strncmp(slash + 1, name, strlen(name));
}

/* Waits for the next stop, until CLOCK_MONOTONIC is `end`. SIGCHLD is blocked: one that comes before is not missed. */
static int wait_for_stop(const struct hold *hold, const sigset_t *children, double end)
{
	double left = end - time_s(CLOCK_MONOTONIC);
	int stop;

	while (!(stop = next_stop(hold)) && left > 0) {
		struct timespec time = {.tv_sec = (time_t)left, .tv_nsec = (long)((left - (double)(time_t)left) * 1e9)};

		sigtimedwait(children, NULL, &time); /* or a signal with a handler came */
		left = end - time_s(CLOCK_MONOTONIC);
	}
	return stop;
}

int hold_until(struct hold *hold, const char *name, double seconds, char *ret, size_t size)
{
	double end = time_s(CLOCK_MONOTONIC) + seconds;
	sigset_t children, before;
	int stop = -1;

	sigemptyset(&children);
	sigaddset(&children, SIGCHLD);
	sigprocmask(SIG_BLOCK, &children, &before);
	while (!hold->stopped && hold->pid && (stop = wait_for_stop(hold, &children, end)) > 0) {
		hold->stopped = stop == EXEC_STOP && executes(hold->pid, name, ret, size);
		if (!hold->stopped)
			resume(hold, PTRACE_CONT, stop >> 8 || stop == SIGTRAP ? 0 : stop);
	}
	sigprocmask(SIG_SETMASK, &before, NULL);
	if (hold->stopped)
		return 0;
	return stop ? -ESRCH : -ETIMEDOUT;
}

/* A program has been executed: on to its entry point. */
static void begin_program(struct hold *hold, void (*arrived)(void *context), void *context)
{
	uint64_t entry;

	arrived(context);
	hold->entry = (struct arch_breakpoint){}; /* of the program before */
	entry = entry_point(hold->pid);
	if (entry && entry != arch_instruction(hold->pid))
		arch_set_breakpoint(hold->pid, entry, hold->written, &hold->entry);
	resume(hold, PTRACE_CONT, 0);
}

void hold_continue(struct hold *hold, void (*arrived)(void *context), void *context)
{
	if (hold->pid && hold->stopped)
		begin_program(hold, arrived, context);
	hold->stopped = false;
}

void hold_take(struct hold *hold, void (*arrived)(void *context), void *context)
{
	int stop;

	while (hold->pid && (stop = next_stop(hold))) {
		if (stop < 0) {
			*hold = (struct hold){};
		} else if (stop == EXEC_STOP) {
			begin_program(hold, arrived, context);
		} else if (arch_at_breakpoint(hold->pid, &hold->entry, stop)) {
			arrived(context);
			arch_clear_breakpoint(hold->pid, &hold->entry);
			resume(hold, PTRACE_CONT, 0);
		} else if (stop == SIGCHLD) {
			resume(hold, PTRACE_CONT, stop);
		} else {
			let_go(hold, stop >> 8 ? 0 : stop);
		}
	}
}

void hold_end(struct hold *hold)
{
	struct pollfd ended;
	int stop = 0, waited;

	if (!hold->pid)
		return;
	if (hold->stopped) {
		let_go(hold, 0);
		return;
	}
	/* It can only be let go while it stands still. One that sleeps uninterruptibly is let go when strata ends. */
	ended = (struct pollfd){.fd = (int)syscall(SYS_pidfd_open, hold->pid, 0), .events = POLLIN};
	ptrace(PTRACE_INTERRUPT, hold->pid, NULL, NULL);
	for (waited = 0; !(stop = next_stop(hold)) && waited < PATIENCE_MS; waited++)
		poll(&ended, 1, 1);
	if (stop > 0)
		let_go(hold, stop >> 8 || arch_at_breakpoint(hold->pid, &hold->entry, stop) ? 0 : stop);
	if (ended.fd >= 0)
		close(ended.fd);
	*hold = (struct hold){};
}
