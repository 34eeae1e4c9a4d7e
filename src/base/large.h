/* SPDX-License-Identifier: GPL-2.0-or-later */
/* large: memory of megabytes. */
#ifndef STRATA_BASE_LARGE_H
#define STRATA_BASE_LARGE_H

#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>

#define LARGE_PAGE 4096u

/*
 * Says of fresh memory that it will be filled, so that the kernel gives it in pages of 2 MiB where it can: the first
 * touch of each page of 4 KiB takes longer than what is done to it. Any thread; nothing can go wrong.
 */
static inline void large_advise(void *at, size_t size)
{
	uintptr_t start = ((uintptr_t)at + LARGE_PAGE - 1) & ~(uintptr_t)(LARGE_PAGE - 1);
	uintptr_t end = ((uintptr_t)at + size) & ~(uintptr_t)(LARGE_PAGE - 1);

	if (at && size >= 2u << 20 && start < end)
		madvise((void *)start, end - start, MADV_HUGEPAGE);
}

#endif
