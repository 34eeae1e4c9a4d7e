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

void slices_add(struct slices *slices, uint32_t tally, uint64_t time, uint64_t count)
{
	uint64_t slice;
	int err = 0;

	if (slices->given_up)
		return;
	if (!slices->start) {
		slices->start = time ? time : 1;
		slices->width = SLICE_FIRST_NS;
	}
	slice = time > slices->start ? (time - slices->start) / slices->width : 0;
	while (!err && slice >= SLICES_MAX) {
		err = coarsen(slices);
		slice /= 2;
	}
	if (!err)
		err = count_in(slices, &(struct slice_count){tally, (uint32_t)slice, count});
	/* Below three quarters, so that it does not happen again at once. */
	if (slices->list.count >= SLICE_COUNTS_MAX)
		while (!err && slices->list.count > SLICE_COUNTS_MAX / 4 * 3)
			err = slices->last >= SLICES_LEAST ? coarsen(slices) : -ENOSPC;
	if (err)
		give_up(slices);
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
