// SPDX-License-Identifier: GPL-2.0-or-later
#include "diff/compare.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define LEAST_SAMPLES 10
#define CRITICAL      10.828 /* of chi-squared with one degree of freedom, at p = 0.001 */
#define ROUNDING      1e-12  /* of a share */

/* One cell of the table: what was seen beside what was expected. */
static double cell(double seen, double expected)
{
	return seen > 0 && expected > 0 ? seen * log(seen / expected) : 0;
}

/* Both sides of one row of the table, expected in the ratio of the exposures. */
static double row(double before, double after, double share_before)
{
	double both = before + after;

	return cell(before, both * share_before) + cell(after, both * (1 - share_before));
}

/* Times: the difference beside its standard deviation. Of shares, all others vary, too, which changes the share. */
static bool times_differ(const struct profile_compared *how, uint64_t before, uint64_t after, double spread)
{
	double was = (double)before * how->weight_before, is = (double)after * how->weight;
	double share = (was + is) / 2;
	double variance = how->by_time ? spread : (1 - 2 * share) * spread + share * share * how->spread;

	/* What is in all stacks of both recordings has no variance, but for rounding, and no difference. */
	return (was + is) * (was + is) >= LEAST_SAMPLES * spread && fabs(is - was) > ROUNDING * (is + was) &&
	       (is - was) * (is - was) > CRITICAL * fmax(variance, 0);
}

bool compare_differs(const struct profile_compared *how, uint64_t before, uint64_t after, double spread)
{
	/* A weight is one over the exposure: samples, or ticks of the clock. */
	double exposed_before = 1 / how->weight_before, exposed = 1 / how->weight;
	double share = exposed_before / (exposed_before + exposed);
	double off = (double)(before + after) * share - (double)before;
	double was, is, g;

	if (how->times)
		return times_differ(how, before, after, spread);
	if (before + after < LEAST_SAMPLES || fabs(off) <= 0.5)
		return false;
	was = (double)before + copysign(0.5, off); /* corrected for continuity: counts are whole */
	is = (double)after - copysign(0.5, off);
	g = row(was, is, share);
	if (!how->by_time)
		g += row(exposed_before - was, exposed - is, share);
	return 2 * g > CRITICAL;
}

static double square(double value)
{
	return value * value;
}

/* The variance of what a sample, or all, counts for, in both recordings together. */
static double spread_of(const struct profile_compared *how, double squares_before, double squares)
{
	return square(how->weight_before) * squares_before + square(how->weight) * squares;
}

static const char *kind_name(enum read_kind kind)
{
	static const char *const names[] = {[READ_SAMPLES] = "samples of CPU time",
					    [READ_OFF_CPU] = "time off the CPU (--off-cpu)",
					    [READ_WALL] = "time on and off the CPU (--wall, --gil)",
					    [READ_TIMES] = "times of waits"};

	return names[kind];
}

static bool same_kind(enum read_kind one, enum read_kind other)
{
	if (one == READ_SAMPLES || other == READ_SAMPLES)
		return one == other;
	return one == other || one == READ_TIMES || other == READ_TIMES;
}

int compare_prepare(struct profile *profile, const struct recording recordings[2], const char *const names[2],
		    bool by_time, struct diag *diag)
{
	struct profile_compared *how = &profile_info(profile)->compared;
	double weights[2];
	unsigned int i;

	for (i = 0; i < 2; i++) {
		const struct recording *one = &recordings[i];

		if (!one->samples)
			return diag_fail(diag, EINVAL, "diff.empty", "%s: it has no samples", names[i]);
		if (by_time && !(one->duration_s > 0 && (one->period_ns > 0 || one->kind != READ_SAMPLES)))
			return diag_fail(diag, EINVAL, "diff.time",
					 "%s: it does not tell how long it took (folded stacks do not): compare "
					 "recordings in pprof's format, or --by samples",
					 names[i]);
		weights[i] = !by_time			   ? 1.0 / (double)one->samples
			     : one->kind == READ_SAMPLES ? one->period_ns / 1e9 / one->duration_s
							   : 1e-6 / one->duration_s;
	}
	if (!same_kind(recordings[0].kind, recordings[1].kind))
		return diag_fail(diag, EINVAL, "diff.kind", "%s has %s, %s %s: compare recordings of one kind",
				 names[0], kind_name(recordings[0].kind), names[1], kind_name(recordings[1].kind));
	*how = (struct profile_compared){.name_before = profile_string(profile, names[0]),
					 .name = profile_string(profile, names[1]),
					 .weight_before = weights[0],
					 .weight = weights[1],
					 .samples_before = recordings[0].samples,
					 .samples = recordings[1].samples,
					 .by_time = by_time,
					 .times = recordings[0].kind != READ_SAMPLES};
	how->spread = spread_of(how, recordings[0].squares, recordings[1].squares);
	return how->name_before && how->name ? 0 : diag_fail(diag, ENOMEM, "diff.memory", "%s", strerror(ENOMEM));
}

