// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A symbol by its name. The dynamic symbols have a hash table, which answers from a handful of small reads even in
 * a file of 100 MB. Tables without one are searched by their strings: the name's places in the string table first, then
 * one pass over the symbols comparing numbers.
 *
 * DT_HASH is specified in gABI chapter 5, "Hash Table". DT_GNU_HASH: nbuckets, symoffset, bloom_size, bloom_shift as
 * u32; bloom_size words of 64 bits; nbuckets u32, the first symbol of each; then one u32 per symbol from symoffset on,
 * the hash with the lowest bit set on the last symbol of a bucket (binutils bfd/elflink.c, glibc elf/dl-lookup.c).
 */
#include <stdlib.h>
#include <string.h>

#include "base/cursor.h"
#include "elf/elf_file.h"
#include "elf/internal.h"

/* Places of one name in a string table that are followed up: suffixes of longer names share its letters. */
#define NAME_PLACES_MAX 64

static bool read_u32_at(const struct elf_file *elf, uint64_t vaddr, uint32_t *ret)
{
	const uint8_t *bytes = elf_file_bytes_at(elf, vaddr, sizeof(*ret));

	if (bytes)
		memcpy(ret, bytes, sizeof(*ret));
	return bytes;
}

const struct elf_dynamic *elf_file_dynamic(const struct elf_file *elf)
{
	const Elf64_Phdr *p = elf_segment_of_type(elf, PT_DYNAMIC);
	struct elf_dynamic *dynamic = &elf->cache->dynamic;
	struct elf_section section;
	const uint8_t *bytes = NULL;
	struct cursor c;

	if (dynamic->parsed)
		return dynamic;
	dynamic->parsed = true;
	/* A separate debug file keeps the headers but not the bytes. */
	if (elf_file_section_header(elf, ".dynamic", &section) && section.type == SHT_NOBITS)
		return dynamic;
	if (p)
		bytes = elf_file_bytes(elf, p->p_offset, p->p_filesz);
	c = cursor_init(bytes, bytes ? p->p_filesz : 0);
	while (cursor_left(&c) >= sizeof(Elf64_Dyn)) {
		int64_t tag = cursor_s64(&c);
		uint64_t value = cursor_u64(&c);

		if (tag == DT_NULL)
			break;
		else if (tag == DT_SYMTAB)
			dynamic->symtab = value;
		else if (tag == DT_STRTAB)
			dynamic->strtab = value;
		else if (tag == DT_STRSZ)
			dynamic->strsz = value;
		else if (tag == DT_HASH)
			dynamic->hash = value;
		else if (tag == DT_GNU_HASH)
			dynamic->gnu_hash = value;
		else if (tag == DT_FLAGS_1)
			dynamic->flags_1 = value;
		else if (tag == DT_NEEDED)
			dynamic->needs = true;
	}
	return dynamic;
}

/* Defined, and something a name can stand for. */
static bool is_definition(const Elf64_Sym *symbol)
{
	unsigned int type = ELF64_ST_TYPE(symbol->st_info);

	return symbol->st_shndx != SHN_UNDEF && type != STT_SECTION && type != STT_FILE;
}

/* Whether dynamic symbol `index` bears the name and is defined. */
static bool dynamic_symbol_is(const struct elf_file *elf, const struct elf_dynamic *dynamic, uint64_t index,
			      const char *name, size_t length, Elf64_Sym *ret)
{
	const uint8_t *bytes = elf_file_bytes_at(elf, dynamic->symtab + index * sizeof(*ret), sizeof(*ret));
	const uint8_t *string;
	Elf64_Sym symbol;

	if (!bytes)
		return false;
	memcpy(&symbol, bytes, sizeof(symbol));
	string = elf_file_bytes_at(elf, dynamic->strtab + symbol.st_name, length + 1);
	if (!string || memcmp(string, name, length + 1) || !is_definition(&symbol))
		return false;
	*ret = symbol;
	return true;
}

