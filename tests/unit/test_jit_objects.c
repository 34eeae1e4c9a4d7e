// SPDX-License-Identifier: GPL-2.0-or-later
#include "symbol/jit_objects.h"

#include <elf.h>
#include <errno.h>
#include <string.h>

#include "tap.h"
#include "unwind/memory_frames.h"

#define BASE    0x10000ull  /* the process's memory */
#define TEXT    0x500000ull /* its code */
#define SIZE    0x1000ull
#define ENTRIES 0x100 /* offsets in the memory */
#define OBJECT  0x1000

/* .debug_frame as QEMU has it: CFA = RSP + 96, the return address at -8, RBP at -16. */
static const uint8_t debug_frame[] = {
	16,   0, 0,  0,    0xff, 0xff, 0xff, 0xff, 1, 0, 1,    0x78, 16, 0, 0, 0, 0, 0,    0, 0, /* the CIE */
	28,   0, 0,  0,    0,    0,    0,    0,    0, 0, 0x50, 0,    0,  0, 0, 0, 0, 0x10, 0, 0,
	0,    0, 0,  0, /* start, size */
	0x0c, 7, 96, 0x90, 1,    0x86, 2,    0,
};
static const char section_names[] = "\0.debug_frame\0.symtab\0.strtab", names[] = "\0buffer\nof code";

struct object {
	Elf64_Ehdr header;
	Elf64_Shdr sections[5];
	Elf64_Sym symbols[2];
	char section_names[sizeof(section_names)], names[sizeof(names)];
	uint8_t frames[sizeof(debug_frame)];
};

struct entry {
	uint64_t next, previous, address, size;
};

struct head {
	uint32_t version, action;
	uint64_t relevant, first;
};

static uint8_t image[0x8000];

static void make_object(struct object *object, uint16_t type, uint64_t text)
{
	*object = (struct object){.header = {.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, 1},
					     .e_type = type,
					     .e_machine = EM_X86_64,
					     .e_shoff = offsetof(struct object, sections),
					     .e_shentsize = sizeof(Elf64_Shdr),
					     .e_shnum = 5,
					     .e_shstrndx = 4},
				  .sections = {{},
					       {.sh_type = SHT_NOBITS, .sh_addr = text, .sh_size = SIZE},
					       {.sh_name = 1,
						.sh_type = SHT_PROGBITS,
						.sh_offset = offsetof(struct object, frames),
						.sh_size = sizeof(debug_frame)},
					       {.sh_name = 14,
						.sh_type = SHT_SYMTAB,
						.sh_link = 4,
						.sh_offset = offsetof(struct object, symbols),
						.sh_size = 2 * sizeof(Elf64_Sym)},
					       {.sh_name = 22,
						.sh_type = SHT_STRTAB,
						.sh_offset = offsetof(struct object, section_names),
						.sh_size = sizeof(section_names) + sizeof(names)}},
				  .symbols = {{},
					      {.st_name = sizeof(section_names) + 1,
					       .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC),
					       .st_shndx = 1,
					       .st_value = type == ET_REL ? 0 : text,
					       .st_size = SIZE}}};
	memcpy(object->section_names, section_names, sizeof(section_names));
	memcpy(object->names, names, sizeof(names));
	memcpy(object->frames, debug_frame, sizeof(debug_frame));
	memcpy(object->frames + 28, &text, sizeof(text));
}

static struct head *head(void)
{
	return (struct head *)image;
}

static struct entry *entry(unsigned int i)
{
	return (struct entry *)(image + ENTRIES) + i;
}

static uint64_t entry_address(unsigned int i)
{
	return BASE + ENTRIES + i * sizeof(struct entry);
}

static struct object *object(unsigned int i)
{
	return (struct object *)(image + OBJECT + i * 0x1000);
}

