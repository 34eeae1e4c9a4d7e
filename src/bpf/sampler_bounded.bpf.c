// SPDX-License-Identifier: GPL-2.0-or-later
/* The sampler for kernels without bpf_loop: see WALK_LOOP in bpf/tables.h. */
#define STRATA_BOUNDED_LOOPS
#include "bpf/sampler.bpf.c"
