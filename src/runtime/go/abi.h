/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Go's steps in unwind tables: rules for its functions that change stacks. switch.h makes them, bpf/step.h executes
 * them.
 */
#ifndef STRATA_RUNTIME_GO_ABI_H
#define STRATA_RUNTIME_GO_ABI_H

#include "abi/runtime_id.h"
#include "abi/unwind.h"

enum go_step {
	GO_SYSTEMSTACK =
		UNWIND_STEP(go, 0),        /* the caller is on the goroutine's stack, CFA = [curg + sched_sp] + frame */
	GO_MORESTACK = UNWIND_STEP(go, 1), /* the same, and the caller stands at [curg + sched_sp + 8], SP as saved */
	GO_CALLBACK = UNWIND_STEP(go, 2), /* a goroutine called by C, which is on g0's: CFA = [g0 + sched_sp] + frame */
	GO_CCALL = UNWIND_STEP(go, 3), /* the C part of a call: g = [SP + m]; CFA = g's stack.hi - [SP + to] + frame */
	GO_VDSO = UNWIND_STEP(go, 4),  /* the vDSO, called on another stack: CFA = [m + to] + frame */
	GO_REGISTER = UNWIND_STEP(go, 5), /* SP as it was before is in register `m`: CFA = that + frame */
	GO_SCHEDULE = UNWIND_STEP(go, 6), /* as UNWIND_SP: the scheduler, which has left the goroutine that it was
					     called by; a struct unwind_rule */
};

/*
 * The eight bytes of a struct unwind_rule, for Go's functions that change stacks. All numbers are in words. A thread's
 * g is at its thread pointer + `thread`; g's m at g + `m`; that one's curg, g0 or vdsoSP at m + `to`; sched.sp at g +
 * `sp`. FP is at CFA - 16 if the frame has more than the return address.
 */
struct go_rule {
	__s16 thread;
	__u8 m, to, sp;
	__u8 frame;
	__u8 kind; /* enum go_step */
	__u8 got;  /* not 0: `thread` is a word's number, as below */
};
ABI_ASSERT_SIZE(struct go_rule, sizeof(struct unwind_rule));

/*
 * In a shared library only the loader knows where g is, and stores it in a word: that word's offset from the table's
 * base.
 */
#define GO_GOT_MAX        (0xffu << 16)
#define GO_GOT(go)        ((__u32)((go)->got - 1) << 16 | (__u16)(go)->thread)
#define GO_GOT_HIGH(word) ((__u8)(((word) >> 16) + 1))

#endif
