/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * derived: the rules derived from code itself (code_rules.h), as sorted ranges. They are stored in the cache of
 * analyses, because computing them is slow: 0.25 us per byte of code. For src/unwind/ and its tests only.
 *
 * An entry is named by a digest of its input: the code and its addresses, and the rest of the file (elf_file_digest());
 * for start files, the arrays that point to them. It needs no build id, and is used for any file with the same input.
 */
#ifndef STRATA_UNWIND_DERIVED_H
#define STRATA_UNWIND_DERIVED_H

#include "base/cache.h"
#include "unwind/builder.h"
#include "unwind/code_rules.h"

/*
 * The ranges of `spans`, offsets from `base`; *cached: they were kept. 0, -ENOMEM, or what options->follow() said when
 * they were not; that there are none is no error.
 */
int derived_find(const struct elf_file *elf, const struct code_arch *arch, uint64_t base, const struct code_span *spans,
		 size_t count, enum code_scope scope, const struct unwind_options *options, rule_ranges *ret,
		 struct code_counts *counts, bool *cached);

/*
 * Decodes an entry: sorted ranges that do not overlap. False when it is invalid. *ret is to be freed. For tests and
 * fuzzing.
 */
bool derived_decode(const void *bytes, size_t size, rule_ranges *ret, struct code_counts *counts);

#endif
