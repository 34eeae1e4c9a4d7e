/* SPDX-License-Identifier: GPL-2.0-or-later */
/* kernel_names: what user space asks src/bpf/kernel_names.bpf.c. */
#ifndef STRATA_ABI_KERNEL_NAMES_H
#define STRATA_ABI_KERNEL_NAMES_H

#include "abi/types.h"

/* KSYM_NAME_LEN is 512 (include/linux/kallsyms.h); offset, size and the module's name come behind it. */
#define KERNEL_NAME_TEXT 704

struct kernel_name_request {
	__u64 address;
};

#endif
