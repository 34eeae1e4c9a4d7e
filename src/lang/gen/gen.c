// SPDX-License-Identifier: GPL-2.0-or-later
/* Programs, statements, loops, the frame. */
#include "lang/gen/gen.h"

#include <bpf/libbpf.h>
#include <errno.h>
#include <string.h>

#include "lang/builtin/builtin.h"
#include "lang/provider/provider.h"

static void too_large(struct gen *g)
{
	if (!g->failed)
		report_error(g->c->report, "gen.size", g->unit->probe->span,
			     "the values of one action take more than %d bytes", RT_FRAME_MAX);
	if (!g->failed)
		report_hint(g->c->report, "lower max_strlen, or give str() a length");
	g->failed = true;
}

uint32_t gen_temporary(struct gen *g, uint32_t size)
{
	uint32_t offset = (g->used + 7) & ~7u;

	/* One word more: strings are compared and copied by words. */
	g->used = offset + ((size + 7) & ~7u);
	if (g->used > RT_FRAME_MAX - 64) {
		too_large(g);
		g->used = offset = RT_FRAME_FIRST;
	}
	if (g->used > g->used_max)
		g->used_max = g->used;
	return offset;
}

/* An instruction's offset has 16 bits: what is further away is reached by moving the register for a moment. */
static int16_t frame_reach(struct gen *g, uint32_t offset)
{
	if (offset <= INT16_MAX)
		return (int16_t)offset;
	code_alu_imm(g->code, BPF_ADD, REG_FRAME, (int32_t)(offset & ~7u));
	return (int16_t)(offset & 7);
}

static void frame_return(struct gen *g, uint32_t offset)
{
	if (offset > INT16_MAX)
		code_alu_imm(g->code, BPF_SUB, REG_FRAME, (int32_t)(offset & ~7u));
}

void gen_frame_load(struct gen *g, uint32_t size, int to, uint32_t offset)
{
	code_load(g->code, size, to, REG_FRAME, frame_reach(g, offset));
	frame_return(g, offset);
}

void gen_frame_store(struct gen *g, uint32_t size, uint32_t offset, int from)
{
	code_store(g->code, size, REG_FRAME, frame_reach(g, offset), from);
	frame_return(g, offset);
}

void gen_frame_store_imm(struct gen *g, uint32_t size, uint32_t offset, int32_t value)
{
	code_store_imm(g->code, size, REG_FRAME, frame_reach(g, offset), value);
	frame_return(g, offset);
}

void gen_frame_address(struct gen *g, int to, uint32_t offset)
{
	code_mov(g->code, to, REG_FRAME);
	code_alu_imm(g->code, BPF_ADD, to, (int32_t)offset);
}

void gen_zero(struct gen *g, uint32_t offset, uint32_t size)
{
	uint32_t at = 0;

	if (size > 128) {
		/* A read that fails fills its destination with zeros: one helper call for any size. */
		gen_frame_address(g, R1, offset);
		code_imm(g->code, R2, size);
		code_imm(g->code, R3, 0);
		code_call(g->code, BPF_FUNC_probe_read_kernel);
		return;
	}
	for (; at + 8 <= size && !((offset + at) & 7); at += 8)
		gen_frame_store_imm(g, 8, offset + at, 0);
	for (; at < size; at++)
		gen_frame_store_imm(g, 1, offset + at, 0);
}

void gen_copy(struct gen *g, uint32_t to, uint32_t from, uint32_t size)
{
	uint32_t at = 0;

	if (to == from || !size)
		return;
	if (size > 128) {
		gen_frame_address(g, R1, to);
		code_imm(g->code, R2, size);
		gen_frame_address(g, R3, from);
		code_call(g->code, BPF_FUNC_probe_read_kernel);
		return;
	}
	for (; at + 8 <= size && !((to + at) & 7) && !((from + at) & 7); at += 8) {
		gen_frame_load(g, 8, R0, from + at);
		gen_frame_store(g, 8, to + at, R0);
	}
	for (; at + 4 <= size && !((to + at) & 3) && !((from + at) & 3); at += 4) {
		gen_frame_load(g, 4, R0, from + at);
		gen_frame_store(g, 4, to + at, R0);
	}
	for (; at < size; at++) {
		gen_frame_load(g, 1, R0, from + at);
		gen_frame_store(g, 1, to + at, R0);
	}
}

