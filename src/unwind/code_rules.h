/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * code_rules: unwind rules for code without CFI, derived from the code itself. musl's libc has no CFI, nor has
 * anything built with -fno-asynchronous-unwind-tables.
 *
 * Each function is followed from its first instruction (code_flow.h). Before every instruction it is then known where
 * the CFA is, and which saved registers and stack slots hold what. Starts of functions are known from symbols
 * (.symtab, .dynsym, MiniDebugInfo, separate debug files), from calls, and from addresses that code and data mention;
 * code_flow.h says how far each is trusted.
 *
 * No frame is better than a wrong one. If two paths to one place disagree about the stack and there is no frame
 * pointer, or a function returns with a different stack than it was entered with, or it cannot be followed, the whole
 * function has no rule. Code after a call that does not return is not reached, so which functions return is found out
 * on the way.
 *
 * Limits: 4 MiB of such code in a file. It costs 0.2 µs a byte, 0.1 s for musl's libc, so results are cached. Start
 * files, less than 256 bytes in every file, are followed from .init_array and .fini_array only (CODE_FEW). Less than
 * 16 bytes before an aligned function are taken for padding without being read.
 *
 * tests/elf/code.t compares the rules with .eh_frame in files that have one: no difference in 2.3 million
 * instructions. tests/elf/start_files.t steps through start files' code. `strata inspect` shows the covered share,
 * what was refused and why, and the time.
 */
#ifndef STRATA_UNWIND_CODE_RULES_H
#define STRATA_UNWIND_CODE_RULES_H

#include "elf/elf_file.h"
#include "unwind/code_flow.h"

enum code_scope {
	CODE_ALL,
	CODE_FEW /* only what .init_array and .fini_array name, for start files. No names are looked up, which would
		    take long in a large file; so no call to another file is known to return. Only these arrays are read
		    as data */
};

struct code_counts {
	size_t functions[CODE_REFUSALS]; /* accepted ones, and refused ones by reason */
};

/*
 * Analyses code: `spans` are parts of the text, sorted. Calls `visit` for each instruction of accepted functions, in no
 * order; ends when that returns other than 0, and returns it. -ENOMEM, -ENOTSUP, -E2BIG if it takes too long.
 */
int code_rules_each(const struct elf_file *elf, const struct code_arch *arch, const struct code_span *spans,
		    size_t count, enum code_scope scope,
		    int (*visit)(void *context, uint64_t vaddr, const struct code_insn *insn,
				 const struct code_state *state),
		    void *context, struct code_counts *ret);

/* The same analysis for where functions begin: code_flow_functions(). */
int code_rules_functions(const struct elf_file *elf, const struct code_arch *arch, const struct code_span *spans,
			 size_t count, enum code_scope scope,
			 int (*visit)(void *context, uint64_t start, uint64_t end, uint64_t function), void *context);

#endif
