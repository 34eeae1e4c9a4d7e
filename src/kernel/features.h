/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * features: what this kernel's BPF can do, found by trying it and never by the version, because distributions backport
 * features. A probe loads a program of a few instructions or makes a small map, which takes some 0.1 ms. Without the
 * capabilities to try, a feature counts as present, so that the real loading fails with the right reason.
 */
#ifndef STRATA_KERNEL_FEATURES_H
#define STRATA_KERNEL_FEATURES_H

#include <stdbool.h>

enum feature {
	FEATURE_RING_BUFFER,    /* ring buffer maps */
	FEATURE_INNER_ARRAYS,   /* arrays that can be mapped, inside a map of maps */
	FEATURE_BPF_LOOP,       /* loops of any length: bpf_loop() */
	FEATURE_TASK_REGISTERS, /* the user registers of a thread in the kernel: bpf_task_pt_regs() */
	FEATURE_GROWING_MAPS,   /* hashes that allocate as they fill, in perf_event programs */
	FEATURE_TASK_WORK,      /* programs that run on the way back to user mode */
	FEATURE_FINDING,        /* mappings of processes kept as bpf/find.h reads them */
	FEATURE_SWITCH_END,     /* a tracepoint where a thread has got a CPU */
	FEATURE_CGROUP_MEMORY,  /* memory of BPF is charged to the cgroup, not to RLIMIT_MEMLOCK */
	FEATURE_FENTRY,         /* programs at the entry of kernel functions, by trampolines */
	FEATURE_UPROBE_MULTI,   /* many uprobes by one link */
	FEATURE_UPROBE_SURE,    /* the program of a uprobe runs whatever else runs on its CPU */
	FEATURE_COUNT
};

struct feature_info {
	const char *name;
	const char *description; /* what it is, and what is done without it */
	const char *how;         /* how to get it */
	bool required;           /* strata cannot sample without it */
};

const struct feature_info *feature_info(enum feature feature);

bool feature_probe(enum feature feature);

/*
 * Do breakpoints in the processor's debug registers work, which watchpoints are? Virtual machines may take them and
 * never report one, so one is tried, on a variable of its own. 0.1 ms.
 */
bool feature_breakpoints(void);

/* Has the kernel a function of this name that programs may call (by its BTF)? Takes 2 ms. */
bool feature_kernel_function(const char *name);

#endif
