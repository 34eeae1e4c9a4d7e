/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * follow: the stack of calls of each thread, built from records of calls that begin and end.
 *
 * A record names its frame. The record of a beginning also names the frame that called it (its parent). So a call is
 * put above its parent, and an end belongs to the call with its frame, whatever records were lost in between:
 *
 *   the parent is the innermost call             the usual case
 *   the parent is further out in the stack       the ends of the calls above it were not seen: they are closed,
 *                                                CALL_END_LOST
 *   the parent is in a stack that was put aside  a greenlet goes on: the stacks are exchanged
 *   the parent is not known                      a greenlet, a caller from before tracing began, or a lost record: the
 *                                                stack is put aside, and a new one begins
 *
 * Ends are treated in the same way. An end without a call is reported as such. A frame is identified by its address
 * together with that of its code object. A call is never put above another one that is not known to be its caller.
 *
 * Times. The time between two events of a thread is the own time of the call that is innermost then. A total is the sum
 * of own times. So it does not contain the time for which the stack was put aside. The time of a call that is not shown
 * (`--from`, `--match`, `--depth`) counts for the innermost call around it that is shown.
 */
#ifndef STRATA_CALLS_FOLLOW_H
#define STRATA_CALLS_FOLLOW_H

#include "base/table.h"
#include "base/vec.h"
#include "calls/functions.h"

#define THREAD_NAME    16   /* bytes of a comm, with its terminator */
#define PUT_ASIDE_MAX  8192 /* stacks of one thread; if there would be more, the calls of the new one are closed */
#define CALLS_DEEP_MAX 1000000

enum call_end {
	CALL_END_RETURN,
	CALL_END_YIELD,
	CALL_END_UNWIND, /* by an exception */
	CALL_END_LOST,   /* its end was not seen, but it is over */
	CALL_END_OPEN    /* it had not returned when the thread, or tracing, ended */
};

struct call {
	uint64_t frame, object;
	uint64_t slice;        /* when it began, or its stack was taken back; 0: it is put aside */
	uint64_t began, ended; /* CLOCK_MONOTONIC; ended: when it has */
	struct function *function;
	struct call_time own, within; /* within: of what it called */
	uint32_t level;               /* how many of the calls around it are shown */
	uint32_t below;     /* 1: --from's function, or the outermost one; 2: what it calls ...; 0: not within --from */
	int line, end_line; /* of its caller; its own; 0: not known */
	uint8_t kind;       /* enum rt_python_kind */
	bool is_shown;
	bool is_outermost; /* no other call of the function that is shown is around it */
};

struct call_stack {
	VEC(struct call) at;
	uint32_t told;   /* for the sink: how many calls it has printed, from the outermost one on */
	uint64_t id;     /* in its thread */
	uint64_t before; /* id of the stack to which the thread returns when this one ends; 0: none */
	uint32_t aside;  /* index of that one in `aside` */
};

struct calls_thread {
	uint32_t tid, tgid;
	char name[THREAD_NAME];
	uint32_t lane;                          /* the sink's */
	bool has_lost;                          /* records */
	uint64_t sequence, followed, wall, cpu; /* followed: the sequence of the record before the last one */
	uint64_t last_id;
	struct call_stack stack;      /* that it is on */
	VEC(struct call_stack) aside; /* an empty one is free */
	struct table aside_frames;    /* ─► index in `aside` */
	VEC(uint32_t) running;        /* by function: calls of it in the stack that are shown */
};

/* Called for what happens to calls that are shown. All but the first two may be NULL. */
struct call_sink {
	/* A call has begun, and is now the innermost one. */
	void (*began)(void *sink, struct calls_thread *thread, struct call *call);
	/* A call has ended; it is no longer in the stack. */
	void (*ended)(void *sink, struct calls_thread *thread, const struct call *call, enum call_end how);
	/* The stack of a call is put aside; the call is still in it. */
	void (*paused)(void *sink, struct calls_thread *thread, const struct call *call);
	/* An end without a beginning. `lost`: records of the thread were lost, perhaps this call's beginning. */
	void (*unseen)(void *sink, struct calls_thread *thread, const struct function *function, uint64_t time,
		       enum call_end how, bool lost);
	/* A number of the thread's records before this time are missing. */
	void (*lost)(void *sink, struct calls_thread *thread, uint64_t time, uint64_t count);
};

struct follow_options {
	bool has_from;
	uint32_t depth; /* 0: any */
};

struct follow {
	struct follow_options options;
	const struct call_sink *sink; /* NULL: only the sums in struct function are kept */
	void *of_sink;
	VEC(struct calls_thread *) threads;
	struct table by_tid; /* ─► index */
	uint64_t lost, repaired, unseen, memory;
};

void follow_init(struct follow *follow, const struct follow_options *options, const struct call_sink *sink,
		 void *of_sink);
void follow_deinit(struct follow *follow);

/* One record, of this function. */
void follow_record(struct follow *follow, const struct rt_call *record, struct function *function);

/* Tracing has ended at this time of CLOCK_MONOTONIC: closes what is open. */
void follow_end(struct follow *follow, uint64_t now);

static inline uint64_t call_total(const struct call *call)
{
	return call->own.wall + call->within.wall;
}

#endif
