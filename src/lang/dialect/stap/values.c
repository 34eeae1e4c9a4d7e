// SPDX-License-Identifier: GPL-2.0-or-later
/* Arrays and statistics while the script runs. An array keeps the order in which its elements came. */
#include <stdlib.h>
#include <string.h>

#include "lang/dialect/stap/run.h"

#define LOG_BUCKETS 128u
#define LOG_ZERO    64u

struct stap_map *stap_map_create(const struct stap_variable *variable)
{
	struct stap_map *map = calloc(1, sizeof(*map));

	if (map)
		map->variable = variable;
	return map;
}

/* Expressions and locals of the record may be about it. What cannot be noted is not freed. */
static void free_later(struct stap_run *run, void *memory)
{
	if (!run)
		free(memory);
	else if (memory)
		(void)vec_push(&run->old, memory);
}

static void release(struct stap_run *run, struct stap_entry *entry)
{
	free_later(run, (void *)(uintptr_t)entry->value.text);
	free_later(run, entry->stat.buckets);
	free_later(run, entry);
}

void stap_map_clear(struct stap_run *run, struct stap_map *map)
{
	struct stap_entry *entry, *behind;

	for (entry = map->first; entry; entry = behind) {
		behind = entry->behind;
		release(run, entry);
	}
	if (map->heads)
		memset(map->heads, 0, map->capacity * sizeof(*map->heads));
	map->first = map->last = NULL;
	map->count = 0;
}

void stap_map_destroy(struct stap_map *map)
{
	if (!map)
		return;
	stap_map_clear(NULL, map);
	free(map->heads);
	free(map);
}

static uint64_t hash_of(const struct stap_map *map, const struct stap_value *keys)
{
	const struct stap_variable *variable = map->variable;
	uint64_t hash = 0xcbf29ce484222325ull;
	const char *at;
	uint32_t i;

	for (i = 0; i < variable->key_count; i++) {
		if (variable->keys[i] == STAP_STRING) {
			for (at = keys[i].text; *at; at++)
				hash = (hash ^ (unsigned char)*at) * 0x100000001b3ull;
			hash = (hash ^ 0xff) * 0x100000001b3ull;
		} else {
			hash = (hash ^ (uint64_t)keys[i].number) * 0x9e3779b97f4a7c15ull;
			hash ^= hash >> 29;
		}
	}
	return hash ^ hash >> 32;
}

static bool same_keys(const struct stap_map *map, const struct stap_value *a, const struct stap_value *b)
{
	uint32_t i;

	for (i = 0; i < map->variable->key_count; i++)
		if (map->variable->keys[i] == STAP_STRING ? strcmp(a[i].text, b[i].text) != 0
							  : a[i].number != b[i].number)
			return false;
	return true;
}

struct stap_entry *stap_map_find(const struct stap_map *map, const struct stap_value *keys)
{
	uint64_t hash = hash_of(map, keys);
	struct stap_entry *entry = map->capacity ? map->heads[hash & (map->capacity - 1)] : NULL;

	while (entry && (entry->hash != hash || !same_keys(map, entry->keys, keys)))
		entry = entry->next_of_hash;
	return entry;
}

static bool grow(struct stap_map *map)
{
	size_t capacity = map->capacity ? map->capacity * 2 : 64;
	struct stap_entry **heads = calloc(capacity, sizeof(*heads)), *entry;

	if (!heads)
		return false;
	free(map->heads);
	map->heads = heads;
	map->capacity = capacity;
	for (entry = map->first; entry; entry = entry->behind) {
		entry->next_of_hash = heads[entry->hash & (capacity - 1)];
		heads[entry->hash & (capacity - 1)] = entry;
	}
	return true;
}

struct stap_entry *stap_map_add(struct stap_map *map, const struct stap_value *keys)
{
	uint32_t count = map->variable->key_count, i;
	size_t size = sizeof(struct stap_entry) + count * sizeof(*keys), texts = size;
	struct stap_entry *entry;
	char *to;

