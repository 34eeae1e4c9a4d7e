// SPDX-License-Identifier: GPL-2.0-or-later
#include "engine/merge.h"

struct merger {
	const struct merge_input *input;
	struct merge_frame *out;
	uint32_t count;  /* frames written */
	uint32_t second; /* frames not yet written: the next is second[second - 1] */
};

static void put_native(struct merger *merger, uint32_t frame)
{
	merger->out[merger->count++] = (struct merge_frame){.second = false, .frame = frame};
}

/* Writes the outermost group that is left. */
static void put_group(struct merger *merger)
{
	const struct merge_input *input = merger->input;

	do {
		merger->second--;
		merger->out[merger->count++] =
			(struct merge_frame){.second = true, .frame = input->second[merger->second]};
	} while (merger->second && !input->is_entry[merger->second - 1]);
}

enum role { NATIVE, EVAL, LEFT_OUT };

/* What a native frame is to the pairing. */
static enum role role_of(const struct merge_input *input, uint32_t index)
{
	switch (input->role[index]) {
	case ROLE_LOOP:
		return EVAL;
	case ROLE_HANDLER:
		return index + 1 < input->native_count && input->role[index + 1] == ROLE_LOOP ? LEFT_OUT : EVAL;
	default:
		return NATIVE;
	}
}

/* How many frames from the innermost on are the stack's own: up to one that starts it. */
static uint32_t count_own(const struct merge_input *input)
{
	bool in_loop = !input->second_count;
	uint32_t i;

	for (i = 0; i < input->native_count; i++) {
		if (input->role[i] == ROLE_START && in_loop)
			return i + 1;
		in_loop |= input->role[i] == ROLE_LOOP || input->role[i] == ROLE_HANDLER;
	}
	return input->native_count;
}

/* Is a switch of greenlets under way? */
static bool is_switching(const struct merge_input *input)
{
	uint32_t i;

	for (i = 0; i < input->native_count; i++) {
		if (input->role[i] == ROLE_SWITCH)
			return true;
		if (input->role[i] != ROLE_NATIVE)
			break;
	}
	return false;
}

static uint32_t count_evals(const struct merge_input *input)
{
	uint32_t i, sum = 0;

	for (i = 0; i < input->native_count; i++)
		sum += role_of(input, i) == EVAL;
	return sum;
}

static uint32_t count_true(const bool *flags, uint32_t count)
{
	uint32_t i, sum = 0;

	for (i = 0; i < count; i++)
		sum += flags[i];
	return sum;
}

/* Groups begin at entry frames; an outermost frame that is none begins one, too (its entry is missing). */
static uint32_t count_groups(const struct merge_input *input)
{
	uint32_t groups = count_true(input->is_entry, input->second_count);

	if (input->second_count && !input->is_entry[input->second_count - 1])
		groups++;
	return groups;
}

/* Leaves out second frames that are not this thread's. */
static void drop_foreign(struct merge_input *input)
{
	uint32_t foreign = input->second_unsure;

	if (!input->native_rooted || !input->second_rooted)
		foreign = input->second_count;
	else if (count_evals(input) >= count_groups(input))
		return;
	input->second += foreign;
	input->is_entry += foreign;
	input->second_count -= foreign;
}

/* The native frames are the stack's own. */
static struct merge_result merge_own(const struct merge_input *input, struct merge_frame *out)
{
	struct merger merger = {.input = input, .out = out, .second = input->second_count};
	uint32_t evals = count_evals(input), groups = count_groups(input), i;
	/* How many of the outermost loop frames and groups have no partner, when the roots do not correspond. */
	bool at_leaf = !input->native_rooted || !input->second_rooted;
	uint32_t skip_evals = at_leaf && evals > groups ? evals - groups : 0;
	uint32_t skip_groups = at_leaf && groups > evals ? groups - evals : 0;
	struct merge_result result = {};
	bool innermost_eval = false;

	for (; skip_groups && merger.second; skip_groups--) {
		put_group(&merger);
		result.unpaired_groups++;
	}
	for (i = input->native_count; i-- > 0;) {
		enum role role = role_of(input, i);

		if (role == LEFT_OUT)
			continue;
		if (role == NATIVE) {
			put_native(&merger, input->native[i]);
			continue;
		}
		innermost_eval = false;
		if (skip_evals) {
			skip_evals--;
			result.unpaired_eval++;
			put_native(&merger, input->native[i]);
		} else if (merger.second) {
			put_group(&merger);
		} else {
			result.unpaired_eval++;
			innermost_eval = true;
			put_native(&merger, input->native[i]);
		}
	}
	while (merger.second) {
		put_group(&merger);
		result.unpaired_groups++;
	}
	result.entering = innermost_eval && result.unpaired_eval == 1;
	result.count = merger.count;
	return result;
}

struct merge_result merge_stacks(const struct merge_input *input, struct merge_frame *out)
{
	struct merge_input own = *input;
	bool switching = is_switching(input);
	struct merge_result result;

	own.native_count = count_own(input);
	if (own.native_count && input->role[own.native_count - 1] == ROLE_START)
		own.native_rooted = true;
	if (switching)
		own.second_count = 0;
	else if (own.second_unsure)
		drop_foreign(&own);
	result = merge_own(&own, out);
	result.switching = switching;
	result.started = own.native_count < input->native_count;
	return result;
}
