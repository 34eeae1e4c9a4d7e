// SPDX-License-Identifier: GPL-2.0-or-later
/* begin, end, bench, test, self; interval and profile: clocks. */
#include <linux/bpf.h>
#include <linux/perf_event.h>
#include <string.h>

#include "lang/core/number.h"
#include "lang/provider/provider.h"

static const char *full_name(struct compiler *c, const struct provider *self, const struct attach_text *point)
{
	const char *text = self->name;
	uint32_t i;

	for (i = 1; text && i < point->part_count; i++)
		text = arena_printf(c->arena, "%s:%s", text, point->parts[i]);
	return text ? text : "";
}

static void expand_once(struct compiler *c, const struct provider *self, const struct attach_text *point)
{
	if (provider_parts(c, self, point, 0, 0))
		provider_add(c, (struct attach){.name = self->name});
}

const struct provider provider_begin = {
	.name = "begin",
	.aliases = {"BEGIN"},
	.context = CONTEXT_NONE,
	.program_type = BPF_PROG_TYPE_RAW_TRACEPOINT,
	.run = RUN_FIRST,
	.expand = expand_once,
	.usage = "begin { ... }",
};

const struct provider provider_end = {
	.name = "end",
	.aliases = {"END"},
	.context = CONTEXT_NONE,
	.program_type = BPF_PROG_TYPE_RAW_TRACEPOINT,
	.run = RUN_LAST,
	.expand = expand_once,
	.usage = "end { ... }",
};

static void expand_named(struct compiler *c, const struct provider *self, const struct attach_text *point)
{
	if (provider_parts(c, self, point, 1, 1))
		provider_add(c, (struct attach){.name = full_name(c, self, point)});
}

const struct provider provider_bench = {
	.name = "bench",
	.context = CONTEXT_NONE,
	.program_type = BPF_PROG_TYPE_RAW_TRACEPOINT,
	.run = RUN_TO_MEASURE,
	.expand = expand_named,
	.usage = "bench:NAME, with --bench",
};

const struct provider provider_test = {
	.name = "test",
	.context = CONTEXT_NONE,
	.program_type = BPF_PROG_TYPE_RAW_TRACEPOINT,
	.has_result = true,
	.run = RUN_TO_TEST,
	.expand = expand_named,
	.usage = "test:NAME, with --test",
};

static void expand_self(struct compiler *c, const struct provider *self, const struct attach_text *point)
{
	if (!provider_parts(c, self, point, 2, 2))
		return;
	if (!strcmp(point->parts[1], "signal") && !strcmp(point->parts[2], "SIGUSR1"))
		provider_add(c, (struct attach){.name = full_name(c, self, point)});
	else
		provider_missing(c, self, point);
}

static void list_self(struct compiler *c, const struct provider *self, const struct attach_text *point)
{
	if ((point->part_count < 2 || provider_matches(point->parts[1], "signal")) &&
	    (point->part_count < 3 || provider_matches(point->parts[2], "SIGUSR1")))
		provider_add(c, (struct attach){.name = arena_printf(c->arena, "%s:signal:SIGUSR1", self->name)});
}

const struct provider provider_self = {
	.name = "self",
	.context = CONTEXT_NONE,
	.program_type = BPF_PROG_TYPE_RAW_TRACEPOINT,
	.run = RUN_ON_SIGNAL,
	.expand = expand_self,
	.list = list_self,
	.usage = "self:signal:SIGUSR1",
};

/* interval:s:1, interval:1s, interval:1000000000. attach.own is the period in nanoseconds. */
static void expand_clock(struct compiler *c, const struct provider *self, const struct attach_text *point)
{
	static const struct {
		const char *unit;
		uint64_t factor;
	} units[] = {{"s", 1000000000}, {"ms", 1000000}, {"us", 1000}, {"ns", 1}};
	const char *text, *name;
	uint64_t value = 0, period = 0;
	size_t i;

	if (!provider_parts(c, self, point, 1, 2))
		return;
	text = point->parts[point->part_count - 1];
	if (!number_parse(text, strlen(text), &value) || !value) {
		report_error(c->report, "probe.period", point->span, "Invalid rate of %s probe: %s", self->name, text);
		report_hint(c->report, "usage: %s", self->usage);
		return;
	}
	if (point->part_count == 2) {
		period = value;
	} else if (!strcmp(point->parts[1], "hz")) {
		period = value > 1000000 ? 0 : 1000000000 / value;
	} else {
		for (i = 0; i < sizeof(units) / sizeof(units[0]); i++)
			if (!strcmp(units[i].unit, point->parts[1]) &&
			    __builtin_mul_overflow(value, units[i].factor, &period))
				period = 0;
	}
	if (period < 1000 || period > INT64_MAX) {
		report_error(c->report, "probe.period", point->span, "%s is an invalid unit or rate for a %s probe",
			     point->parts[1], self->name);
		report_hint(c->report, "units are hz, us, ms and s, and a period is 1 us at least");
		return;
	}
	name = point->part_count > 2
		       ? full_name(c, self, point)
		       : arena_printf(c->arena, "%s:us:%llu", self->name, (unsigned long long)(period / 1000));
	provider_add(c, (struct attach){.name = name, .own = provider_own(c, &period, sizeof(period))});
}

static void list_clock(struct compiler *c, const struct provider *self, const struct attach_text *point)
{
	static const char *const units[] = {"hz", "us", "ms", "s"};
	size_t i;

	for (i = 0; i < sizeof(units) / sizeof(units[0]); i++)
		if (point->part_count < 2 || provider_matches(point->parts[1], units[i]))
			provider_add(c,
				     (struct attach){.name = arena_printf(c->arena, "%s:%s:", self->name, units[i])});
}

static int attach_clock(int program, const struct attach *attach, uint64_t cookie, int cpu, struct attachment *ret,
			struct diag *diag)
{
	const struct perf_event_attr attr = {.type = PERF_TYPE_SOFTWARE,
					     .config = PERF_COUNT_SW_CPU_CLOCK,
					     .sample_period = *(const uint64_t *)attach->own,
					     .disabled = 1};

	return provider_attach_perf(program, &attr, cpu, cookie, ret, diag);
}

static int attach_interval(int program, const struct attach *attaches, uint32_t count, uint64_t cookie,
			   const struct attach_target *target, struct attachment *ret, struct diag *diag)
{
	(void)count;
	return attach_clock(program, attaches, cookie, target->cpu < 0 ? 0 : target->cpu, ret, diag);
}

/*
 * On each CPU, or the only one, whatever runs there: its threads are not to be known one by one, nor what they cost at
 * each switch.
 */
static int attach_profile(int program, const struct attach *attaches, uint32_t count, uint64_t cookie,
			  const struct attach_target *target, struct attachment *ret, struct diag *diag)
{
	(void)count;
	return attach_clock(program, attaches, cookie, target->cpu, ret, diag);
}

const struct provider provider_interval = {
	.name = "interval",
	.aliases = {"i"},
	.context = CONTEXT_PERF,
	.program_type = BPF_PROG_TYPE_PERF_EVENT,
	.expand = expand_clock,
	.list = list_clock,
	.attach = attach_interval,
	.usage = "interval:s:1, interval:ms:100, interval:hz:10, interval:1s",
};

const struct provider provider_profile = {
	.name = "profile",
	.aliases = {"p"},
	.context = CONTEXT_PERF,
	.program_type = BPF_PROG_TYPE_PERF_EVENT,
	.obeys_target = true,
	.expand = expand_clock,
	.list = list_clock,
	.attach = attach_profile,
	.usage = "profile:hz:99, profile:ms:10",
};
