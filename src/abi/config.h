/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the loader tells the sampler, before the verifier sees it: branches that are not taken need not load. */
#ifndef STRATA_ABI_CONFIG_H
#define STRATA_ABI_CONFIG_H

#include "abi/types.h"

#define RESUME_FUNCTION        0x5e7a9b01 /* stands for the number of a kernel's function (bpf/resume.h) */
#define SAMPLER_CONFIG_SECTION ".rodata.config"

/* As enum stack_part of lang/core/type.h. */
#define SAMPLER_NATIVE 2
#define SAMPLER_SECOND 4

/* In the time at which a target was added: it is no more than a copy of strata until it has called exec. */
#define TARGET_AWAITS_EXEC (1ull << 63)
/* There, too: children become targets when they are forked. */
#define TARGET_CHILDREN (1ull << 62)
#define TARGET_FLAGS    (TARGET_AWAITS_EXEC | TARGET_CHILDREN)

struct sampler_config {
	__u8 watch_all;      /* else only the processes in `targets` */
	__u8 task_registers; /* the kernel has bpf_task_pt_regs() */
	__u8 walks;          /* of user stacks: bits of SAMPLER_NATIVE, SAMPLER_SECOND */
	__u8 finds;          /* the kernel keeps mappings as bpf/find.h reads them */
	__u32 verify_every;  /* of so many samples one is sent with a copy of its stack; 0: none */
	__u32 cpus;          /* scratches of the CPUs; */
	__u32 spares;        /* so many more follow, for walks in task context and nested probes, any CPU's */
	__u64 sample_ns;     /* a walk in an interrupt may take; 0: as long as it likes */
	__u32 off_cpu_taken; /* waits that each CPU takes in a slot (abi/off_cpu.h) as they come; 0: none at all */
	__u32 off_cpu_first; /* the scratch of the first CPU's */
	__u32 filters;       /* that there are: FILTER_WANTED and FILTER_EXCLUDED of each kind (abi/filter.h) */
	/* Cgroups that are named: those of --cgroup first, so many; */
	__u16 filter_cgroups_wanted, filter_cgroups; /* and all */
	/* The pid namespace whose numbers processes have, as stat(2) tells it; 0: the initial one. */
	__u64 namespace_device, namespace_inode;
};
ABI_ASSERT_SIZE(struct sampler_config, 56);

#endif
