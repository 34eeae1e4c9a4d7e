// SPDX-License-Identifier: GPL-2.0-or-later
#include "kernel/object_maps.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <linux/bpf.h>
#include <pthread.h>
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

static int create(struct bpf_map *map)
{
	int fd = create_descriptor(map), err = fd < 0 ? fd : bpf_map__reuse_fd(map, fd);

	if (fd >= 0)
		close(fd);
	return err;
}

struct creation {
	struct bpf_object *object;
	bool per_cpu; /* those whose values are apart for each CPU, else the others */
	int err;
};

static bool is_per_cpu(const struct bpf_map *map)
{
	return bpf_map__type(map) == BPF_MAP_TYPE_PERCPU_HASH || bpf_map__type(map) == BPF_MAP_TYPE_LRU_PERCPU_HASH ||
	       bpf_map__type(map) == BPF_MAP_TYPE_PERCPU_ARRAY;
}

static void *create_some(void *context)
{
	struct creation *creation = context;
	struct bpf_map *map;

	for (map = bpf_object__next_map(creation->object, NULL); map && !creation->err;
	     map = bpf_object__next_map(creation->object, map))
		if (!bpf_map__is_internal(map) && is_per_cpu(map) == creation->per_cpu)
			creation->err = create(map);
	return NULL;
}

int object_maps_create(struct bpf_object *object)
{
	/* Two maps of values for each CPU would wait for the same lock of the kernel's. */
	struct creation per_cpu = {.object = object, .per_cpu = true}, others = {.object = object};
	pthread_t helper;
	bool is_helped = !pthread_create(&helper, NULL, create_some, &per_cpu);

	create_some(&others);
	if (is_helped)
		pthread_join(helper, NULL);
	else
		create_some(&per_cpu);
	return others.err ? others.err : per_cpu.err;
}
