/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * owners: what the cgroups of samples are: containers, pods, units. Each is looked up when its first sample arrives,
 * because the cgroup may be gone when the window ends. Memory is bounded: if there are too many, all are dropped and
 * looked up again. Not thread-safe.
 */
#ifndef STRATA_ENGINE_OWNERS_H
#define STRATA_ENGINE_OWNERS_H

#include <stdint.h>

#include "profile/profile.h"

struct owners;

struct owners *owners_create(void);         /* NULL when memory is short */
void owners_destroy(struct owners *owners); /* may be NULL */

/* To be called with the cgroup of each sample: looks it up, unless it is already known. Id 0: none. 0 or -ENOMEM. */
int owners_meet(struct owners *owners, uint64_t cgroup);

/* Adds it to a profile, unless it is already there. 0 or -ENOMEM. */
int owners_tell(struct owners *owners, uint64_t cgroup, struct profile *profile);

#endif
