// SPDX-License-Identifier: GPL-2.0-or-later
/* Any bytes as the names of a file's addresses: the first one says how many were asked for. */
#include <stdlib.h>
#include <string.h>

#include "engine/file_names.h"
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct file_names names = {};
	struct file_name name;
	uint64_t vaddrs[256];
	size_t count = size ? *data : 0, i;
	uint8_t *bytes;
	ssize_t got;

	if (!size)
		return 0;
	for (i = 0; i < 256; i++)
		vaddrs[i] = i + 1;
	bytes = malloc(size);
	memcpy(bytes, data + 1, size - 1);
	got = file_names_add(&names, bytes, size - 1, vaddrs, count);
	CHECK(got && got <= (ssize_t)count);
	for (i = 0; got > 0 && i < 256; i++)
		if (file_names_find(&names, vaddrs[i], &name)) {
			CHECK(i < (size_t)got);
			CHECK(!name.symbol || strlen(name.symbol) < size);
			CHECK(!name.shown || strlen(name.shown) < size);
		}
	if (got > 0)
		CHECK(strlen(file_names_said(&names)->debug.link) < sizeof(struct elf_debug_names));
	file_names_deinit(&names);
	return 0;
}
