// SPDX-License-Identifier: GPL-2.0-or-later
/* Breakpoints in a tracee of our own: in a debug register, where those work, and written. */
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kernel/features.h"
#include "tap.h"
#include "arch/ptrace.h"

#define ANSWER 42

static int __attribute__((noinline)) answer(void)
{
	__asm__ volatile("");
	return ANSWER;
}

/* INT3, as a uprobe writes it. */
void probed(void);
__asm__(".text\n"
	"probed:	int3\n"
	"	ret\n");

static pid_t begin(int *status)
{
	pid_t pid = fork();

	if (!pid) {
		ptrace(PTRACE_TRACEME, 0, NULL, NULL);
		raise(SIGSTOP);
		_exit(answer());
	}
	waitpid(pid, status, 0);
	return pid;
}

static void go_on(pid_t pid, int *status)
{
	ptrace(PTRACE_CONT, pid, NULL, NULL);
	waitpid(pid, status, 0);
}

static void stops(bool written)
{
	struct arch_breakpoint breakpoint;
	int status;
	pid_t pid = begin(&status);

	ok(WIFSTOPPED(status) && arch_set_breakpoint(pid, (uintptr_t)answer, written, &breakpoint), "%s: set",
	   written ? "written" : "in a register");
	ok(!arch_at_breakpoint(pid, &breakpoint, WSTOPSIG(status)), "  not there yet");
	go_on(pid, &status);
	ok(WIFSTOPPED(status) && arch_at_breakpoint(pid, &breakpoint, WSTOPSIG(status)), "  there");
	ok(!arch_at_breakpoint(pid, &breakpoint, SIGUSR1), "  not for a signal that comes there");
	arch_clear_breakpoint(pid, &breakpoint);
	ok(!breakpoint.address && arch_instruction(pid) == (uintptr_t)answer, "  before the instruction");
	go_on(pid, &status);
	ok(WIFEXITED(status) && WEXITSTATUS(status) == ANSWER, "  which then runs, as all that follows");
}

static void taken_away_before(void)
{
	struct arch_breakpoint breakpoint;
	int status;
	pid_t pid = begin(&status);

	arch_set_breakpoint(pid, (uintptr_t)answer, true, &breakpoint);
	arch_clear_breakpoint(pid, &breakpoint);
	go_on(pid, &status);
	ok(WIFEXITED(status) && WEXITSTATUS(status) == ANSWER, "taken away before it is reached");
}

/* What a uprobe has written comes after it. */
static void where_another_is(void)
{
	uint64_t at = (uintptr_t)probed, place = at & ~7ull, word;
	struct arch_breakpoint breakpoint;
	int status;
	pid_t pid = fork();

	if (!pid) {
		ptrace(PTRACE_TRACEME, 0, NULL, NULL);
		raise(SIGSTOP);
		probed();
		_exit(ANSWER);
	}
	waitpid(pid, &status, 0);
	word = (uint64_t)ptrace(PTRACE_PEEKTEXT, pid, place, NULL);
	ok((word >> (at - place) * 8 & 0xff) == 0xcc && arch_set_breakpoint(pid, at, true, &breakpoint),
	   "where another breakpoint is: set");
	go_on(pid, &status);
	ok(WIFSTOPPED(status) && arch_at_breakpoint(pid, &breakpoint, WSTOPSIG(status)), "  there, before it");
	arch_clear_breakpoint(pid, &breakpoint);
	go_on(pid, &status);
	ok(WIFSTOPPED(status) && WSTOPSIG(status) == SIGTRAP && arch_instruction(pid) == at + 1,
	   "  then the other one");
	go_on(pid, &status);
	ok(WIFEXITED(status) && WEXITSTATUS(status) == ANSWER, "  and all that follows");
}

int main(void)
{
	stops(true);
	taken_away_before();
	where_another_is();
	if (feature_breakpoints())
		stops(false);
	else
		ok(true, "in a register # SKIP the debug registers of this machine report nothing");
	return tap_done();
}
