/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * tables_parts: the internals of tables, for tables.c (files: rows and page index) and tables_publish.c (processes:
 * mappings; shares).
 */
#ifndef STRATA_KERNEL_TABLES_PARTS_H
#define STRATA_KERNEL_TABLES_PARTS_H

#include "base/extents.h"
#include "base/table.h"
#include "base/vec.h"
#include "kernel/shared_array.h"
#include "kernel/tables.h"
#include "kernel/tables_rules.h"

struct retired {
	uint64_t at;
	struct extent run;
};

/* Rows of one file in one slab. */
struct chunk {
	uint32_t slab;
	struct extent rows;
};

/* What a file takes. */
struct file {
	struct share_owner owner;
	VEC(struct chunk) chunks;
	VEC(uint32_t) rules; /* global ones, each as often as a part of the file has it */
	uint32_t row_count, page_count;
};

struct tables {
	struct tables_maps maps;
	struct shared_array mapping_array, page_array;
	struct mapping_entry *mappings;
	uint64_t *pages;
	struct tables_rules rules;
	uint32_t
		*slabs[UNWIND_SLABS_MAX]; /* the same rows in user space, for walks on the host; NULL: not needed yet */
	uint32_t dirty[UNWIND_SLABS_MAX]; /* blocks that the kernel does not have yet, a bit each */
	int slab_fds[UNWIND_SLABS_MAX];
	struct extents free_rows[UNWIND_SLABS_MAX];
	uint32_t slab_count;
	struct table files; /* first page + 1 → struct file * */
	uint32_t generation;
	uint64_t rows;
	struct extents free_mappings, free_pages;
	VEC(struct retired) retired; /* runs of mappings, in order of time */
	struct shares shares[TABLES_KINDS];
	struct tables_refusal refusals[TABLES_KINDS];
	struct table mapping_owners; /* the first of a run + 1 → user << 32 | process */
	struct share_owner owner;    /* of what is added */
};

void tables_init_shares(struct tables *tables);

/* Something did not fit: notes who holds most. */
void tables_note_full(struct tables *tables, enum tables_kind kind);

/* Takes from an owner's share. 0, -ENOSPC or -ENOMEM. */
int tables_take(struct tables *tables, enum tables_kind kind, const struct share_owner *owner, uint64_t amount);

/* Frees the last slab if it is empty. One at a time, because that waits for RCU. */
void tables_drop_last_slab(struct tables *tables);

#endif
