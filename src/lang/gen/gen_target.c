// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Assignments to what a field, an index or a pointer names. The address is one that the verifier knows: a place in the
 * frame, in a map's value, or in the unit's scratch memory, which is all that a pointer may write to.
 */
#include "lang/gen/gen_expression.h"

void gen_number_of_pointer(struct gen *g)
{
	uint32_t mark = g->used, at = gen_temporary(g, 8);

	/* What was stored in a map is a number when it is loaded. */
	gen_frame_store(g, 8, at, R0);
	gen_frame_load(g, 8, R0, at);
	g->used = mark;
}

/* R0 - where the scratch memory's bytes begin, in R1. Changes R2. */
static void distance(struct gen *g, const struct symbol *scratch)
{
	uint32_t mark = g->used, at = gen_temporary(g, 8);

	gen_frame_address(g, R2, scratch->offset + 8);
	gen_frame_store(g, 8, at, R2);
	gen_frame_load(g, 8, R2, at);
	code_mov(g->code, R1, R0);
	code_alu(g->code, BPF_SUB, R1, R2);
	g->used = mark;
}

void gen_scratch_check(struct gen *g, uint32_t size)
{
	const struct symbol *scratch = g->unit->scratch;
	label fine = code_label(g->code), bad = code_label(g->code);
	uint32_t bytes;

	if (!scratch || !g->clause || g->in_callback)
		return;
	bytes = scratch->type->size - 8;
	distance(g, scratch);
	code_mov(g->code, R2, R1);
	code_alu_imm(g->code, BPF_ADD, R2, (int32_t)size);
	/* Not one byte of it is there. */
	code_jump_if(g->code, BPF_JGE, R2, (int32_t)(bytes + size), fine);
	code_jump_if(g->code, BPF_JGT, R1, (int32_t)bytes, bad);
	gen_frame_load(g, 8, R1, scratch->offset);
	code_jump_if_reg(g->code, BPF_JLE, R2, R1, fine);
	code_bind(g->code, bad);
	gen_fault(g, CORE_FAULT_ADDRESS);
	code_bind(g->code, fine);
}

/* The address in R0, a number, becomes one in scratch memory; else the clause ends, or control goes to `none`. */
static void to_scratch(struct gen *g, uint32_t size, label none)
{
	const struct symbol *scratch = g->unit->scratch;
	label bad = code_label(g->code), fine = code_label(g->code);

	if (scratch && scratch->type->size - 8 >= size) {
		distance(g, scratch);
		code_jump_if(g->code, BPF_JGT, R1, (int32_t)(scratch->type->size - 8 - size), bad);
		code_mov(g->code, R2, R1);
		code_alu_imm(g->code, BPF_ADD, R2, (int32_t)size);
		gen_frame_load(g, 8, R3, scratch->offset);
		code_jump_if_reg(g->code, BPF_JLE, R2, R3, fine);
	}
	code_bind(g->code, bad);
	if (g->clause && !g->in_callback)
		gen_fault(g, CORE_FAULT_ADDRESS);
	else
		code_jump(g->code, none);
	code_bind(g->code, fine);
	if (!scratch || scratch->type->size - 8 < size)
		return;
	code_mov(g->code, R0, REG_FRAME);
	code_alu(g->code, BPF_ADD, R0, R1);
	code_alu_imm(g->code, BPF_ADD, R0, (int32_t)scratch->offset + 8);
}

static uint32_t element_size(const struct type *array)
{
	return array->kind == TYPE_STRING ? 1 : array->to->size;
}

static void target_address(struct gen *g, const struct node *node, uint32_t size, label none);

/* An element of an array that is a target itself. */
static void element_address(struct gen *g, const struct node *node, label none)
{
	const struct type *array = node->kids[0]->type;
	uint32_t mark = g->used, at = gen_temporary(g, 8), size = element_size(array);
	label inside = code_label(g->code);

	gen_scalar(g, node->kids[1]);
	code_alu_imm(g->code, BPF_MUL, R0, (int32_t)size);
	gen_frame_store(g, 8, at, R0);
	target_address(g, node->kids[0], array->size, none);
	gen_frame_load(g, 8, R1, at);
	code_jump_if(g->code, BPF_JLE, R1, (int32_t)(array->size - size), inside);
	if (g->clause && !g->in_callback)
		gen_index_fault(g, size);
	else
		code_jump(g->code, none);
	code_bind(g->code, inside);
	code_alu(g->code, BPF_ADD, R0, R1);
	g->used = mark;
}

