// SPDX-License-Identifier: GPL-2.0-or-later
/* bpftrace --info: what the kernel and this build can do, under the names that scripts look for in bpftrace's own. */
#include <bpf/bpf.h>
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

/* libbpf knows nothing of helpers of tracing programs, which must have a function. In this one it is allowed. */
static bool has_d_path(void)
{
	LIBBPF_OPTS(bpf_prog_load_opts, options, .expected_attach_type = BPF_TRACE_FENTRY);
	const struct bpf_insn program[] = {
		{.code = BPF_LDX | BPF_MEM | BPF_DW, .dst_reg = BPF_REG_1, .src_reg = BPF_REG_1},
		{.code = BPF_ST | BPF_MEM | BPF_DW, .dst_reg = BPF_REG_10, .off = -8},
		{.code = BPF_ALU64 | BPF_MOV | BPF_X, .dst_reg = BPF_REG_2, .src_reg = BPF_REG_10},
		{.code = BPF_ALU64 | BPF_ADD | BPF_K, .dst_reg = BPF_REG_2, .imm = -8},
		{.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_3, .imm = 8},
		{.code = BPF_JMP | BPF_CALL, .imm = BPF_FUNC_d_path},
		{.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0},
		{.code = BPF_JMP | BPF_EXIT},
	};
	int function = libbpf_find_vmlinux_btf_id("dentry_open", BPF_TRACE_FENTRY), fd;

	if (function <= 0)
		return false;
	options.attach_btf_id = (uint32_t)function;
	fd = bpf_prog_load(BPF_PROG_TYPE_TRACING, NULL, "GPL", program, sizeof(program) / sizeof(program[0]), &options);
	if (fd >= 0)
		close(fd);
	return fd >= 0;
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
