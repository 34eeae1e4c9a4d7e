/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * owners: what the cgroups of samples are: containers, pods, units. It is found out when the first sample of each
 * arrives, as the cgroup may be gone when the window ends. Memory is bounded: with too many all are looked up anew. Not
 * thread-safe.
 */
#ifndef STRATA_ENGINE_OWNERS_H
#define STRATA_ENGINE_OWNERS_H

#include <stdint.h>

#include "profile/profile.h"

struct owners;

struct owners *owners_create(void);         /* NULL when memory is short */
void owners_destroy(struct owners *owners); /* may be NULL */

/* Finds out about a cgroup, by its id, unless it is known. 0: nobody's. 0 or -ENOMEM. */
int owners_meet(struct owners *owners, uint64_t cgroup);

/* Tells a profile about it, unless it knows. 0 or -ENOMEM. */
int owners_tell(struct owners *owners, uint64_t cgroup, struct profile *profile);

#endif
