// SPDX-License-Identifier: GPL-2.0-or-later
#include "symbol/jit_objects.h"

#include <elf.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "arch/arch.h"
#include "base/cursor.h"
#include "base/table.h"
#include "base/vec.h"
#include "unwind/memory_frames.h"

#define VERSION      1
#define SECTIONS_MAX 1024
#define SYMBOLS_MAX  (256u << 10) /* looked at in one reading, of all objects */
#define FRAMES_MAX   65536        /* sections of unwind information that are kept */
#define NAMES_MAX    (8u << 20)   /* bytes of all names together */
#define NAME_BYTES   512

struct jit_frames {
	struct elf_section section; /* its bytes are owned */
	uint64_t start, end;        /* of the code that it covers */
};

struct jit_object {
	uint64_t entry, address, size, digest;
	bool seen;
	VEC(struct jit_frames) frames;
	VEC(char) names; /* lines of a perf map */
	size_t bytes;    /* that are kept */
};

struct covered {
	uint64_t start, end;
};

struct jit_objects {
	VEC(struct jit_object) all;
	VEC(struct covered) covered;      /* by any unwind information: sorted, apart from each other */
	size_t bytes, frames;             /* of all objects */
	size_t frames_left, symbols_left; /* bytes of unwind information, and symbols, that this reading may look at */
};

/* One object while it is read. */
struct reading {
	struct jit_objects *objects;
	const struct memory *memory;
	const uint8_t *bytes;
	size_t size;
	bool relocatable;
	const Elf64_Shdr *sections; /* copied, so aligned */
	size_t section_count;
	const char *section_names;
	size_t section_names_size;
	struct jit_object *object;
};

struct jit_objects *jit_objects_create(void)
{
	return calloc(1, sizeof(struct jit_objects));
}

static void object_deinit(struct jit_object *object)
{
	size_t i;

	for (i = 0; i < object->frames.count; i++)
		free((void *)object->frames.at[i].section.bytes);
	vec_free(&object->frames);
	vec_free(&object->names);
}

void jit_objects_destroy(struct jit_objects *objects)
{
	size_t i;

	if (!objects)
		return;
	for (i = 0; i < objects->all.count; i++)
		object_deinit(&objects->all.at[i]);
	vec_free(&objects->all);
	vec_free(&objects->covered);
	free(objects);
}

size_t jit_objects_count(const struct jit_objects *objects)
{
	return objects->all.count;
}

size_t jit_objects_bytes(const struct jit_objects *objects)
{
	return objects->bytes;
}

/* What a section has in the object; NULL when it lies outside. */
static const uint8_t *content(const struct reading *r, const Elf64_Shdr *section)
{
	struct cursor c = cursor_init(r->bytes, r->size);

	return section->sh_type != SHT_NOBITS && section->sh_offset <= r->size && cursor_seek(&c, section->sh_offset)
		       ? cursor_take(&c, section->sh_size)
		       : NULL;
}

static bool is_named(const struct reading *r, const Elf64_Shdr *section, const char *name)
{
	struct cursor c = cursor_init(r->section_names, r->section_names_size);
	const uint8_t *has = cursor_seek(&c, section->sh_name) ? cursor_take(&c, strlen(name) + 1) : NULL;

	return has && !memcmp(has, name, strlen(name) + 1);
}

/* Keeps a copy of unwind information: what was loaded, or what the object has. */
static void take_frames(struct reading *r, const Elf64_Shdr *section, bool is_debug)
{
	struct jit_frames frames = {
		.section = {.type = SHT_PROGBITS, .vaddr = section->sh_addr, .size = section->sh_size}};
	const uint8_t *from = content(r, section);
	bool loaded = r->relocatable && section->sh_addr && !is_debug;
	uint8_t *bytes;

	if (!section->sh_size || section->sh_size > r->objects->frames_left || (!loaded && !from) ||
	    r->objects->frames + r->object->frames.count >= FRAMES_MAX)
		return;
	r->objects->frames_left -= section->sh_size;
	bytes = malloc(section->sh_size);
	if (!bytes)
		return;
	if (!loaded)
		memcpy(bytes, from, section->sh_size);
	else if (memory_read(r->memory, bytes, section->sh_size, section->sh_addr))
		frames.section.size = 0;
	if (is_debug)
		frames.section.size = memory_frames_from_debug(bytes, frames.section.size);
	frames.section.bytes = bytes;
	if (!memory_frames_extent(&frames.section, &frames.start, &frames.end) || vec_push(&r->object->frames, frames))
		free(bytes);
	else
		r->object->bytes += frames.section.size;
}

