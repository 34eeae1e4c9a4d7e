/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * fake_memory: the watched process of the walkers' tests: a few regions of bytes at chosen addresses. A read succeeds
 * when every byte lies in a region; regions may touch, as pages do. Each region is an allocation of its own, so that a
 * sanitizer sees what goes beyond it.
 */
#ifndef STRATA_TESTS_FAKE_MEMORY_H
#define STRATA_TESTS_FAKE_MEMORY_H

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <linux/types.h>

#define FAKE_REGIONS_MAX 64

struct fake_region {
	uint64_t start, size;
	uint8_t *bytes;
};

struct fake_memory {
	struct fake_region regions[FAKE_REGIONS_MAX];
	size_t count;
	uint64_t reads, failed; /* how often it was asked, and refused */
	uint64_t now, tick;     /* of a clock that goes on by `tick` ns each time that it is looked at */
	uint64_t looks;
};

static inline struct fake_region *fake_region(struct fake_memory *memory, uint64_t address)
{
	size_t i;

	for (i = 0; i < memory->count; i++)
		if (address >= memory->regions[i].start && address - memory->regions[i].start < memory->regions[i].size)
			return &memory->regions[i];
	return NULL;
}

/* Adds zeroed bytes at an address. */
static inline void fake_map(struct fake_memory *memory, uint64_t start, uint64_t size)
{
	struct fake_region *region = &memory->regions[memory->count++];

	*region = (struct fake_region){.start = start, .size = size, .bytes = calloc(1, size)};
	if (memory->count > FAKE_REGIONS_MAX || !region->bytes)
		abort();
}

static inline void fake_memory_deinit(struct fake_memory *memory)
{
	while (memory->count)
		free(memory->regions[--memory->count].bytes);
}

/* The bytes at an address, to be changed; `size` must lie in one region. */
static inline uint8_t *fake_bytes(struct fake_memory *memory, uint64_t address, uint64_t size)
{
	struct fake_region *region = fake_region(memory, address);

	if (!region || size > region->size - (address - region->start)) {
		fprintf(stderr, "fake memory: nothing at %#llx\n", (unsigned long long)address);
		abort();
	}
	return region->bytes + (address - region->start);
}

static inline void fake_put(struct fake_memory *memory, uint64_t address, uint64_t value, uint64_t size)
{
	memcpy(fake_bytes(memory, address, size), &value, size);
}

static inline void fake_put64(struct fake_memory *memory, uint64_t address, uint64_t value)
{
	fake_put(memory, address, value, 8);
}

/* walk_host.clock; `context` is a struct fake_memory. */
static inline __u64 fake_clock(void *context)
{
	struct fake_memory *memory = context;

	memory->looks++;
	memory->now += memory->tick;
	return memory->now;
}

/* walk_host.read; `context` is a struct fake_memory. */
static inline int fake_read(void *context, void *dst, __u32 size, __u64 address)
{
	struct fake_memory *memory = context;
	uint8_t *to = dst;

	memory->reads++;
	while (size) {
		struct fake_region *region = fake_region(memory, address);
		uint64_t room;

		if (!region) {
			memory->failed++;
			return -EFAULT;
		}
		room = region->size - (address - region->start);
		if (room > size)
			room = size;
		memcpy(to, region->bytes + (address - region->start), room);
		to += room;
		address += room;
		size -= (__u32)room;
	}
	return 0;
}

#endif
