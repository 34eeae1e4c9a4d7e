/* SPDX-License-Identifier: GPL-2.0-or-later */
/* counters: enum rt_counter of abi.h, counted by all programs of a script. BPF only. */
#ifndef STRATA_LANG_RT_COUNTERS_H
#define STRATA_LANG_RT_COUNTERS_H

#include "lang/rt/abi.h"

/* Weak: several parts of the runtime library have it, and it is one map. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, RT_COUNTER_COUNT);
	__type(key, __u32);
	__type(value, __u64);
} rt_counters SEC(".maps") __weak;

#endif
