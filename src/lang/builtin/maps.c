// SPDX-License-Identifier: GPL-2.0-or-later
/* What is done with maps as a whole, and their keys. */
#include <errno.h>

#include "abi/loss.h"
#include "lang/builtin/builtin.h"

static uint32_t key_place(struct gen *g, const struct node *call)
{
	const struct node *target = call->kids[0];
	const struct node *key = target->kid_count ? target->kids[0] : call->kid_count > 1 ? call->kids[1] : NULL;

	return gen_key(g, target->symbol, key);
}

static void gen_delete(struct gen *g, const struct node *call)
{
	uint32_t mark = g->used, key = key_place(g, call);
	label gone = code_label(g->code), end = code_label(g->code);

	gen_map_call(g, call->kids[0]->symbol, key, BPF_FUNC_map_delete_elem, NULL);
	code_jump_if(g->code, BPF_JEQ, R0, 0, gone);
	gen_helper_warning(g, call->span, "map_delete_elem", -ENOENT,
			   "Can't delete map element because it does not exist.");
	code_imm(g->code, R0, 0);
	code_jump(g->code, end);
	code_bind(g->code, gone);
	code_imm(g->code, R0, 1);
	code_bind(g->code, end);
	g->used = mark;
}

/* Of several programs that want the same key at once, one has it. */
static void gen_claim(struct gen *g, const struct node *call)
{
	const struct symbol *map = call->kids[0]->symbol;
	uint32_t mark = g->used, key = key_place(g, call), zero = gen_temporary(g, map->value->size);
	label mine = code_label(g->code), end = code_label(g->code);

	gen_zero(g, zero, map->value->size);
	gen_frame_address(g, R3, zero);
	code_imm(g->code, R4, BPF_NOEXIST);
	gen_map_call(g, map, key, BPF_FUNC_map_update_elem, NULL);
	code_jump_if(g->code, BPF_JEQ, R0, 0, mine);
	code_imm(g->code, R0, 0);
	code_jump(g->code, end);
	code_bind(g->code, mine);
	code_imm(g->code, R0, 1);
	code_bind(g->code, end);
	g->used = mark;
}

static void gen_has_key(struct gen *g, const struct node *call)
{
	uint32_t mark = g->used, key = key_place(g, call);
	label none = code_label(g->code);

	gen_map_lookup(g, call->kids[0]->symbol, key);
	code_jump_if(g->code, BPF_JEQ, R0, 0, none);
	code_imm(g->code, R0, 1);
	code_bind(g->code, none);
	g->used = mark;
}

static void gen_find(struct gen *g, const struct node *call)
{
	uint32_t mark = g->used, key = key_place(g, call);
	label none = code_label(g->code), end = code_label(g->code);

	gen_map_lookup(g, call->kids[0]->symbol, key);
	code_jump_if(g->code, BPF_JEQ, R0, 0, none);
	gen_statement(g, call->kids[2]);
	code_imm(g->code, R0, 1);
	code_jump(g->code, end);
	code_bind(g->code, none);
	code_imm(g->code, R0, 0);
	code_bind(g->code, end);
	g->used = mark;
}

/* Of a stack that is walked later, from a copy, the depth is not known yet. */
static void gen_depth(struct gen *g, const struct node *call, uint32_t at)
{
	label known = code_label(g->code);

	gen_frame_load(g, 2, R0, at + (uint32_t)offsetof(struct rt_stack_value, native_loss));
	code_jump_if(g->code, BPF_JNE, R0, LOSS_LATE, known);
	g->at = call->span;
	gen_warning(g, "The process was not met before, and this stack is walked later: its len() is not known, and 0 "
		       "here. -p, -c and --dwarf-pid make it known from the first one on.");
	code_bind(g->code, known);
	gen_frame_load(g, 4, R0, at + (uint32_t)offsetof(struct rt_stack_value, depth));
}

static void gen_len(struct gen *g, const struct node *call)
{
	const struct node *what = call->kids[0];
	const struct type *type = what->type;
	uint32_t mark = g->used, at;

	if (call->flags & 1) {
		struct gen_saved saved;
		uint32_t callback, count = gen_temporary(g, 8);

		/* Counted by going over it: hashes do not tell their number of entries. */
		gen_frame_store_imm(g, 8, count, 0);
		callback = gen_begin_callback(g, R4, &saved);
		gen_frame_load(g, 8, R0, count);
		code_alu_imm(g->code, BPF_ADD, R0, 1);
		gen_frame_store(g, 8, count, R0);
		gen_end_callback(g, &saved);
		code_load_map(g->code, R1, what->symbol->bpf_name);
		code_load_function(g->code, R2, callback);
		code_mov(g->code, R3, R10);
		code_alu_imm(g->code, BPF_ADD, R3, SLOT_FRAME);
		code_imm(g->code, R4, 0);
		code_call(g->code, BPF_FUNC_for_each_map_elem);
		gen_frame_load(g, 8, R0, count);
		g->used = mark;
		return;
	}
	if (type->kind == TYPE_ARRAY || type->kind == TYPE_TUPLE) {
		code_imm(g->code, R0, type->kind == TYPE_ARRAY ? type->count : type->field_count);
		return;
	}
	at = gen_place(g, what);
	if (type->kind == TYPE_STACK) {
		gen_depth(g, call, at);
	} else if (type->kind == TYPE_BUFFER) {
		gen_frame_load(g, 4, R0, at);
	} else {
		gen_frame_address(g, R1, at);
		code_imm(g->code, R2, type->size);
		code_call_runtime(g->code, "rt_strlen");
	}
	g->used = mark;
}

const struct builtin_code codes_maps[] = {
	{CORE_DELETE, .scalar = gen_delete},
	{CORE_CLAIM, .scalar = gen_claim},
	{CORE_HAS_KEY, .scalar = gen_has_key},
	{CORE_FIND, .scalar = gen_find},
	{CORE_LEN, .scalar = gen_len},
	{},
};
