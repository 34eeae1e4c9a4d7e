/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * slices: when samples were taken: how often each tally was counted in each slice of time; of samples that are weighed,
 * how many ns of each slice they stand for.
 *
 * Memory is bounded however long a recording lasts. The first slices are short. When there would be more than
 * SLICES_MAX slices, or more than SLICE_COUNTS_MAX counts, every two neighbours become one, as often as needed. If that
 * does not help because there are too many tallies, or if memory is short, no times are kept at all: a time axis that
 * has only some of the samples would be wrong.
 */
#ifndef STRATA_ENGINE_SLICES_H
#define STRATA_ENGINE_SLICES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/table.h"
#include "base/vec.h"

#define SLICES_MAX       2048
#define SLICES_LEAST     64 /* with fewer they are of no use */
#define SLICE_COUNTS_MAX (1u << 20)
#define SLICE_FIRST_NS   20000000ull

struct slice_count {
	uint32_t tally, slice;
	uint64_t count; /* or ns, where samples are weighed */
};

struct slices {
	struct table ids; /* tally << 32 | slice, + 1 → index + 1 */
	VEC(struct slice_count) list;
	uint64_t start; /* of the first slice: CLOCK_MONOTONIC, ns; earlier samples count there. 0: none yet */
	uint64_t width; /* ns */
	uint32_t last;  /* the last slice that has any */
	bool given_up;
};

void slices_deinit(struct slices *slices);
uint64_t slices_bytes(const struct slices *slices);

/* Where the first slice begins; else it is the first sample's time. No effect once it is known. */
void slices_begin(struct slices *slices, uint64_t time);

void slices_add(struct slices *slices, uint32_t tally, uint64_t time, uint64_t count);

/*
 * The same for a sample that stands for `length` ns before `end`: each slice gets as many ns as it has of these. As a
 * thread is in one slice at a time, this takes it one step for each SLICE_FIRST_NS at most.
 */
void slices_add_time(struct slices *slices, uint32_t tally, uint64_t end, uint64_t length);

/* Adds the counts of others to empty ones; numbers[tally] is the tally's new number. */
void slices_move(const struct slices *from, const uint32_t *numbers, struct slices *to);

#endif
