/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * derived: the rules that code itself gives (code_rules.h), as sorted ranges; kept in the cache of analyses, for they
 * are dear: 0.25 us a byte of code. For src/unwind/ and its tests only.
 *
 * An entry is named after a digest of what it was derived from: the code and where it is, and the rest of the file
 * (elf_file_digest()), or of what start files leave the arrays that name it. It needs no build id, and serves any file
 * that has the same.
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

/* Reads what an entry holds: ranges that are sorted and apart from each other. False when it makes no sense. *ret is to
 * be freed. For tests and fuzzing. */
bool derived_decode(const void *bytes, size_t size, rule_ranges *ret, struct code_counts *counts);

#endif
