/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * merge: one true stack out of the native and the Python walk of a sample.
 *
 * Every frame of the interpreter loop on the native stack ran one group of Python frames: an entry frame and the
 * frames that it called without leaving the loop (from 3.11 on; before, every group has one frame). Groups and loop
 * frames are paired from the outermost inwards:
 *
 *   native  _start  main  Py_Run  EVAL  vectorcall  list_sort  EVAL   memcmp          (outermost first)
 *   Python                        └ <module>, f                └ key
 *   merged  _start  main  Py_Run  <module> f  vectorcall  list_sort  key  memcmp
 *
 * A group may stand for a loop without any frame (abi/events.h: PYTHON_FRAME_EMPTY); it is paired like any other.
 * The tail-call interpreter of 3.14 runs each instruction in a function of its own, a handler, called by the loop's:
 * the two frames are one run of the loop. A handler's frame under its loop's is left out; one that has none stands for
 * the loop. Because the pairing starts at the root, a sample taken while a call is entering or leaving (the innermost
 * loop frame has no Python frame yet, or none any more) leaves that one loop frame as it is, and shifts nothing. Only
 * when a walk did not reach its root, pairing starts at the innermost.
 *
 * Up to 3.9 the innermost Python frames may turn out to be another thread's (abi/events.h: PYTHON_FRAME_UNSURE). There
 * each frame has a loop: with all of them there are as many loops, or one more that is entering, or they are left out.
 * Where that cannot be counted, because a root is missing, all Python frames are.
 *
 * A greenlet's stack starts in the middle of a thread's: what lies further out is whatever another greenlet has there
 * now, and none of it is in the Python walk. So the stack ends at the frame that starts a greenlet, which is its root.
 * And while greenlets are being switched, the native stack may be the one's and Python's the other's: then there is
 * nothing to pair, and the Python frames are left out.
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
