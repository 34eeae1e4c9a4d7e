/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * runtime: what the kernel part is told about a runtime with a second stack (runtime/runtime.h): where it is in a
 * process, and what is the same in all processes that run one build of it. Named fields are for the engine. The meaning
 * of `words`, `places`, `facts`, `fact` and `tasks` is known to the runtime only, in src/runtime/NAME/.
 */
#ifndef STRATA_ABI_RUNTIME_H
#define STRATA_ABI_RUNTIME_H

#include "abi/types.h"

/* One build of a runtime: the offsets of fields, mostly. */
struct runtime_layout {
	__u64 words[10];
};
ABI_ASSERT_SIZE(struct runtime_layout, 80);

/* State of a fact that one walk finds out for the following ones. Only the runtime knows what the fact is. */
enum runtime_note {
	RUNTIME_NO_NOTE,
	RUNTIME_TO_NOTE, /* not found out yet */
	RUNTIME_NOTED
};

struct runtime_process {
	/*
	 * Addresses; 0: none. In a struct known_file they are vaddrs, to which the kernel part adds the mapping's bias.
	 */
	__u64 places[4];
	__u64 facts[3];
	__u64 tasks[4]; /* how a walk finds the task that its thread runs; tasks[0] is 0: it does not look for one */
	__s32 fact;
	__u16 layout; /* index into the map of layouts */
	__u8 runtime; /* enum runtime_id (abi/runtime_id.h) */
	__u8 noted;   /* enum runtime_note; also written by the kernel part, so not covered by `check` */
	__u64 since;  /* CLOCK_MONOTONIC, ns: when this was stored, or the time of the fork that copied it */
	__u32 tgid;
	__u32 check; /* runtime_process_check() */
};
ABI_ASSERT_SIZE(struct runtime_process, 112);

/* The value that `check` must have: a copy is used only if it is consistent, as with struct process_entry. */
static inline __u32 runtime_process_check(const struct runtime_process *process)
{
	__u64 hash = process->tgid;
	int i;

	for (i = 0; i < 4; i++) {
		hash = (hash ^ process->places[i]) * 0x9e3779b97f4a7c15ull;
		hash ^= hash >> 32;
	}
	for (i = 0; i < 3; i++) {
		hash = (hash ^ process->facts[i]) * 0x9e3779b97f4a7c15ull;
		hash ^= hash >> 32;
	}
	for (i = 0; i < 4; i++) {
		hash = (hash ^ process->tasks[i]) * 0x9e3779b97f4a7c15ull;
		hash ^= hash >> 32;
	}
	hash ^= (__u32)process->fact | (__u64)process->layout << 32 | (__u64)process->runtime << 48;
	hash *= 0x9e3779b97f4a7c15ull;
	return (__u32)(hash ^ hash >> 32);
}

#endif