static bool find_by_gnu_hash(const struct elf_file *elf, const struct elf_dynamic *dynamic, const char *name,
			     Elf64_Sym *ret)
{
	uint32_t buckets, offset, bloom_words, bloom_shift, at, value, hash = 5381;
	const uint8_t *bytes = elf_file_bytes_at(elf, dynamic->gnu_hash, 16);
	struct cursor c = cursor_init(bytes, bytes ? 16 : 0);
	size_t length = strlen(name), i;
	uint64_t word, table;

	buckets = cursor_u32(&c);
	offset = cursor_u32(&c);
	bloom_words = cursor_u32(&c);
	bloom_shift = cursor_u32(&c);
	if (!cursor_ok(&c) || !buckets || !bloom_words || bloom_shift >= 32)
		return false;
	for (i = 0; i < length; i++)
		hash = hash * 33 + (uint8_t)name[i];
	table = dynamic->gnu_hash + 16;
	bytes = elf_file_bytes_at(elf, table + (uint64_t)(hash / 64 % bloom_words) * sizeof(word), sizeof(word));
	if (!bytes)
		return false;
	memcpy(&word, bytes, sizeof(word));
	if (!(word >> hash % 64 & 1) || !(word >> (hash >> bloom_shift) % 64 & 1))
		return false;
	table += bloom_words * sizeof(word);
	if (!read_u32_at(elf, table + (uint64_t)(hash % buckets) * 4, &at) || at < offset)
		return false;
	table += (uint64_t)buckets * 4;
	for (;; at++) {
		if (!read_u32_at(elf, table + (uint64_t)(at - offset) * 4, &value))
			return false;
		if ((value | 1) == (hash | 1) && dynamic_symbol_is(elf, dynamic, at, name, length, ret))
			return true;
		if (value & 1 || at == UINT32_MAX)
			return false;
	}
}

static bool find_by_sysv_hash(const struct elf_file *elf, const struct elf_dynamic *dynamic, const char *name,
			      Elf64_Sym *ret)
{
	uint32_t buckets, symbols, at, left, last, hash = 0;
	size_t length = strlen(name), i;

	/* The number of symbols bounds the walk below, so the table must really have as many. */
	if (!read_u32_at(elf, dynamic->hash, &buckets) || !read_u32_at(elf, dynamic->hash + 4, &symbols) || !buckets ||
	    !read_u32_at(elf, dynamic->hash + 4 + ((uint64_t)buckets + symbols) * 4, &last))
		return false;
	for (i = 0; i < length; i++) {
		hash = (hash << 4) + (uint8_t)name[i];
		hash ^= (hash & 0xf0000000) >> 24;
		hash &= 0x0fffffff;
	}
	if (!read_u32_at(elf, dynamic->hash + 8 + (uint64_t)(hash % buckets) * 4, &at))
		return false;
	/* A chain visits a symbol once, or it is a loop that somebody made. */
	for (left = symbols; at != STN_UNDEF && left; left--) {
		if (dynamic_symbol_is(elf, dynamic, at, name, length, ret))
			return true;
		if (!read_u32_at(elf, dynamic->hash + 8 + ((uint64_t)buckets + at) * 4, &at))
			return false;
	}
	return false;
}

/* How many dynamic symbols the hash tables speak of: without section headers nothing else tells. */
static size_t dynamic_symbol_count(const struct elf_file *elf, const struct elf_dynamic *dynamic)
{
	const uint8_t *bytes = dynamic->gnu_hash ? elf_file_bytes_at(elf, dynamic->gnu_hash, 16) : NULL;
	struct cursor c = cursor_init(bytes, bytes ? 16 : 0);
	uint32_t buckets, offset, bloom_words, i, value, last = 0;
	uint64_t table;

	if (dynamic->hash && read_u32_at(elf, dynamic->hash + 4, &value))
		return value;
	buckets = cursor_u32(&c);
	offset = cursor_u32(&c);
	bloom_words = cursor_u32(&c);
	if (!cursor_ok(&c))
		return 0;
	table = dynamic->gnu_hash + 16 + (uint64_t)bloom_words * 8;
	for (i = 0; i < buckets && read_u32_at(elf, table + (uint64_t)i * 4, &value); i++)
		if (value > last)
			last = value;
	if (last < offset)
		return 0;
	table += (uint64_t)buckets * 4;
	while (read_u32_at(elf, table + (uint64_t)(last - offset) * 4, &value) && !(value & 1) && last < UINT32_MAX - 1)
		last++;
	return (size_t)last + 1;
}

