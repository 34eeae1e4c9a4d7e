/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * references: what code jumps to and refers to. Used to find the parts of a function (runtime/python/eval_ranges.c),
 * and the function that uses a message (runtime/python/eval_search.c).
 */
#ifndef STRATA_ARCH_REFERENCES_H
#define STRATA_ARCH_REFERENCES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct reference_code {
	const uint8_t *bytes;
	size_t size;
	uint64_t vaddr;
};

/* Not 0: stop, and return that. */
typedef int (*reference_visit)(void *context, uint64_t place, uint64_t target);

struct reference_arch {
	size_t step; /* how far to go on after bytes that are no instruction */

	/* By what Capstone prints: a jump, with a condition or not; one to an address that is computed. */
	bool (*is_jump)(const char *mnemonic);
	bool (*is_indirect)(const char *mnemonic, const char *operands);

	/* Visits direct calls, and where code takes an address. */
	int (*visit)(const struct reference_code *code, reference_visit visit, void *context);
	/*
	 * May code use this address for anything but to call it or to jump there? Every place is tried, so it may be a
	 * mistake to say yes, and never one to say no. `is_fixed`: it runs at its own addresses, so they may be numbers
	 * in it. NULL: that cannot be told.
	 */
	bool (*uses_address)(const struct reference_code *code, uint64_t target, bool is_fixed);
};

#endif
