// SPDX-License-Identifier: GPL-2.0-or-later
#include "engine/slices.h"

#include <errno.h>

void slices_deinit(struct slices *slices)
{
	table_deinit(&slices->ids);
	vec_free(&slices->list);
	*slices = (struct slices){};
}

uint64_t slices_bytes(const struct slices *slices)
{
	return slices->ids.capacity * sizeof(struct table_slot) + slices->list.capacity * sizeof(*slices->list.at);
}

static void give_up(struct slices *slices)
{
	slices_deinit(slices);
	slices->given_up = true;
}

static int count_in(struct slices *slices, const struct slice_count *more)
{
	uint64_t key = ((uint64_t)more->tally << 32 | more->slice) + 1, index = 0;

	if (table_get(&slices->ids, key, &index)) {
		slices->list.at[index - 1].count += more->count;
		return 0;
	}
	if (vec_push(&slices->list, *more) || table_set(&slices->ids, key, slices->list.count))
		return -ENOMEM;
	if (more->slice > slices->last)
		slices->last = more->slice;
	return 0;
}

/* Two slices become one. */
static int coarsen(struct slices *slices)
{
	struct slices to = {.start = slices->start, .width = slices->width * 2};
	size_t i;
	int err = 0;

	for (i = 0; i < slices->list.count && !err; i++) {
		struct slice_count one = slices->list.at[i];

		one.slice /= 2;
		err = count_in(&to, &one);
	}
	if (err) {
		slices_deinit(&to);
		return err;
	}
	slices_deinit(slices);
	*slices = to;
	return 0;
}

void slices_begin(struct slices *slices, uint64_t time)
{
	if (slices->given_up || slices->start)
		return;
	slices->start = time ? time : 1;
	slices->width = SLICE_FIRST_NS;
}

/* Makes the slices so long that there is one for this time. 0 or -ENOMEM. */
static int reach(struct slices *slices, uint64_t time, uint64_t *ret)
{
	int err = 0;

	*ret = time > slices->start ? (time - slices->start) / slices->width : 0;
	while (!err && *ret >= SLICES_MAX) {
		err = coarsen(slices);
		*ret /= 2;
	}
	return err;
}

/* After counts were added. */
static void stay_small(struct slices *slices, int err)
{
	/* Below three quarters, so that it does not happen again at once. */
	if (slices->list.count >= SLICE_COUNTS_MAX)
		while (!err && slices->list.count > SLICE_COUNTS_MAX / 4 * 3)
			err = slices->last >= SLICES_LEAST ? coarsen(slices) : -ENOSPC;
	if (err)
		give_up(slices);
}

void slices_add(struct slices *slices, uint32_t tally, uint64_t time, uint64_t count)
{
	uint64_t slice;
	int err;

	if (slices->given_up)
		return;
	slices_begin(slices, time);
	err = reach(slices, time, &slice);
	if (!err)
		err = count_in(slices, &(struct slice_count){tally, (uint32_t)slice, count});
	stay_small(slices, err);
}

void slices_add_time(struct slices *slices, uint32_t tally, uint64_t end, uint64_t length)
{
	uint64_t left = length, slice, begin, part;
	int err;

	if (slices->given_up)
		return;
	slices_begin(slices, end > length ? end - length : 0);
	err = reach(slices, end, &slice);
	/* From the last slice on back. What is older than the first one counts there. */
	for (; !err && left; left -= part, end = begin, slice--) {
		begin = slices->start + slice * slices->width;
		part = slice && end - begin < left ? end - begin : left;
		if (part) /* it may end where a slice begins */
			err = count_in(slices, &(struct slice_count){tally, (uint32_t)slice, part});
	}
	stay_small(slices, err);
}

void slices_move(const struct slices *from, const uint32_t *numbers, struct slices *to)
{
	size_t i;
	int err = 0;

	*to = (struct slices){.start = from->start, .width = from->width, .given_up = from->given_up};
	for (i = 0; i < from->list.count && !err; i++) {
		struct slice_count one = from->list.at[i];

		one.tally = numbers[one.tally];
		err = count_in(to, &one);
	}
	if (err)
		give_up(to);
}