bool elf_file_symtab_place(const struct elf_file *elf, uint32_t type, struct elf_symtab_place *ret)
{
	const struct elf_section_entry *entry = elf_section_of_type(elf, type);
	struct elf_symtab_place place = {};
	const struct elf_dynamic *dynamic;

	if (entry && entry->link < elf->sections.count) {
		const struct elf_section *strings = &elf->sections.at[entry->link].section;

		if (strings->type == SHT_NOBITS)
			return false;
		place.symbols = entry->section.offset;
		place.count = entry->section.size / sizeof(Elf64_Sym);
		place.strings = strings->offset;
		place.strings_size = strings->size;
	} else if (type == SHT_DYNSYM) {
		dynamic = elf_file_dynamic(elf);
		if (!dynamic->symtab || !dynamic->strtab)
			return false;
		place.count = dynamic_symbol_count(elf, dynamic);
		place.strings_size = dynamic->strsz;
		if (!elf_file_offset_of(elf, dynamic->symtab, place.count * sizeof(Elf64_Sym), &place.symbols) ||
		    !elf_file_offset_of(elf, dynamic->strtab, place.strings_size, &place.strings))
			return false;
	}
	if (!place.count || !place.strings_size)
		return false;
	*ret = place;
	return true;
}

bool elf_file_symtab(const struct elf_file *elf, uint32_t type, struct elf_symtab *ret)
{
	struct elf_symtab_place place;
	struct elf_symtab table;

	if (!elf_file_symtab_place(elf, type, &place))
		return false;
	table.symbols = elf_file_bytes(elf, place.symbols, place.count * sizeof(Elf64_Sym));
	table.strings = (const char *)elf_file_bytes(elf, place.strings, place.strings_size);
	if (!table.symbols || !table.strings)
		return false;
	table.count = place.count;
	table.strings_size = place.strings_size;
	*ret = table;
	return true;
}

static bool find_by_strings(const struct elf_symtab *table, const char *name, Elf64_Sym *ret)
{
	size_t length = strlen(name), places_count = 0, at = 0, i, k;
	size_t places[NAME_PLACES_MAX];

	while (places_count < NAME_PLACES_MAX) {
		const char *found = memmem(table->strings + at, table->strings_size - at, name, length);

		if (!found)
			break;
		at = (size_t)(found - table->strings);
		/* "name@VERSION" and "name@@VERSION" are the name too. */
		if (table->strings_size - at > length && (!found[length] || found[length] == '@'))
			places[places_count++] = at;
		at++;
	}
	for (i = 0; i < table->count && places_count; i++) {
		Elf64_Sym symbol = elf_symtab_at(table, i);

		if (symbol.st_name < places[0] || symbol.st_name > places[places_count - 1])
			continue;
		for (k = 0; k < places_count; k++)
			if (symbol.st_name == places[k] && is_definition(&symbol)) {
				*ret = symbol;
				return true;
			}
	}
	return false;
}

static bool find_dynamic(const struct elf_file *elf, const char *name, Elf64_Sym *ret)
{
	const struct elf_dynamic *dynamic = elf_file_dynamic(elf);
	struct elf_symtab table;

	if (dynamic->symtab && dynamic->strtab && dynamic->gnu_hash)
		return find_by_gnu_hash(elf, dynamic, name, ret);
	if (dynamic->symtab && dynamic->strtab && dynamic->hash)
		return find_by_sysv_hash(elf, dynamic, name, ret);
	return elf_file_symtab(elf, SHT_DYNSYM, &table) && find_by_strings(&table, name, ret);
}

bool elf_file_find_symbol(const struct elf_file *elf, const char *name, uint64_t *vaddr, uint64_t *size)
{
	const struct elf_file *minidebug;
	struct elf_symtab table;
	Elf64_Sym symbol;

	if (!*name)
		return false;
	if (!find_dynamic(elf, name, &symbol) &&
	    !(elf_file_symtab(elf, SHT_SYMTAB, &table) && find_by_strings(&table, name, &symbol))) {
		minidebug = elf_file_minidebug(elf);
		if (!minidebug || !elf_file_symtab(minidebug, SHT_SYMTAB, &table) ||
		    !find_by_strings(&table, name, &symbol))
			return false;
	}
	*vaddr = symbol.st_value;
	*size = symbol.st_size;
	return true;
}

bool elf_file_find_dynamic_symbol(const struct elf_file *elf, const char *name, uint64_t *vaddr, uint64_t *size)
{
	Elf64_Sym symbol;

	if (!*name || !find_dynamic(elf, name, &symbol))
		return false;
	*vaddr = symbol.st_value;
	*size = symbol.st_size;
	return true;
}
