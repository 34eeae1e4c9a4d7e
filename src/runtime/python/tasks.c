// SPDX-License-Identifier: GPL-2.0-or-later
#include "runtime/python/tasks.h"

#include <stdlib.h>
#include <string.h>

#include "arch/arch.h"
#include "runtime/python/tasks_parts.h"

#define ROUNDS        3          /* until all tasks are the same in two readings */
#define PAGES_KEPT    1024       /* of the process, in one reading */
#define FRAMES_MAX    4096       /* of a thread, in which a running task's are looked for */
#define AWAITED_MAX   1024       /* tasks that wait for one */
#define LINK_WORK_MAX (1u << 26) /* comparisons, to tell who waits for whom */
#define AWAITED_WORDS "more tasks wait for one than are read"
#define NO_TIME_WORDS "there was no time for all tasks"

void tasks_limit(struct tasks_reading *reading, const char *words)
{
	size_t i;

	for (i = 0; i < reading->ret->limits.count; i++)
		if (!strcmp(reading->ret->limits.at[i], words))
			return;
	if (vec_push(&reading->ret->limits, words))
		reading->short_of_memory = true;
}

/* A fresh look at the process: pages that were read before are read again. */
static bool look_anew(struct tasks_reading *reading, struct memory_pages **pages, struct memory *memory)
{
	memory_pages_destroy(*pages);
	*pages = memory_pages_create(reading->memory, PAGES_KEPT);
	if (!*pages) {
		reading->short_of_memory = true;
		return false;
	}
	*memory = memory_of_pages(*pages);
	reading->reader.memory = memory;
	return true;
}

/* --- one task --- */

/* The fields of a task of C code, or of Python's own. */
struct fields {
	uint64_t coro, waiter, name, awaited_by;
	bool done, several; /* awaited_by is a set */
};

static bool read_fields(struct tasks_reading *reading, uint64_t task, struct fields *ret)
{
	const struct task_layout *layout = &reading->layout;
	struct py_reader *reader = &reading->reader;
	struct py_text text;
	const struct py_type *type;
	uint32_t state;
	uint8_t several = 0;

	*ret = (struct fields){};
	if (py_class_of(reader, &reading->classes, task) == PY_CLASS_PLAIN_TASK) {
		ret->coro = py_attribute(reader, task, "_coro");
		ret->waiter = py_attribute(reader, task, "_fut_waiter");
		ret->name = py_attribute(reader, task, "_name");
		ret->done = py_read_str(reader, py_attribute(reader, task, "_state"), &text) &&
			    strcmp(text.bytes, "PENDING");
	} else {
		if (!py_read(reader, &state, sizeof(state), task + layout->state) ||
		    !py_read_u64(reader, task + layout->waiter, &ret->waiter) ||
		    !py_read_u64(reader, task + layout->coro, &ret->coro) ||
		    (layout->name != PY_NO_OFFSET && !py_read_u64(reader, task + layout->name, &ret->name)) ||
		    (layout->awaited_by != PY_NO_OFFSET &&
		     (!py_read_u64(reader, task + layout->awaited_by, &ret->awaited_by) ||
		      !py_read(reader, &several, sizeof(several), task + layout->awaited_by_is_set))))
			return false;
		ret->done = state; /* PENDING is 0 */
		ret->several = several;
	}
	type = py_type_of(reader, ret->waiter);
	if (type && type->kind == PY_NONE)
		ret->waiter = 0;
	return ret->coro;
}

/* From 3.12 on a name that nobody gave is a number until somebody asks for it. */
static int read_name(struct tasks_reading *reading, uint64_t object, struct runtime_task *task)
{
	const struct py_type *type = py_type_of(&reading->reader, object);
	struct py_text text, number;

	if (type && type->kind == PY_INT) {
		text = (struct py_text){};
		py_repr(&reading->reader, object, &number);
		py_text_add(&text, "Task-");
		py_text_add(&text, number.bytes);
	} else if (!py_read_str(&reading->reader, object, &text)) {
		return 0;
	}
	task->name = strdup(text.bytes);
	return task->name ? 0 : -ENOMEM;
}

static void add_awaited_by(struct tasks_reading *reading, struct runtime_task *task, uint64_t by)
{
	size_t i;

	if (!by || by == task->id || !table_get(&reading->by_id, by, NULL))
		return;
	for (i = 0; i < task->awaited_by.count; i++)
		if (task->awaited_by.at[i] == by)
			return;
	if (task->awaited_by.count == AWAITED_MAX)
		tasks_limit(reading, AWAITED_WORDS);
	else if (vec_push(&task->awaited_by, by))
		reading->short_of_memory = true;
}

