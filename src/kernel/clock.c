// SPDX-License-Identifier: GPL-2.0-or-later
#include "kernel/clock.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "kernel/cpus.h"

struct tick {
	int event, link; /* -1: none; a link only where the kernel has them (5.15) */
};

struct clock {
	int program;
	uint64_t period;           /* ns */
	struct clock_ticks *noted; /* by CPU */
	const bool *wanted;        /* by CPU; NULL: all */
	uint64_t missed;           /* before the events were opened anew */
	bool running;
	size_t count; /* possible CPUs */
	bool *online; /* by CPU: at the last look; false of those that are not wanted */
	struct tick *ticks;
};

static void close_tick(struct tick *tick)
{
	if (tick->link >= 0)
		close(tick->link);
	if (tick->event >= 0)
		close(tick->event);
	*tick = (struct tick){.event = -1, .link = -1};
}

/* Attaches by hand: libbpf's own function also enables the event. */
static int attach(struct tick *tick, int program)
{
	tick->link = bpf_link_create(program, tick->event, BPF_PERF_EVENT, NULL);
	if (tick->link >= 0)
		return 0;
	tick->link = -1;
	return ioctl(tick->event, PERF_EVENT_IOC_SET_BPF, program) ? -errno : 0;
}

/* Opens a CPU's event, in the state that the clock is in. 0 also when the CPU has gone meanwhile. */
static int open_tick(struct clock *clock, int cpu)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_SW_CPU_CLOCK,
		.sample_period = clock->period,
		.disabled = 1,
	};
	struct tick *tick = &clock->ticks[cpu];
	int err;

	tick->event = (int)syscall(SYS_perf_event_open, &attr, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);
	if (tick->event < 0) {
		err = errno;
		tick->event = -1;
		return err == ENODEV || err == ENXIO ? 0 : -err; /* an offline CPU has no event */
	}
	err = attach(tick, clock->program);
	if (!err && clock->running && ioctl(tick->event, PERF_EVENT_IOC_ENABLE, 0))
		err = -errno;
	if (err)
		close_tick(tick);
	return err;
}

/* A tick may be late by any part of a period, but the next one is not: the timer keeps to its grid. */
static uint64_t missed(const struct clock *clock, const struct clock_ticks *noted)
{
	uint64_t expected = (noted->last - noted->first + clock->period / 2) / clock->period + 1;

	return noted->count && expected > noted->count ? expected - noted->count : 0;
}

uint64_t clock_missed(const struct clock *clock)
{
	uint64_t sum = clock->missed;
	size_t i;

	for (i = 0; i < clock->count; i++)
		sum += missed(clock, &clock->noted[i]);
	return sum;
}

int clock_follow(struct clock *clock)
{
	bool *online = calloc(clock->count, sizeof(*online));
	int changes = 0, err = 0;
	size_t cpu;

	if (!online)
		return -ENOMEM;
	cpus_online(CPUS_ONLINE, online, clock->count);
	for (cpu = 0; cpu < clock->count && !err; cpu++) {
		if (clock->wanted && !clock->wanted[cpu])
			online[cpu] = false;
		if (online[cpu] == clock->online[cpu])
			continue;
		/* The event of a CPU that went stays silent when the CPU comes back. */
		close_tick(&clock->ticks[cpu]);
		clock->missed += missed(clock, &clock->noted[cpu]);
		clock->noted[cpu] = (struct clock_ticks){};
		if (online[cpu])
			err = open_tick(clock, (int)cpu);
		clock->online[cpu] = online[cpu];
		changes++;
	}
	free(online);
	return err ? err : changes;
}

int clock_open(int program, unsigned int frequency, struct clock_ticks *ticks, const bool *cpus, struct clock **ret,
	       struct diag *diag)
{
	struct clock *clock = calloc(1, sizeof(*clock));
	size_t i, count = (size_t)libbpf_num_possible_cpus();
	int err;

	if (clock) {
		clock->online = calloc(count, sizeof(*clock->online));
		clock->ticks = calloc(count, sizeof(*clock->ticks));
	}
	if (!clock || !clock->online || !clock->ticks) {
		clock_close(clock);
		return diag_fail(diag, ENOMEM, "clock.memory", "out of memory");
	}
	clock->program = program;
	clock->period = 1000000000ull / frequency;
	clock->noted = ticks;
	clock->wanted = cpus;
	clock->count = count;
	for (i = 0; i < count; i++)
		clock->ticks[i] = (struct tick){.event = -1, .link = -1};
	err = clock_follow(clock);
	if (err < 0) {
		clock_close(clock);
		return diag_fail(diag, -err, "clock.event", "the sampling clock cannot be opened: %s", strerror(-err));
	}
	*ret = clock;
	return 0;
}

void clock_close(struct clock *clock)
{
	size_t i;

	if (!clock)
		return;
	for (i = 0; i < clock->count; i++)
		close_tick(&clock->ticks[i]);
	free(clock->ticks);
	free(clock->online);
	free(clock);
}

static int control(const struct clock *clock, unsigned long request)
{
	size_t i;
	int err = 0;

	for (i = 0; i < clock->count; i++)
		if (clock->ticks[i].event >= 0 && ioctl(clock->ticks[i].event, request, 0))
			err = -errno;
	return err;
}

int clock_start(struct clock *clock, struct diag *diag)
{
	int err = control(clock, PERF_EVENT_IOC_ENABLE);

	clock->running = true;
	return err ? diag_fail(diag, -err, "clock.start", "the sampling clock cannot be started: %s", strerror(-err))
		   : 0;
}

void clock_stop(struct clock *clock)
{
	control(clock, PERF_EVENT_IOC_DISABLE);
	clock->running = false;
}
