/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * tables: writes the unwind tables into the kernel's maps (layout: abi/tables.h). Most of it is written through shared
 * memory. Rows are copied by the kernel, 64 KiB at a time, because a fresh page of shared memory costs two faults, the
 * writer's and the reader's.
 *
 * - A file's rows are added once and shared by all processes that map it. They are freed when no process maps it any
 *   more: ten seconds later (engine/watch_tidy.c), when no walk can read them, the space is used again.
 * - tables_publish() makes a process visible to the walks, atomically. A run of mappings that it replaces is reused
 *   only after a grace period.
 * - Users and processes have shares of the tables (base/shares.h). A file is charged to the process that needs it
 *   first, a rule to the file that has it first. What does not fit is refused as a whole, a file or one part of a
 *   large file: samples that need it are lost as table-full, and it is tried again after ten seconds
 *   (engine/watch_full.c).
 * - What the walks remember of a process (bpf/scratch.h) holds as long as the map `changed` keeps its value. Whoever
 *   changes what the kernel knows of processes calls tables_changed() afterwards.
 * - Of a file with much code, rows can be added part by part. tables_reserve() makes all its pages absent. A walk in
 *   the kernel that meets an absent page ends, and its sample is late. The walk on the host then asks for the rows
 *   (walk_host.fill), and tables_fill() adds them for both.
 *
 * The maps belong to the sampler's BPF object and must stay open while the tables live. Not thread-safe.
 */
#ifndef STRATA_KERNEL_TABLES_H
#define STRATA_KERNEL_TABLES_H

#include <stdbool.h>

#include "abi/tables.h"
#include "base/diag.h"
#include "base/shares.h"
#include "bpf/shim.h"
#include "unwind/unwind_table.h"

struct tables;

/* File descriptors of the maps, borrowed. */
struct tables_maps {
	int mappings, pages, rules, slabs, processes, changed;
};

/* Where a file's page index lies. */
struct tables_run {
	uint64_t base; /* vaddr of the first page's first byte */
	uint32_t page_first, page_count;
};

/* What is shared between users and processes (base/shares.h). */
enum tables_kind { TABLES_MAPPINGS, TABLES_PAGES, TABLES_RULES, TABLES_ROWS, TABLES_KINDS };

int tables_create(const struct tables_maps *maps, struct tables **ret, struct diag *diag);
void tables_destroy(struct tables *tables);

/* Tells the walks that what they remember about processes may be out of date; after a change of what they look up. */
void tables_changed(const struct tables *tables);

/*
 * Sets the owner that is charged for what is added or published from now on, until it is removed; at first nobody is. A
 * file's parts are charged to the file's owner.
 */
void tables_charge(struct tables *tables, const struct share_owner *owner);

/* How much of a kind the present owner may still take. */
uint64_t tables_left(const struct tables *tables, enum tables_kind kind);

/* How often there was no space, or none in the share; and who held most the first time. */
struct tables_refusal {
	uint64_t count;
	struct share_owner most;
	uint64_t held, whole;
};
const struct tables_refusal *tables_refusals(const struct tables *tables, enum tables_kind kind);

/* Makes room for rows in advance, which takes milliseconds. Otherwise the first sample would have to wait for it. */
void tables_prepare(struct tables *tables);

/* Adds a file's rows. 0 and *ret; -ENOSPC when the tables, or a share of them, are full. */
int tables_add(struct tables *tables, const struct unwind_table *table, struct tables_run *ret, struct diag *diag);

/*
 * Adds code of which nothing is known but by tables_learn(): its rule is UNWIND_ABSENT, so that a walk in the kernel
 * that comes there makes a late sample, and does not look for other mappings. 0, -ENOMEM or -ENOSPC.
 */
int tables_add_unlearnt(struct tables *tables, uint64_t base, uint64_t end, struct tables_run *ret);

/*
 * Gives a rule to the bytes from one vaddr to another that have none. What the walks remember is out of date until the
 * next publication of their process. Pages without rows are left out. 0 or a negative errno: -ENOSPC when the tables
 * are full.
 */
int tables_learn(struct tables *tables, const struct tables_run *run, uint64_t start, uint64_t end,
		 const struct unwind_rule *rule);

/* The number of the rule in force at a vaddr, as enum rule_index and rows have it; it stays as long as the run. */
uint32_t tables_rule_number(const struct tables *tables, const struct tables_run *run, uint64_t vaddr);

/* The rule in force at a vaddr; UNWIND_ABSENT if there are no rows yet. */
struct unwind_rule tables_rule(const struct tables *tables, const struct tables_run *run, uint64_t vaddr);

/*
 * Adds a file without rows; tables_fill() adds the rows of a part when a walk needs them. `base` and `end` are the
 * table's. Until then a walk in the kernel ends there and its sample is late; a walk on the host asks for the rows
 * (struct walk_host).
 */
int tables_reserve(struct tables *tables, uint64_t base, uint64_t end, struct tables_run *ret, struct diag *diag);

/*
 * Adds the rows of `count` pages, from page `first` of the run on, from a table of the file that has them all and the
 * rule in force before them. The walks see them at once. NULL: there are none, and never will be. Existing rows stay. 0
 * or a negative errno, with nothing changed: -ENOSPC when the tables, or a share of them, are full.
 */
int tables_fill(struct tables *tables, const struct tables_run *run, uint32_t first, uint32_t count,
		const struct unwind_table *table);

/* There is no space for these pages: walks end there with LOSS_TABLE_FULL. 0 or a negative errno. */
int tables_refuse(struct tables *tables, const struct tables_run *run, uint32_t first, uint32_t count);
/* Makes all refused pages of the run absent again. */
void tables_forgive(struct tables *tables, const struct tables_run *run);

/* Has a page of a run no rows yet? */
bool tables_absent(const struct tables *tables, const struct tables_run *run, uint32_t page);

/*
 * Removes a file's rows, page index and rules; their space is used again at once. So no published process may have a
 * mapping into the run, or have had one within the grace period (TABLES_GRACE_NS).
 */
void tables_remove(struct tables *tables, const struct tables_run *run);

#define TABLES_GRACE_NS 1000000000ull /* no walk lasts this long */

/* What the walks are told about a process. Times are CLOCK_MONOTONIC, ns. */
struct publication {
	uint64_t now;
	uint64_t valid_from; /* no older change of the mappings is missing */
	uint64_t changed;    /* about when the mappings changed the last time */
	uint32_t epoch;      /* the process's (proc/processes.h) */
	uint32_t unnamed; /* of its files, how many the kernel part shall name (abi/files.h) */
	uint32_t count;
	const struct mapping_entry *mappings; /* sorted by address */
};

/*
 * Makes a process known to the walks, or replaces *ret, which they knew. The same mappings as before need no more
 * space. 0 or a negative errno, as above.
 */
int tables_publish(struct tables *tables, uint32_t tgid, const struct publication *publication,
		   struct process_entry *ret);

/* Makes a process unknown again. `now`: CLOCK_MONOTONIC, ns. */
void tables_withdraw(struct tables *tables, uint32_t tgid, const struct process_entry *entry, uint64_t now);

/* Reuses what was withdrawn or replaced before the grace period, and frees empty slabs; to be called regularly. */
void tables_collect(struct tables *tables, uint64_t now);

/* The same tables for a walk on the host; valid as long as the tables. */
void tables_host(const struct tables *tables, struct walk_host *ret);

/* Rows and bytes in use, for inspect and the summary. */
uint64_t tables_rows(const struct tables *tables);

#endif