static void add_published(struct tasks_reading *reading, const struct fields *fields, struct runtime_task *task)
{
	struct py_set_items items;
	uint64_t key;

	if (!fields->awaited_by)
		return;
	if (!fields->several) {
		add_awaited_by(reading, task, fields->awaited_by);
		return;
	}
	if (!py_set_begin(&reading->reader, fields->awaited_by, 16 * AWAITED_MAX, &items))
		return;
	if (items.mask >= items.places)
		tasks_limit(reading, AWAITED_WORDS);
	while (py_set_next(&reading->reader, &items, &key))
		add_awaited_by(reading, task, key);
}

/* The thread state's innermost frame. */
static bool read_innermost(struct tasks_reading *reading, uint64_t tstate, uint64_t *ret)
{
	const struct py_layout *layout = reading->reader.layout;

	return py_read_u64(&reading->reader, tstate + layout->tstate_frame, ret) &&
	       (!*ret || layout->cframe_current == PY_NO_OFFSET ||
		py_read_u64(&reading->reader, *ret + layout->cframe_current, ret));
}

/* Whether a frame stands for a function: from 3.12 on there are others between them. */
static bool is_function(struct tasks_reading *reading, uint64_t frame)
{
	const struct py_layout *layout = reading->reader.layout;
	uint8_t owner;

	return layout->entry != PY_ENTRY_SHIM ||
	       (py_read(&reading->reader, &owner, sizeof(owner), frame + layout->frame_entry) &&
		owner < layout->shim_owner);
}

/* The frames of a thread inwards of one of them, that one included. False: it is not the thread's. */
static bool read_thread(struct tasks_reading *reading, uint64_t tstate, uint64_t outermost, struct py_chain *chain)
{
	const struct py_layout *layout = reading->reader.layout;
	VEC(uint64_t) frames = {};
	uint64_t frame, i;
	size_t steps;
	bool found = false;

	if (!read_innermost(reading, tstate, &frame))
		return false;
	for (steps = 0; frame && !found && steps < FRAMES_MAX; steps++) {
		if (is_function(reading, frame) && vec_push(&frames, frame)) {
			reading->short_of_memory = true;
			break;
		}
		found = frame == outermost;
		if (!found && !py_read_u64(&reading->reader, frame + layout->frame_back, &frame))
			break;
	}
	for (i = frames.count; found && i > 0; i--)
		if (py_chain_add(&reading->reader, frames.at[i - 1], chain))
			reading->short_of_memory = true;
	vec_free(&frames);
	return found;
}

/* The id of a thread state's thread, by its pthread_self(). */
static uint32_t thread_of(struct tasks_reading *reading, uint64_t tstate)
{
	const struct arch_descriptor *d;
	uint64_t thread, self;
	uint32_t tid;

	if (!py_read_u64(&reading->reader, tstate + reading->reader.layout->tstate_thread_id, &thread))
		return 0;
	for (d = arch_here()->descriptors; d->tid; d++)
		if (py_read_u64(&reading->reader, thread + d->self, &self) && self == thread &&
		    py_read(&reading->reader, &tid, sizeof(tid), thread + d->tid))
			return tid;
	return 0;
}

/* A running task's functions are on the stack of a thread; others are between its coroutines there. */
static void read_running(struct tasks_reading *reading, const struct py_chain *chain, struct runtime_task *task,
			 struct py_chain *ret)
{
	size_t i;

	for (i = 0; chain->outermost && i < reading->states.count; i++) {
		uint64_t tstate = reading->states.at[i];

		if (!read_thread(reading, tstate, chain->outermost, ret))
			continue;
		task->thread = thread_of(reading, tstate);
		return;
	}
}

/* The chain has the outermost first. */
static int take_frames(struct py_chain *chain, struct runtime_task *task)
{
	size_t i;

	if (vec_reserve(&task->frames, chain->frames.count))
		return -ENOMEM;
	for (i = chain->frames.count; i > 0; i--)
		task->frames.at[task->frames.count++] = chain->frames.at[i - 1];
	chain->frames.count = 0;
	return 0;
}

