// SPDX-License-Identifier: GPL-2.0-or-later
/* What printers of all dialects need. */
#include "lang/dialect/printer.h"

#include <stdlib.h>
#include <string.h>

#include "lang/core/value.h"
#include "profile/text.h"

void print_json_string(FILE *out, const char *text, size_t size)
{
	fputc('"', out);
	text_print_json(out, text, size);
	fputc('"', out);
}

void print_data(const struct printer *p, FILE *out, const char *text, size_t size)
{
	if (p->escape)
		text_print(out, text, size);
	else
		fwrite(text, 1, size, out);
}

void print_lines(const struct printer *p, FILE *out, const char *text, size_t size)
{
	size_t at, from = 0;

	for (at = 0; at <= size; at++) {
		if (at < size && text[at] != '\n' && text[at] != '\t')
			continue;
		print_data(p, out, text + from, at - from);
		if (at < size)
			fputc(text[at], out);
		from = at + 1;
	}
}

static bool has_names(const struct type *type, bool with_symbols)
{
	uint32_t i;

	for (i = 0; i < type->field_count; i++)
		if (has_names(type->fields[i].type, with_symbols))
			return true;
	return type->kind == TYPE_STACK || (type->kind == TYPE_SYMBOL && with_symbols);
}

static int by_text(const void *a, const void *b)
{
	const struct map_entry *x = a, *y = b;
	int result = memcmp(x->text, y->text, x->text_size < y->text_size ? x->text_size : y->text_size);

	if (result)
		return result;
	return x->text_size < y->text_size ? -1 : x->text_size > y->text_size;
}

size_t map_merge_alike(const struct printer *p, const struct symbol *map, struct map_entry *entries, size_t count,
		       bool with_symbols, print_key_text *text_of)
{
	size_t kept = 0, i;

	if (count < 2 || !map->key || !has_names(map->key, with_symbols) ||
	    !(type_is_aggregate(map->value) || (symbol_is_percpu(map) && map->value->kind == TYPE_INT)))
		return count;
	for (i = 0; i < count; i++) {
		entries[i].text = text_of(p, map->key, entries[i].key, &entries[i].text_size);
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
