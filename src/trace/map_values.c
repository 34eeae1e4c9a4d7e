// SPDX-License-Identifier: GPL-2.0-or-later
/* The script's maps, read from the kernel: what lies apart for each CPU becomes one value. */
#include <bpf/bpf.h>
#include <stdlib.h>
#include <string.h>

#include "lang/core/value.h"
#include "trace/run.h"

struct reading {
	const struct symbol *map;
	int fd, short_fd; /* short_fd: of the map of short keys; -1: there is none */
	size_t key_size, short_size;
	size_t value_size, stride; /* of one CPU's value */
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
	*ret = (struct reading){.map = map,
				.fd = bpf_object__find_map_fd_by_name(run->object, map->bpf_name),
				.short_fd = -1,
				.key_size = symbol_key_size(map),
				.value_size = map->value->size,
				.is_array = symbol_is_array(map),
				.copies = symbol_is_percpu(map) ? (unsigned int)libbpf_num_possible_cpus() : 1};
	if (map->short_name) {
		ret->short_fd = bpf_object__find_map_fd_by_name(run->object, map->short_name);
		ret->short_size = symbol_short_size(map);
	}
	ret->stride = (symbol_value_size(map) + 7) & ~(size_t)7;
	ret->buffer = calloc(ret->copies, ret->stride);
	return ret->fd >= 0 && ret->buffer ? 0 : -ENOENT;
}

/* The map that has this key. */
static int fd_of(const struct reading *reading, const uint8_t *key)
{
	return symbol_is_short(reading->map, key) ? reading->short_fd : reading->fd;
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

/* The key has all its bytes. */
static int add_entry(struct reading *reading, const uint8_t *key)
{
	/* One block for both; values of 8 bytes and more are read as words. */
	size_t key_room = (reading->key_size + 7) & ~(size_t)7;
	struct map_entry entry = {.key = calloc(1, key_room + reading->stride)};

	if (!entry.key)
		return -ENOMEM;
	entry.value = entry.key + key_room;
	memcpy(entry.key, key, reading->key_size);
	if (bpf_map_lookup_elem(fd_of(reading, key), key, reading->buffer) || !is_there(reading)) {
		free(entry.key);
		return 0; /* gone meanwhile, or not there yet */
	}
	reduce(reading->map->value, reading, entry.value);
	if (vec_push(&reading->entries, entry)) {
		free(entry.key);
		return -ENOMEM;
	}
	return 0;
}

/* All keys of one of the two maps: `size` bytes are there, and zeros in place of the others. */
static void read_map(struct reading *reading, int fd, size_t size)
{
	uint8_t *key = calloc(2, reading->key_size), *next = key + reading->key_size;
	const uint8_t *last = NULL;
	size_t limit = 1u << 27;

	while (key && limit-- && !bpf_map_get_next_key(fd, last, next)) {
		if (add_entry(reading, next))
			break;
		memcpy(key, next, size);
		last = key;
	}
	free(key);
}

static void read_all(struct reading *reading, const uint8_t *wanted)
{
	if (wanted) {
		add_entry(reading, wanted);
		return;
	}
	read_map(reading, reading->fd, reading->key_size);
	if (reading->short_fd >= 0)
		read_map(reading, reading->short_fd, reading->short_size);
}

void run_print_map(struct run *run, const struct symbol *map, bool empty, uint64_t top, uint64_t div,
		   const uint8_t *key)
{
	struct reading reading;
	struct map_entry none = {};

	if (!reading_init(run, map, &reading)) {
		read_all(&reading, key);
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

static void delete_all(int fd, size_t key_size)
{
	uint8_t *key = calloc(1, key_size);
	size_t limit = 1u << 27;

	while (key && limit-- && !bpf_map_get_next_key(fd, NULL, key))
		if (bpf_map_delete_elem(fd, key))
			break;
	free(key);
}

void run_clear_map(struct run *run, const struct symbol *map)
{
	struct reading reading;
	uint32_t first = 0;

	if (!reading_init(run, map, &reading)) {
		if (reading.is_array)
			bpf_map_update_elem(reading.fd, &first, reading.buffer, BPF_ANY);
		else
			delete_all(reading.fd, reading.key_size);
		if (reading.short_fd >= 0)
			delete_all(reading.short_fd, reading.short_size);
	}
	reading_deinit(&reading);
}

void run_zero_map(struct run *run, const struct symbol *map)
{
	struct reading reading;
	size_t i;

	if (!reading_init(run, map, &reading)) {
		read_all(&reading, NULL);
		memset(reading.buffer, 0, reading.copies * reading.stride);
		if (reading.is_array)
			reading.buffer[reading.stride - 8] = 1;
		for (i = 0; i < reading.entries.count; i++)
			bpf_map_update_elem(fd_of(&reading, reading.entries.at[i].key), reading.entries.at[i].key,
					    reading.buffer, BPF_EXIST);
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
		read_all(&reading, NULL);
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
	const char *name = symbol_is_short(map, key) ? map->short_name : map->bpf_name;

	bpf_map_delete_elem(bpf_object__find_map_fd_by_name(run->object, name), key);
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
