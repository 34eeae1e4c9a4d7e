// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The index of a package, .debug_cu_index. Numbers have 32 bits unless stated otherwise:
 *
 *   version (2, or 16 bits of 5 and 16 of 0) │ columns │ units │ slots
 *   slots × 64-bit id, 0: free               │ slots × row, from 1; 0: free
 *   columns × number of a section            │ units × columns × offset │ units × columns × size
 *
 * It is a hash table by the lower bits of the id. Here all slots are searched, because it is done only once for each
 * unit.
 */
#include "dwarf/package.h"

#include <gelf.h>
#include <stdlib.h>
#include <string.h>

#include "base/cursor.h"

#define COLUMNS_MAX  8
#define UNITS_MAX    (1u << 20)
#define SIZE_MAX_ALL (1u << 30) /* bytes of a unit */

/* What a column's number means, in version 2 and in 5. */
static const struct {
	const char *name;
	uint8_t number[2]; /* 0: there is none */
} kinds[] = {
	{".debug_info.dwo", {1, 1}},     {".debug_abbrev.dwo", {3, 3}},   {".debug_line.dwo", {4, 4}},
	{".debug_loc.dwo", {5, 0}},      {".debug_loclists.dwo", {0, 5}}, {".debug_str_offsets.dwo", {6, 6}},
	{".debug_rnglists.dwo", {0, 8}}, {".debug_str.dwo", {0, 0}}, /* of all units */
};
#define KINDS (sizeof(kinds) / sizeof(kinds[0]))

struct part {
	const uint8_t *bytes;
	uint64_t size;
};

/* Where in the columns a unit's row is; 0: nowhere. */
static uint32_t find_row(struct cursor *c, uint32_t slots, uint64_t id)
{
	struct cursor rows = *c;
	uint32_t i;

	if (!cursor_skip(&rows, (size_t)slots * 8))
		return 0;
	for (i = 0; i < slots; i++) {
		uint64_t slot = cursor_u64(c);
		uint32_t row = cursor_u32(&rows);

		if (slot == id && row && cursor_ok(c) && cursor_ok(&rows))
			return row;
	}
	return 0;
}

static bool find_section(Elf *package, const char *name, struct part *ret)
{
	Elf_Scn *section = NULL;
	const char *found;
	size_t names;

	if (elf_getshdrstrndx(package, &names))
		return false;
	while ((section = elf_nextscn(package, section))) {
		const Elf_Data *data;
		GElf_Shdr header; /* a copy: in the file it may lie anywhere */

		found = gelf_getshdr(section, &header) ? elf_strptr(package, names, header.sh_name) : NULL;
		if (!found || strcmp(found, name) != 0 || (header.sh_flags & SHF_COMPRESSED))
			continue;
		data = elf_rawdata(section, NULL);
		if (!data || !data->d_buf)
			return false;
		*ret = (struct part){data->d_buf, data->d_size};
		return true;
	}
	return false;
}

static bool take_part(Elf *package, const char *name, uint64_t offset, uint64_t size, struct part *ret)
{
	struct part section;

	if (!find_section(package, name, &section) || offset > section.size || size > section.size - offset)
		return false;
	*ret = (struct part){section.bytes + offset, size};
	return true;
}

/* The parts of the unit, by the rows of offsets and sizes; `c` stands at the columns' numbers. */
static bool take_parts(Elf *package, struct cursor *c, uint32_t columns, uint32_t units, uint32_t row,
		       unsigned int version, struct part parts[KINDS])
{
	uint32_t numbers[COLUMNS_MAX], i;
	struct cursor offsets, sizes;
	size_t k;

	for (i = 0; i < columns; i++)
		numbers[i] = cursor_u32(c);
	offsets = *c;
	cursor_skip(&offsets, 4ull * columns * (row - 1));
	sizes = *c;
	cursor_skip(&sizes, 4ull * columns * ((size_t)units + row - 1));
	for (i = 0; i < columns; i++) {
		uint32_t offset = cursor_u32(&offsets), size = cursor_u32(&sizes);

		if (!cursor_ok(&offsets) || !cursor_ok(&sizes))
			return false;
		for (k = 0; k < KINDS && (!numbers[i] || kinds[k].number[version == 5] != numbers[i]); k++)
			;
		if (k < KINDS && size && !take_part(package, kinds[k].name, offset, size, &parts[k]))
			return false;
	}
	return true;
}

