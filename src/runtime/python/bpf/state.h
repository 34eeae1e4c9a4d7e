/* SPDX-License-Identifier: GPL-2.0-or-later */
/* state: the state of the Python walk; included by bpf/scratch.h. */
#ifndef STRATA_RUNTIME_PYTHON_BPF_STATE_H
#define STRATA_RUNTIME_PYTHON_BPF_STATE_H

#include "runtime/python/abi.h"

#define PYTHON_WINDOW      PY_TSTATE_SPAN /* the thread state is read into it, then its frames */
#define PYTHON_FRAME_BYTES 128u           /* all fields of a frame that the walker reads are below this offset */
#define PYTHON_CODE_BYTES  256u
#define PYTHON_TABLE_PROBE 256u /* bytes of the line table that are part of a code object's identity */
#define PYTHON_MEMO        256u
#define PYTHON_LOOPS       32u  /* of the dict of event loops so many items are read, the newest ones */
#define PYTHON_TASKS       8u   /* tasks that are current at a time, of as many loops */
#define PYTHON_TASK_NAME   256u /* bytes of a task's name; the rest is cut off */

struct python_memo {
	__u64 code;
	__u64 sequence; /* of the sample in which the code object was looked at */
	__u64 id;
};

/* 3.11, 3.12: are the frames read so far known to belong to their loop? */
enum python_link {
	PYTHON_LINK_NEWEST, /* not yet: they are those of the newest _PyCFrame */
	PYTHON_LINK_OLDER,  /* not yet: they are those of a _PyCFrame before it */
	PYTHON_LINK_SURE
};

/* How a thread state belongs to a thread that may run on it: see python_consider(). */
enum python_rank {
	PYTHON_LENT = 1, /* another thread's */
	PYTHON_OWN
};

/*
 * `thread_id` is the thread's pthread_self(), `thread` its thread state. `told`: it was found through the thread's own
 * memory, or as the GIL's holder. `noted`: the key gave the thread its own thread state. `is_current`: it holds the
 * GIL.
 */
struct python_walk {
	SECOND_STACK_WALK(struct py_layout)
	__u64 frame;         /* address of the next frame to record */
	__u64 interp, found; /* while looking for the thread */
	__u64 interp_head, current_tstate; /* the process's (abi.h) */
	__u64 mark;          /* see python_goes_round() */
	__u64 base_frame;    /* 3.15: address of the frame that ends the chain; or 0 */
	__u64 outer; /* the youngest frame of the thread's other thread state, to be walked after this one's; or 0 */
	__u64 outer_base;                  /* its base_frame */
	__u64 outermost, outermost_interp; /* that thread state, while looking for the inner one; or 0 */
	__u64 inner; /* a thread state that belongs to the thread, whatever thread id it holds; or 0 */
	__u32 seeks_inner;
	__u32 keyless; /* the thread has no value under the key, and the key is known to be reliable */
	__u32 rank;    /* enum python_rank, of the inner ones that were found; or 0 */
	__u64 window_start, window_end;
	/* 3.11, 3.12: what `previous` of the next entry frame must be, and the _PyCFrame below that says so. */
	__u64 base, cframe;
	__u64 newest, previous; /* 3.11, 3.12: the newest _PyCFrame, and its `previous` */
	__u64 tried;            /* the last one that was tried as the one before it */
	/* The thread's data stack: its newest chunk, and the free part of that. */
	__u64 stack_chunk, stack_top, stack_limit;
	__u32 cframes;   /* base and cframe are kept */
	__u32 link;      /* enum python_link */
	__u32 group;     /* frames recorded since the last entry frame */
	__u32 cut;       /* frames were left out because their chain ended in the middle of a loop */
	__u32 tries;     /* how many were tried as the one before the newest _PyCFrame */
	__u32 tracing;   /* a Python trace function is running */
	__u32 unsure;    /* SECOND_FRAME_UNSURE while the frames may be another thread's; or 0 */
	__u64 far_frame; /* the last frame that was read outside of the window */
	__u8 window[PYTHON_WINDOW * 2 + 8];
	__u8 far[PYTHON_FRAME_BYTES * 2 + 8];
	__u64 code[PYTHON_CODE_BYTES / 8];
	__u64 table[2 + PYTHON_TABLE_PROBE / 8]; /* ob_size, ob_shash, bytes: what follows PyVarObject.ob_size */
	struct python_memo memo[PYTHON_MEMO];
	struct py_task_facts tasks;
	__u32 task_count;
	__u64 loops[PYTHON_LOOPS * 3]; /* hash, event loop, current task */
	__u64 task[PYTHON_TASKS];      /* the current ones */
	__u64 task_frame[PYTHON_TASKS]; /* of each, its coroutine's */
};

#endif
