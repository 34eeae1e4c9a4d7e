// SPDX-License-Identifier: GPL-2.0-or-later
/* Clocks, and times in words. */
#include <string.h>

#include "lang/dialect/bpftrace/builtin/builtin.h"

static const struct clock {
	const char *name;
	enum core_clock clock;
} clocks[] = {
	{"monotonic", CORE_CLOCK_MONOTONIC},
	{"boot", CORE_CLOCK_BOOT},
	{"tai", CORE_CLOCK_TAI},
	{"sw_tai", CORE_CLOCK_TAI},
};

static const struct type *check_nsecs(struct compiler *c, struct ast *call)
{
	size_t i;

	call->flags = CORE_CLOCK_BOOT; /* what strftime() counts from as well */
	if (!call->kid_count)
		return &type_uint64;
	for (i = 0; i < sizeof(clocks) / sizeof(clocks[0]); i++)
		if (call->kids[0]->kind == AST_NAME && !strcmp(call->kids[0]->text, clocks[i].name))
			break;
	if (i == sizeof(clocks) / sizeof(clocks[0])) {
		report_error(c->report, "call.clock", call->kids[0]->span, "Invalid timestamp mode");
		report_hint(c->report, "there are monotonic, boot, tai and sw_tai");
		i = 0;
	}
	call->flags = clocks[i].clock;
	return &type_uint64;
}

static const struct type *is_uint64(struct compiler *c, struct ast *call)
{
	(void)c;
	(void)call;
	return &type_uint64;
}

static const struct type *check_time(struct compiler *c, struct ast *call)
{
	const char *format = "%H:%M:%S\n";

	if (call->kid_count)
		format = check_literal_text(c, call->kids[0], "the format of time()");
	call->site = check_site(c, call, (struct site){.kind = SITE_TIME, .format = format ? format : ""});
	return &type_none;
}

static const struct type *check_strftime(struct compiler *c, struct ast *call)
{
	const char *format = check_literal_text(c, call->kids[0], "the format of strftime()");
	int64_t time;

	check_value(c, call->kids[1]);
	check_number(c, call->kids[1]);
	if (check_constant(call->kids[1], &time) && time < 0 && call->kids[1]->type->is_signed)
		report_error(c->report, "time.negative", call->kids[1]->span, "strftime() takes no time below 0");
	/* nsecs(tai) is a date by itself; the others count from the start of the machine. */
	if (call->kids[1]->builtin && !strcmp(call->kids[1]->text, "nsecs") && call->kids[1]->flags == CORE_CLOCK_TAI)
		format = arena_printf(c->arena, "\001%s", format ? format : "");
	return type_time(c->arena, format ? format : "");
}

const struct builtin builtins_time[] = {
	{"nsecs", 0, 1, BUILTIN_BARE, check_nsecs, CORE_NSECS, OPERANDS_NONE,
	 "nsecs [(monotonic | boot | tai | sw_tai)]"},
	{"elapsed", 0, 0, BUILTIN_BARE, is_uint64, CORE_ELAPSED, 0, "elapsed"},
	{"jiffies", 0, 0, BUILTIN_BARE, is_uint64, CORE_JIFFIES, 0, "jiffies"},
	{"time", 0, 1, 0, check_time, CORE_EVENT, OPERANDS_NONE, "time([FORMAT])"},
	{"strftime", 2, 2, 0, check_strftime, CORE_NUMBER, 1, "strftime(FORMAT, nsecs)"},
	{},
};
