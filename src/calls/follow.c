// SPDX-License-Identifier: GPL-2.0-or-later
#include "calls/follow.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NONE UINT32_MAX

void follow_init(struct follow *follow, const struct follow_options *options, const struct call_sink *sink,
		 void *of_sink)
{
	*follow = (struct follow){.options = *options, .sink = sink, .of_sink = of_sink};
}

static void free_thread(struct calls_thread *thread)
{
	size_t i;

	for (i = 0; i < thread->aside.count; i++)
		vec_free(&thread->aside.at[i].at);
	vec_free(&thread->aside);
	vec_free(&thread->stack.at);
	vec_free(&thread->running);
	table_deinit(&thread->aside_frames);
	free(thread);
}

void follow_deinit(struct follow *follow)
{
	size_t i;

	for (i = 0; i < follow->threads.count; i++)
		free_thread(follow->threads.at[i]);
	vec_free(&follow->threads);
	table_deinit(&follow->by_tid);
}

/* --- the stack that a thread is on --- */

static struct call *innermost(const struct calls_thread *thread)
{
	return thread->stack.at.count ? &thread->stack.at.at[thread->stack.at.count - 1] : NULL;
}

static bool is_innermost(const struct calls_thread *thread, uint64_t frame, uint64_t object)
{
	const struct call *call = innermost(thread);

	return call && call->frame == frame && call->object == object;
}

/* How many calls of a function in the stack are shown, as far as that is known. */
static uint32_t *running(struct calls_thread *thread, const struct function *function)
{
	size_t more = function->index + 1 > thread->running.count ? function->index + 1 - thread->running.count : 0;

	if (more && vec_reserve(&thread->running, more))
		return NULL;
	if (more) {
		memset(&thread->running.at[thread->running.count], 0, more * sizeof(*thread->running.at));
		thread->running.count += more;
	}
	return &thread->running.at[function->index];
}

static void add_time(struct call_time *to, struct call_time from)
{
	to->wall += from.wall;
	to->cpu += from.cpu;
}

/* To the function, and to the call around it. */
static void count_times(const struct calls_thread *thread, const struct call *call, enum call_end how)
{
	struct call *outer = innermost(thread);
	struct call_time total = call->own;

	add_time(&total, call->within);
	if (outer && call->is_shown)
		add_time(&outer->within, total);
	if (outer && !call->is_shown) {
		add_time(&outer->within, call->within);
		add_time(&outer->own, call->own);
	}
	if (!call->is_shown)
		return;
	add_time(&call->function->own, call->own);
	if (call->is_outermost)
		add_time(&call->function->total, total);
	call->function->unwinds += how == CALL_END_UNWIND;
}

static void end_innermost(struct follow *follow, struct calls_thread *thread, enum call_end how)
{
	struct call call = *innermost(thread);
	uint32_t *count = call.is_shown ? running(thread, call.function) : NULL;

	thread->stack.at.count--;
	if (count && *count)
		--*count;
	call.ended = thread->wall;
	follow->repaired += how == CALL_END_LOST;
	count_times(thread, &call, how);
	if (follow->sink && call.is_shown)
		follow->sink->ended(follow->of_sink, thread, &call, how);
	if (thread->stack.told > thread->stack.at.count)
		thread->stack.told = (uint32_t)thread->stack.at.count;
}

static void end_to(struct follow *follow, struct calls_thread *thread, size_t count, enum call_end how)
{
	while (thread->stack.at.count > count)
		end_innermost(follow, thread, how);
}

/* Where the frame is in the stack; NONE: it is not there. */
static uint32_t find(const struct calls_thread *thread, uint64_t frame, uint64_t object)
{
	size_t i;

	for (i = thread->stack.at.count; frame && i; i--)
		if (thread->stack.at.at[i - 1].frame == frame && thread->stack.at.at[i - 1].object == object)
			return (uint32_t)i - 1;
	return NONE;
}

