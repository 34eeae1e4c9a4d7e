/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The part of the Python walk that finds the asyncio task which the thread runs, if user space has said where current
 * tasks are (struct py_task_facts).
 *
 *   current task ─► coroutine ─► frame       the same address as a frame of this thread's stack? Then the thread runs
 *        └────────► name                     a step of this task, and that frame is the task's outermost
 *
 * The frame is the proof: whatever else was read, and from whichever thread's event loop, a coroutine's frame is on one
 * stack at a time, and one task runs the coroutine. The name is copied at this very moment: a moment later the task,
 * and its name, may be freed, and others may be at their addresses.
 *
 * The task becomes an element of the second stack, in front of the frame (SECOND_FRAME_TASK). It is sent as functions
 * are. Its id is a hash of the process's cookie, the task's address and its name.
 */
#ifndef STRATA_RUNTIME_PYTHON_BPF_TASK_H
#define STRATA_RUNTIME_PYTHON_BPF_TASK_H

#include "runtime/python/bpf/code.h"

/* Adds a task to the current ones, with the frame of its coroutine. */
static __always_inline int python_take_task_in(struct scratch *s, __u64 task)
{
	struct python_walk *walk = &s->python;
	__u64 frame = 0;
	__u32 at = walk->task_count;

	walk_opaque(at);
	if (at >= PYTHON_TASKS || walk_read_user(s, &frame, 8, task + walk->tasks.coro) || !frame)
		return 0;
	frame += walk->tasks.gen_frame;
	if (walk->tasks.frame_is_apart && walk_read_user(s, &frame, 8, frame))
		return 0;
	walk->task[at] = task;
	walk->task_frame[at] = frame;
	walk->task_count = at + 1;
	return 0;
}
WALK_GLOBAL(int, python_take_task, __u64)

/* Reads the last items of a small dict into walk->loops; how many. */
static __noinline __u32 python_read_loops(struct scratch *s)
{
	struct python_walk *walk = &s->python;
	const struct py_task_facts *facts = &walk->tasks;
	__u64 keys = 0, word = 0, count = 0, first, size;

	if (walk_read_user(s, &keys, 8, facts->current + facts->dict_keys) || !keys ||
	    walk_read_user(s, &word, 8, keys + 8) || walk_read_user(s, &count, 8, keys + facts->keys_entries))
		return 0;
	if (facts->keys_log)
		word = 1ull << (word >> 8 & 63);
	if (word > 0xff || !count || count > 0xff)
		return 0;
	first = count > PYTHON_LOOPS ? count - PYTHON_LOOPS : 0;
	count -= first;
	size = count * 24;
	walk_opaque(size);
	if (size > PYTHON_LOOPS * 24)
		size = PYTHON_LOOPS * 24;
	if (walk_read_user(s, walk->loops, (__u32)size, keys + facts->keys_indices + word + first * 24))
		return 0;
	return (__u32)count;
}

/* Finds the frames of the current tasks. */
static __noinline int python_find_tasks(struct scratch *s, const struct python_process *process)
{
	struct python_walk *walk = &s->python;
	__u64 tstate = walk->inner ? walk->inner : walk->thread, task = 0;
	__u32 i, count;

	walk->task_count = 0;
	if (!process->tasks.current || !tstate)
		return 0;
	walk->tasks = process->tasks;
	if (!walk->tasks.dict_keys) {
		if (!walk_read_user(s, &task, 8, tstate + walk->tasks.current) && task)
			WALK_CALL(python_take_task, s, task);
		return 0;
	}
	count = python_read_loops(s);
	walk_forget(s, count);
	for (i = 0; i < PYTHON_LOOPS; i++) {
		if (i >= count)
			break;
		if (walk->loops[3 * i + 2])
			WALK_CALL(python_take_task, s, walk->loops[3 * i + 2]);
	}
	return 0;
}

/* Copies the name of a task into s->code: its first PYTHON_TASK_NAME bytes. */
static __always_inline void python_copy_task_name(struct scratch *s, __u64 task)
{
	struct python_walk *walk = &s->python;
	struct code_event *event = &s->code.header;
	__u64 name = 0, type = 0, digits = 0, *text = (__u64 *)event->text;
	__u32 i;

	for (i = 0; i < PYTHON_TASK_NAME / 8; i++)
		text[i] = 0;
	event->name = event->qualname = event->filename = (struct code_string){};
	event->text_bytes = 0;
	event->is_named = walk->tasks.name == PY_NO_OFFSET;
	event->is_task = CODE_TASK_NAMELESS;
	if (event->is_named)
		return;
	event->is_task = CODE_TASK;
	if (walk_read_user(s, &name, 8, task + walk->tasks.name) || !name ||
	    walk_read_user(s, &type, 8, name + walk->layout.ob_type))
		return;
	if (type != walk->tasks.str_type) {
		/* The tag's upper bits are the number of digits, of 30 bits each. */
		event->is_task = CODE_TASK_NUMBER;
		event->is_named = !walk_read_user(s, &digits, 8, name + walk->tasks.long_digits - 8) &&
				  (digits >> 3 == 1 || digits >> 3 == 2) && !(digits & 3) &&
				  !walk_read_user(s, text, 8, name + walk->tasks.long_digits);
		if (digits >> 3 == 1)
			text[0] &= 0xffffffff;
		return;
	}
	code_copy_text(s, 0, name);
	event->is_named = event->name.kind != 0;
	if (event->name.bytes > PYTHON_TASK_NAME)
		event->name.bytes = PYTHON_TASK_NAME;
}

/* The id of the task whose coroutine has this frame, which is sent if it is new; 0: no current task has it. */
static __always_inline __u64 python_task_in(struct scratch *s, __u64 frame)
{
	struct python_walk *walk = &s->python;
	struct code_event *event = &s->code.header;
	__u64 task = 0, hash = walk->hash_seed;
	const __u64 *text = (const __u64 *)event->text;
	__u32 i;

	for (i = 0; i < PYTHON_TASKS; i++)
		if (i < walk->task_count && walk->task_frame[i] == frame)
			task = walk->task[i];
	if (!task)
		return 0;
	python_copy_task_name(s, task);
	hash = hash_mix(hash_mix(hash, task), (__u64)event->is_task << 32 | event->name.length);
	for (i = 0; i < PYTHON_TASK_NAME / 8; i++)
		hash = hash_mix(hash, text[i]);
	if (!hash)
		hash = 1;
	if (code_known(s, hash))
		return hash;
	event->header.type = EVENT_CODE;
	event->id = hash;
	event->address = task;
	event->table_address = 0;
	event->tgid = walk->tgid;
	event->runtime = RUNTIME_ID_python;
	event->version = walk->layout.version;
	event->firstlineno = 0;
	event->table_size = event->table_copied = 0;
	event->text_bytes = PYTHON_TASK_NAME;
	s->time.work += CODE_SEND_NS;
	code_send(s, 0);
	return hash;
}
WALK_GLOBAL(__u64, python_task, __u64)

#endif
