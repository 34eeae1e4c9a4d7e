// SPDX-License-Identifier: GPL-2.0-or-later
/* Aggregations: sorted by their values, in columns or by a format, and the drawings of distributions. */
#include <stdlib.h>
#include <string.h>

#include "lang/core/value.h"
#include "lang/dialect/d/format.h"

/* --- numbers --- */

static uint64_t root(unsigned __int128 value)
{
	unsigned __int128 bit = (unsigned __int128)1 << 126, result = 0;

	while (bit > value)
		bit >>= 2;
	for (; bit; bit >>= 2) {
		if (value >= result + bit) {
			value -= result + bit;
			result = (result >> 1) + bit;
		} else {
			result >>= 1;
		}
	}
	return (uint64_t)result;
}

/* The root of the squares' average less the average's square. */
static int64_t deviation(const uint8_t *value, int64_t normal)
{
	int64_t sum = (int64_t)word_at(value), count = (int64_t)word_at(value + 8), average;
	unsigned __int128 squares = (unsigned __int128)word_at(value + 24) << 64 | word_at(value + 16), mean;

	if (!count)
		return 0;
	average = sum / normal / count;
	mean = squares / (unsigned __int128)normal / (unsigned __int128)normal / (unsigned __int128)count;
	if (average < 0)
		average = -average;
	if ((unsigned __int128)average * (unsigned __int128)average > mean)
		return 0;
	return (int64_t)root(mean - (unsigned __int128)average * (unsigned __int128)average);
}

int64_t d_aggregate_number(const struct type *type, const uint8_t *value, int64_t normal)
{
	int64_t first = (int64_t)word_at(value), count;

	normal = normal ? normal : 1;
	switch (type->kind) {
	case TYPE_AVG:
		count = (int64_t)word_at(value + 8);
		return count ? first / normal / count : 0;
	case TYPE_STDDEV:
		return deviation(value, normal);
	case TYPE_MINIMUM:
		return word_at(value + 8) ? first / normal : INT64_MAX / normal;
	case TYPE_MAXIMUM:
		return word_at(value + 8) ? first / normal : INT64_MIN / normal;
	default:
		return first / normal;
	}
}

/* --- distributions --- */

static int64_t quantize_value(uint32_t bucket)
{
	return bucket < QUANTIZE_ZERO    ? -(int64_t)(1ull << (QUANTIZE_ZERO - 1 - bucket))
	       : bucket == QUANTIZE_ZERO ? 0
					 : (int64_t)(1ull << (bucket - QUANTIZE_ZERO - 1));
}

static int64_t power(int64_t base, int64_t by)
{
	int64_t result = 1;

	while (by-- > 0)
		result *= base;
	return result;
}

/* The values of the positive buckets of llquantize(), from the lowest one up. */
static int64_t step_value(const struct type *type, uint32_t index)
{
	int64_t factor = type->bits, skipped = type->step / factor, each = type->step - skipped;
	int64_t magnitude = type->low + (index - 1) / each, step = skipped + (index - 1) % each;

	if (magnitude == 0 && type->step > factor)
		return step / skipped > 0 && step % skipped == 0 ? step / skipped : -1;
	/* A power begins with itself, where it has fewer steps than the factor. */
	if (type->step < factor && !step)
		return power(factor, magnitude);
	/* step / steps of the next power */
	return (int64_t)((__int128)power(factor, magnitude) * factor * step / type->step);
}

static uint32_t bucket_count(const struct type *type)
{
	return type->size / 8;
}

static uint32_t middle_of(const struct type *type)
{
	return (bucket_count(type) - 1) / 2;
}

/* What a bucket is called; false: no value can be in it. */
static bool label(const struct type *type, uint32_t bucket, uint32_t first, char *ret, size_t size)
{
	uint32_t last = bucket_count(type) - 1, middle = middle_of(type);
	int64_t value;

	if (type->kind == TYPE_QUANTIZE) {
		snprintf(ret, size, "%lld", (long long)quantize_value(bucket));
	} else if (type->kind == TYPE_LHIST) {
		snprintf(ret, size,
			 bucket == 0      ? "< %lld"
			 : bucket == last ? ">= %lld"
					  : "%lld",
			 (long long)(bucket == 0 ? type->low : type->low + (int64_t)(bucket - 1) * type->step));
	} else if (bucket == middle) {
		value = power(type->bits, type->low);
		snprintf(ret, size, value == 1 ? "0" : first >= middle ? "< %lld" : "abs() < %lld", (long long)value);
	} else if (bucket == 0 || bucket == last) {
		snprintf(ret, size, bucket ? ">= %lld" : "<= -%lld", (long long)power(type->bits, type->high + 1));
	} else {
		value = step_value(type, bucket > middle ? bucket - middle : middle - bucket);
		if (value < 0)
			return false;
		snprintf(ret, size, bucket > middle ? "%lld" : "-%lld", (long long)value);
	}
	return true;
}

