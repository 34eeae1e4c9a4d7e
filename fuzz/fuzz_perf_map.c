// SPDX-License-Identifier: GPL-2.0-or-later
/* Any bytes as a perf map: no crash, and every address is answered. */
#include <stdlib.h>
#include <string.h>

#include "symbol/perf_map.h"
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct perf_map *map = perf_map_create((const char *)data, size);
	volatile size_t sum = 0;
	uint64_t address;

	if (!map)
		return 0;
	for (address = 0; address < 256; address++) {
		const char *low = perf_map_lookup(map, address);
		const char *high = perf_map_lookup(map, UINT64_MAX - address);

		sum += (low ? strlen(low) : 0) + (high ? strlen(high) : 0);
	}
	(void)sum;
	if (perf_map_bad_lines(map) > size)
		abort();
	perf_map_destroy(map);
	return 0;
}
