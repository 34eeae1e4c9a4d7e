// SPDX-License-Identifier: GPL-2.0-or-later
/* The allocator of runs of indices, against a plain array of who owns what. */
#include <errno.h>

#include "base/extents.h"
#include "tap.h"

static void test_cases(void)
{
	struct extents e;
	uint32_t a = 0, b = 0, c = 0, d = 0;

	extents_init(&e, 100);
	ok(!extents_take(&e, 10, &a) && !extents_take(&e, 20, &b) && !extents_take(&e, 70, &c), "all of it");
	ok(a == 0 && b == 10 && c == 30, "from the start on");
	is_int(extents_take(&e, 1, &d), -ENOSPC, "no more");
	extents_give(&e, b, 20);
	ok(!extents_take(&e, 5, &d) && d == 10, "the first that fits");
	is_int(extents_take(&e, 16, &d), -ENOSPC, "not more than in one piece");
	extents_give(&e, a, 10);
	extents_give(&e, 10, 5);
	ok(e.free.count == 1 && e.free.at[0].first == 0 && e.free.at[0].count == 30, "neighbours grow together");
	extents_give(&e, 0, 0);
	is_int(e.free.count, 1, "giving nothing back changes nothing");
	extents_give(&e, c, 70);
	ok(!extents_take(&e, 100, &a) && a == 0, "all of it again");
	extents_give(&e, 40, 0);
	is_int(e.free.count, 0, "nor when nothing is free");
	extents_deinit(&e);
}

static void test_property(void)
{
	enum { SIZE = 1000, RUNS = 200 };
	struct {
		uint32_t first, count;
	} runs[RUNS] = {};
	uint8_t owner[SIZE] = {};
	uint64_t random = 0x9e3779b97f4a7c15ull;
	uint32_t round, i, wrong = 0;
	struct extents e;

	extents_init(&e, SIZE);
	for (round = 0; round < 100000; round++) {
		uint32_t slot, free_count = 0, longest = 0, length = 0, listed = 0;

		random ^= random << 13, random ^= random >> 7, random ^= random << 17;
		slot = (uint32_t)(random >> 20) % RUNS;
		if (runs[slot].count) {
			wrong += extents_give(&e, runs[slot].first, runs[slot].count) != 0;
			memset(owner + runs[slot].first, 0, runs[slot].count);
			runs[slot].count = 0;
		} else {
			uint32_t count = 1 + (uint32_t)(random >> 40) % 30, first;

			for (i = 0; i < SIZE; i++) {
				length = owner[i] ? 0 : length + 1;
				longest = length > longest ? length : longest;
			}
			if (extents_take(&e, count, &first)) {
				wrong += longest >= count;
				continue;
			}
			for (i = first; i < first + count && i < SIZE; i++)
				wrong += owner[i]++ != 0;
			wrong += i != first + count;
			runs[slot].first = first;
			runs[slot].count = count;
		}
		for (i = 0; i < SIZE; i++)
			free_count += !owner[i];
		for (i = 0; i < e.free.count; i++) {
			listed += e.free.at[i].count;
			wrong += !e.free.at[i].count;
			wrong += i && e.free.at[i - 1].first + e.free.at[i - 1].count >= e.free.at[i].first;
		}
		wrong += listed != free_count;
	}
	is_int(wrong, 0, "a hundred thousand random steps");
	extents_deinit(&e);
}

int main(void)
{
	test_cases();
	test_property();
	return tap_done();
}
