// SPDX-License-Identifier: GPL-2.0-or-later
#include "runtime/go/code.h"

#include "runtime/go/abi.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cursor.h"
#include "runtime/go/switch.h"

#define MAGIC_1_18 0xfffffff0u
#define MAGIC_1_20 0xfffffff1u

/* Of struct _func, src/runtime/runtime2.go: fields before `funcID`; 1.20 has one more, startLine. */
#define FUNC_ID_1_18 36
#define FUNC_ID_1_20 40

#define TEXT_AT        24 /* in the table's header */
#define MODULE_TEXT_AT 176

#define FLAG_TOPFRAME 1 /* outermost: nothing called it */
#define FLAG_SPWRITE  2 /* sets SP in ways that the table does not tell */

struct pclntab {
	const uint8_t *bytes;
	size_t size;
	uint64_t text, functions, names, sizes, table; /* text: vaddr; the others offsets of its parts */
	size_t func_id;                                /* offset in struct _func */
	uint32_t quantum;
};

struct function {
	struct go_function it;
	uint32_t sizes; /* offset in the part; 0: none, it is not Go's */
	uint8_t flags;
};

/* What the functions are read for. */
struct reading {
	const struct pclntab *table;
	const struct unwind_arch *arch;
	struct go_switch *go; /* NULL: functions that change stacks cannot be read */
	int (*range)(void *context, uint64_t start, uint64_t end, struct unwind_rule rule);
	void *context;
};

static bool parse_header(const struct elf_section *section, struct pclntab *ret)
{
	struct cursor c = cursor_init(section->bytes, section->size);
	uint32_t magic = cursor_u32(&c);
	uint8_t pointer;

	cursor_skip(&c, 2);
	ret->quantum = cursor_u8(&c);
	pointer = cursor_u8(&c);
	ret->functions = cursor_u64(&c);
	cursor_skip(&c, 8); /* files */
	cursor_skip(&c, 8); /* text */
	ret->names = cursor_u64(&c);
	cursor_skip(&c, 16); /* compilation units, file names */
	ret->sizes = cursor_u64(&c);
	ret->table = cursor_u64(&c);
	ret->bytes = section->bytes;
	ret->size = section->size;
	ret->func_id = magic == MAGIC_1_18 ? FUNC_ID_1_18 : FUNC_ID_1_20;
	return cursor_ok(&c) && (magic == MAGIC_1_18 || magic == MAGIC_1_20) && pointer == 8 && ret->quantum &&
	       ret->functions < section->size / 8;
}

/*
 * Where functions' addresses begin. Before 1.26 the table says so, in what is relocated a word that the loader writes.
 * From then on only struct moduledata does (src/runtime/symtab.go), in a section of its own, from whose beginning on
 * pcHeader is word 0 and text word 22.
 */
static uint64_t find_text(const struct elf_file *elf, uint64_t table)
{
	uint32_t relative = arch_of(elf_file_machine(elf))->relative;
	uint64_t text = elf_file_loaded_word(elf, table + TEXT_AT, relative);
	struct elf_section module;

	if (text || !elf_file_section_header(elf, ".go.module", &module) || module.size < MODULE_TEXT_AT + 8 ||
	    elf_file_loaded_word(elf, module.vaddr, relative) != table)
		return text;
	return elf_file_loaded_word(elf, module.vaddr + MODULE_TEXT_AT, relative);
}

/* A linker that is not Go's has put the table where other data is, and a header is to be looked for. Its text is not
 * written yet. */
static bool search_table(struct elf_section *section)
{
	static const uint8_t layouts[][8] = {{0xf0, 0xff, 0xff, 0xff, 0, 0, 1, 8},
					     {0xf1, 0xff, 0xff, 0xff, 0, 0, 1, 8}};
	size_t at, i;

	for (at = 0; at + sizeof(layouts[0]) <= section->size; at += 8) {
		for (i = 0; i < sizeof(layouts) / sizeof(*layouts); i++) {
			struct elf_section found = *section;
			struct pclntab table;

			if (memcmp(section->bytes + at, layouts[i], sizeof(layouts[i])))
				continue;
			found.vaddr += at;
			found.bytes += at;
			found.size -= at;
			if (!parse_header(&found, &table) || !table.functions)
				continue;
			*section = found;
			return true;
		}
	}
	return false;
}

