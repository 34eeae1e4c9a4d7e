// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/strings.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "base/table.h"

struct entry {
	struct entry *next; /* of the same hash */
	size_t size;
	char bytes[];
};

struct string_pool {
	struct table by_hash;
	size_t bytes;
};

struct string_pool *string_pool_create(void)
{
	return calloc(1, sizeof(struct string_pool));
}

void string_pool_destroy(struct string_pool *pool)
{
	struct table_slot *slot;
	size_t at = 0;

	if (!pool)
		return;
	while ((slot = table_next(&pool->by_hash, &at))) {
		struct entry *entry = (struct entry *)(uintptr_t)slot->value;

		while (entry) {
			struct entry *next = entry->next;

			free(entry);
			entry = next;
		}
	}
	table_deinit(&pool->by_hash);
	free(pool);
}

const char *string_intern_bytes(struct string_pool *pool, const char *bytes, size_t size)
{
	uint64_t hash = XXH3_64bits(bytes, size);
	uint64_t found = 0;
	struct entry *entry;

	if (!hash)
		hash = 1;
	table_get(&pool->by_hash, hash, &found);
	for (entry = (struct entry *)(uintptr_t)found; entry; entry = entry->next)
		if (entry->size == size && !memcmp(entry->bytes, bytes, size))
			return entry->bytes;
	entry = malloc(sizeof(*entry) + size + 1);
	if (!entry)
		return NULL;
	entry->next = (struct entry *)(uintptr_t)found;
	entry->size = size;
	memcpy(entry->bytes, bytes, size);
	entry->bytes[size] = '\0';
	if (table_set(&pool->by_hash, hash, (uint64_t)(uintptr_t)entry)) {
		free(entry);
		return NULL;
	}
	pool->bytes += sizeof(*entry) + size + 1;
	return entry->bytes;
}

const char *string_intern(struct string_pool *pool, const char *string)
{
	return string_intern_bytes(pool, string, strlen(string));
}

const char *string_intern_format(struct string_pool *pool, const char *fmt, ...)
{
	char *text = NULL;
	const char *interned;
	va_list args;
	int size;

	va_start(args, fmt);
	size = vasprintf(&text, fmt, args);
	va_end(args);
	if (size < 0)
		return NULL;
	interned = string_intern_bytes(pool, text, (size_t)size);
	free(text);
	return interned;
}

size_t string_pool_bytes(const struct string_pool *pool)
{
	return pool->bytes + pool->by_hash.capacity * sizeof(struct table_slot);
}
