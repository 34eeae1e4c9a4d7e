/* SPDX-License-Identifier: GPL-2.0-or-later */
/* descendants: the processes that others have started, directly or not, by /proc/PID/stat (proc(5)). */
#ifndef STRATA_PROC_DESCENDANTS_H
#define STRATA_PROC_DESCENDANTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct descendant {
	int pid, parent;
	uint64_t started; /* clock ticks since boot: identifies a process, together with the pid */
	uint64_t ticks;   /* of CPU time, in user and kernel mode, of all its threads */
	char name[16];    /* chosen by the process */
};

/* Reads one process; false if it is gone. */
bool descendant_read(int pid, struct descendant *ret);

/*
 * The descendants of some processes, without these themselves, in malloc'd memory. A process whose parent has ended is
 * not found. 0, -ENOMEM, or another negative errno if /proc cannot be read.
 */
int descendants_find(const int *pids, size_t count, struct descendant **ret, size_t *ret_count);

#endif