/* In R0; `size` is how much will be written there. */
static void target_address(struct gen *g, const struct node *node, uint32_t size, label none)
{
	const struct node *of = node->kid_count ? node->kids[0] : NULL;
	uint32_t mark = g->used;

	switch (node->kind) {
	case NODE_VARIABLE:
		gen_frame_address(g, R0, node->symbol->offset);
		break;
	case NODE_MAP:
		gen_map_lookup_or_add(g, node->symbol, gen_key(g, node->symbol, of), none);
		break;
	case NODE_UNARY:
		gen_scalar(g, of);
		to_scratch(g, size, none);
		break;
	case NODE_FIELD:
		if (of->type->kind == TYPE_POINTER) {
			gen_scalar(g, of);
			code_alu_imm(g->code, BPF_ADD, R0, (int32_t)node->field->offset);
			to_scratch(g, size, none);
		} else {
			target_address(g, of, of->type->size, none);
			code_alu_imm(g->code, BPF_ADD, R0, (int32_t)node->field->offset);
		}
		break;
	case NODE_INDEX:
		if (of->type->kind == TYPE_POINTER) {
			gen_operands(g, of, node->kids[1]);
			gen_scale(g, R1, of->type);
			code_alu(g->code, BPF_ADD, R0, R1);
			to_scratch(g, size, none);
		} else {
			element_address(g, node, none);
		}
		break;
	default:
		code_jump(g->code, none);
	}
	g->used = mark;
}

/* R1's low bits to those of the field in the unit at R0. */
static void store_bits(struct gen *g, const struct type_field *field)
{
	uint64_t ones = (field->bit_size >= 64 ? ~0ull : (1ull << field->bit_size) - 1) << field->bit_offset;

	code_load(g->code, field->type->size, R2, R0, 0);
	code_imm(g->code, R3, (int64_t)~ones);
	code_alu(g->code, BPF_AND, R2, R3);
	code_alu_imm(g->code, BPF_LSH, R1, 64 - field->bit_size);
	code_alu_imm(g->code, BPF_RSH, R1, 64 - field->bit_size - field->bit_offset);
	code_alu(g->code, BPF_OR, R2, R1);
	code_store(g->code, field->type->size, R0, 0, R2);
}

void gen_target_assign(struct gen *g, const struct node *node)
{
	const struct node *target = node->kids[0];
	const struct type *type = target->kind == NODE_FIELD ? target->field->type : target->type;
	uint32_t mark = g->used, size = type->size, right = gen_temporary(g, size < 8 ? 8 : (size + 7) & ~7u);
	label none = code_label(g->code);

	if (type_is_scalar(type)) {
		gen_scalar(g, node->kids[1]);
		gen_frame_store(g, 8, right, R0);
	} else {
		gen_into(g, node->kids[1], type, right);
	}
	target_address(g, target, size, none);
	if (type_is_scalar(type)) {
		gen_frame_load(g, 8, R1, right);
		if (target->kind == NODE_FIELD && target->field->bit_size)
			store_bits(g, target->field);
		else
			code_store(g->code, size, R0, 0, R1);
	} else {
		code_mov(g->code, R1, R0);
		code_imm(g->code, R2, size);
		gen_frame_address(g, R3, right);
		code_call(g->code, BPF_FUNC_probe_read_kernel);
	}
	code_bind(g->code, none);
	g->used = mark;
}

/* Ends the clause unless the bytes from R0 on, as many as the frame has at `size`, are in use or elsewhere. */
static void check_source(struct gen *g, const struct symbol *scratch, uint32_t size)
{
	label fine = code_label(g->code), bad = code_label(g->code);
	uint32_t bytes = scratch->type->size - 8;

	distance(g, scratch);
	gen_frame_load(g, 8, R4, size);
	code_mov(g->code, R2, R1);
	code_alu(g->code, BPF_ADD, R2, R4);
	code_alu_imm(g->code, BPF_ADD, R4, (int32_t)bytes);
	code_jump_if_reg(g->code, BPF_JGE, R2, R4, fine);
	code_jump_if(g->code, BPF_JGT, R1, (int32_t)bytes, bad);
	gen_frame_load(g, 8, R3, scratch->offset);
	code_jump_if_reg(g->code, BPF_JLE, R2, R3, fine);
	code_jump_if_reg(g->code, BPF_JGE, R1, R3, bad);
	gen_frame_load(g, 8, R0, size);
	gen_fault(g, CORE_FAULT_SIZE);
	code_bind(g->code, bad);
	gen_fault(g, CORE_FAULT_ADDRESS);
	code_bind(g->code, fine);
}

