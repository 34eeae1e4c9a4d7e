/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * derived: the rules derived from code itself (code_rules.h), as sorted ranges. They are stored in the cache of
 * analyses, because computing them is slow: 0.25 us per byte of code. For src/unwind/, the engine, which has them
 * computed elsewhere, and tests.
 *
 * An entry is named by a digest of the file (elf_file_digest()): all code, symbols, and what refers to them. So it
 * needs no build id, and is used for any file with the same content. Of start files' code (CODE_FEW), which every file
 * has, the digest is that of this code and of the arrays that point to it.
 */
#ifndef STRATA_UNWIND_DERIVED_H
#define STRATA_UNWIND_DERIVED_H

#include "base/cache.h"
#include "unwind/code_rules.h"
#include "unwind/rule_ranges.h"
#include "unwind/unwind_table.h"

#define DERIVED_FILE_MAX (64u << 20) /* one of more takes as long to read as its code, of 4 MiB at most, to follow */

/* What an entry about this file is called. False, and "": none is kept, as the file is large or cannot be read. */
bool derived_name(const struct elf_file *elf, char ret[CACHE_NAME_MAX + 1]);

/* Code without unwind tables. */
struct derived_code {
	const struct elf_file *elf;
	const struct code_arch *arch;
	uint64_t base;
	const struct code_span *spans;
	size_t count;
	enum code_scope scope;
};

/*
 * Its ranges, as offsets from the base; *cached: they were kept. 0, -ENOMEM, or what options->follow() said when they
 * were not. That there are none is no error.
 */
int derived_find(const struct derived_code *code, const struct unwind_options *options, rule_ranges *ret,
		 struct code_counts *counts, bool *cached);

/*
 * Decodes an entry: sorted ranges that do not overlap. False when it is invalid. *ret is to be freed. For tests and
 * fuzzing.
 */
bool derived_decode(const void *bytes, size_t size, rule_ranges *ret, struct code_counts *counts);

#endif
