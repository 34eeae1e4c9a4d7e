/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * balance: the kernel part counts from its start on; this makes the counts of each window out of it, so that in each
 * all samples are accounted for.
 *
 * The kernel's own count of samples is what everything must sum up to. While it samples some have begun and are on
 * their way. So the counts are read first and the ring is emptied then: of the samples that were in the ring by the
 * count all must have arrived. Those that have not, at two windows in a row, are lost without anybody having counted
 * them (LOSS_INTERNAL): a record that is just being written may hold up those behind it. What arrives while the ring is
 * emptied may hide a loss from a window, but not from all. At the last window all that were begun must have arrived.
 */
#ifndef STRATA_ENGINE_BALANCE_H
#define STRATA_ENGINE_BALANCE_H

#include "kernel/sampler.h"
#include "profile/profile.h"
#include "engine/watch.h"

#define BALANCE_WINDOWS 2

/* Counted from the start on. */
struct balance_totals {
	struct sampler_counters kernel; /* read before the ring was emptied */
	struct watch_counts watch;
	uint64_t perf_maps; /* that were refused */
	double self_cpu_s;
};

/* Of the window at hand. */
struct balance_window {
	uint64_t seen;    /* samples that arrived in it */
	uint64_t waiting; /* that wait for their other part */
	bool emptied;     /* nothing was left in the ring */
	bool last;        /* nothing is on its way any more */
};

struct balance {
	struct balance_totals told;        /* in windows until now */
	uint64_t samples;                  /* accounted for in windows until now */
	uint64_t missing[BALANCE_WINDOWS]; /* at the last windows, by number */
	unsigned int windows;
};

/* Adds a window's share to *ret. */
void balance_add(struct balance *balance, const struct balance_totals *now, const struct balance_window *window,
		 struct profile_quality *ret);

#endif
