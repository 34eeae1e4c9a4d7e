// SPDX-License-Identifier: GPL-2.0-or-later
/* Statements and loops. */
#include <bpf/libbpf.h>

#include "lang/gen/gen.h"
#include "lang/provider/provider.h"

static void assign_variable(struct gen *g, const struct node *node)
{
	const struct node *target = node->kids[0], *value = node->kids[1];
	struct symbol *symbol = target->symbol;
	uint32_t mark, right;

	if (node->is_first)
		symbol->offset = gen_temporary(g, symbol->type->size);
	mark = g->used;
	if (node->op == OP_NONE) {
		if (type_is_scalar(symbol->type) || value->kind == NODE_VARIABLE) {
			gen_into(g, value, symbol->type, symbol->offset);
		} else {
			/* The value may be made of the variable itself. */
			uint32_t temporary = node->is_first ? symbol->offset : gen_temporary(g, symbol->type->size);

			gen_into(g, value, symbol->type, temporary);
			gen_copy(g, symbol->offset, temporary, symbol->type->size);
		}
	} else {
		gen_scalar(g, value);
		if (symbol->type->kind == TYPE_POINTER && symbol->type->to->size > 1)
			code_alu_imm(g->code, BPF_MUL, R0, (int32_t)symbol->type->to->size);
		right = gen_temporary(g, 8);
		gen_frame_store(g, 8, right, R0);
		gen_scalar(g, target);
		gen_frame_load(g, 8, R1, right);
		g->at = node->span;
		gen_operation(g, node->op, node->flags & OPERATION_SIGNED);
		gen_frame_store(g, symbol->type->size, symbol->offset, R0);
	}
	g->used = mark;
}

static void gen_assign(struct gen *g, const struct node *node)
{
	if (node->kids[0]->kind == NODE_VARIABLE)
		assign_variable(g, node);
	else if (node->kids[0]->kind == NODE_MAP)
		gen_map_assign(g, node->kids[0], node);
	else
		gen_target_assign(g, node);
}

static void gen_let(struct gen *g, const struct node *node)
{
	struct symbol *symbol = node->symbol;

	symbol->offset = gen_temporary(g, symbol->type->size);
	if (node->kid_count) {
		uint32_t mark = g->used;

		gen_into(g, node->kids[0], symbol->type, symbol->offset);
		g->used = mark;
	} else {
		gen_zero(g, symbol->offset, (symbol->type->size + 7) & ~7u);
	}
}

static void gen_if(struct gen *g, const struct node *node)
{
	label otherwise = code_label(g->code), end = code_label(g->code);

	gen_scalar(g, node->kids[0]);
	code_jump_if(g->code, BPF_JEQ, R0, 0, otherwise);
	gen_statement(g, node->kids[1]);
	if (node->kids[2])
		code_jump(g->code, end);
	code_bind(g->code, otherwise);
	if (node->kids[2])
		gen_statement(g, node->kids[2]);
	code_bind(g->code, end);
}

uint32_t gen_begin_callback(struct gen *g, int context_register, struct gen_saved *saved)
{
	struct function function = {.unit = g->functions.at[g->current].unit};

	*saved = (struct gen_saved){g->current, g->leave, g->in_callback};
	if (vec_push(&g->functions, function)) {
		g->failed = true;
		g->c->arena->failed = true;
	} else {
		g->current = (uint32_t)g->functions.count - 1;
	}
	g->code = &g->functions.at[g->current].code;
	g->in_callback = true;
	g->leave = code_label(g->code);
	code_load(g->code, 8, REG_FRAME, context_register, 0);
	code_load(g->code, 8, REG_CTX, context_register, SLOT_CTX - SLOT_FRAME);
	/* For loops inside this one. */
	code_store(g->code, 8, R10, SLOT_FRAME, REG_FRAME);
	code_store(g->code, 8, R10, SLOT_CTX, REG_CTX);
	return g->current;
}

/* Falls through: the next turn. A body that breaks or returns has set the flow, and the helper ends the loop. */
void gen_end_callback(struct gen *g, const struct gen_saved *saved)
{
	label stop = code_label(g->code);

	code_bind(g->code, g->leave);
	gen_frame_load(g, 4, R0, RT_FRAME_FLOW);
	code_jump_if(g->code, BPF_JNE, R0, 0, stop);
	code_imm(g->code, R0, 0);
	code_exit(g->code);
	code_bind(g->code, stop);
	code_imm(g->code, R0, 1);
	code_exit(g->code);
	g->current = saved->current;
	g->leave = saved->leave;
	g->in_callback = saved->in_callback;
	g->code = &g->functions.at[g->current].code;
}