void gen_text(struct gen *g, const char *text, uint32_t offset, uint32_t size)
{
	size_t length = strlen(text);
	uint32_t at;

	if (length > size - 1)
		length = size - 1;
	if (size > length + 64)
		gen_zero(g, offset, size);
	for (at = 0; at < size && (at <= length || size <= length + 64); at += 4) {
		char word[4] = {};
		int32_t value;

		if (at < length)
			memcpy(word, text + at, length - at < 4 ? length - at : 4);
		memcpy(&value, word, sizeof(value));
		if (size - at >= 4 && !((offset + at) & 3)) {
			gen_frame_store_imm(g, 4, offset + at, value);
		} else {
			uint32_t i;

			for (i = 0; i < 4 && at + i < size; i++)
				gen_frame_store_imm(g, 1, offset + at + i, word[i]);
		}
	}
}

void gen_string(struct gen *g, const struct type *type, uint32_t from, uint32_t offset)
{
	gen_frame_address(g, R1, offset);
	code_imm(g->code, R2, type->size);
	gen_frame_address(g, R3, from);
	code_imm(g->code, R4, type->count);
	code_call_runtime(g->code, "rt_str");
}

void gen_read(struct gen *g, struct span span, uint32_t offset, uint32_t size)
{
	label kernel = code_label(g->code), fine = code_label(g->code);
	uint32_t mark = g->used, address = 0;

	if (g->c->options->warn_of_helpers) {
		address = gen_temporary(g, 8);
		gen_frame_store(g, 8, address, R0);
	}
	code_mov(g->code, R3, R0);
	gen_frame_address(g, R1, offset);
	code_imm(g->code, R2, size);
	code_call_runtime(g->code, "rt_read");
	if (g->c->options->warn_of_helpers) {
		code_jump_if(g->code, BPF_JEQ, R0, 0, fine);
		gen_frame_load(g, 8, R1, address);
		code_jump_if(g->code, BPF_JSLT, R1, 0, kernel);
		gen_helper_warning(g, span, "probe_read_user", -EFAULT, strerror(EFAULT));
		code_jump(g->code, fine);
		code_bind(g->code, kernel);
		gen_helper_warning(g, span, "probe_read_kernel", -EFAULT, strerror(EFAULT));
		code_bind(g->code, fine);
	}
	g->used = mark;
}

void gen_context_load(struct gen *g, uint32_t size, uint32_t offset)
{
	uint32_t mark = g->used, at;

	if (g->unit->provider->program_type != BPF_PROG_TYPE_TRACING &&
	    !g->c->attaches.at[g->unit->first_attach].keeps_types) {
		code_load(g->code, size, R0, REG_CTX, (int16_t)offset);
		return;
	}
	at = gen_temporary(g, 8);
	code_load(g->code, 8, R0, REG_CTX, (int16_t)offset);
	gen_frame_store(g, 8, at, R0);
	gen_frame_load(g, size, R0, at);
	g->used = mark;
}

/* struct bpf_pidns_info is {pid, tgid}; zeros where the namespace has no number for the process. */
void gen_pid_tgid(struct gen *g, bool of_initial)
{
	const struct compile_options *options = g->c->options;

	if (of_initial || !options->namespace_inode) {
		code_call(g->code, BPF_FUNC_get_current_pid_tgid);
		return;
	}
	code_store_imm(g->code, 8, R10, SLOT_WORD, 0);
	code_imm(g->code, R1, (int64_t)options->namespace_device);
	code_imm(g->code, R2, (int64_t)options->namespace_inode);
	code_mov(g->code, R3, R10);
	code_alu_imm(g->code, BPF_ADD, R3, SLOT_WORD);
	code_imm(g->code, R4, 8);
	code_call(g->code, BPF_FUNC_get_ns_current_pid_tgid);
	code_load(g->code, 8, R0, R10, SLOT_WORD);
}

void gen_count(struct gen *g, enum rt_counter counter)
{
	code_imm(g->code, R1, counter);
	code_call_runtime(g->code, "rt_count");
}