/* A symbol's line: the name as far as it can stand in one, of `most` bytes. */
static void add_name(struct jit_object *object, uint64_t start, uint64_t size, const char *name, size_t most)
{
	char line[NAME_BYTES + 64];
	int length = snprintf(line, sizeof(line), "%" PRIx64 " %" PRIx64 " %.*s\n", start, size,
			      most < NAME_BYTES ? (int)most : NAME_BYTES, name),
	    i;

	for (i = 0; i < length - 1; i++)
		if ((unsigned char)line[i] < ' ')
			line[i] = '?';
	if (length <= 0 || (size_t)length >= sizeof(line) || vec_reserve(&object->names, (size_t)length))
		return;
	memcpy(object->names.at + object->names.count, line, (size_t)length);
	object->names.count += (size_t)length;
	object->bytes += (size_t)length;
}

static void take_symbols(struct reading *r, const Elf64_Shdr *section)
{
	const Elf64_Shdr *strings = section->sh_link < r->section_count ? &r->sections[section->sh_link] : NULL;
	const uint8_t *symbols = content(r, section), *names = strings ? content(r, strings) : NULL;
	struct cursor at = cursor_init(symbols, symbols ? section->sh_size : 0);

	for (; names && r->objects->symbols_left && cursor_left(&at) >= sizeof(Elf64_Sym); r->objects->symbols_left--) {
		Elf64_Sym symbol;

		memcpy(&symbol, cursor_take(&at, sizeof(symbol)), sizeof(symbol));
		if (ELF64_ST_TYPE(symbol.st_info) != STT_FUNC || !symbol.st_size || symbol.st_shndx == SHN_UNDEF)
			continue;
		if (r->relocatable) {
			if (symbol.st_shndx >= r->section_count || !r->sections[symbol.st_shndx].sh_addr)
				continue;
			symbol.st_value += r->sections[symbol.st_shndx].sh_addr;
		}
		if (symbol.st_name < strings->sh_size && names[symbol.st_name])
			add_name(r->object, symbol.st_value, symbol.st_size, (const char *)names + symbol.st_name,
				 strings->sh_size - symbol.st_name);
	}
}

static void take_sections(struct reading *r)
{
	size_t i;

	for (i = 0; i < r->section_count; i++) {
		const Elf64_Shdr *section = &r->sections[i];

		if (section->sh_type == SHT_SYMTAB)
			take_symbols(r, section);
		else if (is_named(r, section, ".eh_frame"))
			take_frames(r, section, false);
		else if (is_named(r, section, ".debug_frame"))
			take_frames(r, section, true);
	}
}

/* An object's bytes, as it is now. What is no ELF file of this machine has nothing. */
static void parse(struct reading *r)
{
	struct cursor c = cursor_init(r->bytes, r->size);
	const uint8_t *from;
	Elf64_Shdr *sections;
	Elf64_Ehdr header;

	from = cursor_take(&c, sizeof(header));
	if (!from)
		return;
	memcpy(&header, from, sizeof(header));
	if (memcmp(header.e_ident, ELFMAG, SELFMAG) || header.e_ident[EI_CLASS] != ELFCLASS64 ||
	    header.e_ident[EI_DATA] != ELFDATA2LSB || header.e_machine != arch_here()->machine ||
	    header.e_shentsize != sizeof(*sections) || header.e_shnum > SECTIONS_MAX ||
	    !cursor_seek(&c, header.e_shoff))
		return;
	from = cursor_take(&c, header.e_shnum * sizeof(*sections));
	sections = from ? malloc((header.e_shnum + 1u) * sizeof(*sections)) : NULL;
	if (!sections)
		return;
	memcpy(sections, from, header.e_shnum * sizeof(*sections));
	r->relocatable = header.e_type == ET_REL;
	r->sections = sections;
	r->section_count = header.e_shnum;
	if (header.e_shstrndx < header.e_shnum) {
		r->section_names = (const char *)content(r, &sections[header.e_shstrndx]);
		r->section_names_size = r->section_names ? sections[header.e_shstrndx].sh_size : 0;
	}
	take_sections(r);
	free(sections);
}

/* An entry of the list, and what was known of it: true when it is new, or another one. */
static bool read_object(struct jit_objects *objects, const struct memory *memory, struct jit_object *key,
			struct jit_object *known)
{
	struct reading r = {.objects = objects, .memory = memory, .size = key->size, .object = key};
	uint8_t *bytes;

	if (!key->size || key->size > JIT_OBJECT_MAX)
		return false;
	bytes = malloc(key->size);
	if (!bytes || memory_read(memory, bytes, key->size, key->address)) {
		free(bytes);
		return false;
	}
	key->digest = XXH3_64bits(bytes, key->size);
	if (known && known->address == key->address && known->size == key->size && known->digest == key->digest) {
		known->seen = true;
		free(bytes);
		return false;
	}
	r.bytes = bytes;
	key->seen = true;
	parse(&r);
	free(bytes);
	if (objects->bytes + key->bytes > JIT_BYTES_MAX || vec_push(&objects->all, *key)) {
		object_deinit(key);
		return false;
	}
	objects->bytes += key->bytes;
	objects->frames += key->frames.count;
	return true;
}

