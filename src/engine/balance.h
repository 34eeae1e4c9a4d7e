/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * balance: computes the counts of each window from the kernel's counts, which count from the start, so that each window
 * accounts for all its samples.
 *
 * Everything must sum up to the kernel's own count of samples. While the kernel samples, some samples have begun and
 * have not arrived. So the counts are read first, and then the ring is emptied: all samples that were in the ring when
 * the counts were read must have arrived. But a record that is being written delays those after it. So samples that are
 * missing at the end of two windows in a row are counted as lost without a reason (LOSS_INTERNAL). What arrives while
 * the ring is emptied may hide a loss from one window, but not from all. At the last window all samples must have
 * arrived.
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
	uint64_t perf_maps; /* refused ones */
	double self_cpu_s;
};

/* Of the window at hand. */
struct balance_window {
	uint64_t seen;    /* samples that arrived in it */
	uint64_t waiting; /* samples that wait for their second part */
	bool emptied;     /* nothing was left in the ring */
	bool last;        /* nothing more will arrive */
};

struct balance {
	struct balance_totals told;        /* reported in earlier windows */
	uint64_t samples;                  /* accounted for in earlier windows */
	uint64_t missing[BALANCE_WINDOWS]; /* at the last windows, by number */
	unsigned int windows;
};

/* Adds a window's share to *ret. */
void balance_add(struct balance *balance, const struct balance_totals *now, const struct balance_window *window,
		 struct profile_quality *ret);

#endif