/* False: it is done, or was not read. */
static bool read_task(struct tasks_reading *reading, const struct member *member, struct runtime_task *task,
		      uint64_t *waiter)
{
	struct py_chain chain = {}, running = {};
	struct fields fields;
	int err;

	*task = (struct runtime_task){.id = member->task, .fd = -1};
	if (!read_fields(reading, member->task, &fields) || fields.done)
		return false;
	*waiter = fields.waiter;
	err = read_name(reading, fields.name, task);
	if (!err)
		err = py_chain_read(&reading->reader, &reading->classes, fields.coro, &chain);
	if (err) {
		reading->short_of_memory = true;
		py_chain_deinit(&chain);
		return true;
	}
	add_published(reading, &fields, task);
	if (member->running || chain.state == PY_COROUTINE_RUNS)
		read_running(reading, &chain, task, &running);
	/* It may have been the current one a moment ago. */
	if (running.frames.count || chain.state == PY_COROUTINE_RUNS || (member->running && !chain.outermost))
		task->state = RUNTIME_TASK_RUNNING;
	else if (fields.waiter)
		task->state = RUNTIME_TASK_WAITING;
	if (task->state == RUNTIME_TASK_WAITING && task_explain(reading, fields.waiter, &chain, task))
		reading->short_of_memory = true;
	if (take_frames(running.frames.count ? &running : &chain, task))
		reading->short_of_memory = true;
	py_chain_deinit(&chain);
	py_chain_deinit(&running);
	task_follow(reading, member->task, member->task, 0);
	if (fields.waiter && py_class_of(&reading->reader, &reading->classes, fields.waiter) == PY_CLASS_GATHERING)
		task_children(reading, fields.waiter, fields.waiter, 0);
	return true;
}

static int read_member(struct tasks_reading *reading, const struct member *member)
{
	struct runtime_task task = {};
	struct py_reader *reader = &reading->reader;
	uint64_t waiter = 0;
	size_t edges = reading->edges.count;
	bool read;

	reader->digest = 1;
	read = read_task(reading, member, &task, &waiter);
	if (!read) {
		runtime_task_deinit(&task);
		reading->edges.count = edges;
		return 0;
	}
	if (vec_push(&reading->ret->list, task)) {
		runtime_task_deinit(&task);
		return -ENOMEM;
	}
	return vec_push(&reading->waiters, waiter) ?: vec_push(&reading->digests, reader->digest);
}

/* Whether it is still as it was. */
static bool is_same(struct tasks_reading *reading, size_t index, const struct member *member)
{
	size_t edges = reading->edges.count;
	struct runtime_task task = {};
	uint64_t waiter;

	reading->reader.digest = 1;
	read_task(reading, member, &task, &waiter);
	runtime_task_deinit(&task);
	reading->edges.count = edges;
	return reading->reader.digest == reading->digests.at[index];
}

/* --- who waits for whom --- */

static struct runtime_task *task_of(struct tasks_reading *reading, const struct table *places, uint64_t id)
{
	uint64_t at;

	return table_get(places, id, &at) ? &reading->ret->list.at[at - 1] : NULL;
}

/* Whether there is work left to add one that waits for a task: it is compared with those that are known. */
static bool may_link(struct tasks_reading *reading, const struct runtime_task *task, uint64_t *work)
{
	if (*work < 1 + task->awaited_by.count) {
		tasks_limit(reading, "tasks wait for each other in more ways than are followed");
		return false;
	}
	*work -= 1 + task->awaited_by.count;
	return true;
}

/* `awaiting` waits for `future`, which the callback of `task` will set. */
static void link_edge(struct tasks_reading *reading, struct runtime_task *task, struct runtime_task *awaiting,
		      const char *kind)
{
	add_awaited_by(reading, task, awaiting->id);
	if (awaiting->waits_for && !strcmp(awaiting->waits_for, "future")) {
		awaiting->waits_for = kind;
		if (!strcmp(kind, "shield"))
			awaiting->awaits = task->id;
	}
}

/*
 * Only what is consistent is believed: an address may mean another future a moment later. Tasks that wait for the same
 * future are in a list: `first` leads to its first, next[] to the others.
 */
static int link_tasks(struct tasks_reading *reading)
{
	struct runtime_tasks *tasks = reading->ret;
	struct table places = {}, first = {};
	uint64_t *next = calloc(tasks->list.count + 1, sizeof(*next)), at, work = LINK_WORK_MAX;
	struct runtime_task *task;
	size_t i;
	int err = next ? 0 : -ENOMEM;

	for (i = 0; !err && i < tasks->list.count; i++) {
		if (!tasks->list.at[i].consistent) {
			tasks->list.at[i].awaited_by.count = 0;
			tasks->list.at[i].awaits = 0;
			continue;
		}
		err = table_set(&places, tasks->list.at[i].id, i + 1);
		if (err || !reading->waiters.at[i])
			continue;
		table_get(&first, reading->waiters.at[i], &next[i]);
		err = table_set(&first, reading->waiters.at[i], i + 1);
	}
	for (i = 0; !err && i < tasks->list.count; i++) {
		task = tasks->list.at[i].awaits ? task_of(reading, &places, tasks->list.at[i].awaits) : NULL;
		if (task)
			add_awaited_by(reading, task, tasks->list.at[i].id);
	}
	for (i = 0; !err && i < reading->edges.count; i++) {
		const struct edge *edge = &reading->edges.at[i];

		task = task_of(reading, &places, edge->task);
		if (!task)
			continue;
		if (!may_link(reading, task, &work))
			break;
		add_awaited_by(reading, task, edge->future); /* of a TaskGroup: it is a task */
		if (!table_get(&first, edge->future, &at))
			continue;
		for (; at && may_link(reading, task, &work); at = next[at - 1])
			link_edge(reading, task, &tasks->list.at[at - 1], edge->kind);
	}
	table_deinit(&places);
	table_deinit(&first);
	free(next);
	return err;
}

