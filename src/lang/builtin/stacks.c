// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * kstack, ustack, pystack and stack. Their values are ids: frames are sent once for each distinct stack
 * (bpf/walks.h), and named by user space when they are printed.
 */

#include "abi/events.h"
#include "abi/limits.h"
#include "lang/builtin/builtin.h"
#include "lang/provider/provider.h"

/* As rt_stack_kernel() has it. */
static void place_kernel_stack(struct gen *g, const struct node *call, uint32_t offset)
{
	uint32_t event = gen_temporary(g, sizeof(struct stack_event) + KERNEL_FRAMES_MAX * sizeof(uint64_t));

	code_mov(g->code, R1, REG_CTX);
	gen_frame_address(g, R2, event + (uint32_t)sizeof(struct stack_event));
	code_imm(g->code, R3, KERNEL_FRAMES_MAX * sizeof(uint64_t));
	code_imm(g->code, R4, 0);
	code_call(g->code, BPF_FUNC_get_stack);
	code_mov(g->code, R3, R0);
	gen_frame_address(g, R1, event);
	gen_frame_address(g, R2, offset);
	code_imm(g->code, R4, call->type->limit);
	code_call_runtime(g->code, "rt_stack_kernel");
}

static void place_stack(struct gen *g, const struct node *call, uint32_t offset)
{
	enum context_kind context = g->unit->provider->context;

	if (call->type->variant == STACK_KERNEL && context != CONTEXT_WORDS && context != CONTEXT_ITER) {
		place_kernel_stack(g, call, offset);
		return;
	}

	code_mov(g->code, R1, REG_CTX);
	gen_frame_address(g, R2, offset);
	code_imm(g->code, R3, call->type->variant | (g->unit->provider->in_task ? RT_STACK_IN_TASK : 0));
	code_imm(g->code, R4, call->type->limit);
	if (context == CONTEXT_WORDS || context == CONTEXT_ITER) {
		code_imm(g->code, R5,
			 g->unit->provider->is_kernel ? (int64_t)g->c->attaches.at[g->unit->first_attach].address : 0);
		code_call_runtime(g->code, "rt_stack_words");
		return;
	}
	code_call_runtime(g->code, context == CONTEXT_REGISTERS || context == CONTEXT_PERF ? "rt_stack_registers"
											   : "rt_stack_task");
}

const struct builtin_code codes_stacks[] = {
	{CORE_STACK, .place = place_stack},
	{},
};
