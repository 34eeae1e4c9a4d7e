// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Reading an ELF file that may change or lie.
 *
 * All bytes come through elf_file_bytes(). For an image in memory it only checks the range. For a file it reads, in one
 * of two ways, and keeps what it read:
 *
 *   chunks   of 4 KiB, each with the first KiB of the next, so that any small piece (a header, a symbol, an
 *            instruction) lies in one chunk wherever it begins
 *   spans    exactly the bytes asked for, when they are too many for that: whole sections
 *
 * The size of the file is taken once, when it is opened; a read that comes back short (the file was truncated since)
 * means that the bytes are not there. No byte is looked at twice from the file, so a check stays true; of what was only
 * copied (elf_file_copy_at()) nothing is known the next time.
 */
#include "elf/elf_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "arch/arch.h"
#include "base/cursor.h"
#include "base/large.h"
#include "elf/internal.h"

#define CHUNK_SIZE    (4u << 10)
#define CHUNK_OVERLAP (1u << 10)
/* More than any section strata reads; keeps a sparse file of terabytes from taking the memory. */
#define SPAN_MAX (1ull << 30)
/* Far more than linkers write. */
#define SECTIONS_MAX (1u << 20)
/* What the kernel loads: 64 KiB of program headers (fs/binfmt_elf.c, load_elf_phdrs). */
#define SEGMENTS_MAX 1170

struct elf_block {
	size_t size;
	uint8_t bytes[];
};

static struct elf_block *read_block(const struct elf_file *elf, uint64_t offset, size_t size)
{
	struct elf_block *block = large_alloc(sizeof(*block) + size);
	ssize_t got;

	if (!block)
		return NULL;
	got = foreign_read(elf->file, block->bytes, size, elf->base + offset);
	if (got < 0 && !elf->cache->unread)
		elf->cache->unread = (int)got;
	block->size = got < 0 ? 0 : (size_t)got;
	return block;
}

/* Reads a block unless the table has one of enough bytes under `key`. A shorter one stays: it may have been given out.
 */
static const uint8_t *cached_block(const struct elf_file *elf, struct table *blocks, uint64_t key, uint64_t offset,
				   size_t size, size_t within, size_t wanted)
{
	struct elf_block *block;
	uint64_t found;

	if (table_get(blocks, key, &found)) {
		block = (struct elf_block *)(uintptr_t)found;
	} else {
		block = read_block(elf, offset, size);
		if (!block || table_set(blocks, key, (uint64_t)(uintptr_t)block)) {
			elf->cache->starved = true;
			free(block);
			return NULL;
		}
	}
	return within + wanted <= block->size ? block->bytes + within : NULL;
}

const uint8_t *elf_file_bytes(const struct elf_file *elf, uint64_t offset, uint64_t size)
{
	uint64_t within = offset % CHUNK_SIZE;
	uint64_t start = offset - within;
	uint64_t left = elf->size - start;

	if (offset > elf->size || size > elf->size - offset)
		return NULL;
	if (elf->memory)
		return elf->memory + offset;
	if (within + size <= CHUNK_SIZE + CHUNK_OVERLAP)
		return cached_block(elf, &elf->cache->chunks, start / CHUNK_SIZE + 1, start,
				    left < CHUNK_SIZE + CHUNK_OVERLAP ? left : CHUNK_SIZE + CHUNK_OVERLAP, within,
				    size);
	if (size > SPAN_MAX)
		return NULL;
	/* Spans of different sizes at one offset (damaged headers overlap) are different spans. */
	return cached_block(elf, &elf->cache->spans, (offset + 1) ^ size << 40, offset, size, 0, size);
}

int elf_file_starved(const struct elf_file *elf)
{
	return elf->cache->starved ? -ENOMEM : 0;
}

int elf_file_unread(const struct elf_file *elf)
{
	return elf->cache->starved ? -ENOMEM : elf->cache->unread;
}