static long double weight_of(int64_t value)
{
	return value < 0 ? -(long double)value : (long double)value;
}

/* 40 columns, in two halves where there are counts of both signs. */
static void draw(FILE *out, int64_t value, long double total, bool positives, bool negatives, int64_t normal)
{
	static const char ats[] = "@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@";
	bool both = positives && negatives;
	unsigned int width = both ? 20 : 40, depth;

	depth = total > 0 ? (unsigned int)(weight_of(value) * width / total + 0.5L) : 0;
	if (both && value <= 0)
		fprintf(out, "%*s%.*s|%20s %-9lld\n", (int)(width - depth), "", (int)depth, ats, "",
			(long long)(value / normal));
	else if (both)
		fprintf(out, "%20s|%.*s%*s %-9lld\n", "", (int)depth, ats, (int)(width - depth), "",
			(long long)(value / normal));
	else if (negatives)
		fprintf(out, "%*s%.*s| %-9lld\n", (int)(width - depth), "", (int)depth, ats,
			(long long)(value / normal));
	else
		fprintf(out, "|%.*s%*s %-9lld\n", (int)depth, ats, (int)(width - depth), "",
			(long long)(value / normal));
}

static void print_distribution(FILE *out, const struct type *type, const uint8_t *value, int64_t normal)
{
	uint32_t count = bucket_count(type), first = 0, last = count - 1, begin, end, i;
	bool positives = false, negatives = false, is_llquantize = type->kind == TYPE_LLQUANTIZE;
	long double total = 0;
	char text[32];

	while (first < count && !word_at(value + 8 * first))
		first++;
	if (first == count) {
		first = is_llquantize ? middle_of(type) + 1 : type->kind == TYPE_LHIST ? 0 : QUANTIZE_ZERO - 1;
		last = is_llquantize ? middle_of(type) + 1 : type->kind == TYPE_LHIST ? 2 : QUANTIZE_ZERO + 1;
		begin = first - (is_llquantize ? 1 : 0);
		end = last + (is_llquantize ? 1 : 0);
	} else {
		while (last && !word_at(value + 8 * last))
			last--;
		begin = first ? first - 1 : 0;
		end = last < count - 1 ? last + 1 : last;
	}
	if (end >= count)
		end = count - 1;
	for (i = begin; i <= end; i++) {
		int64_t one = (int64_t)word_at(value + 8 * i);

		positives |= one > 0;
		negatives |= one < 0;
		total += weight_of(one);
	}
	/* The neighbour that has a value of its own. */
	while (is_llquantize && begin && !label(type, begin, begin, text, sizeof(text)))
		begin--;
	while (is_llquantize && end < count - 1 && !label(type, end, begin, text, sizeof(text)))
		end++;
	fprintf(out, "\n%16s %41s %-9s\n", "value", "------------- Distribution -------------", "count");
	for (i = begin; i <= end; i++) {
		if (!label(type, i, begin, text, sizeof(text)))
			continue;
		fprintf(out, "%16s ", text);
		draw(out, (int64_t)word_at(value + 8 * i), total, positives, negatives, normal);
	}
}

/* --- order --- */

struct row {
	const struct d_variable *variable;
	uint8_t *key;
	uint8_t *values[16]; /* of each aggregation; NULL: it has no such key */
	uint32_t count;
};

struct order {
	bool by_key, reverse;
	uint32_t position, key_position;
};

static bool is_distribution(const struct type *type)
{
	return type->kind == TYPE_QUANTIZE || type->kind == TYPE_LHIST || type->kind == TYPE_LLQUANTIZE;
}

