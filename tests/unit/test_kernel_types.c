// SPDX-License-Identifier: GPL-2.0-or-later
/* BTF of modules, which libbpf writes here, beside the kernel's own. */
#include <bpf/btf.h>
#include <stdlib.h>
#include <unistd.h>

#include "lang/core/types.h"
#include "lang/kernel/kernel_types.h"
#include "tap.h"

/*
 * struct NAME_thing { char spare[4]; struct task_struct *task; enum NAME_kind kind; };
 * long NAME_function(struct NAME_thing *thing, size_t amount, const char *const volatile *names);
 */
static bool write_module(struct btf *kernel, const char *name, char *path)
{
	char thing[64], kind[64], function[64], value[64];
	struct btf *btf = btf__new_empty_split(kernel);
	int number = btf__find_by_name_kind(kernel, "int", BTF_KIND_INT);
	int character = btf__find_by_name_kind(kernel, "char", BTF_KIND_INT), fd = mkstemp(path);
	int spare, task, choice, record, pointer, names, proto;
	const void *bytes;
	uint32_t size;
	bool good;

	snprintf(thing, sizeof(thing), "%s_thing", name);
	snprintf(kind, sizeof(kind), "%s_kind", name);
	snprintf(function, sizeof(function), "%s_function", name);
	snprintf(value, sizeof(value), "%s_VALUE", name);
	spare = btf__add_array(btf, number, character, 4);
	task = btf__add_ptr(btf, btf__find_by_name_kind(kernel, "task_struct", BTF_KIND_STRUCT));
	choice = btf__add_enum(btf, kind, 4);
	btf__add_enum_value(btf, value, (int64_t)strlen(name));
	record = btf__add_struct(btf, thing, 24);
	btf__add_field(btf, "spare", spare, 0, 0);
	btf__add_field(btf, "task", task, 64, 0);
	btf__add_field(btf, "kind", choice, 128, 0);
	pointer = btf__add_ptr(btf, record);
	names = btf__add_ptr(btf, btf__add_const(btf, character));
	names = btf__add_ptr(btf, btf__add_const(btf, btf__add_volatile(btf, names)));
	proto = btf__add_func_proto(btf, btf__find_by_name_kind(kernel, "long int", BTF_KIND_INT));
	btf__add_func_param(btf, "thing", pointer);
	btf__add_func_param(btf, "amount", btf__find_by_name_kind(kernel, "size_t", BTF_KIND_TYPEDEF));
	btf__add_func_param(btf, "names", names);
	good = btf__add_func(btf, function, BTF_FUNC_STATIC, proto) > 0;
	bytes = btf__raw_data(btf, &size);
	good = good && bytes && fd >= 0 && write(fd, bytes, size) == (ssize_t)size;
	if (fd >= 0)
		close(fd);
	btf__free(btf);
	return good;
}

static void check_module(struct types *types, const char *name)
{
	char text[64];
	const struct type *arguments, *thing;
	struct type_field result = {}, field = {};

	snprintf(text, sizeof(text), "%s_function", name);
	arguments = kernel_types_function(types, name, text, &result);
	if (!ok(arguments && arguments->field_count == 3, "%s: the parameters of its function", name))
		return;
	is_str(arguments->fields[0].name, "thing", "%s: their names", name);
	is_str(arguments->fields[1].declaration, "size_t amount", "%s: a type of the kernel's own", name);
	is_str(arguments->fields[2].declaration, "const char *volatile const * names", "%s: const pointers", name);
	is_str(result.declaration, "long int retval", "%s: the result", name);
	thing = arguments->fields[0].type->to;
	ok(thing && types_complete(types, thing) && types_field(types, thing, "task", &field) && field.offset == 8,
	   "%s: fields of its structure", name);
	is_str(type_describe(types->arena, field.type), "struct task_struct *", "%s: a pointer to the kernel's", name);
	ok(types_field(types, thing, "kind", &field) && field.type->value_count == 1 &&
		   field.type->values[0].value == (int64_t)strlen(name),
	   "%s: its enumeration", name);
	snprintf(text, sizeof(text), "struct %s_thing", name);
	ok(types_find(types, text) == thing, "%s: the structure by its name", name);
	snprintf(text, sizeof(text), "%s_function", name);
	is_int(kernel_types_function_number(types, text), 0, "%s: its functions are called by nobody", name);
	ok(!kernel_types_function(types, "vmlinux", text, &result), "%s: nor are they the kernel's", name);
}

int main(void)
{
	static const char *const names[] = {"first", "second", "thirdmodule"};
	struct btf *kernel = btf__load_vmlinux_btf();
	struct arena arena = {};
	struct types types;
	size_t i;

	if (!kernel) {
		ok(true, "nothing: the kernel has no BTF # SKIP");
		return tap_done();
	}
	types_init(&types, &arena);
	kernel_types_attach(&types);
	types.declares = true;
	for (i = 0; i < 3; i++) {
		char path[] = "/tmp/strata-btf-XXXXXX";

		ok(write_module(kernel, names[i], path) && kernel_types_add_module(&types, names[i], path),
		   "%s: read", names[i]);
		unlink(path);
		ok(kernel_types_add_module(&types, names[i], "/nowhere"), "%s: read once", names[i]);
	}
	for (i = 0; i < 3; i++)
		check_module(&types, names[i]);
	ok(!kernel_types_add_module(&types, "none", "/nowhere"), "no such file");
	ok(!kernel_types_add_module(&types, "wrong", "/proc/self/exe"), "a file that is no BTF");
	ok(!kernel_types_module(&types, "../x"), "no path for a name");
	kernel_types_detach(&types);
	types_deinit(&types);
	arena_deinit(&arena);
	btf__free(kernel);
	return tap_done();
}
