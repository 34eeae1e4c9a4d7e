// SPDX-License-Identifier: GPL-2.0-or-later
/* What is decided while compiling, and small conversions. */
#include <string.h>

#include "lang/core/number.h"
#include "lang/dialect/bpftrace/builtin/builtin.h"
#include "lang/dialect/bpftrace/print/format.h"
#include "lang/kernel/kernel_types.h"

static const struct type *become(struct ast *call, enum ast_kind kind, uint64_t value, const struct type *type)
{
	call->kind = kind;
	call->value = value;
	call->kid_count = 0;
	return type;
}

static const struct type *check_is(struct compiler *c, struct ast *call)
{
	struct ast *what = call->kids[0];
	const struct type *type = check_value(c, what);
	bool yes = false;

	if (type->kind == TYPE_NONE && !checker(c)->final)
		return &type_bool; /* not known yet */
	if (!strcmp(call->text, "is_ptr"))
		yes = type->kind == TYPE_POINTER;
	else if (!strcmp(call->text, "is_str"))
		yes = type->kind == TYPE_STRING;
	else if (!strcmp(call->text, "is_array"))
		yes = type->kind == TYPE_ARRAY;
	else if (!strcmp(call->text, "is_integer"))
		yes = type->kind == TYPE_INT;
	else if (!strcmp(call->text, "is_unsigned_integer"))
		yes = type->kind == TYPE_INT && !type->is_signed;
	else
		yes = what->kind == AST_INT || what->kind == AST_STRING || what->kind == AST_BOOL;
	return become(call, AST_BOOL, yes, &type_bool);
}

static const struct type *check_static_assert(struct compiler *c, struct ast *call)
{
	const char *text = check_literal_text(c, call->kids[1], "the message");
	int64_t value;

	check_value(c, call->kids[0]);
	if (!check_constant(call->kids[0], &value) && !checker(c)->final)
		return &type_none;
	if (!check_constant(call->kids[0], &value))
		report_error(c->report, "call.assert", call->kids[0]->span, "this is not known while compiling");
	else if (!value && !checker(c)->unreached)
		report_error(c->report, "call.assert", call->span, "%s", text ? text : "");
	become(call, AST_INT, 0, &type_none);
	return &type_none;
}

/* A literal as the format's conversion has it; NULL when it is none, or does not fit. */
static const char *literal_text(struct compiler *c, const struct conversion *conversion, const struct ast *argument)
{
	size_t length = strspn(conversion->begin + 1, "-+ #.0123456789");
	char format[32];
	const char *text = NULL;
	int64_t value;

	if (!strchr("sduixXo", conversion->letter) || length > sizeof(format) - 5)
		return NULL;
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
	if (conversion->letter == 's' && argument->kind == AST_STRING) {
		snprintf(format, sizeof(format), "%%%.*ss", (int)length, conversion->begin + 1);
		text = arena_printf(c->arena, format, argument->text);
	} else if (conversion->letter != 's' && check_constant(argument, &value)) {
		snprintf(format, sizeof(format), "%%%.*sll%c", (int)length, conversion->begin + 1, conversion->letter);
		text = arena_printf(c->arena, format, (long long)value);
	}
#pragma GCC diagnostic pop
	return text;
}

/* The text of a format up to its next conversion, or its end. */
static const char *plain_text(struct compiler *c, const char *from, const char *to)
{
	char *text = arena_strdup(c->arena, from, (size_t)(to - from)), *at = text;

	for (; at && (at = strstr(at, "%%")); at++)
		memmove(at, at + 1, strlen(at));
	return text ? text : "";
}