void gen_after_loop(struct gen *g)
{
	label on = code_label(g->code);

	gen_frame_load(g, 4, R1, RT_FRAME_FLOW);
	code_jump_if(g->code, BPF_JNE, R1, RT_FLOW_RETURN, on);
	code_jump(g->code, g->leave);
	code_bind(g->code, on);
	gen_frame_store_imm(g, 4, RT_FRAME_FLOW, RT_FLOW_NEXT);
}

/* R1: turns, already there. */
static void call_loop(struct gen *g, uint32_t callback)
{
	code_load_function(g->code, R2, callback);
	code_mov(g->code, R3, R10);
	code_alu_imm(g->code, BPF_ADD, R3, SLOT_FRAME);
	code_imm(g->code, R4, 0);
	code_call(g->code, BPF_FUNC_loop);
}

static void gen_while(struct gen *g, const struct node *node)
{
	uint32_t mark = g->used, callback;
	struct gen_saved saved;
	label go, on;

	callback = gen_begin_callback(g, R2, &saved);
	go = code_label(g->code);
	gen_scalar(g, node->kids[0]);
	code_jump_if(g->code, BPF_JNE, R0, 0, go);
	gen_frame_store_imm(g, 4, RT_FRAME_FLOW, RT_FLOW_BREAK);
	code_jump(g->code, g->leave);
	code_bind(g->code, go);
	gen_statement(g, node->kids[1]);
	gen_end_callback(g, &saved);
	code_imm(g->code, R1, RT_LOOP_MAX);
	call_loop(g, callback);
	on = code_label(g->code);
	code_jump_if(g->code, BPF_JLT, R0, RT_LOOP_MAX, on);
	gen_count(g, RT_COUNTER_LOOP_LIMIT);
	code_bind(g->code, on);
	gen_after_loop(g);
	g->used = mark;
}

static void gen_for_range(struct gen *g, const struct node *node)
{
	uint32_t mark = g->used, first, callback;
	struct gen_saved saved;
	label some = code_label(g->code), end = code_label(g->code), fits = code_label(g->code);

	first = gen_temporary(g, 8);
	node->symbol->offset = gen_temporary(g, 8);
	gen_scalar(g, node->kids[0]);
	gen_frame_store(g, 8, first, R0);
	gen_scalar(g, node->kids[1]);
	callback = gen_begin_callback(g, R2, &saved);
	gen_frame_load(g, 8, R0, first);
	code_alu(g->code, BPF_ADD, R0, R1);
	gen_frame_store(g, 8, node->symbol->offset, R0);
	gen_statement(g, node->kids[2]);
	gen_end_callback(g, &saved);
	gen_frame_load(g, 8, R1, first);
	code_jump_if_reg(g->code, BPF_JSGT, R0, R1, some);
	code_jump(g->code, end);
	code_bind(g->code, some);
	code_alu(g->code, BPF_SUB, R0, R1);
	code_mov(g->code, R1, R0);
	code_jump_if(g->code, BPF_JLE, R1, RT_LOOP_MAX, fits);
	gen_count(g, RT_COUNTER_LOOP_LIMIT);
	code_imm(g->code, R1, RT_LOOP_MAX);
	code_bind(g->code, fits);
	call_loop(g, callback);
	gen_after_loop(g);
	code_bind(g->code, end);
	g->used = mark;
}

/* The callback gets map, key, value, context. */
static void gen_for_map(struct gen *g, const struct node *node)
{
	const struct symbol *map = node->kids[0]->symbol;
	const struct type *pair = node->symbol->type;
	const struct type_field *key = &pair->fields[0], *value = &pair->fields[1];
	uint32_t mark = g->used, callback, at;
	struct gen_saved saved;

	node->symbol->offset = at = gen_temporary(g, pair->size);
	callback = gen_begin_callback(g, R4, &saved);
	code_mov(g->code, R8, R3);
	/* R1 is the map, R2 the key. */
	code_mov(g->code, R9, R2);
	gen_frame_address(g, R1, at + key->offset);
	code_imm(g->code, R2, key->type->size);
	code_mov(g->code, R3, R9);
	code_call(g->code, BPF_FUNC_probe_read_kernel);
	if (type_is_aggregate(map->value)) {
		gen_frame_address(g, R2, at + key->offset);
		code_load_map(g->code, R1, map->bpf_name);
		code_imm(g->code, R3, map->value->kind);
		code_imm(g->code, R4, map->value->is_signed);
		code_imm(g->code, R5, libbpf_num_possible_cpus());
		code_call_runtime(g->code, "rt_reduce");
		gen_frame_store(g, 8, at + value->offset, R0);
	} else {
		gen_frame_address(g, R1, at + value->offset);
		code_imm(g->code, R2, value->type->size);
		code_mov(g->code, R3, R8);
		code_call(g->code, BPF_FUNC_probe_read_kernel);
	}
	gen_statement(g, node->kids[1]);
	gen_end_callback(g, &saved);
	code_load_map(g->code, R1, map->bpf_name);
	code_load_function(g->code, R2, callback);
	code_mov(g->code, R3, R10);
	code_alu_imm(g->code, BPF_ADD, R3, SLOT_FRAME);
	code_imm(g->code, R4, 0);
	code_call(g->code, BPF_FUNC_for_each_map_elem);
	gen_after_loop(g);
	g->used = mark;
}

