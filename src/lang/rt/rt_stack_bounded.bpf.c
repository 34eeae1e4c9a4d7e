// SPDX-License-Identifier: GPL-2.0-or-later
/* Stacks for kernels without bpf_loop: see WALK_LOOP in bpf/tables.h. */
#define STRATA_BOUNDED_LOOPS
#include "lang/rt/rt_stack.bpf.c"
