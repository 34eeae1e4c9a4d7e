/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The sampler's configuration. The loader writes it before the program is verified. It is constant then, so the
 * verifier skips branches that cannot be taken, and what they call need not exist in this kernel.
 */
#ifndef STRATA_ABI_CONFIG_H
#define STRATA_ABI_CONFIG_H

#include "abi/types.h"

#define RESUME_FUNCTION        0x5e7a9b01 /* stands for the number of a kernel's function (bpf/resume.h) */
#define SAMPLER_CONFIG_SECTION ".rodata.config"

/* As enum stack_part of lang/core/type.h. */
#define SAMPLER_NATIVE 2
#define SAMPLER_SECOND 4
#define SAMPLER_TASKS  8 /* and which task the thread runs */

/* A bit in the time at which a target was added: the process is still a copy of strata, as it has not called exec. */
#define TARGET_AWAITS_EXEC (1ull << 63)
/* Another bit there: the process's children become targets when they are forked. */
#define TARGET_CHILDREN (1ull << 62)
#define TARGET_FLAGS    (TARGET_AWAITS_EXEC | TARGET_CHILDREN)

struct sampler_config {
	__u8 watch_all;      /* else only the processes in `targets` */
	__u8 task_registers; /* the kernel has bpf_task_pt_regs() */
	__u8 walks;          /* of user stacks: bits of SAMPLER_NATIVE and the others */
	__u8 finds;          /* the kernel keeps mappings as bpf/find.h reads them */
	__u32 verify_every;  /* 1 in this many samples is sent with a copy of its stack; 0: none */
	__u32 cpus;          /* the first scratches: one for each CPU */
	__u32 spares;        /* scratches behind them, for walks in task context and nested probes, on any CPU */
	__u64 sample_ns;     /* how long a walk in an interrupt may take; 0: no limit */
	__u32 off_cpu_taken; /* how many waits a CPU takes in a slot before it chooses (abi/off_cpu.h); 0: takes none */
	__u32 off_cpu_first; /* index of the first CPU's scratch for waits */
	__u32 wakers_first;  /* index of the first CPU's scratch for wakers; 0: they are not wanted */
	__u32 filters;       /* the filters there are: FILTER_WANTED and FILTER_EXCLUDED of each kind (abi/filter.h) */
	/* How many cgroups are named by --cgroup, which come first, and in all. */
	__u16 filter_cgroups_wanted, filter_cgroups;
	__u8 cgroups;        /* samples say their cgroup */
	__u8 pad[3];
	/* The pid namespace in which processes are numbered, as stat(2) has it; 0: the initial one. */
	__u64 namespace_device, namespace_inode;
};
ABI_ASSERT_SIZE(struct sampler_config, 64);

#endif
