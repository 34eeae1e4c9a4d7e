// SPDX-License-Identifier: GPL-2.0-or-later
/* Tokens, paths, addresses as text, and a process's ancestors: what the runtime's loops find. */

#include "lang/builtin/builtin.h"

#define ADDRESS_STATE 104 /* struct address of rt_string.bpf.c */
#define TABLE_BYTES   32
#define CLEANING      24 /* struct cleaning, likewise */

static void place_token(struct gen *g, const struct node *call, uint32_t offset)
{
	uint32_t mark = g->used, size = call->type->size, separators = gen_temporary(g, size),
		 table = gen_temporary(g, TABLE_BYTES), state;
	label known = code_label(g->code);

	gen_into(g, call->kids[1], call->type, separators);
	state = gen_place(g, call->kids[0]);
	if (call->kid_count > 2) {
		gen_into(g, call->kids[2], call->type, state + 8);
		gen_frame_store_imm(g, 8, state, 1);
	}
	gen_frame_load(g, 8, R0, state);
	code_jump_if(g->code, BPF_JNE, R0, 0, known);
	gen_fault(g, CORE_FAULT_ADDRESS);
	code_bind(g->code, known);
	gen_frame_address(g, R1, offset);
	gen_frame_address(g, R2, state);
	code_imm(g->code, R3, gen_text_room(g, call->type, offset));
	gen_frame_address(g, R4, separators);
	gen_frame_address(g, R5, table);
	code_call_runtime(g->code, "rt_string_token");
	g->used = mark;
}

static void place_clean(struct gen *g, const struct node *call, uint32_t offset)
{
	uint32_t mark = g->used, size = call->type->size, from = gen_temporary(g, size), room;

	gen_into(g, call->kids[0], call->type, from);
	room = gen_temporary(g, 2 * size + CLEANING);
	gen_frame_address(g, R1, offset);
	gen_frame_address(g, R2, from);
	code_imm(g->code, R3, gen_text_room(g, call->type, offset));
	gen_frame_address(g, R4, room);
	code_call_runtime(g->code, "rt_string_clean");
	g->used = mark;
}

static void place_path_text(struct gen *g, const struct node *call, uint32_t offset)
{
	uint32_t mark = g->used, size = call->type->size, i,
		 room = gen_temporary(g, (uint32_t)((sizeof(struct rt_path) + 2 * size + 7) & ~7u));

	for (i = 0; i < 1 + RT_PATH_PLACES / 4; i++) {
		gen_scalar(g, call->kids[i]);
		gen_frame_store(g, 8, room + 8 * i, R0);
	}
	gen_frame_address(g, R1, offset);
	gen_frame_address(g, R2, room);
	code_imm(g->code, R3, gen_text_room(g, call->type, offset));
	code_call_runtime(g->code, "rt_string_path");
	g->used = mark;
}

static void place_address(struct gen *g, const struct node *call, uint32_t offset)
{
	static const uint8_t bytes[] = {[CORE_ADDRESS_IP4] = 4,
					[CORE_ADDRESS_IP6] = 16,
					[CORE_ADDRESS_IP6_STRICT] = 16,
					[CORE_ADDRESS_ETHERNET] = 6,
					[CORE_ADDRESS_INFINIBAND] = 20};
	uint32_t mark = g->used, state = gen_temporary(g, ADDRESS_STATE);

	gen_scalar(g, call->kids[0]);
	gen_read(g, call->span, state, bytes[call->value]);
	gen_frame_address(g, R1, offset);
	code_imm(g->code, R2, gen_text_room(g, call->type, offset));
	gen_frame_address(g, R3, state);
	code_imm(g->code, R4, (int64_t)call->value);
	code_call_runtime(g->code, "rt_string_address");
	g->used = mark;
}

static void gen_progeny(struct gen *g, const struct node *call)
{
	uint32_t mark = g->used, task = gen_temporary(g, 8);

	gen_scalar(g, call->kids[0]);
	gen_frame_store(g, 8, task, R0);
	gen_scalar(g, call->kids[1]);
	code_mov(g->code, R4, R0);
	gen_frame_load(g, 8, R1, task);
	code_imm(g->code, R2, (int64_t)(call->value >> 32));
	code_imm(g->code, R3, (int64_t)(call->value & UINT32_MAX));
	code_call_runtime(g->code, "rt_string_progeny");
	g->used = mark;
}

const struct builtin_code codes_text_parts[] = {
	{CORE_STRTOK, .place = place_token},
	{CORE_CLEANPATH, .place = place_clean},
	{CORE_PATH_TEXT, .place = place_path_text},
	{CORE_ADDRESS_TEXT, .place = place_address},
	{CORE_PROGENY, .scalar = gen_progeny},
	{},
};