/* --- stacks that were put aside --- */

static uint64_t frame_key(uint64_t frame, uint64_t object)
{
	uint64_t key = frame * 0x9e3779b97f4a7c15ull ^ object;

	return key | !key;
}

static void count_running(struct calls_thread *thread, const struct call_stack *stack, int by)
{
	size_t i;

	for (i = 0; i < stack->at.count; i++) {
		const struct call *call = &stack->at.at[i];
		uint32_t *count = call->is_shown ? running(thread, call->function) : NULL;

		if (count)
			*count += (uint32_t)by;
	}
}

/* An index in `aside` that is free; NONE: there are too many. */
static uint32_t free_aside(struct calls_thread *thread)
{
	uint32_t i;

	for (i = 0; i < thread->aside.count; i++)
		if (!thread->aside.at[i].at.count)
			return i;
	if (thread->aside.count >= PUT_ASIDE_MAX || vec_push(&thread->aside, (struct call_stack){}))
		return NONE;
	return (uint32_t)thread->aside.count - 1;
}

/* The stack that the thread is on is a new one afterwards, that goes back to this one. */
static void put_aside(struct follow *follow, struct calls_thread *thread)
{
	uint32_t index = thread->stack.at.count ? free_aside(thread) : NONE;
	struct call_stack fresh;
	size_t i;

	if (index == NONE) {
		end_to(follow, thread, 0, CALL_END_LOST);
		thread->stack.before = 0;
		return;
	}
	for (i = thread->stack.at.count; i-- && follow->sink && follow->sink->paused;)
		if (thread->stack.at.at[i].is_shown)
			follow->sink->paused(follow->of_sink, thread, &thread->stack.at.at[i]);
	if (!thread->stack.id)
		thread->stack.id = ++thread->last_id;
	fresh = thread->aside.at[index];
	thread->aside.at[index] = thread->stack;
	thread->stack = (struct call_stack){.at.at = fresh.at.at,
					    .at.capacity = fresh.at.capacity,
					    .id = ++thread->last_id,
					    .before = thread->aside.at[index].id,
					    .aside = index};
	count_running(thread, &thread->aside.at[index], -1);
	for (i = thread->aside.at[index].at.count; i--;) {
		struct call *call = &thread->aside.at[index].at.at[i];

		call->slice = 0;
		if (table_set(&thread->aside_frames, frame_key(call->frame, call->object), index))
			follow->memory++;
	}
}

/* Makes the stack that was put there the one that the thread is on. */
static void take_back(struct follow *follow, struct calls_thread *thread, uint32_t index)
{
	struct call_stack stack;
	uint64_t known;
	size_t i;

	put_aside(follow, thread);
	stack = thread->aside.at[index];
	thread->aside.at[index] =
		(struct call_stack){.at.at = thread->stack.at.at, .at.capacity = thread->stack.at.capacity};
	thread->stack = stack;
	for (i = 0; i < stack.at.count; i++) {
		uint64_t key = frame_key(stack.at.at[i].frame, stack.at.at[i].object);

		stack.at.at[i].slice = thread->wall;
		if (table_get(&thread->aside_frames, key, &known) && known == index)
			table_remove(&thread->aside_frames, key);
	}
	count_running(thread, &stack, 1);
}

/* The same for the one that has this frame. False: there is none. */
static bool take_back_frame(struct follow *follow, struct calls_thread *thread, uint64_t frame, uint64_t object)
{
	uint64_t index;

	if (!thread->aside_frames.count || !frame ||
	    !table_get(&thread->aside_frames, frame_key(frame, object), &index))
		return false;
	take_back(follow, thread, (uint32_t)index);
	return true;
}

/* The outermost call has ended: what ran before goes on. */
static void go_back(struct follow *follow, struct calls_thread *thread)
{
	const struct call_stack *stack = &thread->stack;

	if (!stack->at.count && stack->before && thread->aside.at[stack->aside].id == stack->before &&
	    thread->aside.at[stack->aside].at.count)
		take_back(follow, thread, stack->aside);
}

