// SPDX-License-Identifier: GPL-2.0-or-later
/* Places in memory by their names, and what is written there. */
#include <stdio.h>
#include <string.h>

#include "elf/elf_file.h"
#include "lang/dialect/bpftrace/builtin/builtin.h"
#include "lang/kernel/kernel_types.h"
#include "lang/provider/binary.h"
#include "lang/provider/provider.h"

static uint64_t kernel_address(const char *name)
{
	FILE *symbols = fopen("/proc/kallsyms", "re");
	uint64_t address = 0;
	char line[1024];

	while (symbols && !address && fgets(line, sizeof(line), symbols)) {
		unsigned long long at;
		char found[512];

		if (sscanf(line, "%llx %*c %511s", &at, found) == 2 && !strcmp(found, name))
			address = at;
	}
	if (symbols)
		fclose(symbols);
	return address;
}

static const struct type *check_kaddr(struct compiler *c, struct ast *call)
{
	const char *name = check_literal_text(c, call->kids[0], "the symbol");
	uint64_t address = name ? kernel_address(name) : 0;

	if (name && !address) {
		report_error(c->report, "kaddr.symbol", call->span, "Failed to resolve kernel symbol: %s", name);
		report_hint(c->report, "/proc/kallsyms has no address of this name");
	}
	call->kind = AST_INT;
	call->value = address;
	call->kid_count = 0;
	call->type = &type_uint64;
	return &type_uint64;
}

/* percpu_kaddr(name [, cpu]): the kernel looks the name up, so its addresses need not be visible. `value`: its number.
 */
static const struct type *check_per_cpu(struct compiler *c, struct ast *call)
{
	const char *name = check_literal_text(c, call->kids[0], "the variable");
	const struct type *type = &type_none;

	if (call->kid_count > 1) {
		check_value(c, call->kids[1]);
		check_number(c, call->kids[1]);
	}
	call->value = name ? kernel_types_per_cpu(&c->types, name, &type) : 0;
	if (name && !call->value) {
		report_error(c->report, "kaddr.cpu", call->kids[0]->span, "the kernel has no per-CPU variable %s",
			     name);
		report_hint(c->report, "the kernel's BTF names its own ones, if it was built so, and none of modules");
	}
	return type_pointer(c->arena, type->kind == TYPE_NONE ? &type_uint64 : type);
}

/* Finds the symbol in the file that is probed; *probed is where the probe is, and *size the symbol's. */
static bool find_user_symbol(struct compiler *c, const char *name, uint64_t *address, uint64_t *probed, uint64_t *size)
{
	const struct attach *attach = compiler_attach(c);
	struct foreign_file *file;
	struct elf_file *elf;
	bool found = false;

	if (binary_open(c, attach->path, &file))
		return false;
	if (!elf_file_open_foreign(file, attach->path, &elf, NULL)) {
		found = elf_file_find_symbol(elf, name, address, size) &&
			elf_file_vaddr_of_offset(elf, attach->address, probed);
		elf_file_close(elf);
	}
	foreign_close(file);
	return found;
}

/* `value` is how far the symbol is from the probe: so it is found wherever the file was loaded. */
static const struct type *check_uaddr(struct compiler *c, struct ast *call)
{
	const char *name = check_literal_text(c, call->kids[0], "the symbol");
	uint64_t address = 0, probed = 0, size = 0;

	if (c->unit->provider->context != CONTEXT_REGISTERS || c->unit->provider->is_return ||
	    !compiler_attach(c)->path || c->unit->attach_count != 1) {
		report_error(c->report, "uaddr.probe", call->span,
			     "uaddr() can only be used with uprobe and usdt probes that mean one place");
		return type_pointer(c->arena, &type_uint64);
	}
	if (name && !find_user_symbol(c, name, &address, &probed, &size)) {
		report_error(c->report, "uaddr.symbol", call->span, "Could not resolve symbol: %s:%s",
			     compiler_attach(c)->path, name);
		report_hint(c->report, "the file that is probed has no symbol of this name");
	}
	call->value = address - probed;
	return type_pointer(c->arena, type_integer(size == 1 || size == 2 || size == 4 ? (uint32_t)size : 8, false));
}

/* container_of(pointer, type, field): the record that has the field at the pointer. */
static const struct type *check_container(struct compiler *c, struct ast *call)
{
	const struct type *record;
	struct type_field field;
	const char *name = call->kids[2]->text;

	check_value(c, call->kids[0]);
	check_number(c, call->kids[0]);
	record = call->kids[1]->kind == AST_TYPE ? check_type_name(c, call->kids[1]->type_name) : &type_none;
	if (record->kind == TYPE_RECORD)
		types_complete(&c->types, record);
	if (record->kind != TYPE_RECORD || call->kids[2]->kind != AST_NAME) {
		report_error(c->report, "container.type", call->span,
			     "container_of() expects a pointer, a struct and the name of its field");
		report_hint(c->report, "usage: %s", call->builtin->usage);
		return &type_void_pointer;
	}
	if (!types_field(&c->types, record, name, &field)) {
		report_error(c->report, "type.field", call->kids[2]->span, "%s has no field named '%s'",
			     type_describe(c->arena, record), name);
		return &type_void_pointer;
	}
	call->value = field.offset;
	return type_pointer(c->arena, record);
}

/* write_user(pointer, value, length): the value's first bytes into the process's memory. */
static const struct type *check_write_user(struct compiler *c, struct ast *call)
{
	int64_t length = 0;

	check_value(c, call->kids[0]);
	check_number(c, call->kids[0]);
	check_value(c, call->kids[1]);
	if (check_literal_number(c, call->kids[2], &length) && (length < 1 || length > call->kids[1]->type->size)) {
		report_error(c->report, "write.length", call->kids[2]->span, "the value has %u bytes, and not %lld",
			     call->kids[1]->type->size, (long long)length);
		length = 1;
	}
	call->value = (uint64_t)length;
	return &type_int64;
}

const struct builtin builtins_address[] = {
	{"kaddr", 1, 1, 0, check_kaddr, CORE_NONE, 0, "kaddr(SYMBOL)"},
	{"percpu_kaddr", 1, 2, 0, check_per_cpu, CORE_PER_CPU, 1, "percpu_kaddr(NAME [, CPU])"},
	{"uaddr", 1, 1, 0, check_uaddr, CORE_UADDR, OPERANDS_NONE, "uaddr(SYMBOL)"},
	{"container_of", 3, 3, 0, check_container, CORE_CONTAINER, 6, "container_of(POINTER, struct NAME, FIELD)"},
	{"write_user", 3, 3, BUILTIN_UNSAFE | BUILTIN_DISCARDABLE, check_write_user, CORE_WRITE_USER, 4,
	 "write_user(POINTER, VALUE, LENGTH)"},
	{},
};
