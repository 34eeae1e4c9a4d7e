// SPDX-License-Identifier: GPL-2.0-or-later
#include "kernel/filters.h"

#include <bpf/bpf.h>
#include <errno.h>

#include "kernel/programs.h"

static const struct {
	enum filter_kind kind;
	const char *map;
} maps[] = {
	{FILTER_BY_USER, "filter_users"},
	{FILTER_BY_CGROUP, "filter_cgroups"},
	{FILTER_BY_CONTAINER, "filter_containers"},
	{FILTER_BY_COMM, "filter_comms"},
};

int filters_configure(struct bpf_object *object, const struct filter_rules *rules, struct sampler_config *config)
{
	uint32_t kinds = rules ? rules->kinds & ~FILTER_BITS(FILTER_BY_CPU) : 0;
	size_t i;
	int err = 0;

	for (i = 0; i < sizeof(maps) / sizeof(*maps) && !err; i++) {
		struct bpf_map *map = bpf_object__find_map_by_name(object, maps[i].map);

		if (!map)
			return kinds ? -EINVAL : 0; /* the object has the walks only */
		err = bpf_map__set_autocreate(map, kinds & FILTER_BITS(maps[i].kind));
	}
	config->filters = kinds;
	config->filter_cgroups = rules ? (uint16_t)rules->cgroups.count : 0;
	config->filter_cgroups_wanted = rules ? (uint16_t)rules->cgroups_wanted : 0;
	return err;
}

static int map_of(const struct programs *programs, enum filter_kind kind)
{
	size_t i;

	for (i = 0; maps[i].kind != kind; i++)
		;
	return programs_map(programs, maps[i].map);
}

int filters_fill(const struct programs *programs, const struct filter_rules *rules)
{
	uint32_t i;

	for (i = 0; i < rules->users.count; i++)
		if (bpf_map_update_elem(map_of(programs, FILTER_BY_USER), &rules->users.at[i].uid,
					&rules->users.at[i].bits, BPF_ANY))
			return -errno;
	for (i = 0; i < rules->cgroups.count; i++)
		if (bpf_map_update_elem(map_of(programs, FILTER_BY_CGROUP), &i, &rules->cgroups.at[i], BPF_ANY))
			return errno == EBADF ? -ENODEV : -errno;
	return 0;
}

void filters_judge_comm(const struct programs *programs, const char comm[static 16], uint32_t bits)
{
	bpf_map_update_elem(map_of(programs, FILTER_BY_COMM), comm, &bits, BPF_ANY);
}

void filters_judge_container(const struct programs *programs, uint64_t cgroup, uint32_t bits)
{
	bpf_map_update_elem(map_of(programs, FILTER_BY_CONTAINER), &cgroup, &bits, BPF_ANY);
}