static bool find_table(const struct elf_file *elf, struct elf_section *ret)
{
	struct elf_section go;

	if (elf_file_section(elf, ".gopclntab", ret) || elf_file_section(elf, ".data.rel.ro.gopclntab", ret))
		return ret->bytes;
	/* Go's shared libraries, and programs that use them, have notes instead. */
	return (elf_file_section_header(elf, ".go.buildinfo", &go) ||
		elf_file_section_header(elf, ".note.go.buildid", &go) ||
		elf_file_section_header(elf, ".note.go.pkg-list", &go)) &&
	       elf_file_section(elf, ".data.rel.ro", ret) && ret->bytes && search_table(ret);
}

static struct cursor part(const struct pclntab *t, uint64_t at)
{
	struct cursor c = cursor_init(t->bytes, t->size);

	cursor_seek(&c, at <= t->size ? (size_t)at : t->size + 1);
	return c;
}

/* The function of a number; false when the table is damaged. */
static bool read_function(const struct pclntab *t, uint64_t number, struct function *ret)
{
	struct cursor c = part(t, t->table + 8 * number);
	uint32_t start = cursor_u32(&c), offset = cursor_u32(&c), end = cursor_u32(&c), name;
	struct cursor f = part(t, t->table + offset), n;

	if (!cursor_ok(&c))
		return false;
	cursor_skip(&f, 4);
	name = cursor_u32(&f);
	cursor_skip(&f, 8); /* arguments, deferreturn */
	ret->sizes = cursor_u32(&f);
	f = part(t, t->table + offset + t->func_id + 1);
	ret->flags = cursor_u8(&f);
	n = part(t, t->names + name);
	ret->it.name = cursor_string(&n);
	ret->it.start = t->text + start;
	ret->it.end = t->text + end;
	return cursor_ok(&f) && ret->it.name && start < end;
}

static uint32_t read_varint(struct cursor *c)
{
	uint32_t value = 0, shift;

	for (shift = 0; shift < 32; shift += 7) {
		uint8_t byte = cursor_u8(c);

		value |= (uint32_t)(byte & 0x7f) << shift;
		if (!(byte & 0x80))
			return value;
	}
	cursor_fail(c);
	return 0;
}

/* Whether it takes the return address off the stack, as does what calls vfork(): the sizes do not tell where to. */
static bool pops_return_address(const struct pclntab *t, const struct function *function)
{
	struct cursor c = part(t, t->sizes + function->sizes);
	uint64_t pc = function->it.start;
	int64_t size = -1;

	while (function->sizes && pc < function->it.end) {
		uint32_t change = read_varint(&c);
		uint64_t length = (uint64_t)read_varint(&c) * t->quantum;

		if ((!change && pc != function->it.start) || !length || !cursor_ok(&c))
			break;
		size += (int32_t)(change >> 1 ^ -(change & 1));
		if (size < 0)
			return true;
		pc += length;
	}
	return false;
}

/* A rule for the whole function, where the sizes do not matter. */
static bool whole_rule(const struct pclntab *t, const struct function *function, const struct unwind_arch *arch,
		       struct unwind_rule *ret)
{
	if (!strncmp(function->it.name, "runtime.sigreturn", 17))
		*ret = (struct unwind_rule){.kind = UNWIND_SIGNAL, .cfa_offset = arch->sigcontext_at_return};
	else if (function->flags & FLAG_TOPFRAME || !strcmp(function->it.name, arch->go_entry))
		*ret = (struct unwind_rule){.kind = UNWIND_END};
	else if (function->flags & FLAG_SPWRITE || pops_return_address(t, function))
		*ret = (struct unwind_rule){.kind = UNWIND_OTHER_STACK};
	else
		return false;
	return true;
}

static bool is_named(const struct function *function, const char *name)
{
	return !strcmp(function->it.name, name);
}

