// SPDX-License-Identifier: GPL-2.0-or-later
/* Strings and bytes. */
#include <string.h>

#include "lang/builtin/builtin.h"

/* The length argument: a constant makes the type smaller, any other one is cut to it at run time. */
static uint32_t limit_of(struct compiler *c, const struct node *call, uint32_t argument, uint32_t most)
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
static void skip_characters(struct compiler *c, struct node *node)
{
	struct node *text = node->kid_count == 2 ? node->kids[0] : NULL;
	int64_t skip;

	if (!text || node->kind != NODE_BINARY || node->op != OP_ADD || text->kind != NODE_PARAMETER)
		return;
	if (check_value(c, text)->kind != TYPE_STRING || !check_constant(node->kids[1], &skip))
		return;
	if (skip < 0 || (uint64_t)skip > strlen(text->text)) {
		report_error(c->report, "call.offset", node->span, "the parameter has only %zu characters",
			     strlen(text->text));
		return;
	}
	node->kind = NODE_STRING;
	node->text = text->text + skip;
	node->kid_count = 0;
}

#define NAMES_MAX 500 /* of probes, each of which is code */

/* The name of a probe: the value is the number of one of all places. */
static const struct type *check_probe_name(struct compiler *c, const struct node *call)
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

static void place_probe_name(struct gen *g, const struct node *call, uint32_t offset)
{
	uint32_t mark = g->used, number = gen_place(g, call->kids[0]);
	label end = code_label(g->code);
	size_t i;

	gen_zero(g, offset, call->type->size);
	for (i = 0; i < g->c->attaches.count; i++) {
		label next = code_label(g->code);

		gen_frame_load(g, 8, R0, number);
		code_jump_if(g->code, BPF_JNE, R0, (int32_t)i, next);
		gen_text(g, g->c->attaches.at[i].name, offset, call->type->size);
		code_jump(g->code, end);
		code_bind(g->code, next);
	}
	code_bind(g->code, end);
	g->used = mark;
}

