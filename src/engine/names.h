/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * names: gives each location of a store its frame: symbols of the kernel and of files, perf maps, the interpreter's
 * loop.
 *
 * A location is named once (struct location.named) and does not need its file afterwards. That happens at the end of a
 * window for all that is new in it, and earlier for files that nobody maps any more. One file's symbols are in memory
 * at a time, and only those that the addresses need (engine/namer.h). The kernel's own are kept while more windows
 * follow: they are 6 MB and take 45 ms to read. Files stay open, so that a deleted one still gives its symbols.
 */
#ifndef STRATA_ENGINE_NAMES_H
#define STRATA_ENGINE_NAMES_H

#include "engine/namer.h"
#include "engine/objects.h"
#include "engine/store.h"
#include "kernel/kernel_names.h"
#include "profile/frames.h"
#include "symbol/perf_map.h"

/* All borrowed. */
struct names {
	struct store *store;
	struct objects *objects;
	struct namer *namer;
	struct frames *frames; /* gets the names */
	/* The perf map of an ANONYMOUS file's process, or NULL. */
	struct perf_map *(*perf_map)(void *context, const struct mapped_file *file);
	void *context;
	struct kernel_names *kernel; /* NULL: its functions get their addresses as names */
	enum frame_detail detail;
	bool lines; /* of native code: lines and inlined functions */
};

/* Names the locations of one object (struct location.object). 0, or -ENOMEM: some are still unnamed. */
int names_give(const struct names *names, uint32_t object);

/* Names all. -ENOMEM: some have no name, or their address as a name. */
int names_give_all(const struct names *names);

/* Frees the frames that no location uses any more. 0, or -ENOMEM: they are still there. */
int names_forget(const struct names *names);

#endif