/* What distributions are ordered by: the sum of the values that their buckets stand for. */
static long double sum_of(const struct type *type, const uint8_t *value)
{
	uint32_t count = bucket_count(type), middle = middle_of(type), i;
	long double sum = 0;

	for (i = 0; i < count; i++) {
		long double of = (long double)(int64_t)word_at(value + 8 * i), at;

		if (!of)
			continue;
		if (type->kind == TYPE_QUANTIZE)
			at = quantize_value(i);
		else if (type->kind == TYPE_LHIST)
			at = i == 0           ? type->low - 1
			     : i == count - 1 ? type->high + 1
					      : type->low + (int64_t)(i - 1) * type->step;
		else if (i == middle)
			at = 0;
		else
			at = (i > middle ? 1 : -1) *
			     (i == 0 || i == count - 1 ? power(type->bits, type->high + 1)
						       : step_value(type, i > middle ? i - middle : middle - i));
		sum += of * at;
	}
	return sum;
}

/* How often it was 0; of lquantize(), if that has a bucket. */
static int64_t zeros_of(const struct type *type, const uint8_t *value)
{
	int64_t bucket = type->kind == TYPE_QUANTIZE ? QUANTIZE_ZERO
			 : type->kind == TYPE_LHIST  ? 1 - type->low / type->step
						     : middle_of(type);

	if (type->kind == TYPE_LHIST && (type->low % type->step || type->low > 0 || type->high <= 0))
		return 0;
	return (int64_t)word_at(value + 8 * bucket);
}

static int compare_numbers(int64_t a, int64_t b)
{
	return a < b ? -1 : a > b;
}

static int compare_values(const struct type *type, const uint8_t *a, const uint8_t *b)
{
	if (is_distribution(type)) {
		long double x = sum_of(type, a), y = sum_of(type, b);

		return x < y ? -1 : x > y ? 1 : compare_numbers(zeros_of(type, a), zeros_of(type, b));
	}
	return compare_numbers(d_aggregate_number(type, a, 1), d_aggregate_number(type, b, 1));
}

static int compare_element(const struct type *type, const uint8_t *a, const uint8_t *b)
{
	if (type->kind == TYPE_STRING)
		return strncmp((const char *)a, (const char *)b, type->size);
	/* As in dtrace, numbers below 0 are behind those above it. */
	if (type_is_scalar(type)) {
		uint64_t x = scalar_load(a, type->size, false), y = scalar_load(b, type->size, false);

		return x < y ? -1 : x > y;
	}
	return memcmp(a, b, type->size);
}

static int compare_keys(const struct row *a, const struct row *b, uint32_t first)
{
	const struct type *key = a->variable->symbol->key;
	uint32_t i;

	for (i = 0; key && i < key->field_count; i++) {
		const struct type_field *field = &key->fields[(i + first) % key->field_count];
		int result = compare_element(field->type, a->key + field->offset, b->key + field->offset);

		if (result)
			return result;
	}
	return 0;
}

#define VALUE_MAX 32768 /* bytes: of the buckets */

/* One that is not there counts as 0. */
static int compare_rows(const void *x, const void *y, void *context)
{
	static const uint8_t none[VALUE_MAX];
	const struct order *order = context;
	const struct row *a = x, *b = y;
	uint32_t at = order->position < a->count ? order->position : 0, i;
	int keys, values;

	if (a->variable != b->variable)
		return (a->variable->number < b->variable->number ? -1 : 1) * (order->reverse ? -1 : 1);
	keys = compare_keys(a, b, order->key_position);
	values = 0;
	for (i = 0; !values && i < a->count; i++) {
		uint32_t k = (at + i) % a->count;

		if (a->values[k] || b->values[k])
			values = compare_values(a->variable->symbol->value, a->values[k] ? a->values[k] : none,
						b->values[k] ? b->values[k] : none);
	}
	if (order->by_key)
		values = keys ? keys : values;
	else
		values = values ? values : keys;
	return order->reverse ? -values : values;
}

static struct order order_of(const struct printer *p)
{
	const struct d_state *state = d_state(p->compiler);

	return (struct order){.by_key = state->options[D_AGGSORTKEY],
			      .reverse = state->options[D_AGGSORTREV],
			      .position = (uint32_t)state->options[D_AGGSORTPOS],
			      .key_position = (uint32_t)state->options[D_AGGSORTKEYPOS]};
}

/* --- rows --- */

