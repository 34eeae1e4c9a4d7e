// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Builtins that user space carries out, such as printing: a record with the arguments goes through the ring buffer, and
 * its site says what to do.
 */
#include <string.h>

#include "lang/dialect/bpftrace/builtin/builtin.h"
#include "lang/dialect/bpftrace/print/format.h"
#include "lang/provider/provider.h"
#include "lang/rt/abi.h"

#define ARGUMENTS_MAX 64

/* An argument as it is sent: numbers as 64 bits. */
static const struct type *sent_type(struct compiler *c, struct ast *node)
{
	const struct type *type = check_value(c, node);

	if (type_is_aggregate(type) && check_number(c, node))
		type = node->type;
	if (type->kind == TYPE_INT && !type->name)
		return type->is_signed ? &type_int64 : &type_uint64;
	if (type->kind == TYPE_RECORD)
		types_complete(&c->types, type);
	return type;
}

static bool conversion_fits(const struct conversion *conversion, const struct type *type)
{
	switch (conversion->letter) {
	case 's':
		return type->kind != TYPE_POINTER && type->kind != TYPE_BUFFER && type->kind != TYPE_RECORD &&
		       !(type->kind == TYPE_INT && !type->name);
	case 'r':
		return type->kind == TYPE_BUFFER || type->kind == TYPE_STRING;
	case 'c':
	case 'g':
		return type->kind == TYPE_INT;
	default:
		return type_is_scalar(type) || type->kind == TYPE_PROBE || type->kind == TYPE_SYMBOL;
	}
}

/* Checks the arguments from number `first` on against the format; the tuple of what is sent. */
static const struct type *check_arguments(struct compiler *c, struct ast *call, const char *format, uint32_t first)
{
	const struct type *types[ARGUMENTS_MAX];
	struct conversion conversion;
	uint32_t count = call->kid_count - first, seen = 0, i;

	if (count > ARGUMENTS_MAX) {
		report_error(c->report, "call.arguments", call->span, "%s() takes at most %d arguments", call->text,
			     ARGUMENTS_MAX);
		count = ARGUMENTS_MAX;
	}
	for (i = 0; i < count; i++) {
		types[i] = sent_type(c, call->kids[first + i]);
		if (types[i]->kind == TYPE_NONE && checker(c)->final)
			report_error(c->report, "type.none", call->kids[first + i]->span,
				     "this has no value that could be printed");
	}
	for (; format && format_next(format, &conversion); format = conversion.end, seen++) {
		const struct ast *argument = seen < count ? call->kids[first + seen] : NULL;

		if (!conversion.letter) {
			report_error(c->report, "printf.format", call->kids[first - 1]->span,
				     "Unknown format string token '%.*s'", (int)(conversion.end - conversion.begin),
				     conversion.begin);
			report_hint(c->report, "there are %%d %%u %%x %%o %%c %%p %%s %%r and %%gr");
			break;
		}
		if (argument && types[seen]->kind != TYPE_NONE && !conversion_fits(&conversion, types[seen])) {
			report_error(c->report, "printf.type", argument->span,
				     "%s: %%%c specifier expects a value of another type ('%s' supplied)", call->text,
				     conversion.letter, type_describe(c->arena, types[seen]));
			if (conversion.letter == 's')
				report_hint(c->report,
					    "use %%d for numbers, str() for pointers to strings, %%r for buffers");
		}
	}
	if (format && seen != count)
		report_error(c->report, "printf.count", call->span,
			     "%s: format string expects %u arguments (%u provided)", call->text, seen, count);
	return type_tuple(c->arena, types, NULL, count);
}

/* --- what the kernel formats: debugf() to its trace buffer, printf() of pinned iterators to who reads them --- */

/* As bpf_bprintf_prepare() of the kernel's kernel/bpf/helpers.c has it. */
static bool kernel_knows(const struct conversion *conversion)
{
	const char *at = conversion->begin + 1;

	at += strspn(at, "0 +-");
	at += strspn(at, "0123456789");
	if (*at == 'p' || *at == 's' || *at == 'c')
		return at + 1 == conversion->end;
	at += *at == 'l';
	at += *at == 'l';
	return *at && strchr("diuxX", *at) && at + 1 == conversion->end;
}

