/* SPDX-License-Identifier: GPL-2.0-or-later */
/* cache_parts: what the files of python_cache (cache.h) share. */
#ifndef STRATA_PYTHON_CACHE_PARTS_H
#define STRATA_PYTHON_CACHE_PARTS_H

#include "base/vec.h"
#include "runtime/python/cache.h"

struct python_cache {
	struct cache *cache;
	bool owned;
	struct string_pool *strings; /* evidence */
};

typedef VEC(uint8_t) bytes_t;

/* The entry of an answer. */
struct entry {
	uint64_t digest; /* 0: the file's cannot be told */
	char name[CACHE_NAME_MAX + 1];
};

/* False: nothing is kept of this file. `interpreter` NULL: it is none. */
bool python_cache_entry(const struct python_cache *cache, const struct elf_file *elf,
			const struct python_interpreter *interpreter, const char *suffix, struct entry *ret);
/* Shall another process find what is not in the cache? Then that is wanted now. */
bool python_cache_asks(const struct python_cache *cache, const struct entry *entry);
/* 0 or -ENOMEM. */
int python_cache_append(bytes_t *bytes, const void *more, size_t size);

#endif
