// SPDX-License-Identifier: GPL-2.0-or-later
/* Line tables: byte 0 is the minor version, bytes 1-4 the first line, bytes 5-8 the offset, the rest the table. */
#include "base/cursor.h"
#include "runtime/python/lines.h"
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct cursor c = cursor_init(data, size);
	uint16_t version = (uint16_t)(0x0300 | (cursor_u8(&c) & 0x0f));
	int firstlineno = cursor_s32(&c);
	int offset = cursor_s32(&c);
	size_t left = cursor_left(&c);

	if (cursor_ok(&c))
		python_line(version, cursor_take(&c, left), left, firstlineno, offset);
	return 0;
}
