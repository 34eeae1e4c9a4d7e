/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * timeline: keeps calls until the end, to show them over time, with a lane for each thread. They are written as a page
 * for a browser (one offline file), or as Chrome's trace events, which Perfetto reads.
 *
 * A call whose stack was put aside for some time (follow.h) is several pieces. There is room for TIMELINE_MAX pieces,
 * 40 MB. When it is full the shortest calls are dropped, and from then on calls that are as short are not kept. The
 * output says how many, and how short.
 */
#ifndef STRATA_CALLS_TIMELINE_H
#define STRATA_CALLS_TIMELINE_H

#include <stdio.h>

#include "base/diag.h"
#include "calls/follow.h"

#define TIMELINE_MAX (1u << 20)

struct timeline_piece {
	uint64_t began; /* CLOCK_MONOTONIC */
	uint64_t took;
	uint32_t function, lane, level;
	uint8_t kind; /* enum rt_python_kind */
	uint8_t how;  /* enum call_end, or TIMELINE_GOES_ON */
};

#define TIMELINE_GOES_ON 255 /* it was put aside */

struct timeline_lane {
	uint32_t tid, tgid;
	char name[THREAD_NAME];
};

struct timeline {
	VEC(struct timeline_piece) pieces;
	VEC(struct timeline_lane) lanes;
	uint64_t least;   /* shorter ones are not kept */
	uint64_t dropped; /* calls that were dropped because they were short */
	uint64_t memory;  /* for which there was no memory */
	size_t room;      /* TIMELINE_MAX; less in tests */
};

void timeline_deinit(struct timeline *timeline);

/* Its sink is a struct timeline. */
extern const struct call_sink timeline_sink;

/* Both write the whole file. `notes`: lines about losses. 0, or a negative errno with a diag. */
int timeline_write_html(struct timeline *timeline, const struct functions *functions, const char *notes, FILE *out,
			struct diag *diag);
int timeline_write_chrome(struct timeline *timeline, const struct functions *functions, const char *notes, FILE *out,
			  struct diag *diag);

#endif
