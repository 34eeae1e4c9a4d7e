// SPDX-License-Identifier: GPL-2.0-or-later
/* software, hardware and watchpoint: perf's events. Names and numbers are those of uapi/linux/perf_event.h. */
#include <errno.h>
#include <linux/bpf.h>
#include <linux/hw_breakpoint.h>
#include <linux/perf_event.h>
#include <string.h>

#include "kernel/features.h"
#include "lang/core/number.h"
#include "lang/provider/provider.h"

static const struct event {
	const char *name, *alias;
	uint32_t type;
	uint64_t config, period;
} events[] = {
	{"alignment-faults", NULL, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_ALIGNMENT_FAULTS, 1},
	{"bpf-output", NULL, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_BPF_OUTPUT, 1},
	{"context-switches", "cs", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CONTEXT_SWITCHES, 1000},
	{"cpu-clock", "cpu", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_CLOCK, 1000000},
	{"cpu-migrations", NULL, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_MIGRATIONS, 1},
	{"dummy", NULL, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_DUMMY, 1},
	{"emulation-faults", NULL, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_EMULATION_FAULTS, 1},
	{"major-faults", NULL, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS_MAJ, 1},
	{"minor-faults", NULL, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS_MIN, 100},
	{"page-faults", "faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS, 100},
	{"task-clock", NULL, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK, 1000000},
	{"backend-stalls", NULL, PERF_TYPE_HARDWARE, PERF_COUNT_HW_STALLED_CYCLES_BACKEND, 1000000},
	{"branch-instructions", "branches", PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_INSTRUCTIONS, 100000},
	{"branch-misses", NULL, PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_MISSES, 100000},
	{"bus-cycles", NULL, PERF_TYPE_HARDWARE, PERF_COUNT_HW_BUS_CYCLES, 100000},
	{"cache-misses", NULL, PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_MISSES, 1000000},
	{"cache-references", NULL, PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_REFERENCES, 1000000},
	{"cpu-cycles", "cycles", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES, 1000000},
	{"frontend-stalls", NULL, PERF_TYPE_HARDWARE, PERF_COUNT_HW_STALLED_CYCLES_FRONTEND, 1000000},
	{"instructions", NULL, PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS, 1000000},
	{"ref-cycles", NULL, PERF_TYPE_HARDWARE, PERF_COUNT_HW_REF_CPU_CYCLES, 1000000},
};

#define EVENTS (sizeof(events) / sizeof(events[0]))

static uint32_t event_type(const struct provider *self)
{
	return self->name[0] == 's' ? PERF_TYPE_SOFTWARE : PERF_TYPE_HARDWARE;
}

/* attach.own */
struct counter {
	uint32_t type;
	uint64_t config, period;
};

static void expand_event(struct compiler *c, const struct provider *self, const struct attach_text *point)
{
	const struct event *found = NULL;
	struct counter counter;
	uint64_t period = 0;
	size_t i;

	if (!provider_parts(c, self, point, 1, 2))
		return;
	for (i = 0; i < EVENTS; i++)
		if (events[i].type == event_type(self) &&
		    (!strcmp(events[i].name, point->parts[1]) ||
		     (events[i].alias && !strcmp(events[i].alias, point->parts[1]))))
			found = &events[i];
	if (!found) {
		report_error(c->report, "probe.event", point->span, "%s is not a %s probe", point->parts[1],
			     self->name);
		report_hint(c->report, "strata trace -l '%s:*' lists them", self->name);
		return;
	}
	if (point->part_count == 3 && *point->parts[2] &&
	    (!number_parse(point->parts[2], strlen(point->parts[2]), &period) || !period)) {
		report_error(c->report, "probe.period", point->span, "Invalid count for %s probe: %s", self->name,
			     point->parts[2]);
		return;
	}
	counter = (struct counter){found->type, found->config, period ? period : found->period};
	provider_add(c, (struct attach){.name = arena_printf(c->arena, "%s:%s:%s", self->name, point->parts[1],
							     point->part_count == 3 ? point->parts[2] : ""),
					.own = provider_own(c, &counter, sizeof(counter))});
}

static void list_events(struct compiler *c, const struct provider *self, const struct attach_text *point)
{
	const char *pattern = point->part_count > 1 ? point->parts[1] : "*";
	size_t i;

	for (i = 0; i < EVENTS; i++) {
		if (events[i].type != event_type(self))
			continue;
		if (provider_matches(pattern, events[i].name))
			provider_add(c, (struct attach){
						.name = arena_printf(c->arena, "%s:%s:", self->name, events[i].name)});
		if (events[i].alias && provider_matches(pattern, events[i].alias))
			provider_add(c, (struct attach){
						.name = arena_printf(c->arena, "%s:%s:", self->name, events[i].alias)});
	}
}

/* Of a process its own events are counted, and not those of all processes on a CPU. */
static int attach_counter(int program, const struct perf_event_attr *attr, uint64_t cookie,
			  const struct attach_target *target, struct attachment *ret, struct diag *diag)
{
	return target->pid > 0 ? provider_attach_threads(program, attr, target->pid, cookie, ret, diag)
			       : provider_attach_perf(program, attr, -1, cookie, ret, diag);
}

static int attach_event(int program, const struct attach *attaches, uint32_t count, uint64_t cookie,
			const struct attach_target *target, struct attachment *ret, struct diag *diag)
{
	const struct counter *counter = attaches->own;
	const struct perf_event_attr attr = {
		.type = counter->type, .config = counter->config, .sample_period = counter->period, .disabled = 1};

	(void)count;
	return attach_counter(program, &attr, cookie, target, ret, diag);
}

const struct provider provider_software = {
	.name = "software",
	.aliases = {"s"},
	.context = CONTEXT_PERF,
	.program_type = BPF_PROG_TYPE_PERF_EVENT,
	.obeys_target = true,
	.expand = expand_event,
	.list = list_events,
	.attach = attach_event,
	.usage = "software:EVENT[:COUNT]",
};

const struct provider provider_hardware = {
	.name = "hardware",
	.aliases = {"h"},
	.context = CONTEXT_PERF,
	.program_type = BPF_PROG_TYPE_PERF_EVENT,
	.obeys_target = true,
	.expand = expand_event,
	.list = list_events,
	.attach = attach_event,
	.usage = "hardware:EVENT[:COUNT]",
};

/* attach.own of a watchpoint, whose address is attach.address. */
struct watched {
	uint64_t length;
	uint32_t mode; /* HW_BREAKPOINT_R and so on */
};

/* watchpoint:ADDRESS:LENGTH:MODE */
static void expand_watchpoint(struct compiler *c, const struct provider *self, const struct attach_text *point)
{
	uint64_t address, length, mode = 0;
	const char *letter;

	if (!provider_parts(c, self, point, 3, 3))
		return;
	if (!number_parse(point->parts[1], strlen(point->parts[1]), &address) ||
	    !number_parse(point->parts[2], strlen(point->parts[2]), &length) ||
	    (length != 1 && length != 2 && length != 4 && length != 8)) {
		report_error(c->report, "probe.watchpoint", point->span,
			     "Invalid address or length: the length must be one of (1,2,4,8)");
		report_hint(c->report, "usage: %s", self->usage);
		return;
	}
	for (letter = point->parts[3]; *letter; letter++)
		mode |= *letter == 'r'   ? HW_BREAKPOINT_R
			: *letter == 'w' ? HW_BREAKPOINT_W
			: *letter == 'x' ? HW_BREAKPOINT_X
					 : 8;
	if (!mode || mode > 7 || (mode & 4 && mode != 4)) {
		report_error(c->report, "probe.watchpoint", point->span,
			     "Watchpoint mode must be combination of (r,w,x): %s", point->parts[3]);
		report_hint(c->report, "this machine has r, w, rw and x");
		return;
	}
	/* x86-64 watches reads and writes together. */
	if (mode == HW_BREAKPOINT_R)
		mode = HW_BREAKPOINT_RW;
	if (mode == HW_BREAKPOINT_X)
		length = sizeof(long);
	provider_add(c, (struct attach){.name = arena_printf(c->arena, "%s:%s:%s:%s", self->name, point->parts[1],
							     point->parts[2], point->parts[3]),
					.address = address,
					.own = provider_own(c, &(struct watched){length, (uint32_t)mode},
							    sizeof(struct watched))});
}

static int attach_watchpoint(int program, const struct attach *attaches, uint32_t count, uint64_t cookie,
			     const struct attach_target *target, struct attachment *ret, struct diag *diag)
{
	const struct watched *watched = attaches->own;
	const struct perf_event_attr attr = {.type = PERF_TYPE_BREAKPOINT,
					     .sample_period = 1,
					     .disabled = 1,
					     .bp_addr = attaches->address,
					     .bp_len = watched->length,
					     .bp_type = watched->mode};

	(void)count;
	if (!feature_breakpoints())
		return diag_fail(
			diag, ENODEV, "attach.watchpoint",
			"watchpoints do nothing on this machine: its debug registers never report (strata doctor)");
	return attach_counter(program, &attr, cookie, target, ret, diag);
}

const struct provider provider_watchpoint = {
	.name = "watchpoint",
	.aliases = {"w"},
	.context = CONTEXT_PERF,
	.program_type = BPF_PROG_TYPE_PERF_EVENT,
	.obeys_target = true,
	.expand = expand_watchpoint,
	.is_watch = true,
	.attach = attach_watchpoint,
	.usage = "watchpoint:ADDRESS:LENGTH:MODE, with -p or -c",
};
