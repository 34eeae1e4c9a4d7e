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
 * To be called once, when the program begins: freed blocks of LARGE_MIN and more go back to the kernel. By default
 * malloc() would, once such a block has been freed, take later ones from its heap (mallopt(3), M_MMAP_THRESHOLD), where
 * they stay.
 */
static inline void large_begin(void)
{
	mallopt(M_MMAP_THRESHOLD, (int)LARGE_MIN);
}

/*
 * Memory that will be filled, in pages of 2 MiB if it is large enough and the kernel has them: the first touch of each
 * 4 KiB page takes longer than filling it. NULL if memory is short; the caller frees it with free(). Any thread.
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

/* Such memory for an empty vec (vec.h) with an expected number of elements; if there is none, the vec begins small. */
#define large_reserve(vec, elements)                                                                                   \
	((vec)->at = large_alloc((elements) * sizeof(*(vec)->at)), (vec)->capacity = (vec)->at ? (elements) : 0)

#endif
