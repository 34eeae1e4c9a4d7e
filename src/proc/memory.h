/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * memory: an interface to read the memory of a process: a live one, a snapshot, or a test's fake. A live process runs
 * on while it is read: data from two calls need not be consistent.
 */
#ifndef STRATA_PROC_MEMORY_H
#define STRATA_PROC_MEMORY_H

#include <stddef.h>
#include <stdint.h>

struct memory {
	/* All of `size` bytes, or a negative errno: -EFAULT, -ESRCH, -EPERM. After a failure *dst is undefined. */
	int (*read)(void *context, void *dst, size_t size, uint64_t address);
	void *context;
};

static inline int memory_read(const struct memory *memory, void *dst, size_t size, uint64_t address)
{
	return memory->read(memory->context, dst, size, address);
}

/* A live process; needs the right to ptrace it, but does not stop it. */
struct memory memory_of_process(int pid);

/*
 * Another memory by its pages, each read once: for many small reads of what does not change meanwhile, or may be as it
 * was. At most `count` pages are kept, and one may be read again. Borrows `from`. NULL when memory is short.
 */
struct memory_pages;
struct memory_pages *memory_pages_create(const struct memory *from, size_t count);
void memory_pages_destroy(struct memory_pages *pages);
struct memory memory_of_pages(struct memory_pages *pages);

/* Pieces that do not overlap. A read must not cross from one into the next. Borrowed. */
struct memory_piece {
	uint64_t address;
	const void *bytes;
	size_t size;
};
struct memory_pieces {
	const struct memory_piece *at;
	size_t count;
};
struct memory memory_of_pieces(const struct memory_pieces *pieces);

#endif