/* How far in R0 is to R1, and the size to R2: the bytes are in use, or the clause ends. */
static void check_target(struct gen *g, const struct symbol *scratch, uint32_t size)
{
	label fine = code_label(g->code), bad = code_label(g->code);
	uint32_t half = (scratch->type->size - 8) / 2;

	distance(g, scratch);
	gen_frame_load(g, 8, R2, size);
	code_jump_if(g->code, BPF_JGT, R1, (int32_t)half, bad);
	code_jump_if(g->code, BPF_JGT, R2, (int32_t)half, bad);
	code_mov(g->code, R4, R1);
	code_alu(g->code, BPF_ADD, R4, R2);
	gen_frame_load(g, 8, R3, scratch->offset);
	code_jump_if_reg(g->code, BPF_JLE, R4, R3, fine);
	code_jump_if_reg(g->code, BPF_JGE, R1, R3, bad);
	code_mov(g->code, R0, R2);
	gen_fault(g, CORE_FAULT_SIZE);
	code_bind(g->code, bad);
	gen_fault(g, CORE_FAULT_ADDRESS);
	code_bind(g->code, fine);
}

/* The operands to the frame, at `at`: where to, where from, how many bytes. None: it goes on at `done`. */
static void copy_operands(struct gen *g, const struct node *call, uint32_t at, label done)
{
	const struct symbol *scratch = g->unit->scratch;
	label fits = code_label(g->code);
	uint32_t i;

	for (i = 0; i < 3; i++) {
		gen_scalar(g, call->kids[i]);
		gen_frame_store(g, 8, at + 8 * i, R0);
	}
	code_jump_if(g->code, BPF_JLE, R0, (int32_t)(scratch->type->size - 8) / 2, fits);
	gen_fault(g, CORE_FAULT_SIZE);
	code_bind(g->code, fits);
	code_jump_if(g->code, BPF_JEQ, R0, 0, done);
	gen_frame_load(g, 8, R0, at + 8);
	check_source(g, scratch, at + 16);
}

void gen_scratch_copy(struct gen *g, const struct node *call)
{
	const struct symbol *scratch = g->unit->scratch;
	uint32_t mark = g->used, at = gen_temporary(g, 24);
	label done = code_label(g->code);

	if (!scratch || !g->clause || g->in_callback)
		return;
	copy_operands(g, call, at, done);
	gen_frame_load(g, 8, R0, at);
	check_target(g, scratch, at + 16);
	code_mov(g->code, R4, REG_FRAME);
	code_alu(g->code, BPF_ADD, R4, R1);
	code_alu_imm(g->code, BPF_ADD, R4, (int32_t)scratch->offset + 8);
	code_mov(g->code, R1, R4);
	gen_frame_load(g, 8, R3, at + 8);
	code_call_runtime(g->code, "rt_read");
	gen_fault_if_failed(g, at + 8);
	code_bind(g->code, done);
	g->used = mark;
}

/* The size, which the frame has at `at`, to a register: the verifier knows no number that comes from the frame. */
static void known_size(struct gen *g, int to, uint32_t at, uint32_t most, label done)
{
	gen_frame_load(g, 8, to, at);
	code_jump_if(g->code, BPF_JGT, to, (int32_t)most, done);
	code_jump_if(g->code, BPF_JEQ, to, 0, done);
}

void gen_copy_out(struct gen *g, const struct node *call)
{
	const struct symbol *scratch = g->unit->scratch;
	uint32_t most = scratch ? (scratch->type->size - 8) / 2 : 8, mark = g->used, at = gen_temporary(g, 24),
		 between = gen_temporary(g, (most + 7) & ~7u);
	label done = code_label(g->code);

	if (!scratch || !g->clause || g->in_callback)
		return;
	copy_operands(g, call, at, done);
	known_size(g, R2, at + 16, most, done);
	gen_frame_load(g, 8, R3, at + 8);
	gen_frame_address(g, R1, between);
	code_call_runtime(g->code, "rt_read");
	gen_fault_if_failed(g, at + 8);
	known_size(g, R3, at + 16, most, done);
	gen_frame_load(g, 8, R1, at);
	gen_frame_address(g, R2, between);
	code_call(g->code, BPF_FUNC_probe_write_user);
	gen_fault_if_failed(g, at);
	code_bind(g->code, done);
	g->used = mark;
}
