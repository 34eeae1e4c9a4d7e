// SPDX-License-Identifier: GPL-2.0-or-later
/* The kernel's BPF: whether it is allowed, what it can do (kernel/features.h), and whether the sampler loads. */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/bpf.h>
#include <linux/capability.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/time.h"
#include "doctor/parts.h"
#include "kernel/features.h"
#include "kernel/programs.h"

#define GROUP "bpf"

static void probe_kernel(struct examination *examination, struct doctor_finding *finding)
{
	struct utsname name;

	(void)examination;
	uname(&name);
	found(finding, DOCTOR_INFO, "%s %s, %s", name.sysname, name.release, name.machine);
}

static void probe_btf(struct examination *examination, struct doctor_finding *finding)
{
	char magic[8];
	ssize_t size = examine_read(examination, "/sys/kernel/btf/vmlinux", magic, sizeof(magic));

	if (size > 0)
		found(finding, DOCTOR_OK, "/sys/kernel/btf/vmlinux");
	else
		found(finding, DOCTOR_MISSING, "/sys/kernel/btf/vmlinux: %s", size ? strerror((int)-size) : "is empty");
}

/* Seccomp refuses with the same errno as a missing capability. */
static bool is_filtered(const struct examination *examination)
{
	char status[4096];

	return examine_read(examination, "/proc/self/status", status, sizeof(status)) > 0 &&
	       strstr(status, "\nSeccomp:\t2");
}

static void probe_bpf(struct examination *examination, struct doctor_finding *finding)
{
	static const struct bpf_insn code[] = {
		{.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0},
		{.code = BPF_JMP | BPF_EXIT},
	};
	int fd;

	if (examination->options->files_only) {
		found(finding, DOCTOR_UNTRIED, "not tried");
		return;
	}
	fd = bpf_prog_load(BPF_PROG_TYPE_PERF_EVENT, "probe", "GPL", code, sizeof(code) / sizeof(code[0]), NULL);
	examination->may_load = fd >= 0;
	if (fd < 0) {
		found(finding, DOCTOR_MISSING, "a program of two instructions cannot be loaded: %s%s", strerror(-fd),
		      is_filtered(examination) ? " (this process is under a seccomp filter)" : "");
		return;
	}
	close(fd);
	found(finding, DOCTOR_OK, "programs can be loaded");
}

static void probe_jit(struct examination *examination, struct doctor_finding *finding)
{
	long value;
	int err = examine_number(examination, "/proc/sys/net/core/bpf_jit_enable", &value);

	if (err)
		found(finding, DOCTOR_UNTRIED, "net.core.bpf_jit_enable: %s", strerror(-err));
	else if (!value)
		found(finding, DOCTOR_LIMITED, "net.core.bpf_jit_enable = 0");
	else
		found(finding, DOCTOR_OK, "on%s", value == 2 ? ", with the debug log" : "");
}

static void probe_memlock(struct examination *examination, struct doctor_finding *finding)
{
	struct rlimit limit = {};
	char text[32] = "unlimited";

	getrlimit(RLIMIT_MEMLOCK, &limit);
	if (limit.rlim_max != RLIM_INFINITY)
		snprintf(text, sizeof(text), "%llu KiB", (unsigned long long)limit.rlim_max / 1024);
	if (!examination->may_load)
		found(finding, DOCTOR_UNTRIED, "%s; whether it counts needs bpf(), see above", text);
	else if (feature_probe(FEATURE_CGROUP_MEMORY))
		found(finding, DOCTOR_OK, "does not count in this kernel");
	else if (limit.rlim_max == RLIM_INFINITY || examine_has(examination, CAP_SYS_RESOURCE))
		found(finding, DOCTOR_OK, "%s, and can be raised", text);
	else
		found(finding, DOCTOR_MISSING, "%s", text);
}

