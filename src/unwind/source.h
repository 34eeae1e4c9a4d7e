/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * source: where rules come from besides CFI: tables written by a runtime's linker, and what a runtime knows better
 * about code that it has generated. The runtimes are above this folder (runtime/runtime.h), so they are reached by
 * unwind_source_at(), which src/runtime/runtimes.c defines.
 *
 * A source has no state of its own; each of its functions may be NULL, but `ranges`, `rebase` and those of functions
 * come together. All bytes of a file are hostile.
 */
#ifndef STRATA_UNWIND_SOURCE_H
#define STRATA_UNWIND_SOURCE_H

#include "arch/unwind.h"
#include "elf/elf_file.h"

/* A run of addresses with one rule. Not 0: no more are wanted. */
typedef int (*unwind_range)(void *context, uint64_t start, uint64_t end, struct unwind_rule rule);

struct unwind_source {
	/*
	 * Calls `range` for the code of a file that the runtime has tables of, in order of address, neither overlapping
	 * nor always adjacent. 0 when all is read, or there are none, or where they are damaged; or what `range` gave.
	 */
	int (*ranges)(const struct elf_file *elf, const struct unwind_arch *arch, unwind_range range, void *context);
	/* Makes the vaddr in such a rule relative to a table's base. */
	void (*rebase)(struct unwind_rule *rule, uint64_t base);
	/* The functions that these tables name. NULL: there are no tables, or no memory for this. `elf` is borrowed. */
	void *(*functions_create)(const struct elf_file *elf, const struct unwind_arch *arch);
	void (*functions_destroy)(void *functions);
	bool (*functions_find)(const void *functions, uint64_t vaddr, uint64_t *ret); /* where one begins */
	/* Given a rule from CFI for code that the runtime knows: may replace it by one of the runtime's steps. */
	void (*adapt)(const struct unwind_arch *arch, struct unwind_rule *rule);
	/* Writes a rule of one of its steps as text, as snprintf() does. NULL: it has no steps. */
	int (*format)(const struct unwind_arch *arch, const struct unwind_rule *rule, char *buffer, size_t size);
};

/* Those of the runtimes that are built in, by number from 0, some of them NULL. False: there are no more. */
bool unwind_source_at(size_t i, const struct unwind_source **ret);

/* The one whose step a rule of a kind from UNWIND_STEPS on is; NULL: nobody's. */
const struct unwind_source *unwind_source_of(uint8_t kind);

#endif
