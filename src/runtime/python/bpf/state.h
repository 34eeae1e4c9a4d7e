/* SPDX-License-Identifier: GPL-2.0-or-later */
/* state: what the Python walk keeps: part of bpf/scratch.h, which includes it. */
#ifndef STRATA_RUNTIME_PYTHON_BPF_STATE_H
#define STRATA_RUNTIME_PYTHON_BPF_STATE_H

#include "runtime/python/abi.h"

#define PYTHON_WINDOW      PY_TSTATE_SPAN /* the thread state is read into it, then its frames */
#define PYTHON_FRAME_BYTES 128u           /* every field of a frame that the walker reads lies below */
#define PYTHON_CODE_BYTES  256u
#define PYTHON_TABLE_PROBE 256u /* bytes of the line table that take part in a code object's identity */
#define PYTHON_MEMO        256u

struct python_memo {
	__u64 code;
	__u64 sequence; /* of the sample in which the code object was looked at */
	__u64 id;
};

/* 3.11, 3.12: whether the frames read so far are known to be those of their loop. */
enum python_link {
	PYTHON_LINK_NEWEST, /* not yet: those that the newest _PyCFrame names */
	PYTHON_LINK_OLDER,  /* not yet: those that one before it names */
	PYTHON_LINK_SURE
};

/* What a thread state is to a thread that may run on it: see python_consider(). */
enum python_rank {
	PYTHON_LENT = 1, /* another thread's */
	PYTHON_OWN
};

/*
 * `thread_id` is the thread's pthread_self(), `thread` its thread state; `told`: the thread's own memory, or the GIL's
 * holder, tells it; `noted`: the key gave the thread its own thread state; `is_current`: it has the GIL.
 */
struct python_walk {
	SECOND_STACK_WALK(struct py_layout)
	__u64 frame;         /* address of the next frame to record */
	__u64 interp, found; /* while looking for the thread */
	__u64 mark;          /* see python_goes_round() */
	__u64 base_frame;    /* 3.15: what the chain ends with; or 0 */
	__u64 outer;         /* the youngest frame of the thread's other thread state, to come after this one's; or 0 */
	__u64 outer_base;    /* its base_frame */
	__u64 outermost, outermost_interp; /* that thread state, while looking for the inner one; or 0 */
	__u64 inner;                       /* a thread state that is the thread's whatever its name; or 0 */
	__u32 seeks_inner;
	__u32 keyless; /* the thread has none under it, and the key is known to hold */
	__u32 rank;    /* enum python_rank, of the inner ones that were found; or 0 */
	__u64 window_start, window_end;
	/* 3.11, 3.12: what the next entry frame must call its previous one, and the _PyCFrame below that which says so.
	 */
	__u64 base, cframe;
	__u64 newest, previous; /* 3.11, 3.12: the newest _PyCFrame, and which one it calls its previous one */
	__u64 tried;            /* the last one that was taken for the one before it */
	/* The thread's data stack: its newest chunk, and the free part of that. */
	__u64 stack_chunk, stack_top, stack_limit;
	__u32 cframes;   /* base and cframe are kept */
	__u32 link;      /* enum python_link */
	__u32 group;     /* frames recorded since the last entry frame */
	__u32 cut;       /* frames were left out because their chain ended in the midst of a loop */
	__u32 tries;     /* how many were taken for the one before the newest _PyCFrame */
	__u32 tracing;   /* a trace function of Python's runs */
	__u32 unsure;    /* SECOND_FRAME_UNSURE while the frames may be another thread's; or 0 */
	__u64 far_frame; /* the last frame that was read apart from the window */
	__u8 window[PYTHON_WINDOW * 2 + 8];
	__u8 far[PYTHON_FRAME_BYTES * 2 + 8];
	__u64 code[PYTHON_CODE_BYTES / 8];
	__u64 table[2 + PYTHON_TABLE_PROBE / 8]; /* ob_size, ob_shash, bytes: what follows PyVarObject.ob_size */
	struct python_memo memo[PYTHON_MEMO];
};

#endif
