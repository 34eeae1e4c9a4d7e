/* SPDX-License-Identifier: GPL-2.0-or-later */
/* state: the state of a walk's steps between Go's stacks; included by bpf/scratch.h. */
#ifndef STRATA_RUNTIME_GO_BPF_STATE_H
#define STRATA_RUNTIME_GO_BPF_STATE_H

#include "abi/types.h"

struct go_steps {
	__u32 flags;     /* enum go_flag */
	__u32 count;     /* number of frames before those on the goroutine's stack */
	__u64 hash;      /* of these */
	__u64 at, value; /* address of a word that says where that stack is, and its value; 0: none */
	__u64 curg_sp, g0_sp;
	__u64 thread_sp; /* SP where the walk left the thread's own stack; 0: it has not been on it */
	__u64 pair[2];
};

#endif
