// SPDX-License-Identifier: GPL-2.0-or-later
/* What is decided while compiling, and small conversions. */

#include "lang/builtin/builtin.h"

static void gen_is_err(struct gen *g, const struct node *call)
{
	label end = code_label(g->code);

	gen_scalar(g, call->kids[0]);
	code_mov(g->code, R1, R0);
	code_imm(g->code, R0, 1);
	code_jump_if(g->code, BPF_JGE, R1, -4095, end);
	code_imm(g->code, R0, 0);
	code_bind(g->code, end);
}

static void gen_bswap(struct gen *g, const struct node *call)
{
	uint32_t size = call->type->size;

	gen_scalar(g, call->kids[0]);
	if (size > 1)
		code_emit(g->code, (struct bpf_insn){.code = BPF_ALU | BPF_END | BPF_TO_BE,
						     .dst_reg = R0,
						     .imm = (int32_t)size * 8});
}

static void place_number(struct gen *g, const struct node *call, uint32_t offset)
{
	gen_scalar(g, call->kids[0]);
	gen_frame_store(g, 8, offset, R0);
}

const struct builtin_code codes_meta[] = {
	{CORE_IS_ERR, .scalar = gen_is_err},
	{CORE_BSWAP, .scalar = gen_bswap},
	{CORE_NUMBER, .place = place_number},
	{},
};
