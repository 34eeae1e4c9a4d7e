// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Three formats, one shape: a run of entries, each saying how far the bytecode and how far the line goes on. They
 * differ in the order of things:
 *
 *   co_lnotab     an entry's bytecode delta leads to where its line delta takes effect
 *   co_linetable  (3.10) an entry's line delta takes effect at once and lasts for its bytecode delta
 *   location table (3.11+) the same; an entry starts with the only byte that has bit 7 set:
 *
 *       1 kind:4 length-1:3     length in code units of two bytes
 *       kind  0-9   short form, line stays; one byte of columns
 *            10-12  line + (kind - 10); two bytes of columns
 *            13     line + svarint; no columns
 *            14     line + svarint; end line and columns as varints
 *            15     no line
 *       varint: six bits a byte, lowest first, bit 6: more follow; svarint: bit 0 is the sign
 *
 * An entry "without a line" (-128 in 3.10, kind 15) leaves the running line as it is. For such an instruction
 * PyCode_Addr2Line() gives -1; a profile needs a line, so the running one is given: that of the entry before.
 */
#include <limits.h>

#include "base/cursor.h"
#include "runtime/python/lines.h"

#define NO_LINE_3_10       (-128)
#define ENTRY_START        0x80
#define CODE_UNIT          2
#define VARINT_SHIFT_LIMIT 30 /* six bits more fill the 32 of an int */

enum location_kind { LOCATION_ONE_LINE_0 = 10, LOCATION_ONE_LINE_2 = 12, LOCATION_NO_COLUMNS = 13, LOCATION_LONG = 14 };

static int to_line(int64_t line)
{
	return line > INT_MAX ? INT_MAX : line < INT_MIN ? INT_MIN : (int)line;
}

/* Objects/lnotab_notes.txt at v3.6.0, PyCode_Addr2Line() in Objects/codeobject.c at v3.9.0. */
static int64_t line_in_lnotab(struct cursor c, int64_t line, int64_t offset)
{
	int64_t address = 0;

	while (!cursor_at_end(&c)) {
		uint8_t bytecode_delta = cursor_u8(&c);
		int8_t line_delta = cursor_s8(&c);

		address += bytecode_delta;
		if (address > offset)
			break;
		line += line_delta;
	}
	return line;
}

/* Objects/lnotab_notes.txt and advance() in Objects/codeobject.c at v3.10.0. */
static int64_t line_in_linetable(struct cursor c, int64_t line, int64_t offset)
{
	int64_t end = 0;

	while (end <= offset && !cursor_at_end(&c)) {
		uint8_t bytecode_delta = cursor_u8(&c);
		int8_t line_delta = cursor_s8(&c);

		if (!cursor_ok(&c))
			break;
		end += bytecode_delta;
		if (line_delta != NO_LINE_3_10)
			line += line_delta;
	}
	return line;
}

static int64_t svarint(struct cursor *c)
{
	uint64_t value = 0;
	unsigned int shift = 0;
	uint8_t byte;

	do {
		byte = cursor_u8(c);
		if (byte & ENTRY_START)
			cursor_fail(c);
		if (shift <= VARINT_SHIFT_LIMIT)
			value |= (uint64_t)(byte & 0x3f) << shift;
		shift += 6;
	} while ((byte & 0x40) && cursor_ok(c));
	value &= UINT32_MAX;
	if (!cursor_ok(c))
		return 0;
	return value & 1 ? -(int64_t)(value >> 1) : (int64_t)(value >> 1);
}

/* Objects/locations.md at v3.11.0, get_line_delta() in Objects/codeobject.c. */
static int64_t line_in_locations(struct cursor c, int64_t line, int64_t offset)
{
	int64_t end = 0;

	while (end <= offset && !cursor_at_end(&c)) {
		uint8_t first = cursor_u8(&c);
		int kind = (first >> 3) & 0xf;

		if (!(first & ENTRY_START))
			continue; /* the rest of the entry before */
		end += ((first & 7) + 1) * CODE_UNIT;
		if (kind >= LOCATION_ONE_LINE_0 && kind <= LOCATION_ONE_LINE_2)
			line += kind - LOCATION_ONE_LINE_0;
		else if (kind == LOCATION_NO_COLUMNS || kind == LOCATION_LONG)
			line += svarint(&c);
	}
	return line;
}

int python_line(uint16_t version, const uint8_t *table, size_t size, int firstlineno, int offset)
{
	struct cursor c = cursor_init(table, size);

	if (offset < 0)
		return firstlineno;
	if (version < 0x030a)
		return to_line(line_in_lnotab(c, firstlineno, offset));
	if (version == 0x030a)
		return to_line(line_in_linetable(c, firstlineno, offset));
	return to_line(line_in_locations(c, firstlineno, offset));
}
