// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Builtins that user space carries out, such as printing: a record with the arguments goes through the ring buffer, and
 * its site says what to do.
 */
#include <string.h>

#include "lang/builtin/builtin.h"
#include "lang/provider/provider.h"

/* bpf_trace_vprintk(format, size, words, size), bpf_seq_printf(seq, ...): a string's word is its address. */
static void gen_by_kernel(struct gen *g, const struct node *call)
{
	uint32_t size = (uint32_t)strlen(call->text) + 1, mark = g->used, format, words, i;
	int first = call->builtin == CORE_SEQ_PRINTF ? R2 : R1;

	format = gen_temporary(g, (size + 7) & ~7u);
	words = gen_temporary(g, 8 * KERNEL_PRINT_MAX);
	for (i = 0; i < call->kid_count; i++) {
		const struct node *argument = call->kids[i];

		if (argument->type->kind == TYPE_STRING)
			gen_frame_address(g, R0, gen_place(g, argument));
		else
			gen_scalar(g, argument);
		gen_frame_store(g, 8, words + 8 * i, R0);
	}
	gen_text(g, call->text, format, size);
	if (first == R2)
		gen_iteration_output(g);
	gen_frame_address(g, first, format);
	code_imm(g->code, first + 1, size);
	gen_frame_address(g, first + 2, words);
	code_imm(g->code, first + 3, 8 * (int64_t)call->kid_count);
	if (!call->kid_count)
		code_imm(g->code, first + 2, 0);
	code_call(g->code, first == R2 ? BPF_FUNC_seq_printf : BPF_FUNC_trace_vprintk);
	g->used = mark;
}

static void gen_event(struct gen *g, const struct node *call)
{
	uint32_t mark = g->used;

	gen_send(g, gen_record(g, call->site, 0), sizeof(struct rt_event));
	g->used = mark;
}

static void gen_site(struct gen *g, const struct node *call)
{
	struct gen_arguments arguments;
	uint32_t mark = g->used, i;

	gen_arguments_begin(g, call->site, &arguments);
	for (i = 0; i < arguments.types->field_count; i++)
		gen_arguments_add(g, &arguments, i, call->kids[i]);
	gen_arguments_send(g, &arguments);
	g->used = mark;
}

/* top, divisor, is there a key, the key */
static void gen_print_map(struct gen *g, const struct node *call)
{
	const struct node *map = call->kids[0];
	struct gen_arguments arguments;
	uint32_t mark = g->used, i;

	gen_arguments_begin(g, call->site, &arguments);
	for (i = 0; i < 2; i++) {
		if (call->kid_count > i + 1)
			gen_scalar(g, call->kids[i + 1]);
		else
			code_imm(g->code, R0, 0);
		gen_frame_store(g, 8, gen_arguments_place(&arguments, i), R0);
	}
	gen_frame_store_imm(g, 8, gen_arguments_place(&arguments, 2), map->kid_count != 0);
	if (map->kid_count)
		gen_arguments_add(g, &arguments, 3, map->kids[0]);
	else
		gen_frame_store_imm(g, 8, gen_arguments_place(&arguments, 3), 0);
	gen_arguments_send(g, &arguments);
	g->used = mark;
}

static void gen_exit(struct gen *g, const struct node *call)
{
	uint32_t record = gen_record(g, 0, 8);

	if (call->kid_count)
		gen_scalar(g, call->kids[0]);
	else
		code_imm(g->code, R0, 0);
	gen_frame_store(g, 8, record + sizeof(struct rt_event), R0);
	gen_frame_store_imm(g, 4, record, RT_EVENT_EXIT);
	/* An iterator goes on to its end, which is the script's. */
	if (g->unit->provider->context != CONTEXT_ITER || call->kid_count) {
		gen_frame_address(g, R1, record);
		code_imm(g->code, R2, sizeof(struct rt_event) + 8);
		code_call_runtime(g->code, "rt_exit");
	}
	gen_frame_store_imm(g, 4, RT_FRAME_FLOW, RT_FLOW_RETURN);
	code_jump(g->code, g->leave);
}

static void gen_join(struct gen *g, const struct node *call)
{
	struct gen_arguments arguments;
	uint32_t mark = g->used;

	gen_arguments_begin(g, call->site, &arguments);
	gen_scalar(g, call->kids[0]);
	code_mov(g->code, R3, R0);
	gen_frame_address(g, R1, arguments.record);
	gen_frame_address(g, R2, arguments.end);
	code_call_runtime(g->code, "rt_join");
	arguments.most += RT_JOIN_STRINGS * RT_JOIN_BYTES;
	gen_arguments_send(g, &arguments);
	g->used = mark;
}

static void gen_unwatch(struct gen *g, const struct node *call)
{
	uint32_t mark = g->used, record = gen_record(g, call->site, 8);

	gen_into(g, call->kids[0], &type_uint64, record + (uint32_t)sizeof(struct rt_event));
	gen_send(g, record, (uint32_t)sizeof(struct rt_event) + 8);
	g->used = mark;
}

const struct builtin_code codes_output[] = {
	{CORE_EVENT, .scalar = gen_event},
	{CORE_SEND, .scalar = gen_site},
	{CORE_PRINT_MAP, .scalar = gen_print_map},
	{CORE_TRACE_PRINTF, .scalar = gen_by_kernel},
	{CORE_SEQ_PRINTF, .scalar = gen_by_kernel},
	{CORE_EXIT, .scalar = gen_exit},
	{CORE_JOIN, .scalar = gen_join},
	{CORE_UNWATCH, .scalar = gen_unwatch},
	{},
};
