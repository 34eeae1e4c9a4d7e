/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * ranking: where time went, by function, line, module, thread, process, container and cgroup; in the last window, and
 * since the start. It is fed with one window after the other. All counts are ns: a sample stands for its weight, or,
 * where samples have none, for the time from one to the next (ranking_sample_ns()). Not thread-safe.
 *
 * A row's own samples were taken in it. Its total samples have it anywhere in the stack; each sample counts once, even
 * if the row is in it several times. When there are more than RANKING_ROWS_MAX rows of one kind, rows that have few
 * samples and were not seen for long are dropped, so memory is bounded. Their samples stay in the sums of all samples.
 */
#ifndef STRATA_TOP_RANKING_H
#define STRATA_TOP_RANKING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "profile/profile.h"

#define RANKING_ROWS_MAX 32768

enum ranking_kind {
	RANKING_FUNCTION,
	RANKING_LINE,
	RANKING_MODULE, /* a file; of kernel frames "[kernel]" */
	RANKING_THREAD,
	RANKING_PROCESS,
	RANKING_CONTAINER, /* or the unit, for processes in no container */
	RANKING_CGROUP,
	RANKING_KINDS
};

/*
 * Which row gets a sample as its own: that of the innermost frame, or that of the innermost frame of a runtime
 * (Python).
 */
enum ranking_own { RANKING_INNERMOST, RANKING_RUNTIME, RANKING_OWNS };

struct ranking_counts {
	uint64_t own[RANKING_OWNS], total;
	/* Of the total: of threads with a GIL; and of this, while the thread held it, or waited for it. */
	uint64_t lockable, held, awaited;
};

struct ranking_row {
	const char *name;               /* one clean line; lives as long as the row */
	unsigned int layer;             /* enum frame_layer; FRAME_LAYER_COUNT: it is no frame */
	struct ranking_counts now, all; /* in the last window, since the start */
	uint64_t stamp;                 /* ranking's own: the last sample that was counted here */
};

struct ranking;

struct ranking *ranking_create(void); /* NULL when memory is short */
void ranking_destroy(struct ranking *ranking);

/* Adds a window. 0, or -ENOMEM: only a part of it is counted. */
int ranking_add(struct ranking *ranking, const struct profile *window);

/* Starts again, as if there had been no window before the last one. */
void ranking_restart(struct ranking *ranking);

/* The rows of one kind, in no order; valid until the next call of another function. */
const struct ranking_row *ranking_rows(const struct ranking *ranking, enum ranking_kind kind, size_t *count);

/* Does a frame of a profile belong to a row of this name and layer? */
bool ranking_is(enum ranking_kind kind, const struct frame *frame, const char *name, unsigned int layer);

/* The time that a sample of a profile stands for: its weight, or its count by the frequency. */
uint64_t ranking_sample_ns(const struct profile *window, const struct profile_sample *sample);

/* The sum of all samples, ns, and the time in which they were taken. */
struct ranking_sums {
	uint64_t ns;
	double seconds;
};
struct ranking_sums ranking_now(const struct ranking *ranking);
struct ranking_sums ranking_all(const struct ranking *ranking);

#endif
