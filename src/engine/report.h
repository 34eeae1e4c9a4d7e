/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * report: from a window's tallies to a profile: merges native and Python stacks, gives every frame its name, and says
 * of every sample whether it is complete, truncated, or lost in whole or in part for a reason.
 *
 * It reads the store and changes nothing there, but for the last window. What it keeps from one window to the next is
 * room. Not thread-safe.
 */
#ifndef STRATA_ENGINE_REPORT_H
#define STRATA_ENGINE_REPORT_H

#include "profile/profile.h"
#include "engine/watch.h"

struct report_options {
	bool function; /* Python frames carry the function's first line */
};

struct report;

/* `watch` is borrowed. NULL when memory is short. */
struct report *report_create(struct watch *watch, const struct report_options *options);
void report_destroy(struct report *report); /* may be NULL */

/*
 * Adds a window's samples to `profile`, and what they say to its quality: of what the kernel part counts see balance.h.
 * `last`, after watch_finish(): stacks are given back as soon as they are in the profile. 0, or -ENOMEM: there was no
 * memory for some, rare stacks first, which are counted as LOSS_INTERNAL.
 */
int report_window(struct report *report, const struct tallies *tallies, bool last, struct profile *profile);

#endif
