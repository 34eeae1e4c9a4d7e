// SPDX-License-Identifier: GPL-2.0-or-later
/* Clocks, and times in words. */

#include "lang/builtin/builtin.h"

static const int clocks[] = {
	[CORE_CLOCK_MONOTONIC] = BPF_FUNC_ktime_get_ns,
	[CORE_CLOCK_BOOT] = BPF_FUNC_ktime_get_boot_ns,
	[CORE_CLOCK_TAI] = BPF_FUNC_ktime_get_tai_ns,
};

static void gen_nsecs(struct gen *g, const struct node *call)
{
	code_call(g->code, clocks[call->flags]);
}

static void gen_elapsed(struct gen *g, const struct node *call)
{
	(void)call;
	code_call_runtime(g->code, "rt_elapsed");
}

static void gen_time_on_cpu(struct gen *g, const struct node *call)
{
	code_imm(g->code, R1, (int64_t)call->value);
	code_call_runtime(g->code, "rt_time_on_cpu");
}

static void gen_jiffies(struct gen *g, const struct node *call)
{
	(void)call;
	code_call(g->code, BPF_FUNC_jiffies64);
}

const struct builtin_code codes_time[] = {
	{CORE_NSECS, .scalar = gen_nsecs},
	{CORE_ELAPSED, .scalar = gen_elapsed},
	{CORE_TIME_ON_CPU, .scalar = gen_time_on_cpu},
	{CORE_JIFFIES, .scalar = gen_jiffies},
	{},
};
