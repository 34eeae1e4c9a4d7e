// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A file as the image that the key decoder runs in. What the dynamic linker will put into a slot is told by the
 * slot's relocation: the address of something in this file, a function of another one, or a fact of thread-local
 * storage that only the process has. Words without a relocation are known where nothing may write to them.
 */
#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "arch/arch.h"
#include "base/cursor.h"
#include "base/table.h"
#include "base/vec.h"
#include "runtime/python/interpreter_parts.h"
#include "runtime/python/key_decoder.h"
#include "unwind/unwind_table.h"

enum reloc_kind { RELOC_OTHER, RELOC_RELATIVE, RELOC_SYMBOL, RELOC_TLS_OFFSET, RELOC_TLS_MODULE, RELOC_TLS_DESCRIPTOR };

struct bounds {
	uint64_t start, end;
};

#define CALLEES_MAX 16
#define STUB_BYTES  24 /* the longest: AArch64's with bti */

struct key_file {
	const struct elf_file *elf;
	struct elf_section tables[2]; /* .rela.dyn, .rela.plt */
	struct elf_section symbols, names;
	struct elf_section got;      /* size 0: none */
	struct table relocations;    /* slot + 1 -> offset << 1 | table */
	struct elf_section stubs[3]; /* .plt and its like; size 0: none */
	VEC(struct bounds)
	functions; /* those that were asked for: without .eh_frame_hdr (musl-gcc) each takes a search */
	struct {
		uint64_t vaddr;
		enum key_callee callee;
	} callees[CALLEES_MAX];
	size_t callee_count;
};

static enum reloc_kind kind_of(const struct key_file *file, uint32_t type)
{
	const struct arch *arch = arch_of(elf_file_machine(file->elf));

	if (type == arch->relative)
		return RELOC_RELATIVE;
	if (type == arch->glob_dat || type == arch->jump_slot || type == arch->absolute)
		return RELOC_SYMBOL;
	if (type == arch->tls_offset)
		return RELOC_TLS_OFFSET;
	if (type == arch->tls_module)
		return RELOC_TLS_MODULE;
	return type == arch->tls_descriptor ? RELOC_TLS_DESCRIPTOR : RELOC_OTHER;
}

static bool dynamic_symbol(const struct key_file *file, uint32_t index, Elf64_Sym *ret, const char **name)
{
	struct cursor c = cursor_init(file->symbols.bytes, file->symbols.bytes ? file->symbols.size : 0);
	struct cursor names = cursor_init(file->names.bytes, file->names.bytes ? file->names.size : 0);
	const uint8_t *bytes;

	if (!cursor_seek(&c, (size_t)index * sizeof(*ret)))
		return false;
	bytes = cursor_take(&c, sizeof(*ret));
	if (!bytes)
		return false;
	memcpy(ret, bytes, sizeof(*ret));
	if (!cursor_seek(&names, ret->st_name))
		return false;
	*name = cursor_string(&names);
	return *name;
}

/* Which relocation fills a slot. */
static bool find_relocation(const struct key_file *file, uint64_t slot, Elf64_Rela *ret)
{
	const uint8_t *bytes;
	uint64_t place;
	struct cursor c;

	if (!table_get(&file->relocations, slot + 1, &place))
		return false;
	c = cursor_init(file->tables[place & 1].bytes, file->tables[place & 1].size);
	cursor_seek(&c, place >> 1);
	bytes = cursor_take(&c, sizeof(*ret));
	if (!bytes)
		return false;
	memcpy(ret, bytes, sizeof(*ret));
	return true;
}

static bool in_section(const struct elf_section *section, uint64_t vaddr)
{
	return vaddr >= section->vaddr && vaddr - section->vaddr < section->size;
}

/* Notes where each slot's relocation is; of the many that only add the load address, those of the GOT. */
static int index_relocations(struct key_file *file)
{
	const uint8_t *bytes;
	Elf64_Rela rela;
	struct cursor c;
	size_t i, at;

	for (i = 0; i < sizeof(file->tables) / sizeof(*file->tables); i++) {
		c = cursor_init(file->tables[i].bytes, file->tables[i].bytes ? file->tables[i].size : 0);
		while (cursor_left(&c) >= sizeof(rela)) {
			at = cursor_position(&c);
			bytes = cursor_take(&c, sizeof(rela));
			memcpy(&rela, bytes, sizeof(rela));
			if (rela.r_offset == UINT64_MAX || (!in_section(&file->got, rela.r_offset) &&
							    kind_of(file, ELF64_R_TYPE(rela.r_info)) == RELOC_RELATIVE))
				continue;
			if (table_set(&file->relocations, rela.r_offset + 1, (uint64_t)at << 1 | i))
				return -ENOMEM;
		}
	}
	return 0;
}

