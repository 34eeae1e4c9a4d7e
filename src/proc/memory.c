// SPDX-License-Identifier: GPL-2.0-or-later
#include "proc/memory.h"

#include <errno.h>
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
