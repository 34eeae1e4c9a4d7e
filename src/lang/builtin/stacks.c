// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * kstack, ustack, pystack and stack. Their values are ids: frames are sent once for each distinct stack
 * (bpf/walks.h), and named by user space when they are printed.
 */

#include "abi/events.h"
#include "abi/limits.h"
#include "abi/loss.h"
#include "lang/builtin/builtin.h"
#include "lang/provider/provider.h"

/* As rt_stack_kernel() has it. Where the frames are. */
static uint32_t place_kernel_stack(struct gen *g, uint32_t limit, uint32_t offset)
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
	code_imm(g->code, R4, limit);
	code_call_runtime(g->code, "rt_stack_kernel");
	return event + (uint32_t)sizeof(struct stack_event);
}

/* The kernel's stack alone, and the program calls the kernel for it. */
static bool is_kernel_only(const struct gen *g, uint32_t parts)
{
	enum context_kind context = g->unit->provider->context;

	return parts == STACK_KERNEL && context != CONTEXT_WORDS && context != CONTEXT_ITER;
}

static void walk(struct gen *g, uint32_t parts, uint32_t limit, uint32_t offset)
{
	enum context_kind context = g->unit->provider->context;

	code_mov(g->code, R1, REG_CTX);
	gen_frame_address(g, R2, offset);
	code_imm(g->code, R3, parts | (g->unit->provider->in_task ? RT_STACK_IN_TASK : 0));
	code_imm(g->code, R4, limit);
	if (context == CONTEXT_WORDS || context == CONTEXT_ITER) {
		code_imm(g->code, R5,
			 g->unit->provider->is_kernel ? (int64_t)g->c->attaches.at[g->unit->first_attach].address : 0);
		code_call_runtime(g->code, "rt_stack_words");
		return;
	}
	code_call_runtime(g->code, context == CONTEXT_REGISTERS || context == CONTEXT_PERF ? "rt_stack_registers"
											   : "rt_stack_task");
}

static void place_stack(struct gen *g, const struct node *call, uint32_t offset)
{
	if (is_kernel_only(g, call->type->variant))
		place_kernel_stack(g, call->type->limit, offset);
	else
		walk(g, call->type->variant, call->type->limit, offset);
}

/* Of a stack that is walked later, from a copy, no frame is known yet. */
static void late_caller(struct gen *g, const struct node *call, uint32_t at)
{
	label known = code_label(g->code);

	gen_frame_load(g, 2, R0, at + (uint32_t)offsetof(struct rt_stack_value, native_loss));
	code_jump_if(g->code, BPF_JNE, R0, LOSS_LATE, known);
	g->at = call->span;
	gen_warning(g, "The process was not met before, and this stack is walked later: its caller is not known, and 0 "
		       "here. -p and -c make it known from the first one on.");
	code_bind(g->code, known);
}

static void gen_caller(struct gen *g, const struct node *call)
{
	uint32_t mark = g->used, at = gen_temporary(g, sizeof(struct rt_stack_value));

	if (is_kernel_only(g, (uint32_t)call->value)) {
		uint32_t frames = place_kernel_stack(g, 0, at);
		label none = code_label(g->code);

		gen_frame_load(g, 4, R1, at + (uint32_t)offsetof(struct rt_stack_value, depth));
		code_imm(g->code, R0, 0);
		code_jump_if(g->code, BPF_JLT, R1, 2, none);
		gen_frame_load(g, 8, R0, frames + (uint32_t)sizeof(uint64_t));
		code_bind(g->code, none);
	} else {
		walk(g, (uint32_t)call->value | RT_STACK_CALLER, 0, at);
		if (call->value == STACK_NATIVE)
			late_caller(g, call, at);
		gen_frame_load(g, 8, R0, at + (uint32_t)(call->value == STACK_NATIVE
								 ? offsetof(struct rt_stack_value, native)
								 : offsetof(struct rt_stack_value, kernel)));
	}
	g->used = mark;
}

const struct builtin_code codes_stacks[] = {
	{CORE_STACK, .place = place_stack},
	{CORE_CALLER, .scalar = gen_caller},
	{},
};
