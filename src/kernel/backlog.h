/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * backlog: a queue of records that were taken out of the ring before there was time to handle them.
 *
 * A taken record is valid, at an address that is a multiple of 8, until the next one is taken, whatever is added
 * meanwhile. An empty backlog takes one small block of memory. One thread.
 */
#ifndef STRATA_KERNEL_BACKLOG_H
#define STRATA_KERNEL_BACKLOG_H

#include <stddef.h>

struct backlog_block;

struct backlog {
	struct backlog_block *first, *last;
	size_t at;    /* of the next record in the first block */
	size_t bytes; /* of all blocks */
};

/* 0 or -ENOMEM. */
int backlog_put(struct backlog *backlog, const void *bytes, size_t size);

/* The oldest record; NULL when there is none. */
const void *backlog_take(struct backlog *backlog, size_t *size);

void backlog_deinit(struct backlog *backlog);

#endif