static void parse_segments(struct elf_file *elf)
{
	const Elf64_Ehdr *header = &elf->header;
	uint64_t count = header->e_phnum;
	struct cursor c;
	const uint8_t *bytes;

	if (header->e_phentsize != sizeof(Elf64_Phdr) || !count || count > SEGMENTS_MAX)
		return;
	bytes = elf_file_bytes(elf, header->e_phoff, count * sizeof(Elf64_Phdr));
	if (!bytes)
		return;
	c = cursor_init(bytes, count * sizeof(Elf64_Phdr));
	while (!cursor_at_end(&c)) {
		Elf64_Phdr p;

		memcpy(&p, cursor_take(&c, sizeof(p)), sizeof(p));
		if (p.p_vaddr + p.p_memsz < p.p_vaddr || p.p_offset + p.p_filesz < p.p_offset)
			continue;
		if (p.p_type != PT_LOAD)
			elf->cache->starved |= vec_push(&elf->other_segments, p) != 0;
		else if (p.p_filesz <= p.p_memsz)
			elf->cache->starved |= vec_push(&elf->segments, (struct elf_segment){.vaddr = p.p_vaddr,
											     .offset = p.p_offset,
											     .filesz = p.p_filesz,
											     .memsz = p.p_memsz,
											     .flags = p.p_flags}) != 0;
	}
}

static bool read_section_header(const struct elf_file *elf, uint64_t index, Elf64_Shdr *ret)
{
	const uint8_t *bytes;

	if (elf->header.e_shoff > elf->size)
		return false;
	bytes = elf_file_bytes(elf, elf->header.e_shoff + index * sizeof(*ret), sizeof(*ret));
	if (bytes)
		memcpy(ret, bytes, sizeof(*ret));
	return bytes;
}

/* The number of sections and the index of their names; large ones stand in section 0 (gABI, "ELF header"). */
static bool section_count(const struct elf_file *elf, uint64_t *count, uint64_t *names)
{
	Elf64_Shdr first;

	if (!elf->header.e_shoff || elf->header.e_shentsize != sizeof(first) || !read_section_header(elf, 0, &first))
		return false;
	*count = elf->header.e_shnum ? elf->header.e_shnum : first.sh_size;
	*names = elf->header.e_shstrndx == SHN_XINDEX ? first.sh_link : elf->header.e_shstrndx;
	return *count <= SECTIONS_MAX && *names < *count;
}

static void parse_sections(struct elf_file *elf)
{
	uint64_t count, names_index, i;
	const uint8_t *names = NULL;
	Elf64_Shdr s;

	if (!section_count(elf, &count, &names_index))
		return;
	if (!read_section_header(elf, names_index, &s) || s.sh_type == SHT_NOBITS)
		return;
	names = elf_file_bytes(elf, s.sh_offset, s.sh_size);
	if (!names)
		return;
	uint64_t names_size = s.sh_size;

	for (i = 0; i < count && read_section_header(elf, i, &s); i++) {
		struct cursor c = cursor_init(names, names_size);
		struct elf_section_entry entry = {.entsize = s.sh_entsize, .link = s.sh_link, .info = s.sh_info};

		cursor_seek(&c, s.sh_name);
		entry.section.name = cursor_string(&c);
		if (!entry.section.name || s.sh_addr + s.sh_size < s.sh_addr)
			s.sh_type = SHT_NULL; /* keeps its index: others link to it */
		if (!entry.section.name)
			entry.section.name = "";
		entry.section.vaddr = s.sh_addr;
		entry.section.offset = s.sh_offset;
		entry.section.size = s.sh_size;
		entry.section.flags = s.sh_flags;
		entry.section.type = s.sh_type;
		if (vec_push(&elf->sections, entry)) {
			elf->cache->starved = true;
			break;
		}
	}
}

const struct elf_section_entry *elf_section_of_type(const struct elf_file *elf, uint32_t type)
{
	size_t i;

	for (i = 0; i < elf->sections.count; i++)
		if (elf->sections.at[i].section.type == type)
			return &elf->sections.at[i];
	return NULL;
}

