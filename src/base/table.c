// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/table.h"

#include <errno.h>
#include <stdlib.h>

#define TABLE_FIRST_CAPACITY 64

void table_deinit(struct table *table)
{
	free(table->slots);
	*table = (struct table){};
}

/* The finalizer of MurmurHash3: keys are often addresses or small integers. */
static size_t home_of(uint64_t key, size_t capacity)
{
	key ^= key >> 33;
	key *= 0xff51afd7ed558ccdull;
	key ^= key >> 33;
	key *= 0xc4ceb9fe1a85ec53ull;
	key ^= key >> 33;
	return (size_t)key & (capacity - 1);
}

/* The slot that holds the key, or the free one where it would go. capacity > count. */
static struct table_slot *find(const struct table *table, uint64_t key)
{
	size_t at = home_of(key, table->capacity);

	while (table->slots[at].key && table->slots[at].key != key)
		at = (at + 1) & (table->capacity - 1);
	return &table->slots[at];
}

bool table_get(const struct table *table, uint64_t key, uint64_t *ret)
{
	const struct table_slot *slot;

	if (!table->capacity || !key)
		return false;
	slot = find(table, key);
	if (!slot->key)
		return false;
	if (ret)
		*ret = slot->value;
	return true;
}

static int grow(struct table *table)
{
	struct table bigger = {.capacity = table->capacity ? table->capacity * 2 : TABLE_FIRST_CAPACITY};
	size_t i;

	bigger.slots = calloc(bigger.capacity, sizeof(*bigger.slots));
	if (!bigger.slots)
		return -ENOMEM;
	for (i = 0; i < table->capacity; i++)
		if (table->slots[i].key)
			*find(&bigger, table->slots[i].key) = table->slots[i];
	bigger.count = table->count;
	free(table->slots);
	*table = bigger;
	return 0;
}

int table_set(struct table *table, uint64_t key, uint64_t value)
{
	struct table_slot *slot;
	int err;

	if (!key)
		return -EINVAL;
	if (table->count * 4 >= table->capacity * 3) {
		err = grow(table);
		if (err)
			return err;
	}
	slot = find(table, key);
	if (!slot->key) {
		slot->key = key;
		table->count++;
	}
	slot->value = value;
	return 0;
}

bool table_remove(struct table *table, uint64_t key)
{
	size_t hole, at, home;

	if (!table->capacity || !key)
		return false;
	hole = (size_t)(find(table, key) - table->slots);
	if (!table->slots[hole].key)
		return false;
	/* Shift back every later entry of the run that may move into the hole. */
	for (at = (hole + 1) & (table->capacity - 1); table->slots[at].key; at = (at + 1) & (table->capacity - 1)) {
		home = home_of(table->slots[at].key, table->capacity);
		if (((at - home) & (table->capacity - 1)) >= ((at - hole) & (table->capacity - 1))) {
			table->slots[hole] = table->slots[at];
			hole = at;
		}
	}
	table->slots[hole].key = 0;
	table->count--;
	return true;
}

struct table_slot *table_next(const struct table *table, size_t *at)
{
	while (*at < table->capacity) {
		struct table_slot *slot = &table->slots[(*at)++];

		if (slot->key)
			return slot;
	}
	return NULL;
}