static int function_ranges(const struct reading *r, const struct function *function)
{
	const struct pclntab *t = r->table;
	struct cursor c = part(t, t->sizes + function->sizes);
	uint64_t pc = function->it.start, end;
	bool schedule = is_named(function, "runtime.schedule");
	struct unwind_rule rule;
	int64_t size = -1;
	int err = 0;

	if (whole_rule(t, function, r->arch, &rule))
		return rule.kind == UNWIND_OTHER_STACK && r->go
			       ? go_switch_ranges(r->go, &function->it, r->range, r->context)
			       : r->range(r->context, pc, function->it.end, rule);
	/* C, or another language's, that Go's linker has taken in: its code is to be read (gaps.c). */
	if (!function->sizes)
		return 0;
	while (pc < function->it.end && !err) {
		uint32_t change = read_varint(&c);

		if ((!change && pc != function->it.start) || !cursor_ok(&c))
			break;
		size += (int32_t)(change >> 1 ^ -(change & 1));
		end = pc + (uint64_t)read_varint(&c) * t->quantum;
		if (!cursor_ok(&c) || end <= pc)
			break;
		if (end > function->it.end)
			end = function->it.end;
		if (size >= 0 && size < INT32_MAX / 2) {
			rule = r->arch->go_rule((uint32_t)size);
			if (schedule)
				rule.kind = GO_SCHEDULE;
			err = r->range(r->context, pc, end, rule);
		}
		pc = end;
	}
	/* Padding, which nobody needs to look at. */
	if (!err && pc < function->it.end)
		err = r->range(r->context, pc, function->it.end, (struct unwind_rule){.kind = UNWIND_NO_RULE});
	return err;
}

/* Of two functions that change stacks the code tells of others', and one tells whether a goroutine was left. */
static int read_switches(const struct elf_file *elf, struct reading *r)
{
	struct function function, systemstack = {}, save = {};
	bool schedules = false;
	uint64_t number;
	int err;

	for (number = 0; number < r->table->functions; number++) {
		if (!read_function(r->table, number, &function))
			continue;
		/* A wrapper for another calling convention has the same name. */
		if (is_named(&function, "runtime.systemstack") && function.flags & FLAG_SPWRITE)
			systemstack = function;
		else if (is_named(&function, "gosave_systemstack_switch"))
			save = function;
		else if (is_named(&function, "runtime.schedule"))
			schedules = true;
	}
	err = go_switch_create(elf, r->arch, &systemstack.it, &save.it, schedules, &r->go);
	return err == -ENOTSUP ? 0 : err;
}

static bool open_table(const struct elf_file *elf, const struct unwind_arch *arch, struct pclntab *ret)
{
	struct elf_section section;

	if (!arch->go_rule || !find_table(elf, &section) || !parse_header(&section, ret))
		return false;
	ret->text = find_text(elf, section.vaddr);
	return true;
}

int go_code_ranges(const struct elf_file *elf, const struct unwind_arch *arch,
		   int (*range)(void *context, uint64_t start, uint64_t end, struct unwind_rule rule), void *context)
{
	struct pclntab table;
	struct reading r = {.table = &table, .arch = arch, .range = range, .context = context};
	struct function function;
	uint64_t number, done = 0;
	int err;

	if (!open_table(elf, arch, &table))
		return 0;
	err = read_switches(elf, &r);
	for (number = 0; number < table.functions && !err; number++) {
		if (!read_function(&table, number, &function) || function.it.start < done)
			continue;
		done = function.it.end;
		err = function_ranges(&r, &function);
	}
	go_switch_destroy(r.go);
	return err;
}

struct go_functions {
	struct pclntab table;
};

struct go_functions *go_functions_create(const struct elf_file *elf, const struct unwind_arch *arch)
{
	struct go_functions *functions = calloc(1, sizeof(*functions));

	if (functions && open_table(elf, arch, &functions->table))
		return functions;
	free(functions);
	return NULL;
}

void go_functions_destroy(struct go_functions *functions)
{
	free(functions);
}

bool go_functions_find(const struct go_functions *functions, uint64_t vaddr, uint64_t *ret)
{
	uint64_t low = 0, high = functions->table.functions;
	struct function function;

	while (low < high) {
		uint64_t middle = low + (high - low) / 2;

		if (!read_function(&functions->table, middle, &function))
			return false;
		if (vaddr < function.it.start) {
			high = middle;
		} else if (vaddr >= function.it.end) {
			low = middle + 1;
		} else {
			*ret = function.it.start;
			return true;
		}
	}
	return false;
}
