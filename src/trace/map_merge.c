// SPDX-License-Identifier: GPL-2.0-or-later
/* Values that belong together: one key's of all CPUs, and those of keys that look the same. */
#include <stdlib.h>
#include <string.h>

#include "trace/printer.h"

static void add_words(uint8_t *to, const uint8_t *from, size_t size)
{
	size_t at;

	for (at = 0; at + 8 <= size; at += 8) {
		uint64_t sum = word_at(to + at) + word_at(from + at);

		memcpy(to + at, &sum, sizeof(sum));
	}
}

/* {value, is there one} */
static void take_extreme(const struct type *type, uint8_t *to, const uint8_t *from)
{
	uint64_t a = word_at(to), b = word_at(from);
	bool less = type->is_signed ? (int64_t)b < (int64_t)a : b < a;

	if (!word_at(from + 8))
		return;
	if (!word_at(to + 8) || (a != b && less == (type->kind == TYPE_MINIMUM)))
		memcpy(to, from, 16);
}

void value_merge(const struct type *type, uint8_t *to, const uint8_t *from)
{
	if (type->kind == TYPE_TSERIES)
		series_reduce(type, to, from);
	else if (type->kind == TYPE_MINIMUM || type->kind == TYPE_MAXIMUM)
		take_extreme(type, to, from);
	else if (type_is_aggregate(type) || (type->kind == TYPE_INT && type->size == 8))
		add_words(to, from, type->size);
}

static bool has_stack(const struct type *type)
{
	uint32_t i;

	for (i = 0; i < type->field_count; i++)
		if (has_stack(type->fields[i].type))
			return true;
	return type->kind == TYPE_STACK;
}

static int by_text(const void *a, const void *b)
{
	const struct map_entry *x = a, *y = b;
	int result = memcmp(x->text, y->text, x->text_size < y->text_size ? x->text_size : y->text_size);

	if (result)
		return result;
	return x->text_size < y->text_size ? -1 : x->text_size > y->text_size;
}

size_t map_merge_alike(const struct printer *p, const struct symbol *map, struct map_entry *entries, size_t count)
{
	size_t kept = 0, i;

	if (count < 2 || !map->key || !has_stack(map->key) ||
	    !(type_is_aggregate(map->value) || (symbol_is_percpu(map) && map->value->kind == TYPE_INT)))
		return count;
	for (i = 0; i < count; i++) {
		entries[i].text = print_key(p, map->key, entries[i].key, &entries[i].text_size);
		if (!entries[i].text)
			return count;
	}
	qsort(entries, count, sizeof(*entries), by_text);
	for (i = 1; i < count; i++) {
		struct map_entry next = entries[i];

		if (!by_text(&entries[kept], &next)) {
			value_merge(map->value, entries[kept].value, next.value);
			continue;
		}
		entries[i] = entries[++kept];
		entries[kept] = next;
	}
	return kept + 1;
}
