// SPDX-License-Identifier: GPL-2.0-or-later
#include "kernel/backlog.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define BLOCK_BYTES (32u << 10) /* or what the largest record takes */

struct backlog_block {
	struct backlog_block *next;
	size_t used, room; /* of `bytes` */
	uint64_t bytes[];  /* each record's size, and the record */
};

/* What a record takes, its size included. */
static size_t space_of(size_t size)
{
	return sizeof(uint64_t) + (size + 7) / 8 * 8;
}

static int add_block(struct backlog *backlog, size_t least)
{
	size_t room = least > BLOCK_BYTES ? least : BLOCK_BYTES;
	struct backlog_block *block = malloc(sizeof(*block) + room);

	if (!block)
		return -ENOMEM;
	*block = (struct backlog_block){.room = room};
	if (backlog->last)
		backlog->last->next = block;
	else
		backlog->first = block;
	backlog->last = block;
	backlog->bytes += room;
	return 0;
}

static void drop_first(struct backlog *backlog)
{
	struct backlog_block *block = backlog->first;

	backlog->first = block->next;
	if (!backlog->first)
		backlog->last = NULL;
	backlog->at = 0;
	backlog->bytes -= block->room;
	free(block);
}

int backlog_put(struct backlog *backlog, const void *bytes, size_t size)
{
	struct backlog_block *block = backlog->last;
	size_t space = space_of(size);
	uint64_t *to;

	if (!block || block->room - block->used < space) {
		if (add_block(backlog, space))
			return -ENOMEM;
		block = backlog->last;
	}
	to = block->bytes + block->used / sizeof(*to);
	*to = size;
	memcpy(to + 1, bytes, size);
	block->used += space;
	return 0;
}

const void *backlog_take(struct backlog *backlog, size_t *size)
{
	const uint64_t *from;

	while (backlog->first && backlog->at == backlog->first->used) {
		if (!backlog->first->next && backlog->first->room == BLOCK_BYTES) {
			backlog->first->used = backlog->at = 0; /* kept for the next ones */
			return NULL;
		}
		drop_first(backlog);
	}
	if (!backlog->first)
		return NULL;
	from = backlog->first->bytes + backlog->at / sizeof(*from);
	*size = *from;
	backlog->at += space_of(*size);
	return from + 1;
}

void backlog_deinit(struct backlog *backlog)
{
	while (backlog->first)
		drop_first(backlog);
}
