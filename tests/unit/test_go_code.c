// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Go's stack sizes as unwind rules, from a .gopclntab that is made here; and what becomes of it when bytes of it
 * change.
 */
#include <elf.h>
#include <errno.h>
#include <stdlib.h>

#include "elf_builder.h"
#include "tap.h"
#include "unwind/unwind_table.h"

#define NAMES     80
#define SIZES     160
#define TABLE     240
#define FUNCTIONS 6
#define SIZE      576

static const struct {
	uint32_t start;
	const char *name;
	uint8_t flags;
	uint8_t sizes[12];
} functions[FUNCTIONS] = {
	{0x40, "runtime.goexit", 1, {2, 16, 2, 16}},
	/* size 0 for 4 bytes, 32 for 20, 0 for 8: the first change is from -1, and changes are zigzag */
	{0x50, "main.f", 0, {2, 4, 64, 20, 63, 8}},
	{0x70, "runtime.systemstack", 2, {2, 32}},
	{0x90, "runtime.sigreturn", 0, {2, 16}},
	/* C that the linker took in: it has no sizes, which begin with those of others */
	{0xa0, "c", 0, {}},
	{0xb0, "_rt0_amd64", 0, {2, 16}},
};

static void put(uint8_t *at, uint64_t value, size_t size)
{
	memcpy(at, &value, size);
}

static void make_table(uint8_t *t, uint32_t magic, uint64_t text)
{
	size_t name = NAMES, sizes = SIZES + 1, entry = TABLE + 8 * FUNCTIONS + 4, i;

	memset(t, 0, SIZE);
	put(t, magic, 4);
	t[6] = 1;
	t[7] = 8;
	put(t + 8, FUNCTIONS, 8);
	put(t + 24, text, 8);
	put(t + 32, NAMES, 8);
	put(t + 56, SIZES, 8);
	put(t + 64, TABLE, 8);
	for (i = 0; i < FUNCTIONS; i++) {
		put(t + TABLE + 8 * i, functions[i].start, 4);
		put(t + TABLE + 8 * i + 4, entry - TABLE, 4);
		put(t + entry, functions[i].start, 4);
		put(t + entry + 4, name - NAMES, 4);
		put(t + entry + 16, functions[i].sizes[0] ? sizes - SIZES : 0, 4);
		t[entry + (magic == 0xfffffff0 ? 37 : 41)] = functions[i].flags;
		strcpy((char *)t + name, functions[i].name);
		name += strlen(functions[i].name) + 1;
		memcpy(t + sizes, functions[i].sizes, sizeof(functions[i].sizes));
		sizes += sizeof(functions[i].sizes);
		entry += 44;
	}
	put(t + TABLE + 8 * FUNCTIONS, 0xc0, 4);
}

/* Where the table is, and what says where its functions begin. */
enum place {
	IN_SECTION,
	NOTED,     /* as the next, in a shared library of Go's own */
	RELOCATED, /* in a position-independent program, by another linker: among other data */
	BY_MODULE  /* 1.26 */
};

/* Compiles an ELF file with that table, and with nothing else to go by. */
static int compile_in(enum place place, const uint8_t *pclntab, uint64_t text_at, struct unwind_table *ret)
{
	static const uint8_t text[4096] = {[0x70] = 0x48, 0x8b, 0x27, 0xff, 0xe0}; /* mov (%rdi), %rsp; jmp *%rax */
	struct elf_builder elf = elf_builder_init();
	uint8_t data[64 + SIZE] = {}, module[192] = {};
	const Elf64_Shdr *table;
	struct elf_file *file;
	Elf64_Rela rela;
	int err;

	elf_builder_section(&elf, ".text", SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, text, sizeof(text));
	if (place == RELOCATED || place == NOTED) {
		memcpy(data + 64, pclntab, SIZE);
		elf_builder_section(&elf, place == NOTED ? ".note.go.pkg-list" : ".go.buildinfo", SHT_PROGBITS,
				    SHF_ALLOC, NULL, 16);
		table = elf_builder_section(&elf, ".data.rel.ro", SHT_PROGBITS, SHF_ALLOC, data, sizeof(data));
		rela = (Elf64_Rela){.r_offset = table->sh_addr + 64 + 24,
				    .r_info = ELF64_R_INFO(0, R_X86_64_RELATIVE),
				    .r_addend = (int64_t)text_at};
		elf_builder_section(&elf, ".rela.dyn", SHT_RELA, SHF_ALLOC, &rela, sizeof(rela));
	} else {
		table = elf_builder_section(&elf, ".gopclntab", SHT_PROGBITS, SHF_ALLOC, pclntab, SIZE);
	}
	if (place == BY_MODULE) {
		put(module, table->sh_addr, 8);
		put(module + 176, text_at, 8);
		elf_builder_section(&elf, ".go.module", SHT_PROGBITS, SHF_ALLOC, module, sizeof(module));
	}
	elf_builder_finish(&elf, 0);
	if (elf_file_open_memory(elf.bytes, elf.size, "go", &file, NULL))
		return -1;
	err = unwind_table_compile(file, NULL, ret, NULL);
	elf_file_close(file);
	elf_builder_deinit(&elf);
	return err == -ENOENT && !ret->covered_bytes ? 0 : err; /* it has no .eh_frame, and Go's tables tell nothing */
}