static void publish(unsigned int i, uint16_t type, uint64_t text, uint64_t next)
{
	make_object(object(i), type, text);
	*entry(i) = (struct entry){next, 0, BASE + OBJECT + i * 0x1000, sizeof(struct object)};
}

static int rules_at(const struct jit_objects *objects, uint64_t address, struct unwind_rule *ret)
{
	rule_ranges ranges = {};
	uint64_t start, end;
	int err = jit_objects_rules(objects, address, &ranges, &start, &end);

	if (!err)
		*ret = ranges.at[0].rule;
	vec_free(&ranges);
	return err;
}

static void test_list(struct jit_objects *objects, const struct memory *memory)
{
	struct unwind_rule rule = {};
	struct perf_map *map;
	const char *name;

	*head() = (struct head){.version = 1, .first = entry_address(0)};
	publish(0, ET_EXEC, TEXT, 0);
	is_int(jit_objects_read(objects, memory, BASE), JIT_OBJECTS_CAME, "an object");
	is_int(rules_at(objects, TEXT + 5, &rule), 0, "has rules");
	ok(rule.kind == UNWIND_SP && rule.cfa_offset == 96 && rule.fp_offset == -16, "those of its .debug_frame");
	is_int(rules_at(objects, TEXT - 1, &rule), -ENOENT, "none before its code");
	is_int(rules_at(objects, TEXT + SIZE, &rule), -ENOENT, "nor behind it");
	map = jit_objects_names(objects);
	name = map ? perf_map_lookup(map, TEXT + SIZE - 1) : NULL;
	ok(name && !strcmp(name, "buffer?of code"), "and a name, in one line");
	ok(map && !perf_map_is_file(map), "which is of no file");
	perf_map_destroy(map);
	is_int(jit_objects_read(objects, memory, BASE), 0, "nothing changes when it is read again");

	publish(1, ET_REL, TEXT + 4 * SIZE, 0);
	entry(0)->next = entry_address(1);
	is_int(jit_objects_read(objects, memory, BASE), JIT_OBJECTS_CAME, "another, that is relocatable");
	map = jit_objects_names(objects);
	ok(map && perf_map_lookup(map, TEXT + 4 * SIZE), "its symbols count from where its sections were loaded");
	perf_map_destroy(map);

	object(0)->frames[sizeof(debug_frame) - 6] = 64;
	is_int(jit_objects_read(objects, memory, BASE), JIT_OBJECTS_CAME | JIT_OBJECTS_WENT,
	       "an object at the same address with other bytes is another one");
	ok(!rules_at(objects, TEXT, &rule) && rule.cfa_offset == 64, "with its own rules");
	head()->first = entry_address(1);
	is_int(jit_objects_read(objects, memory, BASE), JIT_OBJECTS_WENT, "one that is not in the list goes");
	is_int(rules_at(objects, TEXT, &rule), -ENOENT, "with its rules");
	head()->version = 2;
	is_int(jit_objects_read(objects, memory, BASE), JIT_OBJECTS_WENT, "of another version nothing is read");
	is_int(jit_objects_count(objects), 0, "nothing is left");
}

static void test_lies(struct jit_objects *objects, const struct memory *memory)
{
	struct unwind_rule rule;
	unsigned int i;

	*head() = (struct head){.version = 1, .first = entry_address(0)};
	for (i = 0; i < 3; i++)
		publish(i, ET_EXEC, TEXT + i * SIZE / 2, entry_address((i + 1) % 3));
	jit_objects_read(objects, memory, BASE);
	is_int(jit_objects_count(objects), 3, "a list that ends where it began");
	is_int(rules_at(objects, TEXT + SIZE / 2, &rule), 0, "objects that overlap");
	entry(2)->next = entry_address(1);
	jit_objects_read(objects, memory, BASE);
	ok(jit_objects_count(objects) <= JIT_ENTRIES_MAX, "a list that leads back into itself ends");
	entry(0)->next = 0;
	entry(0)->size = 1ull << 63;
	jit_objects_read(objects, memory, BASE);
	is_int(jit_objects_count(objects), 0, "an object of 2^63 bytes is none");
	publish(0, ET_EXEC, TEXT, 0);
	object(0)->sections[2].sh_size = UINT64_MAX;
	object(0)->sections[3].sh_offset = UINT64_MAX - 8;
	object(0)->sections[4].sh_name = UINT32_MAX;
	jit_objects_read(objects, memory, BASE);
	is_int(rules_at(objects, TEXT, &rule), -ENOENT, "sections that lie outside are not there");
	head()->first = 0x123456;
	jit_objects_read(objects, memory, BASE);
	is_int(jit_objects_count(objects), 0, "an entry that cannot be read ends the list");
	is_int(jit_objects_read(objects, memory, 8), 0, "as does a descriptor");
}

