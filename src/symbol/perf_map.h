/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * perf_map: names of code generated at run time, from /tmp/perf-PID.map ("START SIZE NAME" per line, hexadecimal;
 * Linux: tools/perf/Documentation/jit-interface.txt). The file belongs to the watched program: hostile, and it
 * grows while it is read. Lines that do not parse are skipped and counted; an unfinished last line, whose name may be
 * cut, is skipped. Where entries overlap the later line wins. Of more than 4,194,304 lines the first ones are kept.
 */
#ifndef STRATA_SYMBOL_PERF_MAP_H
#define STRATA_SYMBOL_PERF_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/budget.h"
#include "base/foreign.h"

struct perf_map;

/* Parses the bytes of a perf map, which it copies; NULL only when memory is short. Reads at most `size` bytes. */
struct perf_map *perf_map_create(const char *bytes, size_t size);
/*
 * Reads the perf map of a process, from its own root and by its pid inside its namespace (NSpid of /proc/PID/status),
 * then /tmp/perf-PID.map of this root. Refuses files that are not regular, over 256 MiB, or owned by neither the
 * process's user nor root. One of root's must be readable by all: what the process cannot read itself, it may have put
 * there to be read for it (a mount in a namespace of its own). Links are followed inside the process's root only, and
 * not at all in the last component. Of a process that is gone the user is not known: its map must belong to root or to
 * strata's own user. The file's size is taken from `budget` in the name of the process's user; NULL: no bound. NULL
 * when there is none, or when the budget does not allow it.
 */
struct perf_map *perf_map_load(struct foreign_files *files, int pid, struct budget *budget);
void perf_map_destroy(struct perf_map *map);

/* The name that covers an address, valid as long as the map; NULL when none does. */
const char *perf_map_lookup(const struct perf_map *map, uint64_t address);
size_t perf_map_bad_lines(const struct perf_map *map);

#endif
