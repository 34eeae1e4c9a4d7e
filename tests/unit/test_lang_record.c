// SPDX-License-Identifier: GPL-2.0-or-later
/* Packed records: what the kernel's part sends, and bytes that it never does. Each record lies at the end of its
 * memory. */
#include "lang/core/record.h"

#include <stdlib.h>
#include <string.h>

#include "tap.h"

#define ROOM 512

static const struct type number = {.kind = TYPE_INT, .size = 4, .align = 4};
static const struct type text = {.kind = TYPE_STRING, .size = 128, .align = 8};
static const struct type bytes = {.kind = TYPE_BUFFER, .size = 4 + 100, .align = 4};
/* (number, text, bytes) */
static const struct type_field fields[] = {
	{.type = &number, .offset = 0}, {.type = &text, .offset = 8}, {.type = &bytes, .offset = 136}};
static const struct type arguments = {.kind = TYPE_TUPLE, .size = 240, .align = 8, .fields = fields, .field_count = 3};
/* (number, (text, number)) */
static const struct type_field inner_fields[] = {{.type = &text, .offset = 0}, {.type = &number, .offset = 128}};
static const struct type inner = {
	.kind = TYPE_TUPLE, .size = 136, .align = 8, .fields = inner_fields, .field_count = 2};
static const struct type_field outer_fields[] = {{.type = &number, .offset = 0}, {.type = &inner, .offset = 8}};
static const struct type outer = {
	.kind = TYPE_TUPLE, .size = 144, .align = 8, .fields = outer_fields, .field_count = 2};
static const struct type_field small_fields[] = {{.type = &number, .offset = 0}, {.type = &number, .offset = 4}};
static const struct type small = {.kind = TYPE_TUPLE, .size = 8, .align = 4, .fields = small_fields, .field_count = 2};

static uint8_t room[ROOM];

/* Reads what `size` bytes are, which have no byte more behind them. */
static bool read_bytes(const struct type *type, const void *record, size_t size)
{
	uint8_t *exact = malloc(size ? size : 1), *mine = malloc(type->size);
	const uint8_t *got;

	memcpy(exact, record, size);
	memset(mine, 0xee, type->size);
	got = record_read(type, exact, size, mine);
	if (got)
		memcpy(room, got, type->size);
	free(exact);
	free(mine);
	return got;
}

static uint32_t word(uint32_t at)
{
	uint32_t value;

	memcpy(&value, room + at, sizeof(value));
	return value;
}

static void test_whole(void)
{
	static const char record[] = "\x07\0\0\0\0\0\0\0hello\0\x03\0\0\0abc";
	size_t size = sizeof(record) - 1, cut;
	static const uint8_t none[128];
	int wrong = 0;

	ok(read_bytes(&arguments, record, size), "a number, a string and a buffer");
	ok(word(0) == 7 && !strcmp((char *)room + 8, "hello") && word(136) == 3 && !memcmp(room + 140, "abc", 3),
	   "what they are");
	ok(!memcmp(room + 13, none, 123) && !memcmp(room + 143, none, 97), "zeros behind them");
	/* The end of a part may be the record's; in a part it may not. */
	for (cut = 0; cut < size; cut++)
		wrong += read_bytes(&arguments, record, cut) != (cut == 8 || cut == 14);
	is_int(wrong, 0, "cut at each byte: whole parts, or refused");
	ok(read_bytes(&arguments, record, 8) && !room[8] && !word(136), "parts that are missing are empty");
	ok(read_bytes(&arguments, "\1\0\0\0\0\0\0\0\0\0\0\0\0", 13) && !room[8] && !word(136), "empty ones");
}

static void test_lengths(void)
{
	uint8_t record[8 + 129 + 4 + 101] = {1};
	uint32_t length = 100;

	memset(record + 8, 'x', 128);
	ok(read_bytes(&arguments, record, 8 + 129) && room[8 + 127] == 'x' && !room[136],
	   "a string that fills its place");
	record[8 + 128] = 'x';
	ok(!read_bytes(&arguments, record, 8 + 130), "a longer one");
	ok(!read_bytes(&arguments, record, 8 + 129), "one without terminator");
	memset(record + 8, 0, sizeof(record) - 8);
	memcpy(record + 9, &length, 4);
	memset(record + 13, 'y', 101);
	ok(read_bytes(&arguments, record, 13 + 100) && word(136) == 100 && room[239] == 'y',
	   "a buffer that fills its place");
	ok(!read_bytes(&arguments, record, 13 + 99), "a buffer's length is beyond the end");
	length = 101;
	memcpy(record + 9, &length, 4);
	ok(!read_bytes(&arguments, record, 13 + 101), "beyond its place");
	length = UINT32_MAX;
	memcpy(record + 9, &length, 4);
	ok(!read_bytes(&arguments, record, 13 + 101), "the greatest length");
}

static void test_tuples(void)
{
	static const char record[] = "\x07\0\0\0\0\0\0\0in\0\x09\0\0";

	ok(read_bytes(&outer, record, sizeof(record)) && !strcmp((char *)room + 8, "in") && word(136) == 9,
	   "a tuple in it");
	ok(!read_bytes(&outer, record, sizeof(record) - 1), "its last element is cut");
	ok(read_bytes(&small, record, 8) && word(0) == 7, "small ones alone");
	ok(!read_bytes(&small, record, 7), "cut");
	ok(!read_bytes(&small, record, 0), "none");
}

int main(void)
{
	test_whole();
	test_lengths();
	test_tuples();
	return tap_done();
}
