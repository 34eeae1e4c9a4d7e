// SPDX-License-Identifier: GPL-2.0-or-later
/* perf events: the clock that takes samples, and what traces. */
#include <errno.h>
#include <linux/perf_event.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "abi/limits.h"
#include "doctor/parts.h"
#include "kernel/features.h"

#define RATE_USUAL 99 /* what record asks for without -F */
#define PARANOID   "/proc/sys/kernel/perf_event_paranoid"

/* 0 when such an event can be opened, else a negative errno. It is never enabled. */
static int try_event(struct perf_event_attr attr, pid_t pid, int cpu)
{
	int fd;

	attr.size = sizeof(attr);
	attr.disabled = 1;
	fd = (int)syscall(SYS_perf_event_open, &attr, pid, cpu, -1, PERF_FLAG_FD_CLOEXEC);
	if (fd < 0)
		return -errno;
	close(fd);
	return 0;
}

static void probe_clock(struct examination *examination, struct doctor_finding *finding)
{
	const struct perf_event_attr attr = {.type = PERF_TYPE_SOFTWARE,
					     .config = PERF_COUNT_SW_CPU_CLOCK,
					     .sample_period = 10000000,
					     .exclude_idle = 1};
	long paranoid = 0;
	int err;

	if (examination->options->files_only) {
		found(finding, DOCTOR_UNTRIED, "not tried");
		return;
	}
	err = try_event(attr, -1, sched_getcpu());
	if (!err)
		found(finding, DOCTOR_OK, "cpu-clock, of all processes");
	else if (!examine_number(examination, PARANOID, &paranoid))
		found(finding, DOCTOR_MISSING, "%s (kernel.perf_event_paranoid = %ld)", strerror(-err), paranoid);
	else
		found(finding, DOCTOR_MISSING, "%s", strerror(-err));
}

static void probe_rate(struct examination *examination, struct doctor_finding *finding)
{
	long rate;

	if (examine_number(examination, "/proc/sys/kernel/perf_event_max_sample_rate", &rate))
		found(finding, DOCTOR_UNTRIED, "kernel.perf_event_max_sample_rate cannot be read");
	else
		found(finding, rate < RATE_USUAL ? DOCTOR_LIMITED : DOCTOR_OK, "up to %ld samples a second and CPU",
		      rate);
}

static void probe_cycles(struct examination *examination, struct doctor_finding *finding)
{
	const struct perf_event_attr attr = {
		.type = PERF_TYPE_HARDWARE, .config = PERF_COUNT_HW_CPU_CYCLES, .exclude_kernel = 1, .exclude_hv = 1};
	int err;

	if (examination->options->files_only) {
		found(finding, DOCTOR_UNTRIED, "not tried");
		return;
	}
	err = try_event(attr, 0, -1);
	if (!err)
		found(finding, DOCTOR_OK, "counts");
	else if (err == -ENOENT || err == -EOPNOTSUPP || err == -ENODEV)
		found(finding, DOCTOR_LIMITED, "no counter");
	else
		found(finding, DOCTOR_UNTRIED, "%s", strerror(-err));
}

static void probe_depth(struct examination *examination, struct doctor_finding *finding)
{
	long depth;

	if (examine_number(examination, "/proc/sys/kernel/perf_event_max_stack", &depth))
		found(finding, DOCTOR_UNTRIED, "kernel.perf_event_max_stack cannot be read");
	else
		found(finding, depth < KERNEL_FRAMES_MAX ? DOCTOR_LIMITED : DOCTOR_OK, "%ld frames", depth);
}

static void probe_tracefs(struct examination *examination, struct doctor_finding *finding)
{
	FILE *mounts = examine_open(examination, "/proc/self/mounts");
	char line[4096], where[128], type[32];

	if (!mounts) {
		found(finding, DOCTOR_UNTRIED, "/proc/self/mounts cannot be read");
		return;
	}
	found(finding, DOCTOR_LIMITED, "not mounted");
	while (finding->mark != DOCTOR_OK && fgets(line, sizeof(line), mounts))
		if (sscanf(line, "%*s %127s %31s", where, type) == 2 && !strcmp(type, "tracefs"))
			found(finding, DOCTOR_OK, "%s", where);
	fclose(mounts);
}

static void probe_pmu(const struct examination *examination, struct doctor_finding *finding, const char *path)
{
	long type;

	if (examine_number(examination, path, &type))
		found(finding, DOCTOR_LIMITED, "no");
	else
		found(finding, DOCTOR_OK, "yes");
}

static void probe_kprobes(struct examination *examination, struct doctor_finding *finding)
{
	probe_pmu(examination, finding, "/sys/bus/event_source/devices/kprobe/type");
}

static void probe_uprobes(struct examination *examination, struct doctor_finding *finding)
{
	probe_pmu(examination, finding, "/sys/bus/event_source/devices/uprobe/type");
}

static void probe_watchpoints(struct examination *examination, struct doctor_finding *finding)
{
	if (examination->options->files_only)
		found(finding, DOCTOR_UNTRIED, "not tried");
	else if (feature_breakpoints())
		found(finding, DOCTOR_OK, "yes");
	else
		found(finding, DOCTOR_LIMITED, "the debug registers do not report");
}

static const struct check checks[] = {
	{"sampling clock", probe_clock, "each sample is taken at its tick",
	 "cap_perfmon; a seccomp profile that allows perf_event_open()"},
	{"sampling rate", probe_rate, "-F cannot be higher; the kernel lowers it when it is busy with samples",
	 "sysctl kernel.perf_event_max_sample_rate=100000"},
	{"cycles counter", probe_cycles, "not used by record, which samples by the clock",
	 "real hardware, or a virtual machine with a virtual PMU"},
	{"kernel stack depth", probe_depth, "the kernel's part of a stack is cut there",
	 "sysctl kernel.perf_event_max_stack=127"},
	{"tracefs", probe_tracefs, "lists tracepoints; not used by record",
	 "mount -t tracefs tracefs /sys/kernel/tracing"},
	{"kprobes", probe_kprobes, "trace any instruction of the kernel; not used by record",
	 "a kernel with CONFIG_KPROBE_EVENTS"},
	{"uprobes", probe_uprobes, "trace functions of programs; not used by record",
	 "a kernel with CONFIG_UPROBE_EVENTS"},
	{"watchpoints", probe_watchpoints, "trace accesses to an address; not used by record",
	 "real hardware, or a virtual machine with debug registers"},
};

void examine_events(struct examination *examination)
{
	examine_checks(examination, "events", checks, sizeof(checks) / sizeof(checks[0]));
}
