// SPDX-License-Identifier: GPL-2.0-or-later
/* What is done with maps as a whole, and their keys. */
#include <errno.h>
#include <string.h>

#include "abi/loss.h"
#include "lang/builtin/builtin.h"

static const struct type *check_whole(struct compiler *c, struct node *call)
{
	enum site_kind kind = !strcmp(call->text, "clear") ? SITE_CLEAR : SITE_ZERO;
	struct symbol *map = check_map_name(c, call->kids[0]);

	if (map && map->value)
		call->site = check_site(c, call, (struct site){.kind = kind, .map = map});
	return &type_none;
}

static void gen_whole(struct gen *g, const struct node *call)
{
	uint32_t mark = g->used;

	gen_send(g, gen_record(g, call->site, 0), sizeof(struct rt_event));
	g->used = mark;
}

/* delete(@map, key) and, as it once was, delete(@map[key]); delete(@scalar). */
static const struct type *check_delete(struct compiler *c, struct node *call)
{
	struct node *target = call->kids[0];
	struct symbol *map;

	if (target->kind != NODE_MAP || (target->kid_count && call->kid_count > 1)) {
		report_error(c->report, "map.name", target->span, "%s() expects a map to be provided", call->text);
		return &type_bool;
	}
	if (target->kid_count) {
		check_map_symbol(c, target);
		return &type_bool;
	}
	map = check_map_name(c, target);
	if (map && !map->key)
		map->is_deleted = true;
	if (map && call->kid_count > 1 && map->used_bare)
		report_error(c->report, "map.key", call->span,
			     "call to %s() expects a map with explicit keys (non-scalar map)", call->text);
	else if (map && call->kid_count > 1)
		check_key(c, map, call->kids[1], call->span);
	else if (map && map->key) {
		report_error(c->report, "map.key", call->span,
			     "call to %s() expects a map without explicit keys (scalar map)", call->text);
		report_hint(c->report, "usage: %s", call->builtin->usage);
	}
	return &type_bool;
}

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

	code_load_map(g->code, R1, call->kids[0]->symbol->bpf_name);
	gen_frame_address(g, R2, key);
	code_call(g->code, BPF_FUNC_map_delete_elem);
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

static const struct type *check_has_key(struct compiler *c, struct node *call)
{
	if (call->kid_count == 1 && call->kids[0]->kind == NODE_MAP && !call->kids[0]->kid_count) {
		report_error(c->report, "map.key", call->span, "call to has_key() needs the key to look for");
		report_hint(c->report, "usage: %s; a map without keys is there, or not, by its value",
			    call->builtin->usage);
		return &type_bool;
	}
	return check_delete(c, call);
}

/* find(@map, key, $variable): an assignment to the variable takes its place. */
static const struct type *check_find(struct compiler *c, struct node *call)
{
	struct node *map = call->kids[0], *assign = call->kids[2], *value;

	if (assign->kind != NODE_ASSIGN && assign->kind != NODE_VARIABLE) {
		report_error(c->report, "find.variable", assign->span, "find() expects a variable for the value");
		report_hint(c->report, "usage: %s", call->builtin->usage);
		return &type_bool;
	}
	check_delete(c, call);
	if (assign->kind == NODE_VARIABLE && map->kind == NODE_MAP) {
		value = node_create(c->arena, NODE_MAP, map->span, 1);
		value->text = map->text;
		value->expanded = map->expanded;
		value->kids[0] = node_copy(c->arena, call->kids[1]);
		call->kids[2] = node_create(c->arena, NODE_ASSIGN, assign->span, 2);
		call->kids[2]->kids[0] = assign;
		call->kids[2]->kids[1] = value;
	}
	if (map->kind == NODE_MAP && !map->kid_count && !c->report->errors)
		check_statement(c, call->kids[2]);
	return &type_bool;
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

static const struct type *check_len(struct compiler *c, struct node *call)
{
	struct node *what = call->kids[0];
	const struct type *type;

	call->flags = 0;
	if (what->kind == NODE_MAP && !what->kid_count) {
		struct symbol *map = check_map_name(c, what);

		if (!map || !map->value || map->value->kind != TYPE_STACK) {
			if (map && map->value && !map->key)
				report_error(c->report, "map.key", call->span,
					     "call to len() expects a map with explicit keys (non-scalar map)");
			call->flags = 1;
			return &type_int64;
		}
	}
	type = check_value(c, what);
	if (type->kind != TYPE_STACK && type->kind != TYPE_STRING && type->kind != TYPE_NONE &&
	    type->kind != TYPE_BUFFER && type->kind != TYPE_ARRAY && type->kind != TYPE_TUPLE)
		report_error(c->report, "type.len", what->span,
			     "len() expects a map or stack to be provided, and this is of type '%s'",
			     type_describe(c->arena, type));
	if (type->kind == TYPE_STRING)
		report_hint(c->report, "use strlen() for strings");
	return &type_int64;
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

const struct builtin builtins_maps[] = {
	{"clear", 1, 1, 0, check_whole, gen_whole, NULL, "clear(@map)"},
	{"zero", 1, 1, 0, check_whole, gen_whole, NULL, "zero(@map)"},
	{"delete", 1, 2, 0, check_delete, gen_delete, NULL, "delete(@map, KEY)"},
	{"has_key", 1, 2, 0, check_has_key, gen_has_key, NULL, "has_key(@map, KEY)"},
	{"find", 3, 3, 0, check_find, gen_find, NULL, "find(@map, KEY, $VARIABLE)"},
	{"len", 1, 1, 0, check_len, gen_len, NULL, "len(@map) or len(STACK)"},
	{},
};
