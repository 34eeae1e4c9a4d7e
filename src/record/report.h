/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * report: from the store to the profile, at the end of a recording: merges native and Python stacks, gives every frame
 * its name, and accounts for every sample: complete, truncated, or lost in whole or in part for a reason.
 */
#ifndef STRATA_RECORD_REPORT_H
#define STRATA_RECORD_REPORT_H

#include "kernel/sampler.h"
#include "profile/profile.h"
#include "record/watch.h"

struct report_options {
	bool function; /* Python frames carry the function's first line */
};

/*
 * Adds all samples to `profile` and fills its quality, but for the self, startup and info parts. `counters` are the
 * kernel's, read after the last drain. 0, or -ENOMEM: there was no memory for some, rare stacks first, which are
 * counted as LOSS_INTERNAL.
 */
int report_build(struct watch *watch, const struct sampler_counters *counters, const struct report_options *options,
		 struct profile *profile);

#endif
