/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the parts of src/elf share: the headers as parsed, and reading by offset. Structures that lie in the file are
 * those of <elf.h> (System V gABI, chapters 4 and 5).
 */
#ifndef STRATA_ELF_INTERNAL_H
#define STRATA_ELF_INTERNAL_H

#include <elf.h>
#include <string.h>

#include "base/table.h"
#include "base/vec.h"
#include "elf/elf_file.h"

struct elf_section_entry {
	struct elf_section section; /* bytes NULL */
	uint64_t entsize;
	uint32_t link, info;
};

/* What PT_DYNAMIC says of the dynamic symbols; vaddrs, 0 when absent. */
struct elf_dynamic {
	bool parsed;
	uint64_t symtab, strtab, strsz;
	uint64_t hash, gnu_hash;
	uint64_t flags_1; /* DF_1_* */
	bool needs;       /* has a DT_NEEDED */
};

/* The state that reading changes. */
struct elf_cache {
	struct table chunks; /* number of the chunk + 1 -> struct elf_block */
	struct table spans;  /* offset + 1 -> struct elf_block */
	struct elf_dynamic dynamic;
	struct elf_file *minidebug;
	void *minidebug_bytes;
	bool minidebug_tried;
	bool starved; /* memory was short for something that the file has */
	int unread;   /* the first error of reading it; 0: none */
};

struct elf_file {
	char *path;
	const uint8_t *memory; /* the image, or NULL: read from the file */
	struct foreign_file *file;
	uint64_t base; /* where it begins in the file: in an archive */
	uint64_t size; /* of the file, or its part, when it was opened */
	Elf64_Ehdr header;
	VEC(struct elf_segment) segments;
	VEC(Elf64_Phdr) other_segments; /* what is not PT_LOAD */
	VEC(struct elf_section_entry) sections;
	uint8_t build_id[ELF_BUILD_ID_MAX];
	size_t build_id_size;
	struct elf_cache *cache;
};

/* `size` bytes of the file; NULL when the file has fewer, or memory is short. They live as long as the elf_file. */
const uint8_t *elf_file_bytes(const struct elf_file *elf, uint64_t offset, uint64_t size);

/* The same as a copy; nothing is kept. For what is read only once, sequentially. */
bool elf_file_copy(const struct elf_file *elf, uint64_t offset, size_t size, void *ret);

/* Where the file has `size` bytes of the loaded image; false when it has fewer. */
bool elf_file_offset_of(const struct elf_file *elf, uint64_t vaddr, size_t size, uint64_t *ret);

/* The bytes of a section that was parsed; NULL when it has none or they lie outside the file. */
const uint8_t *elf_section_bytes(const struct elf_file *elf, const struct elf_section *section);

/* The first section of a type; NULL when there is none. */
const struct elf_section_entry *elf_section_of_type(const struct elf_file *elf, uint32_t type);

/* The first segment of a type other than PT_LOAD; NULL when there is none. */
const Elf64_Phdr *elf_segment_of_type(const struct elf_file *elf, uint32_t type);

const struct elf_dynamic *elf_file_dynamic(const struct elf_file *elf);

/* A symbol table and its strings, as bytes. `count` entries of Elf64_Sym. */
struct elf_symtab {
	const uint8_t *symbols;
	size_t count;
	const char *strings;
	size_t strings_size;
};

/* Where they lie in the file. */
struct elf_symtab_place {
	uint64_t symbols, count, strings, strings_size;
};

/* Maximum length of a name; longer ones are ignored. */
#define ELF_NAME_MAX 65535

/* How many bytes of names are read for one table: many symbols may share one long string, as suffixes of it. */
static inline uint64_t elf_names_budget(uint64_t strings_size)
{
	return 4 * strings_size + (1 << 20);
}

bool elf_file_symtab_place(const struct elf_file *elf, uint32_t type, struct elf_symtab_place *ret);

/* The table behind SHT_SYMTAB or SHT_DYNSYM; the latter also by PT_DYNAMIC. False when there is none. */
bool elf_file_symtab(const struct elf_file *elf, uint32_t type, struct elf_symtab *ret);

static inline Elf64_Sym elf_symtab_at(const struct elf_symtab *table, size_t index)
{
	Elf64_Sym symbol;

	memcpy(&symbol, table->symbols + index * sizeof(symbol), sizeof(symbol));
	return symbol;
}

#endif
