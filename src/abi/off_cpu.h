/* SPDX-License-Identifier: GPL-2.0-or-later */
/* off_cpu: what the programs of src/bpf/off_cpu.h keep, and user space reads, of threads that have left their CPU. */
#ifndef STRATA_ABI_OFF_CPU_H
#define STRATA_ABI_OFF_CPU_H

#include "abi/types.h"

#define OFF_CPU_THREADS_MAX 65536 /* that live at the same time */
#define OFF_CPU_SLOT_NS     (1ull << 24)
#define OFF_CPU_PERIOD_MIN  (1ull << 13) /* ns */
#define OFF_CPU_PERIOD_MAX  (1ull << 31)

/* A watched thread, by its number. */
struct off_cpu_thread {
	__u64 left; /* when it left its CPU, CLOCK_MONOTONIC ns; 0: it runs */
	__u32 tgid;
	__u32 flags; /* enum wait_flag, as far as they are known then */
};
ABI_ASSERT_SIZE(struct off_cpu_thread, 16);

/* One CPU's: written by that CPU, but for `until`. */
struct off_cpu_state {
	__u64 until;  /* waits end then at the latest; 0: the recording goes on */
	__u64 period; /* ns: shorter waits are taken with the probability length / period */
	__u64 slot;   /* when the slot at hand began */
	__u64 now;    /* of the last switch */
	__u64 taken;  /* waits in it */
	/* Since the start: all that ended, and those that were taken. */
	__u64 waits, waits_ns, measured, measured_ns;
	__u64 unseen;   /* whose end no program saw, or for which there was no room */
	__u64 left_out; /* not 0: what gets this CPU is not measured (FILTER_BY_CPU) */
	__u64 pad[5];
};
ABI_ASSERT_SIZE(struct off_cpu_state, 128);

#endif
