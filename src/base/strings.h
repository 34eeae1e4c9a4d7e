/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * strings: interned strings. Each distinct string is stored once and lives as long as its pool, so two
 * interned strings are equal exactly when their pointers are. Not thread-safe.
 */
#ifndef STRATA_BASE_STRINGS_H
#define STRATA_BASE_STRINGS_H

#include <stddef.h>

struct string_pool;

/* NULL when memory is short. */
struct string_pool *string_pool_create(void);
void string_pool_destroy(struct string_pool *pool);

/* The pool's copy of a string, of its first `size` bytes, or of a formatted string; NULL when memory is short. */
const char *string_intern(struct string_pool *pool, const char *string);
const char *string_intern_bytes(struct string_pool *pool, const char *bytes, size_t size);
const char *string_intern_format(struct string_pool *pool, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Bytes of memory that the pool holds. */
size_t string_pool_bytes(const struct string_pool *pool);

#endif
