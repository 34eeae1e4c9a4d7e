/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * runtime: what the kernel part is told of a runtime with a second stack (runtime/runtime.h): where one is in a
 * process, and what is the same in all processes that run one build of it. The fields with a meaning of their own are
 * for the engine; what the others hold only the runtime knows, in src/runtime/NAME/.
 */
#ifndef STRATA_ABI_RUNTIME_H
#define STRATA_ABI_RUNTIME_H

#include "abi/types.h"

/*
 * Every runtime that is built in has a number, from 1: RUNTIME_ID_python. RUNTIMES(X) is X(name) for each of them, in
 * this order; mk/runtimes.mk writes it.
 */
#include "runtime_names.inc"

#define RUNTIME_NUMBER(name) RUNTIME_ID_##name,
enum runtime_id { RUNTIME_NONE, RUNTIMES(RUNTIME_NUMBER) RUNTIME_IDS };
#undef RUNTIME_NUMBER

/* One build of a runtime: the offsets of fields, mostly. */
struct runtime_layout {
	__u64 words[10];
};
ABI_ASSERT_SIZE(struct runtime_layout, 80);

/* Something that walks find out for the next ones, of which only the runtime knows what it is. */
enum runtime_note {
	RUNTIME_NO_NOTE,
	RUNTIME_TO_NOTE, /* not found out yet */
	RUNTIME_NOTED
};

struct runtime_process {
	/* Addresses; 0: none. In a struct known_file vaddrs, to which the kernel part adds where the file is mapped. */
	__u64 places[4];
	__u64 facts[3];
	__s32 fact;
	__u16 layout; /* index into the map of layouts */
	__u8 runtime; /* enum runtime_id */
	__u8 noted;   /* enum runtime_note; written by the kernel, too, and not in `check` */
	__u64 since;  /* CLOCK_MONOTONIC, ns: when this was said, or the fork that copied it */
	__u32 tgid;
	__u32 check; /* runtime_process_check() */
};
ABI_ASSERT_SIZE(struct runtime_process, 80);

/* What `check` must be: as in struct process_entry, a copy is used only when it is whole. */
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
	hash ^= (__u32)process->fact | (__u64)process->layout << 32 | (__u64)process->runtime << 48;
	hash *= 0x9e3779b97f4a7c15ull;
	return (__u32)(hash ^ hash >> 32);
}

#endif
