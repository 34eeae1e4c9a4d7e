// SPDX-License-Identifier: GPL-2.0-or-later
#include "kernel/features.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/bpf.h>
#include <linux/hw_breakpoint.h>
#include <linux/perf_event.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "kernel/core_types.h"
#include "kernel/kernel_btf.h"

static bool has_helper(enum bpf_func_id helper)
{
	return libbpf_probe_bpf_helper(BPF_PROG_TYPE_PERF_EVENT, helper, NULL) != 0;
}

static bool probe_bpf_loop(void)
{
	return has_helper(BPF_FUNC_loop);
}

static bool probe_task_registers(void)
{
	return has_helper(BPF_FUNC_get_current_task_btf) && has_helper(BPF_FUNC_task_pt_regs);
}

/* Up to 6.0 the verifier refuses them to perf_event programs (check_map_prog_compatibility in kernel/bpf/verifier.c).
 */
static bool probe_growing_maps(void)
{
	LIBBPF_OPTS(bpf_map_create_opts, options, .map_flags = BPF_F_NO_PREALLOC);
	int map = bpf_map_create(BPF_MAP_TYPE_HASH, "probe", sizeof(uint32_t), sizeof(uint32_t), 1, &options), program;
	struct bpf_insn code[] = {
		{.code = BPF_LD | BPF_DW | BPF_IMM, .dst_reg = BPF_REG_1, .src_reg = BPF_PSEUDO_MAP_FD, .imm = map},
		{},
		{.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0},
		{.code = BPF_JMP | BPF_EXIT},
	};

	if (map < 0)
		return true;
	program = bpf_prog_load(BPF_PROG_TYPE_PERF_EVENT, "probe", "GPL", code, sizeof(code) / sizeof(code[0]), NULL);
	if (program >= 0)
		close(program);
	close(map);
	return program != -EINVAL;
}

static bool probe_ring_buffer(void)
{
	int map = bpf_map_create(BPF_MAP_TYPE_RINGBUF, "probe", 0, 0, (uint32_t)sysconf(_SC_PAGESIZE), NULL);

	if (map >= 0)
		close(map);
	return map >= 0 || map == -EPERM;
}

static bool probe_inner_arrays(void)
{
	LIBBPF_OPTS(bpf_map_create_opts, inner_options, .map_flags = BPF_F_MMAPABLE);
	size_t size = (size_t)sysconf(_SC_PAGESIZE);
	int inner = bpf_map_create(BPF_MAP_TYPE_ARRAY, "probe", sizeof(uint32_t), (uint32_t)size, 1, &inner_options);
	LIBBPF_OPTS(bpf_map_create_opts, options, .inner_map_fd = (uint32_t)inner);
	uint32_t key = 0;
	void *bytes;
	int outer;
	bool there;

	if (inner < 0)
		return inner == -EPERM;
	outer = bpf_map_create(BPF_MAP_TYPE_ARRAY_OF_MAPS, "probe", sizeof(key), sizeof(inner), 1, &options);
	there = outer == -EPERM || (outer >= 0 && !bpf_map_update_elem(outer, &key, &inner, BPF_ANY));
	bytes = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, inner, 0);
	if (bytes == MAP_FAILED)
		there = false;
	else
		munmap(bytes, size);
	if (outer >= 0)
		close(outer);
	close(inner);
	return there;
}