/* Headers, then the parts, then the names of the sections. */
static bool write_file(Elf64_Half machine, const struct part parts[KINDS], uint8_t **ret, size_t *size)
{
	char names[512] = "";
	Elf64_Shdr sections[KINDS + 2] = {};
	size_t names_size = 1, at = sizeof(Elf64_Ehdr), count = 1, i;
	Elf64_Ehdr header = {.e_type = ET_REL,
			     .e_machine = machine,
			     .e_version = EV_CURRENT,
			     .e_ehsize = sizeof(header),
			     .e_shentsize = sizeof(Elf64_Shdr)};
	uint8_t *bytes;

	memcpy(header.e_ident, ELFMAG, SELFMAG);
	header.e_ident[EI_CLASS] = ELFCLASS64;
	header.e_ident[EI_DATA] = ELFDATA2LSB;
	header.e_ident[EI_VERSION] = EV_CURRENT;
	for (i = 0; i < KINDS; i++) {
		if (!parts[i].size)
			continue;
		sections[count++] = (Elf64_Shdr){.sh_name = (Elf64_Word)names_size,
						 .sh_type = SHT_PROGBITS,
						 .sh_offset = at,
						 .sh_size = parts[i].size,
						 .sh_addralign = 1};
		memcpy(names + names_size, kinds[i].name, strlen(kinds[i].name) + 1);
		names_size += strlen(kinds[i].name) + 1;
		at += parts[i].size;
		if (at > SIZE_MAX_ALL)
			return false;
	}
	memcpy(names + names_size, ".shstrtab", 10);
	sections[count] = (Elf64_Shdr){.sh_name = (Elf64_Word)names_size,
				       .sh_type = SHT_STRTAB,
				       .sh_offset = at,
				       .sh_size = names_size + 10,
				       .sh_addralign = 1};
	names_size += 10;
	header.e_shstrndx = (Elf64_Half)count++;
	header.e_shnum = (Elf64_Half)count;
	header.e_shoff = (at + names_size + 7) & ~7ull;
	*size = header.e_shoff + count * sizeof(*sections);
	bytes = calloc(1, *size);
	if (!bytes)
		return false;
	memcpy(bytes, &header, sizeof(header));
	for (i = 0, at = sizeof(header); i < KINDS; at += parts[i++].size)
		if (parts[i].size)
			memcpy(bytes + at, parts[i].bytes, parts[i].size);
	memcpy(bytes + at, names, names_size);
	memcpy(bytes + header.e_shoff, sections, count * sizeof(*sections));
	*ret = bytes;
	return true;
}

bool package_unit(Elf *package, uint64_t id, uint8_t **ret, size_t *size)
{
	struct part parts[KINDS] = {};
	uint32_t version, columns, units, slots, row;
	struct part index;
	GElf_Ehdr header;
	struct cursor c;

	if (!gelf_getehdr(package, &header) || !find_section(package, ".debug_cu_index", &index))
		return false;
	c = cursor_init(index.bytes, index.size);
	version = cursor_u32(&c) & 0xffff;
	columns = cursor_u32(&c);
	units = cursor_u32(&c);
	slots = cursor_u32(&c);
	if ((version != 2 && version != 5) || columns > COLUMNS_MAX || units > UNITS_MAX || slots > 4 * UNITS_MAX)
		return false;
	row = find_row(&c, slots, id);
	if (!row || row > units)
		return false;
	cursor_seek(&c, 16 + 12ull * slots);
	if (!cursor_ok(&c) || !take_parts(package, &c, columns, units, row, version, parts) || !parts[0].size)
		return false;
	find_section(package, ".debug_str.dwo", &parts[KINDS - 1]);
	return write_file(header.e_machine, parts, ret, size);
}
