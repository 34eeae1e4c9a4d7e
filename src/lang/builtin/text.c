// SPDX-License-Identifier: GPL-2.0-or-later
/* Strings and bytes. */

#include "lang/builtin/builtin.h"
#include "lang/builtin/python.h"
#include "lang/rt/python.h"

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

/* An argument of Python's own probes whose text is at hand, by its number; false: it is something else. */
static bool is_python_text(const struct gen *g, const struct node *from, unsigned int *ret)
{
	while (from->kind == NODE_CAST)
		from = from->kids[0];
	if (from->kind != NODE_CALL || from->builtin != CORE_ARGUMENT)
		return false;
	*ret = (unsigned int)from->value;
	return python_has_text(g, *ret);
}

/* The length given counts the terminator; without one max_strlen characters are read. */
static void place_str(struct gen *g, const struct node *call, uint32_t offset)
{
	uint32_t size = call->type->size, mark = g->used, limit = gen_temporary(g, 8), fault;
	const struct node *from = call->kids[0];
	unsigned int argument;
	int64_t value;

	if (from->type->kind == TYPE_PROBE) {
		place_probe_name(g, call, offset);
		g->used = mark;
		return;
	}
	if (call->kid_count > 1 && !node_constant(call->kids[1], &value)) {
		gen_scalar(g, call->kids[1]);
		gen_frame_store(g, 8, limit, R0);
	} else {
		gen_frame_store_imm(g, 8, limit,
				    call->kid_count > 1 ? (int32_t)value
				    : call->type->limit ? (int32_t)call->type->limit + 1
				    : call->type->count ? (int32_t)call->type->count
							: (int32_t)size);
	}
	if (from->type->kind == TYPE_STRING || from->type->kind == TYPE_ARRAY) {
		gen_frame_address(g, R0, gen_place(g, from));
	} else if (is_python_text(g, from, &argument)) {
		uint32_t room = gen_temporary(g, RT_PYTHON_TEXT);

		python_text(g, argument, room);
		gen_frame_address(g, R0, room);
	} else {
		gen_scalar(g, from);
	}
	code_mov(g->code, R3, R0);
	gen_frame_load(g, 8, R4, limit);
	fault = gen_fault_address(g);
	gen_read_string(g, offset, size);
	gen_fault_if_failed(g, fault);
	g->used = mark;
}

