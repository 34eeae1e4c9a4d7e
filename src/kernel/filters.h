/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * filters: tells the kernel part (bpf/filter.h) about the filters of a recording. Without filters none of its maps is
 * made. Not thread-safe.
 */
#ifndef STRATA_KERNEL_FILTERS_H
#define STRATA_KERNEL_FILTERS_H

#include <bpf/libbpf.h>
#include <stdbool.h>
#include <stdint.h>

#include "abi/config.h"
#include "abi/filter.h"
#include "base/vec.h"

struct programs;

struct filter_user {
	uint32_t uid, bits;
};

struct filter_rules {
	uint32_t kinds;                /* bits of all filters that there are */
	VEC(struct filter_user) users; /* each once */
	VEC(int) cgroups;              /* descriptors of their folders: */
	size_t cgroups_wanted;         /* this many wanted ones first, then the excluded ones */
	bool *cpus;                    /* by CPU: is it sampled? NULL: all */
};

/*
 * To be called before the object is loaded; the object may contain only the walks. `rules` may be NULL. 0 or a negative
 * errno.
 */
int filters_configure(struct bpf_object *object, const struct filter_rules *rules, struct sampler_config *config);

/* The users and cgroups, once there are the maps. 0 or a negative errno; -ENODEV: such a folder is of no cgroup v2. */
int filters_fill(const struct programs *programs, const struct filter_rules *rules);

/* Stores verdicts of user space. If there is no room for one, it will be asked for again. */
void filters_judge_comm(const struct programs *programs, const char comm[static 16], uint32_t bits);
void filters_judge_container(const struct programs *programs, uint64_t cgroup, uint32_t bits);

#endif
