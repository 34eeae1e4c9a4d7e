/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * mapping: what all steps of the native walk share, in native.h and in the runtimes (steps.h): finding the mapping of
 * an address, and ending the walk. A step returns 0, or the result of native_end().
 *
 *   native_find_mapping()   searches the process's mappings and puts the result into walk->mapping. 0: there is none
 *   native_mapping_has()    is it the mapping that was found last? One comparison, usually true
 *   native_end()            ends the walk with a loss, or with LOSS_NONE
 */
#ifndef STRATA_BPF_MAPPING_H
#define STRATA_BPF_MAPPING_H

#include "bpf/scratch.h"
#include "bpf/shim.h"
#include "bpf/tables.h"

static __always_inline int native_end(struct native_walk *walk, __u32 loss)
{
	walk->loss = loss;
	walk->done = 1;
	return 1;
}

/* Finds the mapping of an address and copies it to walk->mapping. */
static __always_inline int native_find_mapping_in(struct scratch *s, __u64 pc)
{
	struct native_walk *walk = &s->native;
	__u32 first = walk->mapping_first, count = walk->mapping_count;
	const struct mapping_entry *entry;
	int i;

	for (i = 0; i < 17 && count > 1; i++) { /* 2^17 = MAPPINGS_MAX */
		__u32 half = count / 2, up;

		entry = table_mapping(s, first + half);
		if (!entry)
			return 0;
		up = 1 - walk_less(pc, entry->start);
		first += half * up;
		count = half + (count & up); /* of an odd count, the upper half has one more */
	}
	if (!count)
		return 0;
	entry = table_mapping(s, first);
	if (!entry || pc < entry->start || pc >= entry->end)
		return 0;
	walk->mapping = *entry;
	return 1;
}
WALK_GLOBAL(int, native_find_mapping, __u64)

/* Whether an address lies in the mapping that was found last. */
static __always_inline bool native_mapping_has(const struct native_walk *walk, __u64 pc)
{
	return pc >= walk->mapping.start && pc < walk->mapping.end;
}

#endif
