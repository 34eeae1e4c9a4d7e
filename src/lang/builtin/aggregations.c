// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Aggregations: what @map = count() and its like do. `place` is called with the value's address in R0 and the argument
 * at `offset` of the frame.
 */
#include <string.h>

#include "lang/builtin/builtin.h"

static void add(struct gen *g, int to, int16_t offset, int from)
{
	code_emit(g->code, (struct bpf_insn){.code = BPF_STX | BPF_ATOMIC | BPF_DW,
					     .dst_reg = (uint8_t)to & 15,
					     .src_reg = (uint8_t)from & 15,
					     .off = offset,
					     .imm = BPF_ADD});
}

static const struct type *check_count(struct compiler *c, struct node *call)
{
	(void)call;
	return type_aggregate(c->arena, TYPE_COUNT, false);
}

static void place_count(struct gen *g, const struct node *call, uint32_t offset)
{
	(void)call;
	(void)offset;
	code_imm(g->code, R1, 1);
	add(g, R0, 0, R1);
}

static const struct type *check_one(struct compiler *c, struct node *call, enum type_kind kind)
{
	const struct type *type = check_value(c, call->kids[0]);

	check_number(c, call->kids[0]);
	type = call->kids[0]->type;
	return type_aggregate(c->arena, kind, type->is_signed);
}

static const struct type *check_sum(struct compiler *c, struct node *call)
{
	return check_one(c, call, TYPE_SUM);
}

static void place_sum(struct gen *g, const struct node *call, uint32_t offset)
{
	(void)call;
	gen_frame_load(g, 8, R1, offset);
	add(g, R0, 0, R1);
}

static const struct type *check_min(struct compiler *c, struct node *call)
{
	return check_one(c, call, TYPE_MINIMUM);
}

