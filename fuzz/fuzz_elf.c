// SPDX-License-Identifier: GPL-2.0-or-later
/* Opens any bytes as an ELF file and asks everything of it: the answers must lie inside, and nothing may crash. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "elf/elf_file.h"
#include "elf/symbols.h"
#include "unwind/unwind_parts.h"
#include "fuzz.h"

static volatile uint8_t sink;

static void touch(const uint8_t *bytes, size_t size)
{
	if (bytes && size)
		sink = bytes[0] ^ bytes[size - 1];
}

static void touch_file(const struct elf_file *elf)
{
	static const char *const sections[] = {".text", ".eh_frame", ".symtab", ".dynsym", ".plt", ".gnu_debugdata"};
	static const char *const names[] = {"main", "_start", "a", "f1", "PyGILState_Ensure"};
	struct elf_section section, hdr;
	uint64_t vaddr = 0, length;
	const uint8_t *id;
	size_t i, count;

	count = elf_file_build_id(elf, &id);
	touch(count ? id : NULL, count);
	for (i = 0; i < sizeof(sections) / sizeof(sections[0]); i++)
		if (elf_file_section(elf, sections[i], &section))
			touch(section.bytes, section.size);
	if (elf_file_eh_frame(elf, &section, &hdr)) {
		touch(section.bytes, section.size);
		touch(hdr.bytes, hdr.bytes ? hdr.size : 0);
	}
	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		elf_file_find_symbol(elf, names[i], &vaddr, &length);
	elf_file_vaddr_of_offset(elf, 0x1000, &vaddr);
	elf_file_segments(elf, &count);
	for (i = 0; i < count && i < 8; i++)
		touch(elf_file_bytes_at(elf, elf_file_segments(elf, &count)[i].vaddr, 16), 16);
	unwind_find_fde(elf, elf_file_entry(elf), &vaddr, &length);
}

static void touch_symbols(const struct elf_file *elf)
{
	struct elf_symbols *symbols;
	struct elf_symbol symbol, found;
	size_t i;

	if (elf_symbols_create(elf, "/nonexistent", &symbols, NULL))
		return;
	for (i = 0; i < elf_symbols_count(symbols); i++) {
		if (!elf_symbols_at(symbols, i, &symbol) || !symbol.size)
			abort();
		touch((const uint8_t *)symbol.name, strlen(symbol.name) + 1);
		if (!elf_symbols_lookup(symbols, symbol.vaddr, &found) || found.vaddr != symbol.vaddr)
			abort();
	}
	elf_symbols_destroy(symbols);
}

/* Those of some addresses, and parts of the table, where the file is large. */
static void touch_parts(const struct elf_file *elf)
{
	const uint64_t vaddrs[] = {elf_file_entry(elf), elf_file_entry(elf) + 64, 0x1000, 0x401000, UINT64_MAX};
	struct unwind_parts *parts;
	struct elf_symbols *some;
	struct elf_symbol found;
	struct unwind_table table;
	uint64_t digest[2];
	size_t i;

	if (!elf_symbols_create_for(elf, "/nonexistent", vaddrs, sizeof(vaddrs) / sizeof(*vaddrs), &some, NULL)) {
		for (i = 0; i < sizeof(vaddrs) / sizeof(*vaddrs); i++)
			if (elf_symbols_lookup(some, vaddrs[i], &found))
				touch((const uint8_t *)found.name, strlen(found.name) + 1);
		elf_symbols_destroy(some);
	}
	elf_file_digest(elf, UINT64_MAX, digest);
	if (unwind_parts_create(elf, &parts, NULL))
		return;
	for (i = 0; i < 4; i++)
		if (!unwind_parts_compile(parts, elf, NULL, (uint32_t)i << 20, (uint32_t)(i + 1) << 20, &table, NULL))
			unwind_table_deinit(&table);
	unwind_parts_destroy(parts);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct unwind_table table;
	struct elf_file *elf;
	int err;

	if (elf_file_open_memory(data, size, "fuzz", &elf, NULL))
		return 0;
	touch_file(elf);
	touch_symbols(elf);
	touch_parts(elf);
	err = unwind_table_compile(elf, NULL, &table, NULL);
	if (!err || err == -ENOENT)
		unwind_table_deinit(&table);
	elf_file_close(elf);
	return 0;
}