/* The function of each frame, as a frame without a line, which has the text that is shown. */
static int know_functions(const struct profile *profile, struct compare *compare, uint32_t *function_of)
{
	size_t i;
	int err = 0;

	for (i = 0; i < profile_frame_count(profile) && !err; i++) {
		const struct frame *frame = profile_frame_at(profile, (uint32_t)i);
		const struct frame function = {.layer = frame->layer == FRAME_RUNTIME ? FRAME_NATIVE : frame->layer,
					       .name = frame->name,
					       .file = frame->file};

		err = frames_add(compare->functions, &function, &function_of[i]);
	}
	return err;
}

static int name_rows(struct compare *compare)
{
	size_t i;

	compare->count = frames_count(compare->functions);
	compare->rows = calloc(compare->count + 1, sizeof(*compare->rows));
	compare->names = calloc(compare->count + 1, sizeof(*compare->names));
	for (i = 0; compare->rows && compare->names && i < compare->count; i++) {
		const struct frame *function = frames_at(compare->functions, (uint32_t)i);
		int size = frame_format(function, NULL, 0);

		compare->names[i] = malloc((size_t)size + 1);
		if (!compare->names[i])
			return -ENOMEM;
		frame_format(function, compare->names[i], (size_t)size + 1);
		compare->rows[i].name = compare->names[i];
	}
	return compare->rows && compare->names ? 0 : -ENOMEM;
}

static void count_sample(struct compare *compare, const struct profile_compared *how,
			 const struct profile_sample *sample, const uint32_t *function_of, size_t *seen, size_t turn)
{
	double spread = spread_of(how, sample->squares_before, sample->squares);
	uint32_t i;

	for (i = 0; i < sample->depth; i++) {
		uint32_t function = function_of[sample->frames[i]];
		struct compare_row *row_at = &compare->rows[function];

		if (i + 1 == sample->depth) {
			row_at->own_before += sample->before;
			row_at->own += sample->count;
			row_at->own_spread += spread;
		}
		if (seen[function] == turn)
			continue;
		seen[function] = turn;
		row_at->total_before += sample->before;
		row_at->total += sample->count;
		row_at->total_spread += spread;
	}
}

static double change(const struct profile_compared *how, uint64_t before, uint64_t after)
{
	return (double)after * how->weight - (double)before * how->weight_before;
}

/* What differs comes first, and of that the largest difference. */
static int by_difference(const void *a, const void *b, void *arg)
{
	const struct compare_row *x = a, *y = b;
	const struct profile_compared *how = arg;
	bool x_differs = compare_differs(how, x->own_before, x->own, x->own_spread);
	bool y_differs = compare_differs(how, y->own_before, y->own, y->own_spread);
	double x_size = fabs(change(how, x->own_before, x->own)), y_size = fabs(change(how, y->own_before, y->own));
	double x_all = fabs(change(how, x->total_before, x->total)),
	       y_all = fabs(change(how, y->total_before, y->total));

	if (x_differs != y_differs)
		return x_differs ? -1 : 1;
	if (x_size != y_size)
		return x_size > y_size ? -1 : 1;
	if (x_all != y_all)
		return x_all > y_all ? -1 : 1;
	return strcmp(x->name, y->name);
}

int compare_functions(const struct profile *profile, struct compare *ret, struct diag *diag)
{
	uint32_t *function_of = calloc(profile_frame_count(profile) + 1, sizeof(*function_of));
	struct profile_compared how = profile_get_info(profile)->compared;
	struct compare compare = {.functions = frames_create()};
	size_t *seen = NULL, i;
	int err = function_of && compare.functions ? know_functions(profile, &compare, function_of) : -ENOMEM;

	if (!err)
		err = name_rows(&compare);
	if (!err)
		seen = calloc(compare.count + 1, sizeof(*seen));
	if (seen) {
		for (i = 0; i < profile_sample_count(profile); i++)
			count_sample(&compare, &how, profile_sample_at(profile, i), function_of, seen, i + 1);
		qsort_r(compare.rows, compare.count, sizeof(*compare.rows), by_difference, &how);
	}
	free(function_of);
	if (!seen) {
		compare_deinit(&compare);
		return diag_fail(diag, ENOMEM, "diff.memory", "%s", strerror(ENOMEM));
	}
	free(seen);
	*ret = compare;
	return 0;
}

void compare_deinit(struct compare *compare)
{
	size_t i;

	for (i = 0; compare->names && i < compare->count; i++)
		free(compare->names[i]);
	free(compare->names);
	free(compare->rows);
	frames_destroy(compare->functions);
	*compare = (struct compare){};
}
