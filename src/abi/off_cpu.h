/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * off_cpu: what the programs of src/bpf/off_cpu.h store about threads that have left their CPU, and user space reads.
 */
#ifndef STRATA_ABI_OFF_CPU_H
#define STRATA_ABI_OFF_CPU_H

#include "abi/events.h"
#include "abi/types.h"

#define OFF_CPU_THREADS_MAX 65536 /* threads that live at the same time */
#define OFF_CPU_SLOT_NS     (1ull << 24)
#define OFF_CPU_PERIOD_MIN  (1ull << 13) /* ns */
#define OFF_CPU_PERIOD_MAX  (1ull << 31)

/* A watched thread, by its number. */
struct off_cpu_thread {
	__u64 left; /* when it left its CPU, CLOCK_MONOTONIC ns; 0: it runs */
	__u32 tgid;
	__u32 flags;  /* enum wait_flag, as far as known at that time */
	__u32 chance; /* drawn for this wait: it is sampled if chance / 2^32 * period is less than its length */
	__u32 pad;
	struct waker waker; /* with wakers only: the last one */
};
ABI_ASSERT_SIZE(struct off_cpu_thread, 72);

/* State of one CPU; written by that CPU, except `until`. */
struct off_cpu_state {
	__u64 until;  /* waits end at this time at the latest; 0: the recording continues */
	__u64 period; /* ns: shorter waits are taken with the probability length / period */
	__u64 slot;   /* when the current slot began */
	__u64 now;    /* of the last switch */
	__u64 taken;  /* waits in it */
	/* Since the start: all waits that ended, and those that were sampled. */
	__u64 waits, waits_ns, measured, measured_ns;
	__u64 unseen;   /* waits whose end no program saw, or for which there was no room */
	__u64 left_out; /* not 0: waits that end on this CPU are not measured (FILTER_BY_CPU) */
	__u64 pad[5];
};
ABI_ASSERT_SIZE(struct off_cpu_state, 128);

#endif
