// SPDX-License-Identifier: GPL-2.0-or-later
#include "kernel/tasks.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "kernel/core_types.h"
#include "kernel/features.h"
#include "kernel/load_iterators.h"
#include "kernel/load_patience.h"
#include "tasks.skel.h"

#define READ_BYTES (64u << 10)

struct tasks {
	struct tasks_bpf *programs;
	struct bpf_link *link;
	uint8_t *dump; /* the map's value, to write the process into */
	size_t dump_size;
};

/* Opens the programs, with few of the kernel's types if these are found. */
static struct tasks_bpf *open_programs(int types)
{
	char path[64];
	LIBBPF_OPTS(bpf_object_open_opts, options, .btf_custom_path = types < 0 ? NULL : path);

	snprintf(path, sizeof(path), "/proc/self/fd/%d", types);
	load_patiently();
	load_iterators();
	return tasks_bpf__open_opts(&options);
}

int tasks_create(struct tasks **ret, struct diag *diag)
{
	const uint32_t has_registers = feature_probe(FEATURE_TASK_REGISTERS);
	struct tasks *tasks = calloc(1, sizeof(*tasks));
	bool can_find;
	int types, err;

	if (!tasks)
		return diag_fail(diag, ENOMEM, "tasks.memory", "out of memory");
	types = core_types_open(&can_find);
	tasks->programs = open_programs(types);
	err = tasks->programs ? 0 : -errno;
	if (!err) {
		struct bpf_map *config = bpf_object__find_map_by_name(tasks->programs->obj, ".rodata.config");

		tasks->dump_size = bpf_map__value_size(tasks->programs->maps.dumps);
		err = bpf_map__set_initial_value(config, &has_registers, sizeof(has_registers));
	}
	if (!err)
		err = tasks_bpf__load(tasks->programs);
	if (types >= 0)
		close(types);
	if (!err) {
		tasks->link = bpf_program__attach_iter(tasks->programs->progs.tell_task, NULL);
		err = tasks->link ? 0 : -errno;
	}
	if (!err) {
		tasks->dump = calloc(1, tasks->dump_size);
		err = tasks->dump ? 0 : -ENOMEM;
	}
	if (err) {
		tasks_destroy(tasks);
		return diag_fail(diag, -err, "tasks.load", "threads cannot be read by a BPF iterator: %s",
				 strerror(-err));
	}
	*ret = tasks;
	return 0;
}

void tasks_destroy(struct tasks *tasks)
{
	if (!tasks)
		return;
	bpf_link__destroy(tasks->link);
	tasks_bpf__destroy(tasks->programs);
	free(tasks->dump);
	free(tasks);
}

/* Takes all that the iterator has to tell. */
static int read_all(int fd, struct task_list *list)
{
	ssize_t got;

	for (;;) {
		if (vec_reserve(&list->bytes, READ_BYTES))
			return -ENOMEM;
		got = read(fd, list->bytes.at + list->bytes.count, READ_BYTES);
		if (got < 0 && (errno == EINTR || errno == EAGAIN))
			continue;
		if (got <= 0)
			return got ? -errno : 0;
		list->bytes.count += (size_t)got;
	}
}

int tasks_read(struct tasks *tasks, int pid, struct task_list *list)
{
	const uint32_t tgid = (uint32_t)pid, zero = 0;
	const struct task_event *event;
	size_t at;
	int fd, err;

	list->bytes.count = list->starts.count = 0;
	memcpy(tasks->dump, &tgid, sizeof(tgid));
	if (bpf_map_update_elem(bpf_map__fd(tasks->programs->maps.dumps), &zero, tasks->dump, BPF_ANY))
		return -errno;
	fd = bpf_iter_create(bpf_link__fd(tasks->link));
	if (fd < 0)
		return -errno;
	err = read_all(fd, list);
	close(fd);
	for (at = 0; !err && list->bytes.count - at >= sizeof(*event); at += event->size) {
		event = (const void *)(list->bytes.at + at);
		if (event->size < sizeof(*event) + event->kernel_frames * 8ull || event->size > list->bytes.count - at)
			return -EPROTO;
		err = vec_push(&list->starts, at);
	}
	return err;
}

void task_list_deinit(struct task_list *list)
{
	vec_free(&list->bytes);
	vec_free(&list->starts);
}

const struct task_event *task_list_at(const struct task_list *list, size_t index)
{
	return (const void *)(list->bytes.at + list->starts.at[index]);
}
