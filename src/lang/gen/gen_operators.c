// SPDX-License-Identifier: GPL-2.0-or-later
/* Operators: on numbers and addresses, and comparisons of values in memory. */
#include <string.h>

#include "lang/gen/gen_expression.h"

/* Loads that change no register but their target: the right side of an operation needs no temporary then. */
static bool is_simple(const struct node *node)
{
	return node->kind == NODE_INT || node->kind == NODE_BOOL ||
	       (node->kind == NODE_VARIABLE && type_is_scalar(node->type));
}

void gen_simple(struct gen *g, int to, const struct node *node)
{
	if (node->kind == NODE_VARIABLE) {
		gen_frame_load(g, node->symbol->type->size, to, node->symbol->offset);
		if (node->symbol->type->is_signed)
			code_extend(g->code, to, node->symbol->type->size, true);
	} else {
		code_imm(g->code, to, (int64_t)node->value);
	}
}

/*
 * An operator of two numbers: R0 is the left one, R1 the right one; the result goes to R0. `signed_code` is what takes
 * the place of `code` where signs count.
 */
struct operation {
	void (*write)(struct gen *g, const struct operation *self, bool is_signed);
	uint8_t code, signed_code;
};

static void calculate(struct gen *g, const struct operation *self, bool is_signed)
{
	(void)is_signed;
	code_alu(g->code, self->code, R0, R1);
}

static void shift(struct gen *g, const struct operation *self, bool is_signed)
{
	code_alu_imm(g->code, BPF_AND, R1, 63);
	code_alu(g->code, is_signed ? self->signed_code : self->code, R0, R1);
}

static void divide(struct gen *g, const struct operation *self, bool is_signed)
{
	label done = code_label(g->code), fine = code_label(g->code);
	label left = code_label(g->code), right = code_label(g->code), plus = code_label(g->code);

	/* BPF divides unsigned numbers. By zero the result is 1. */
	code_jump_if(g->code, BPF_JNE, R1, 0, fine);
	gen_warning(g, "Divide or modulo by 0 detected. This can lead to unexpected results. 1 is being used as the "
		       "result.");
	code_imm(g->code, R0, 1);
	code_jump(g->code, done);
	code_bind(g->code, fine);
	if (is_signed) {
		/* The sign: of both for a quotient, of the left one for a remainder. */
		code_mov(g->code, R2, R0);
		if (self->code == BPF_DIV)
			code_alu(g->code, BPF_XOR, R2, R1);
		code_jump_if(g->code, BPF_JSGE, R0, 0, left);
		code_negate(g->code, R0);
		code_bind(g->code, left);
		code_jump_if(g->code, BPF_JSGE, R1, 0, right);
		code_negate(g->code, R1);
		code_bind(g->code, right);
	}
	code_alu(g->code, self->code, R0, R1);
	if (is_signed) {
		code_jump_if(g->code, BPF_JSGE, R2, 0, plus);
		code_negate(g->code, R0);
		code_bind(g->code, plus);
	}
	code_bind(g->code, done);
}

void gen_bool_result(struct gen *g, label yes)
{
	label end = code_label(g->code);

	code_imm(g->code, R0, 0);
	code_jump(g->code, end);
	code_bind(g->code, yes);
	code_imm(g->code, R0, 1);
	code_bind(g->code, end);
}

static void compare(struct gen *g, const struct operation *self, bool is_signed)
{
	label yes = code_label(g->code);

	code_jump_if_reg(g->code, is_signed ? self->signed_code : self->code, R0, R1, yes);
	gen_bool_result(g, yes);
}

static const struct operation operations[] = {
	[OP_ADD] = {calculate, BPF_ADD, 0},
	[OP_SUB] = {calculate, BPF_SUB, 0},
	[OP_MUL] = {calculate, BPF_MUL, 0},
	[OP_DIV] = {divide, BPF_DIV, 0},
	[OP_MOD] = {divide, BPF_MOD, 0},
	[OP_AND] = {calculate, BPF_AND, 0},
	[OP_OR] = {calculate, BPF_OR, 0},
	[OP_XOR] = {calculate, BPF_XOR, 0},
	[OP_SHIFT_LEFT] = {shift, BPF_LSH, BPF_LSH},
	[OP_SHIFT_RIGHT] = {shift, BPF_RSH, BPF_ARSH},
	[OP_EQUAL] = {compare, BPF_JEQ, BPF_JEQ},
	[OP_NOT_EQUAL] = {compare, BPF_JNE, BPF_JNE},
	[OP_LESS] = {compare, BPF_JLT, BPF_JSLT},
	[OP_LESS_EQUAL] = {compare, BPF_JLE, BPF_JSLE},
	[OP_GREATER] = {compare, BPF_JGT, BPF_JSGT},
	[OP_GREATER_EQUAL] = {compare, BPF_JGE, BPF_JSGE},
};

