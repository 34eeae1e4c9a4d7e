// SPDX-License-Identifier: GPL-2.0-or-later
#include "export/tracks.h"

#include <stdlib.h>
#include <string.h>

#include "export/common.h"

static int compare(int64_t a, int64_t b)
{
	return a < b ? -1 : a > b;
}

static int compare_threads(const struct profile_sample *a, const struct profile_sample *b)
{
	int order = compare(a->pid, b->pid);

	if (!order)
		order = compare(a->tid, b->tid);
	return order || a->comm == b->comm ? order : strcmp(a->comm, b->comm);
}

static int by_thread_and_time(const void *a, const void *b, void *arg)
{
	const struct profile *profile = arg;
	const struct export_row *x = a, *y = b;
	int order = x->sample == y->sample ? 0
					   : compare_threads(profile_sample_at(profile, x->sample),
							     profile_sample_at(profile, y->sample));

	if (!order)
		order = compare(x->end, y->end);
	return order ? order : compare(x->sample, y->sample);
}

static int add_row(struct export_tracks *tracks, uint32_t sample, uint64_t amount, int64_t begin, int64_t end)
{
	const struct export_row row = {.begin = begin, .end = end, .amount = amount, .sample = sample};

	return vec_push(&tracks->rows, row);
}

static int64_t length_of(const struct export_tracks *tracks, uint64_t amount)
{
	return (int64_t)(profile_get_info(tracks->profile)->weighed ? (double)amount
								    : (double)amount * tracks->tick_ns);
}

static int add_exact(struct export_tracks *tracks)
{
	const struct profile_info *info = profile_get_info(tracks->profile);
	size_t i;
	int err = 0;

	for (i = 0; i < profile_moment_count(tracks->profile) && !err; i++) {
		const struct profile_moment *moment = profile_moment_at(tracks->profile, i);
		int64_t end = moment->time > info->began_ns ? (int64_t)(moment->time - info->began_ns) : 0;
		uint64_t amount = info->weighed ? moment->weight : 1;
		int64_t begin = end - length_of(tracks, amount);

		err = add_row(tracks, moment->sample, amount, begin > 0 ? begin : 0, end);
	}
	return err;
}

static int add_slices(struct export_tracks *tracks)
{
	const struct profile_times *times = &profile_get_info(tracks->profile)->times;
	size_t i;
	int err = 0;

	for (i = 0; i < profile_slice_count(tracks->profile) && !err; i++) {
		const struct profile_slice *slice = profile_slice_at(tracks->profile, i);
		int64_t begin = (int64_t)((times->start_s + slice->slice * times->width_s) * 1e9);

		err = add_row(tracks, slice->sample, slice->count, begin, begin);
	}
	return err;
}

static int add_untimed(struct export_tracks *tracks)
{
	size_t i;
	int err = 0;

	for (i = 0; i < profile_sample_count(tracks->profile) && !err; i++)
		err = add_row(tracks, (uint32_t)i,
			      export_amount(tracks->profile, profile_sample_at(tracks->profile, i)), 0, 0);
	return err;
}

/* Rows that begin together follow each other, in the width of a slice, if there is one. */
static void lay_out(struct export_tracks *tracks, struct export_row *rows, size_t count)
{
	double width =
		tracks->clock == EXPORT_CLOCK_SLICES ? profile_get_info(tracks->profile)->times.width_s * 1e9 : 0;
	double whole = 0, at = 0, scale;
	int64_t begin = rows[0].begin;
	size_t i;

	for (i = 0; i < count; i++)
		whole += (double)length_of(tracks, rows[i].amount);
	scale = width > 0 && whole > width ? width / whole : 1;
	for (i = 0; i < count; i++) {
		rows[i].begin = begin + (int64_t)at;
		at += (double)length_of(tracks, rows[i].amount) * scale;
		rows[i].end = begin + (int64_t)at;
	}
}

static bool same_thread(const struct export_tracks *tracks, const struct export_row *a, const struct export_row *b)
{
	return !compare_threads(profile_sample_at(tracks->profile, a->sample),
				profile_sample_at(tracks->profile, b->sample));
}

/* What a sample stands for may reach back into what the one before it stands for: when that ended is certain. */
static void clip(struct export_tracks *tracks)
{
	size_t i;

	for (i = 1; i < tracks->rows.count; i++) {
		const struct export_row *before = &tracks->rows.at[i - 1];
		struct export_row *row = &tracks->rows.at[i];

		if (row->begin < before->end && same_thread(tracks, before, row))
			row->begin = before->end;
	}
}