const Elf64_Phdr *elf_segment_of_type(const struct elf_file *elf, uint32_t type)
{
	size_t i;

	for (i = 0; i < elf->other_segments.count; i++)
		if (elf->other_segments.at[i].p_type == type)
			return &elf->other_segments.at[i];
	return NULL;
}

/* Looks for NT_GNU_BUILD_ID among notes (gABI, "Note Section"; the parts of a note are padded to the alignment). */
static bool find_build_id(struct elf_file *elf, uint64_t offset, uint64_t size, uint64_t align)
{
	const uint8_t *bytes = elf_file_bytes(elf, offset, size);
	struct cursor c = cursor_init(bytes, bytes ? size : 0);

	align = align == 8 ? 8 : 4;
	while (cursor_left(&c) >= sizeof(Elf64_Nhdr)) {
		uint64_t name_size = cursor_u32(&c), desc_size = cursor_u32(&c);
		uint32_t type = cursor_u32(&c);
		size_t desc_at = (cursor_position(&c) + name_size + align - 1) & ~(align - 1);
		const uint8_t *name = cursor_take(&c, name_size);
		const uint8_t *desc;

		cursor_seek(&c, desc_at);
		desc = cursor_take(&c, desc_size);
		if (!desc)
			return false;
		if (type == NT_GNU_BUILD_ID && name_size == sizeof("GNU") && !memcmp(name, "GNU", sizeof("GNU")) &&
		    desc_size && desc_size <= ELF_BUILD_ID_MAX) {
			memcpy(elf->build_id, desc, desc_size);
			elf->build_id_size = desc_size;
			return true;
		}
		cursor_seek(&c, (cursor_position(&c) + align - 1) & ~(align - 1));
	}
	return false;
}

static void parse_build_id(struct elf_file *elf)
{
	struct elf_section section;
	size_t i;

	/* The section first: in a separate debug file the segments' bytes are not there. */
	if (elf_file_section_header(elf, ".note.gnu.build-id", &section) && section.type == SHT_NOTE &&
	    find_build_id(elf, section.offset, section.size, 4))
		return;
	for (i = 0; i < elf->other_segments.count; i++) {
		const Elf64_Phdr *p = &elf->other_segments.at[i];

		if (p->p_type == PT_NOTE && find_build_id(elf, p->p_offset, p->p_filesz, p->p_align))
			return;
	}
}

static int parse_header(struct elf_file *elf, struct diag *diag)
{
	const Elf64_Ehdr *header = &elf->header;
	const uint8_t *bytes = elf_file_bytes(elf, 0, sizeof(*header));

	if (!bytes || memcmp(bytes, ELFMAG, SELFMAG))
		return diag_fail(diag, ENOEXEC, "elf.magic", "%s: not an ELF file", elf->path);
	memcpy(&elf->header, bytes, sizeof(*header));
	if (header->e_ident[EI_CLASS] != ELFCLASS64 || header->e_ident[EI_DATA] != ELFDATA2LSB)
		return diag_fail(diag, ENOEXEC, "elf.class", "%s: not a 64-bit little-endian ELF file", elf->path);
	if (!arch_of(header->e_machine))
		return diag_fail(diag, ENOEXEC, "elf.machine", "%s: made for a machine strata does not know (%u)",
				 elf->path, header->e_machine);
	if (header->e_type != ET_EXEC && header->e_type != ET_DYN)
		return diag_fail(diag, ENOEXEC, "elf.type", "%s: neither a program nor a shared object", elf->path);
	return 0;
}

static struct elf_file *elf_file_new(const char *path)
{
	struct elf_file *elf = calloc(1, sizeof(*elf));

	if (!elf)
		return NULL;
	elf->path = strdup(path);
	elf->cache = calloc(1, sizeof(*elf->cache));
	if (!elf->path || !elf->cache) {
		elf_file_close(elf);
		return NULL;
	}
	return elf;
}