void gen_operation(struct gen *g, enum op op, bool is_signed)
{
	operations[op].write(g, &operations[op], is_signed);
}

void gen_operands(struct gen *g, const struct node *left, const struct node *right)
{
	uint32_t mark = g->used, at;

	gen_scalar(g, left);
	if (is_simple(right)) {
		gen_simple(g, R1, right);
		return;
	}
	at = gen_temporary(g, 8);
	gen_frame_store(g, 8, at, R0);
	gen_scalar(g, right);
	code_mov(g->code, R1, R0);
	gen_frame_load(g, 8, R0, at);
	g->used = mark;
}

/* Jumps to `differ` unless two words in the frame, or a word and a constant, are equal. */
static void compare_literal(struct gen *g, uint32_t at, const char *text, uint32_t room, label differ)
{
	size_t length = strlen(text) + 1, i;

	if (length > ((room + 7) & ~7u)) {
		code_jump(g->code, differ);
		return;
	}
	for (i = 0; i < length; i += 8) {
		uint64_t word = 0;

		memcpy(&word, text + i, length - i < 8 ? length - i : 8);
		gen_frame_load(g, 8, R0, at + (uint32_t)i);
		code_imm(g->code, R1, (int64_t)word);
		code_jump_if_reg(g->code, BPF_JNE, R0, R1, differ);
	}
}

/* By what gives the field, if it has a way of its own. */
static void compare_field(struct gen *g, const struct node *node, const char *text, label same, label differ)
{
	const struct node *of = node->kind == NODE_FIELD ? node->kids[0] : NULL;

	if (of && of->kind == NODE_CALL && of->type->kind == TYPE_RECORD && node->field &&
	    g->code_of(of->builtin)->compare)
		g->code_of(of->builtin)->compare(g, of, node->field, text, same, differ);
}

static void compare_memory(struct gen *g, const struct node *node)
{
	const struct node *left = node->kids[0], *right = node->kids[1];
	label same = code_label(g->code), differ = code_label(g->code), end = code_label(g->code);
	bool equal = node->op == OP_EQUAL;
	uint32_t mark = g->used;

	if (left->kind == NODE_STRING) {
		left = node->kids[1];
		right = node->kids[0];
	}
	if (right->kind == NODE_STRING) {
		compare_field(g, left, right->text, same, differ);
		compare_literal(g, gen_place(g, left), right->text, left->type->size, differ);
	} else {
		const struct type *type = type_join(g->c->arena, left->type, right->type);
		uint32_t a, b, size = type ? (type->size + 7) & ~7u : 8;

		a = gen_temporary(g, size);
		b = gen_temporary(g, size);
		gen_zero(g, a, size);
		gen_into(g, left, type, a);
		gen_zero(g, b, size);
		gen_into(g, right, type, b);
		gen_frame_address(g, R1, a);
		gen_frame_address(g, R2, b);
		code_imm(g->code, R3, size / 8);
		code_call_runtime(g->code, "rt_equal");
		code_jump_if(g->code, BPF_JEQ, R0, 0, differ);
	}
	code_bind(g->code, same);
	code_imm(g->code, R0, equal);
	code_jump(g->code, end);
	code_bind(g->code, differ);
	code_imm(g->code, R0, !equal);
	code_bind(g->code, end);
	g->used = mark;
}

static void logical(struct gen *g, const struct node *node)
{
	bool is_or = node->op == OP_LOGICAL_OR;
	label short_cut = code_label(g->code), end = code_label(g->code);

	gen_scalar(g, node->kids[0]);
	code_jump_if(g->code, is_or ? BPF_JNE : BPF_JEQ, R0, 0, short_cut);
	gen_scalar(g, node->kids[1]);
	code_jump_if(g->code, is_or ? BPF_JNE : BPF_JEQ, R0, 0, short_cut);
	code_imm(g->code, R0, !is_or);
	code_jump(g->code, end);
	code_bind(g->code, short_cut);
	code_imm(g->code, R0, is_or);
	code_bind(g->code, end);
}

void gen_scale(struct gen *g, int reg, const struct type *pointer)
{
	if (pointer->to->size > 1)
		code_alu_imm(g->code, BPF_MUL, reg, (int32_t)pointer->to->size);
}

static void compare_values(struct gen *g, const struct node *node)
{
	if (type_is_scalar(node->kids[0]->type)) {
		gen_operands(g, node->kids[0], node->kids[1]);
		gen_operation(g, node->op, node->flags & OPERATION_SIGNED);
	} else {
		compare_memory(g, node);
	}
}