/* Whether nothing but the dynamic linker writes there, and its relocation would be known. */
static bool is_constant(const struct key_file *file, uint64_t vaddr, unsigned int width)
{
	const struct elf_segment *segments;
	size_t count, i;

	segments = elf_file_segments(file->elf, &count);
	for (i = 0; i < count; i++)
		if (vaddr >= segments[i].vaddr && vaddr - segments[i].vaddr < segments[i].memsz &&
		    !(segments[i].flags & PF_W))
			return true;
	return width == 8 && !(vaddr & 7) && in_section(&file->got, vaddr);
}

static void load_relocated(const struct key_file *file, const Elf64_Rela *rela, struct key_value *ret)
{
	Elf64_Sym symbol = {};
	const char *name;

	switch (kind_of(file, ELF64_R_TYPE(rela->r_info))) {
	case RELOC_RELATIVE:
		*ret = (struct key_value){.known = true, .width = 8, .offset = {rela->r_addend}};
		break;
	case RELOC_SYMBOL:
		if (!dynamic_symbol(file, ELF64_R_SYM(rela->r_info), &symbol, &name))
			*ret = (struct key_value){};
		else if (symbol.st_shndx == SHN_UNDEF)
			*ret = (struct key_value){.known = true, .base = KEY_BASE_IMPORT, .width = 8, .name = name};
		else
			*ret = (struct key_value){.known = true,
						  .width = 8,
						  .offset = {(int64_t)(symbol.st_value + (uint64_t)rela->r_addend)}};
		break;
	case RELOC_TLS_DESCRIPTOR:
		*ret = (struct key_value){
			.known = true, .base = KEY_BASE_DESC_CODE, .width = 8, .slot = rela->r_offset};
		break;
	case RELOC_TLS_OFFSET: /* the process knows: a load */
		break;
	default:
		*ret = (struct key_value){};
		break;
	}
}

static void file_load(void *context, uint64_t address, unsigned int width, struct key_value *ret)
{
	const struct key_file *file = context;
	const uint8_t *bytes;
	uint64_t value = 0;
	Elf64_Rela rela;

	if (width == 8 && find_relocation(file, address, &rela)) {
		load_relocated(file, &rela, ret);
		return;
	}
	if (width > 8 || !is_constant(file, address, width))
		return;
	bytes = elf_file_bytes_at(file->elf, address, width);
	if (!bytes)
		return;
	memcpy(&value, bytes, width); /* files are of this machine's byte order, and that is little-endian */
	*ret = (struct key_value){.known = true, .width = 8, .offset = {(int64_t)value}};
}

static size_t file_code(void *context, uint64_t address, uint8_t *buffer, size_t size)
{
	const struct key_file *file = context;
	const struct elf_segment *segments;
	const uint8_t *bytes;
	size_t count, i;

	segments = elf_file_segments(file->elf, &count);
	for (i = 0; i < count; i++) {
		if (!(segments[i].flags & PF_X) || address < segments[i].vaddr ||
		    address - segments[i].vaddr >= segments[i].filesz)
			continue;
		if (size > segments[i].filesz - (address - segments[i].vaddr))
			size = segments[i].filesz - (address - segments[i].vaddr);
		bytes = elf_file_bytes_at(file->elf, address, size);
		if (!bytes)
			return 0;
		memcpy(buffer, bytes, size);
		return size;
	}
	return 0;
}

static bool file_function(void *context, uint64_t address, uint64_t *start, uint64_t *end)
{
	struct key_file *file = context;
	struct bounds bounds;
	size_t i;

	/* One FDE covers a whole PLT: of it, only the stub. */
	for (i = 0; i < sizeof(file->stubs) / sizeof(*file->stubs); i++)
		if (in_section(&file->stubs[i], address)) {
			*start = address;
			*end = address + STUB_BYTES;
			return true;
		}
	for (i = 0; i < file->functions.count; i++)
		if (address >= file->functions.at[i].start && address < file->functions.at[i].end)
			break;
	if (i < file->functions.count) {
		bounds = file->functions.at[i];
	} else {
		if (!unwind_find_fde(file->elf, address, &bounds.start, &bounds.end))
			return false;
		(void)vec_push(&file->functions, bounds); /* or else it is looked for again */
	}
	*start = bounds.start;
	*end = bounds.end;
	return true;
}

