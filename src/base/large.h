/* SPDX-License-Identifier: GPL-2.0-or-later */
/* large: memory of megabytes. */
#ifndef STRATA_BASE_LARGE_H
#define STRATA_BASE_LARGE_H

#include <malloc.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>

#define LARGE_PAGE ((size_t)2 << 20)
#define LARGE_MIN  ((size_t)512 << 10) /* clearing a large page takes less than touching so much in small ones */

/*
 * Once, when the program begins: blocks of LARGE_MIN and more are given back to the kernel when they are freed. By
 * itself malloc() takes them from its heap as soon as one has been freed (mallopt(3), M_MMAP_THRESHOLD), where they
 * stay.
 */
static inline void large_begin(void)
{
	mallopt(M_MMAP_THRESHOLD, (int)LARGE_MIN);
}

/*
 * Memory that will be filled: in pages of 2 MiB, if it is as large and the kernel has them, because the first touch of
 * each page of 4 KiB takes longer than what is done to it. NULL when there is none; the caller frees it by free(). Any
 * thread.
 */
static inline void *large_alloc(size_t size)
{
	size_t rounded = (size + LARGE_PAGE - 1) & ~(LARGE_PAGE - 1);
	void *ret;

	if (size < LARGE_MIN || rounded < size)
		return malloc(size);
	ret = aligned_alloc(LARGE_PAGE, rounded);
	if (ret)
		madvise(ret, rounded, MADV_HUGEPAGE);
	return ret;
}

/* Such memory for an empty vec (vec.h) of so many elements, which it mostly has; when there is none it begins small. */
#define large_reserve(vec, elements)                                                                                   \
	((vec)->at = large_alloc((elements) * sizeof(*(vec)->at)), (vec)->capacity = (vec)->at ? (elements) : 0)

#endif