static int compile(const uint8_t *pclntab, struct unwind_table *ret)
{
	return compile_in(IN_SECTION, pclntab, 0, ret);
}

static uint64_t text_address(void)
{
	struct elf_builder elf = elf_builder_init();
	uint64_t address = elf_builder_next(&elf);

	elf_builder_deinit(&elf);
	return address;
}

static const char *rule_at(const struct unwind_table *table, uint64_t address)
{
	static char text[64];
	struct unwind_rule rule = unwind_table_lookup(table, address);

	unwind_rule_format(arch_of(EM_X86_64)->unwind, &rule, text, sizeof(text));
	return text;
}

static void test_rules(uint32_t magic)
{
	uint64_t text = text_address();
	struct unwind_table table;
	uint8_t pclntab[SIZE];

	make_table(pclntab, magic, text);
	if (!ok(!compile(pclntab, &table), "%#x: compiled", magic))
		return;
	is_int(unwind_table_lookup(&table, text + 0x3f).kind, UNWIND_NO_RULE, "before the first function: nothing");
	is_int(unwind_table_lookup(&table, text + 0x40).kind, UNWIND_END, "nothing called goexit");
	is_str(rule_at(&table, text + 0x53), "cfa=rsp+8 rbp=same", "before the frame is there");
	is_str(rule_at(&table, text + 0x54), "cfa=rsp+40 rbp=cfa-16", "with the frame");
	is_str(rule_at(&table, text + 0x67), "cfa=rsp+40 rbp=cfa-16", "to its last byte");
	is_str(rule_at(&table, text + 0x68), "cfa=rsp+8 rbp=same", "and without it again");
	is_str(rule_at(&table, text + 0x70), "cfa=rsp+8 rbp=same", "a function before it changes stacks");
	is_int(unwind_table_lookup(&table, text + 0x73).kind, UNWIND_OTHER_STACK, "and when it has");
	is_int(unwind_table_lookup(&table, text + 0x9f).kind, UNWIND_SIGNAL, "the signal trampoline");
	is_int(unwind_table_lookup(&table, text + 0xa3).kind, UNWIND_NO_RULE, "of what is not Go's: nothing");
	is_int(unwind_table_lookup(&table, text + 0xb0).kind, UNWIND_END, "nothing called what the entry jumps to");
	is_int(unwind_table_lookup(&table, text + 0xc0).kind, UNWIND_NO_RULE, "behind the last function: nothing");
	unwind_table_deinit(&table);
}

static void test_places(void)
{
	static const char *const names[] = {[NOTED] = "in a shared library, by its note",
					    [RELOCATED] = "among other data, where the loader writes the address",
					    [BY_MODULE] = "where only the module's data has the address"};
	uint64_t text = text_address();
	struct unwind_table table;
	uint8_t pclntab[SIZE];
	enum place place;

	make_table(pclntab, 0xfffffff1, 0);
	for (place = NOTED; place <= BY_MODULE; place++) {
		if (!ok(!compile_in(place, pclntab, text, &table), "compiled"))
			continue;
		is_str(rule_at(&table, text + 0x54), "cfa=rsp+40 rbp=cfa-16", "%s", names[place]);
		is_int(unwind_table_lookup(&table, text + 0x40).kind, UNWIND_END, "and goexit");
		unwind_table_deinit(&table);
	}
}

/* Every byte of the table, changed in several ways: some table or other comes of it, and nothing bad happens. */
static void test_damage(void)
{
	static const uint8_t changes[] = {0x01, 0x80, 0xff, 0x7f};
	uint64_t text = text_address();
	struct unwind_table table;
	uint8_t pclntab[SIZE];
	size_t at, i;
	int refused = 0;

	for (at = 0; at < SIZE; at++) {
		for (i = 0; i < sizeof(changes); i++) {
			make_table(pclntab, 0xfffffff1, text);
			pclntab[at] ^= changes[i];
			if (compile(pclntab, &table))
				refused++;
			else
				unwind_table_deinit(&table);
		}
	}
	is_int(refused, 0, "damaged tables");
}

int main(void)
{
	test_rules(0xfffffff0);
	test_rules(0xfffffff1);
	test_places();
	test_damage();
	return tap_done();
}