static void place_buf(struct gen *g, const struct node *call, uint32_t offset)
{
	uint32_t room = call->type->size - 4, mark = g->used, length = gen_temporary(g, 8);
	const struct node *from = call->kids[0];
	label fits = code_label(g->code);

	/* Behind a value that lies in the frame are others. */
	if (!type_is_scalar(from->type) && type_bytes(from->type) < room)
		room = type_bytes(from->type);
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

static void gen_strstr(struct gen *g, const struct node *call)
{
	call_with_both(g, call, "rt_strstr");
	if (call->builtin == CORE_STRCONTAINS) {
		label no = code_label(g->code), end = code_label(g->code);

		code_jump_if(g->code, BPF_JSLT, R0, 0, no);
		code_imm(g->code, R0, 1);
		code_jump(g->code, end);
		code_bind(g->code, no);
		code_imm(g->code, R0, 0);
		code_bind(g->code, end);
	}
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

static void gen_strcap(struct gen *g, const struct node *call)
{
	if (call->flags)
		code_imm(g->code, R0, (int64_t)call->value);
	else
		gen_strlen(g, call);
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

/* A text as one of the call's type, in the frame. */
static uint32_t text_of(struct gen *g, const struct node *call, uint32_t operand)
{
	uint32_t at = gen_temporary(g, call->type->size);

	gen_into(g, call->kids[operand], call->type, at);
	return at;
}

uint32_t gen_text_room(struct gen *g, const struct type *type, uint32_t offset)
{
	if (type->count < type->size)
		gen_frame_store_imm(g, 8, offset + type->size - 8, 0);
	return type->count;
}

static void place_path(struct gen *g, const struct node *call, uint32_t offset)
{
	uint32_t mark = g->used, from = text_of(g, call, 0), state = gen_temporary(g, 40);

	code_imm(g->code, R3, gen_text_room(g, call->type, offset));
	gen_frame_address(g, R1, offset);
	gen_frame_address(g, R2, from);
	gen_frame_address(g, R4, state);
	code_call_runtime(g->code, call->builtin == CORE_BASENAME ? "rt_string_basename" : "rt_string_dirname");
	g->used = mark;
}

static void place_words(struct gen *g, const struct node *call, uint32_t offset)
{
	uint32_t mark = g->used, length = gen_temporary(g, 8);

	gen_scalar(g, call->kids[1]);
	gen_frame_store(g, 8, length, R0);
	gen_scalar(g, call->kids[0]);
	code_mov(g->code, R3, R0);
	gen_frame_load(g, 8, R4, length);
	code_imm(g->code, R2, gen_text_room(g, call->type, offset));
	gen_frame_address(g, R1, offset);
	code_call_runtime(g->code, "rt_string_words");
	g->used = mark;
}

static void place_substr(struct gen *g, const struct node *call, uint32_t offset)
{
	uint32_t mark = g->used, from = text_of(g, call, 0), place = gen_temporary(g, 8);

	gen_scalar(g, call->kids[1]);
	gen_frame_store(g, 8, place, R0);
	gen_scalar(g, call->kids[2]);
	code_mov(g->code, R5, R0);
	code_imm(g->code, R3, gen_text_room(g, call->type, offset));
	gen_frame_load(g, 8, R4, place);
	gen_frame_address(g, R1, offset);
	gen_frame_address(g, R2, from);
	code_call_runtime(g->code, "rt_string_substr");
	g->used = mark;
}

static void gen_index(struct gen *g, const struct node *call)
{
	uint32_t mark = g->used, place = gen_temporary(g, 8), a, b;

	gen_scalar(g, call->kids[2]);
	gen_frame_store(g, 8, place, R0);
	a = gen_place(g, call->kids[0]);
	b = gen_place(g, call->kids[1]);
	gen_frame_address(g, R1, a);
	code_imm(g->code, R2, call->kids[0]->type->size);
	gen_frame_address(g, R3, b);
	code_imm(g->code, R4, call->kids[1]->type->size);
	gen_frame_load(g, 8, R5, place);
	code_call_runtime(g->code, call->flags ? "rt_string_rindex" : "rt_string_index");
	g->used = mark;
}

static void gen_strchr(struct gen *g, const struct node *call)
{
	uint32_t mark = g->used, wanted = gen_temporary(g, 16), a;

	gen_scalar(g, call->kids[1]);
	gen_frame_store(g, 8, wanted, R0);
	a = gen_place(g, call->kids[0]);
	gen_frame_address(g, R1, a);
	code_imm(g->code, R2, call->kids[0]->type->size);
	gen_frame_address(g, R3, wanted);
	code_imm(g->code, R4, call->flags);
	code_call_runtime(g->code, "rt_string_chr");
	g->used = mark;
}

static void place_number(struct gen *g, const struct node *call, uint32_t offset)
{
	gen_scalar(g, call->kids[0]);
	code_mov(g->code, R3, R0);
	code_imm(g->code, R2, gen_text_room(g, call->type, offset));
	gen_frame_address(g, R1, offset);
	code_imm(g->code, R4, (int64_t)call->value);
	code_call_runtime(g->code, "rt_string_number");
}

static void gen_fault_now(struct gen *g, const struct node *call)
{
	gen_scalar(g, call->kids[0]);
	gen_fault(g, (enum core_fault)call->value);
}

const struct builtin_code codes_text[] = {
	{CORE_BASENAME, .place = place_path},
	{CORE_DIRNAME, .place = place_path},
	{CORE_WORDS, .place = place_words},
	{CORE_SUBSTR, .place = place_substr},
	{CORE_INDEX, .scalar = gen_index},
	{CORE_STRCHR, .scalar = gen_strchr},
	{CORE_LLTOSTR, .place = place_number},
	{CORE_FAULT, .scalar = gen_fault_now},
	{CORE_COPY, .scalar = gen_scratch_copy},
	{CORE_COPY_OUT, .scalar = gen_copy_out},
	{CORE_STR_CONCAT, .place = place_concat},
	{CORE_STR, .place = place_str},
	{CORE_BUF, .place = place_buf},
	{CORE_STRNCMP, .scalar = gen_strncmp},
	{CORE_STRLEN, .scalar = gen_strlen},
	{CORE_STRCAP, .scalar = gen_strcap},
	{CORE_MEMCMP, .scalar = gen_memcmp},
	{CORE_STRCONTAINS, .scalar = gen_strstr},
	{CORE_STRSTR, .scalar = gen_strstr},
	{},
};
