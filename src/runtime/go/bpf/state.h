/* SPDX-License-Identifier: GPL-2.0-or-later */
/* state: what steps between Go's stacks keep in a walk: part of bpf/scratch.h, which includes it. */
#ifndef STRATA_RUNTIME_GO_BPF_STATE_H
#define STRATA_RUNTIME_GO_BPF_STATE_H

#include "abi/types.h"

struct go_steps {
	__u32 flags;     /* enum go_flag */
	__u32 count;     /* frames before what is on the goroutine's stack */
	__u64 hash;      /* of these */
	__u64 at, value; /* a word that says where that stack is, and what it said; 0: none */
	__u64 curg_sp, g0_sp;
	__u64 thread_sp; /* where the walk left the thread's own stack; 0: it was not there */
	__u64 pair[2];
};

#endif
