// SPDX-License-Identifier: GPL-2.0-or-later
/* Any bytes as an ELF file with DWARF: functions, parameters, types and lines. libdw itself is not instrumented. */
#include <stdlib.h>
#include <string.h>

#include "../tests/unit/explore_dwarf.h"
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct exploration exploration;
	void *copy = malloc(size + 1);

	if (copy) {
		memcpy(copy, data, size);
		if (explore_dwarf(&exploration, copy, size))
			CHECK(!exploration.is_wrong);
	}
	free(copy);
	return 0;
}