static void probe_strategy(struct examination *examination, struct doctor_finding *finding)
{
	if (!examination->may_load)
		found(finding, DOCTOR_UNTRIED, "needs bpf(), see above");
	else if (feature_probe(FEATURE_BPF_LOOP))
		found(finding, DOCTOR_INFO, "loop: bpf_loop");
	else
		found(finding, DOCTOR_INFO, "bounded: bounded loops of global functions");
}

static void probe_programs(struct examination *examination, struct doctor_finding *finding)
{
	const struct programs_options options = {.watch_all = true};
	double before, ms;
	struct programs *programs = NULL;
	struct diag diag = {};
	int err;

	if (!examination->may_load) {
		found(finding, DOCTOR_UNTRIED, "needs bpf(), see above");
		return;
	}
	before = time_s(CLOCK_MONOTONIC);
	err = programs_open(&options, &programs, &diag);
	if (!err)
		err = programs_load(programs, &diag);
	ms = (time_s(CLOCK_MONOTONIC) - before) * 1e3;
	programs_close(programs);
	if (err) {
		found(finding, DOCTOR_MISSING, "%s", diag.text);
		finding->how = "run it as root; or try strata record --strategy bounded";
		return;
	}
	found(finding, DOCTOR_OK, "loaded in %.0f ms", ms);
}

static void probe_stats(struct examination *examination, struct doctor_finding *finding)
{
	long value;

	/* Not switched on for a try: that would patch the kernel's code for a moment. */
	if (examine_number(examination, "/proc/sys/kernel/bpf_stats_enabled", &value))
		found(finding, DOCTOR_LIMITED, "no kernel.bpf_stats_enabled");
	else if (value)
		found(finding, DOCTOR_OK, "on all the time: every BPF program costs a little more");
	else
		found(finding, DOCTOR_OK, "on while recording");
}

static const struct check before_features[] = {
	{"kernel", probe_kernel, "versions are never asked: distributions port features back", NULL},
	{"BTF", probe_btf, "one build finds the structures of every kernel by it",
	 "a kernel with CONFIG_DEBUG_INFO_BTF (all distributions' are), and /sys mounted"},
	{"bpf()", probe_bpf, "everything is sampled by BPF programs",
	 "cap_bpf and cap_perfmon; no lockdown; in a container a seccomp profile that allows bpf() and "
	 "perf_event_open()"},
};

static const struct check after_features[] = {
	{"JIT", probe_jit, "an interpreted program takes several times longer", "sysctl net.core.bpf_jit_enable=1"},
	{"RLIMIT_MEMLOCK", probe_memlock, "before Linux 5.11 the maps count for it",
	 "ulimit -l unlimited, or cap_sys_resource"},
	{"strategy", probe_strategy, "how record walks long stacks here; both ways give the same frames", NULL},
	{"programs", probe_programs, "the sampler itself, as record loads it",
	 "if nothing else is missing here, this is a bug of strata: report it with this page"},
	{"bpf_stats", probe_stats, "the cost of sampling in the summary and in --stats is by this clock",
	 "Linux 5.8 or later"},
};

static void examine_feature(struct examination *examination, enum feature feature)
{
	const struct feature_info *info = feature_info(feature);
	struct doctor_finding finding = {
		.group = GROUP, .name = info->name, .why = info->description, .how = info->how};

	if (!examination->may_load)
		found(&finding, DOCTOR_UNTRIED, "needs bpf(), see above");
	else if (feature_probe(feature))
		found(&finding, DOCTOR_OK, "yes");
	else
		found(&finding, info->required ? DOCTOR_MISSING : DOCTOR_LIMITED, "no");
	examine_finding(examination, &finding);
}

void examine_bpf(struct examination *examination)
{
	int feature;

	examine_checks(examination, GROUP, before_features, sizeof(before_features) / sizeof(before_features[0]));
	for (feature = 0; feature < FEATURE_COUNT; feature++)
		examine_feature(examination, feature);
	examine_checks(examination, GROUP, after_features, sizeof(after_features) / sizeof(after_features[0]));
}
