// SPDX-License-Identifier: GPL-2.0-or-later
#include "lang/core/value.h"

#include "lang/rt/abi.h"

uint64_t scalar_load(const uint8_t *bytes, uint32_t size, bool is_signed)
{
	uint64_t value = 0;
	unsigned int shift = 64 - 8 * size;

	if (!size || size > 8)
		return 0;
	memcpy(&value, bytes, size);
	if (!shift)
		return value;
	value <<= shift;
	return is_signed ? (uint64_t)((int64_t)value >> shift) : value >> shift;
}

static void series_reduce(const struct type *type, uint8_t *to, const uint8_t *from)
{
	struct rt_series_interval a, b;
	size_t at;

	for (at = 0; at < type->size; at += sizeof(a)) {
		bool less;

		memcpy(&a, to + at, sizeof(a));
		memcpy(&b, from + at, sizeof(b));
		if (b.number < a.number || !b.number)
			continue;
		less = type->is_signed ? (int64_t)b.value < (int64_t)a.value : b.value < a.value;
		if (b.number > a.number) {
			a = b;
		} else if (type->variant == RT_SERIES_SUM || type->variant == RT_SERIES_AVERAGE) {
			a.value += b.value;
			a.more += b.more;
		} else if (type->variant == RT_SERIES_LAST ? b.more > a.more
							   : less == (type->variant == RT_SERIES_MINIMUM)) {
			a = b;
		}
		memcpy(to + at, &a, sizeof(a));
	}
}

static void add_words(uint8_t *to, const uint8_t *from, size_t size)
{
	size_t at;

	for (at = 0; at + 8 <= size; at += 8) {
		uint64_t sum = word_at(to + at) + word_at(from + at);

		memcpy(to + at, &sum, sizeof(sum));
	}
}

/* The last two words are one number. */
static void add_deviation(uint8_t *to, const uint8_t *from)
{
	uint64_t low = word_at(to + 16), carry;

	add_words(to, from, 32);
	carry = word_at(to + 24) + (word_at(to + 16) < low);
	memcpy(to + 24, &carry, sizeof(carry));
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
	else if (type->kind == TYPE_STDDEV)
		add_deviation(to, from);
	else if (type->kind == TYPE_MINIMUM || type->kind == TYPE_MAXIMUM)
		take_extreme(type, to, from);
	else if (type_is_aggregate(type) || (type->kind == TYPE_INT && type->size == 8))
		add_words(to, from, type->size);
}
