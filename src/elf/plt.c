// SPDX-License-Identifier: GPL-2.0-or-later
#include "elf/plt.h"

#include <stdlib.h>
#include <string.h>

#include "arch/arch.h"
#include "base/cursor.h"
#include "elf/internal.h"

struct got_slot {
	uint64_t vaddr;
	uint32_t symbol; /* index into .dynsym; 0: none */
};

struct relocations {
	VEC(struct got_slot) slots; /* sorted by vaddr */
	VEC(uint32_t) plt_symbols;  /* of .rela.plt, by index */
	struct elf_symtab dynsym;
};

static int read_relocations(const struct elf_file *elf, const char *name, bool is_plt, struct relocations *r)
{
	const struct arch *arch = arch_of(elf_file_machine(elf));
	struct elf_section section;
	struct cursor c;

	if (!elf_file_section(elf, name, &section) || !section.bytes)
		return 0;
	c = cursor_init(section.bytes, section.size);
	while (cursor_left(&c) >= sizeof(Elf64_Rela)) {
		uint64_t offset = cursor_u64(&c), info = cursor_u64(&c);
		uint32_t symbol = (uint32_t)ELF64_R_SYM(info), type = (uint32_t)ELF64_R_TYPE(info);

		cursor_skip(&c, sizeof(uint64_t));
		if (is_plt && vec_push(&r->plt_symbols, symbol))
			return -ENOMEM;
		if (symbol && (type == arch->jump_slot || type == arch->glob_dat) &&
		    vec_push(&r->slots, (struct got_slot){.vaddr = offset, .symbol = symbol}))
			return -ENOMEM;
	}
	return 0;
}

static int compare_slots(const void *left, const void *right)
{
	const struct got_slot *a = left, *b = right;

	return a->vaddr < b->vaddr ? -1 : a->vaddr > b->vaddr;
}

static const char *symbol_name(const struct relocations *r, uint32_t index)
{
	struct cursor c = cursor_init(r->dynsym.strings, r->dynsym.strings_size);
	const char *name;

	if (!index || index >= r->dynsym.count)
		return NULL;
	cursor_seek(&c, elf_symtab_at(&r->dynsym, index).st_name);
	name = cursor_string(&c);
	return name && *name ? name : NULL;
}

static const char *stub_name(const struct plt_arch *arch, const struct relocations *r, const uint8_t *bytes,
			     size_t size, uint64_t vaddr)
{
	struct got_slot key = {};
	const struct got_slot *slot;
	uint32_t index;

	if (!arch->decode(bytes, size, vaddr, &key.vaddr, &index))
		return NULL;
	if (!key.vaddr)
		return index < r->plt_symbols.count ? symbol_name(r, r->plt_symbols.at[index]) : NULL;
	if (!r->slots.count)
		return NULL;
	slot = bsearch(&key, r->slots.at, r->slots.count, sizeof(key), compare_slots);
	return slot ? symbol_name(r, slot->symbol) : NULL;
}

static int visit_section(const struct elf_file *elf, const char *section_name, const struct relocations *r,
			 elf_plt_visit visit, void *context)
{
	const struct plt_arch *arch = arch_of(elf_file_machine(elf))->plt;
	struct elf_section section;
	size_t stub, i;
	int err = 0;

	if (!elf_file_section(elf, section_name, &section) || !section.bytes)
		return 0;
	stub = arch->stub_size(section_name, section.bytes, section.size);
	for (i = strcmp(section_name, ".plt") ? 0 : arch->header; i + stub <= section.size && !err; i += stub) {
		const char *name = stub_name(arch, r, section.bytes + i, stub, section.vaddr + i);

		if (name)
			err = visit(context, section.vaddr + i, stub, name);
	}
	return err;
}

static const char *const stub_sections[] = {".plt", ".plt.sec", ".plt.got"};

bool elf_plt_stub(const struct elf_file *elf, uint64_t vaddr, uint64_t *ret)
{
	const struct arch *arch = arch_of(elf_file_machine(elf));
	struct elf_section section;
	size_t i;

	for (i = 0; arch && i < sizeof(stub_sections) / sizeof(*stub_sections); i++) {
		uint64_t at, header = i ? 0 : arch->plt->header;

		if (!elf_file_section_header(elf, stub_sections[i], &section) || vaddr < section.vaddr ||
		    vaddr - section.vaddr >= section.size || !elf_file_section(elf, stub_sections[i], &section) ||
		    !section.bytes)
			continue;
		at = vaddr - section.vaddr;
		if (at >= header)
			at -= (at - header) % arch->plt->stub_size(stub_sections[i], section.bytes, section.size);
		else
			at = 0;
		*ret = section.vaddr + at;
		return true;
	}
	return false;
}

int elf_plt_each(const struct elf_file *elf, elf_plt_visit visit, void *context)
{
	struct relocations r = {};
	struct elf_section section;
	size_t i;
	int err;

	if (!arch_of(elf_file_machine(elf)) || !elf_file_symtab(elf, SHT_DYNSYM, &r.dynsym))
		return 0;
	err = read_relocations(elf, ".rela.plt", true, &r);
	/* Large, and only .plt.got needs it. */
	if (!err && elf_file_section_header(elf, ".plt.got", &section))
		err = read_relocations(elf, ".rela.dyn", false, &r);
	if (r.slots.count)
		qsort(r.slots.at, r.slots.count, sizeof(r.slots.at[0]), compare_slots);
	for (i = 0; i < sizeof(stub_sections) / sizeof(*stub_sections) && !err; i++)
		err = visit_section(elf, stub_sections[i], &r, visit, context);
	vec_free(&r.slots);
	vec_free(&r.plt_symbols);
	return err;
}
