// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * kstack, ustack, pystack and stack. Their values are ids: frames are sent once for each distinct stack
 * (bpf/sampler.bpf.c), and named by user space when they are printed.
 */
#include <string.h>

#include "abi/events.h"
#include "abi/limits.h"
#include "lang/builtin/builtin.h"
#include "lang/provider/provider.h"

static uint32_t parts_of(const char *name)
{
	if (!strcmp(name, "kstack"))
		return STACK_KERNEL;
	if (!strcmp(name, "pystack"))
		return STACK_PYTHON;
	if (!strcmp(name, "stack"))
		return STACK_KERNEL | STACK_NATIVE | STACK_PYTHON;
	return STACK_NATIVE;
}

static enum stack_style style_of(const char *name, bool *ok)
{
	static const char *const names[] = {"bpftrace", "perf", "raw", "build_id", "folded"};
	size_t i;

	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (!strcmp(names[i], name))
			break;
	*ok = i < sizeof(names) / sizeof(names[0]);
	return (enum stack_style)(i % (sizeof(names) / sizeof(names[0])));
}

static const struct type *check_stack(struct compiler *c, struct node *call)
{
	enum stack_style style;
	int64_t limit = 0;
	uint32_t i, parts = parts_of(call->text);
	bool ok;

	if (!strcmp(call->text, "dw_ustack"))
		compiler_unstable(c, SETTING_UNSTABLE_DW_USTACK, call);
	style = style_of(c->texts[SETTING_STACK_MODE], &ok);
	for (i = 0; i < call->kid_count; i++) {
		struct node *argument = call->kids[i];

		if (argument->kind == NODE_NAME && i == 0) {
			style = style_of(argument->text, &ok);
			if (!ok) {
				report_error(c->report, "stack.mode", argument->span, "Invalid stack mode: '%s'",
					     argument->text);
				report_hint(c->report, "there are bpftrace, perf, raw, build_id and folded");
			}
		} else if (check_literal_number(c, argument, &limit) && (limit < 0 || limit > 65536)) {
			report_error(c->report, "stack.limit", argument->span,
				     "%s([int limit]): limit is 0 to 65536, and not %lld", call->text,
				     (long long)limit);
			limit = 0;
		}
	}
	c->stack_parts |= parts;
	return type_stack(c->arena, parts, (uint32_t)limit, style);
}

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

const struct builtin builtins_stacks[] = {
	{"kstack", 0, 2, BUILTIN_BARE, check_stack, NULL, place_stack, "kstack([MODE,] [LIMIT])"},
	{"ustack", 0, 2, BUILTIN_BARE, check_stack, NULL, place_stack, "ustack([MODE,] [LIMIT])"},
	{"dw_ustack", 0, 2, BUILTIN_BARE, check_stack, NULL, place_stack, "dw_ustack([MODE,] [LIMIT])"},
	{"pystack", 0, 2, BUILTIN_BARE, check_stack, NULL, place_stack, "pystack([MODE,] [LIMIT])"},
	{"stack", 0, 2, BUILTIN_BARE, check_stack, NULL, place_stack, "stack([MODE,] [LIMIT])"},
	{},
};
