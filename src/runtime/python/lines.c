// SPDX-License-Identifier: GPL-2.0-or-later
#include "runtime/python/lines.h"

#include <limits.h>

#include "base/cursor.h"
#include "runtime/python/bpf/line.h"

int python_line(uint16_t version, const uint8_t *table, size_t size, int firstlineno, int offset)
{
	struct cursor c = cursor_init(table, size);
	struct py_line line;

	if (offset < 0)
		return firstlineno;
	py_line_begin(&line, version, firstlineno);
	while (!cursor_at_end(&c) && !py_line_step(&line, (uint64_t)offset, cursor_u8(&c)))
		;
	return line.line > INT_MAX ? INT_MAX : line.line < INT_MIN ? INT_MIN : (int)line.line;
}
