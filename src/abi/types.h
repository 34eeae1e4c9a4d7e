/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Fixed-width names for the structs that user space and BPF share. In BPF they come from vmlinux.h, on the
 * host from linux/types.h; only src/abi/ is included by both sides.
 */
#ifndef STRATA_ABI_TYPES_H
#define STRATA_ABI_TYPES_H

#ifndef __bpf__
#include <linux/types.h>
#endif

#define ABI_ASSERT_SIZE(type, size) _Static_assert(sizeof(type) == (size), "size of " #type " is part of the ABI")

#endif
