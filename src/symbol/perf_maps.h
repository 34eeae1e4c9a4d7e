/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * perf_maps: the perf maps of many processes, within a budget.
 *
 * Any process may write a perf map of any size for strata to read. So the bytes read count against PERF_MAPS_BYTES,
 * which users share (base/budget.h): no user can take the names from all others. The count halves every
 * PERF_MAPS_HALVING_S seconds, so that a long recording can read the maps of new processes. A map that exceeds the
 * budget is not read, but counted (perf_maps_refused()). Not thread-safe.
 */
#ifndef STRATA_SYMBOL_PERF_MAPS_H
#define STRATA_SYMBOL_PERF_MAPS_H

#include "symbol/perf_map.h"

#define PERF_MAPS_BYTES     (160ull << 20) /* to parse one takes some 8 ns, and up to 4 bytes of memory */
#define PERF_MAPS_HALVING_S 20

struct perf_maps;

/* NULL when memory is short. `files` is borrowed; it may be NULL (base/foreign.h). */
struct perf_maps *perf_maps_create(struct foreign_files *files);
void perf_maps_destroy(struct perf_maps *maps); /* may be NULL */

/* The map of a process, read when `key` is first asked for, and kept under it; NULL if there is none. */
struct perf_map *perf_maps_of(struct perf_maps *maps, uint64_t key, int pid);
/* The same, read again. The old map stays if nothing can be read any more, or the budget does not allow it. */
struct perf_map *perf_maps_renew(struct perf_maps *maps, uint64_t key, int pid);
/*
 * Stores a map that did not come from a file under a key, and replaces what is there. 0, or -ENOMEM: the caller still
 * owns it.
 */
int perf_maps_give(struct perf_maps *maps, uint64_t key, struct perf_map *map);
/* What is kept under a key; NULL: nothing, and nothing is read. */
struct perf_map *perf_maps_kept(const struct perf_maps *maps, uint64_t key);
/* Frees what is kept under a key. */
void perf_maps_forget(struct perf_maps *maps, uint64_t key);

/* How many maps were not read because of the budget. */
uint64_t perf_maps_refused(const struct perf_maps *maps);

#endif
