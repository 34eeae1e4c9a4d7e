// SPDX-License-Identifier: GPL-2.0-or-later
/* Strings and bytes. */
#include <string.h>

#include "lang/dialect/bpftrace/builtin/builtin.h"

/* The length argument: a constant makes the type smaller, any other one is cut to it at run time. */
static uint32_t limit_of(struct compiler *c, const struct ast *call, uint32_t argument, uint32_t most)
{
	int64_t value;

	if (call->kid_count > argument && check_constant(call->kids[argument], &value)) {
		if (value < 0 || (uint64_t)value > STRING_MAX) {
			report_error(c->report, "call.length", call->kids[argument]->span,
				     "%s() takes a length of 0 to %u", call->text, STRING_MAX);
			return most;
		}
		return (uint32_t)value;
	}
	return most;
}

/* str($1 + 2): a parameter's text is an address to which a constant may be added. */
static void skip_characters(struct compiler *c, struct ast *node)
{
	struct ast *text = node->kid_count == 2 ? node->kids[0] : NULL;
	int64_t skip;

	if (!text || node->kind != AST_BINARY || node->op != OP_ADD || text->kind != AST_PARAMETER)
		return;
	if (check_value(c, text)->kind != TYPE_STRING || !check_constant(node->kids[1], &skip))
		return;
	if (skip < 0 || (uint64_t)skip > strlen(text->text)) {
		report_error(c->report, "call.offset", node->span, "the parameter has only %zu characters",
			     strlen(text->text));
		return;
	}
	node->kind = AST_STRING;
	node->text = text->text + skip;
	node->kid_count = 0;
}

#define NAMES_MAX 500 /* of probes, each of which is code */

/* The name of a probe: the value is the number of one of all places. */
static const struct type *check_probe_name(struct compiler *c, const struct ast *call)
{
	size_t longest = 0, i;

	for (i = 0; i < c->attaches.count; i++)
		if (strlen(c->attaches.at[i].name) > longest)
			longest = strlen(c->attaches.at[i].name);
	if (c->attaches.count > NAMES_MAX) {
		report_error(c->report, "str.probes", call->span,
			     "the script has more than %d probes, too many to look at "
			     "their names",
			     NAMES_MAX);
		report_hint(c->report, "compare probe with == instead");
	}
	return type_string(c->arena, (uint32_t)longest + 1);
}

static const struct type *check_str(struct compiler *c, struct ast *call)
{
	const struct type *type;
	uint32_t most = (uint32_t)c->numbers[SETTING_MAX_STRLEN];

	skip_characters(c, call->kids[0]);
	type = check_value(c, call->kids[0]);
	if (call->kid_count > 1) {
		check_value(c, call->kids[1]);
		check_number(c, call->kids[1]);
	}
	if (type->kind == TYPE_PROBE && call->kid_count == 1)
		return check_probe_name(c, call);
	if (type->kind == TYPE_STRING) {
		most = limit_of(c, call, 1, type->size);
		return type_string(c->arena, most < type->size ? most : type->size);
	}
	/* A parameter that was not given is no address. */
	if (call->kids[0]->kind == AST_INT && !call->kids[0]->type->name && call->kid_count == 1) {
		char text[24];

		snprintf(text, sizeof(text), "%lld", (long long)call->kids[0]->value);
		call->kind = AST_STRING;
		call->text = call->kids[0]->value ? arena_strdup(c->arena, text, strlen(text)) : "";
		call->kid_count = 0;
		return type_string(c->arena, (uint32_t)strlen(call->text) + 1);
	}
	if (type->kind != TYPE_INT && type->kind != TYPE_POINTER && type->kind != TYPE_ARRAY) {
		report_error(c->report, "type.str", call->kids[0]->span,
			     "str() expects a pointer or an integer, and this is of type '%s'",
			     type_describe(c->arena, type));
		report_hint(c->report, "usage: %s", call->builtin->usage);
	}
	return call->kid_count > 1 ? type_string(c->arena, limit_of(c, call, 1, most))
				   : type_string_cut(c->arena, most);
}

static const struct type *check_buf(struct compiler *c, struct ast *call)
{
	const struct type *type = check_value(c, call->kids[0]);
	uint32_t most = (uint32_t)c->numbers[SETTING_MAX_STRLEN];

	if (call->kid_count > 1) {
		check_value(c, call->kids[1]);
		check_number(c, call->kids[1]);
		most = limit_of(c, call, 1, most);
	} else if (type->kind == TYPE_ARRAY || type->kind == TYPE_STRING) {
		most = type->size < most ? type->size : most;
	} else {
		report_error(c->report, "call.length", call->span, "buf() expects a length argument for this type");
		report_hint(c->report, "usage: %s", call->builtin->usage);
	}
	return type_buffer(c->arena, most);
}

static bool check_text(struct compiler *c, struct ast *node, const char *function)
{
	const struct type *type = check_value(c, node);

	if (type->kind == TYPE_PROBE) {
		/* It is a number here: str(probe). */
		struct ast *inner = ast_copy(c->arena, node);

		*node = *ast_create(c->arena, AST_CALL, node->span, 1);
		if (c->arena->failed)
			return false;
		node->text = "str";
		node->expanded = inner->expanded;
		node->kids[0] = inner;
		type = check_value(c, node);
	}
	if (type->kind == TYPE_STRING || (type->kind == TYPE_NONE && !checker(c)->final))
		return true;
	report_error(c->report, "type.string", node->span, "%s() expects a string, and this is of type '%s'", function,
		     type_describe(c->arena, type));
	if (type->kind == TYPE_POINTER || type->kind == TYPE_INT)
		report_hint(c->report, "read it with str()");
	return false;
}

