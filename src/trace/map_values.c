// SPDX-License-Identifier: GPL-2.0-or-later
/* The script's maps, read from the kernel: what lies apart for each CPU becomes one value. */
#include <bpf/bpf.h>
#include <stdlib.h>
#include <string.h>

#include "lang/core/value.h"
#include "trace/run.h"

struct reading {
	int fd;
	size_t key_size, value_size, stride; /* of one CPU's value */
	unsigned int copies;
	bool is_array; /* the last word of a value tells whether it is there */
	VEC(struct map_entry) entries;
	uint8_t *buffer;
};

static void reading_deinit(struct reading *reading)
{
	size_t i;

	for (i = 0; i < reading->entries.count; i++) {
		free(reading->entries.at[i].key);
		free(reading->entries.at[i].text);
	}
	vec_free(&reading->entries);
	free(reading->buffer);
}

static int reading_init(const struct run *run, const struct symbol *map, struct reading *ret)
{
	*ret = (struct reading){.fd = bpf_object__find_map_fd_by_name(run->object, map->bpf_name),
				.key_size = symbol_key_size(map),
				.value_size = map->value->size,
				.is_array = symbol_is_array(map),
				.copies = symbol_is_percpu(map) ? (unsigned int)libbpf_num_possible_cpus() : 1};
	ret->stride = (symbol_value_size(map) + 7) & ~(size_t)7;
	ret->buffer = calloc(ret->copies, ret->stride);
	return ret->fd >= 0 && ret->buffer ? 0 : -ENOENT;
}

/* Was anything assigned to what the buffer holds? */
static bool is_there(const struct reading *reading)
{
	unsigned int i;

	for (i = 0; reading->is_array && i < reading->copies; i++)
		if (word_at(reading->buffer + (i + 1) * reading->stride - 8))
			return true;
	return !reading->is_array;
}

static void reduce(const struct type *type, const struct reading *reading, uint8_t *to)
{
	unsigned int i;

	memcpy(to, reading->buffer, reading->value_size);
	for (i = 1; i < reading->copies; i++)
		value_merge(type, to, reading->buffer + i * reading->stride);
}

static int add_entry(const struct symbol *map, struct reading *reading, const uint8_t *key)
{
	/* One block for both; values of 8 bytes and more are read as words. */
	size_t key_room = (reading->key_size + 7) & ~(size_t)7;
	struct map_entry entry = {.key = calloc(1, key_room + reading->stride)};

	if (!entry.key)
		return -ENOMEM;
	entry.value = entry.key + key_room;
	memcpy(entry.key, key, reading->key_size);
	if (bpf_map_lookup_elem(reading->fd, key, reading->buffer) || !is_there(reading)) {
		free(entry.key);
		return 0; /* gone meanwhile, or not there yet */
	}
	reduce(map->value, reading, entry.value);
	if (vec_push(&reading->entries, entry)) {
		free(entry.key);
		return -ENOMEM;
	}
	return 0;
}

static void read_all(const struct symbol *map, struct reading *reading, const uint8_t *wanted)
{
	uint8_t *key = calloc(2, reading->key_size), *next = key + reading->key_size;
	const uint8_t *last = NULL;
	size_t limit = 1u << 27;

	if (key && wanted)
		add_entry(map, reading, wanted);
	while (key && !wanted && limit-- && !bpf_map_get_next_key(reading->fd, last, next)) {
		if (add_entry(map, reading, next))
			break;
		memcpy(key, next, reading->key_size);
		last = key;
	}
	free(key);
}

void run_print_map(struct run *run, const struct symbol *map, bool empty, uint64_t top, uint64_t div,
		   const uint8_t *key)
{
	struct reading reading;
	struct map_entry none = {};

	if (!reading_init(run, map, &reading)) {
		read_all(map, &reading, key);
		if (empty && !map->key && !reading.entries.count) {
			none.key = none.value = calloc(1, reading.stride);
			if (none.value)
				run->print->map(&run->printer, map, &none, 1, top, div);
			free(none.value);
		} else {
			run->print->map(&run->printer, map, reading.entries.at, reading.entries.count, top, div);
		}
	}
	reading_deinit(&reading);
}

void run_clear_map(struct run *run, const struct symbol *map)
{
	struct reading reading;
	uint8_t *key;
	size_t limit = 1u << 27;

	if (!reading_init(run, map, &reading)) {
		key = calloc(1, reading.key_size);
		if (key && reading.is_array)
			bpf_map_update_elem(reading.fd, key, reading.buffer, BPF_ANY);
		while (key && !reading.is_array && limit-- && !bpf_map_get_next_key(reading.fd, NULL, key))
			if (bpf_map_delete_elem(reading.fd, key))
				break;
		free(key);
	}
	reading_deinit(&reading);
}

void run_zero_map(struct run *run, const struct symbol *map)
{
	struct reading reading;
	size_t i;

	if (!reading_init(run, map, &reading)) {
		read_all(map, &reading, NULL);
		memset(reading.buffer, 0, reading.copies * reading.stride);
		if (reading.is_array)
			reading.buffer[reading.stride - 8] = 1;
		for (i = 0; i < reading.entries.count; i++)
			bpf_map_update_elem(reading.fd, reading.entries.at[i].key, reading.buffer, BPF_EXIST);
	}
	reading_deinit(&reading);
}

static int by_name(const void *a, const void *b)
{
	return strcmp((*(const struct symbol *const *)a)->name, (*(const struct symbol *const *)b)->name);
}

void run_print_all_maps(struct run *run)
{
	size_t count = run->compiler->maps.count, i;
	const struct symbol **maps = calloc(count + 1, sizeof(*maps));

	if (!maps)
		return;
	for (i = 0; i < count; i++)
		maps[i] = run->compiler->maps.at[i];
	qsort(maps, count, sizeof(*maps), by_name);
	for (i = 0; i < count; i++) {
		if (maps[i]->value)
			run_print_map(run, maps[i], false, 0, 0, NULL);
	}
	free(maps);
}

static bool deed_read(struct run *run, const struct symbol *map, struct map_entry **entries, size_t *count)
{
	struct reading reading;
	bool done = !reading_init(run, map, &reading);

	if (done) {
		read_all(map, &reading, NULL);
		*entries = reading.entries.at;
		*count = reading.entries.count;
		reading.entries.at = NULL;
		reading.entries.count = 0;
	}
	reading_deinit(&reading);
	return done;
}

static void deed_release(struct map_entry *entries, size_t count)
{
	size_t i;

	for (i = 0; i < count; i++) {
		free(entries[i].key);
		free(entries[i].text);
	}
	free(entries);
}

static void deed_remove(struct run *run, const struct symbol *map, const uint8_t *key)
{
	bpf_map_delete_elem(bpf_object__find_map_fd_by_name(run->object, map->bpf_name), key);
}

static void deed_exit(struct run *run, int status)
{
	if (!run->finished)
		run->result->status = status;
	run->result->has_exit = true;
	run->finished = true;
	run_set_state(run, RT_STATE_EXITED, 1);
}

const struct print_deeds run_deeds = {
	.read = deed_read,
	.release = deed_release,
	.clear = run_clear_map,
	.zero = run_zero_map,
	.remove = deed_remove,
	.system = run_system,
	.exit = deed_exit,
};
