/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * elf_builder: small ELF files made in memory, for tests and fuzz targets. One executable PT_LOAD maps the whole file
 * at ELF_BUILDER_BASE, so a section's vaddr is the base plus its offset. What is added never fails but by abort().
 */
#ifndef STRATA_TESTS_ELF_BUILDER_H
#define STRATA_TESTS_ELF_BUILDER_H

#include <elf.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define ELF_BUILDER_BASE     0x400000ull
#define ELF_BUILDER_HEADERS  0x200
#define ELF_BUILDER_SECTIONS 24
#define ELF_BUILDER_SEGMENTS 4

struct elf_builder {
	uint8_t *bytes;
	size_t size;
	Elf64_Shdr sections[ELF_BUILDER_SECTIONS];
	uint16_t section_count;
	Elf64_Phdr segments[ELF_BUILDER_SEGMENTS];
	uint16_t segment_count;
	char names[1024];
	uint32_t names_size;
	uint16_t type, machine;
	uint64_t entry;
};

static inline size_t elf_builder_append(struct elf_builder *b, const void *bytes, size_t size)
{
	size_t at = (b->size + 15) & ~(size_t)15;

	b->bytes = realloc(b->bytes, at + size);
	if (!b->bytes)
		abort();
	memset(b->bytes + b->size, 0, at - b->size);
	if (bytes)
		memcpy(b->bytes + at, bytes, size);
	else
		memset(b->bytes + at, 0, size);
	b->size = at + size;
	return at;
}

static inline struct elf_builder elf_builder_init(void)
{
	struct elf_builder b = {.section_count = 1, .names_size = 1, .type = ET_DYN, .machine = EM_X86_64};

	elf_builder_append(&b, NULL, ELF_BUILDER_HEADERS);
	return b;
}

static inline void elf_builder_deinit(struct elf_builder *b)
{
	free(b->bytes);
}

/* The vaddr at which the next section will lie. */
static inline uint64_t elf_builder_next(const struct elf_builder *b)
{
	return ELF_BUILDER_BASE + ((b->size + 15) & ~(size_t)15);
}

/* Adds a section; NULL bytes are zeros. The header may be changed until elf_builder_finish(). */
static inline Elf64_Shdr *elf_builder_section(struct elf_builder *b, const char *name, uint32_t type, uint64_t flags,
					      const void *bytes, size_t size)
{
	Elf64_Shdr *section = &b->sections[b->section_count];
	size_t name_size = strlen(name) + 1;

	if (b->section_count == ELF_BUILDER_SECTIONS || b->names_size + name_size > sizeof(b->names))
		abort();
	section->sh_name = b->names_size;
	memcpy(b->names + b->names_size, name, name_size);
	b->names_size += (uint32_t)name_size;
	section->sh_type = type;
	section->sh_flags = flags;
	section->sh_offset = elf_builder_append(b, bytes, size);
	section->sh_addr = ELF_BUILDER_BASE + section->sh_offset;
	section->sh_size = size;
	b->section_count++;
	return section;
}

static inline void elf_builder_segment(struct elf_builder *b, uint32_t type, const Elf64_Shdr *section)
{
	if (b->segment_count == ELF_BUILDER_SEGMENTS - 1)
		abort();
	b->segments[b->segment_count++] = (Elf64_Phdr){.p_type = type,
						       .p_flags = PF_R,
						       .p_offset = section->sh_offset,
						       .p_vaddr = section->sh_addr,
						       .p_filesz = section->sh_size,
						       .p_memsz = section->sh_size,
						       .p_align = 4};
}

/* Writes the headers; with `stripped`, no section headers. The image is b->bytes, b->size. */
static inline void elf_builder_finish(struct elf_builder *b, int stripped)
{
	Elf64_Ehdr header = {.e_type = b->type,
			     .e_machine = b->machine,
			     .e_version = EV_CURRENT,
			     .e_entry = b->entry,
			     .e_phoff = sizeof(header),
			     .e_ehsize = sizeof(header),
			     .e_phentsize = sizeof(Elf64_Phdr),
			     .e_shentsize = sizeof(Elf64_Shdr)};

	memcpy(header.e_ident, ELFMAG, SELFMAG);
	header.e_ident[EI_CLASS] = ELFCLASS64;
	header.e_ident[EI_DATA] = ELFDATA2LSB;
	header.e_ident[EI_VERSION] = EV_CURRENT;
	if (!stripped) {
		elf_builder_section(b, ".shstrtab", SHT_STRTAB, 0, NULL, sizeof(b->names));
		memcpy(b->bytes + b->sections[b->section_count - 1].sh_offset, b->names, sizeof(b->names));
		header.e_shstrndx = b->section_count - 1;
		header.e_shnum = b->section_count;
		header.e_shoff = elf_builder_append(b, b->sections, b->section_count * sizeof(Elf64_Shdr));
	}
	b->segments[b->segment_count++] = (Elf64_Phdr){.p_type = PT_LOAD,
						       .p_flags = PF_R | PF_X,
						       .p_vaddr = ELF_BUILDER_BASE,
						       .p_filesz = b->size,
						       .p_memsz = b->size,
						       .p_align = 4096};
	header.e_phnum = b->segment_count;
	memcpy(b->bytes, &header, sizeof(header));
	memcpy(b->bytes + sizeof(header), b->segments, b->segment_count * sizeof(Elf64_Phdr));
}

#endif