/* --- records --- */

/* What is behind the last record. The caller's frame is the innermost one, or the stack is empty. */
static void find_parent(struct follow *follow, struct calls_thread *thread, const struct rt_call *record)
{
	uint32_t at;

	if (is_innermost(thread, record->parent, record->parent_object))
		return;
	/* Who throws is what ran last. */
	if (record->kind == RT_PYTHON_THROW && !record->parent)
		return;
	at = find(thread, record->parent, record->parent_object);
	if (at == NONE && take_back_frame(follow, thread, record->parent, record->parent_object))
		at = find(thread, record->parent, record->parent_object);
	if (at != NONE)
		end_to(follow, thread, at + 1, CALL_END_LOST);
	else
		put_aside(follow, thread);
}

static void begin(struct follow *follow, struct calls_thread *thread, const struct rt_call *record,
		  struct function *function)
{
	const struct call *outer;
	struct call call = {.frame = record->frame,
			    .object = record->object,
			    .slice = record->time,
			    .began = record->time,
			    .function = function,
			    .line = record->line,
			    .kind = (uint8_t)record->kind};
	uint32_t *count;

	/*
	 * Where the interpreter finds that something is instrumented it executes a function's first instruction once
	 * more.
	 */
	if (is_innermost(thread, record->frame, record->object) && record->sequence == thread->followed + 1 &&
	    record->kind == RT_PYTHON_START && innermost(thread)->kind == RT_PYTHON_START)
		return;
	find_parent(follow, thread, record);
	if (thread->stack.at.count >= CALLS_DEEP_MAX)
		end_to(follow, thread, 0, CALL_END_LOST);
	outer = innermost(thread);
	if (outer && outer->below)
		call.below = outer->below + 1;
	else if (!follow->options.has_from ? !outer : function->is_from)
		call.below = 1;
	call.is_shown =
		call.below && function->is_matched && (!follow->options.depth || call.below <= follow->options.depth);
	call.level = outer ? outer->level + outer->is_shown : 0;
	count = call.is_shown ? running(thread, function) : NULL;
	call.is_outermost = !count || !*count;
	if (vec_push(&thread->stack.at, call)) {
		follow->memory++;
		return;
	}
	if (count)
		++*count;
	if (!call.is_shown)
		return;
	function->calls++;
	function->resumes += record->kind != RT_PYTHON_START;
	if (follow->sink)
		follow->sink->began(follow->of_sink, thread, innermost(thread));
}

static void end(struct follow *follow, struct calls_thread *thread, const struct rt_call *record,
		const struct function *function)
{
	enum call_end how = record->kind == RT_PYTHON_RETURN  ? CALL_END_RETURN
			    : record->kind == RT_PYTHON_YIELD ? CALL_END_YIELD
							      : CALL_END_UNWIND;
	uint32_t at = find(thread, record->frame, record->object);

	if (at == NONE && take_back_frame(follow, thread, record->frame, record->object))
		at = find(thread, record->frame, record->object);
	if (at != NONE) {
		end_to(follow, thread, at + 1, CALL_END_LOST);
		innermost(thread)->end_line = record->line;
		end_innermost(follow, thread, how);
		go_back(follow, thread);
		return;
	}
	/* Another greenlet's. If records were lost it may be a call of the innermost one. */
	if (!thread->has_lost)
		put_aside(follow, thread);
	follow->unseen++;
	if (follow->sink && follow->sink->unseen && function->is_matched && !follow->options.has_from)
		follow->sink->unseen(follow->of_sink, thread, function, record->time, how, thread->has_lost);
}

