/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * second_stack: walks the stack that a runtime keeps of its own frames, beside the native one (runtime/runtime.h).
 * Which runtime the process has says s->runtime; its folder's bpf/walk.h has for it
 *
 *   NAME_begin(s, process, known)   begins a walk: finds the thread, and what its youngest frame is
 *   NAME_go_on(s)                   walks: to the end, or, then it is true, as long as there is time (time.h)
 *
 * Before, the caller has set the fields of struct second_walk (scratch.h) that say which thread it is; `known` is where
 * an earlier sample found that, or 0. NAME_begin() sets the others, and `done` where there is no frame to walk.
 *
 * Afterwards s->second_stack.frames holds second.count frames, innermost first, and second.loss is LOSS_NONE when the
 * oldest was reached. What a frame's `code` stands for was sent before (functions.h).
 */
#ifndef STRATA_BPF_SECOND_STACK_H
#define STRATA_BPF_SECOND_STACK_H

#include "bpf/functions.h"
#include "bpf/scratch.h"
#include "bpf/shim.h"
#include "bpf/tables.h"
#include "bpf/time.h"

#include "runtime_walks.inc"

#define SECOND_BEGIN(name)                                                                                             \
	if (process->runtime == RUNTIME_ID_##name)                                                                     \
		name##_begin(s, (const struct name##_process *)process, known);
#define SECOND_GO_ON(name)                                                                                             \
	if (process->runtime == RUNTIME_ID_##name)                                                                     \
		return name##_go_on(s);

static __always_inline void second_begin(struct scratch *s, const struct runtime_process *process, __u64 known)
{
	s->second.done = 1;
	s->second.thread = 0;
	s->second.count = s->second.loss = 0;
	SECOND_STACKS(SECOND_BEGIN)
}

/* True: it pauses. */
static __always_inline bool second_go_on(struct scratch *s, const struct runtime_process *process)
{
	SECOND_STACKS(SECOND_GO_ON)
	return false;
}

/* The id of the stack that was walked; 0: there are no frames. */
static __always_inline __u64 second_stack_id(const struct scratch *s)
{
	return s->second.count ? hash_mix(s->second.hash, 1 + s->second.loss) : 0;
}

#endif
