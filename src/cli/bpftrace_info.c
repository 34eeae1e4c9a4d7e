// SPDX-License-Identifier: GPL-2.0-or-later
/* bpftrace --info: what the kernel and this build can do, under the names that scripts look for in bpftrace's own. */
#include <bpf/libbpf.h>
#include <stdio.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "cli/bpftrace_info.h"
#include "kernel/features.h"

static bool has_helper(enum bpf_prog_type type, enum bpf_func_id helper)
{
	return libbpf_probe_bpf_helper(type, helper, NULL) > 0;
}

static bool has_d_path(void)
{
	return has_helper(BPF_PROG_TYPE_TRACING, BPF_FUNC_d_path);
}

static bool has_tai(void)
{
	return has_helper(BPF_PROG_TYPE_KPROBE, BPF_FUNC_ktime_get_tai_ns);
}

static bool has_function_address(void)
{
	return has_helper(BPF_PROG_TYPE_KPROBE, BPF_FUNC_get_func_ip);
}

static bool has_cpu_lookup(void)
{
	return has_helper(BPF_PROG_TYPE_KPROBE, BPF_FUNC_map_lookup_percpu_elem);
}

static bool has_loop(void)
{
	return feature_probe(FEATURE_BPF_LOOP);
}

static bool has_jiffies(void)
{
	return has_helper(BPF_PROG_TYPE_KPROBE, BPF_FUNC_jiffies64);
}

static bool has_btf(void)
{
	return access("/sys/kernel/btf/vmlinux", R_OK) == 0;
}

static bool has_uprobe_multi(void)
{
	return feature_probe(FEATURE_UPROBE_MULTI);
}

/* kernel/trace/bpf_trace.c: without CONFIG_FPROBE the function is there too, and refuses. */
static bool has_kprobe_multi(void)
{
	return feature_kernel_function("bpf_kprobe_multi_link_attach") && feature_kernel_function("fprobe_handler");
}

static bool has_kprobe_session(void)
{
	return has_kprobe_multi() && feature_kernel_function("bpf_session_is_return");
}

static bool has_iter(void)
{
	return feature_kernel_function("bpf_iter_task");
}

static bool yes(void)
{
	return true;
}

static bool no(void)
{
	return false;
}

static const struct {
	const char *section, *name;
	bool (*probe)(void);
} rows[] = {
	{"Build", "libdw (DWARF support)", yes},
	{NULL, "dwunwind (DWARF stack unwinding)", yes},
	{NULL, "blazesym (advanced symbolization)", no},
	{"Kernel helpers", "dpath", has_d_path},
	{NULL, "get_tai_ns", has_tai},
	{NULL, "get_func_ip", has_function_address},
	{NULL, "jiffies64", has_jiffies},
	{NULL, "lookup_percpu_elem", has_cpu_lookup},
	{NULL, "loop", has_loop},
	{"Kernel features", "btf", has_btf},
	{"Probe types", "kprobe_multi", has_kprobe_multi},
	{NULL, "uprobe_multi", has_uprobe_multi},
	{NULL, "kprobe_session", has_kprobe_session},
	{NULL, "iter", has_iter},
};

void bpftrace_info(FILE *out)
{
	struct utsname system;
	size_t i;

	if (!uname(&system))
		fprintf(out, "System\n  OS: %s %s %s\n  Arch: %s\n", system.sysname, system.release, system.version,
			system.machine);
	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		if (rows[i].section)
			fprintf(out, "\n%s\n", rows[i].section);
		fprintf(out, "  %s: %s\n", rows[i].name, rows[i].probe() ? "yes" : "no");
	}
	fputc('\n', out);
}