/* LuaJIT's: no CFA at all, as its own personality knows the frame. */
static void test_no_cfa(void)
{
	uint8_t frame[] = {16, 0, 0,  0, 0, 0, 0, 0, 1,    0, 1, 0x78, 16, 0, 0, 0, 0, 0, 0, 0, 20, 0,
			   0,  0, 24, 0, 0, 0, 0, 0, 0x50, 0, 0, 0,    0,  0, 0, 1, 0, 0, 0, 0, 0,  0};
	const struct elf_section section = {.bytes = frame, .size = sizeof(frame), .vaddr = BASE, .type = SHT_PROGBITS};
	rule_ranges ranges = {};
	uint64_t start = 0, end = 0;

	ok(memory_frames_extent(&section, &start, &end) && start == TEXT && end == TEXT + 256, "an FDE covers code");
	is_int(memory_frames_rules(&section, TEXT + 1, &ranges, NULL, NULL), -ENOENT, "and has no CFA: no rule");
	vec_free(&ranges);
}

/* A list without an end, of one object that names 8 MiB of the process's memory as its unwind information. */
struct endless {
	struct object object;
	uint64_t bytes; /* that were read */
};

static int read_endless(void *context, void *dst, size_t size, uint64_t address)
{
	struct endless *endless = context;
	const struct entry entry = {address + sizeof(struct entry), 0, OBJECT, sizeof(struct object)};
	const struct head first = {.version = 1, .first = BASE};

	memset(dst, 0, size);
	endless->bytes += size;
	if (address == OBJECT && size == sizeof(endless->object))
		memcpy(dst, &endless->object, size);
	else if (size == sizeof(first))
		memcpy(dst, &first, size);
	else if (size == sizeof(entry))
		memcpy(dst, &entry, size);
	return 0;
}

static void test_endless(void)
{
	static struct endless endless;
	const struct memory memory = {read_endless, &endless};
	struct jit_objects *objects = jit_objects_create();

	make_object(&endless.object, ET_REL, TEXT);
	memcpy(endless.object.section_names + 1, ".eh_frame\0", 11);
	endless.object.sections[2].sh_addr = TEXT;
	endless.object.sections[2].sh_size = 8u << 20;
	jit_objects_read(objects, &memory, 8);
	ok(jit_objects_count(objects) > 100, "a list without an end is read to a length");
	ok(endless.bytes < 2 * (uint64_t)JIT_BYTES_MAX, "and so is the memory that all objects name together");
	ok(jit_objects_bytes(objects) <= JIT_BYTES_MAX, "and what is kept");
	jit_objects_destroy(objects);
}

int main(void)
{
	const struct memory_piece piece = {BASE, image, sizeof(image)};
	const struct memory_pieces pieces = {&piece, 1};
	const struct memory memory = memory_of_pieces(&pieces);
	struct jit_objects *objects = jit_objects_create();

	test_list(objects, &memory);
	test_lies(objects, &memory);
	test_no_cfa();
	test_endless();
	jit_objects_destroy(objects);
	return tap_done();
}
