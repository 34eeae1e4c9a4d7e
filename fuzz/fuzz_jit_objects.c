// SPDX-License-Identifier: GPL-2.0-or-later
/* Any bytes as the memory of a process from BASE on, where its __jit_debug_descriptor is; read twice, the second time
 * with one byte changed. */
#include <string.h>

#include "fuzz.h"
#include "symbol/jit_objects.h"

#define BASE 0x1000ull

static void look(const struct jit_objects *objects, uint64_t address)
{
	uint64_t start = 0, end = 0;
	rule_ranges ranges = {};
	size_t i;

	if (!jit_objects_rules(objects, address, &ranges, &start, &end)) {
		CHECK(ranges.count && start <= address && address < end);
		for (i = 0; i < ranges.count; i++) {
			const struct rule_range *range = &ranges.at[i];

			CHECK(range->start < range->end && range->start >= start && range->end <= end);
			CHECK(range->rule.kind == UNWIND_SP || range->rule.kind == UNWIND_FP ||
			      range->rule.kind == UNWIND_REGISTER || range->rule.kind == UNWIND_SP_DEREF ||
			      range->rule.kind == UNWIND_FP_DEREF);
		}
	}
	vec_free(&ranges);
}

static void look_at_all(const struct jit_objects *objects)
{
	struct perf_map *names = jit_objects_names(objects);
	uint64_t address;

	CHECK(jit_objects_count(objects) <= JIT_ENTRIES_MAX);
	for (address = 0; address < 0x4000; address += 64)
		look(objects, address);
	look(objects, UINT64_MAX);
	perf_map_destroy(names);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct jit_objects *objects;
	uint8_t *bytes;

	if (!size || size > 1 << 16)
		return 0;
	bytes = malloc(size);
	objects = jit_objects_create();
	if (bytes && objects) {
		const struct memory_piece piece = {BASE, bytes, size};
		const struct memory_pieces pieces = {&piece, 1};
		const struct memory memory = memory_of_pieces(&pieces);

		memcpy(bytes, data, size);
		jit_objects_read(objects, &memory, BASE);
		look_at_all(objects);
		CHECK(!jit_objects_read(objects, &memory, BASE));
		bytes[data[size - 1] % size] ^= 1;
		jit_objects_read(objects, &memory, BASE);
		look_at_all(objects);
	}
	jit_objects_destroy(objects);
	free(bytes);
	return 0;
}
