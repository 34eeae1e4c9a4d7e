/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * tasks_parts: what the files of `tasks` share; no other file includes it.
 *
 *   tasks_find.c   finds the tasks, and which of them run; and for the kernel part, where it finds these
 *   tasks_waits.c  finds what a task waits for, and what its callbacks will set
 *   tasks.c        reads each task twice, and joins who awaits whom
 */
#ifndef STRATA_PYTHON_TASKS_PARTS_H
#define STRATA_PYTHON_TASKS_PARTS_H

#include "base/table.h"
#include "runtime/python/tasks.h"

#define PY_CALLBACKS_MAX 256 /* of a future */
#define PY_NESTED_MAX    8   /* futures that wait for futures */

/* Offsets of the fields of TaskObj, in bytes; PY_NO_OFFSET: there is no such field. */
struct task_layout {
	uint16_t version; /* the last version that has this layout */
	uint16_t callback0, callbacks, state, waiter, coro, name;
	/* 3.14+, from AsyncioDebug */
	uint16_t awaited_by, awaited_by_is_set, node;
	uint32_t interp_head, thread_head, thread_running;
};

struct member {
	uint64_t task;
	bool running;
	uint64_t tstate; /* whose current task it is, if that is known */
};

/* A future that the end of a task will set, by a callback: who awaits the future awaits the task. */
struct edge {
	uint64_t future, task;
	const char *kind;
};

/* The state of reading one process. */
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

/* Fills in layout, members, states. False: the tasks of this process cannot be found. */
bool tasks_find(struct tasks_reading *reading);

static inline bool task_is_one(enum py_class class)
{
	return class == PY_CLASS_TASK || class == PY_CLASS_PLAIN_TASK;
}

/* Says what a task waits for, by the functions in its chain. 0 or -ENOMEM. */
int task_explain(struct tasks_reading *reading, uint64_t waiter, const struct py_chain *chain,
		 struct runtime_task *task);

/*
 * Adds the futures that the callbacks of a future will set (at first, of a task); and the children of a gathering
 * future.
 */
void task_follow(struct tasks_reading *reading, uint64_t task, uint64_t future, unsigned int depth);
void task_children(struct tasks_reading *reading, uint64_t gathering, uint64_t future, unsigned int depth);

/* The items of a list or tuple. False: it is neither, or cannot be read. */
struct py_array {
	uint64_t items, count;
};
bool py_array_read(struct tasks_reading *reading, uint64_t object, struct py_array *ret);

#endif