static const struct type *check_by_kernel(struct compiler *c, struct ast *call)
{
	const char *format = check_literal_text(c, call->kids[0], "the format");
	const struct type *arguments = check_arguments(c, call, format, 1);
	struct conversion conversion;
	uint32_t i;

	call->literal = format;
	for (; format && format_next(format, &conversion); format = conversion.end)
		if (conversion.letter && !kernel_knows(&conversion))
			report_error(c->report, "debugf.type", call->kids[0]->span, "%s() has no %.*s here", call->text,
				     (int)(conversion.end - conversion.begin), conversion.begin);
	for (i = 0; i < arguments->field_count; i++)
		if (!type_is_scalar(arguments->fields[i].type) && arguments->fields[i].type->kind != TYPE_STRING &&
		    arguments->fields[i].type->kind != TYPE_NONE)
			report_error(c->report, "debugf.type", call->kids[i + 1]->span,
				     "%s() prints numbers and strings here, and this is of type '%s'", call->text,
				     type_describe(c->arena, arguments->fields[i].type));
	if (arguments->field_count > KERNEL_PRINT_MAX)
		report_error(c->report, "call.arguments", call->span,
			     "%s() takes at most %d arguments behind the format here", call->text, KERNEL_PRINT_MAX);
	return &type_none;
}

static const struct type *check_formatted(struct compiler *c, struct ast *call, enum site_kind kind)
{
	const char *format = check_literal_text(c, call->kids[0], "the format");

	call->site = check_site(c, call,
				(struct site){.kind = kind,
					      .is_warning = !strcmp(call->text, "warnf"),
					      .format = format ? format : "",
					      .arguments = check_arguments(c, call, format, 1)});
	return &type_none;
}

static const struct type *check_printf(struct compiler *c, struct ast *call)
{
	if (unit_is_pinned(c, c->unit)) {
		call->code = CORE_SEQ_PRINTF;
		return check_by_kernel(c, call);
	}
	return check_formatted(c, call, SITE_PRINTF);
}

static const struct type *check_errorf(struct compiler *c, struct ast *call)
{
	return check_formatted(c, call, SITE_ERRORF);
}

static const struct type *check_system(struct compiler *c, struct ast *call)
{
	return check_formatted(c, call, SITE_SYSTEM);
}

static const struct type *check_cat(struct compiler *c, struct ast *call)
{
	return check_formatted(c, call, SITE_CAT);
}

static bool is_one_number(const struct type *type)
{
	return type_is_readable_aggregate(type) && type->kind != TYPE_STATS;
}

/* print(@map [, top [, div]]), print(@map[key]) of an aggregation that is more than a number, print(value) */
static const struct type *check_print(struct compiler *c, struct ast *call)
{
	struct ast *what = call->kids[0];
	const struct type *types[4] = {&type_uint64, &type_uint64, &type_uint64};
	uint32_t i;

	call->code = CORE_SEND;
	for (i = 1; i < call->kid_count; i++) {
		check_value(c, call->kids[i]);
		check_number(c, call->kids[i]);
	}
	if (what->kind == AST_MAP) {
		struct symbol *map = what->kid_count ? check_map_symbol(c, what) : check_map_name(c, what);

		if (!map || !map->value) {
			if (map && checker(c)->final) {
				report_error(c->report, "map.undefined", what->span, "Undefined map: @%s", what->text);
				report_hint(c->report, "assign to it somewhere in the script");
			}
			return &type_none;
		}
		if (!what->kid_count && !map->key)
			map->used_bare = true;
		if (!what->kid_count || (type_is_aggregate(map->value) && !is_one_number(map->value))) {
			/* top, div, is there a key, the key */
			call->code = CORE_PRINT_MAP;
			types[3] = what->kid_count && map->key ? map->key : &type_uint64;
			call->site = check_site(c, call,
						(struct site){.kind = SITE_PRINT_MAP,
							      .map = map,
							      .arguments = type_tuple(c->arena, types, NULL, 4)});
			return &type_none;
		}
	}
	if (call->kid_count > 1)
		report_error(c->report, "call.arguments", call->span, "only maps are printed with a top or a divisor");
	check_kept(c, what);
	types[0] = sent_type(c, what);
	if (types[0]->kind == TYPE_NONE) {
		if (checker(c)->final)
			report_error(c->report, "type.none", what->span, "this has no value that could be printed");
		return &type_none;
	}
	call->site = check_site(c, call,
				(struct site){.kind = SITE_PRINT, .arguments = type_tuple(c->arena, types, NULL, 1)});
	return &type_none;
}

