// SPDX-License-Identifier: GPL-2.0-or-later
/* engine/slices.h: no count is lost, memory stays bounded, and what is given up is given up whole. */
#include <stdlib.h>

#include "engine/slices.h"
#include "tap.h"

#define SECOND 1000000000ull
#define HOUR   (3600 * SECOND)
#define START  (77 * SECOND)

static uint64_t sum(const struct slices *slices, uint64_t from, uint64_t to, int64_t tally)
{
	uint64_t all = 0;
	size_t i;

	for (i = 0; i < slices->list.count; i++) {
		const struct slice_count *one = &slices->list.at[i];
		uint64_t begin = slices->start + one->slice * slices->width;

		if (begin >= from && begin < to && (tally < 0 || one->tally == (uint64_t)tally))
			all += one->count;
	}
	return all;
}

static void test_hours(void)
{
	struct slices slices = {};
	uint64_t time, samples = 0, most = 0;

	for (time = START; time < START + 10 * HOUR; time += SECOND / 20, samples++) {
		slices_add(&slices, (uint32_t)(time >= START + 5 * HOUR), time, 1);
		most = slices_bytes(&slices) > most ? slices_bytes(&slices) : most;
	}
	is_int(sum(&slices, 0, UINT64_MAX, -1), samples, "ten hours: each sample is there");
	ok(slices.last < SLICES_MAX && slices.last >= SLICES_MAX / 2, "in %u slices of %.1f s", slices.last + 1,
	   (double)slices.width / 1e9);
	ok(most < 1 << 20, "in %llu KiB", (unsigned long long)most >> 10);
	is_int(sum(&slices, 0, START + 5 * HOUR - slices.width, 1), 0, "what came later is not earlier");
	is_int(sum(&slices, START + 5 * HOUR + slices.width, UINT64_MAX, 0), 0, "and the other way round");
	slices_add(&slices, 7, START - SECOND, 3);
	is_int(sum(&slices, START, START + slices.width, 7), 3, "what is older than the first is in the first slice");
	slices_deinit(&slices);
}

/* Many stacks: slices become coarser; too many: none are kept. */
static void test_many(void)
{
	struct slices slices = {};
	uint64_t time = START, i;

	for (i = 0; i < 3 * SLICE_COUNTS_MAX; i++, time += SECOND / 100000)
		slices_add(&slices, (uint32_t)(i % 4000), time, 1);
	is_int(sum(&slices, 0, UINT64_MAX, -1), 3 * SLICE_COUNTS_MAX, "many stacks: each sample is there");
	ok(slices.list.count <= SLICE_COUNTS_MAX && !slices.given_up, "in %zu counts, %u slices", slices.list.count,
	   slices.last + 1);
	for (i = 0; i < 2 * SLICE_COUNTS_MAX && !slices.given_up; i++, time += SECOND / 100000)
		slices_add(&slices, (uint32_t)i, time, 1);
	ok(slices.given_up && !slices.list.count, "too many stacks: no times, rather than wrong ones");
	slices_add(&slices, 1, time, 1);
	is_int(slices_bytes(&slices), 0, "and none later");
	slices_deinit(&slices);
}

static void test_move(void)
{
	static const uint32_t numbers[] = {2, 0, 2};
	struct slices slices = {}, to = {};

	slices_add(&slices, 0, START, 1);
	slices_add(&slices, 1, START, 2);
	slices_add(&slices, 2, START, 4);
	slices_add(&slices, 2, START + SECOND, 8);
	slices_move(&slices, numbers, &to);
	is_int(to.list.count, 3, "tallies that became one have one count in a slice");
	ok(sum(&to, 0, UINT64_MAX, 2) == 13 && sum(&to, 0, UINT64_MAX, 0) == 2, "with all samples");
	is_int(sum(&to, START + SECOND / 2, UINT64_MAX, 2), 8, "at their times");
	slices_deinit(&slices);
	slices_deinit(&to);
}

/* Samples that stand for the time before them. */
static void test_times(void)
{
	static const uint64_t width = SLICE_FIRST_NS;
	struct slices slices = {};

	slices_begin(&slices, START);
	slices_add_time(&slices, 0, START + 4 * width, 3 * width + 5);
	ok(slices.start == START && slices.list.count == 4, "a wait is in the slices that it lasted for: %zu",
	   slices.list.count);
	ok(sum(&slices, START, START + width, 0) == 5 && sum(&slices, START + 3 * width, START + 4 * width, 0) == width,
	   "in each with its part");
	slices_add_time(&slices, 1, START + width + 7, HOUR);
	ok(sum(&slices, START, START + width, 1) == HOUR - 7 && sum(&slices, START + width, UINT64_MAX, 1) == 7,
	   "what was before the first slice is in that one");
	slices_add_time(&slices, 2, START - 1, 9);
	slices_add_time(&slices, 2, START + 1, 0);
	is_int(sum(&slices, START, START + 1, 2), 9, "and what ended before it; nothing stays nothing");
	slices_add_time(&slices, 3, START + 3 * HOUR, 2 * HOUR);
	is_int(sum(&slices, 0, UINT64_MAX, 3), 2 * HOUR, "a long one has all of its time");
	ok(slices.last < SLICES_MAX && !sum(&slices, 0, START + HOUR - slices.width, 3), "where it was, in %u slices",
	   slices.last + 1);
	ok(sum(&slices, 0, UINT64_MAX, 0) == 3 * width + 5 && sum(&slices, 0, UINT64_MAX, 1) == HOUR,
	   "and so have the others, in wider slices");
	slices_deinit(&slices);
}

/* As many threads that wait all the time as there may be, and more. */
static void test_many_times(void)
{
	struct slices slices = {};
	uint32_t i;

	slices_begin(&slices, START);
	for (i = 0; i < 5000; i++)
		slices_add_time(&slices, i, START + HOUR, HOUR);
	ok(!slices.given_up && slices.list.count <= SLICE_COUNTS_MAX && slices.last >= SLICES_LEAST,
	   "5,000 threads that wait for an hour: %u slices", slices.last + 1);
	is_int(sum(&slices, 0, UINT64_MAX, 4999), HOUR, "with all of their time");
	for (i = 5000; i < 40000 && !slices.given_up; i++)
		slices_add_time(&slices, i, START + HOUR, HOUR);
	ok(slices.given_up && !slices.list.count, "of 40,000 there are no times");
	slices_deinit(&slices);
}

int main(void)
{
	test_times();
	test_many_times();
	test_hours();
	test_many();
	test_move();
	return tap_done();
}