	if (map->count >= map->capacity && !grow(map))
		return NULL;
	for (i = 0; i < count; i++)
		size += map->variable->keys[i] == STAP_STRING ? strlen(keys[i].text) + 1 : 0;
	entry = calloc(1, size);
	if (!entry)
		return NULL;
	to = (char *)entry + texts;
	for (i = 0; i < count; i++) {
		entry->keys[i] = keys[i];
		if (map->variable->keys[i] == STAP_STRING) {
			entry->keys[i].text = strcpy(to, keys[i].text);
			to += strlen(keys[i].text) + 1;
		}
	}
	entry->hash = hash_of(map, keys);
	entry->next_of_hash = map->heads[entry->hash & (map->capacity - 1)];
	map->heads[entry->hash & (map->capacity - 1)] = entry;
	entry->before = map->last;
	if (map->last)
		map->last->behind = entry;
	else
		map->first = entry;
	map->last = entry;
	map->count++;
	return entry;
}

void stap_map_remove(struct stap_run *run, struct stap_map *map, struct stap_entry *entry)
{
	struct stap_entry **at = &map->heads[entry->hash & (map->capacity - 1)];

	while (*at != entry)
		at = &(*at)->next_of_hash;
	*at = entry->next_of_hash;
	*(entry->before ? &entry->before->behind : &map->first) = entry->behind;
	*(entry->behind ? &entry->behind->before : &map->last) = entry->before;
	map->count--;
	release(run, entry);
}

/* --- statistics --- */

/* A range can be wider than a signed number. */
static uint64_t steps(const struct stap_variable *variable, int64_t value)
{
	return ((uint64_t)value - (uint64_t)variable->low) / (uint64_t)variable->step;
}

uint32_t stap_bucket_count(const struct stap_variable *variable)
{
	/* Below, the steps, above. */
	return variable->histogram == STAP_LOGARITHMIC ? LOG_BUCKETS : (uint32_t)steps(variable, variable->high) + 3;
}

int64_t stap_bucket_value(const struct stap_variable *variable, uint32_t bucket)
{
	uint32_t count = stap_bucket_count(variable);

	if (variable->histogram == STAP_LINEAR)
		return (int64_t)((uint64_t)variable->low + (uint64_t)variable->step * (bucket == 0 ? 0
										       : bucket == count - 1
											       ? bucket - 2
											       : bucket - 1));
	if (bucket == LOG_ZERO)
		return 0;
	return bucket > LOG_ZERO ? (int64_t)(1ull << (bucket - LOG_ZERO - 1))
				 : (int64_t)(-(1ull << (LOG_ZERO - 1 - bucket)));
}

static uint32_t bucket_of(const struct stap_variable *variable, int64_t value)
{
	uint32_t count = stap_bucket_count(variable), power;

	if (variable->histogram == STAP_LINEAR) {
		if (value < variable->low)
			return 0;
		return steps(variable, value) >= count - 2 ? count - 1 : (uint32_t)steps(variable, value) + 1;
	}
	if (!value)
		return LOG_ZERO;
	power = 64 - (uint32_t)__builtin_clzll(value < 0 ? -(uint64_t)value : (uint64_t)value);
	return value > 0 ? LOG_ZERO + power : LOG_ZERO - power;
}

bool stap_stat_add(const struct stap_variable *variable, struct stap_stat *stat, int64_t value)
{
	if (variable->histogram && !stat->buckets) {
		stat->buckets = calloc(stap_bucket_count(variable), sizeof(*stat->buckets));
		if (!stat->buckets)
			return false;
	}
	if (!stat->count || value < stat->minimum)
		stat->minimum = value;
	if (!stat->count || value > stat->maximum)
		stat->maximum = value;
	stat->count++;
	stat->sum = (int64_t)((uint64_t)stat->sum + (uint64_t)value);
	stat->squares += (unsigned __int128)((__int128)value * value);
	if (stat->buckets)
		stat->buckets[bucket_of(variable, value)]++;
	return true;
}

void stap_stat_clear(struct stap_stat *stat)
{
	free(stat->buckets);
	*stat = (struct stap_stat){};
}
