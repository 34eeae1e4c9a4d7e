// SPDX-License-Identifier: GPL-2.0-or-later
/* Any bytes as a script to be formatted: if it parses, so does the formatted one, which stays as it is and has the same
 * characters. */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "lang/compile.h"
#include "fuzz.h"

/* The script as it is formatted, for free(); NULL when it is refused. */
static char *format(const char *source, size_t size, size_t *ret)
{
	const struct compile_options options = {};
	FILE *nowhere = fopen("/dev/null", "we"), *out;
	char *text = NULL;

	out = nowhere ? open_memstream(&text, ret) : NULL;
	if (out) {
		int err = lang_format("fuzz", source, size, &options, out, nowhere);

		fclose(out);
		if (err) {
			CHECK(!*ret);
			free(text);
			text = NULL;
		}
	}
	if (nowhere)
		fclose(nowhere);
	return text;
}

static size_t next_visible(const char *text, size_t size, size_t at)
{
	while (at < size && isspace((unsigned char)text[at]))
		at++;
	return at;
}

static bool has_same_characters(const char *a, size_t a_size, const char *b, size_t b_size)
{
	size_t i = next_visible(a, a_size, 0), j = next_visible(b, b_size, 0);

	while (i < a_size && j < b_size && a[i] == b[j]) {
		i = next_visible(a, a_size, i + 1);
		j = next_visible(b, b_size, j + 1);
	}
	return i == a_size && j == b_size;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *source = (const char *)data;
	char *once, *twice;
	size_t once_size, twice_size;

	/* Nothing that reads files. */
	if (size > 4096 || memchr(data, '#', size) || memmem(data, size, "import", 6))
		return 0;
	once = format(source, size, &once_size);
	if (!once)
		return 0;
	CHECK(has_same_characters(source, size, once, once_size));
	twice = format(once, once_size, &twice_size);
	CHECK(twice && once_size == twice_size && !memcmp(once, twice, once_size));
	free(once);
	free(twice);
	return 0;
}
