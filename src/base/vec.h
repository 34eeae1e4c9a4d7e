/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vec: a growing array of one type.
 *
 *     struct { struct row *at; size_t count, capacity; } rows = {};
 *     if (vec_push(&rows, row)) ...   // 0, or -ENOMEM with the array unchanged
 *     free(rows.at);
 *
 * VEC(type) names the struct's fields. The owner frees `at`. Growth doubles.
 */
#ifndef STRATA_BASE_VEC_H
#define STRATA_BASE_VEC_H

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>

#define VEC(type)                                                                                                      \
	struct {                                                                                                       \
		type *at;                                                                                              \
		size_t count, capacity;                                                                                \
	}

/* Makes room for `more` further elements. 0 or -ENOMEM. */
#define vec_reserve(vec, more) vec_grow((void **)&(vec)->at, &(vec)->capacity, (vec)->count, (more), sizeof(*(vec)->at))

#define vec_push(vec, ...) (vec_reserve(vec, 1) ? -ENOMEM : ((vec)->at[(vec)->count++] = (__VA_ARGS__), 0))

#define vec_free(vec)                                                                                                  \
	do {                                                                                                           \
		free((vec)->at);                                                                                       \
		(vec)->at = NULL;                                                                                      \
		(vec)->count = (vec)->capacity = 0;                                                                    \
	} while (0)

static inline int vec_grow(void **at, size_t *capacity, size_t count, size_t more, size_t size)
{
	size_t wanted = *capacity ? *capacity : 16;
	void *grown;

	if (more > (size_t)-1 - count)
		return -ENOMEM;
	if (count + more <= *capacity)
		return 0;
	while (wanted < count + more) {
		if (wanted > (size_t)-1 / 2)
			return -ENOMEM;
		wanted *= 2;
	}
	grown = reallocarray(*at, wanted, size);
	if (!grown)
		return -ENOMEM;
	*at = grown;
	*capacity = wanted;
	return 0;
}

#endif
