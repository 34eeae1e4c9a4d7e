/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * ptrace: the machine-dependent parts of ptrace(2), for the machine on which strata runs: a breakpoint, and a thread's
 * PC. Each NAME/ptrace.c is compiled on its own machine only. The thread is a stopped tracee.
 */
#ifndef STRATA_ARCH_PTRACE_H
#define STRATA_ARCH_PTRACE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* One in a debug register, or written into the code. */
struct arch_breakpoint {
	uint64_t address; /* 0: there is none */
	bool written;
	uint64_t word; /* what was there */
};

/*
 * Has it stop when it is about to execute the instruction at the address: by a debug register, or if `written` by an
 * instruction in its copy of the code, also where a uprobe has one. False when it cannot be done.
 */
bool arch_set_breakpoint(pid_t pid, uint64_t address, bool written, struct arch_breakpoint *ret);

/* Whether that is why it has stopped, by `signal`: which it is then not to be given. */
bool arch_at_breakpoint(pid_t pid, const struct arch_breakpoint *breakpoint, int signal);

/* Takes it away. A thread that has stopped at it then executes the instruction. */
void arch_clear_breakpoint(pid_t pid, struct arch_breakpoint *breakpoint);

/* The address of the instruction that it is about to execute; 0: it has been killed meanwhile. */
uint64_t arch_instruction(pid_t pid);

#endif
