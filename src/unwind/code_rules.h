/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * code_rules: rules for code without CFI, derived from the code itself: musl's libc has none, nor has anything that was
 * built with -fno-asynchronous-unwind-tables.
 *
 * Where functions begin is known from symbols (.symtab, .dynsym, MiniDebugInfo, separate debug files), from calls, and
 * from addresses that code and data mention; code_flow.h says how far each is believed. What is not proved has no rule.
 */
#ifndef STRATA_UNWIND_CODE_RULES_H
#define STRATA_UNWIND_CODE_RULES_H

#include "elf/elf_file.h"
#include "unwind/code_flow.h"

enum code_scope {
	CODE_ALL,
	CODE_FEW /* only what .init_array and .fini_array name: for the little that start files leave. No names are
		    looked up, which is what takes long in a large file; so no call to elsewhere is known to return. No
		    data is read but these arrays */
};

struct code_counts {
	size_t functions[CODE_REFUSALS]; /* those accepted, and those refused by why */
};

/*
 * Analyses code: `spans` are parts of the text, sorted. Calls `visit` for each instruction of accepted functions, in no
 * order; it ends when that gives other than 0, which is returned. -ENOMEM, -ENOTSUP, -E2BIG when it takes too long.
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
