// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/arena.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BLOCK_BYTES 16384
#define ALIGNMENT   16

struct arena_block {
	struct arena_block *older;
	size_t pad;
	unsigned char bytes[];
};

void arena_deinit(struct arena *arena)
{
	while (arena->blocks) {
		struct arena_block *older = arena->blocks->older;

		free(arena->blocks);
		arena->blocks = older;
	}
	*arena = (struct arena){};
}

void *arena_alloc(struct arena *arena, size_t size)
{
	struct arena_block *block;
	size_t room;
	void *at;

	if (size > ARENA_MAX) {
		arena->failed = true;
		return NULL;
	}
	size = (size + ALIGNMENT - 1) & ~(size_t)(ALIGNMENT - 1);
	if (!arena->blocks || size > arena->size - arena->used) {
		room = size > BLOCK_BYTES ? size : BLOCK_BYTES;
		block = room <= ARENA_MAX - arena->total ? calloc(1, sizeof(*block) + room) : NULL;
		if (!block) {
			arena->failed = true;
			return NULL;
		}
		block->older = arena->blocks;
		arena->blocks = block;
		arena->size = room;
		arena->total += room;
		arena->used = 0;
	}
	at = arena->blocks->bytes + arena->used;
	arena->used += size;
	return at;
}

char *arena_strdup(struct arena *arena, const char *string, size_t length)
{
	char *copy = arena_alloc(arena, length + 1);

	if (copy)
		memcpy(copy, string, length);
	return copy;
}

char *arena_printf(struct arena *arena, const char *fmt, ...)
{
	va_list args;
	char *text = NULL;
	int size;

	va_start(args, fmt);
	size = vsnprintf(NULL, 0, fmt, args);
	va_end(args);
	if (size >= 0)
		text = arena_alloc(arena, (size_t)size + 1);
	if (!text)
		return NULL;
	va_start(args, fmt);
	vsnprintf(text, (size_t)size + 1, fmt, args);
	va_end(args);
	return text;
}
