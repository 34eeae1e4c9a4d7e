/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * steps: of the native walk through frames that runtimes have on the native stack, or on several native stacks:
 * IN_STACKS. A runtime's bpf/step.h has
 *
 *   NAME_step(s, slot, &cfa)   by the rule in the memo's slot, of one of the kinds UNWIND_STEP(NAME, n): moves to the
 *                              caller, and is 0; or ends the walk, by native_end(); or gives the CFA, and is STEP_CFA:
 *                              the rest of the rule is as in any other.
 *   NAME_step_generated(s)     where the innermost frame is in code that has no file: true when it was the runtime's,
 *                              and it has moved to the caller.
 *   NAME_begin_steps(walk)     before the first step
 *   NAME_end_steps(s)          after the last one: the walk may be taken back to where it is sure
 */
#ifndef STRATA_BPF_STEPS_H
#define STRATA_BPF_STEPS_H

#include "abi/loss.h"
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