/* Its arguments are literals, since it ends the compilation when it may be reached. */
static const struct type *check_fail(struct compiler *c, struct ast *call)
{
	const char *format = check_literal_text(c, call->kids[0], "the format"), *words = "", *literal;
	struct conversion conversion;
	uint32_t i = 1;

	for (; format && format_next(format, &conversion) && conversion.letter; format = conversion.end, i++) {
		if (i < call->kid_count)
			check_value(c, call->kids[i]);
		literal = i < call->kid_count ? literal_text(c, &conversion, call->kids[i]) : NULL;
		if (!literal) {
			report_error(c->report, "call.fail", i < call->kid_count ? call->kids[i]->span : call->span,
				     "fail() takes a literal for each %%d and %%s of its format");
			return &type_none;
		}
		words = arena_printf(c->arena, "%s%s%s", words, plain_text(c, format, conversion.begin), literal);
	}
	if (!checker(c)->unreached && format && words)
		report_error(c->report, "call.fail", call->span, "%s%s", words,
			     plain_text(c, format, format + strlen(format)));
	return become(call, AST_INT, 0, &type_none);
}

/* The kernel's IS_ERR(): the last 4095 addresses are error numbers (include/linux/err.h). */
static const struct type *check_is_err(struct compiler *c, struct ast *call)
{
	const struct type *type = check_value(c, call->kids[0]);

	if (type->kind != TYPE_POINTER)
		check_number(c, call->kids[0]);
	return &type_bool;
}

static const struct type *check_bswap(struct compiler *c, struct ast *call)
{
	const struct type *type = check_value(c, call->kids[0]);

	check_number(c, call->kids[0]);
	return type->kind == TYPE_INT ? type_integer(type->size, false) : &type_uint64;
}

static const struct type *check_strerror(struct compiler *c, struct ast *call)
{
	check_value(c, call->kids[0]);
	check_number(c, call->kids[0]);
	return !strcmp(call->text, "strerror")      ? &type_error
	       : !strcmp(call->text, "signal_name") ? &type_signal
						    : &type_syscall;
}

/* The filter is a pattern for the names of hierarchies. */
static const struct type *check_cgroup_path(struct compiler *c, struct ast *call)
{
	struct type *type = arena_new(c->arena, struct type);

	check_value(c, call->kids[0]);
	check_number(c, call->kids[0]);
	if (!type)
		return &type_none;
	*type = type_cgroup;
	if (call->kid_count > 1)
		type->name = check_literal_text(c, call->kids[1], "the filter");
	return type;
}

static const char *named_parameter(const struct compiler *c, const char *name)
{
	size_t length = strlen(name);
	uint32_t i;

	for (i = 0; i < c->options->named_count; i++) {
		const char *given = c->options->named[i];

		if (!strncmp(given, name, length) && (given[length] == '=' || !given[length]))
			return given[length] ? given + length + 1 : "";
	}
	return NULL;
}

static const struct type *getopt_bool(struct compiler *c, struct ast *call, const char *name, const char *given,
				      bool otherwise)
{
	bool value = given ? !*given || !strcasecmp(given, "true") || !strcmp(given, "1") : otherwise;

	if (given && !value && strcasecmp(given, "false") && strcmp(given, "0"))
		report_error(c->report, "getopt.value", (struct span){},
			     "program command line option --%s invalid boolean (value: %s)", name, given);
	return become(call, AST_BOOL, value, &type_bool);
}

/* For the message that lists them, once each. */
static void note_parameter(struct compiler *c, struct ast *call, const char *name)
{
	const char *words = call->kid_count > 2 ? check_literal_text(c, call->kids[2], "the description") : NULL;
	struct parameter parameter = {.name = name, .words = words ? words : ""};
	size_t i;

	for (i = 0; i < checker(c)->parameters.count; i++)
		if (!strcmp(checker(c)->parameters.at[i].name, name))
			return;
	if (vec_push(&checker(c)->parameters, parameter))
		c->arena->failed = true;
}

