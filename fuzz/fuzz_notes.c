// SPDX-License-Identifier: GPL-2.0-or-later
/* Any bytes as .note.stapsdt. The first bit of the first byte says whether there is a .stapsdt.base. */
#include <stdlib.h>

#include "../tests/unit/elf_builder.h"
#include "elf/notes.h"
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct elf_builder b = elf_builder_init();
	struct elf_marker *markers;
	struct elf_file *elf;
	size_t count, i;

	if (size) {
		elf_builder_section(&b, ".note.stapsdt", SHT_NOTE, 0, data + 1, size - 1);
		if (*data & 1)
			elf_builder_section(&b, ".stapsdt.base", SHT_PROGBITS, SHF_ALLOC, "", 1);
	}
	elf_builder_finish(&b, 0);
	CHECK(!elf_file_open_memory(b.bytes, b.size, "fuzz", &elf, NULL));
	CHECK(!elf_file_markers(elf, &markers, &count) && !count == !markers);
	for (i = 0; i < count; i++) {
		CHECK(strlen(markers[i].provider) + strlen(markers[i].name) + strlen(markers[i].arguments) < size);
		CHECK(!i || strcmp(markers[i - 1].provider, markers[i].provider) <= 0);
	}
	free(markers);
	elf_file_close(elf);
	elf_builder_deinit(&b);
	return 0;
}
