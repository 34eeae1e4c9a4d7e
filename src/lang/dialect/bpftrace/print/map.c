// SPDX-License-Identifier: GPL-2.0-or-later
/* Maps: entries by ascending value, histograms with bars. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "lang/dialect/bpftrace/print/print.h"

#define BAR_WIDTH 52

struct range {
	int64_t low, high; /* high exclusive */
	bool below, above; /* has no lower, upper end */
};

static struct range hist_range(const struct type *type, uint32_t index)
{
	uint32_t exact = 1u << type->bits, power, part;
	struct range range = {};

	if (!index)
		return (struct range){.high = 0, .below = true};
	if (index <= exact)
		return (struct range){.low = index - 1, .high = index};
	index -= 1 + exact;
	power = index >> type->bits;
	part = index & (exact - 1);
	range.low = (int64_t)((uint64_t)(exact + part) << power);
	range.high = (int64_t)((uint64_t)(exact + part + 1) << power);
	return range;
}

static struct range lhist_range(const struct type *type, uint32_t index, uint32_t count)
{
	if (!index)
		return (struct range){.high = type->low, .below = true};
	if (index == count - 1)
		return (struct range){.low = type->high, .above = true};
	return (struct range){.low = type->low + (index - 1) * type->step, .high = type->low + index * type->step};
}

static struct range range_of(const struct type *type, uint32_t index, uint32_t count)
{
	return type->kind == TYPE_HIST ? hist_range(type, index) : lhist_range(type, index, count);
}

/* 1024 is 1K, and so on; only whole ones. */
static void label_number(char *text, size_t size, int64_t value, bool is_linear)
{
	static const char suffixes[] = {'\0', 'K', 'M', 'G', 'T', 'P', 'E'};
	unsigned int step = 0;

	while (!is_linear && value >= 1024 && !(value & 1023) && step < 6) {
		value >>= 10;
		step++;
	}
	snprintf(text, size, step ? "%" PRId64 "%c" : "%" PRId64, value, suffixes[step]);
}

static void label(char *text, size_t size, struct range range, const struct type *type)
{
	bool is_linear = type->kind == TYPE_LHIST;
	char low[32], high[32];

	label_number(low, sizeof(low), range.low, is_linear);
	label_number(high, sizeof(high), range.high, is_linear);
	if (range.below)
		snprintf(text, size, "(..., %s)", high);
	else if (range.above)
		snprintf(text, size, "[%s, ...)", low);
	else if (range.high == range.low + 1)
		snprintf(text, size, "[%s]", low);
	else
		snprintf(text, size, "[%s, %s)", low, high);
}

static void histogram_text(FILE *out, const struct type *type, const uint64_t *counts, uint32_t first, uint32_t last,
			   uint64_t div)
{
	uint64_t most = 0;
	uint32_t count = type->size / 8, i;
	char text[80];

	for (i = first; i <= last; i++)
		if (counts[i] > most)
			most = counts[i];
	for (i = first; i <= last; i++) {
		int bar = most ? (int)(counts[i] * (double)BAR_WIDTH / (double)most) : 0, column;

		label(text, sizeof(text), range_of(type, i, count), type);
		fprintf(out, "%-16s%8" PRIu64 " |", text, counts[i] / div);
		for (column = 0; column < BAR_WIDTH; column++)
			fputc(column < bar ? '@' : ' ', out);
		fputs("|\n", out);
	}
}

static void histogram_json(FILE *out, const struct type *type, const uint64_t *counts, uint32_t first, uint32_t last,
			   uint64_t div)
{
	uint32_t count = type->size / 8, i;

	for (i = first; i <= last; i++) {
		struct range range = range_of(type, i, count);

		fputs(i > first ? ", {" : "{", out);
		if (!range.below)
			fprintf(out, "\"min\": %" PRId64 ", ", range.low);
		if (!range.above)
			fprintf(out, "\"max\": %" PRId64 ", ", range.high - 1);
		fprintf(out, "\"count\": %" PRIu64 "}", counts[i] / div);
	}
}

static void histogram(const struct printer *p, const struct type *type, const uint8_t *bytes, uint64_t div)
{
	uint32_t count = type->size / 8, first, last;
	const uint64_t *counts = (const void *)bytes;

	for (first = 0; first < count && !counts[first]; first++)
		;
	for (last = count; last > first && !counts[last - 1]; last--)
		;
	if (p->json)
		fputc('[', p->out);
	if (first < last && p->json)
		histogram_json(p->out, type, counts, first, last - 1, div);
	else if (first < last)
		histogram_text(p->out, type, counts, first, last - 1, div);
	if (p->json)
		fputc(']', p->out);
}

/* What entries are sorted by. Values that have no order are sorted by their keys. */
static int64_t order_of(const struct type *type, const uint8_t *value)
{
	uint32_t i;
	int64_t sum = 0;

	switch (type->kind) {
	case TYPE_INT:
		return (int64_t)scalar_load(value, type->size, type->is_signed);
	case TYPE_COUNT:
	case TYPE_SUM:
	case TYPE_MINIMUM:
	case TYPE_MAXIMUM:
		return (int64_t)word_at(value);
	case TYPE_AVG:
	case TYPE_STATS:
		return word_at(value + 8) ? (int64_t)word_at(value) / (int64_t)word_at(value + 8) : 0;
	case TYPE_HIST:
	case TYPE_LHIST:
		for (i = 0; i < type->size / 8; i++)
			sum += (int64_t)word_at(value + i * 8);
		return sum;
	default:
		return 0;
	}
}

