/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * tasks_parts: what the files of `tasks` share.
 *
 *   tasks_find.c   which tasks there are, and which run
 *   tasks_waits.c  what a task waits for, and what its callbacks will set
 *   tasks.c        each task, twice; who waits for whom
 */
#ifndef STRATA_PYTHON_TASKS_PARTS_H
#define STRATA_PYTHON_TASKS_PARTS_H

#include "base/table.h"
#include "runtime/python/tasks.h"

#define PY_CALLBACKS_MAX 256 /* of a future */
#define PY_NESTED_MAX    8   /* futures that wait for futures */

/* Where the fields of TaskObj are; PY_NO_OFFSET: it has none. */
struct task_layout {
	uint16_t version; /* up to this */
	uint16_t callback0, callbacks, state, waiter, coro, name;
	/* 3.14+, by AsyncioDebug */
	uint16_t awaited_by, awaited_by_is_set, node;
	uint32_t interp_head, thread_head, thread_running;
};

struct member {
	uint64_t task;
	bool running;
	uint64_t tstate; /* whose current task it is, if that is known */
};

/* The task's future or callback will set this one. */
struct edge {
	uint64_t future, task;
	const char *kind;
};

/* A process that is read. */
struct tasks_reading {
	struct py_reader reader;
	struct py_classes classes;
	const struct memory *memory;
	const struct python_interpreter *interpreter;
	uint64_t bias;
	struct task_layout layout;
	VEC(struct member) members;
	struct table by_id;   /* → index + 1 */
	VEC(uint64_t) states; /* thread states */
	VEC(struct edge) edges;
	VEC(uint64_t) waiters; /* of each task in the list: the future that it waits for */
	VEC(uint64_t) digests; /* and what was read of it (py_reader.digest) */
	struct runtime_tasks *ret;
	bool short_of_memory;
};

void tasks_limit(struct tasks_reading *reading, const char *words);

/* Fills in layout, members, states. False: there is no way to them. */
bool tasks_find(struct tasks_reading *reading);

static inline bool task_is_one(enum py_class class)
{
	return class == PY_CLASS_TASK || class == PY_CLASS_PLAIN_TASK;
}

/* What it waits for, by the chain of its functions. 0 or -ENOMEM. */
int task_explain(struct tasks_reading *reading, uint64_t waiter, const struct py_chain *chain,
		 struct runtime_task *task);

/* Adds what the callbacks of a future, a task's at first, will set; and the children of one that gathers. */
void task_follow(struct tasks_reading *reading, uint64_t task, uint64_t future, unsigned int depth);
void task_children(struct tasks_reading *reading, uint64_t gathering, uint64_t future, unsigned int depth);

/* An object in a list or tuple; false: there are not as many, or it cannot be read. */
struct py_array {
	uint64_t items, count;
};
bool py_array_read(struct tasks_reading *reading, uint64_t object, struct py_array *ret);

#endif
