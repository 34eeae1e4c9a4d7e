// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Code for maps. A map without a key has the key 0; if it is an aggregation, it is an array (symbol_is_array()). Values
 * of aggregations are kept separately for each CPU. Additions are atomic nevertheless, because a program may be
 * interrupted by another one on its CPU. A map whose short keys have a map of their own (core/compiler.h) is called by
 * gen_map_call() only. What goes over all of a map in the kernel has one.
 */
#include <bpf/libbpf.h>

#include "lang/gen/gen.h"

uint32_t gen_key(struct gen *g, const struct symbol *map, const struct node *key)
{
	uint32_t offset;

	if (!map->key) {
		offset = gen_temporary(g, 8);
		gen_frame_store_imm(g, 8, offset, 0);
		return offset;
	}
	offset = gen_temporary(g, (map->key->size + 7) & ~7u);
	gen_into(g, key, map->key, offset);
	return offset;
}

/* Does any program go over the map, or count its keys? */
static bool is_gone_over(const struct node *node, const struct symbol *map)
{
	uint32_t i;

	if (!node)
		return false;
	if (node->kind == NODE_FOR_MAP && node->kids[0]->symbol == map)
		return true;
	if (node_calls(node, CORE_LEN) && node->kid_count && node->kids[0]->symbol == map)
		return true;
	for (i = 0; i < node->kid_count; i++)
		if (is_gone_over(node->kids[i], map))
			return true;
	return false;
}

void gen_map_divide(struct compiler *c)
{
	size_t i, k;

	for (i = 0; i < c->maps.count; i++) {
		struct symbol *map = c->maps.at[i];
		bool divided = map->value && symbol_short_size(map);

		for (k = 0; divided && k < c->units.count; k++)
			divided = !is_gone_over(c->units.at[k].predicate, map) &&
				  !is_gone_over(c->units.at[k].body, map);
		if (divided)
			map->short_name = arena_printf(c->arena, "%s_s", map->bpf_name);
	}
}

static const struct node *key_of(const struct node *map)
{
	return map->kid_count ? map->kids[0] : NULL;
}

void gen_map_call(struct gen *g, const struct symbol *map, uint32_t key, int helper, const char *function)
{
	const char *names[] = {map->short_name, map->bpf_name};
	label is_long = code_label(g->code), end = code_label(g->code);
	uint32_t i;

	gen_frame_address(g, R2, key);
	if (map->short_name) {
		gen_frame_load(g, 1, R1, key + symbol_short_size(map) - 1);
		code_jump_if(g->code, BPF_JNE, R1, 0, is_long);
	}
	/* A call for each: of a helper that is given two maps the kernel makes no code for either. */
	for (i = map->short_name ? 0 : 1; i < 2; i++) {
		code_load_map(g->code, R1, names[i]);
		if (function)
			code_call_runtime(g->code, function);
		else
			code_call(g->code, helper);
		if (i)
			break;
		code_jump(g->code, end);
		code_bind(g->code, is_long);
	}
	code_bind(g->code, end);
}

void gen_map_lookup(struct gen *g, const struct symbol *map, uint32_t key)
{
	gen_map_call(g, map, key, BPF_FUNC_map_lookup_elem, NULL);
}

void gen_map_update(struct gen *g, const struct symbol *map, uint32_t key, uint32_t value)
{
	label fine = code_label(g->code);

	gen_frame_address(g, R3, value);
	code_imm(g->code, R4, BPF_ANY);
	gen_map_call(g, map, key, BPF_FUNC_map_update_elem, NULL);
	code_jump_if(g->code, BPF_JEQ, R0, 0, fine);
	gen_count(g, RT_COUNTER_MAP_FULL);
	code_bind(g->code, fine);
}

void gen_map_lookup_or_add(struct gen *g, const struct symbol *map, uint32_t key, label full)
{
	uint32_t mark = g->used, zero;
	label there;

	gen_map_lookup(g, map, key);
	if (symbol_is_array(map)) {
		code_jump_if(g->code, BPF_JEQ, R0, 0, full);
		code_store_imm(g->code, 8, R0, (int16_t)(symbol_value_size(map) - 8), 1);
		return;
	}
	there = code_label(g->code);
	code_jump_if(g->code, BPF_JNE, R0, 0, there);
	zero = gen_temporary(g, map->value->size);
	gen_zero(g, zero, map->value->size);
	gen_frame_address(g, R3, zero);
	code_imm(g->code, R4, BPF_NOEXIST);
	gen_map_call(g, map, key, BPF_FUNC_map_update_elem, NULL);
	/* Another CPU may have been first: so by what is there, and not by the result. */
	gen_map_lookup(g, map, key);
	code_jump_if(g->code, BPF_JNE, R0, 0, there);
	gen_count(g, RT_COUNTER_MAP_FULL);
	code_jump(g->code, full);
	code_bind(g->code, there);
	g->used = mark;
}

/* One number out of an aggregation, over all CPUs. */
static void read_aggregate(struct gen *g, const struct symbol *map, uint32_t key)
{
	code_imm(g->code, R3, map->value->kind);
	code_imm(g->code, R4, map->value->is_signed);
	code_imm(g->code, R5, libbpf_num_possible_cpus());
	gen_map_call(g, map, key, 0, "rt_reduce");
}

static void warn_of_lookup(struct gen *g, const struct node *map)
{
	gen_helper_warning(g, map->span, "map_lookup_elem", 0, "Can't lookup map element because it does not exist.");
}

