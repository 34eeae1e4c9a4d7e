/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Fixed-width names for the structs that user space and BPF share, and what both need to declare functions in headers.
 * In BPF they come from vmlinux.h and libbpf, on the host from linux/types.h.
 */
#ifndef STRATA_ABI_TYPES_H
#define STRATA_ABI_TYPES_H

#ifdef __bpf__

#include "vmlinux.h"

#include <bpf/bpf_helpers.h>

#else

#include <stdbool.h>

#include <linux/types.h>

#undef __always_inline /* glibc's definition lacks the plain `inline` that the one for BPF has */
#define __always_inline inline __attribute__((always_inline))
#define __noinline      __attribute__((noinline))

#endif

#define ABI_ASSERT_SIZE(type, size) _Static_assert(sizeof(type) == (size), "size of " #type " is part of the ABI")

#endif
