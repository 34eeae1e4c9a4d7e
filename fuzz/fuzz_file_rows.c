// SPDX-License-Identifier: GPL-2.0-or-later
/* Any bytes as the unwind rows of a file with 1 MiB of code. */
#include <errno.h>

#include "engine/file_rows.h"
#include "fuzz.h"

#define BASE 0x1000
#define END  (BASE + (1u << 20))

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct file_rows rows;
	size_t i;

	if (file_rows_read(data, size, BASE, END, &rows))
		return 0;
	CHECK(rows.err <= 0);
	CHECK(!rows.table.row_count || ((!rows.err || rows.err == -ENOENT) && !rows.code));
	for (i = 0; i < rows.table.row_count; i++) {
		CHECK(rows.table.rows[i].offset < END - BASE);
		CHECK(rows.table.rows[i].rule < rows.table.rule_count);
		CHECK(!i || rows.table.rows[i].offset > rows.table.rows[i - 1].offset);
	}
	unwind_table_deinit(&rows.table);
	return 0;
}
