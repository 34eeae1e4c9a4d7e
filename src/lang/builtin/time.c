// SPDX-License-Identifier: GPL-2.0-or-later
/* Clocks, and times in words. */
#include <string.h>

#include "lang/builtin/builtin.h"

static const struct clock {
	const char *name;
	int helper;
} clocks[] = {
	{"monotonic", BPF_FUNC_ktime_get_ns},
	{"boot", BPF_FUNC_ktime_get_boot_ns},
	{"tai", BPF_FUNC_ktime_get_tai_ns},
	{"sw_tai", BPF_FUNC_ktime_get_tai_ns},
};

static const struct type *check_nsecs(struct compiler *c, struct node *call)
{
	size_t i;

	call->flags = 1; /* boot: what strftime() counts from as well */
	if (!call->kid_count)
		return &type_uint64;
	for (i = 0; i < sizeof(clocks) / sizeof(clocks[0]); i++)
		if (call->kids[0]->kind == NODE_NAME && !strcmp(call->kids[0]->text, clocks[i].name))
			break;
	if (i == sizeof(clocks) / sizeof(clocks[0])) {
		report_error(c->report, "call.clock", call->kids[0]->span, "Invalid timestamp mode");
		report_hint(c->report, "there are monotonic, boot, tai and sw_tai");
		i = 0;
	}
	call->flags = (uint32_t)i;
	return &type_uint64;
}

static void gen_nsecs(struct gen *g, const struct node *call)
{
	code_call(g->code, clocks[call->flags].helper);
}

static const struct type *is_uint64(struct compiler *c, struct node *call)
{
	(void)c;
	(void)call;
	return &type_uint64;
}

static void gen_elapsed(struct gen *g, const struct node *call)
{
	(void)call;
	code_call_runtime(g->code, "rt_elapsed");
}

static void gen_jiffies(struct gen *g, const struct node *call)
{
	(void)call;
	code_call(g->code, BPF_FUNC_jiffies64);
}

static const struct type *check_time(struct compiler *c, struct node *call)
{
	const char *format = "%H:%M:%S\n";

	if (call->kid_count)
		format = check_literal_text(c, call->kids[0], "the format of time()");
	call->site = check_site(c, call, (struct site){.kind = SITE_TIME, .format = format ? format : ""});
	return &type_none;
}

static void gen_time(struct gen *g, const struct node *call)
{
	gen_send(g, gen_record(g, call->site, 0), sizeof(struct rt_event));
}

static const struct type *check_strftime(struct compiler *c, struct node *call)
{
	const char *format = check_literal_text(c, call->kids[0], "the format of strftime()");
	int64_t time;

	check_value(c, call->kids[1]);
	check_number(c, call->kids[1]);
	if (check_constant(call->kids[1], &time) && time < 0 && call->kids[1]->type->is_signed)
		report_error(c->report, "time.negative", call->kids[1]->span, "strftime() takes no time below 0");
	/* nsecs(tai) is a date by itself; the others count from the start of the machine. */
	if (call->kids[1]->builtin && !strcmp(call->kids[1]->text, "nsecs") && call->kids[1]->flags >= 2)
		format = arena_printf(c->arena, "\001%s", format ? format : "");
	return type_time(c->arena, format ? format : "");
}

static void place_strftime(struct gen *g, const struct node *call, uint32_t offset)
{
	gen_scalar(g, call->kids[1]);
	gen_frame_store(g, 8, offset, R0);
}

const struct builtin builtins_time[] = {
	{"nsecs", 0, 1, BUILTIN_BARE, check_nsecs, gen_nsecs, NULL, "nsecs [(monotonic | boot | tai | sw_tai)]"},
	{"elapsed", 0, 0, BUILTIN_BARE, is_uint64, gen_elapsed, NULL, "elapsed"},
	{"jiffies", 0, 0, BUILTIN_BARE, is_uint64, gen_jiffies, NULL, "jiffies"},
	{"time", 0, 1, 0, check_time, gen_time, NULL, "time([FORMAT])"},
	{"strftime", 2, 2, 0, check_strftime, NULL, place_strftime, "strftime(FORMAT, nsecs)"},
	{},
};
