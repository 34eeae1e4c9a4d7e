/* SPDX-License-Identifier: GPL-2.0-or-later */
/* probe_read: what its two halves share. */
#ifndef STRATA_BENCH_PROBE_READ_H
#define STRATA_BENCH_PROBE_READ_H

#define PROBE_READS 1000

struct probe_read_settings {
	unsigned long long address; /* of the process that is sampled */
	unsigned int process;
	unsigned int padding;
};

#endif
