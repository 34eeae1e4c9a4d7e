/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * line: reads a line table byte by byte; for user space and BPF. lines.h says which line it returns.
 *
 * All three formats are a list of entries with a bytecode delta and a line delta. They differ in when the line delta
 * takes effect:
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
 *
 * Sources: Objects/lnotab_notes.txt at v3.6.0, PyCode_Addr2Line() in Objects/codeobject.c at v3.9.0; lnotab_notes.txt
 * and advance() in codeobject.c at v3.10.0; Objects/locations.md at v3.11.0, get_line_delta() in codeobject.c.
 */
#ifndef STRATA_RUNTIME_PYTHON_BPF_LINE_H
#define STRATA_RUNTIME_PYTHON_BPF_LINE_H

#include "abi/types.h"

#define PY_LINE_ENTRY     0x80
#define PY_LINE_UNIT      2
#define PY_LINE_SHIFT_MAX 30   /* of a varint: six bits more fill the 32 of an int */
#define PY_LINE_NONE      0x80 /* 3.10: -128 */

enum { PY_LINE_PLUS_0 = 10, PY_LINE_PLUS_2 = 12, PY_LINE_NO_COLUMNS = 13, PY_LINE_LONG = 14 };

struct py_line {
	__s64 line;
	__u64 end; /* bytes of bytecode that were passed */
	__u32 value;
	__u16 version; /* (major << 8) | minor */
	__u8 shift;
	__u8 inside; /* a pair, or a number */
};

static inline void py_line_begin(struct py_line *l, __u16 version, __s32 first)
{
	l->line = first;
	l->end = 0;
	l->value = 0;
	l->version = version;
	l->shift = 0;
	l->inside = 0;
}

static inline int py_line_pair(struct py_line *l, __u64 offset, __u8 byte)
{
	int is_lnotab = l->version < 0x030a;

	if (!l->inside) {
		l->inside = 1;
		l->value = byte;
		if (is_lnotab)
			l->end += byte;
		return l->end > offset;
	}
	l->inside = 0;
	if (!is_lnotab)
		l->end += l->value;
	if (is_lnotab || byte != PY_LINE_NONE)
		l->line += (__s8)byte;
	return 0;
}

static inline int py_line_location(struct py_line *l, __u64 offset, __u8 byte)
{
	__u8 kind = byte >> 3 & 0xf;

	if (byte & PY_LINE_ENTRY) {
		/* Within a number: the table is damaged. */
		if (l->end > offset || l->inside)
			return 1;
		l->end += ((byte & 7u) + 1) * PY_LINE_UNIT;
		if (kind >= PY_LINE_PLUS_0 && kind <= PY_LINE_PLUS_2)
			l->line += kind - PY_LINE_PLUS_0;
		l->inside = kind == PY_LINE_NO_COLUMNS || kind == PY_LINE_LONG;
		l->value = 0;
		l->shift = 0;
		return 0;
	}
	if (!l->inside)
		return 0; /* columns */
	if (l->shift <= PY_LINE_SHIFT_MAX) {
		l->value |= (__u32)(byte & 0x3f) << l->shift;
		l->shift += 6;
	}
	if (byte & 0x40)
		return 0;
	l->inside = 0;
	l->line += l->value & 1 ? -(__s64)(l->value >> 1) : (__s64)(l->value >> 1);
	return 0;
}

/* The next byte of the table. 1: l->line is that of the instruction at `offset`; else at the table's end. */
static inline int py_line_step(struct py_line *l, __u64 offset, __u8 byte)
{
	return l->version <= 0x030a ? py_line_pair(l, offset, byte) : py_line_location(l, offset, byte);
}

#endif