static void gen_jump(struct gen *g, const struct node *node)
{
	if (node->kind == NODE_RETURN && node->kid_count && g->unit->provider->has_result) {
		gen_scalar(g, node->kids[0]);
		gen_frame_store(g, 4, RT_FRAME_RESULT, R0);
	}
	if (node->kind == NODE_BREAK)
		gen_frame_store_imm(g, 4, RT_FRAME_FLOW, RT_FLOW_BREAK);
	else if (node->kind == NODE_RETURN && g->in_callback)
		gen_frame_store_imm(g, 4, RT_FRAME_FLOW, RT_FLOW_RETURN);
	code_jump(g->code, g->leave);
}

static void gen_block(struct gen *g, const struct node *node)
{
	uint32_t mark = g->used, i;

	for (i = 0; i < node->kid_count; i++)
		gen_statement(g, node->kids[i]);
	g->used = mark;
}

uint32_t gen_fault_address(struct gen *g)
{
	uint32_t at = g->clause ? gen_temporary(g, 8) : 0;

	if (g->clause)
		gen_frame_store(g, 8, at, R3);
	return at;
}

/* A callback is a function of its own: what cannot be read there is zeros. */
void gen_fault_if_failed(struct gen *g, uint32_t address)
{
	label fine;

	if (!g->clause || g->in_callback)
		return;
	fine = code_label(g->code);
	code_jump_if(g->code, BPF_JSGE, R0, 0, fine);
	gen_frame_load(g, 8, R0, address);
	gen_fault(g, CORE_FAULT_ADDRESS);
	code_bind(g->code, fine);
}

void gen_fault(struct gen *g, enum core_fault kind)
{
	uint32_t at = g->clause ? g->clause->symbol->offset : 0;

	/* In what is done when a clause has failed: no more of it. */
	if (!g->clause) {
		code_jump(g->code, g->leave);
		return;
	}
	gen_frame_store_imm(g, 8, at, (int32_t)kind);
	gen_frame_store(g, 8, at + 8, R0);
	gen_frame_store_place(g, at + 16);
	code_jump(g->code, g->fault);
}

static void gen_clause(struct gen *g, const struct node *node)
{
	const struct node *outer = g->clause;
	label outer_fault = g->fault, end = code_label(g->code);
	uint32_t mark = g->used;

	node->symbol->offset = gen_temporary(g, node->symbol->type->size);
	g->clause = node;
	g->fault = code_label(g->code);
	gen_statement(g, node->kids[0]);
	g->clause = outer;
	code_jump(g->code, end);
	code_bind(g->code, g->fault);
	if (node->kids[1])
		gen_statement(g, node->kids[1]);
	code_bind(g->code, end);
	g->fault = outer_fault;
	g->used = mark;
}

void gen_statement(struct gen *g, const struct node *node)
{
	uint32_t mark, i;

	if (g->failed)
		return;
	switch (node->kind) {
	case NODE_ASSIGN:
		gen_assign(g, node);
		break;
	case NODE_AGGREGATE:
		gen_map_aggregate(g, node->kids[0], node->kids[1]);
		break;
	case NODE_LET:
		gen_let(g, node);
		break;
	case NODE_EXPRESSION:
		mark = g->used;
		if (node->kids[0]->kind == NODE_STEP && node->kids[0]->kids[0]->kind == NODE_MAP)
			gen_map_step(g, node->kids[0], false);
		else if (type_is_scalar(node->kids[0]->type) || node->kids[0]->type->kind == TYPE_NONE)
			gen_scalar(g, node->kids[0]);
		else
			gen_place(g, node->kids[0]);
		g->used = mark;
		break;
	case NODE_IF:
		gen_if(g, node);
		break;
	case NODE_WHILE:
		gen_while(g, node);
		break;
	case NODE_FOR_RANGE:
		gen_for_range(g, node);
		break;
	case NODE_FOR_MAP:
		gen_for_map(g, node);
		break;
	case NODE_UNROLL:
		for (i = 0; i < node->value && !g->code->failed; i++)
			gen_statement(g, node->kids[0]);
		break;
	case NODE_BREAK:
	case NODE_CONTINUE:
	case NODE_RETURN:
		gen_jump(g, node);
		break;
	case NODE_BLOCK:
		gen_block(g, node);
		break;
	case NODE_CLAUSE:
		gen_clause(g, node);
		break;
	default:
		mark = g->used;
		gen_scalar(g, node);
		g->used = mark;
	}
}
