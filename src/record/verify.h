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
#ifndef STRATA_RECORD_VERIFY_H
#define STRATA_RECORD_VERIFY_H

#include "abi/events.h"
#include "profile/profile.h"
#include "record/objects.h"

struct verifier;

/* NULL when memory is short. `verbose`: differences are printed to stderr, the first ones. */
struct verifier *verifier_create(bool verbose);
void verifier_destroy(struct verifier *verifier);

/* One sample: its process, the copy, and strata's frames as an EVENT_NATIVE_STACK has them, innermost first. */
struct verify_sample {
	const struct process *process;
	const struct snapshot_event *snapshot;
	const uint8_t *bytes; /* of the stack, as they follow the event */
	const uint64_t *frames;
	uint32_t count;
};

/* Compares, and counts the result in *ret. */
void verifier_compare(struct verifier *verifier, struct objects *objects, const struct verify_sample *sample,
		      struct profile_verify *ret);

/* A process is forgotten. */
void verifier_forget(struct verifier *verifier, const struct process *process);

#endif