/* An address moves by what it points to. */
static void arithmetic(struct gen *g, const struct node *node)
{
	const struct type *a = node->kids[0]->type, *b = node->kids[1]->type;

	gen_operands(g, node->kids[0], node->kids[1]);
	if (a->kind == TYPE_POINTER && b->kind != TYPE_POINTER)
		gen_scale(g, R1, a);
	else if (b->kind == TYPE_POINTER && a->kind != TYPE_POINTER)
		gen_scale(g, R0, b);
	g->at = node->span;
	gen_operation(g, node->op, node->flags & OPERATION_SIGNED);
}

void gen_binary(struct gen *g, const struct node *node)
{
	if (node->op == OP_LOGICAL_AND || node->op == OP_LOGICAL_OR)
		logical(g, node);
	else if (operations[node->op].write == compare)
		compare_values(g, node);
	else
		arithmetic(g, node);
}

/* Of a variable in the frame, or of a map's value; 0 when the map has no such key. */
static void take_address(struct gen *g, const struct node *node)
{
	const struct node *operand = node->kids[0];
	uint32_t mark = g->used;

	if (operand->kind == NODE_VARIABLE) {
		gen_frame_address(g, R0, operand->symbol->offset);
	} else if (node->flags & ADDRESS_ADDS) {
		label full = code_label(g->code);

		gen_map_lookup_or_add(g, operand->symbol,
				      gen_key(g, operand->symbol, operand->kid_count ? operand->kids[0] : NULL), full);
		code_bind(g->code, full);
	} else {
		gen_map_lookup(g, operand->symbol,
			       gen_key(g, operand->symbol, operand->kid_count ? operand->kids[0] : NULL));
	}
	if (node->flags & ADDRESS_NUMBER)
		gen_number_of_pointer(g);
	g->used = mark;
}

static void logical_not(struct gen *g, const struct node *node)
{
	label yes = code_label(g->code);

	gen_scalar(g, node->kids[0]);
	code_jump_if(g->code, BPF_JEQ, R0, 0, yes);
	gen_bool_result(g, yes);
}

static void negate(struct gen *g, const struct node *node)
{
	gen_scalar(g, node->kids[0]);
	code_negate(g->code, R0);
}

static void complement(struct gen *g, const struct node *node)
{
	gen_scalar(g, node->kids[0]);
	code_alu_imm(g->code, BPF_XOR, R0, -1);
}

/* Of a pointer to a scalar; others are read by gen_into(). */
static void dereference(struct gen *g, const struct node *node)
{
	uint32_t mark = g->used, at = gen_temporary(g, 8);

	gen_scalar(g, node->kids[0]);
	gen_frame_store_imm(g, 8, at, 0);
	gen_read(g, node->span, at, node->type->size);
	gen_frame_load(g, node->type->size, R0, at);
	if (type_is_scalar(node->type))
		code_extend(g->code, R0, node->type->size, node->type->is_signed);
	g->used = mark;
}

void gen_unary(struct gen *g, const struct node *node)
{
	static void (*const writers[])(struct gen * g, const struct node *node) = {
		[OP_NOT] = logical_not,         [OP_COMPLEMENT] = complement, [OP_NEGATE] = negate,
		[OP_DEREFERENCE] = dereference, [OP_ADDRESS] = take_address,
	};

	writers[node->op](g, node);
}

void gen_step(struct gen *g, const struct node *node)
{
	const struct node *target = node->kids[0];
	const struct type *type = target->type;
	int32_t by = type->kind == TYPE_POINTER && type->to->size > 1 ? (int32_t)type->to->size : 1;

	if (target->kind == NODE_MAP) {
		gen_map_step(g, node, true);
		return;
	}
	gen_simple(g, R0, target);
	if (!node->is_prefix)
		code_mov(g->code, R1, R0);
	code_alu_imm(g->code, BPF_ADD, R0, node->op == OP_ADD ? by : -by);
	gen_frame_store(g, type->size, target->symbol->offset, R0);
	code_extend(g->code, R0, type->size, type->is_signed);
	if (!node->is_prefix)
		code_mov(g->code, R0, R1);
}

void gen_ternary(struct gen *g, const struct node *node, uint32_t offset)
{
	label otherwise = code_label(g->code), end = code_label(g->code);
	bool scalar = type_is_scalar(node->type) || node->type->kind == TYPE_NONE;
	uint32_t i;

	gen_scalar(g, node->kids[0]);
	code_jump_if(g->code, BPF_JEQ, R0, 0, otherwise);
	for (i = 1; i < 3; i++) {
		if (scalar)
			gen_scalar(g, node->kids[i]);
		else
			gen_into(g, node->kids[i], node->type, offset);
		if (i == 1) {
			code_jump(g->code, end);
			code_bind(g->code, otherwise);
		}
	}
	code_bind(g->code, end);
}
