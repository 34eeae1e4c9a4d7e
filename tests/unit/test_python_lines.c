// SPDX-License-Identifier: GPL-2.0-or-later
/* Line tables by hand, sound and damaged. The proof over real ones is tests/python/lines.t. */
#include <limits.h>

#include "runtime/python/lines.h"
#include "tap.h"

struct place {
	uint16_t version;
	size_t size; /* bytes of the table that are there; 0: all */
	int offset, line;
	const char *words;
};

/* The lines of places, by one table of a function whose first line is `first`. */
static void are_lines(const char *kind, const uint8_t *table, size_t size, int first, const struct place *places,
		      size_t count)
{
	size_t i;

	for (i = 0; i < count; i++)
		is_int(python_line(places[i].version, table, places[i].size ? places[i].size : size, first,
				   places[i].offset),
		       places[i].line, "%s: %s", kind, places[i].words);
}

#define LINE(version, table, first, offset) python_line(version, table, sizeof(table), first, offset)
#define ARE_LINES(kind, table, first, places)                                                                          \
	are_lines(kind, table, sizeof(table), first, places, sizeof(places) / sizeof((places)[0]))

static void test_lnotab(void)
{
	/* 0: 10, 6: 11, 50: 11 + 127 + 100, 56: back 5 */
	const uint8_t table[] = {6, 1, 44, 127, 0, 100, 6, (uint8_t)-5};
	static const struct place places[] = {
		{0x0306, 0, 0, 10, "the first line"},
		{0x0306, 0, 4, 10, "just before a change"},
		{0x0307, 0, 6, 11, "at a change"},
		{0x0308, 0, 50, 238, "a change in two steps"},
		{0x0309, 0, 56, 233, "lines go back"},
		{0x0309, 0, 100000, 233, "past the end the last line stays"},
		{0x0309, 0, -2, 10, "a frame that has not started"},
		{0x0309, 3, 60, 11, "half an entry changes nothing"},
	};

	ARE_LINES("lnotab", table, 10, places);
	is_int(python_line(0x0309, table, 0, 10, 60), 10, "lnotab: empty");
	is_int(python_line(0x0309, NULL, 0, 10, 60), 10, "lnotab: none");
}

static void test_linetable(void)
{
	/* 0-4 no line, 4-8 line 11, 8-10 no line, then + 127 + 3 at 10-12 */
	const uint8_t table[] = {4, 0x80, 4, 1, 2, 0x80, 0, 127, 2, 3};
	static const struct place places[] = {
		{0x030a, 0, 0, 10, "without a line at the start: the first line"},
		{0x030a, 0, 4, 11, "a line"},
		{0x030a, 0, 6, 11, "within an entry"},
		{0x030a, 0, 8, 11, "without a line: the one before stays"},
		{0x030a, 0, 10, 141, "an empty entry adds up"},
		{0x030a, 0, 12, 141, "past the end"},
		{0x030a, 0, -1, 10, "a frame that has not started"},
		{0x030a, 3, 4, 10, "half an entry changes nothing"},
	};

	ARE_LINES("3.10", table, 10, places);
}

static void test_locations(void)
{
	const uint8_t table[] = {
		0x80 | 15 << 3 | 0,                         /* 0-2: none (COPY_FREE_VARS) */
		0x80 | 14 << 3 | 1, 0x02, 0x00, 0x01, 0x01, /* 2-6: long, + 1 */
		0x80 | 0 << 3 | 7,  0x00,                   /* 6-22: short form */
		0x80 | 11 << 3 | 0, 0x00, 0x00,             /* 22-24: + 1 */
		0x80 | 12 << 3 | 0, 0x00, 0x00,             /* 24-26: + 2 */
		0x80 | 13 << 3 | 0, 0x41, 0x01,             /* 26-28: no columns, svarint 65: - 32 */
		0x80 | 15 << 3 | 0,                         /* 28-30: none */
		0x80 | 13 << 3 | 0, 0x50, 0x1f,             /* 30-32: svarint 2000: + 1000 */
	};

	static const struct place places[] = {
		{0x030b, 0, 0, 100, "none at the start: the first line"},
		{0x030b, 0, 2, 101, "long form"},
		{0x030c, 0, 20, 101, "short form"},
		{0x030d, 0, 22, 102, "one-line form"},
		{0x030e, 0, 24, 104, "one-line form, two lines on"},
		{0x030e, 0, 26, 72, "a negative varint of two bytes"},
		{0x030e, 0, 28, 72, "none: the line before stays"},
		{0x030e, 0, 30, 1072, "a large step"},
		{0x030e, 0, 1 << 20, 1072, "past the end"},
		{0x030e, 0, -2, 100, "a frame that has not started"},
	};

	ARE_LINES("locations", table, 100, places);
}

static void test_damaged(void)
{
	const uint8_t no_start[] = {0x01, 0x02, 0x80 | 11 << 3, 0, 0};
	const uint8_t cut[] = {0x80 | 13 << 3, 0x7f};
	const uint8_t endless[] = {0x80 | 13 << 3, 0x7f, 0x7f, 0x7f, 0x7f, 0x7f, 0x7f,
				   0x7f,           0x7f, 0x7f, 0x7f, 0x7f, 0x3f};
	const uint8_t runs_into[] = {0x80 | 13 << 3, 0x42, 0x80 | 11 << 3, 0, 0};
	uint8_t far[600];
	size_t i;

	is_int(LINE(0x030b, no_start, 5, 0), 6, "damaged: bytes before the first entry are skipped");
	is_int(LINE(0x030b, cut, 5, 0), 5, "damaged: a varint that is cut off");
	is_int(LINE(0x030b, endless, 5, 0), 5 - (int64_t)INT_MAX, "damaged: an overlong varint is cut to 32 bits");
	is_int(LINE(0x030b, runs_into, 5, 4), 5, "damaged: a varint that runs into the next entry");
	for (i = 0; i < sizeof(far); i++)
		far[i] = (const uint8_t[]){0x80 | 13 << 3, 0x7e, 0x7f, 0x7f, 0x7f, 0x7f, 0x3f, 0x00}[i % 8];
	is_int(LINE(0x030b, far, INT_MAX, INT_MAX), INT_MAX, "damaged: lines past INT_MAX are cut");
}

int main(void)
{
	test_lnotab();
	test_linetable();
	test_locations();
	test_damaged();
	return tap_done();
}
