/* SPDX-License-Identifier: GPL-2.0-or-later */
/* counters: what the kernel part counts on each CPU since its start. The indices of the map `counters`. */
#ifndef STRATA_ABI_COUNTERS_H
#define STRATA_ABI_COUNTERS_H

enum counter {
	COUNTER_RUNS,          /* samples that were begun */
	COUNTER_SENT,          /* samples whose record is in the ring */
	COUNTER_FRAMES,        /* frames walked, native and second stacks */
	COUNTER_RING_FULL,     /* samples that found no room in the ring */
	COUNTER_STACK_DROPPED, /* stacks, code objects and snapshots that found no room */
	COUNTER_WORST,         /* ns of the longest sample, in the interrupt */
	COUNTER_TASK_NS,       /* ns of walks in task context */
	COUNTER_THREADS,       /* threads looked at in runtimes' lists */
	COUNTER_COUNT
};

#endif
