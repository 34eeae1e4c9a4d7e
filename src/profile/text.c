// SPDX-License-Identifier: GPL-2.0-or-later
#include "profile/text.h"

#include <stdbool.h>
#include <string.h>

unsigned int text_character(const char *bytes, unsigned int *code_point)
{
	const unsigned char *b = (const unsigned char *)bytes;
	/* The smallest value that needs so many bytes. */
	static const unsigned int smallest[] = {0, 0, 0x80, 0x800, 0x10000};
	unsigned int length = b[0] < 0x80   ? 1
			      : b[0] < 0xc0 ? 0
			      : b[0] < 0xe0 ? 2
			      : b[0] < 0xf0 ? 3
			      : b[0] < 0xf8 ? 4
					    : 0;
	unsigned int value = length == 1 ? b[0] : b[0] & (0x7fu >> length);
	unsigned int i;

	for (i = 1; i < length; i++) {
		if ((b[i] & 0xc0) != 0x80) /* also the terminator */
			return 0;
		value = value << 6 | (b[i] & 0x3f);
	}
	if (!length || value < smallest[length] || value > 0x10ffff || (value >= 0xd800 && value <= 0xdfff))
		return 0;
	if (code_point)
		*code_point = value;
	return length;
}

static bool breaks_line(unsigned int c)
{
	return c < 0x20 || (c >= 0x7f && c <= 0x9f) || c == 0x2028 || c == 0x2029;
}

/* Characters that change the order in which others are shown: UAX #9, "Explicit Directional Formatting Characters". */
static bool reorders(unsigned int c)
{
	return c == 0x61c || c == 0x200e || c == 0x200f || (c >= 0x202a && c <= 0x202e) || (c >= 0x2066 && c <= 0x2069);
}

size_t text_clean(const char *string, char *buffer, size_t size)
{
	size_t needed = 0, written = 0;
	bool full = !size;

	while (*string) {
		unsigned int c = 0, length = text_character(string, &c);
		unsigned int taken = length ? length : 1;
		const char *out = string;

		if (!length || breaks_line(c) || reorders(c)) {
			out = "?";
			length = 1;
		} else if (c == ';') {
			out = ":";
		}
		full = full || written + length >= size;
		if (!full) {
			memcpy(buffer + written, out, length);
			written += length;
		}
		needed += length;
		string += taken;
	}
	if (size)
		buffer[written] = '\0';
	return needed;
}

/* As text_character() does, of bytes that have an end and no terminator. */
static unsigned int next_character(const char *bytes, size_t size, unsigned int *code_point)
{
	char some[5] = "";

	memcpy(some, bytes, size < 4 ? size : 4);
	return text_character(some, code_point);
}

void text_print(FILE *out, const char *bytes, size_t size)
{
	size_t at, written = 0;
	unsigned int taken, i;

	for (at = 0; at < size; at += taken) {
		unsigned int c = (unsigned char)bytes[at], length = 1;

		if (c >= 0x80)
			length = next_character(bytes + at, size - at, &c);
		taken = length ? length : 1;
		if (length && !breaks_line(c) && !reorders(c))
			continue;
		fwrite(bytes + written, 1, at - written, out);
		for (i = 0; i < taken; i++)
			fprintf(out, "\\x%02x", (unsigned char)bytes[at + i]);
		written = at + taken;
	}
	fwrite(bytes + written, 1, size - written, out);
}

void text_print_json(FILE *out, const char *bytes, size_t size)
{
	static const char letters[] = {['\b'] = 'b', ['\t'] = 't', ['\n'] = 'n', ['\f'] = 'f', ['\r'] = 'r'};
	size_t at, written = 0;
	unsigned int taken;

	for (at = 0; at < size; at += taken) {
		unsigned int c = (unsigned char)bytes[at], length = 1;

		if (c >= 0x80)
			length = next_character(bytes + at, size - at, &c);
		taken = length ? length : 1;
		if (length && c != '"' && c != '\\' && !breaks_line(c) && !reorders(c))
			continue;
		fwrite(bytes + written, 1, at - written, out);
		if (!length)
			fputs("\xef\xbf\xbd", out);
		else if (c == '"' || c == '\\')
			fprintf(out, "\\%c", c);
		else if (c < sizeof(letters) && letters[c])
			fprintf(out, "\\%c", letters[c]);
		else
			fprintf(out, "\\u%04x", c);
		written = at + taken;
	}
	fwrite(bytes + written, 1, size - written, out);
}
