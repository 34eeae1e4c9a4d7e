/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * table: a hash table from a non-zero 64-bit key to a 64-bit value, open addressing, linear probing.
 *
 * Used wherever ids are interned: stacks, code objects, processes, frames. Values are plain integers or
 * pointers cast through uintptr_t; the table owns none of what they point to. Key 0 is reserved.
 * Zero-initialise (`struct table t = {};`), release with table_deinit(). Not thread-safe.
 */
#ifndef STRATA_BASE_TABLE_H
#define STRATA_BASE_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct table_slot {
	uint64_t key; /* 0: free */
	uint64_t value;
};

struct table {
	struct table_slot *slots;
	size_t count;
	size_t capacity; /* a power of two, or 0 */
};

void table_deinit(struct table *table);

/* True and *ret set when the key is there; *ret untouched otherwise. `ret` may be NULL. */
bool table_get(const struct table *table, uint64_t key, uint64_t *ret);

/* Inserts or replaces. 0, or -ENOMEM with the table unchanged. */
int table_set(struct table *table, uint64_t key, uint64_t value);

/* Removes a key; false when it was not there. */
bool table_remove(struct table *table, uint64_t key);

/*
 * Visits every entry: start with *at = 0; returns NULL after the last. The table must not be changed
 * meanwhile, but for the value of the visited slot.
 */
struct table_slot *table_next(const struct table *table, size_t *at);

#endif