static const struct type *check_max(struct compiler *c, struct node *call)
{
	return check_one(c, call, TYPE_MAXIMUM);
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

static const struct type *check_avg(struct compiler *c, struct node *call)
{
	return check_one(c, call, TYPE_AVG);
}

static const struct type *check_stats(struct compiler *c, struct node *call)
{
	return check_one(c, call, TYPE_STATS);
}

/* {sum, count} */
static void place_average(struct gen *g, const struct node *call, uint32_t offset)
{
	place_sum(g, call, offset);
	code_imm(g->code, R1, 1);
	add(g, R0, 8, R1);
}

static const struct type *check_hist(struct compiler *c, struct node *call)
{
	int64_t bits = 0;

	check_value(c, call->kids[0]);
	check_number(c, call->kids[0]);
	if (call->kid_count > 1 && check_literal_number(c, call->kids[1], &bits) &&
	    (bits < 0 || bits > HIST_BITS_MAX)) {
		report_error(c->report, "hist.bits", call->kids[1]->span, "hist: bits must be 0..%u", HIST_BITS_MAX);
		bits = 0;
	}
	return type_hist(c->arena, (uint32_t)bits);
}

/* R0: the value's address; R1: the index of the counter. */
static void count_bucket(struct gen *g, uint32_t buckets)
{
	label out = code_label(g->code);

	code_jump_if(g->code, BPF_JGE, R1, (int32_t)buckets, out);
	code_alu_imm(g->code, BPF_LSH, R1, 3);
	code_alu(g->code, BPF_ADD, R0, R1);
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
	count_bucket(g, call->type->size / 8);
}

static const struct type *check_lhist(struct compiler *c, struct node *call)
{
	int64_t low = 0, high = 1, step = 1;

	check_value(c, call->kids[0]);
	check_number(c, call->kids[0]);
	if (!check_literal_number(c, call->kids[1], &low) || !check_literal_number(c, call->kids[2], &high) ||
	    !check_literal_number(c, call->kids[3], &step))
		return type_lhist(c->arena, 0, 1, 1);
	if (step <= 0) {
		report_error(c->report, "lhist.step", call->kids[3]->span, "lhist() step must be >= 1 (%lld provided)",
			     (long long)step);
		step = 1;
	}
	if (low < 0)
		report_error(c->report, "lhist.range", call->kids[1]->span,
			     "lhist() min must be non-negative (provided min %lld)", (long long)low);
	if (low < 0 || high <= low) {
		report_error(c->report, "lhist.range", call->span,
			     "lhist() min must be less than max (provided min %lld and max %lld)", (long long)low,
			     (long long)high);
		low = 0;
		high = step;
	}
	if ((high - low) / step > LHIST_BUCKETS_MAX) {
		report_error(c->report, "lhist.buckets", call->span,
			     "lhist() too many buckets, must be <= %u (would need %lld)", LHIST_BUCKETS_MAX,
			     (long long)((high - low) / step));
		report_hint(c->report, "use a larger step");
		high = low + step;
	}
	return type_lhist(c->arena, low, high, step);
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
	count_bucket(g, call->type->size / 8);
}

static uint32_t series_how(struct compiler *c, struct node *call)
{
	static const char *const names[] = {[RT_SERIES_LAST] = "last",
					    [RT_SERIES_AVERAGE] = "avg",
					    [RT_SERIES_MINIMUM] = "min",
					    [RT_SERIES_MAXIMUM] = "max",
					    [RT_SERIES_SUM] = "sum"};
	const char *name = call->kid_count > 3 ? check_literal_text(c, call->kids[3], "the aggregation") : "last";
	uint32_t i;

	for (i = 0; name && i < sizeof(names) / sizeof(names[0]); i++)
		if (!strcmp(names[i], name))
			return i;
	if (name) {
		report_error(c->report, "tseries.aggregation", call->kids[3]->span,
			     "tseries() expects one of the following aggregation functions: avg, max, min, sum");
		report_hint(c->report, "without one the last value of an interval counts");
	}
	return RT_SERIES_LAST;
}

/* The map whose value is the time, which tests ask for. */
static struct symbol *series_clock(struct compiler *c)
{
	const char *name = c->texts[SETTING_DUMMY_TS_MAP];
	size_t i;

	for (i = 0; i < c->maps.count; i++)
		if (*name == '@' && !strcmp(c->maps.at[i]->name, name + 1) && !c->maps.at[i]->key &&
		    c->maps.at[i]->value && c->maps.at[i]->value->kind == TYPE_INT)
			return c->maps.at[i];
	return NULL;
}

static const struct type *check_tseries(struct compiler *c, struct node *call)
{
	const struct type *type = check_one(c, call, TYPE_SUM);
	int64_t interval = 1, count = 1;

	compiler_unstable(c, SETTING_UNSTABLE_TSERIES, call);
	if (!check_literal_number(c, call->kids[1], &interval) || !check_literal_number(c, call->kids[2], &count))
		return type_tseries(c->arena, 1, 1, 0, true);
	if (interval <= 0) {
		report_error(c->report, "tseries.interval", call->kids[1]->span,
			     "tseries() interval_ns must be >= 1 (%lld provided)", (long long)interval);
		interval = 1;
	}
	if (count < 1 || count > TSERIES_MAX) {
		report_error(c->report, "tseries.count", call->kids[2]->span,
			     "tseries() num_intervals must be 1 to %d (%lld provided)", TSERIES_MAX, (long long)count);
		count = 1;
	}
	return type_tseries(c->arena, interval, count, series_how(c, call), type->is_signed);
}

static void place_tseries(struct gen *g, const struct node *call, uint32_t offset)
{
	const struct symbol *clock = series_clock(g->c);
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

#define AGGREGATION BUILTIN_AGGREGATION

const struct builtin builtins_aggregations[] = {
	{"count", 0, 0, AGGREGATION, check_count, NULL, place_count, "@x = count()"},
	{"sum", 1, 1, AGGREGATION, check_sum, NULL, place_sum, "@x = sum(VALUE)"},
	{"min", 1, 1, AGGREGATION, check_min, NULL, place_extreme, "@x = min(VALUE)"},
	{"max", 1, 1, AGGREGATION, check_max, NULL, place_extreme, "@x = max(VALUE)"},
	{"avg", 1, 1, AGGREGATION, check_avg, NULL, place_average, "@x = avg(VALUE)"},
	{"stats", 1, 1, AGGREGATION, check_stats, NULL, place_average, "@x = stats(VALUE)"},
	{"hist", 1, 2, AGGREGATION, check_hist, NULL, place_hist, "@x = hist(VALUE [, BITS])"},
	{"tseries", 3, 4, AGGREGATION, check_tseries, NULL, place_tseries,
	 "@x = tseries(VALUE, INTERVAL, COUNT [, \"avg\"])"},
	{"lhist", 4, 4, AGGREGATION, check_lhist, NULL, place_lhist, "@x = lhist(VALUE, MIN, MAX, STEP)"},
	{},
};
