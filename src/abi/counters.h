/* SPDX-License-Identifier: GPL-2.0-or-later */
/* counters: what the kernel part counts, on each CPU, from its start on: the indices of its map `counters`. */
#ifndef STRATA_ABI_COUNTERS_H
#define STRATA_ABI_COUNTERS_H

enum counter {
	COUNTER_RUNS,          /* samples that were begun */
	COUNTER_SENT,          /* of these, records of them in the ring */
	COUNTER_FRAMES,        /* walked, of native and second stacks */
	COUNTER_RING_FULL,     /* samples that found no room in the ring */
	COUNTER_STACK_DROPPED, /* stacks, code objects and snapshots that found none */
	COUNTER_WORST,         /* ns of the longest sample, in the interrupt */
	COUNTER_TASK_NS,       /* of walks in task context */
	COUNTER_THREADS,       /* looked through in runtimes' lists */
	COUNTER_COUNT
};

#endif