/* Those that the list does not have any more go. */
static bool sweep(struct jit_objects *objects)
{
	size_t i, kept = 0, count = objects->all.count;

	for (i = 0; i < count; i++) {
		struct jit_object *object = &objects->all.at[i];

		if (object->seen) {
			objects->all.at[kept++] = *object;
			continue;
		}
		objects->bytes -= object->bytes;
		objects->frames -= object->frames.count;
		object_deinit(object);
	}
	objects->all.count = kept;
	return kept != count;
}

static int by_start(const void *a, const void *b)
{
	const struct covered *x = a, *y = b;

	return x->start < y->start ? -1 : x->start > y->start;
}

/* What the objects cover now. Without memory that is nothing. */
static void find_covered(struct jit_objects *objects)
{
	size_t i, k, kept = 0;

	objects->covered.count = 0;
	if (vec_reserve(&objects->covered, objects->frames))
		return;
	for (i = 0; i < objects->all.count; i++)
		for (k = 0; k < objects->all.at[i].frames.count; k++)
			objects->covered.at[objects->covered.count++] = (struct covered){
				objects->all.at[i].frames.at[k].start, objects->all.at[i].frames.at[k].end};
	if (objects->covered.count)
		qsort(objects->covered.at, objects->covered.count, sizeof(*objects->covered.at), by_start);
	for (i = 0; i < objects->covered.count; i++) {
		const struct covered next = objects->covered.at[i];
		struct covered *last = kept ? &objects->covered.at[kept - 1] : NULL;

		if (!last || next.start > last->end)
			objects->covered.at[kept++] = next;
		else if (next.end > last->end)
			last->end = next.end;
	}
	objects->covered.count = kept;
}

unsigned int jit_objects_read(struct jit_objects *objects, const struct memory *memory, uint64_t descriptor)
{
	struct {
		uint32_t version, action;
		uint64_t relevant, first;
	} head = {};
	struct {
		uint64_t next, previous, address, size;
	} entry;
	uint64_t at, bytes = 0, number;
	struct table met = {}; /* entry -> its object's index + 1; 0: it has none, or was met in this reading */
	bool came = false, went;
	size_t i;
	int err = 0;

	objects->frames_left = JIT_BYTES_MAX;
	objects->symbols_left = SYMBOLS_MAX;
	for (i = 0; i < objects->all.count && !err; i++) {
		objects->all.at[i].seen = false;
		err = table_set(&met, objects->all.at[i].entry, i + 1);
	}
	if (memory_read(memory, &head, sizeof(head), descriptor) || head.version != VERSION)
		head.first = 0;
	for (i = 0, at = head.first; at && i < JIT_ENTRIES_MAX && bytes < JIT_BYTES_MAX && !err; i++, at = entry.next) {
		struct jit_object key = {.entry = at};

		number = UINT64_MAX;
		if (table_get(&met, at, &number) && !number)
			break; /* the list leads back into itself */
		if (memory_read(memory, &entry, sizeof(entry), at))
			break;
		key.address = entry.address;
		key.size = entry.size;
		bytes += entry.size < JIT_OBJECT_MAX ? entry.size : 0;
		came |= read_object(objects, memory, &key, number == UINT64_MAX ? NULL : &objects->all.at[number - 1]);
		err = table_set(&met, at, 0);
	}
	table_deinit(&met);
	went = sweep(objects);
	if (came || went)
		find_covered(objects);
	return (came ? JIT_OBJECTS_CAME : 0) | (went ? JIT_OBJECTS_WENT : 0);
}

bool jit_objects_cover(const struct jit_objects *objects, uint64_t address)
{
	size_t low = 0, high = objects->covered.count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (objects->covered.at[middle].start <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low && address < objects->covered.at[low - 1].end;
}

int jit_objects_rules(const struct jit_objects *objects, uint64_t address, rule_ranges *ret, uint64_t *start,
		      uint64_t *end)
{
	size_t i, k;
	int err = -ENOENT;

	for (i = objects->all.count; i-- && err == -ENOENT;) {
		const struct jit_object *object = &objects->all.at[i];

		for (k = 0; k < object->frames.count && err == -ENOENT; k++) {
			const struct jit_frames *frames = &object->frames.at[k];

			if (address >= frames->start && address < frames->end)
				err = memory_frames_rules(&frames->section, address, ret, start, end);
		}
	}
	return err;
}

struct perf_map *jit_objects_names(const struct jit_objects *objects)
{
	VEC(char) text = {};
	struct perf_map *map = NULL;
	size_t i;
	int err = 0;

	for (i = 0; i < objects->all.count && !err; i++) {
		const struct jit_object *object = &objects->all.at[i];

		if (!object->names.count || text.count + object->names.count > NAMES_MAX)
			continue;
		err = vec_reserve(&text, object->names.count);
		if (!err)
			memcpy(text.at + text.count, object->names.at, object->names.count);
		text.count += err ? 0 : object->names.count;
	}
	if (!err && text.count)
		map = perf_map_create(text.at, text.count);
	vec_free(&text);
	return map;
}
