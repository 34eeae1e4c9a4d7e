/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * fetch: gets debug files from debuginfod (elf/debuginfod.h) for the files of a window that have no symbols. It takes
 * up to FETCH_SECONDS, so it is used after sampling has ended, and before the window is named.
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

/* Files with more locations first. `namer` tells which have none. 0, or -ENOMEM: not all files were looked at. */
int fetch_symbols(struct fetch *fetch, const struct store *store, const struct objects *objects, struct namer *namer);

#endif