static void print_key(const struct printer *p, const struct type *type, const uint8_t *bytes)
{
	int64_t value;

	if (type->kind == TYPE_STRING) {
		char *shown = NULL;
		size_t length = 0;
		FILE *memory = open_memstream(&shown, &length);

		if (!memory)
			return;
		print_data(p, memory, (const char *)bytes, strnlen((const char *)bytes, type->size));
		fclose(memory);
		fprintf(p->out, "  %-50s", shown);
		free(shown);
		return;
	}
	if (!type_is_scalar(type)) {
		d_print_trace(p, type, bytes);
		return;
	}
	value = (int64_t)scalar_load(bytes, type->size, type->is_signed);
	if (type->size == 8)
		fprintf(p->out, " %16lld", (long long)value);
	else if (type->size == 4)
		fprintf(p->out, " %8d", (int)value);
	/* As in dtrace, of the small ones only the bits, whatever their sign. */
	else if (type->size == 2)
		fprintf(p->out, " %5u", (uint16_t)value);
	else
		fprintf(p->out, " %3u", (uint8_t)value);
}

static void print_value(const struct printer *p, const struct d_variable *variable, const uint8_t *value)
{
	const struct type *type = variable->symbol->value;
	int64_t normal = variable->normal ? variable->normal : 1;

	if (is_distribution(type))
		print_distribution(p->out, type, value, normal);
	else
		fprintf(p->out, " %16lld", (long long)d_aggregate_number(type, value, normal));
}

static void print_columns(const struct printer *p, const struct d_variable **of, const struct row *row,
			  const uint8_t *zeros)
{
	const struct type *key = row->variable->symbol->key;
	uint32_t i;

	for (i = 0; key && i < key->field_count; i++)
		print_key(p, key->fields[i].type, row->key + key->fields[i].offset);
	for (i = 0; i < row->count; i++)
		print_value(p, of ? of[i] : row->variable, row->values[i] ? row->values[i] : zeros);
	fputc('\n', p->out);
}

static void print_by_format(const struct printer *p, const struct d_variable **of, const struct row *row,
			    const char *format, const uint8_t *zeros)
{
	const struct type *key = row->variable->symbol->key;
	uint32_t next = 0, at = 0;
	struct d_spec spec;

	while ((format = d_spec_next(format, &spec))) {
		fwrite(spec.text, 1, spec.text_size, p->out);
		if (spec.conversion == '%')
			fputc('%', p->out);
		if (!spec.conversion || spec.conversion == '%')
			continue;
		if (spec.width_given && key && next < key->field_count) {
			const struct type_field *field = &key->fields[next++];
			int64_t width = (int64_t)scalar_load(row->key + field->offset, field->type->size,
							     field->type->is_signed);

			d_spec_give_width(&spec, width > 4096 ? 4096 : width < -4096 ? -4096 : (int)width);
		}
		if (spec.is_aggregation) {
			const struct d_variable *variable = of[at < row->count ? at : row->count - 1];
			const uint8_t *value = row->values[at < row->count ? at : row->count - 1];

			value = value ? value : zeros;
			at++;
			if (is_distribution(variable->symbol->value))
				print_distribution(p->out, variable->symbol->value, value,
						   variable->normal ? variable->normal : 1);
			else
				d_print_number(
					p->out, &spec,
					(uint64_t)d_aggregate_number(variable->symbol->value, value, variable->normal),
					8, true);
		} else if (key && next < key->field_count) {
			const struct type_field *field = &key->fields[next++];

			d_print_spec(p, p->out, &spec, field->type, row->key + field->offset);
		}
	}
}

/* --- aggregations --- */

struct taken {
	struct map_entry *entries;
	size_t count;
};

static size_t key_size(const struct d_variable *variable)
{
	return variable->symbol->key ? variable->symbol->key->size : 0;
}

/* The values of several aggregations at the same keys. */
static struct row *join_rows(const struct d_variable **of, uint32_t count, const struct taken *taken, size_t *ret)
{
	size_t room = 0, i, k, used = 0;
	struct row *rows;
	uint32_t a;

	for (a = 0; a < count; a++)
		room += taken[a].count;
	rows = calloc(room + 1, sizeof(*rows));
	for (a = 0; rows && a < count; a++)
		for (i = 0; i < taken[a].count; i++) {
			struct map_entry *entry = &taken[a].entries[i];

			for (k = 0; k < used && a; k++)
				if (!memcmp(rows[k].key, entry->key, key_size(of[0])))
					break;
			if (!a)
				k = used;
			if (k == used)
				rows[used++] = (struct row){.variable = of[0], .key = entry->key, .count = count};
			rows[k].values[a] = entry->value;
		}
	*ret = used;
	return rows;
}

