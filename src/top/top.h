/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * top: `strata top` as a library: where time goes now, on the CPU and off it, window by window. A client of the
 * engine (engine/engine.h); it owns all it sets up and releases it before it returns. Called once per process, from
 * one thread.
 *
 *   engine_collect() ─► ranking.h  rows: own and total samples ─► view.h  order, filter ─► text, or
 *                                                                        browser.h, screen.h  a terminal
 */
#ifndef STRATA_TOP_TOP_H
#define STRATA_TOP_TOP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/diag.h"
#include "engine/engine.h"
#include "profile/profile.h"
#include "top/view.h"

struct top_options {
	struct engine_targets targets;
	const char *target_text; /* for the head */
	struct filter *filters;  /* which threads of the targets (engine/filter.h); borrowed; NULL: all */
	unsigned int frequency;
	double interval_s; /* a window */
	uint64_t max_memory;
	unsigned int off_cpu_rate; /* as in struct engine_options, for time off the CPU */
	enum view_mode mode;
	enum ranking_kind kind;
	enum view_sort sort;
	enum view_layers layers;
	const char *filter;  /* NULL: none */
	unsigned long batch; /* number of windows to write to `out`; 0: draw on the terminal until the user ends it */
	size_t rows;         /* of each of those windows; 0: all */
	FILE *out;
	bool color;
	/* Writes a window to a file, by its suffix; 0, or a negative errno and a diag. */
	int (*save)(const char *path, const struct profile *profile, struct diag *diag);
};

struct top_result {
	int command_status; /* in the shell's convention; 0 without a command */
	pid_t command_left; /* pid of a command that could not be ended; else 0 */
};

/* 0, or a negative errno and a diag. A signal ends it without an error. */
int top_run(const struct top_options *options, struct top_result *ret, struct diag *diag);

#endif
