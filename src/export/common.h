/* SPDX-License-Identifier: GPL-2.0-or-later */
/* common: what several formats need. For src/export only, except export_json_string(). */
#ifndef STRATA_EXPORT_COMMON_H
#define STRATA_EXPORT_COMMON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/diag.h"
#include "base/table.h"
#include "base/vec.h"
#include "profile/profile.h"

/* What makes samples with the same comm and frames different. */
enum export_apart { EXPORT_TOGETHER, EXPORT_THREADS, EXPORT_OWNERS /* thread and cgroup */ };

/* The text of every frame of a profile, and the samples in the order of their texts. */
struct export_view {
	const struct profile *profile;
	char **texts;    /* by frame id: frame_format() */
	uint32_t *ranks; /* by frame id: the text's place in the sorted order; equal texts have equal ranks */
	uint32_t *named; /* by rank: a frame with that text */
	const struct profile_sample *
		*samples; /* by comm, pid, tid and cgroup (see `apart`), then outermost frame inwards */
	size_t frame_count, rank_count, sample_count;
	enum export_apart apart;
};

/* 0 or -ENOMEM with a diag; release with export_view_deinit(), also after a failure. */
int export_view_init(struct export_view *view, const struct profile *profile, enum export_apart apart,
		     struct diag *diag);
void export_view_deinit(struct export_view *view);

/* Whether two samples give the same line: same comm, frames' texts and what `apart` says. */
bool export_view_same(const struct export_view *view, const struct profile_sample *a, const struct profile_sample *b);

/* When samples were: the slices of each, in order. */
struct export_times {
	const struct profile *profile;
	struct profile_slice *slices; /* by sample, then time; NULL: the profile has none */
	size_t *first;                /* by sample's index: in slices; the next sample's is where they end */
	struct table index_of;        /* sample → index + 1 */
	VEC(struct profile_slice) list;
};

/* 0 or -ENOMEM; release with export_times_deinit(), also after a failure. */
int export_times_init(struct export_times *times, const struct profile *profile);
void export_times_deinit(struct export_times *times);
bool export_times_kept(const struct export_times *times);

/* Merges the slices of some samples into times->list, in the order of time, each slice once. 0 or -ENOMEM. */
int export_times_of(struct export_times *times, const struct profile_sample *const *samples, size_t count);

/* Flushes; 0, or the stream's error with a diag. */
int export_finish(FILE *out, struct diag *diag);

/* The summary without colours, in the lines of its stream; *ret is the caller's, also after a failure. 0 or an error.
 */
int export_summary_text(const struct profile *profile, char **ret);

/* -ENOMEM with a diag. */
int export_no_memory(struct diag *diag);

/*
 * The amount of a sample: how often it was seen; or ns, if samples are weighed. The second function gives it as a
 * format writes it: the count, or microseconds.
 */
uint64_t export_amount(const struct profile *profile, const struct profile_sample *sample);
uint64_t export_number(const struct profile *profile, uint64_t amount);

/* Is this frame a mark that says what a thread off the CPU waited for, `[waiting: …]`? */
bool export_frame_waits(const struct frame *frame);

/* 12345678 as "12,345,678"; returns the buffer, which needs 32 bytes. */
const char *export_grouped(uint64_t number, char buffer[static 32]);

#endif