static void forget(struct tasks_reading *reading)
{
	size_t i;

	for (i = 0; i < reading->ret->list.count; i++)
		runtime_task_deinit(&reading->ret->list.at[i]);
	reading->ret->list.count = reading->ret->limits.count = 0;
	reading->edges.count = reading->waiters.count = reading->digests.count = 0;
}

static void find(struct tasks_reading *reading)
{
	reading->members.count = reading->states.count = 0;
	table_deinit(&reading->by_id);
	reading->by_id = (struct table){};
	reading->reader.digest = 1;
	reading->ret->known = tasks_find(reading);
}

/* The first reading. */
static int read_members(struct tasks_reading *reading)
{
	size_t i;
	int err = 0;

	for (i = 0; !err && i < reading->members.count; i++) {
		if (!reading->reader.effort->reads) {
			tasks_limit(reading, NO_TIME_WORDS);
			break;
		}
		err = read_member(reading, &reading->members.at[i]);
	}
	return err;
}

/* The second. Whether all are the same. What there was no time to compare is not known to be. */
static bool compare_members(struct tasks_reading *reading)
{
	size_t i, at = 0, moved = 0, unknown = 0;

	for (i = 0; i < reading->members.count && at < reading->ret->list.count; i++) {
		struct runtime_task *task = &reading->ret->list.at[at];

		if (reading->members.at[i].task != task->id)
			continue;
		task->consistent = is_same(reading, at++, &reading->members.at[i]);
		moved += !task->consistent && reading->reader.effort->reads;
		unknown += !task->consistent && !reading->reader.effort->reads;
	}
	if (moved)
		tasks_limit(reading, "some tasks changed while they were read");
	if (unknown)
		tasks_limit(reading, NO_TIME_WORDS);
	return !moved && !unknown;
}

/* > 0: some were not the same. */
static int read_twice(struct tasks_reading *reading)
{
	struct memory_pages *pages = NULL;
	struct memory memory;
	uint64_t digest = 0;
	bool same = false;
	int err = -ENOMEM;

	forget(reading);
	if (look_anew(reading, &pages, &memory)) {
		find(reading);
		digest = reading->reader.digest;
		err = reading->short_of_memory ? -ENOMEM : read_members(reading);
	}
	if (!err && look_anew(reading, &pages, &memory)) {
		same = compare_members(reading);
		find(reading);
		if (reading->reader.digest != digest) {
			tasks_limit(reading, reading->reader.effort->reads ? "tasks came or went while they were read"
									   : NO_TIME_WORDS);
			same = false;
		}
	}
	memory_pages_destroy(pages);
	return err ?: !same;
}

static int read_all(struct tasks_reading *reading)
{
	int i, err = 1;

	for (i = 0; i < ROUNDS && err > 0 && reading->reader.effort->reads; i++)
		err = read_twice(reading);
	return err < 0 ? err : link_tasks(reading);
}

/* By name, as numbers go; then by address. */
static int by_name(const void *a, const void *b)
{
	const struct runtime_task *x = a, *y = b;
	int order = strverscmp(x->name ?: "", y->name ?: "");

	return order ?: (x->id > y->id) - (x->id < y->id);
}

int python_tasks(const struct memory *memory, const struct python_interpreter *interpreter, uint64_t bias,
		 struct runtime_effort *effort, struct runtime_tasks *ret)
{
	struct tasks_reading *reading = calloc(1, sizeof(*reading));
	int err = -ENOMEM;

	*ret = (struct runtime_tasks){};
	if (!reading)
		return err;
	reading->reader =
		(struct py_reader){.layout = &interpreter->layout, .objects = &interpreter->objects, .effort = effort};
	reading->memory = memory;
	reading->interpreter = interpreter;
	reading->bias = bias;
	reading->ret = ret;
	err = read_all(reading);
	if (reading->short_of_memory)
		err = -ENOMEM;
	if (ret->list.count)
		qsort(ret->list.at, ret->list.count, sizeof(*ret->list.at), by_name);
	vec_free(&reading->members);
	vec_free(&reading->states);
	vec_free(&reading->edges);
	vec_free(&reading->waiters);
	vec_free(&reading->digests);
	table_deinit(&reading->by_id);
	free(reading);
	return err;
}