static void lay_out_all(struct export_tracks *tracks)
{
	size_t from, to;

	for (from = 0; from < tracks->rows.count; from = to) {
		for (to = from + 1; to < tracks->rows.count; to++)
			if (tracks->rows.at[to].begin != tracks->rows.at[from].begin ||
			    !same_thread(tracks, &tracks->rows.at[from], &tracks->rows.at[to]))
				break;
		lay_out(tracks, &tracks->rows.at[from], to - from);
	}
}

static int by_thread_and_begin(const void *a, const void *b, void *arg)
{
	const struct export_tracks *tracks = arg;
	const struct export_track *x = a, *y = b;
	int order = compare(x->pid, y->pid);

	if (!order)
		order = compare(x->tid, y->tid);
	return order ? order : compare(tracks->rows.at[x->first].begin, tracks->rows.at[y->first].begin);
}

static int find_tracks(struct export_tracks *tracks)
{
	size_t from, to;

	for (from = 0; from < tracks->rows.count; from = to) {
		const struct profile_sample *sample = profile_sample_at(tracks->profile, tracks->rows.at[from].sample);
		struct export_track track = {
			.comm = sample->comm, .pid = sample->pid, .tid = sample->tid, .first = from};

		for (to = from + 1; to < tracks->rows.count; to++)
			if (!same_thread(tracks, &tracks->rows.at[from], &tracks->rows.at[to]))
				break;
		track.count = to - from;
		if (vec_push(&tracks->tracks, track))
			return -ENOMEM;
	}
	if (tracks->tracks.count)
		qsort_r(tracks->tracks.at, tracks->tracks.count, sizeof(*tracks->tracks.at), by_thread_and_begin,
			tracks);
	for (from = 1; from < tracks->tracks.count; from++) {
		struct export_track *track = &tracks->tracks.at[from];

		if (track->pid == track[-1].pid && track->tid == track[-1].tid)
			track->earlier = track[-1].earlier + 1;
	}
	return 0;
}

int export_tracks_init(struct export_tracks *tracks, const struct profile *profile)
{
	const struct profile_info *info = profile_get_info(profile);
	int err;

	*tracks = (struct export_tracks){.profile = profile, .tick_ns = info->frequency ? 1e9 / info->frequency : 1e6};
	if (profile_moment_count(profile)) {
		tracks->clock = EXPORT_CLOCK_EXACT;
		err = add_exact(tracks);
	} else if (profile_slice_count(profile) && info->times.width_s > 0) {
		tracks->clock = EXPORT_CLOCK_SLICES;
		err = add_slices(tracks);
	} else {
		tracks->clock = EXPORT_CLOCK_NONE;
		err = add_untimed(tracks);
	}
	if (err)
		return err;
	if (tracks->rows.count)
		qsort_r(tracks->rows.at, tracks->rows.count, sizeof(*tracks->rows.at), by_thread_and_time,
			(void *)profile);
	if (tracks->clock == EXPORT_CLOCK_EXACT)
		clip(tracks);
	else
		lay_out_all(tracks);
	return find_tracks(tracks);
}

void export_tracks_deinit(struct export_tracks *tracks)
{
	vec_free(&tracks->rows);
	vec_free(&tracks->tracks);
	*tracks = (struct export_tracks){};
}

void export_tracks_clock(const struct export_tracks *tracks, char text[static 160])
{
	switch (tracks->clock) {
	case EXPORT_CLOCK_EXACT:
		snprintf(text, 160, "exact");
		break;
	case EXPORT_CLOCK_SLICES:
		snprintf(text, 160, "right to %.0f ms: within that, the order of samples is not known",
			 profile_get_info(tracks->profile)->times.width_s * 1e3);
		break;
	case EXPORT_CLOCK_NONE:
		snprintf(text, 160, "not known: the samples of a thread are put one after the other");
		break;
	}
}

const char *export_tracks_process(const struct export_tracks *tracks, const struct export_track *track)
{
	const struct export_track *at, *main = NULL;

	for (at = track; at > tracks->tracks.at && at[-1].pid == track->pid; at--)
		;
	for (; at < tracks->tracks.at + tracks->tracks.count && at->pid == track->pid; at++)
		if (at->tid == at->pid &&
		    (!main || tracks->rows.at[main->first].begin < tracks->rows.at[at->first].begin))
			main = at;
	return main ? main->comm : track->comm;
}