static const struct type *check_str(struct compiler *c, struct node *call)
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
	if (call->kids[0]->kind == NODE_INT && !call->kids[0]->type->name && call->kid_count == 1) {
		char text[24];

		snprintf(text, sizeof(text), "%lld", (long long)call->kids[0]->value);
		call->kind = NODE_STRING;
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

/* The length given counts the terminator; without one max_strlen characters are read. */
static void place_str(struct gen *g, const struct node *call, uint32_t offset)
{
	uint32_t size = call->type->size, mark = g->used, limit = gen_temporary(g, 8);
	const struct node *from = call->kids[0];
	int64_t value;

	if (from->type->kind == TYPE_PROBE) {
		place_probe_name(g, call, offset);
		g->used = mark;
		return;
	}
	if (call->kid_count > 1 && !check_constant(call->kids[1], &value)) {
		gen_scalar(g, call->kids[1]);
		gen_frame_store(g, 8, limit, R0);
	} else {
		gen_frame_store_imm(g, 8, limit,
				    call->kid_count > 1 ? (int32_t)value
				    : call->type->limit ? (int32_t)call->type->limit + 1
							: (int32_t)size);
	}
	if (from->type->kind == TYPE_STRING || from->type->kind == TYPE_ARRAY) {
		gen_frame_address(g, R0, gen_place(g, from));
		code_mov(g->code, R3, R0);
	} else {
		gen_scalar(g, from);
		code_mov(g->code, R3, R0);
	}
	gen_frame_load(g, 8, R4, limit);
	gen_read_string(g, offset, size);
	g->used = mark;
}

static const struct type *check_buf(struct compiler *c, struct node *call)
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

static uint32_t byte_count(const struct type *type)
{
	return type->kind == TYPE_STRING ? type->count : type->size;
}

static void place_buf(struct gen *g, const struct node *call, uint32_t offset)
{
	uint32_t room = call->type->size - 4, mark = g->used, length = gen_temporary(g, 8);
	const struct node *from = call->kids[0];
	label fits = code_label(g->code);

	/* Behind a value that lies in the frame are others. */
	if (!type_is_scalar(from->type) && byte_count(from->type) < room)
		room = byte_count(from->type);
	if (call->kid_count > 1)
		gen_scalar(g, call->kids[1]);
	else
		code_imm(g->code, R0, from->type->size);
	code_jump_if(g->code, BPF_JLE, R0, (int32_t)room, fits);
	code_imm(g->code, R0, room);
	code_bind(g->code, fits);
	gen_frame_store(g, 8, length, R0);
	gen_frame_store(g, 4, offset, R0);
	if (from->type->kind == TYPE_ARRAY && (from->kind == NODE_FIELD || from->kind == NODE_INDEX)) {
		gen_frame_address(g, R3, gen_place(g, from));
	} else if (type_is_scalar(from->type)) {
		gen_scalar(g, from);
		code_mov(g->code, R3, R0);
	} else {
		gen_frame_address(g, R3, gen_place(g, from));
	}
	gen_frame_address(g, R1, offset + 4);
	code_imm(g->code, R2, room);
	gen_frame_load(g, 8, R4, length);
	code_call_runtime(g->code, "rt_buf");
	g->used = mark;
}

static bool check_text(struct compiler *c, struct node *node, const char *function)
{
	const struct type *type = check_value(c, node);

	if (type->kind == TYPE_PROBE) {
		/* It is a number here: str(probe). */
		struct node *inner = node_copy(c->arena, node);

		*node = *node_create(c->arena, NODE_CALL, node->span, 1);
		if (c->arena->failed)
			return false;
		node->text = "str";
		node->expanded = inner->expanded;
		node->kids[0] = inner;
		type = check_value(c, node);
	}
	if (type->kind == TYPE_STRING || (type->kind == TYPE_NONE && !c->final))
		return true;
	report_error(c->report, "type.string", node->span, "%s() expects a string, and this is of type '%s'", function,
		     type_describe(c->arena, type));
	if (type->kind == TYPE_POINTER || type->kind == TYPE_INT)
		report_hint(c->report, "read it with str()");
	return false;
}

static const struct type *check_strncmp(struct compiler *c, struct node *call)
{
	int64_t count;

	check_text(c, call->kids[0], call->text);
	check_text(c, call->kids[1], call->text);
	check_literal_number(c, call->kids[2], &count);
	return &type_uint64;
}

/* Calls a function of the runtime with two strings, each with its room, and the third argument, a number. */
static void call_with_both(struct gen *g, const struct node *call, const char *function)
{
	uint32_t mark = g->used, a = gen_place(g, call->kids[0]), b = gen_place(g, call->kids[1]);

	gen_frame_address(g, R1, a);
	code_imm(g->code, R2, call->kids[0]->type->size);
	gen_frame_address(g, R3, b);
	code_imm(g->code, R4, call->kids[1]->type->size);
	if (call->kid_count > 2)
		code_imm(g->code, R5, (int64_t)call->kids[2]->value);
	code_call_runtime(g->code, function);
	g->used = mark;
}

/* 0 when the first `count` characters are equal, as in C, else 1. */
static void gen_strncmp(struct gen *g, const struct node *call)
{
	call_with_both(g, call, "rt_strncmp");
}

static const struct type *check_strlen(struct compiler *c, struct node *call)
{
	const struct type *type = check_value(c, call->kids[0]);

	if (type->kind != TYPE_STRING && type->kind != TYPE_POINTER && type->kind != TYPE_ARRAY && c->final)
		check_text(c, call->kids[0], call->text);
	return &type_uint64;
}

static void gen_strlen(struct gen *g, const struct node *call)
{
	const struct type *type = call->kids[0]->type;
	uint32_t mark = g->used, at, size = type->size;

	if (type->kind == TYPE_POINTER) {
		size = (uint32_t)g->c->numbers[SETTING_MAX_STRLEN];
		at = gen_temporary(g, size);
		gen_scalar(g, call->kids[0]);
		code_mov(g->code, R3, R0);
		code_imm(g->code, R4, size);
		gen_read_string(g, at, size);
	} else {
		at = gen_place(g, call->kids[0]);
	}
	gen_frame_address(g, R1, at);
	code_imm(g->code, R2, size);
	code_call_runtime(g->code, "rt_strlen");
	g->used = mark;
}

static const struct type *check_strcontains(struct compiler *c, struct node *call)
{
	check_text(c, call->kids[0], call->text);
	check_text(c, call->kids[1], call->text);
	return strcmp(call->text, "strstr") ? &type_bool : &type_int64;
}

static void gen_strstr(struct gen *g, const struct node *call)
{
	call_with_both(g, call, "rt_strstr");
	if (strcmp(call->text, "strstr")) {
		label no = code_label(g->code), end = code_label(g->code);

		code_jump_if(g->code, BPF_JSLT, R0, 0, no);
		code_imm(g->code, R0, 1);
		code_jump(g->code, end);
		code_bind(g->code, no);
		code_imm(g->code, R0, 0);
		code_bind(g->code, end);
	}
}

static const struct type *check_memcmp(struct compiler *c, struct node *call)
{
	uint32_t a = byte_count(check_value(c, call->kids[0])), b = byte_count(check_value(c, call->kids[1]));
	uint32_t most = a < b ? a : b;
	int64_t count = 0;

	if (check_literal_number(c, call->kids[2], &count) && c->final && (count < 0 || count > most)) {
		report_error(c->report, "memcmp.length", call->kids[2]->span,
			     "the shorter one of the two has %u bytes, and not %lld", most, (long long)count);
		count = 0;
	}
	call->value = (uint64_t)count;
	return &type_int64;
}

/* Where a value's bytes are; those of a number are put there. */
static uint32_t bytes_of(struct gen *g, const struct node *node)
{
	uint32_t at;

	if (!type_is_scalar(node->type))
		return gen_place(g, node);
	at = gen_temporary(g, 8);
	gen_scalar(g, node);
	gen_frame_store(g, 8, at, R0);
	return at;
}

static void gen_memcmp(struct gen *g, const struct node *call)
{
	uint32_t mark = g->used, a = bytes_of(g, call->kids[0]), b = bytes_of(g, call->kids[1]);

	gen_frame_address(g, R1, a);
	gen_frame_address(g, R2, b);
	code_imm(g->code, R3, (int64_t)call->value);
	code_call_runtime(g->code, "rt_memcmp");
	g->used = mark;
}

/* How many characters there may be. */
static const struct type *check_strcap(struct compiler *c, struct node *call)
{
	const struct type *type = check_strlen(c, call);

	if (type->kind == TYPE_NONE)
		return type;
	type = call->kids[0]->type;
	call->flags = type->kind == TYPE_STRING || type->kind == TYPE_ARRAY;
	call->value = type->count;
	return &type_int64;
}

static void gen_strcap(struct gen *g, const struct node *call)
{
	if (call->flags)
		code_imm(g->code, R0, (int64_t)call->value);
	else
		gen_strlen(g, call);
}

static bool is_characters(const struct type *type)
{
	return (type->kind == TYPE_POINTER || type->kind == TYPE_ARRAY) && type->to->kind == TYPE_INT &&
	       type->to->size == 1;
}

static const struct type *check_assert_str(struct compiler *c, struct node *call)
{
	const struct type *type = check_value(c, call->kids[0]);

	if (type->kind != TYPE_STRING && !is_characters(type) && (type->kind != TYPE_NONE || c->final))
		report_error(
			c->report, "type.string", call->kids[0]->span,
			"a string, or a pointer to or an array of characters is needed here, and this is of type '%s'",
			type_describe(c->arena, type));
	call->kind = NODE_INT; /* nothing is left to do */
	call->kid_count = 0;
	return &type_none;
}

/* How much a string has that is given no length. */
static const struct type *check_default_length(struct compiler *c, struct node *call)
{
	call->kind = NODE_INT;
	call->value = c->numbers[SETTING_MAX_STRLEN];
	return &type_uint64;
}

/*
 * The result has room for both, by powers of two, so that $s = str_concat($s, ...) has a type; max_strlen is the most.
 */
static const struct type *check_concat(struct compiler *c, struct node *call)
{
	uint32_t most = (uint32_t)c->numbers[SETTING_MAX_STRLEN], wanted = 0, size = 8, i;

	for (i = 0; i < 2; i++)
		if (check_text(c, call->kids[i], call->text))
			wanted += call->kids[i]->type->size;
	while (size < wanted && size < most)
		size *= 2;
	return type_string(c->arena, size < most ? size : most);
}

static void place_concat(struct gen *g, const struct node *call, uint32_t offset)
{
	uint32_t size = call->type->size, mark = g->used, rooms[2], at[2], i, both;

	for (i = 0; i < 2; i++) {
		at[i] = gen_place(g, call->kids[i]);
		rooms[i] = call->kids[i]->type->size < size ? call->kids[i]->type->size : size;
	}
	both = gen_temporary(g, rooms[0] + rooms[1]);
	gen_frame_address(g, R1, both);
	code_imm(g->code, R2, rooms[0]);
	gen_frame_address(g, R3, at[0]);
	code_imm(g->code, R4, rooms[1]);
	gen_frame_address(g, R5, at[1]);
	code_call_runtime(g->code, "rt_concat");
	gen_string(g, call->type, both, offset);
	g->used = mark;
}

const struct builtin builtins_text[] = {
	{"assert_str", 1, 1, 0, check_assert_str, NULL, NULL, "assert_str(VALUE)"},
	{"default_str_length", 0, 0, BUILTIN_BARE, check_default_length, NULL, NULL, "default_str_length()"},
	{"str_concat", 2, 2, 0, check_concat, NULL, place_concat, "str_concat(STRING, STRING)"},
	{"str", 1, 2, 0, check_str, NULL, place_str, "str(POINTER [, LENGTH])"},
	{"buf", 1, 2, 0, check_buf, NULL, place_buf, "buf(POINTER [, LENGTH])"},
	{"strncmp", 3, 3, 0, check_strncmp, gen_strncmp, NULL, "strncmp(STRING, STRING, LENGTH)"},
	{"strlen", 1, 1, 0, check_strlen, gen_strlen, NULL, "strlen(STRING)"},
	{"strcap", 1, 1, 0, check_strcap, gen_strcap, NULL, "strcap(STRING)"},
	{"memcmp", 3, 3, 0, check_memcmp, gen_memcmp, NULL, "memcmp(VALUE, VALUE, LENGTH)"},
	{"strcontains", 2, 2, 0, check_strcontains, gen_strstr, NULL, "strcontains(STRING, PART)"},
	{"strstr", 2, 2, 0, check_strcontains, gen_strstr, NULL, "strstr(STRING, PART)"},
	{},
};
