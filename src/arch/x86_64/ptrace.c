// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Breakpoints: debug registers DR0 (address) and DR7 (bit 0: DR0 is on; type and length 0: when the instruction is
 * executed), Intel SDM volume 3, 18.2; or HLT, which is a fault in user space, with the instruction pointer at it
 * (volume 2A). It may stand where a uprobe has its INT3: that runs when the instruction is there again.
 */
#ifdef __x86_64__

#include "arch/ptrace.h"

#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <sys/ptrace.h>
#include <sys/user.h>

#define DEBUG_REGISTER(n)      (offsetof(struct user, u_debugreg) + (n) * sizeof(long))
#define HLT                    0xf4ull
#define WORD_OF(address)       ((address) & ~7ull)
#define SHIFT_IN_WORD(address) (((address)&7) * 8)

static bool write_breakpoint(pid_t pid, struct arch_breakpoint *breakpoint)
{
	unsigned int shift = SHIFT_IN_WORD(breakpoint->address);
	uint64_t word;

	errno = 0;
	word = (uint64_t)ptrace(PTRACE_PEEKTEXT, pid, WORD_OF(breakpoint->address), NULL);
	if (errno)
		return false;
	breakpoint->word = word;
	word = (word & ~(0xffull << shift)) | HLT << shift;
	return !ptrace(PTRACE_POKETEXT, pid, WORD_OF(breakpoint->address), word);
}

bool arch_set_breakpoint(pid_t pid, uint64_t address, bool written, struct arch_breakpoint *ret)
{
	bool set;

	*ret = (struct arch_breakpoint){.address = address, .written = written};
	set = written ? write_breakpoint(pid, ret)
		      : !ptrace(PTRACE_POKEUSER, pid, DEBUG_REGISTER(0), address) &&
				!ptrace(PTRACE_POKEUSER, pid, DEBUG_REGISTER(7), 1ul);
	if (!set)
		*ret = (struct arch_breakpoint){};
	return set;
}

bool arch_at_breakpoint(pid_t pid, const struct arch_breakpoint *breakpoint, int signal)
{
	return breakpoint->address && signal == (breakpoint->written ? SIGSEGV : SIGTRAP) &&
	       arch_instruction(pid) == breakpoint->address;
}

void arch_clear_breakpoint(pid_t pid, struct arch_breakpoint *breakpoint)
{
	if (breakpoint->written)
		ptrace(PTRACE_POKETEXT, pid, WORD_OF(breakpoint->address), breakpoint->word);
	else if (breakpoint->address)
		ptrace(PTRACE_POKEUSER, pid, DEBUG_REGISTER(7), 0ul);
	*breakpoint = (struct arch_breakpoint){};
}

uint64_t arch_instruction(pid_t pid)
{
	struct user_regs_struct registers;

	return ptrace(PTRACE_GETREGS, pid, NULL, &registers) ? 0 : registers.rip;
}

#endif
