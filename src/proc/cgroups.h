/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * cgroups: the names of cgroups (v2) by id. An id is the inode number of the cgroup's folder (kernel,
 * Documentation/admin-guide/cgroup-v2.rst; cgroup_id()). Each call reads the folders: a caller that asks often keeps
 * what it was told. Thread-safe.
 */
#ifndef STRATA_PROC_CGROUPS_H
#define STRATA_PROC_CGROUPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The path below the mount, such as "/system.slice/cron.service"; "/" for the root. False: there is none (any more). */
bool cgroup_path(uint64_t id, char *ret, size_t size);

#endif