static const struct type *check_getopt(struct compiler *c, struct ast *call)
{
	const char *name = check_literal_text(c, call->kids[0], "the option's name"), *given;
	uint64_t number = 0;
	bool minus;

	if (!name)
		return &type_bool;
	given = named_parameter(c, name);
	note_parameter(c, call, name);
	if (call->kid_count < 2)
		return getopt_bool(c, call, name, given, false);
	check_value(c, call->kids[1]);
	if (call->kids[1]->kind == AST_BOOL)
		return getopt_bool(c, call, name, given, call->kids[1]->value);
	if (call->kids[1]->kind == AST_STRING) {
		call->kind = AST_STRING;
		call->text = given ? given : call->kids[1]->text;
		call->kid_count = 0;
		return type_string(c->arena, (uint32_t)strlen(call->text) + 1);
	}
	if (call->kids[1]->kind != AST_INT) {
		report_error(c->report, "getopt.default", call->kids[1]->span, "the default must be a literal");
		return &type_int64;
	}
	if (!given)
		return become(call, AST_INT, call->kids[1]->value, call->kids[1]->type);
	minus = *given == '-';
	if (!number_parse(given + minus, strlen(given + minus), &number))
		report_error(c->report, "getopt.value", (struct span){},
			     "program command line option --%s invalid integer (value: %s)", name, given);
	number = minus ? 0 - number : number;
	return become(call, AST_INT, number, type_of_number(number, !minus));
}

/* A record whose fields are literals takes the call's place. */
static void become_record(struct compiler *c, struct ast *call, uint32_t count)
{
	call->kids = arena_array(c->arena, struct ast *, count);
	call->names = arena_array(c->arena, const char *, count);
	call->kind = AST_TUPLE;
	call->kid_count = call->kids && call->names ? count : 0;
}

/* Its next field: a text, or where that is NULL a number. */
static void set_field(struct compiler *c, struct ast *record, uint32_t index, const char *name, const char *text,
		      uint64_t number)
{
	struct ast *value = ast_create(c->arena, text ? AST_STRING : AST_INT, record->span, 0);

	value->text = text;
	value->value = number;
	value->type = &type_uint64;
	if (index < record->kid_count) {
		record->kids[index] = value;
		record->names[index] = name;
	}
}

/* config(): the settings. */
static const struct type *check_config(struct compiler *c, struct ast *call)
{
	static const struct {
		const char *name;
		unsigned int id; /* enum setting_id, enum bpftrace_setting */
	} all[] = {
		{"max_strlen", SETTING_MAX_STRLEN},
		{"max_map_keys", SETTING_MAX_MAP_KEYS},
		{"max_probes", SETTING_MAX_PROBES},
		{"max_bpf_progs", SETTING_MAX_BPF_PROGS},
		{"max_cat_bytes", SETTING_MAX_CAT_BYTES},
		{"cpp_demangle", SETTING_CPP_DEMANGLE},
		{"show_debug_info", SETTING_SHOW_DEBUG_INFO},
		{"print_maps_on_exit", SETTING_PRINT_MAPS_ON_EXIT},
		{"stack_mode", SETTING_STACK_MODE},
		{"missing_probes", SETTING_MISSING_PROBES},
		{"str_trunc_trailer", SETTING_STR_TRUNC_TRAILER},
		{"license", SETTING_LICENSE},
	};
	uint32_t count = sizeof(all) / sizeof(all[0]), i;

	become_record(c, call, count);
	for (i = 0; i < count; i++)
		set_field(c, call, i, all[i].name, c->texts[all[i].id], c->numbers[all[i].id]);
	return check_value(c, call);
}

static const char *base_name(struct compiler *c, const struct type *type)
{
	switch (type->kind) {
	case TYPE_INT:
		return "int";
	case TYPE_STRING:
		return "string";
	case TYPE_POINTER:
		return "pointer";
	case TYPE_ARRAY:
		return "array";
	case TYPE_TUPLE:
		return type->field_count && type->fields[0].name ? "record" : "tuple";
	case TYPE_RECORD:
		return "c_struct";
	default:
		return type_describe(c->arena, type);
	}
}

