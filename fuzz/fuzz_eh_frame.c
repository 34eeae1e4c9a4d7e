// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Compiles any bytes as .eh_frame. The first bit of the first byte says whether section headers tell its size; the rest
 * are the section, at a fixed address behind 4 KiB of text, so that a corpus' pc-relative pointers keep their meaning.
 */
#include <elf.h>
#include <errno.h>

#include "../tests/unit/elf_builder.h"
#include "unwind/unwind_table.h"
#include "fuzz.h"

static void check_table(const struct elf_file *elf, const struct unwind_table *table)
{
	uint64_t start, end;
	char text[128];
	size_t i;

	CHECK(table->row_count && !table->rows[0].offset);
	CHECK(table->covered_bytes <= table->end - table->base);
	for (i = 0; i < table->row_count; i++) {
		const struct unwind_row *row = &table->rows[i];

		CHECK(row->rule < table->rule_count && row->offset < table->end - table->base);
		CHECK(!i || (row[-1].offset < row->offset && row[-1].rule != row->rule));
		CHECK(table->rules[row->rule].kind < UNWIND_NO_TABLE);
		unwind_rule_format(arch_of(EM_X86_64)->unwind, &table->rules[row->rule], text, sizeof(text));
		if (i < 16 && unwind_find_fde(elf, table->base + row->offset, &start, &end))
			CHECK(start <= table->base + row->offset && table->base + row->offset < end);
	}
	for (i = 0; i < table->rule_count * table->rule_count && table->rule_count < 64; i++) {
		const struct unwind_rule *a = &table->rules[i / table->rule_count];
		const struct unwind_rule *b = &table->rules[i % table->rule_count];

		CHECK(a == b || memcmp(a, b, sizeof(*a)));
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct unwind_table table;
	struct elf_builder b;
	Elf64_Shdr *section;
	struct elf_file *elf;
	int err;

	if (!size)
		return 0;
	b = elf_builder_init();
	elf_builder_section(&b, ".text", SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, NULL, 4096);
	section = elf_builder_section(&b, ".eh_frame_hdr", SHT_PROGBITS, SHF_ALLOC, "\1\x1b\xff\xff\x04\0\0\0", 8);
	elf_builder_segment(&b, PT_GNU_EH_FRAME, section);
	elf_builder_section(&b, ".eh_frame", SHT_PROGBITS, SHF_ALLOC, data + 1, size - 1);
	elf_builder_finish(&b, data[0] & 1);
	CHECK(!elf_file_open_memory(b.bytes, b.size, "fuzz", &elf, NULL));
	err = unwind_table_compile(elf, NULL, &table, NULL);
	CHECK(!err || err == -ENOENT || err == -EBADMSG);
	if (err != -EBADMSG) {
		check_table(elf, &table);
		unwind_table_deinit(&table);
	}
	elf_file_close(elf);
	elf_builder_deinit(&b);
	return 0;
}
