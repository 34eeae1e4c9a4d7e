// SPDX-License-Identifier: GPL-2.0-or-later
#include "lang/provider/binary_arguments.h"

#include <string.h>

#include "arch/arch.h"
#include "dwarf/parameters.h"
#include "lang/provider/binary_types.h"

#define HINT_FILES                                                                                                     \
	"compile it with -g, install its debug symbols, or say with --debuginfo where they are; arg0, arg1, ... are "  \
	"there without"
#define HINT_NUMBERS "use arg0, arg1, ..."

static bool is_clone(const char *function)
{
	return function && strchr(function, '.') != NULL;
}

static void set_place(const struct formal_parameter *from, struct binary_argument *to)
{
	uint8_t i;

	for (i = 0; from->place == PLACE_REGISTERS && i < from->register_count; i++)
		to->registers[to->register_count++] = arch_register_numbered(arch_here(), from->registers[i])->context;
	to->stack = from->offset;
}

static const struct type *type_of(struct compiler *c, struct binary *binary, struct formal_parameter *parameter)
{
	const struct type *type = binary_type(c, binary, &parameter->type);

	if (type->kind == TYPE_RECORD && !types_complete(&c->types, type))
		return &type_none;
	return parameter->is_reference ? type_pointer(c->arena, type) : type;
}

/* One parameter: a field of the record, where it can be read. */
static void add_argument(struct compiler *c, struct binary *binary, struct formal_parameter *parameter,
			 struct binary_argument *to, struct type *record, struct type_field *fields)
{
	const struct type *type = parameter->has_type ? type_of(c, binary, parameter) : &type_none;
	const char *text = parameter->has_type ? binary_type_text(c, &parameter->type) : "?";
	uint32_t align = type->align ? type->align : 1;

	to->name = parameter->name ? arena_strdup(c->arena, parameter->name, strlen(parameter->name)) : "";
	to->name = to->name ? to->name : "";
	to->declaration = *to->name ? arena_printf(c->arena, "%s %s", text, to->name) : text;
	to->missing = parameter->missing;
	to->size = type->size;
	if (!to->missing &&
	    (type->kind == TYPE_NONE || !type->size || (!parameter->is_reference && type->size != parameter->size)))
		to->missing = "is of a type that the language has no values of";
	if (to->missing)
		return;
	set_place(parameter, to);
	to->offset = (record->size + align - 1) & ~(align - 1);
	fields[record->field_count++] = (struct type_field){
		.name = to->name, .type = type, .offset = to->offset, .declaration = to->declaration};
	record->size = to->offset + type->size;
}

static void fail(struct binary_arguments *ret, const char *why, const char *hint)
{
	ret->why = why;
	ret->hint = hint;
}

static void gather(struct compiler *c, const struct attach *attach, struct binary *binary, uint64_t vaddr,
		   struct binary_arguments *ret)
{
	struct formal_parameter parameters[PARAMETERS_MAX];
	struct binary_argument *at;
	struct type_field *fields;
	struct debug_unit unit;
	enum parameters_of of;
	struct type *record;
	Dwarf_Die function;
	bool found;
	size_t count, i;

	of = is_clone(attach->function) ? PARAMETERS_OF_CLONE : PARAMETERS_OF_CODE;
	found = debug_info_function(binary_info(binary), vaddr, &unit, &function);
	if (!found && of == PARAMETERS_OF_CODE && unit.die.addr && attach->function) {
		found = debug_info_function_named(&unit, attach->function, &function);
		of = PARAMETERS_OF_NAME;
	}
	if (!found) {
		if (unit.is_split_away)
			fail(ret,
			     arena_printf(c->arena, "its debug information is in %s, which was not found",
					  unit.split_name ? unit.split_name : "a .dwo file"),
			     "strata reads .dwo files that are where the compiler put them");
		else if (unit.is_packed)
			fail(ret,
			     "its debug information is in a DWARF package (.dwp), of which strata knows only functions "
			     "that "
			     "are not static",
			     HINT_NUMBERS);
		else
			fail(ret, "no function of the debug information begins here", HINT_NUMBERS);
		return;
	}
	count = debug_info_parameters(&unit, &function, vaddr, of, parameters);
	record = arena_new(c->arena, struct type);
	fields = arena_array(c->arena, struct type_field, count + 1);
	at = arena_array(c->arena, struct binary_argument, count + 1);
	if (!record || !fields || !at)
		return;
	*record = (struct type){.kind = TYPE_RECORD, .align = 8, .name = attach->function, .fields = fields};
	for (i = 0; i < count; i++)
		add_argument(c, binary, &parameters[i], &at[i], record, fields);
	record->size = (record->size + 7) & ~7u;
	ret->record = record;
	ret->at = at;
	ret->count = (uint32_t)count;
}

const struct binary_arguments *binary_arguments(struct compiler *c, struct attach *attach)
{
	struct binary_arguments *ret;
	struct binary *binary;
	uint64_t vaddr = attach->address;
	const char *why = NULL;

	if (attach->parameters)
		return attach->parameters;
	ret = arena_new(c->arena, struct binary_arguments);
	if (!ret)
		return NULL;
	attach->parameters = ret;
	if (attach->flags & ATTACH_PACKED) {
		fail(ret, "debug information is not read out of archives", HINT_NUMBERS);
		return ret;
	}
	if (attach->flags & ATTACH_INSIDE) {
		fail(ret, "the probe is not at the beginning of a function, where its parameters are", NULL);
		return ret;
	}
	binary = binary_debug_info(c, attach->path, &vaddr, &why);
	if (binary)
		gather(c, attach, binary, vaddr, ret);
	else
		fail(ret, why, HINT_FILES);
	return ret;
}

const struct binary_argument *binary_argument_find(const struct binary_arguments *arguments, const char *name)
{
	uint32_t i;

	for (i = 0; i < arguments->count; i++)
		if (!strcmp(arguments->at[i].name, name))
			return &arguments->at[i];
	return NULL;
}
