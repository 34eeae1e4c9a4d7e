/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * extents: an allocator of runs of indices in [0, size), first fit. It only hands out numbers; what is at these indices
 * belongs to the caller. Not thread-safe.
 */
#ifndef STRATA_BASE_EXTENTS_H
#define STRATA_BASE_EXTENTS_H

#include <stdint.h>

#include "base/vec.h"

struct extent {
	uint32_t first, count;
};

struct extents {
	VEC(struct extent) free; /* sorted, never adjacent */
};

/* 0 or -ENOMEM. */
int extents_init(struct extents *extents, uint32_t size);
void extents_deinit(struct extents *extents);

/* A run of `count` > 0 indices: 0 and *ret, or -ENOSPC. */
int extents_take(struct extents *extents, uint32_t count, uint32_t *ret);

/* Gives a run back; it must have been taken, or be empty. 0, or -ENOMEM: the run is then lost to the allocator. */
int extents_give(struct extents *extents, uint32_t first, uint32_t count);

#endif