static const struct type *check_strncmp(struct compiler *c, struct ast *call)
{
	int64_t count;

	check_text(c, call->kids[0], call->text);
	check_text(c, call->kids[1], call->text);
	check_literal_number(c, call->kids[2], &count);
	return &type_uint64;
}

static const struct type *check_strlen(struct compiler *c, struct ast *call)
{
	const struct type *type = check_value(c, call->kids[0]);

	if (type->kind != TYPE_STRING && type->kind != TYPE_POINTER && type->kind != TYPE_ARRAY && checker(c)->final)
		check_text(c, call->kids[0], call->text);
	return &type_uint64;
}

static const struct type *check_strcontains(struct compiler *c, struct ast *call)
{
	check_text(c, call->kids[0], call->text);
	check_text(c, call->kids[1], call->text);
	return strcmp(call->text, "strstr") ? &type_bool : &type_int64;
}

static const struct type *check_memcmp(struct compiler *c, struct ast *call)
{
	uint32_t a = type_bytes(check_value(c, call->kids[0])), b = type_bytes(check_value(c, call->kids[1]));
	uint32_t most = a < b ? a : b;
	int64_t count = 0;

	if (check_literal_number(c, call->kids[2], &count) && checker(c)->final && (count < 0 || count > most)) {
		report_error(c->report, "memcmp.length", call->kids[2]->span,
			     "the shorter one of the two has %u bytes, and not %lld", most, (long long)count);
		count = 0;
	}
	call->value = (uint64_t)count;
	return &type_int64;
}

/* How many characters there may be. */
static const struct type *check_strcap(struct compiler *c, struct ast *call)
{
	const struct type *type = check_strlen(c, call);

	if (type->kind == TYPE_NONE)
		return type;
	type = call->kids[0]->type;
	call->flags = type->kind == TYPE_STRING || type->kind == TYPE_ARRAY;
	call->value = type->count;
	return &type_int64;
}

static bool is_characters(const struct type *type)
{
	return (type->kind == TYPE_POINTER || type->kind == TYPE_ARRAY) && type->to->kind == TYPE_INT &&
	       type->to->size == 1;
}

static const struct type *check_assert_str(struct compiler *c, struct ast *call)
{
	const struct type *type = check_value(c, call->kids[0]);

	if (type->kind != TYPE_STRING && !is_characters(type) && (type->kind != TYPE_NONE || checker(c)->final))
		report_error(
			c->report, "type.string", call->kids[0]->span,
			"a string, or a pointer to or an array of characters is needed here, and this is of type '%s'",
			type_describe(c->arena, type));
	call->kind = AST_INT; /* nothing is left to do */
	call->kid_count = 0;
	return &type_none;
}

/* How much a string has that is given no length. */
static const struct type *check_default_length(struct compiler *c, struct ast *call)
{
	call->kind = AST_INT;
	call->value = c->numbers[SETTING_MAX_STRLEN];
	return &type_uint64;
}

/*
 * The result has room for both, by powers of two, so that $s = str_concat($s, ...) has a type; max_strlen is the most.
 */
static const struct type *check_concat(struct compiler *c, struct ast *call)
{
	uint32_t most = (uint32_t)c->numbers[SETTING_MAX_STRLEN], wanted = 0, size = 8, i;

	for (i = 0; i < 2; i++)
		if (check_text(c, call->kids[i], call->text))
			wanted += call->kids[i]->type->size;
	while (size < wanted && size < most)
		size *= 2;
	return type_string(c->arena, size < most ? size : most);
}

const struct builtin builtins_text[] = {
	{"assert_str", 1, 1, 0, check_assert_str, CORE_NONE, 0, "assert_str(VALUE)"},
	{"default_str_length", 0, 0, BUILTIN_BARE, check_default_length, CORE_NONE, 0, "default_str_length()"},
	{"str_concat", 2, 2, 0, check_concat, CORE_STR_CONCAT, 0, "str_concat(STRING, STRING)"},
	{"str", 1, 2, 0, check_str, CORE_STR, 0, "str(POINTER [, LENGTH])"},
	{"buf", 1, 2, 0, check_buf, CORE_BUF, 0, "buf(POINTER [, LENGTH])"},
	{"strncmp", 3, 3, 0, check_strncmp, CORE_STRNCMP, 0, "strncmp(STRING, STRING, LENGTH)"},
	{"strlen", 1, 1, 0, check_strlen, CORE_STRLEN, 0, "strlen(STRING)"},
	{"strcap", 1, 1, 0, check_strcap, CORE_STRCAP, 0, "strcap(STRING)"},
	{"memcmp", 3, 3, 0, check_memcmp, CORE_MEMCMP, 4, "memcmp(VALUE, VALUE, LENGTH)"},
	{"strcontains", 2, 2, 0, check_strcontains, CORE_STRCONTAINS, 0, "strcontains(STRING, PART)"},
	{"strstr", 2, 2, 0, check_strcontains, CORE_STRSTR, 0, "strstr(STRING, PART)"},
	{},
};
