/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * verify: a second opinion on native stacks. elfutils' libdw unwinds a copy of a sample's registers and stack, by the
 * files' own .eh_frame or .debug_frame, and its program counters are held against strata's.
 *
 * libdw shares no code with strata: not the reading of ELF, not the compiler of rows, not the walker. It has a fallback
 * of its own where a file has no unwind information (the frame-pointer chain), so an agreement there proves less, and
 * a difference nothing: that is counted apart.
 * One libdw session for each process that is verified, until its mappings change. Not thread-safe.
 */
#ifndef STRATA_ENGINE_VERIFY_H
#define STRATA_ENGINE_VERIFY_H

#include "abi/events.h"
#include "kernel/late_walk.h"
#include "profile/profile.h"
#include "engine/objects.h"

struct verifier;

/* NULL when memory is short. `verbose`: differences are printed to stderr, the first ones. */
struct verifier *verifier_create(bool verbose);
void verifier_destroy(struct verifier *verifier);

/*
 * One sample: its process, the copy, and what strata's own walker finds in the copy. It is the kernel part's source, so
 * that must be the stack that the kernel part found, snapshot->native_stack, if the copy has all of it.
 */
struct verify_sample {
	const struct process *process;
	const struct snapshot_event *snapshot;
	const uint8_t *bytes; /* of the stack, as they follow the event */
	struct late_stack walked;
};

/*
 * Compares, and counts the sample in *ret: in one of the counts that make up ret->samples, or in ret->uncompared.
 * A stack that ends with the copy is compared up to there.
 */
void verifier_compare(struct verifier *verifier, struct objects *objects, const struct verify_sample *sample,
		      struct profile_verify *ret);

/* A process is forgotten. */
void verifier_forget(struct verifier *verifier, const struct process *process);

#endif
