/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * tracks: the threads of a profile, each with what it did in the order of time, for formats that show that. For
 * src/export only.
 *
 * A sample stands for the time before it: for its weight, or for one tick of the sampling clock, but not for time
 * before the end of the previous sample. How exactly the times of a profile are known differs, and a format has to say
 * so: see enum export_clock.
 */
#ifndef STRATA_EXPORT_TRACKS_H
#define STRATA_EXPORT_TRACKS_H

#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"
#include "profile/profile.h"

enum export_clock {
	EXPORT_CLOCK_EXACT,  /* each sample has its time */
	EXPORT_CLOCK_SLICES, /* it is known what was sampled in each slice, but not in which order */
	EXPORT_CLOCK_NONE    /* not known: a thread's samples follow each other from the start */
};

/* Samples with one stack and one place in time. All of a profile's samples are in one. */
struct export_row {
	int64_t begin, end; /* ns after the start of the recording */
	uint64_t amount;    /* export_amount() of these */
	uint32_t sample;    /* index */
};

/* The samples of one thread while it had one name. */
struct export_track {
	const char *comm;
	int pid, tid;
	uint32_t earlier;    /* how many tracks before this one are of the same thread */
	size_t first, count; /* rows, by begin */
};

struct export_tracks {
	const struct profile *profile;
	enum export_clock clock;
	double tick_ns; /* what a sample that is only counted stands for */
	VEC(struct export_row) rows;
	VEC(struct export_track) tracks; /* by pid, tid and time */
};

/* 0 or -ENOMEM; release with export_tracks_deinit(), also after a failure. */
int export_tracks_init(struct export_tracks *tracks, const struct profile *profile);
void export_tracks_deinit(struct export_tracks *tracks);

/* How well times are known, as a sentence of at most 160 bytes for people. */
void export_tracks_clock(const struct export_tracks *tracks, char text[static 160]);

/* A name for the process of a track: the last name of its first thread, if that was sampled, else the track's. */
const char *export_tracks_process(const struct export_tracks *tracks, const struct export_track *track);

#endif
