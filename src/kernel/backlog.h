/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * backlog: records that were taken out of the ring before there was time to handle them, in the order in which they
 * came.
 *
 * A record stays where it is, at a multiple of 8, until it has been taken and the next one is asked for, whatever is
 * put in meanwhile. What is empty takes no memory but for one small block. One thread.
 */
#ifndef STRATA_KERNEL_BACKLOG_H
#define STRATA_KERNEL_BACKLOG_H

#include <stddef.h>

struct backlog_block;

struct backlog {
	struct backlog_block *first, *last;
	size_t at;    /* of the next record in the first block */
	size_t bytes; /* that the blocks hold and take */
};

/* 0 or -ENOMEM. */
int backlog_put(struct backlog *backlog, const void *bytes, size_t size);

/* The oldest record; NULL when there is none. */
const void *backlog_take(struct backlog *backlog, size_t *size);

void backlog_deinit(struct backlog *backlog);

#endif