bool feature_breakpoints(void)
{
	volatile uint64_t watched = 0;
	struct perf_event_attr attr = {.type = PERF_TYPE_BREAKPOINT,
				       .size = sizeof(attr),
				       .bp_type = HW_BREAKPOINT_W,
				       .bp_addr = (uintptr_t)&watched,
				       .bp_len = HW_BREAKPOINT_LEN_8,
				       .exclude_kernel = 1};
	int fd = (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
	uint64_t count = 0;
	bool told;

	if (fd < 0)
		return errno == EACCES || errno == EPERM || errno == ENOSPC; /* not allowed, or all are in use */
	watched = 1;
	told = read(fd, &count, sizeof(count)) == sizeof(count);
	close(fd);
	return !told || count;
}

bool feature_kernel_function(const char *name)
{
	struct kernel_btf k;
	bool there;

	if (kernel_btf_open(&k))
		return true; /* what cannot be found out counts as there */
	there = kernel_btf_function(&k, name);
	kernel_btf_close(&k);
	return there;
}

/* A kfunc cannot be called by a program that libbpf has not linked; bpf/resume.h looks for it in BTF as well. */
static bool probe_task_work(void)
{
	return feature_kernel_function("bpf_task_work_schedule_resume_impl") ||
	       feature_kernel_function("bpf_task_work_schedule_resume");
}

static bool probe_finding(void)
{
	struct kernel_btf k;
	bool can_find;

	if (kernel_btf_open(&k))
		return false;
	can_find = core_types_can_find(&k) && probe_bpf_loop();
	kernel_btf_close(&k);
	return can_find;
}

/* The function that calls what is attached to the tracepoint. */
static bool probe_switch_end(void)
{
	return feature_kernel_function("__traceiter_sched_exit_tp");
}

/*
 * As libbpf does: this helper came with the change of accounting (5.11), which itself cannot be seen. perf_event
 * programs got it later.
 */
static bool probe_cgroup_memory(void)
{
	return libbpf_probe_bpf_helper(BPF_PROG_TYPE_SOCKET_FILTER, BPF_FUNC_ktime_get_coarse_ns, NULL) != 0;
}

/*
 * Attaching would change the kernel's code for a moment. Instead: is there what attaching calls
 * (kernel/bpf/trampoline.c)? BTF of older kernels lacks the functions that are not traced themselves, but
 * /proc/kallsyms shows all names, with or without addresses.
 */
static bool probe_fentry(void)
{
	FILE *symbols = fopen("/proc/kallsyms", "re");
	bool there = !symbols;
	char line[1024];

	while (!there && fgets(line, sizeof(line), symbols))
		there = strstr(line, " T register_ftrace_direct\n");
	if (symbols)
		fclose(symbols);
	return there && libbpf_probe_bpf_prog_type(BPF_PROG_TYPE_TRACING, NULL) != 0;
}

/* kernel/trace/bpf_trace.c; only compiled with CONFIG_UPROBES. */
static bool probe_uprobe_multi(void)
{
	return feature_kernel_function("bpf_uprobe_multi_link_attach");
}

/*
 * Before, it was not run if another program was interrupted on its CPU (bpf_prog_active in kernel/trace/bpf_trace.c).
 * That went when programs of uprobes were allowed to sleep (8c7dcb84e3b7, "bpf: implement sleepable uprobes by
 * chaining gps").
 */
static bool probe_uprobe_sure(void)
{
	LIBBPF_OPTS(bpf_prog_load_opts, options, .prog_flags = BPF_F_SLEEPABLE);
	const struct bpf_insn code[] = {{.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0},
					{.code = BPF_JMP | BPF_EXIT}};
	int program = bpf_prog_load(BPF_PROG_TYPE_KPROBE, "probe", "GPL", code, sizeof(code) / sizeof(code[0]),
				    &options);

	if (program >= 0)
		close(program);
	return program >= 0 || program == -EPERM;
}

static const struct {
	struct feature_info info;
	bool (*probe)(void);
} features[FEATURE_COUNT] = {
	[FEATURE_RING_BUFFER] = {{"ring buffer", "samples come through it", "Linux 5.8 or later", true},
				 probe_ring_buffer},
	[FEATURE_INNER_ARRAYS] = {{"mapped inner arrays", "unwind tables are written into them", "Linux 5.10 or later",
				   true},
				  probe_inner_arrays},
	[FEATURE_BPF_LOOP] = {{"bpf_loop",
			       "walks long stacks; without it bounded loops do, to the same depth, a little slower",
			       "Linux 5.17 or later"},
			      probe_bpf_loop},
	[FEATURE_TASK_REGISTERS] = {{"bpf_task_pt_regs",
				     "user registers of a thread that is in the kernel; without it they are looked for "
				     "at the kernel stack's top",
				     "Linux 5.15 or later"},
				    probe_task_registers},
	[FEATURE_GROWING_MAPS] = {{"growing hashes", "without them the sampler's maps take some 18 MB at once",
				   "Linux 6.1 or later"},
				  probe_growing_maps},
	[FEATURE_TASK_WORK] =
		{{"task work",
		  "samples whose memory was away for a moment, or that are too deep for an interrupt, are "
		  "walked again; without it they stay incomplete (stack-read, time-limit)",
		  "Linux 6.18 or later"},
		 probe_task_work},
	[FEATURE_FINDING] = {{"finding mappings",
			      "a new process of files that are known is walked at once; without it its first samples "
			      "wait for user space, and have no Python frames",
			      "Linux 6.6 or later, with CONFIG_PER_VMA_LOCK"},
			     probe_finding},
	[FEATURE_SWITCH_END] = {{"sched_exit_tp",
				 "tells record --off-cpu that a thread is back on a CPU; without it a kprobe does, a "
				 "little dearer",
				 "Linux 6.18 or later"},
				probe_switch_end},
	[FEATURE_CGROUP_MEMORY] = {{"cgroup accounting", "without it the maps' memory counts for RLIMIT_MEMLOCK",
				    "Linux 5.11 or later"},
				   probe_cgroup_memory},
	[FEATURE_FENTRY] =
		{{"fentry", "the cheapest way to trace kernel functions; not used by record",
		  "a kernel with CONFIG_DYNAMIC_FTRACE_WITH_DIRECT_CALLS, and no security module that forbids it"},
		 probe_fentry},
	[FEATURE_UPROBE_MULTI] = {{"uprobe_multi",
				   "attaches and detaches many user functions at once; not used by record",
				   "Linux 6.6 or later"},
				  probe_uprobe_multi},
	[FEATURE_UPROBE_SURE] = {{"sure uprobes",
				  "names of Python's functions are read once, until their code objects are freed; "
				  "without it at each event",
				  "Linux 6.0 or later"},
				 probe_uprobe_sure},
};

const struct feature_info *feature_info(enum feature feature)
{
	return &features[feature].info;
}

bool feature_probe(enum feature feature)
{
	return features[feature].probe();
}
