/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What ptrace(2) has for each machine apart, of the one that strata runs on: a breakpoint in a register, and where a
 * thread is. Another architecture is another arch_*.c. The thread is a tracee that stands still.
 */
#ifndef STRATA_TRACE_ARCH_H
#define STRATA_TRACE_ARCH_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* Has it stop when it is about to execute the instruction at the address; there is one such breakpoint. */
bool arch_set_breakpoint(pid_t pid, uint64_t address);
void arch_clear_breakpoint(pid_t pid);

/* The address of the instruction that it is about to execute; 0: it has been killed meanwhile. */
uint64_t arch_instruction(pid_t pid);

#endif
