/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * cgroups: cgroups (v2), by id and by path. An id is the inode number of the cgroup's folder (kernel,
 * Documentation/admin-guide/cgroup-v2.rst; cgroup_id()). Nothing is cached here: a caller that asks often should cache
 * the result. Thread-safe.
 */
#ifndef STRATA_PROC_CGROUPS_H
#define STRATA_PROC_CGROUPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The path below the mount, such as "/system.slice/cron.service"; "/" for the root. False: there is none (any more). */
bool cgroup_path(uint64_t id, char *ret, size_t size);

/* The path of a thread's cgroup; below ours, if we are in a cgroup namespace. False: it is gone, or has none. */
bool cgroup_path_of_thread(int pid, int tid, char *ret, size_t size);

/* Its id; 0: it is gone. */
uint64_t cgroup_of_thread(int pid, int tid);

/*
 * A cgroup's folder, and its path below the mount. `name` is that, with or without the first `/`, or the whole path. A
 * descriptor; -ENOENT, or another negative errno; -ENODEV: no cgroup v2 is mounted, or this is none.
 */
int cgroup_open(const char *name, char *path, size_t size);

/* Calls `take` for all there are, until it returns false. `path` is valid during the call. False: none is mounted. */
bool cgroups_each(bool (*take)(void *context, uint64_t id, const char *path), void *context);

/* Is a path the other one, or below it? */
bool cgroup_is_below(const char *path, const char *above);

#endif