static int parse(struct elf_file *elf, struct elf_file **ret, struct diag *diag)
{
	int err = parse_header(elf, diag);

	if (!err) {
		parse_segments(elf);
		parse_sections(elf);
		parse_build_id(elf);
	}
	if (elf->cache->starved)
		err = diag_fail(diag, ENOMEM, "elf.memory", "%s: out of memory", elf->path);
	if (err)
		elf_file_close(elf);
	else
		*ret = elf;
	return err;
}

int elf_file_open_part(struct foreign_file *file, uint64_t offset, uint64_t size, const char *path,
		       struct elf_file **ret, struct diag *diag)
{
	struct elf_file *elf = elf_file_new(path);
	struct stat st;
	int err;

	if (!elf)
		return diag_fail(diag, ENOMEM, "elf.memory", "%s: out of memory", path);
	elf->file = foreign_share(file);
	err = foreign_stat(file, &st);
	if (err) {
		elf_file_close(elf);
		return diag_fail(diag, -err, "elf.open", "%s: %s", path, strerror(-err));
	}
	if (!S_ISREG(st.st_mode)) {
		elf_file_close(elf);
		return diag_fail(diag, ENOEXEC, "elf.magic", "%s: not a regular file", path);
	}
	elf->base = offset < (uint64_t)st.st_size ? offset : (uint64_t)st.st_size;
	elf->size = (uint64_t)st.st_size - elf->base;
	elf->size = size < elf->size ? size : elf->size;
	return parse(elf, ret, diag);
}

int elf_file_open_foreign(struct foreign_file *file, const char *path, struct elf_file **ret, struct diag *diag)
{
	return elf_file_open_part(file, 0, UINT64_MAX, path, ret, diag);
}

int elf_file_open(int fd, const char *path, struct elf_file **ret, struct diag *diag)
{
	int own = fcntl(fd, F_DUPFD_CLOEXEC, 0), err = errno;
	struct foreign_file *file = own < 0 ? NULL : foreign_wrap(own);

	if (!file) {
		err = own < 0 ? err : ENOMEM;
		return diag_fail(diag, err, "elf.open", "%s: %s", path, strerror(err));
	}
	err = elf_file_open_foreign(file, path, ret, diag);
	foreign_close(file);
	return err;
}

int elf_file_open_memory(const void *bytes, size_t size, const char *name, struct elf_file **ret, struct diag *diag)
{
	struct elf_file *elf = elf_file_new(name);

	if (!elf)
		return diag_fail(diag, ENOMEM, "elf.memory", "%s: out of memory", name);
	elf->memory = bytes;
	elf->size = bytes ? size : 0;
	return parse(elf, ret, diag);
}

static void free_blocks(struct table *blocks)
{
	struct table_slot *slot;
	size_t at = 0;

	while ((slot = table_next(blocks, &at)))
		free((void *)(uintptr_t)slot->value);
	table_deinit(blocks);
}

void elf_file_close(struct elf_file *elf)
{
	if (!elf)
		return;
	if (elf->cache) {
		elf_file_close(elf->cache->minidebug);
		free(elf->cache->minidebug_bytes);
		free_blocks(&elf->cache->chunks);
		free_blocks(&elf->cache->spans);
		free(elf->cache);
	}
	vec_free(&elf->segments);
	vec_free(&elf->other_segments);
	vec_free(&elf->sections);
	foreign_close(elf->file);
	free(elf->path);
	free(elf);
}

uint64_t elf_file_base(const struct elf_file *elf)
{
	return elf->base;
}

const char *elf_file_path(const struct elf_file *elf)
{
	return elf->path;
}

uint16_t elf_file_machine(const struct elf_file *elf)
{
	return elf->header.e_machine;
}

uint16_t elf_file_type(const struct elf_file *elf)
{
	return elf->header.e_type;
}

uint64_t elf_file_entry(const struct elf_file *elf)
{
	return elf->header.e_entry;
}

bool elf_file_is_program(const struct elf_file *elf)
{
	return elf->header.e_type == ET_EXEC || elf_segment_of_type(elf, PT_INTERP) ||
	       elf_file_dynamic(elf)->flags_1 & DF_1_PIE;
}

