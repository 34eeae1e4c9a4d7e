/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * merge: joins the native stack of a sample and its second stack, that of a runtime (runtime/runtime.h), into one
 * stack.
 *
 * The native walk records program counters. The walk of the second stack records functions, positions in them, and
 * which frames are entry frames: the outermost frame of each run of the interpreter loop. The two walks are
 * independent, so when one fails the other is still good. They are joined here, once for each distinct pair of stacks.
 *
 * Each native frame inside the interpreter loop (EVAL) ran one group of second frames: an entry frame, and the frames
 * it called without leaving the loop. Groups and loop frames are paired from the outermost inwards:
 *
 *   native  _start  main  Py_Run  EVAL  vectorcall  list_sort  EVAL   memcmp          (outermost first)
 *   second                        └ <module>, f                └ key
 *   merged  _start  main  Py_Run  <module> f  vectorcall  list_sort  key  memcmp
 *
 * The same thread a moment earlier: the loop was entered for `key`, but its second frame is not linked yet.
 *
 *   native  _start  main  Py_Run  EVAL  vectorcall  list_sort  EVAL
 *   second                        └ <module>, f
 *   from the root   _start  main  Py_Run  <module> f  vectorcall  list_sort  EVAL     right
 *   from the leaf   _start  main  Py_Run  EVAL  vectorcall  list_sort  <module> f     wrong: this stack never existed
 *
 * So pairing starts at the root, and an innermost loop frame without a group stays as it is. Pairing starts at the leaf
 * only if one of the walks did not reach its root. Any other disagreement is a loss, python-mismatch.
 *
 * Up to CPython 3.10 each Python frame has a loop frame of its own. From 3.11 on a call from Python to Python stays in
 * the loop. 3.11 marks entry frames with a flag; from 3.12 on there is a shim frame under each (enum py_entry,
 * runtime/python/abi.h). A mark alone is not trusted: a frame can be current without running in a loop, and the frame
 * of a loop can be stale (runtime/python/bpf/walk.h).
 *
 * Special cases:
 * - A group can stand for a loop without any frame (abi/events.h: SECOND_FRAME_EMPTY). It is paired like any other.
 * - The tail-call interpreter of CPython 3.14 runs each instruction in a function of its own, a handler, called by the
 *   loop's function. The two native frames are one run of the loop, and the handler's is left out. A handler without
 *   its loop's frame stands for the loop.
 * - Up to CPython 3.9 the innermost second frames may belong to another thread (SECOND_FRAME_UNSURE). In these versions
 *   each frame has a loop. So if they are this thread's there are as many loops as frames, or one more that is just
 *   being entered. Otherwise these frames are left out. If they cannot be counted, because a root is missing, all
 *   second frames are left out.
 * - The stack of a greenlet starts in the middle of a thread's. The frames further out belong to another greenlet and
 *   may have changed since. So the stack ends at the function that starts a greenlet (ROLE_START).
 * - While greenlets are being switched, the native stack may be one greenlet's and the second stack another's. Then
 *   the second frames are left out.
 *
 * Pure functions on plain arrays.
 */
#ifndef STRATA_ENGINE_MERGE_H
#define STRATA_ENGINE_MERGE_H

#include <stdbool.h>
#include <stdint.h>

#include "runtime/runtime.h"

struct merge_input {
	const uint32_t *native; /* innermost first; meaning is the caller's */
	const uint8_t *role;    /* enum runtime_role, of each native frame */
	uint32_t native_count;
	bool native_rooted;     /* the outermost frame is there */
	const uint32_t *second; /* innermost first */
	const bool *is_entry;   /* of each second frame */
	uint32_t second_count;
	uint32_t second_unsure; /* how many of the innermost are another thread's, unless there are loops for them */
	bool second_rooted;
};

struct merge_frame {
	bool second;
	uint32_t frame; /* the element of native[] or second[] */
};

struct merge_result {
	uint32_t count;         /* frames in `out`, outermost first */
	uint32_t unpaired_eval; /* loop frames without a group */
	uint32_t unpaired_groups;
	bool started;   /* frames outside the innermost ROLE_START were left out, whether all of them were there or not
			 */
	bool switching; /* between two greenlets: second frames were left out */
	bool entering;  /* the only unpaired loop frame is the innermost one: a call on its way in or out */
};

/* `out` has room for native_count + second_count frames. */
struct merge_result merge_stacks(const struct merge_input *input, struct merge_frame *out);

#endif