/* map_merge_alike() */
static char *text_of_key(const struct printer *p, const struct type *type, const uint8_t *key, size_t *size)
{
	struct printer to = *p;
	char *ret = NULL;
	uint32_t i;

	to.out = open_memstream(&ret, size);
	if (!to.out)
		return NULL;
	for (i = 0; i < type->field_count; i++)
		print_key(&to, type->fields[i].type, key + type->fields[i].offset);
	fclose(to.out);
	return ret;
}

/* Those whose keys look alike as one. */
static struct taken merged(const struct printer *p, const struct d_variable *of, const struct taken *taken)
{
	return (struct taken){taken->entries, map_merge_alike(p, of->symbol, taken->entries, taken->count, true,
							      text_of_key)};
}

void d_print_aggregations(const struct printer *p, const struct d_variable **of, uint32_t count, const char *format)
{
	struct order order = order_of(p);
	struct taken taken[16] = {}, kept[16];
	struct row *rows;
	uint8_t *zeros;
	size_t used = 0, i;
	uint32_t a;

	count = count > 16 ? 16 : count;
	for (a = 0; a < count; a++)
		if (!p->deeds->read(p->run, of[a]->symbol, &taken[a].entries, &taken[a].count))
			taken[a].count = 0;
	for (a = 0; a < count; a++)
		kept[a] = merged(p, of[a], &taken[a]);
	rows = join_rows(of, count, kept, &used);
	zeros = calloc(1, 65536);
	if (!format)
		fputc('\n', p->out);
	if (rows && zeros) {
		qsort_r(rows, used, sizeof(*rows), compare_rows, &order);
		for (i = 0; i < used; i++) {
			if (format)
				print_by_format(p, of, &rows[i], format, zeros);
			else
				print_columns(p, of, &rows[i], zeros);
		}
	}
	for (a = 0; a < count; a++) {
		((struct d_variable *)(uintptr_t)of[a])->is_printed = true;
		p->deeds->release(taken[a].entries, taken[a].count);
	}
	free(zeros);
	free(rows);
}

void d_print_unprinted(const struct printer *p)
{
	const struct d_state *state = d_state(p->compiler);
	struct order order = order_of(p);
	struct taken *taken = calloc(state->variables.count + 1, sizeof(*taken));
	VEC(struct row) rows = {};
	size_t i, k, kept;

	for (i = 0; taken && i < state->variables.count; i++) {
		const struct d_variable *one = state->variables.at[i];

		if (!one->is_aggregation || one->is_printed || !one->symbol ||
		    !p->deeds->read(p->run, one->symbol, &taken[i].entries, &taken[i].count))
			continue;
		kept = merged(p, one, &taken[i]).count;
		for (k = 0; k < kept; k++) {
			struct row row = {.variable = one, .key = taken[i].entries[k].key, .count = 1};

			row.values[0] = taken[i].entries[k].value;
			if (vec_push(&rows, row))
				break;
		}
	}
	if (rows.count)
		qsort_r(rows.at, rows.count, sizeof(*rows.at), compare_rows, &order);
	for (i = 0; i < rows.count; i++)
		print_columns(p, NULL, &rows.at[i], rows.at[i].values[0]);
	for (i = 0; taken && i < state->variables.count; i++)
		p->deeds->release(taken[i].entries, taken[i].count);
	vec_free(&rows);
	free(taken);
}

/* Keeps the `keep` largest, or, if that is negative, the smallest. */
void d_trunc(const struct printer *p, const struct d_variable *variable, int64_t keep, bool all)
{
	struct order order = {};
	struct taken taken = {};
	struct row *rows;
	size_t used, kept = (size_t)(keep < 0 ? -keep : keep), i;

	if (all || !keep) {
		p->deeds->clear(p->run, variable->symbol);
		return;
	}
	if (!p->deeds->read(p->run, variable->symbol, &taken.entries, &taken.count))
		return;
	rows = join_rows(&variable, 1, &taken, &used);
	if (rows && kept < used) {
		qsort_r(rows, used, sizeof(*rows), compare_rows, &order);
		for (i = 0; i < used - kept; i++)
			p->deeds->remove(p->run, variable->symbol, rows[keep < 0 ? kept + i : i].key);
	}
	free(rows);
	p->deeds->release(taken.entries, taken.count);
}