void gen_map_value(struct gen *g, const struct node *node)
{
	const struct symbol *map = node->symbol;
	uint32_t mark = g->used, key = gen_key(g, map, key_of(node));
	label none = code_label(g->code);

	if (type_is_aggregate(map->value)) {
		read_aggregate(g, map, key);
	} else {
		label end = code_label(g->code);

		gen_map_lookup(g, map, key);
		code_jump_if(g->code, BPF_JEQ, R0, 0, none);
		code_load(g->code, map->value->size, R0, R0, 0);
		code_extend(g->code, R0, map->value->size, map->value->is_signed);
		code_jump(g->code, end);
		code_bind(g->code, none);
		warn_of_lookup(g, node);
		code_imm(g->code, R0, 0);
		code_bind(g->code, end);
	}
	g->used = mark;
}

void gen_map_into(struct gen *g, const struct node *node, uint32_t offset)
{
	const struct symbol *map = node->symbol;
	uint32_t mark = g->used, key = gen_key(g, map, key_of(node));
	label none = code_label(g->code), end = code_label(g->code);

	gen_zero(g, offset, map->value->size);
	gen_map_lookup(g, map, key);
	code_jump_if(g->code, BPF_JEQ, R0, 0, none);
	code_mov(g->code, R3, R0);
	gen_frame_address(g, R1, offset);
	code_imm(g->code, R2, map->value->size);
	code_call(g->code, BPF_FUNC_probe_read_kernel);
	code_jump(g->code, end);
	code_bind(g->code, none);
	warn_of_lookup(g, node);
	code_bind(g->code, end);
	g->used = mark;
}

void gen_map_assign(struct gen *g, const struct node *target, const struct node *assign)
{
	const struct symbol *map = target->symbol;
	uint32_t mark = g->used, value = gen_temporary(g, (map->value->size + 7) & ~7u), key, right;

	if (assign->op == OP_NONE) {
		gen_into(g, assign->kids[1], map->value, value);
		key = gen_key(g, map, key_of(target));
	} else {
		right = gen_temporary(g, 8);
		gen_scalar(g, assign->kids[1]);
		if (map->value->kind == TYPE_POINTER && map->value->to->size > 1)
			code_alu_imm(g->code, BPF_MUL, R0, (int32_t)map->value->to->size);
		gen_frame_store(g, 8, right, R0);
		key = gen_key(g, map, key_of(target));
		if (assign->op == OP_ADD || assign->op == OP_SUB) {
			/* Atomic, as ++ is. */
			label full = code_label(g->code);

			gen_map_lookup_or_add(g, map, key, full);
			gen_frame_load(g, 8, R1, right);
			if (assign->op == OP_SUB)
				code_negate(g->code, R1);
			code_emit(g->code, (struct bpf_insn){.code = BPF_STX | BPF_ATOMIC | BPF_DW,
							     .dst_reg = R0,
							     .src_reg = R1,
							     .imm = BPF_ADD});
			code_bind(g->code, full);
			g->used = mark;
			return;
		}
		gen_map_lookup(g, map, key);
		{
			label none = code_label(g->code);

			code_jump_if(g->code, BPF_JEQ, R0, 0, none);
			code_load(g->code, 8, R0, R0, 0);
			code_bind(g->code, none);
		}
		gen_frame_load(g, 8, R1, right);
		g->at = assign->span;
		gen_operation(g, assign->op, assign->flags & OPERATION_SIGNED);
		gen_frame_store(g, 8, value, R0);
	}
	gen_map_update(g, map, key, value);
	g->used = mark;
}

/* The value in R0, if it is used: the instruction that gives it is newer than the addition (5.12). */
void gen_map_step(struct gen *g, const struct node *node, bool is_used)
{
	const struct symbol *map = node->kids[0]->symbol;
	int32_t size = map->value->kind == TYPE_POINTER && map->value->to->size > 1 ? (int32_t)map->value->to->size : 1;
	int32_t by = node->op == OP_ADD ? size : -size;
	uint32_t mark = g->used, key = gen_key(g, map, key_of(node->kids[0]));
	label full = code_label(g->code), end = code_label(g->code);

	gen_map_lookup_or_add(g, map, key, full);
	code_imm(g->code, R1, by);
	code_emit(g->code, (struct bpf_insn){.code = BPF_STX | BPF_ATOMIC | BPF_DW,
					     .dst_reg = R0,
					     .src_reg = R1,
					     .imm = is_used ? BPF_ADD | BPF_FETCH : BPF_ADD});
	code_mov(g->code, R0, R1);
	if (node->is_prefix)
		code_alu_imm(g->code, BPF_ADD, R0, by);
	code_jump(g->code, end);
	code_bind(g->code, full);
	code_imm(g->code, R0, 0);
	code_bind(g->code, end);
	g->used = mark;
}

void gen_map_aggregate(struct gen *g, const struct node *target, const struct node *call)
{
	uint32_t mark = g->used;
	const struct symbol *map = target->symbol;
	uint32_t key, value = gen_temporary(g, call->kid_count > 1 ? 16 : 8);
	label full = code_label(g->code);

	/* The value first: the aggregation's own code then finds it at `value`, its weight behind it, and the map's
	 * value in R0. */
	if (call->kid_count) {
		gen_scalar(g, call->kids[0]);
		gen_frame_store(g, 8, value, R0);
	}
	if (call->kid_count > 1) {
		gen_scalar(g, call->kids[1]);
		gen_frame_store(g, 8, value + 8, R0);
	}
	key = gen_key(g, map, key_of(target));
	gen_map_lookup_or_add(g, map, key, full);
	g->code_of(call->builtin)->place(g, call, value);
	code_bind(g->code, full);
	g->used = mark;
}
