/* SPDX-License-Identifier: GPL-2.0-or-later */
/* state: what the walk of the toy's frames keeps: part of bpf/scratch.h, which includes it. */
#ifndef STRATA_TEST_TOY_BPF_STATE_H
#define STRATA_TEST_TOY_BPF_STATE_H

#include "runtime/toy/abi.h"

struct toy_walk {
	SECOND_STACK_WALK(struct toy_layout)
	__u64 at; /* the next frame's address */
	struct toy_thread looked_at;
	struct toy_frame frame;
	struct toy_function function;
};

#endif
