// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Builtins that work on objects of the kernel, or on what it does. The kernel's helpers take pointers whose types the
 * verifier knows: arguments of the probe, and what is reached from them.
 */
#include <errno.h>

#include "lang/builtin/builtin.h"

static void gen_override(struct gen *g, const struct node *call)
{
	gen_scalar(g, call->kids[0]);
	code_mov(g->code, R1, REG_CTX);
	code_mov(g->code, R2, R0);
	code_call(g->code, BPF_FUNC_override_return);
}

/* The object's address in R0, with its type. Jumps to `null` when there is none. */
static void gen_object(struct gen *g, const struct node *node, label null)
{
	if (node->kind == NODE_CAST) {
		gen_object(g, node->kids[0], null);
		return;
	}
	if (node_calls(node, CORE_ARGUMENT)) {
		code_load(g->code, 8, R0, REG_CTX, (int16_t)(node->value * 8));
	} else if (node_calls(node->kids[0], CORE_ARGS) || node_calls(node->kids[0], CORE_CTX)) {
		code_load(g->code, 8, R0, REG_CTX, (int16_t)node->field->offset);
	} else {
		gen_object(g, node->kids[0], null);
		if (node->type->kind == TYPE_POINTER)
			code_load(g->code, 8, R0, R0, (int16_t)node->field->offset);
		else
			code_alu_imm(g->code, BPF_ADD, R0, (int32_t)node->field->offset);
	}
	if (node->type->kind != TYPE_RECORD)
		code_jump_if(g->code, BPF_JEQ, R0, 0, null);
}

static void gen_socket_cookie(struct gen *g, const struct node *call)
{
	label null = code_label(g->code), end = code_label(g->code);

	gen_object(g, call->kids[0], null);
	code_mov(g->code, R1, R0);
	code_call(g->code, BPF_FUNC_get_socket_cookie);
	code_jump(g->code, end);
	code_bind(g->code, null);
	code_imm(g->code, R0, 0);
	code_bind(g->code, end);
}

/* The helper leaves bytes of its own behind the path. Of one that is too long it leaves the end, and an error. */
static void place_path(struct gen *g, const struct node *call, uint32_t offset)
{
	uint32_t size = call->type->size, mark = g->used, text = gen_temporary(g, size);
	label null = code_label(g->code);

	gen_zero(g, text, size);
	gen_object(g, call->kids[0], null);
	code_mov(g->code, R1, R0);
	gen_frame_address(g, R2, text);
	code_imm(g->code, R3, call->type->count);
	code_call(g->code, BPF_FUNC_d_path);
	code_bind(g->code, null);
	gen_string(g, call->type, text, offset);
	g->used = mark;
}

static void gen_packet(struct gen *g, const struct node *call)
{
	uint32_t mark = g->used, length = gen_temporary(g, 8), offset = gen_temporary(g, 8), record;
	label null = code_label(g->code), end = code_label(g->code);

	gen_into(g, call->kids[1], &type_uint64, length);
	gen_into(g, call->kids[2], &type_uint64, offset);
	record = gen_record(g, call->site, sizeof(struct rt_packet) - sizeof(struct rt_event));
	gen_zero(g, record + (uint32_t)sizeof(struct rt_event), sizeof(struct rt_packet) - sizeof(struct rt_event));
	gen_object(g, call->kids[0], null);
	code_mov(g->code, R1, R0);
	code_load(g->code, 4, R3, R1, (int16_t)call->value);
	gen_frame_address(g, R2, record);
	gen_frame_load(g, 8, R4, offset);
	gen_frame_load(g, 8, R5, length);
	code_call_runtime(g->code, "rt_packet");
	code_jump(g->code, end);
	code_bind(g->code, null);
	code_imm(g->code, R0, -EFAULT);
	code_bind(g->code, end);
	g->used = mark;
}

const struct builtin_code codes_kernel[] = {
	{CORE_OVERRIDE, .scalar = gen_override},
	{CORE_SOCKET_COOKIE, .scalar = gen_socket_cookie},
	{CORE_PATH, .place = place_path},
	{CORE_PACKET, .scalar = gen_packet},
	{},
};
