// SPDX-License-Identifier: GPL-2.0-or-later
#include "elf/pointers.h"

#include <elf.h>
#include <string.h>

#include "base/cursor.h"

static int visit_relocations(const struct elf_file *elf, uint32_t relative, elf_pointer_visit visit, void *context)
{
	struct elf_section section;
	const uint8_t *bytes;
	Elf64_Rela rela;
	struct cursor c;
	int err = 0;

	if (!elf_file_section(elf, ".rela.dyn", &section) || !section.bytes)
		return 0;
	c = cursor_init(section.bytes, section.size);
	while (!err && (bytes = cursor_take(&c, sizeof(rela)))) {
		memcpy(&rela, bytes, sizeof(rela));
		if (ELF64_R_TYPE(rela.r_info) == relative)
			err = visit(context, rela.r_offset, (uint64_t)rela.r_addend);
	}
	return err;
}

int elf_pointers_each(const struct elf_file *elf, uint32_t relative, elf_pointer_visit visit, void *context)
{
	int err = visit_relocations(elf, relative, visit, context);
	const struct elf_segment *segments;
	const uint8_t *bytes;
	size_t count, i, at;
	uint64_t value;

	segments = elf_file_segments(elf, &count);
	for (i = 0; i < count && !err; i++) {
		if (segments[i].flags & PF_X)
			continue;
		bytes = elf_file_bytes_at(elf, segments[i].vaddr, segments[i].filesz);
		for (at = -segments[i].vaddr & 7; bytes && !err && at + 8 <= segments[i].filesz; at += 8) {
			memcpy(&value, bytes + at, sizeof(value));
			if (value)
				err = visit(context, segments[i].vaddr + at, value);
		}
	}
	return err;
}
