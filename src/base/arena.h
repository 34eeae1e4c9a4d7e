/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * arena: memory that is given back all at once. What is allocated is zeroed, aligned for any type and stays where it
 * is until arena_deinit(). Running out of memory is remembered in `failed` and gives NULL; so does using more than
 * ARENA_MAX, as what grows with an input must end somewhere. Not thread-safe.
 */
#ifndef STRATA_BASE_ARENA_H
#define STRATA_BASE_ARENA_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

#define ARENA_MAX ((size_t)512 << 20)

struct arena_block;

struct arena {
	struct arena_block *blocks; /* the newest first */
	size_t used, size;          /* of the newest block */
	size_t total;               /* of all blocks */
	bool failed;
};

/* An arena begins as `struct arena a = {};`. */
void arena_deinit(struct arena *arena);

void *arena_alloc(struct arena *arena, size_t size);
char *arena_strdup(struct arena *arena, const char *string, size_t length);
char *arena_printf(struct arena *arena, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

#define arena_new(arena, type)          (type *)arena_alloc(arena, sizeof(type))
#define arena_array(arena, type, count) (type *)arena_alloc(arena, sizeof(type) * (count))

#endif
