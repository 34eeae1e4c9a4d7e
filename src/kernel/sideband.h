/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * sideband: perf's records about processes: executable mappings, exec, fork, exit (PERF_RECORD_* of
 * include/uapi/linux/perf_event.h), from one dummy event per CPU.
 *
 * sideband_drain() delivers what has arrived on all CPUs, in order of time. Records that were written before it was
 * called are delivered by that call. Not thread-safe.
 */
#ifndef STRATA_KERNEL_SIDEBAND_H
#define STRATA_KERNEL_SIDEBAND_H

#include <stdint.h>

#include "base/diag.h"

enum sideband_type { SIDEBAND_MMAP, SIDEBAND_EXEC, SIDEBAND_FORK, SIDEBAND_EXIT, SIDEBAND_LOST };

struct sideband_event {
	enum sideband_type type;
	uint64_t time;                               /* CLOCK_MONOTONIC, ns */
	int pid;                                     /* process; for FORK the child */
	int parent;                                  /* FORK */
	uint64_t start, size, offset, device, inode; /* MMAP */
	const char *path;                            /* MMAP; borrowed until the call returns */
	uint64_t lost;                               /* LOST: how many records */
};

struct sideband;

int sideband_open(struct sideband **ret, struct diag *diag);
void sideband_close(struct sideband *sideband);

/* Becomes readable when there are records. */
int sideband_fd(const struct sideband *sideband);

/*
 * To be called regularly: opens the events of CPUs that have come online, and closes those of CPUs that went. What
 * these have written is delivered by the next sideband_drain(). How many came or went, or a negative errno.
 */
int sideband_follow(struct sideband *sideband);

/* 0, or -ENOMEM. Threads' forks and exits are not delivered, only processes'. */
int sideband_drain(struct sideband *sideband, void (*deliver)(void *context, const struct sideband_event *event),
		   void *context);

#endif