size_t elf_file_build_id(const struct elf_file *elf, const uint8_t **ret)
{
	if (elf->build_id_size)
		*ret = elf->build_id;
	return elf->build_id_size;
}

void elf_build_id_text(const uint8_t *id, size_t size, char ret[ELF_BUILD_ID_TEXT])
{
	size_t i;

	*ret = '\0';
	for (i = 0; i < size && size <= ELF_BUILD_ID_MAX; i++)
		snprintf(ret + 2 * i, 3, "%02x", id[i]);
}

const struct elf_segment *elf_file_segments(const struct elf_file *elf, size_t *count)
{
	*count = elf->segments.count;
	return elf->segments.at;
}

static bool offset_in_segments(const struct elf_file *elf, uint64_t offset, bool executable, uint64_t page,
			       uint64_t *ret)
{
	size_t i;

	for (i = 0; i < elf->segments.count; i++) {
		const struct elf_segment *s = &elf->segments.at[i];
		uint64_t start = s->offset & ~(page - 1);
		uint64_t end = (s->offset + s->filesz + page - 1) & ~(page - 1);

		if (!!(s->flags & PF_X) == executable && s->filesz && offset >= start && offset < end &&
		    s->vaddr >= s->offset - start) {
			*ret = s->vaddr + (offset - s->offset);
			return true;
		}
	}
	return false;
}

bool elf_file_vaddr_of_offset(const struct elf_file *elf, uint64_t offset, uint64_t *ret)
{
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);

	return offset_in_segments(elf, offset, true, 1, ret) || offset_in_segments(elf, offset, true, page, ret) ||
	       offset_in_segments(elf, offset, false, 1, ret) || offset_in_segments(elf, offset, false, page, ret);
}

/* Where the file has `size` bytes of the image. */
static bool offset_of_vaddr(const struct elf_file *elf, uint64_t vaddr, size_t size, uint64_t *ret)
{
	size_t i;

	for (i = 0; i < elf->segments.count; i++) {
		const struct elf_segment *s = &elf->segments.at[i];
		uint64_t within = vaddr - s->vaddr;

		if (vaddr >= s->vaddr && within < s->filesz && size <= s->filesz - within) {
			*ret = s->offset + within;
			return true;
		}
	}
	return false;
}

bool elf_file_copy(const struct elf_file *elf, uint64_t offset, size_t size, void *ret)
{
	ssize_t got;

	if (offset > elf->size || size > elf->size - offset)
		return false;
	if (elf->memory) {
		memcpy(ret, elf->memory + offset, size);
		return true;
	}
	got = foreign_read(elf->file, ret, size, elf->base + offset);
	if (got < 0 && !elf->cache->unread)
		elf->cache->unread = (int)got;
	return got == (ssize_t)size;
}

bool elf_file_offset_of(const struct elf_file *elf, uint64_t vaddr, size_t size, uint64_t *ret)
{
	return offset_of_vaddr(elf, vaddr, size, ret);
}

const uint8_t *elf_file_bytes_at(const struct elf_file *elf, uint64_t vaddr, size_t size)
{
	uint64_t offset;

	return offset_of_vaddr(elf, vaddr, size, &offset) ? elf_file_bytes(elf, offset, size) : NULL;
}

uint64_t elf_file_loaded_word(const struct elf_file *elf, uint64_t vaddr, uint32_t relative)
{
	const uint8_t *bytes = elf_file_bytes_at(elf, vaddr, 8);
	struct elf_section section;
	uint64_t word = 0, info;
	struct cursor c;

	if (bytes)
		memcpy(&word, bytes, sizeof(word));
	if (word || !elf_file_section(elf, ".rela.dyn", &section) || !section.bytes)
		return word;
	c = cursor_init(section.bytes, section.size);
	while (cursor_left(&c) >= sizeof(Elf64_Rela)) {
		uint64_t offset = cursor_u64(&c);

		info = cursor_u64(&c);
		word = cursor_u64(&c);
		if (offset == vaddr && ELF64_R_TYPE(info) == relative)
			return word;
	}
	return 0;
}

