/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * perf_map: names of code generated at run time, from /tmp/perf-PID.map ("START SIZE NAME" per line, hexadecimal;
 * Linux: tools/perf/Documentation/jit-interface.txt). The file belongs to the watched program: it is hostile, and grows
 * while it is read. Lines that do not parse are skipped and counted. An unfinished last line, whose name may be cut, is
 * skipped. If entries overlap, the later line wins. Only the first 4,194,304 lines are kept.
 *
 * A map that was loaded is a copy of the file's bytes, in memory that no process maps: they can be given to another
 * process to be parsed (perf_map_copy()). perf_map_lookup() parses them here.
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
 * Reads the perf map of a process: first from its own root, by its pid inside its namespace (NSpid of
 * /proc/PID/status), then /tmp/perf-PID.map of this root. Refuses files that are not regular, are over 256 MiB, or
 * belong to neither the process's user nor root. A file of root's must be readable by all: otherwise a process could
 * have strata read for it what it cannot read itself (with a mount in a namespace of its own). Links are followed only
 * inside the process's root, and not at all in the last component. If the process is gone, its user is not known: then
 * the map must belong to root or to strata's own user. The file's size is taken from the user's part of `budget`; NULL:
 * no limit. NULL if there is no map, or the budget does not allow it.
 */
struct perf_map *perf_map_load(struct foreign_files *files, int pid, struct budget *budget);
void perf_map_destroy(struct perf_map *map);

/* A new file that reads the bytes of a map that was loaded; NULL if there are none, or memory is short. */
struct foreign_file *perf_map_copy(const struct perf_map *map);

/* Parses a file as one that was loaded; NULL when memory is short, or it is over 256 MiB. */
struct perf_map *perf_map_read(struct foreign_file *file);

/* The user in whose name a map was loaded. */
uint32_t perf_map_user(const struct perf_map *map);

/* Was it read from a file? Otherwise it was made from what the process publishes in another way. */
bool perf_map_is_file(const struct perf_map *map);

/* The name for an address, valid as long as the map; NULL if there is none. */
const char *perf_map_lookup(struct perf_map *map, uint64_t address);
size_t perf_map_bad_lines(const struct perf_map *map);

#endif
