// SPDX-License-Identifier: GPL-2.0-or-later
/* Places in memory by their names, and what is written there. */

#include "arch/arch.h"
#include "lang/builtin/builtin.h"

static void gen_per_cpu(struct gen *g, const struct node *call)
{
	uint32_t mark = g->used, address = gen_temporary(g, 8);

	if (call->kid_count) {
		gen_scalar(g, call->kids[0]);
		code_mov(g->code, R2, R0);
	}
	code_load_kernel(g->code, R1, (uint32_t)call->value);
	code_call(g->code, call->kid_count ? BPF_FUNC_per_cpu_ptr : BPF_FUNC_this_cpu_ptr);
	/* By way of the frame it becomes a number. */
	gen_frame_store(g, 8, address, R0);
	gen_frame_load(g, 8, R0, address);
	g->used = mark;
}

static void gen_uaddr(struct gen *g, const struct node *call)
{
	code_load(g->code, 8, R0, REG_CTX, arch_here()->context_pc);
	code_imm(g->code, R1, (int64_t)call->value);
	code_alu(g->code, BPF_ADD, R0, R1);
}

static void gen_container(struct gen *g, const struct node *call)
{
	gen_scalar(g, call->kids[0]);
	code_alu_imm(g->code, BPF_SUB, R0, (int32_t)call->value);
}

static void gen_write_user(struct gen *g, const struct node *call)
{
	uint32_t mark = g->used, address = gen_temporary(g, 8), value;

	gen_scalar(g, call->kids[0]);
	gen_frame_store(g, 8, address, R0);
	value = gen_place(g, call->kids[1]);
	gen_frame_load(g, 8, R1, address);
	gen_frame_address(g, R2, value);
	code_imm(g->code, R3, (int64_t)call->value);
	code_call(g->code, BPF_FUNC_probe_write_user);
	g->used = mark;
}

const struct builtin_code codes_address[] = {
	{CORE_PER_CPU, .scalar = gen_per_cpu},
	{CORE_UADDR, .scalar = gen_uaddr},
	{CORE_CONTAINER, .scalar = gen_container},
	{CORE_WRITE_USER, .scalar = gen_write_user},
	{},
};