static int compare_keys(const struct type *type, const uint8_t *a, const uint8_t *b)
{
	uint64_t x, y;
	uint32_t i;
	int result = 0;

	switch (type->kind) {
	case TYPE_INT:
		x = scalar_load(a, type->size, type->is_signed);
		y = scalar_load(b, type->size, type->is_signed);
		if (type->is_signed)
			return (int64_t)x < (int64_t)y ? -1 : (int64_t)x > (int64_t)y;
		return x < y ? -1 : x > y;
	case TYPE_STRING:
		return strncmp((const char *)a, (const char *)b, type->size);
	case TYPE_TUPLE:
		for (i = 0; i < type->field_count && !result; i++)
			result = compare_keys(type->fields[i].type, a + type->fields[i].offset,
					      b + type->fields[i].offset);
		return result;
	default:
		return memcmp(a, b, type->size);
	}
}

static int by_value(const void *a, const void *b, void *context)
{
	const struct map_entry *x = a, *y = b;
	const struct symbol *map = context;

	if (x->order != y->order)
		return x->order < y->order ? -1 : 1;
	return map->key ? compare_keys(map->key, x->key, y->key) : 0;
}

char *print_key(const struct printer *p, const struct type *type, const uint8_t *key, size_t *size)
{
	struct printer plain = *p;
	char *text = NULL;
	uint32_t i;
	FILE *out = open_memstream(&text, size);

	if (!out)
		return NULL;
	plain.json = false;
	if (type->kind == TYPE_TUPLE && !(type->field_count && type->fields[0].name)) {
		for (i = 0; i < type->field_count; i++) {
			if (i)
				fputs(p->json ? "," : ", ", out);
			print_value(&plain, out, type->fields[i].type, key + type->fields[i].offset);
		}
	} else {
		print_value(&plain, out, type, key);
	}
	return fclose(out) ? (free(text), NULL) : text;
}

static void print_entry_key(const struct printer *p, const struct type *type, struct map_entry *entry)
{
	if (!entry->text)
		entry->text = print_key(p, type, entry->key, &entry->text_size);
	/* Where memory is short the key is lost, but not what it is a part of. */
	if (p->json)
		print_json_string(p->out, entry->text ? entry->text : "", entry->text ? entry->text_size : 0);
	else if (entry->text)
		fwrite(entry->text, 1, entry->text_size, p->out);
	free(entry->text);
	entry->text = NULL;
}

static const char *json_type(const struct type *type)
{
	switch (type->kind) {
	case TYPE_HIST:
	case TYPE_LHIST:
		return "hist";
	case TYPE_TSERIES:
		return "tseries";
	case TYPE_AVG:
	case TYPE_STATS:
		return "stats";
	default:
		return "map";
	}
}

static bool is_histogram(const struct type *type)
{
	return type->kind == TYPE_HIST || type->kind == TYPE_LHIST;
}

/* Values that begin on a line of their own. */
static bool is_picture(const struct type *type)
{
	return is_histogram(type) || type->kind == TYPE_TSERIES;
}

/* `last`: of a time series, the last interval of the whole map. */
static void print_entry_value(const struct printer *p, const struct type *type, const uint8_t *value, uint64_t div,
			      uint64_t last)
{
	uint8_t divided[16];
	int64_t number;

	if (is_histogram(type)) {
		histogram(p, type, value, div);
		return;
	}
	if (type->kind == TYPE_TSERIES) {
		print_series(p, type, value, last);
		return;
	}
	if (div > 1 && type->size <= 16 && (type->kind == TYPE_INT || type_is_aggregate(type))) {
		memcpy(divided, value, type->size);
		number = (int64_t)scalar_load(value, type->size < 8 ? type->size : 8, type->is_signed) / (int64_t)div;
		memcpy(divided, &number, type->size < 8 ? type->size : 8);
		value = divided;
	}
	print_value(p, p->out, type, value);
}

static void print_json_map(const struct printer *p, const struct symbol *map, struct map_entry *entries, size_t first,
			   size_t count, uint64_t div, uint64_t last)
{
	size_t i;

	fprintf(p->out, "{\"type\": \"%s\", \"data\": {\"@%s\": ", json_type(map->value), map->name);
	if (map->key)
		fputc('{', p->out);
	for (i = first; i < count; i++) {
		if (i > first)
			fputs(", ", p->out);
		if (map->key) {
			print_entry_key(p, map->key, &entries[i]);
			fputs(": ", p->out);
		}
		print_entry_value(p, map->value, entries[i].value, div, last);
	}
	if (!map->key && first == count)
		fputs("null", p->out);
	fputs(map->key ? "}}}\n" : "}}\n", p->out);
}

void print_map(const struct printer *p, const struct symbol *map, struct map_entry *entries, size_t count, uint64_t top,
	       uint64_t div)
{
	uint64_t last = 0;
	size_t first, i;

	if (!div)
		div = 1;
	count = map_merge_alike(p, map, entries, count, false, print_key);
	for (i = 0; i < count; i++) {
		uint64_t own = map->value->kind == TYPE_TSERIES ? series_last(map->value, entries[i].value) : 0;

		entries[i].order = order_of(map->value, entries[i].value);
		last = own > last ? own : last;
	}
	if (count > 1)
		qsort_r(entries, count, sizeof(*entries), by_value, (void *)map);
	first = top && top < count ? count - top : 0;
	if (p->json && !count && !map->key)
		return;
	if (p->json) {
		print_json_map(p, map, entries, first, count, div, last);
		return;
	}
	for (i = first; i < count; i++) {
		fprintf(p->out, "@%s", map->name);
		if (map->key) {
			fputc('[', p->out);
			print_entry_key(p, map->key, &entries[i]);
			fputc(']', p->out);
		}
		fputs(is_picture(map->value) ? ":\n" : ": ", p->out);
		print_entry_value(p, map->value, entries[i].value, div, last);
		fputc('\n', p->out);
	}
}
