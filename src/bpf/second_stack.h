/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * second_stack: walks the stack that a runtime keeps of its own frames, beside the native one (runtime/runtime.h).
 * s->runtime says which runtime the process has. The bpf/walk.h in its folder defines
 *
 *   NAME_begin(s, process, known)   begins a walk: finds the thread and its youngest frame
 *   NAME_go_on(s)                   walks on to the end; true: it pauses, because its time is over (time.h)
 *
 * The caller first sets the fields of struct second_walk (scratch.h) that identify the thread. `known` is where an
 * earlier sample found the thread, or 0. NAME_begin() sets the other fields, and sets `done` if there is no frame to
 * walk.
 *
 * Afterwards s->second_stack.frames holds second.count frames, innermost first, and second.loss is LOSS_NONE when the
 * oldest was reached. The functions that their `code` names were sent before (functions.h).
 */
#ifndef STRATA_BPF_SECOND_STACK_H
#define STRATA_BPF_SECOND_STACK_H

#include "abi/runtime_id.h"
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