static void warn(struct gen *g, struct site site)
{
	struct compiler *c = g->c;
	uint32_t number = (uint32_t)c->sites.count;

	if (c->options->hide_warnings)
		return;
	if (vec_push(&c->sites, site)) {
		c->arena->failed = true;
		return;
	}
	code_imm(g->code, R1, number);
	code_call_runtime(g->code, "rt_warn");
}

void gen_warning(struct gen *g, const char *text)
{
	warn(g, (struct site){.kind = SITE_WARNING, .span = g->at, .format = text});
}

void gen_helper_warning(struct gen *g, struct span span, const char *helper, int code, const char *text)
{
	if (g->c->options->warn_of_helpers)
		warn(g,
		     (struct site){.kind = SITE_WARNING, .span = span, .format = text, .helper = helper, .code = code});
}

void gen_send(struct gen *g, uint32_t offset, uint32_t size)
{
	gen_frame_address(g, R1, offset);
	code_imm(g->code, R2, size);
	code_call_runtime(g->code, "rt_send");
}

uint32_t gen_record(struct gen *g, uint32_t site, uint32_t size)
{
	uint32_t offset = gen_temporary(g, sizeof(struct rt_event) + size);

	gen_frame_store_imm(g, 4, offset, RT_EVENT_SITE);
	gen_frame_store_imm(g, 4, offset + 4, (int32_t)site);
	return offset;
}

/* --- statements --- */

