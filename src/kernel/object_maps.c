// SPDX-License-Identifier: GPL-2.0-or-later
#include "kernel/object_maps.h"

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <errno.h>
#include <linux/bpf.h>
#include <pthread.h>
#include <string.h>
#include <unistd.h>

/* A descriptor, or a negative errno. */
static int create_descriptor(struct bpf_map *map)
{
	LIBBPF_OPTS(bpf_map_create_opts, options, .map_flags = bpf_map__map_flags(map));
	struct bpf_map *inner = bpf_map__inner_map(map);
	int inner_fd = inner ? create_descriptor(inner) : 0, fd;

	if (inner_fd < 0)
		return inner_fd;
	options.inner_map_fd = (uint32_t)inner_fd;
	fd = bpf_map_create(bpf_map__type(map), bpf_map__name(map), bpf_map__key_size(map), bpf_map__value_size(map),
			    bpf_map__max_entries(map), &options);
	if (inner)
		close(inner_fd);
	return fd;
}

/* Has the value a field that is the kernel's own (struct bpf_task_work, ...)? It is found by the map's BTF. */
static bool has_kernel_field(const struct bpf_object *object, const struct bpf_map *map)
{
	const struct btf *btf = bpf_object__btf(object);
	const struct btf_type *value = btf ? btf__type_by_id(btf, bpf_map__btf_value_type_id(map)) : NULL;
	unsigned int i;

	for (i = 0; value && btf_is_struct(value) && i < btf_vlen(value); i++) {
		const struct btf_type *field = btf__type_by_id(btf, btf_members(value)[i].type);

		if (field && !strncmp(btf__name_by_offset(btf, field->name_off), "bpf_", 4))
			return true;
	}
	return false;
}

static int create(const struct bpf_object *object, struct bpf_map *map)
{
	int fd, err;

	if (bpf_map__fd(map) >= 0 || !bpf_map__autocreate(map) || has_kernel_field(object, map))
		return 0;
	fd = create_descriptor(map);
	err = fd < 0 ? fd : bpf_map__reuse_fd(map, fd);

	if (fd >= 0)
		close(fd);
	return err;
}

/* Two threads create the maps of an object: each takes the next one that is left. */
struct creation {
	struct bpf_object *object;
	_Atomic unsigned int taken; /* of the maps that are not per CPU */
	_Atomic int err;            /* the last one's that failed */
};

static bool is_per_cpu(const struct bpf_map *map)
{
	return bpf_map__type(map) == BPF_MAP_TYPE_PERCPU_HASH || bpf_map__type(map) == BPF_MAP_TYPE_LRU_PERCPU_HASH ||
	       bpf_map__type(map) == BPF_MAP_TYPE_PERCPU_ARRAY;
}

static void create_of(struct creation *creation, bool per_cpu)
{
	unsigned int at = 0, mine = per_cpu ? 0 : creation->taken++;
	struct bpf_map *map;
	int err;

	for (map = bpf_object__next_map(creation->object, NULL); map && !creation->err;
	     map = bpf_object__next_map(creation->object, map)) {
		if (bpf_map__is_internal(map) || is_per_cpu(map) != per_cpu || (!per_cpu && at++ < mine))
			continue;
		err = create(creation->object, map);
		if (err)
			creation->err = err;
		if (!per_cpu)
			mine = creation->taken++;
	}
}

static void *create_per_cpu_and_others(void *creation)
{
	create_of(creation, true);
	create_of(creation, false);
	return NULL;
}

int object_maps_create(struct bpf_object *object)
{
	struct creation creation = {.object = object};
	pthread_t helper;
	/* Per-CPU maps by one thread: two of them would wait for the same lock of the kernel's. */
	bool is_helped = !pthread_create(&helper, NULL, create_per_cpu_and_others, &creation);

	if (!is_helped)
		create_of(&creation, true);
	create_of(&creation, false);
	if (is_helped)
		pthread_join(helper, NULL);
	return creation.err;
}
