/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The unwind tables as the native walk sees them.
 *
 *   processes  hash: tgid ─► { valid_from, generation, first mapping, count }
 *                                                       │
 *   mappings   array, one sorted run per process        ▼
 *              ... │ start end bias kind first-page │ start end ... │ ...
 *                                         │
 *   pages      array, one run per file, a u64 for each 512 bytes of text
 *              ... │ rule 7 │ slab 0, row 90, 3 rows │ rule 7 │ ...
 *                                 │
 *   slabs      array of arrays: 32 blocks of 64 KiB each
 *              slab 0: ... │ 0 → rule 7 │ 18 → rule 12 │ 203 → rule 9 │ ...       u32: offset << 16 | rule
 *                                                  │
 *   rules      array of struct unwind_rule, shared by all files
 *              fixed ones (enum rule_index) │ ... │ 12: CFA = SP + 48, FP at CFA - 16 │ ...
 *
 * A page is self-contained: its first row has offset 0 and repeats the rule that is in force there. So a lookup
 * touches one page entry and, where the page has more than one rule, one or two cache lines of rows.
 *
 * All but `processes` are plain arrays in which user space allocates runs. User space writes them through shared
 * memory, except the slabs, which it writes by blocks. A run becomes visible only through the entry that points to it,
 * which is written last, and is reused only after a grace period, because a walk on another CPU may still read it. But
 * the kernel may reuse an element of the hash at once, even for another process, while it is being read. So the walk
 * takes a copy and checks it (process_entry_check()).
 *
 * Rows of all files share slabs, instead of one inner map per file. A lookup then needs no map per file, and adding a
 * file creates a map only when a slab is full. The cost: a slab can be freed only when the last rows in it, and in all
 * slabs behind it, are gone.
 */
#ifndef STRATA_ABI_TABLES_H
#define STRATA_ABI_TABLES_H

#include "abi/limits.h"
#include "abi/types.h"

struct process_entry {
	__u64 valid_from;    /* CLOCK_MONOTONIC ns: every mapping change before this moment is in the entry */
	__u64 changed;       /* CLOCK_MONOTONIC ns: about when the mappings last changed */
	__u32 generation;    /* new at each publication: keys the walker's memo */
	__u32 mapping_first; /* index into mappings */
	__u32 mapping_count;
	__u32 epoch; /* changes when code is replaced by other code: part of the ids of its stacks */
	__u32 tgid;
	__u32 unnamed; /* how many of its files have no key in the kernel part yet (bpf/find.h) */
	__u32 pad;
	__u32 check; /* process_entry_check() */
};
ABI_ASSERT_SIZE(struct process_entry, 48);

/*
 * The value that `check` must have. An element of a hash may be freed and reused for another process while the walker
 * reads it. So a copy is used only if it is consistent.
 */
static inline __u32 process_entry_check(const struct process_entry *entry)
{
	const __u64 words[] = {entry->valid_from, entry->changed, (__u64)entry->generation << 32 | entry->mapping_first,
			       (__u64)entry->mapping_count << 32 | entry->epoch};
	__u64 hash = entry->tgid | (__u64)entry->unnamed << 32;
	__u32 i;

	for (i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		hash = (hash ^ words[i]) * 0x9e3779b97f4a7c15ull;
		hash ^= hash >> 32;
	}
	return (__u32)hash;
}

enum mapping_kind {
	MAPPING_TABLE = 1,      /* has a page index */
	MAPPING_FP_CHAIN = 2,   /* anonymous code: trust frame pointers; they are on trial (UNWIND_CHAIN_KEPT) */
	MAPPING_NO_TABLE = 3,   /* the file could not be read or compiled */
	MAPPING_NO_ANSWER = 4,  /* its file system does not answer */
	MAPPING_COMPLETE = 5,   /* as MAPPING_TABLE, but no more rules will be learnt for code without one */
	MAPPING_TABLE_FULL = 6, /* no room in the share of the tables of its user or process */
	MAPPING_UNLEARNT = 7,   /* anonymous code without frame pointers: user space finds rules when a walk meets it */
	MAPPING_FP_KEPT = 8,    /* as MAPPING_FP_CHAIN, but the trial is over */
	MAPPING_RULE = 9        /* one rule for all of it, whose number is in page_first. Of UNWIND_ENTERED, bias: where
				 * the word is that points to the state */
};

struct mapping_entry {
	__u64 start, end; /* addresses in the process, end exclusive */
	__u64 bias;       /* address - bias = byte offset into the page index's range */
	__u32 page_first; /* index into pages */
	__u32 page_count : 28;
	__u32 kind : 4; /* enum mapping_kind */
};
ABI_ASSERT_SIZE(struct mapping_entry, 32);

/* The first entries of the rules array are fixed. */
enum rule_index {
	RULE_NONE = 0,       /* UNWIND_NO_RULE */
	RULE_FP_CHAIN = 1,   /* UNWIND_FP_CHAIN */
	RULE_NO_TABLE = 2,   /* UNWIND_NO_TABLE */
	RULE_NO_MAPPING = 3, /* UNWIND_NO_MAPPING */
	RULE_NO_ANSWER = 4,  /* UNWIND_NO_ANSWER */
	RULE_UNLEARNT = 5,   /* UNWIND_UNLEARNT */
	RULE_ABSENT = 6,     /* UNWIND_ABSENT */
	RULE_TABLE_FULL = 7, /* UNWIND_TABLE_FULL */
	RULE_FP_KEPT = 8,    /* UNWIND_FP_CHAIN with UNWIND_CHAIN_KEPT */
	RULE_FIRST_FREE = 9
};

/*
 * An entry of the page index. If bit 63 is set, bits 0-15 are the only rule of the page. Otherwise it is a run of at
 * least two rows.
 */
#define PAGE_ABSENT                   0ull /* it has no rows yet: see kernel/tables.h, tables_reserve() */
#define PAGE_SINGLE_RULE              (1ull << 63)
#define PAGE_ROWS(slab, first, count) ((__u64)(slab) << 32 | (__u64)(count) << 20 | (__u64)(first))
#define PAGE_FIRST(page)              ((__u32)(page) & (UNWIND_SLAB_ROWS - 1))
#define PAGE_COUNT(page)              ((__u32)((page) >> 20) & 0xfff)
#define PAGE_SLAB(page)               ((__u32)((page) >> 32) & (UNWIND_SLABS_MAX - 1))
#define ROW(offset, rule)             ((__u32)(offset) << 16 | (__u32)(rule))
#define ROW_RULE(row)                 (0xffff & (row))

#endif