bool elf_file_copy_at(const struct elf_file *elf, uint64_t vaddr, size_t size, void *ret)
{
	uint64_t offset;

	return offset_of_vaddr(elf, vaddr, size, &offset) && elf_file_copy(elf, offset, size, ret);
}

const uint8_t *elf_section_bytes(const struct elf_file *elf, const struct elf_section *section)
{
	return section->type == SHT_NOBITS ? NULL : elf_file_bytes(elf, section->offset, section->size);
}

bool elf_file_section_header(const struct elf_file *elf, const char *name, struct elf_section *ret)
{
	size_t i;

	for (i = 0; i < elf->sections.count; i++) {
		const struct elf_section *section = &elf->sections.at[i].section;

		if (section->type == SHT_NULL || strcmp(section->name, name))
			continue;
		if (section->type != SHT_NOBITS &&
		    (section->offset > elf->size || section->size > elf->size - section->offset))
			return false;
		*ret = *section;
		return true;
	}
	return false;
}

bool elf_file_section(const struct elf_file *elf, const char *name, struct elf_section *ret)
{
	struct elf_section section;

	if (!elf_file_section_header(elf, name, &section))
		return false;
	section.bytes = elf_section_bytes(elf, &section);
	if (!section.bytes && section.type != SHT_NOBITS)
		return false;
	*ret = section;
	return true;
}

/* The part of a PT_LOAD segment from a vaddr to its end, as a section. */
static bool section_to_segment_end(const struct elf_file *elf, uint64_t vaddr, uint64_t size_max,
				   struct elf_section *ret)
{
	size_t i;

	for (i = 0; i < elf->segments.count; i++) {
		const struct elf_segment *s = &elf->segments.at[i];
		uint64_t within = vaddr - s->vaddr, size = s->filesz - within;

		if (vaddr < s->vaddr || within >= s->filesz)
			continue;
		if (size > size_max)
			size = size_max;
		*ret = (struct elf_section){
			.name = "", .vaddr = vaddr, .offset = s->offset + within, .size = size, .type = SHT_NULL};
		if (ret->offset < elf->size && ret->size > elf->size - ret->offset)
			ret->size = elf->size - ret->offset;
		ret->bytes = elf_file_bytes(elf, ret->offset, ret->size);
		return ret->bytes;
	}
	return false;
}

bool elf_file_eh_frame(const struct elf_file *elf, struct elf_section *eh_frame, struct elf_section *hdr)
{
	const Elf64_Phdr *p = elf_segment_of_type(elf, PT_GNU_EH_FRAME);
	bool has_hdr = elf_file_section(elf, ".eh_frame_hdr", hdr) && hdr->bytes;
	struct cursor c;
	uint64_t at;

	if (!has_hdr)
		has_hdr = p && section_to_segment_end(elf, p->p_vaddr, p->p_memsz, hdr);
	if (!has_hdr)
		*hdr = (struct elf_section){.name = ""};
	if (elf_file_section(elf, ".eh_frame", eh_frame))
		return eh_frame->bytes && eh_frame->size;
	/* LSB Core, 10.6.2: version 1, eh_frame_ptr's encoding, two others, eh_frame_ptr; linkers write pcrel sdata4.
	 */
	c = cursor_init(hdr->bytes, has_hdr ? hdr->size : 0);
	if (cursor_u8(&c) != 1 || cursor_u8(&c) != 0x1b || !cursor_skip(&c, 2))
		return false;
	at = hdr->vaddr + cursor_position(&c);
	at += (uint64_t)(int64_t)cursor_s32(&c);
	return cursor_ok(&c) && section_to_segment_end(elf, at, UINT64_MAX, eh_frame);
}

bool elf_file_tls(const struct elf_file *elf, uint64_t *vaddr, uint64_t *memsz, uint64_t *align)
{
	const Elf64_Phdr *p = elf_segment_of_type(elf, PT_TLS);

	if (!p)
		return false;
	*vaddr = p->p_vaddr;
	*memsz = p->p_memsz;
	*align = p->p_align;
	return true;
}
