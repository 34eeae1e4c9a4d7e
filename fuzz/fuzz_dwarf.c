// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Any bytes as an ELF file with DWARF: functions, parameters, types and lines; and as a DWARF package, of which the
 * unit is taken whose id are the last 8 bytes. libdw itself is not instrumented.
 */
#include <stdlib.h>
#include <string.h>

#include "../tests/unit/explore_dwarf.h"
#include "dwarf/package.h"
#include "fuzz.h"

static void explore(const uint8_t *data, size_t size)
{
	struct exploration exploration;
	void *copy = malloc(size + 1);

	if (copy) {
		memcpy(copy, data, size);
		if (explore_dwarf(&exploration, copy, size))
			CHECK(!exploration.is_wrong);
	}
	free(copy);
}

static void unpack(const uint8_t *data, size_t size)
{
	uint8_t *copy = malloc(size + 1), *unit = NULL;
	size_t unit_size = 0;
	uint64_t id;
	Elf *elf;

	elf_version(EV_CURRENT);
	if (copy && size > sizeof(id)) {
		memcpy(copy, data, size);
		memcpy(&id, data + size - sizeof(id), sizeof(id));
		elf = elf_memory((char *)copy, size);
		if (elf && package_unit(elf, id, &unit, &unit_size))
			explore(unit, unit_size);
		if (elf)
			elf_end(elf);
	}
	free(unit);
	free(copy);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	explore(data, size);
	unpack(data, size);
	return 0;
}
