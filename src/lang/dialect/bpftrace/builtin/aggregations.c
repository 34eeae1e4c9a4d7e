// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Aggregations: what @map = count() and its like do. `place` is called with the value's address in R0 and the argument
 * at `offset` of the frame.
 */
#include <string.h>

#include "lang/dialect/bpftrace/builtin/builtin.h"
#include "lang/rt/abi.h"

static const struct type *check_count(struct compiler *c, struct ast *call)
{
	(void)call;
	return type_aggregate(c->arena, TYPE_COUNT, false);
}

static const struct type *check_one(struct compiler *c, struct ast *call, enum type_kind kind)
{
	const struct type *type = check_value(c, call->kids[0]);

	check_number(c, call->kids[0]);
	type = call->kids[0]->type;
	return type_aggregate(c->arena, kind, type->is_signed);
}

static const struct type *check_sum(struct compiler *c, struct ast *call)
{
	return check_one(c, call, TYPE_SUM);
}

static const struct type *check_min(struct compiler *c, struct ast *call)
{
	return check_one(c, call, TYPE_MINIMUM);
}

static const struct type *check_max(struct compiler *c, struct ast *call)
{
	return check_one(c, call, TYPE_MAXIMUM);
}

static const struct type *check_avg(struct compiler *c, struct ast *call)
{
	return check_one(c, call, TYPE_AVG);
}

static const struct type *check_stats(struct compiler *c, struct ast *call)
{
	return check_one(c, call, TYPE_STATS);
}

static const struct type *check_hist(struct compiler *c, struct ast *call)
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

static const struct type *check_lhist(struct compiler *c, struct ast *call)
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

static uint32_t series_how(struct compiler *c, struct ast *call)
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

static const struct type *check_tseries(struct compiler *c, struct ast *call)
{
	const struct type *type = check_one(c, call, TYPE_SUM);
	int64_t interval = 1, count = 1;

	settings_unstable(c, SETTING_UNSTABLE_TSERIES, call);
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

const struct builtin builtins_aggregations[] = {
	{"count", 0, 0, BUILTIN_AGGREGATION, check_count, CORE_COUNT, 0, "@x = count()"},
	{"sum", 1, 1, BUILTIN_AGGREGATION, check_sum, CORE_SUM, 0, "@x = sum(VALUE)"},
	{"min", 1, 1, BUILTIN_AGGREGATION, check_min, CORE_MIN, 0, "@x = min(VALUE)"},
	{"max", 1, 1, BUILTIN_AGGREGATION, check_max, CORE_MAX, 0, "@x = max(VALUE)"},
	{"avg", 1, 1, BUILTIN_AGGREGATION, check_avg, CORE_AVG, 0, "@x = avg(VALUE)"},
	{"stats", 1, 1, BUILTIN_AGGREGATION, check_stats, CORE_STATS, 0, "@x = stats(VALUE)"},
	{"hist", 1, 2, BUILTIN_AGGREGATION, check_hist, CORE_HIST, 2, "@x = hist(VALUE [, BITS])"},
	{"tseries", 3, 4, BUILTIN_AGGREGATION, check_tseries, CORE_TSERIES, 14,
	 "@x = tseries(VALUE, INTERVAL, COUNT [, \"avg\"])"},
	{"lhist", 4, 4, BUILTIN_AGGREGATION, check_lhist, CORE_LHIST, 14, "@x = lhist(VALUE, MIN, MAX, STEP)"},
	{},
};
