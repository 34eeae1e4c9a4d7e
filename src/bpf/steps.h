/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * steps: steps of the native walk that belong to a runtime, whose frames are on the native stack or on several native
 * stacks. IN_STACKS lists these runtimes. A runtime's bpf/step.h defines
 *
 *   NAME_step(s, slot, &cfa)   a step by the rule in the memo's slot, of one of the kinds UNWIND_STEP(NAME, n). Returns
 *                              0 when it has moved to the caller; the result of native_end() when the walk has ended;
 *                              or STEP_CFA when it has only computed the CFA: then the rest of the rule is used as in
 *                              any other.
 *   NAME_step_generated(s)     called when the innermost frame is in code without a file. True when that is the
 *                              runtime's code, and it has moved to the caller.
 *   NAME_begin_steps(walk)     before the first step
 *   NAME_end_steps(s)          after the last one: it may cut the walk back to the frames that are certain
 */
#ifndef STRATA_BPF_STEPS_H
#define STRATA_BPF_STEPS_H

#include "abi/loss.h"
#include "abi/runtime_id.h"
#include "abi/unwind.h"
#include "bpf/mapping.h"
#include "bpf/scratch.h"

enum { STEP_CFA = 2 };

#include "runtime_steps.inc"

#define STEP_GENERATED(name) || name##_step_generated(s)
#define BEGIN_STEPS(name)    name##_begin_steps(walk);
#define END_STEPS(name)      name##_end_steps(s);
#define STEP_BY_RULE(name)                                                                                             \
	if (runtime == RUNTIME_ID_##name)                                                                              \
		return name##_step(s, slot, cfa);

static __always_inline int native_step_of_runtime(struct scratch *s, __u32 slot, __u32 kind, __u64 *cfa)
{
	__u32 runtime = (kind - UNWIND_STEPS) / UNWIND_STEPS_EACH;

	IN_STACKS(STEP_BY_RULE)
	return native_end(&s->native, LOSS_NO_RULE);
}

#endif
