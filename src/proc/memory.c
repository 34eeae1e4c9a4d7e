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

struct kept_page {
	uint64_t address; /* + 1; 0: none */
	int err;
	uint8_t *bytes; /* made when it is first needed: most readings need few */
};

struct memory_pages {
	const struct memory *from;
	size_t count;
	struct kept_page at[];
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
	size_t i;

	for (i = 0; pages && i < pages->count; i++)
		free(pages->at[i].bytes);
	free(pages);
}

/* Of one page. */
static int read_page(struct memory_pages *pages, void *dst, size_t size, uint64_t address)
{
	uint64_t page = address & ~(uint64_t)(PAGE - 1);
	struct kept_page *kept = &pages->at[page / PAGE % pages->count];

	if (!kept->bytes)
		kept->bytes = malloc(PAGE);
	if (!kept->bytes) /* memory is short: nothing is kept */
		return memory_read(pages->from, dst, size, address);
	if (kept->address != page + 1) {
		kept->address = page + 1;
		kept->err = memory_read(pages->from, kept->bytes, PAGE, page);
	}
	if (!kept->err)
		memcpy(dst, kept->bytes + (address - page), size);
	return kept->err;
}

static int read_pages(void *context, void *dst, size_t size, uint64_t address)
{
	struct memory_pages *pages = context;
	uint8_t *to = dst;

	while (size) {
		size_t rest = PAGE - address % PAGE, part = size < rest ? size : rest;
		int err = read_page(pages, to, part, address);

		if (err)
			return err;
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
