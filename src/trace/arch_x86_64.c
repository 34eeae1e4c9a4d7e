// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Breakpoints: debug registers DR0 (address) and DR7 (bit 0: DR0 is on; type and length 0: when the instruction is
 * executed), Intel SDM volume 3, 18.2.
 */
#include "trace/arch.h"

#include <stddef.h>
#include <sys/ptrace.h>
#include <sys/user.h>

#define DEBUG_REGISTER(n) (offsetof(struct user, u_debugreg) + (n) * sizeof(long))

bool arch_set_breakpoint(pid_t pid, uint64_t address)
{
	return !ptrace(PTRACE_POKEUSER, pid, DEBUG_REGISTER(0), address) &&
	       !ptrace(PTRACE_POKEUSER, pid, DEBUG_REGISTER(7), 1ul);
}

void arch_clear_breakpoint(pid_t pid)
{
	ptrace(PTRACE_POKEUSER, pid, DEBUG_REGISTER(7), 0ul);
}

uint64_t arch_instruction(pid_t pid)
{
	struct user_regs_struct registers;

	return ptrace(PTRACE_GETREGS, pid, NULL, &registers) ? 0 : registers.rip;
}
