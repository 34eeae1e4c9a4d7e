// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Aggregations: what @map = count() and its like do. `place` is called with the value's address in R0 and the argument
 * at `offset` of the frame.
 */

#include "lang/builtin/builtin.h"

static void add(struct gen *g, int to, int16_t offset, int from)
{
	code_emit(g->code, (struct bpf_insn){.code = BPF_STX | BPF_ATOMIC | BPF_DW,
					     .dst_reg = (uint8_t)to & 15,
					     .src_reg = (uint8_t)from & 15,
					     .off = offset,
					     .imm = BPF_ADD});
}

static void place_count(struct gen *g, const struct node *call, uint32_t offset)
{
	(void)call;
	(void)offset;
	code_imm(g->code, R1, 1);
	add(g, R0, 0, R1);
}

static void place_sum(struct gen *g, const struct node *call, uint32_t offset)
{
	(void)call;
	gen_frame_load(g, 8, R1, offset);
	add(g, R0, 0, R1);
}

/* {value, 1 when there is one} */
static void place_extreme(struct gen *g, const struct node *call, uint32_t offset)
{
	bool is_signed = call->type->is_signed, is_min = call->type->kind == TYPE_MINIMUM;
	label set = code_label(g->code), end = code_label(g->code);
	int op = is_min ? (is_signed ? BPF_JSLT : BPF_JLT) : (is_signed ? BPF_JSGT : BPF_JGT);

	gen_frame_load(g, 8, R1, offset);
	code_load(g->code, 8, R2, R0, 8);
	code_jump_if(g->code, BPF_JEQ, R2, 0, set);
	code_load(g->code, 8, R2, R0, 0);
	code_jump_if_reg(g->code, op, R1, R2, set);
	code_jump(g->code, end);
	code_bind(g->code, set);
	code_store(g->code, 8, R0, 0, R1);
	code_imm(g->code, R2, 1);
	code_store(g->code, 8, R0, 8, R2);
	code_bind(g->code, end);
}

/* {sum, count} */
static void place_average(struct gen *g, const struct node *call, uint32_t offset)
{
	place_sum(g, call, offset);
	code_imm(g->code, R1, 1);
	add(g, R0, 8, R1);
}

/* R0: the value's address; R1: the index of the counter. */
static void count_bucket(struct gen *g, const struct node *call, uint32_t offset)
{
	uint32_t buckets = call->type->size / 8;
	label out = code_label(g->code);

	code_jump_if(g->code, BPF_JGE, R1, (int32_t)buckets, out);
	code_alu_imm(g->code, BPF_LSH, R1, 3);
	code_alu(g->code, BPF_ADD, R0, R1);
	if (call->kid_count > 1)
		gen_frame_load(g, 8, R1, offset + 8);
	else
		code_imm(g->code, R1, 1);
	add(g, R0, 0, R1);
	code_bind(g->code, out);
}

static void place_hist(struct gen *g, const struct node *call, uint32_t offset)
{
	code_mov(g->code, R8, R0);
	gen_frame_load(g, 8, R1, offset);
	code_imm(g->code, R2, call->type->bits);
	code_call_runtime(g->code, "rt_bucket");
	code_mov(g->code, R1, R0);
	code_mov(g->code, R0, R8);
	count_bucket(g, call, offset);
}

static void place_lhist(struct gen *g, const struct node *call, uint32_t offset)
{
	code_mov(g->code, R8, R0);
	gen_frame_load(g, 8, R1, offset);
	code_imm(g->code, R2, call->type->low);
	code_imm(g->code, R3, call->type->high);
	code_imm(g->code, R4, call->type->step);
	code_call_runtime(g->code, "rt_linear");
	code_mov(g->code, R1, R0);
	code_mov(g->code, R0, R8);
	count_bucket(g, call, offset);
}

static void place_quantize(struct gen *g, const struct node *call, uint32_t offset)
{
	code_mov(g->code, R8, R0);
	gen_frame_load(g, 8, R1, offset);
	code_call_runtime(g->code, "rt_bucket_signed");
	code_mov(g->code, R1, R0);
	code_mov(g->code, R0, R8);
	count_bucket(g, call, offset);
}

static int64_t power(int64_t base, int64_t by)
{
	int64_t result = 1;

	while (by-- > 0)
		result *= base;
	return result;
}

static void place_llquantize(struct gen *g, const struct node *call, uint32_t offset)
{
	const struct type *type = call->type;

	code_mov(g->code, R8, R0);
	gen_frame_load(g, 8, R1, offset);
	code_imm(g->code, R2, (int64_t)type->bits | type->low << 16 | type->high << 32 | type->step << 48);
	code_imm(g->code, R3, power(type->bits, type->low));
	code_call_runtime(g->code, "rt_bucket_steps");
	code_mov(g->code, R1, R0);
	code_mov(g->code, R0, R8);
	count_bucket(g, call, offset);
}

static void place_deviation(struct gen *g, const struct node *call, uint32_t offset)
{
	(void)call;
	code_mov(g->code, R1, R0);
	gen_frame_load(g, 8, R2, offset);
	code_call_runtime(g->code, "rt_deviation");
}

static void place_tseries(struct gen *g, const struct node *call, uint32_t offset)
{
	const struct symbol *clock = g->c->series_clock;
	const struct type *type = call->type;
	uint32_t mark = g->used, now = gen_temporary(g, 8), key = gen_temporary(g, 8);

	code_mov(g->code, R8, R0);
	if (clock) {
		label none = code_label(g->code);

		gen_frame_store_imm(g, 8, key, 0);
		gen_map_lookup(g, clock, key);
		code_jump_if(g->code, BPF_JEQ, R0, 0, none);
		code_load(g->code, clock->value->size, R0, R0, 0);
		code_bind(g->code, none);
	} else {
		code_call(g->code, BPF_FUNC_ktime_get_boot_ns);
	}
	gen_frame_store(g, 8, now, R0);
	code_mov(g->code, R1, R8);
	gen_frame_load(g, 8, R2, offset);
	gen_frame_load(g, 8, R3, now);
	code_imm(g->code, R4, type->low);
	code_imm(g->code, R5, type->high | (int64_t)type->variant << 16 | (int64_t)type->is_signed << 24);
	code_call_runtime(g->code, "rt_series");
	g->used = mark;
}

const struct builtin_code codes_aggregations[] = {
	{CORE_COUNT, .place = place_count},
	{CORE_SUM, .place = place_sum},
	{CORE_MIN, .place = place_extreme},
	{CORE_MAX, .place = place_extreme},
	{CORE_AVG, .place = place_average},
	{CORE_STATS, .place = place_average},
	{CORE_HIST, .place = place_hist},
	{CORE_TSERIES, .place = place_tseries},
	{CORE_LHIST, .place = place_lhist},
	{CORE_STDDEV, .place = place_deviation},
	{CORE_QUANTIZE, .place = place_quantize},
	{CORE_LLQUANTIZE, .place = place_llquantize},
	{},
};