static void assign_variable(struct gen *g, const struct node *node)
{
	const struct node *target = node->kids[0], *value = node->kids[1];
	struct symbol *symbol = target->symbol;
	uint32_t mark, right;

	if (node->flags & 1)
		symbol->offset = gen_temporary(g, symbol->type->size);
	mark = g->used;
	if (node->op == OP_NONE) {
		if (type_is_scalar(symbol->type) || value->kind == NODE_VARIABLE) {
			gen_into(g, value, symbol->type, symbol->offset);
		} else {
			/* The value may be made of the variable itself. */
			uint32_t temporary = node->flags & 1 ? symbol->offset : gen_temporary(g, symbol->type->size);

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
		gen_operation(g, node->op, symbol->type, value->type);
		gen_frame_store(g, symbol->type->size, symbol->offset, R0);
	}
	g->used = mark;
}

static void gen_assign(struct gen *g, const struct node *node)
{
	if (node->kids[0]->kind == NODE_VARIABLE)
		assign_variable(g, node);
	else if (node->kids[0]->kind == NODE_MAP && node->detail)
		gen_map_aggregate(g, node->kids[0], node->kids[1]);
	else if (node->kids[0]->kind == NODE_MAP)
		gen_map_assign(g, node->kids[0], node);
	else if (type_is_scalar(node->kids[1]->type) || node->kids[1]->type->kind == TYPE_NONE)
		gen_scalar(g, node->kids[1]);
	else
		gen_place(g, node->kids[1]);
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

void gen_statement(struct gen *g, const struct node *node)
{
	uint32_t mark, i;

	if (g->failed)
		return;
	switch (node->kind) {
	case NODE_ASSIGN:
		gen_assign(g, node);
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
		for (i = 0; i < node->value; i++)
			gen_statement(g, node->kids[1]);
		break;
	case NODE_BREAK:
	case NODE_CONTINUE:
	case NODE_RETURN:
		gen_jump(g, node);
		break;
	case NODE_BLOCK:
		gen_block(g, node);
		break;
	default:
		mark = g->used;
		gen_scalar(g, node);
		g->used = mark;
	}
}

/* --- programs --- */

/* Of programs that run in all processes, with -p. A command (-c) is followed by scripts that say so. */
static void filter_pid(struct gen *g, label out)
{
	const struct compile_options *options = g->c->options;

	if (!g->unit->provider->filters_pid || !options->pid || options->command_path)
		return;
	gen_pid_tgid(g, false);
	code_alu_imm(g->code, BPF_RSH, R0, 32);
	code_jump_if(g->code, BPF_JNE, R0, options->pid, out);
}

/* The objects of an iterator are the pointers behind `meta`. Behind the last object they are null. */
static void begin_iteration(struct gen *g, label out)
{
	const struct type *context = g->c->attaches.at[g->unit->first_attach].arguments;
	uint32_t i;

	for (i = 1; i < context->field_count; i++) {
		if (context->fields[i].type->kind != TYPE_POINTER)
			continue;
		gen_context_load(g, 8, context->fields[i].offset);
		code_jump_if(g->code, BPF_JEQ, R0, 0, out);
	}
}

/* meta and its first field, seq, are the first words they lie in. */
void gen_iteration_output(struct gen *g)
{
	code_load(g->code, 8, R1, REG_CTX, 0);
	code_load(g->code, 8, R1, R1, 0);
}

/* A byte for the object: see provider/iter.c. */
static void end_iteration(struct gen *g)
{
	gen_iteration_output(g);
	gen_frame_address(g, R2, RT_FRAME_FIRST);
	code_imm(g->code, R3, 1);
	code_call(g->code, BPF_FUNC_seq_write);
}

static void gen_unit(struct gen *g, uint32_t index)
{
	const struct unit *unit = &g->c->units.at[index];
	struct function function = {
		.name = arena_printf(g->c->arena, "p%u", index), .section = unit->section, .unit = index};
	label out, done;

	g->unit = unit;
	g->used = RT_FRAME_FIRST;
	g->in_callback = false;
	if (vec_push(&g->functions, function)) {
		g->c->arena->failed = g->failed = true;
		return;
	}
	g->current = (uint32_t)g->functions.count - 1;
	g->code = &g->functions.at[g->current].code;
	g->leave = code_label(g->code);
	out = code_label(g->code);
	code_mov(g->code, REG_CTX, R1);
	filter_pid(g, out);
	code_load_map(g->code, R1, "frames");
	code_imm(g->code, R2, unit->provider->is_last || unit_is_pinned(g->c, unit));
	code_call_runtime(g->code, "rt_enter");
	code_jump_if(g->code, BPF_JEQ, R0, 0, out);
	code_mov(g->code, REG_FRAME, R0);
	code_store(g->code, 8, R10, SLOT_FRAME, REG_FRAME);
	code_store(g->code, 8, R10, SLOT_CTX, REG_CTX);
	gen_frame_store_imm(g, 4, RT_FRAME_FLOW, RT_FLOW_NEXT);
	if (unit->provider->has_result)
		gen_frame_store_imm(g, 4, RT_FRAME_RESULT, 0);
	done = code_label(g->code);
	if (unit->provider->context == CONTEXT_ITER)
		begin_iteration(g, done);
	if (unit->predicate) {
		gen_scalar(g, unit->predicate);
		code_jump_if(g->code, BPF_JEQ, R0, 0, g->leave);
	}
	gen_statement(g, unit->body);
	code_bind(g->code, g->leave);
	if (unit->provider->context == CONTEXT_ITER && !unit_is_pinned(g->c, unit))
		end_iteration(g);
	code_bind(g->code, done);
	if (unit->provider->has_result)
		gen_frame_load(g, 4, R0, RT_FRAME_RESULT);
	/* As rt_give_back() of rt/take.h. */
	code_imm(g->code, R1, -1);
	code_emit(g->code, (struct bpf_insn){.code = BPF_STX | BPF_ATOMIC | BPF_W,
					     .dst_reg = REG_FRAME,
					     .src_reg = R1,
					     .off = RT_FRAME_BUSY,
					     .imm = BPF_ADD});
	if (unit->provider->has_result)
		code_exit(g->code);
	code_bind(g->code, out);
	code_imm(g->code, R0, 0);
	code_exit(g->code);
}

bool gen_all(struct gen *g, struct compiler *c)
{
	uint32_t i;
	size_t f;

	*g = (struct gen){.c = c, .used_max = RT_FRAME_FIRST};
	for (i = 0; i < c->units.count && !g->failed; i++) {
		c->unit = &c->units.at[i];
		gen_unit(g, i);
	}
	for (f = 0; f < g->functions.count && !g->failed; f++) {
		if (code_finish(&g->functions.at[f].code))
			continue;
		report_error(c->report, "gen.long", c->units.at[g->functions.at[f].unit].probe->span,
			     "the action is too long for one program");
		report_hint(c->report, "split it into several probes");
		g->failed = true;
	}
	return !g->failed && !c->report->errors && !c->arena->failed;
}

void gen_deinit(struct gen *g)
{
	size_t i;

	for (i = 0; i < g->functions.count; i++)
		code_deinit(&g->functions.at[i].code);
	vec_free(&g->functions);
}
