/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * go_code: the stack sizes that the Go linker stores for Go's own code, which has no .eh_frame.
 *
 * .gopclntab (Go: src/runtime/symtab.go, src/cmd/link/internal/ld/pcln.go) has a table for each function of how far SP
 * is below its value at entry, by PC. Read here are the layouts of Go 1.18 and 1.19 (magic 0xfffffff0) and of 1.20 and
 * later (0xfffffff1). It does not say where a function changes to another stack (systemstack, morestack, calls of the
 * vDSO). Such functions are marked in it (funcFlag_SPWRITE), and their code is analysed: switch.h.
 *
 * Tested with Go 1.19; files of 1.20, 1.23 and 1.26 are read. C code that is linked by Go's own linker (`net` and
 * `os/user` have some) loses its .eh_frame and appears among Go's functions, without sizes. It is followed like other
 * code without FDEs (code_rules.h). tests/e2e/go.t compares stacks with what a program knows about its own, with C that
 * calls back three levels deep.
 */
#ifndef STRATA_RUNTIME_GO_CODE_H
#define STRATA_RUNTIME_GO_CODE_H

#include "elf/elf_file.h"
#include "arch/arch.h"

/*
 * Calls `range` for runs of addresses with one rule, in order of address, neither overlapping nor always adjacent. Ends
 * when `range` returns non-zero, and returns that. 0 when everything was read, when there is no such table, or where it
 * is damaged.
 */
int go_code_ranges(const struct elf_file *elf, const struct unwind_arch *arch,
		   int (*range)(void *context, uint64_t start, uint64_t end, struct unwind_rule rule), void *context);

/*
 * The functions that the table names, including C functions that Go's linker has linked in. NULL when there is no
 * table, or no memory for this. `elf` is borrowed.
 */
struct go_functions *go_functions_create(const struct elf_file *elf, const struct unwind_arch *arch);
void go_functions_destroy(struct go_functions *functions);

/* Where the function at a vaddr begins. False when there is none. */
bool go_functions_find(const struct go_functions *functions, uint64_t vaddr, uint64_t *ret);

#endif