static enum key_callee file_callee(void *context, uint64_t address)
{
	const struct key_file *file = context;
	size_t i;

	for (i = 0; i < file->callee_count; i++)
		if (file->callees[i].vaddr == address)
			return file->callees[i].callee;
	return KEY_CALLEE_OTHER;
}

static void find_callees(struct key_file *file)
{
	static const char *const names[] = {
		"PyThread_tss_get",   "PyThread_get_key_value",   "PyThread_tss_is_created", "Py_FatalError",
		"_Py_FatalErrorFunc", "_Py_FatalErrorFormat",     "pthread_getspecific",     "__pthread_getspecific",
		"__tls_get_addr",     "_Py_FatalError_TstateNULL"};
	uint64_t vaddr, size;
	size_t i;

	for (i = 0; i < sizeof(names) / sizeof(*names); i++) {
		if (!python_find_exported(file->elf, names[i], &vaddr, &size))
			continue;
		file->callees[file->callee_count].vaddr = vaddr;
		file->callees[file->callee_count++].callee = key_callee_of(names[i]);
	}
}

int key_file_create(const struct elf_file *elf, struct key_file **ret)
{
	static const char *const tables[] = {".rela.dyn", ".rela.plt"};
	static const char *const stubs[] = {".plt", ".plt.sec", ".plt.got"};
	struct key_file *file = calloc(1, sizeof(*file));
	size_t i;

	if (!file)
		return -ENOMEM;
	file->elf = elf;
	for (i = 0; i < sizeof(tables) / sizeof(*tables); i++)
		if (!elf_file_section(elf, tables[i], &file->tables[i]))
			file->tables[i] = (struct elf_section){};
	for (i = 0; i < sizeof(stubs) / sizeof(*stubs); i++)
		if (!elf_file_section_header(elf, stubs[i], &file->stubs[i]))
			file->stubs[i] = (struct elf_section){};
	if (!elf_file_section(elf, ".dynsym", &file->symbols))
		file->symbols = (struct elf_section){};
	if (!elf_file_section(elf, ".dynstr", &file->names))
		file->names = (struct elf_section){};
	if (!elf_file_section_header(elf, ".got", &file->got))
		file->got = (struct elf_section){};
	if (index_relocations(file)) {
		key_file_destroy(file);
		return -ENOMEM;
	}
	find_callees(file);
	*ret = file;
	return 0;
}

void key_file_destroy(struct key_file *file)
{
	table_deinit(&file->relocations);
	vec_free(&file->functions);
	free(file);
}

struct key_image key_file_image(struct key_file *file)
{
	return (struct key_image){.code = file_code,
				  .load = file_load,
				  .function = file_function,
				  .callee = file_callee,
				  .context = file};
}

int key_file_tls(const struct key_file *file, int (*visit)(void *context, const struct key_tls_relocation *relocation),
		 void *context)
{
	struct cursor c = cursor_init(file->tables[0].bytes, file->tables[0].bytes ? file->tables[0].size : 0);
	const uint8_t *bytes;
	Elf64_Rela rela;
	int err = 0;

	while (!err && cursor_left(&c) >= sizeof(rela) && (bytes = cursor_take(&c, sizeof(rela)))) {
		struct key_tls_relocation relocation = {.symbol = ""};
		Elf64_Sym symbol;

		memcpy(&rela, bytes, sizeof(rela));
		switch (kind_of(file, ELF64_R_TYPE(rela.r_info))) {
		case RELOC_TLS_OFFSET:
			relocation.kind = KEY_TLS_OFFSET;
			break;
		case RELOC_TLS_MODULE:
			relocation.kind = KEY_TLS_MODULE;
			break;
		case RELOC_TLS_DESCRIPTOR:
			relocation.kind = KEY_TLS_DESCRIPTOR;
			break;
		default:
			continue;
		}
		relocation.slot = rela.r_offset;
		relocation.addend = rela.r_addend;
		if (ELF64_R_SYM(rela.r_info) &&
		    !dynamic_symbol(file, ELF64_R_SYM(rela.r_info), &symbol, &relocation.symbol))
			continue;
		err = visit(context, &relocation);
	}
	return err;
}
