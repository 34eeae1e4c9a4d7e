/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the files of src/calls share: calls.c, summary.c. */
#ifndef STRATA_CALLS_PARTS_H
#define STRATA_CALLS_PARTS_H

#include "calls/calls.h"
#include "calls/follow.h"
#include "calls/text.h"
#include "calls/timeline.h"
#include "profile/text.h"

struct calls {
	struct dialect dialect;
	struct calls_options options;
	struct rt_calls_wanted *wanted; /* NULL: all calls are sent */
	struct functions *functions;
	struct follow follow;
	struct call_text text;
	struct timeline timeline;
	struct calls_lost lost; /* what is not counted elsewhere */
	uint64_t no_room;       /* records that were not sent because the ring buffer was full */
	uint64_t looked;        /* CLOCK_MONOTONIC: when calls that are not over were last printed */
};

/* What was lost of one kind: its key in JSON, and the words behind the count. */
struct lost_line {
	uint64_t count;
	const char *key, *words;
};

#define LOST_LINES 11

/* All kinds of losses, also those with a count of 0. */
void calls_lost_lines(const struct calls_lost *lost, struct lost_line lines[static LOST_LINES]);

#endif
