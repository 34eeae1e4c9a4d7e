// SPDX-License-Identifier: GPL-2.0-or-later
#include "lang/core/number.h"

#include <ctype.h>
#include <string.h>

/* Factor of a suffix; 0: it is none. Durations are nanoseconds. */
static uint64_t suffix_factor(const char *text, size_t size)
{
	static const struct {
		const char *text;
		uint64_t factor;
	} suffixes[] = {
		{"ns", 1},
		{"us", 1000},
		{"ms", 1000000},
		{"s", 1000000000},
		{"m", 60000000000ull},
		{"h", 3600000000000ull},
		{"d", 86400000000000ull},
		{"u", 1},
		{"l", 1},
		{"ul", 1},
		{"ll", 1},
		{"ull", 1},
		{"lu", 1},
		{"llu", 1},
	};
	size_t i;

	for (i = 0; i < sizeof(suffixes) / sizeof(suffixes[0]); i++)
		if (strlen(suffixes[i].text) == size && !strncasecmp(suffixes[i].text, text, size))
			return suffixes[i].factor;
	return 0;
}

int number_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return 99;
}

bool number_parse(const char *text, size_t size, uint64_t *ret)
{
	uint64_t value = 0, factor = 1, exponent = 0;
	unsigned int base = 10, digits = 0;
	size_t i = 0;

	if (size > 1 && text[0] == '0' && (text[1] == 'x' || text[1] == 'X')) {
		base = 16;
		i = 2;
	} else if (size > 1 && text[0] == '0' && isdigit((unsigned char)text[1])) {
		base = 8;
		i = 1;
	}
	for (; i < size; i++) {
		int digit = number_digit(text[i]);

		if (text[i] == '_')
			continue;
		if (digit >= (int)base)
			break;
		if (__builtin_mul_overflow(value, (uint64_t)base, &value) ||
		    __builtin_add_overflow(value, (uint64_t)digit, &value))
			return false;
		digits++;
	}
	if (!digits)
		return false;
	if (base == 10 && i + 1 < size && (text[i] == 'e' || text[i] == 'E')) {
		for (i++, digits = 0; i < size && isdigit((unsigned char)text[i]); i++, digits++)
			exponent = exponent > 99 ? 99 : exponent * 10 + (uint64_t)(text[i] - '0');
		if (!digits)
			return false;
		for (; exponent && value; exponent--)
			if (__builtin_mul_overflow(value, (uint64_t)10, &value))
				return false;
	}
	if (i < size)
		factor = suffix_factor(text + i, size - i);
	if (!factor || __builtin_mul_overflow(value, factor, &value))
		return false;
	*ret = value;
	return true;
}
