/* SPDX-License-Identifier: GPL-2.0-or-later */
/* descendants: the processes that came of others, by /proc/PID/stat (proc(5)). */
#ifndef STRATA_PROC_DESCENDANTS_H
#define STRATA_PROC_DESCENDANTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct descendant {
	int pid, parent;
	uint64_t started; /* clock ticks since boot: with the pid it stands for one process */
	uint64_t ticks;   /* of CPU time, in user and kernel mode, of all its threads */
	char name[16];    /* as any process may call itself */
};

/* What is told of one process; false when it is gone. */
bool descendant_read(int pid, struct descendant *ret);

/*
 * The descendants of some processes, which are not among them, in malloc'd memory. One whose parent has ended in the
 * meantime is nobody's. 0, -ENOMEM, or another negative errno when /proc cannot be read.
 */
int descendants_find(const int *pids, size_t count, struct descendant **ret, size_t *ret_count);

#endif
