/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * filter: decides whether the current thread is sampled, before any other work is done for it. Without filters
 * (loaded.filters) none of this code is loaded, and its maps do not exist.
 *
 * Users and cgroups are decided here. User space decides which filters a name matches, and which container a cgroup
 * belongs to. A name or cgroup that it has not judged yet is sampled and marked SAMPLE_UNJUDGED. User space drops the
 * sample if it is not wanted (engine/filter.h).
 */
#ifndef STRATA_BPF_FILTER_H
#define STRATA_BPF_FILTER_H

#include "abi/filter.h"
#include "bpf/process_maps.h"
#include "bpf/shim.h"

enum filter_answer { FILTER_IN, FILTER_OUT, FILTER_UNJUDGED };

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, FILTER_USERS_MAX);
	__type(key, __u32);
	__type(value, __u32); /* bits */
} filter_users SEC(".maps");

/* First the wanted ones (loaded.filter_cgroups_wanted of them), then the excluded ones. */
struct {
	__uint(type, BPF_MAP_TYPE_CGROUP_ARRAY);
	__uint(max_entries, FILTER_CGROUPS_MAX);
	__type(key, __u32);
	__type(value, __u32);
} filter_cgroups SEC(".maps");

/* By the cgroup's id. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, FILTER_JUDGED_MAX);
	__type(key, __u64);
	__type(value, __u32);
} filter_containers SEC(".maps");

struct filter_comm {
	char text[16];
};

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, FILTER_JUDGED_MAX);
	__type(key, struct filter_comm);
	__type(value, __u32);
} filter_comms SEC(".maps");

static __always_inline __u32 filter_by_cgroup(void)
{
	__u32 bits = 0, i;

	for (i = 0; i < FILTER_CGROUPS_MAX; i++) {
		if (i >= loaded.filter_cgroups)
			break;
		if (bpf_current_task_under_cgroup(&filter_cgroups, i) == 1)
			bits |= i < loaded.filter_cgroups_wanted ? FILTER_WANTED(FILTER_BY_CGROUP)
								 : FILTER_EXCLUDED(FILTER_BY_CGROUP);
	}
	return bits;
}

static __always_inline enum filter_answer filter_current(void)
{
	__u32 bits = 0, unjudged = 0, uid, *found;
	struct filter_comm comm;
	__u64 cgroup;

	if (loaded.filters & FILTER_BITS(FILTER_BY_USER)) {
		uid = (__u32)bpf_get_current_uid_gid();
		found = bpf_map_lookup_elem(&filter_users, &uid);
		bits |= found ? *found : 0;
	}
	if (loaded.filters & FILTER_BITS(FILTER_BY_CGROUP))
		bits |= filter_by_cgroup();
	if (loaded.filters & FILTER_BITS(FILTER_BY_CONTAINER)) {
		cgroup = bpf_get_current_cgroup_id();
		found = bpf_map_lookup_elem(&filter_containers, &cgroup);
		bits |= found ? *found : 0;
		unjudged |= found ? 0 : FILTER_WANTED(FILTER_BY_CONTAINER);
	}
	if (loaded.filters & FILTER_BITS(FILTER_BY_COMM)) {
		bpf_get_current_comm(comm.text, sizeof(comm.text));
		found = bpf_map_lookup_elem(&filter_comms, &comm);
		bits |= found ? *found : 0;
		unjudged |= found ? 0 : FILTER_WANTED(FILTER_BY_COMM);
	}
	if (bits & FILTER_ALL_EXCLUDED || loaded.filters & FILTER_ALL_WANTED & ~(bits | unjudged))
		return FILTER_OUT;
	return unjudged ? FILTER_UNJUDGED : FILTER_IN;
}

#endif
