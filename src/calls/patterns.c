// SPDX-License-Identifier: GPL-2.0-or-later
#include "calls/patterns.h"

#include <fnmatch.h>
#include <stdint.h>
#include <string.h>

#define PARTS_MAX 63 /* and a bit for the beginning */
#define PART_MAX  256

/* The bytes of a set in brackets; 0: it has no end, or something rare in it. */
static size_t set_size(const char *text)
{
	size_t i = 1;

	i += text[i] == '!' || text[i] == '^';
	i += text[i] == ']';
	for (; text[i] && text[i] != ']'; i++) {
		const char *end = text[i] == '[' && text[i + 1] == ':' ? strstr(text + i + 2, ":]") : NULL;

		if (text[i] == '\\' || (text[i] == '[' && strchr(".=:", text[i + 1]) && !end))
			return 0;
		if (end)
			i = (size_t)(end - text) + 1;
	}
	return text[i] ? i + 1 : 0;
}

/* The bytes of what matches one byte; 0: as above. */
static size_t part_size(const char *text)
{
	if (*text == '[')
		return set_size(text);
	return *text != '\\' ? 1 : text[1] ? 2 : 0;
}

bool pattern_add(struct rt_calls_patterns *patterns, unsigned int which, const char *glob)
{
	struct rt_calls_patterns new = {};
	unsigned int parts = 0, byte;
	char part[PART_MAX];
	size_t size;

	for (; *glob; glob += size) {
		size = *glob == '*' ? 1 : part_size(glob);
		if (*glob == '*') {
			new.keeps[which] |= 1ull << parts;
			continue;
		}
		if (!size || size >= sizeof(part) || parts == PARTS_MAX)
			return false;
		memcpy(part, glob, size);
		part[size] = '\0';
		parts++;
		for (byte = 1; byte < 256; byte++)
			if (!fnmatch(part, (const char[]){(char)byte, '\0'}, 0))
				new.into[byte][which] |= 1ull << parts;
	}
	for (byte = 0; byte < 256; byte++)
		patterns->into[byte][which] = new.into[byte][which];
	patterns->keeps[which] = new.keeps[which];
	patterns->end[which] = 1ull << parts;
	return true;
}

bool pattern_matches(const struct rt_calls_patterns *patterns, unsigned int which, const char *text)
{
	uint64_t bits = 1;

	for (; *text; text++)
		bits = rt_calls_step(patterns, which, bits, (uint8_t)*text);
	return bits & patterns->end[which];
}

/* The text itself, and what ends with `before` and the text. */
static bool add_named(struct rt_calls_patterns *patterns, const char *text, size_t size, char before)
{
	char pattern[2 * PARTS_MAX + 3] = {'*', before}, *to = pattern + 2;
	size_t i;

	if (size >= PARTS_MAX)
		return false;
	for (i = 0; i < size; i++) {
		*to++ = '\\';
		*to++ = text[i];
	}
	*to = '\0';
	return pattern_add(patterns, 1, pattern + 2) && pattern_add(patterns, 2, pattern);
}

bool patterns_of_calls(const char *match, const char *from, struct rt_calls_wanted *ret)
{
	const char *colon = from ? strrchr(from, ':') : NULL, *name = colon ? colon + 1 : from;

	if (!pattern_add(&ret->name, 0, match) || (strchr(match, '/') && !pattern_add(&ret->file, 0, match)))
		return false;
	if (colon && !add_named(&ret->file, from, (size_t)(colon - from), '/'))
		return false;
	ret->from_has_file = colon != NULL;
	return !from || add_named(&ret->name, name, strlen(name), '.');
}
