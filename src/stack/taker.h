/* SPDX-License-Identifier: GPL-2.0-or-later */
/* taker: what is known while stacks are taken. For stack.c, which takes them, and fill.c, which names their frames. */
#ifndef STRATA_STACK_TAKER_H
#define STRATA_STACK_TAKER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/table.h"
#include "base/vec.h"
#include "engine/watch.h"
#include "kernel/tasks.h"
#include "stack/freeze.h"
#include "stack/stack.h"

enum answer {
	ANSWER_NONE,
	ANSWER_WALKED, /* its stack is in the store */
	ANSWER_SAMPLED,
	ANSWER_GONE
};

/* A thread that is looked at. */
struct thread {
	int pid, tid;
	enum answer answer;
	unsigned int unread;         /* samples that met a page that could not be read at that moment */
	uint64_t doubted;            /* when its first sample came that did not reach the end; 0: none */
	unsigned int learning;       /* so many samples in a row shall be whole, of which nothing is kept (learn()) */
	bool current;                /* the runtime calls it its current thread */
	struct task_event *task;     /* as it was when it was walked, its own copy; NULL: never was */
	struct sample_event last;    /* of the last walk; `time` 0: there was none */
	uint64_t switches;           /* before it */
	bool walked;                 /* in this round */
	bool kept;                   /* though it did not hold still */
	bool held, ran;              /* it was stopped when that walk began; it was on a CPU before */
	bool seen, still;            /* in this round's second reading: it is there, and has not run since */
	struct watch_locals *locals; /* of the last walk */
	size_t locals_count;
};

struct taker {
	const struct stack_options *options;
	struct tasks *tasks;
	struct sampler *sampler;
	struct sideband *sideband;
	struct watch *watch;
	struct profile *profile;
	struct task_list list;
	VEC(struct thread) threads;
	struct table by_tid;            /* → index + 1 */
	struct stack_runtime *runtimes; /* of each process */
	struct freeze freeze;
	struct runtime_tasks *coroutines; /* of each process, too */
	double *frozen_ms;                /* of each process, */
	bool *moved;                      /* and whether some thread ran all the same */
	uint64_t until;                   /* CLOCK_MONOTONIC, ns: when a round stops that holds threads */
	uint64_t locals_until;            /* the same, for reading variables */
	size_t open;                      /* threads without an answer */
	bool sampling;
};

/* The result, of all that was taken. 0 or -ENOMEM. */
int taker_fill(struct taker *taker, struct stacks *ret);

#endif
