/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * merge: joins the native and the Python walk of a sample into one true stack.
 *
 * The native walk records program counters. The Python walk records code objects, instruction offsets, and which
 * frames are entry frames: the outermost frame of each run of the interpreter loop. The two walks know nothing of each
 * other, so when one fails the other is still good. They are joined here, once for each distinct pair of stacks.
 *
 * Each native frame inside the interpreter loop (EVAL) ran one group of Python frames: an entry frame, and the frames
 * it called without leaving the loop. Groups and loop frames are paired from the outermost inwards:
 *
 *   native  _start  main  Py_Run  EVAL  vectorcall  list_sort  EVAL   memcmp          (outermost first)
 *   Python                        └ <module>, f                └ key
 *   merged  _start  main  Py_Run  <module> f  vectorcall  list_sort  key  memcmp
 *
 * The same thread a moment earlier: the loop was entered for `key`, but its Python frame is not linked yet.
 *
 *   native  _start  main  Py_Run  EVAL  vectorcall  list_sort  EVAL
 *   Python                        └ <module>, f
 *   from the root   _start  main  Py_Run  <module> f  vectorcall  list_sort  EVAL     right
 *   from the leaf   _start  main  Py_Run  EVAL  vectorcall  list_sort  <module> f     wrong: this stack never existed
 *
 * So pairing starts at the root, and an innermost loop frame without a group stays as it is. Pairing starts at the
 * leaf only when one of the walks did not reach its root. Any other disagreement is a loss, python-mismatch.
 *
 * Up to Python 3.10 each Python frame has a loop frame of its own. From 3.11 on a call from Python to Python stays in
 * the loop. 3.11 marks entry frames with a flag; from 3.12 on there is a shim frame under each (enum py_entry,
 * abi/python.h). A mark alone is not trusted: a frame can be current without running in a loop, and a loop's frame can
 * be stale (bpf/python.h).
 *
 * Special cases:
 * - A group can stand for a loop without any frame (abi/events.h: PYTHON_FRAME_EMPTY). It is paired like any other.
 * - The tail-call interpreter of 3.14 runs each instruction in a function of its own, a handler, called by the
 *   loop's function. The two native frames are one run of the loop, and the handler's is left out. A handler without
 *   its loop's frame stands for the loop.
 * - Up to 3.9 the innermost Python frames may belong to another thread (PYTHON_FRAME_UNSURE). There each frame has a
 *   loop, so if they are this thread's there are as many loops as frames, or one more that is just being entered.
 *   Otherwise these frames are left out. If they cannot be counted, because a root is missing, all Python frames are
 *   left out.
 * - A greenlet's stack starts in the middle of a thread's. What lies further out belongs to another greenlet and may
 *   have changed since. So the stack ends at the function that starts a greenlet (MERGE_START).
 * - While greenlets are being switched, the native stack may be one greenlet's and the Python state another's. Then
 *   the Python frames are left out.
 *
 * Pure functions on plain arrays.
 */
#ifndef STRATA_ENGINE_MERGE_H
#define STRATA_ENGINE_MERGE_H

#include <stdbool.h>
#include <stdint.h>

enum merge_role {
	MERGE_NATIVE,
	MERGE_LOOP,
	MERGE_HANDLER,
	/* Starts a greenlet; in the greenlet that starts it, too, before the switch: it then has no loop inwards. */
	MERGE_SWITCH, /* switches from one greenlet to another */
	MERGE_START
};

struct merge_input {
	const uint32_t *native; /* innermost first; meaning is the caller's */
	const uint8_t *role;    /* enum merge_role, of each native frame */
	uint32_t native_count;
	bool native_rooted;     /* the outermost frame is there */
	const uint32_t *python; /* innermost first */
	const bool *is_entry;   /* of each Python frame */
	uint32_t python_count;
	uint32_t python_unsure; /* how many of the innermost are another thread's, unless there are loops for them */
	bool python_rooted;
};

struct merge_frame {
	bool python;
	uint32_t frame; /* the element of native[] or python[] */
};

struct merge_result {
	uint32_t count;         /* frames in `out`, outermost first */
	uint32_t unpaired_eval; /* loop frames without a group */
	uint32_t unpaired_groups;
	bool started;   /* frames outside the innermost MERGE_START were left out, whether all of them were there or not
			 */
	bool switching; /* between two greenlets: Python frames were left out */
	bool entering;  /* the only unpaired loop frame is the innermost one: a call on its way in or out */
};

/* `out` has room for native_count + python_count frames. */
struct merge_result merge_stacks(const struct merge_input *input, struct merge_frame *out);

#endif
