/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * compare: what differs between two recordings that were read into one profile (read.h), by function.
 *
 * A weight for each side makes the counts comparable (struct profile_compared). By samples, the value is a function's
 * share of all samples; by time, the CPUs that it kept busy on average. A likelihood ratio test (G-test) with one
 * degree of freedom, corrected for continuity, at p < 0.001, says what differs more than chance explains: for shares,
 * on the two-by-two table (with and without the function, before and after); for time, on two Poisson counts, whose
 * expected ratio is that of the exposures. If both sides together have fewer than ten samples, nothing counts as
 * different. The test assumes that samples are independent. Those of one long call are not, so for rare and long events
 * it is too sure. tests/unit/test_diff.c compares it with exact probabilities; src/export/page/diff.js has the same
 * function for the page.
 *
 * Recordings of times, which are microseconds of waits (read.h), are compared by time: shares of all of it, or threads
 * that waited on average. How much is chance follows from how many waits there were: the time of independent waits has
 * the variance of the sum of their squares. A difference of more than 3.3 standard deviations, at the same p, is more
 * than chance, if both sides together have at least ten waits, counted as ones of equal length.
 */
#ifndef STRATA_DIFF_COMPARE_H
#define STRATA_DIFF_COMPARE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/diag.h"
#include "diff/read.h"
#include "profile/profile.h"

/*
 * Whether a difference between these counts is more than noise. `spread`, of times only: their variance, each side's
 * squares times the square of its weight.
 */
bool compare_differs(const struct profile_compared *how, uint64_t before, uint64_t after, double spread);

/*
 * Fills in profile_info.compared. 0, or -EINVAL and a diag: comparison by time, but one recording has no times; no
 * samples; or recordings of different kinds.
 */
int compare_prepare(struct profile *profile, const struct recording recordings[2], const char *const names[2],
		    bool by_time, struct diag *diag);

struct compare_row {
	const char *name;                              /* a frame's text, without the line */
	uint64_t own_before, own, total_before, total; /* samples, or microseconds; recursion counts once */
	double own_spread, total_spread;               /* for compare_differs() */
};

struct compare {
	struct compare_row *rows; /* of functions that any sample has, by the size of the difference of own samples */
	size_t count;
	struct frames *functions; /* owns the names */
	char **names;
};

/* 0, or -ENOMEM and a diag. */
int compare_functions(const struct profile *profile, struct compare *ret, struct diag *diag);
void compare_deinit(struct compare *compare);

/* The first `limit` rows as a table; `color` allows ANSI colours. */
void compare_write_text(FILE *out, const struct profile *profile, const struct compare *compare, size_t limit,
			bool color);

#endif