static void close_thread(struct follow *follow, struct calls_thread *thread)
{
	size_t i;

	end_to(follow, thread, 0, CALL_END_OPEN);
	for (i = 0; i < thread->aside.count; i++) {
		struct call_stack empty = thread->stack;

		thread->stack = thread->aside.at[i];
		thread->aside.at[i] = empty;
		count_running(thread, &thread->stack, 1);
		end_to(follow, thread, 0, CALL_END_OPEN);
	}
}

static void remove_thread(struct follow *follow, struct calls_thread *thread)
{
	uint64_t index = 0, last = follow->threads.count - 1;

	close_thread(follow, thread);
	table_get(&follow->by_tid, thread->tid, &index);
	table_remove(&follow->by_tid, thread->tid);
	follow->threads.at[index] = follow->threads.at[last];
	follow->threads.count--;
	if (index != last)
		table_set(&follow->by_tid, follow->threads.at[index]->tid, index); /* replaces: needs no memory */
	free_thread(thread);
}

static void read_name(struct calls_thread *thread)
{
	char path[64];
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%u/task/%u/comm", thread->tgid, thread->tid);
	file = fopen(path, "re");
	if (file && fgets(thread->name, sizeof(thread->name), file))
		thread->name[strcspn(thread->name, "\n")] = '\0';
	if (file)
		fclose(file);
}

static struct calls_thread *find_thread(struct follow *follow, const struct rt_call *record)
{
	struct calls_thread *thread;
	uint64_t index;

	if (table_get(&follow->by_tid, record->tid, &index)) {
		thread = follow->threads.at[index];
		if (record->sequence > thread->sequence && thread->tgid == record->tgid)
			return thread;
		/*
		 * The record of its end was lost, or the kernel's part has forgotten the thread, and counts from 1 on
		 * again.
		 */
		remove_thread(follow, thread);
	}
	thread = calloc(1, sizeof(*thread));
	if (!thread)
		return NULL;
	*thread = (struct calls_thread){
		.tid = record->tid, .tgid = record->tgid, .wall = record->time, .cpu = record->cpu, .lane = NONE};
	if (table_set(&follow->by_tid, record->tid, follow->threads.count)) {
		free(thread);
		return NULL;
	}
	if (vec_push(&follow->threads, thread)) {
		table_remove(&follow->by_tid, record->tid);
		free(thread);
		return NULL;
	}
	read_name(thread);
	return thread;
}

static void pass_time(struct calls_thread *thread, uint64_t wall, uint64_t cpu)
{
	struct call *call = innermost(thread);

	if (call && wall > thread->wall)
		call->own.wall += wall - thread->wall;
	if (call && cpu > thread->cpu)
		call->own.cpu += cpu - thread->cpu;
	thread->wall = wall;
	/* Time that was no CPU time turns out to be that afterwards (rt_calls.bpf.c): it is not counted twice. */
	if (cpu > thread->cpu)
		thread->cpu = cpu;
}

void follow_record(struct follow *follow, const struct rt_call *record, struct function *function)
{
	struct calls_thread *thread = record->tid ? find_thread(follow, record) : NULL;
	uint64_t missing;

	if (!thread) {
		follow->memory++;
		return;
	}
	missing = record->sequence - thread->sequence - 1;
	thread->followed = thread->sequence;
	thread->sequence = record->sequence;
	pass_time(thread, record->time, record->cpu);
	if (missing) {
		follow->lost += missing;
		thread->has_lost = true;
		if (follow->sink && follow->sink->lost)
			follow->sink->lost(follow->of_sink, thread, record->time, missing);
	}
	if (record->kind == RT_CALL_ENDED)
		remove_thread(follow, thread);
	else if (record->kind <= RT_PYTHON_THROW)
		begin(follow, thread, record, function);
	else
		end(follow, thread, record, function);
}

void follow_end(struct follow *follow, uint64_t now)
{
	size_t i;

	for (i = 0; i < follow->threads.count; i++) {
		struct calls_thread *thread = follow->threads.at[i];

		if (now > thread->wall)
			pass_time(thread, now, thread->cpu);
		close_thread(follow, thread);
	}
}
