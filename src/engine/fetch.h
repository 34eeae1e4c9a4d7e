/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * fetch: gets debug files from debuginfod (elf/debuginfod.h) for sampled files that have no symbols. It takes up to
 * FETCH_SECONDS, so it is used when sampling or tracing has ended, and before what is left is named.
 */
#ifndef STRATA_ENGINE_FETCH_H
#define STRATA_ENGINE_FETCH_H

#include <stddef.h>

#include "engine/namer.h"
#include "engine/objects.h"
#include "engine/store.h"

#define FETCH_SECONDS 60 /* for all files together */

struct fetch {
	size_t wanted, fetched;
	int err; /* why it ended early: -ETIMEDOUT, -EINTR, -ENOTSUP, -ECHILD; 0: all were asked for */
	/* Called before each file is asked for. */
	void (*progress)(void *context, const char *name, size_t number, size_t count);
	void *context;
};

/* A file with addresses that are to be named. */
struct fetch_file {
	struct object *object;
	uint64_t vaddr, locations; /* of one of them; how many */
};

/*
 * Files with more locations first. `namer` tells which have no symbols. 0, or -ENOMEM: not all files were looked at.
 */
int fetch_files(struct fetch *fetch, const struct fetch_file *files, size_t count, struct namer *namer);

/* Why not all were had, in words; `err`: what fetch_files() returned. */
const char *fetch_reason(const struct fetch *fetch, int err);

/* The same for a store's locations that have no name yet. */
int fetch_symbols(struct fetch *fetch, const struct store *store, const struct objects *objects, struct namer *namer);

#endif