/* typeinfo(TYPE or value): what is known of it when no type grows any more. */
static const struct type *check_typeinfo(struct compiler *c, struct ast *call)
{
	static const char *const names[] = {"btf_id", "base_type", "full_type"};
	const struct type *const text = type_string(c->arena, 64), *elements[] = {&type_uint64, text, text};
	const struct type *type = check_type_of(c, call->kids[0]);

	if (!checker(c)->deciding && !checker(c)->final) {
		checker(c)->pending = true;
		return type_tuple(c->arena, elements, (const char **)names, 3);
	}
	if (type->kind == TYPE_NONE)
		return &type_none;
	become_record(c, call, 3);
	set_field(c, call, 0, names[0], NULL, 0);
	set_field(c, call, 1, names[1], base_name(c, type), 0);
	set_field(c, call, 2, names[2], type_describe(c->arena, type), 0);
	return check_value(c, call);
}

/* Is a function of the kernel known by this name? Scripts cannot call one, whatever its name. */
static const struct type *check_kernel_function(struct compiler *c, struct ast *call)
{
	const char *name = check_literal_text(c, call->kids[0], "the function's name");
	struct type_field result;
	bool exists = name && kernel_types_function(&c->types, "vmlinux", name, &result);

	return become(call, AST_BOOL, exists && strcmp(call->text, "kfunc_allowed") != 0, &type_bool);
}

const struct builtin builtins_meta[] = {
	{"is_ptr", 1, 1, 0, check_is, CORE_NONE, 0, "is_ptr(VALUE)"},
	{"is_str", 1, 1, 0, check_is, CORE_NONE, 0, "is_str(VALUE)"},
	{"is_array", 1, 1, 0, check_is, CORE_NONE, 0, "is_array(VALUE)"},
	{"is_integer", 1, 1, 0, check_is, CORE_NONE, 0, "is_integer(VALUE)"},
	{"is_unsigned_integer", 1, 1, 0, check_is, CORE_NONE, 0, "is_unsigned_integer(VALUE)"},
	{"is_literal", 1, 1, 0, check_is, CORE_NONE, 0, "is_literal(VALUE)"},
	{"is_err", 1, 1, 0, check_is_err, CORE_IS_ERR, 0, "is_err(POINTER)"},
	{"fail", 1, 65, 0, check_fail, CORE_NONE, 0, "fail(FORMAT, ...)"},
	{"static_assert", 2, 2, 0, check_static_assert, CORE_NONE, 0, "static_assert(CONDITION, TEXT)"},
	{"bswap", 1, 1, 0, check_bswap, CORE_BSWAP, 0, "bswap(NUMBER)"},
	{"strerror", 1, 1, 0, check_strerror, CORE_NUMBER, 0, "strerror(ERRNO)"},
	{"signal_name", 1, 1, 0, check_strerror, CORE_NUMBER, 0, "signal_name(NUMBER)"},
	{"syscall_name", 1, 1, 0, check_strerror, CORE_NUMBER, 0, "syscall_name(NUMBER)"},
	{"cgroup_path", 1, 2, 0, check_cgroup_path, CORE_NUMBER, 2, "cgroup_path(ID [, FILTER])"},
	{"config", 0, 0, BUILTIN_BARE, check_config, CORE_NONE, 0, "config()"},
	{"typeinfo", 1, 1, 0, check_typeinfo, CORE_NONE, 0, "typeinfo(TYPE or VALUE)"},
	{"kfunc_exist", 1, 1, 0, check_kernel_function, CORE_NONE, 0, "kfunc_exist(NAME)"},
	{"kfunc_allowed", 1, 1, 0, check_kernel_function, CORE_NONE, 0, "kfunc_allowed(NAME)"},
	{"getopt", 1, 3, 0, check_getopt, CORE_NONE, 0, "getopt(NAME [, DEFAULT [, DESCRIPTION]])"},
	{},
};
