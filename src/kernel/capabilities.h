/* SPDX-License-Identifier: GPL-2.0-or-later */
/* capabilities: the capabilities that strata uses, and whether this process has them. */
#ifndef STRATA_KERNEL_CAPABILITIES_H
#define STRATA_KERNEL_CAPABILITIES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct capability {
	unsigned int number; /* linux/capability.h */
	const char *name;
	const char *without; /* what is missing without it; NULL: cannot sample */
};

/* For setcap. */
#define CAPABILITIES_ALL "cap_bpf,cap_perfmon,cap_sys_ptrace,cap_dac_read_search,cap_syslog+ep"

/* NULL behind the last one. */
const struct capability *capability_at(size_t index);

/*
 * The effective set, from a file like /proc/self/status. If it cannot be read, all capabilities: then the kernel will
 * say what is missing.
 */
uint64_t capabilities_effective(const char *status);

bool capability_held(uint64_t effective, const struct capability *capability);

#endif
