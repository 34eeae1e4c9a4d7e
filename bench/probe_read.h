/* SPDX-License-Identifier: GPL-2.0-or-later */
/* probe_read: what its two halves share. */
#ifndef STRATA_BENCH_PROBE_READ_H
#define STRATA_BENCH_PROBE_READ_H

#define PROBE_READS 1000

#define STACK_FRAMES      10000
#define STACK_KEPT        (STACK_FRAMES + 8) /* what the map has room for: the loop takes 8 at a time */
#define STACK_FRAME_WORDS 12 /* as bench/deep.c's */
#define STACK_WORDS       (STACK_FRAMES * STACK_FRAME_WORDS)

struct probe_read_settings {
	unsigned long long address; /* of the process that is sampled */
	unsigned long long stack;   /* the same: STACK_WORDS words, each its own number; at the start of a page */
	unsigned int process;
	unsigned int padding;
};

#endif
