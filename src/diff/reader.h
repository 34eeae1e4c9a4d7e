/* SPDX-License-Identifier: GPL-2.0-or-later */
/* reader: what the readers of the formats share. For src/diff/read*.c only. */
#ifndef STRATA_DIFF_READER_H
#define STRATA_DIFF_READER_H

#include "base/cursor.h"
#include "base/vec.h"
#include "diff/read.h"

struct reader {
	struct profile *profile;
	enum read_side side;
	struct recording *recording;
	struct diag *diag;
	uint64_t frames;     /* of all samples so far */
	VEC(uint32_t) stack; /* the sample's, in any order until it is added */
};

/*
 * Adds the stack, outermost first, and empties it. `count` is positive. `waits`: of a recording of times, how many
 * waits lasted so long together. 0 or a negative errno and a diag.
 */
int reader_sample(struct reader *reader, const char *comm, uint64_t count, uint64_t waits);

/* 0, or -EFBIG and a diag when the stack has as many frames as it may. */
int reader_frame(struct reader *reader, uint32_t frame);

int reader_no_memory(struct reader *reader);

int read_pprof(struct reader *reader, struct cursor *bytes);
int read_folded(struct reader *reader, struct cursor *bytes);

#endif
