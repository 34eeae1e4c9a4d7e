/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * report: from a window's tallies to a profile: merges native and second stacks, gives every frame its name, and gives
 * every sample one verdict: complete, truncated, or lost in whole or in part for a reason.
 *
 * A sample taken while exec replaces the program, or after a thread has given up its address space, has no user part:
 * only the kernel's frames, under [exec] or [exit].
 *
 * It reads the store and changes it only for the last window. From window to window it keeps only allocated memory. Not
 * thread-safe.
 */
#ifndef STRATA_ENGINE_REPORT_H
#define STRATA_ENGINE_REPORT_H

#include "profile/profile.h"
#include "engine/watch.h"

struct report_options {
	bool function; /* frames of second stacks have the function's first line */
	bool gil; /* only samples of threads that hold their runtime's lock, or wait for it; the watch keeps locks */
};

struct report;

/* `watch` is borrowed. NULL when memory is short. */
struct report *report_create(struct watch *watch, const struct report_options *options);
void report_destroy(struct report *report); /* may be NULL */

/*
 * Adds a window's samples to `profile`, and their counts to its quality; for the kernel's counts see balance.h. `last`,
 * after watch_finish(): stacks are freed as soon as they are in the profile. 0, or -ENOMEM: there was no memory for
 * some, rare stacks first; these are counted as LOSS_INTERNAL.
 */
int report_window(struct report *report, const struct tallies *tallies, bool last, struct profile *profile);

#endif
