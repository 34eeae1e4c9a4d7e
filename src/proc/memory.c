// SPDX-License-Identifier: GPL-2.0-or-later
#include "proc/memory.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>

static int read_process(void *context, void *dst, size_t size, uint64_t address)
{
	struct iovec to = {dst, size}, from = {(void *)(uintptr_t)address, size};
	ssize_t got;

	if (!size)
		return 0;
	got = process_vm_readv((pid_t)(intptr_t)context, &to, 1, &from, 1, 0);
	if (got < 0)
		return -errno;
	return (size_t)got == size ? 0 : -EFAULT;
}

struct memory memory_of_process(int pid)
{
	return (struct memory){.read = read_process, .context = (void *)(intptr_t)pid};
}

#define PAGE 4096u

struct memory_pages {
	const struct memory *from;
	size_t count;
	struct {
		uint64_t address; /* + 1; 0: none */
		int err;
		uint8_t bytes[PAGE];
	} at[];
};

struct memory_pages *memory_pages_create(const struct memory *from, size_t count)
{
	struct memory_pages *pages = calloc(1, sizeof(*pages) + count * sizeof(pages->at[0]));

	if (!pages)
		return NULL;
	pages->from = from;
	pages->count = count;
	return pages;
}

void memory_pages_destroy(struct memory_pages *pages)
{
	free(pages);
}

static int read_pages(void *context, void *dst, size_t size, uint64_t address)
{
	struct memory_pages *pages = context;
	uint8_t *to = dst;

	while (size) {
		uint64_t page = address & ~(uint64_t)(PAGE - 1);
		size_t offset = address - page, part = size < PAGE - offset ? size : PAGE - offset;
		typeof(pages->at[0]) *kept = &pages->at[page / PAGE % pages->count];

		if (kept->address != page + 1) {
			kept->address = page + 1;
			kept->err = memory_read(pages->from, kept->bytes, PAGE, page);
		}
		if (kept->err)
			return kept->err;
		memcpy(to, kept->bytes + offset, part);
		to += part;
		address += part;
		size -= part;
	}
	return 0;
}

struct memory memory_of_pages(struct memory_pages *pages)
{
	return (struct memory){.read = read_pages, .context = pages};
}

static int read_pieces(void *context, void *dst, size_t size, uint64_t address)
{
	const struct memory_pieces *pieces = context;
	size_t i;

	for (i = 0; i < pieces->count; i++) {
		const struct memory_piece *piece = &pieces->at[i];
		uint64_t offset = address - piece->address;

		if (offset > piece->size || size > piece->size - offset)
			continue;
		memcpy(dst, (const uint8_t *)piece->bytes + offset, size);
		return 0;
	}
	return -EFAULT;
}

struct memory memory_of_pieces(const struct memory_pieces *pieces)
{
	return (struct memory){.read = read_pieces, .context = (void *)pieces};
}
