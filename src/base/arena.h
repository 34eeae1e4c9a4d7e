/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * arena: memory that is freed all at once. Allocations are zeroed, aligned for any type, and do not move until
 * arena_deinit(). If memory is short, `failed` is set and NULL is returned; the same happens beyond ARENA_MAX, because
 * what grows with an input needs a limit. Not thread-safe.
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