static const struct type *check_exit(struct compiler *c, struct ast *call)
{
	if (call->kid_count) {
		check_value(c, call->kids[0]);
		check_number(c, call->kids[0]);
	}
	return &type_none;
}

static struct ast *new_call(struct compiler *c, const struct ast *at, const char *name, uint32_t count)
{
	struct ast *call = ast_create(c->arena, AST_CALL, at->span, count);

	call->text = name;
	return call;
}

/* if (!CONDITION) { errorf("assert failed: %s", TEXT); exit(1); } */
static const struct type *check_assert(struct compiler *c, struct ast *call)
{
	struct ast *branch = ast_create(c->arena, AST_IF, call->span, 3);
	struct ast *condition = ast_create(c->arena, AST_UNARY, call->kids[0]->span, 1);
	struct ast *block = ast_create(c->arena, AST_BLOCK, call->span, 2);
	struct ast *say = new_call(c, call, "errorf", 2), *leave = new_call(c, call, "exit", 1);

	if (c->arena->failed)
		return &type_none;
	condition->op = OP_NOT;
	condition->kids[0] = call->kids[0];
	say->kids[0] = ast_create(c->arena, AST_STRING, call->span, 0);
	say->kids[0]->text = "assert failed: %s";
	say->kids[1] = call->kids[1];
	leave->kids[0] = ast_create(c->arena, AST_INT, call->span, 0);
	leave->kids[0]->value = 1;
	block->kids[0] = say;
	block->kids[1] = leave;
	branch->kids[0] = condition;
	branch->kids[1] = block;
	branch->kids[2] = NULL;
	*call = *branch;
	check_statement(c, call);
	return &type_none;
}

/* An array of strings, up to the first null pointer. */
static const struct type *check_join(struct compiler *c, struct ast *call)
{
	const struct type *type = check_value(c, call->kids[0]);
	const char *delimiter = " ";
	const struct type *types[RT_JOIN_STRINGS];
	uint32_t i;

	if (type->kind != TYPE_POINTER && type->kind != TYPE_INT)
		report_error(c->report, "type.pointer", call->kids[0]->span, "join() expects a pointer to strings");
	if (call->kid_count > 1)
		delimiter = check_literal_text(c, call->kids[1], "the delimiter of join()");
	for (i = 0; i < RT_JOIN_STRINGS; i++)
		types[i] = type_string(c->arena, RT_JOIN_BYTES);
	call->site = check_site(c, call,
				(struct site){.kind = SITE_JOIN,
					      .format = delimiter ? delimiter : " ",
					      .arguments = type_tuple(c->arena, types, NULL, RT_JOIN_STRINGS)});
	return &type_none;
}

static const struct type *check_unwatch(struct compiler *c, struct ast *call)
{
	const struct type *address = &type_uint64;

	check_value(c, call->kids[0]);
	check_number(c, call->kids[0]);
	call->site = check_site(
		c, call, (struct site){.kind = SITE_UNWATCH, .arguments = type_tuple(c->arena, &address, NULL, 1)});
	return &type_none;
}

const struct builtin builtins_output[] = {
	{"printf", 1, 65, 0, check_printf, CORE_SEND, 1, "printf(FORMAT, ...)"},
	{"errorf", 1, 65, 0, check_errorf, CORE_SEND, 1, "errorf(FORMAT, ...)"},
	{"warnf", 1, 65, 0, check_errorf, CORE_SEND, 1, "warnf(FORMAT, ...)"},
	{"print", 1, 3, 0, check_print, CORE_SEND, 0, "print(VALUE) or print(@map [, TOP [, DIVISOR]])"},
	{"debugf", 1, 13, 0, check_by_kernel, CORE_TRACE_PRINTF, 1, "debugf(FORMAT, ...)"},
	{"assert", 2, 2, 0, check_assert, CORE_NONE, 0, "assert(CONDITION, TEXT)"},
	{"exit", 0, 1, BUILTIN_LEAVES, check_exit, CORE_EXIT, 0, "exit([STATUS])"},
	{"system", 1, 65, BUILTIN_UNSAFE, check_system, CORE_SEND, 1, "system(COMMAND, ...)"},
	{"cat", 1, 65, 0, check_cat, CORE_SEND, 1, "cat(PATH, ...)"},
	{"join", 1, 2, 0, check_join, CORE_JOIN, 2, "join(POINTER [, DELIMITER])"},
	{"unwatch", 1, 1, 0, check_unwatch, CORE_UNWATCH, 0, "unwatch(ADDRESS)"},
	{},
};
