// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/report.h"
#include "stack/taker.h"
#include "stack/waits.h"

static enum stack_state state_of(const struct thread *thread)
{
	/* include/linux/sched.h */
	enum {
		INTERRUPTIBLE = 1,
		STOPPED = 4,
		TRACED = 8,
		DEAD = 0x10 | 0x20 | 0x80,
		PARKED = 0x40,
		WAKING = 0x200,
		NEW = 0x800,
		FROZEN = 0x8000
	};

	if (thread->answer == ANSWER_SAMPLED || !thread->task || (thread->held && thread->ran))
		return STACK_RUNNING;
	if (!thread->task->state || thread->held || thread->task->state & (WAKING | NEW))
		return STACK_RUNNABLE;
	if (thread->task->state & (STOPPED | TRACED | PARKED | FROZEN))
		return STACK_STOPPED;
	if (thread->task->state & INTERRUPTIBLE)
		return STACK_SLEEPING;
	return thread->task->state & DEAD ? STACK_DEAD : STACK_BLOCKED;
}

static const struct profile_sample *sample_of(const struct taker *taker, int tid)
{
	size_t i;

	for (i = 0; i < profile_sample_count(taker->profile); i++)
		if (profile_sample_at(taker->profile, i)->tid == tid)
			return profile_sample_at(taker->profile, i);
	return NULL;
}

static int take_frames(const struct taker *taker, struct stack_thread *thread)
{
	const struct profile_sample *sample = sample_of(taker, thread->tid);
	uint32_t i;

	if (!sample) {
		thread->consistent = false;
		return 0;
	}
	snprintf(thread->name, sizeof(thread->name), "%s", sample->comm); /* as it was then */
	thread->frames = calloc(sample->depth + 1ull, sizeof(*thread->frames));
	if (!thread->frames)
		return -ENOMEM;
	for (i = 0; i < sample->depth; i++)
		thread->frames[i] = profile_frame_at(taker->profile, sample->frames[sample->depth - 1 - i]);
	thread->depth = sample->depth;
	return 0;
}

/*
 * Gives each frame of a runtime's its variables. The merge leaves out what may be another thread's, innermost, or what
 * is outside a greenlet. Where not every name is the same nothing is believed.
 */
static int give_locals(const struct thread *from, struct stack_thread *thread)
{
	size_t shown = 0, unsure = 0, at, i;

	thread->locals = calloc(thread->depth + 1ull, sizeof(*thread->locals));
	if (!thread->locals)
		return -ENOMEM;
	if (from->answer == ANSWER_SAMPLED)
		return 0;
	for (i = 0; i < thread->depth; i++)
		shown += thread->frames[i]->layer == FRAME_RUNTIME;
	for (i = 0; i < from->locals_count; i++)
		unsure += from->locals[i].unsure;
	if (shown > from->locals_count ||
	    (shown < from->locals_count && unsure && shown + unsure != from->locals_count))
		return 0;
	unsure = at = shown < from->locals_count ? unsure : 0;
	for (i = 0; i < thread->depth; i++)
		if (thread->frames[i]->layer == FRAME_RUNTIME &&
		    strcmp(thread->frames[i]->name, from->locals[at++].function ?: "?"))
			return 0;
	for (i = 0, at = unsure; i < thread->depth; i++) {
		if (thread->frames[i]->layer != FRAME_RUNTIME)
			continue;
		thread->locals[i] = from->locals[at].locals;
		from->locals[at++].locals = (struct runtime_locals){};
	}
	return 0;
}

static void read_comm(int pid, int tid, char *ret, size_t size)
{
	char path[64];
	FILE *file;
	size_t got;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/comm", pid, tid);
	file = fopen(path, "re");
	got = file ? fread(ret, 1, size - 1, file) : 0;
	if (file)
		fclose(file);
	if (got && ret[got - 1] == '\n')
		got--;
	ret[got] = '\0';
}

static int fill_thread(const struct taker *taker, const struct thread *from, const struct stack_runtime *runtime,
		       struct stack_thread *ret)
{
	int err;

	ret->tid = from->tid;
	ret->state = state_of(from);
	ret->consistent = from->answer != ANSWER_NONE;
	ret->gil = runtime->has_lock && from->current;
	read_comm(from->pid, from->tid, ret->name, sizeof(ret->name));
	err = take_frames(taker, ret);
	if (!err && taker->options->locals)
		err = give_locals(from, ret);
	return err || !from->task ? err : stack_explain(from->pid, runtime, from->task, ret);
}

static int by_tid(const void *a, const void *b)
{
	const struct stack_thread *x = a, *y = b;

	return x->tid < y->tid ? -1 : x->tid > y->tid;
}

static int fill_process(const struct taker *taker, size_t process, struct stack_process *ret)
{
	size_t i;
	int err = 0;

	ret->pid = taker->options->pids[process];
	read_comm(ret->pid, ret->pid, ret->comm, sizeof(ret->comm));
	ret->runtime = taker->runtimes[process];
	ret->frozen = taker->options->freeze && !taker->moved[process];
	ret->frozen_ms = taker->frozen_ms[process];
	ret->has_tasks = taker->options->tasks && ret->runtime.name;
	ret->tasks = taker->coroutines[process];
	taker->coroutines[process] = (struct runtime_tasks){};
	ret->threads = calloc(taker->threads.count + 1, sizeof(*ret->threads));
	if (!ret->threads)
		return -ENOMEM;
	for (i = 0; !err && i < taker->threads.count; i++) {
		const struct thread *thread = &taker->threads.at[i];

		if (thread->pid == ret->pid && thread->answer != ANSWER_GONE)
			err = fill_thread(taker, thread, &ret->runtime, &ret->threads[ret->count++]);
	}
	qsort(ret->threads, ret->count, sizeof(*ret->threads), by_tid);
	/* Of a process that has ended meanwhile its first thread tells. */
	if (!*ret->comm && ret->count && ret->threads[0].tid == ret->pid)
		memcpy(ret->comm, ret->threads[0].name, sizeof(ret->comm));
	return err ? err : stack_name_holder(ret);
}

/* Gives the frames their names. 0 or -ENOMEM. */
static int name_frames(struct taker *taker)
{
	const struct report_options options = {};
	struct report *report;
	struct tallies tallies;
	int err = watch_finish(taker->watch);

	if (err)
		return err;
	watch_take(taker->watch, false, &tallies);
	report = report_create(taker->watch, &options);
	err = report ? report_window(report, &tallies, true, taker->profile) : -ENOMEM;
	report_destroy(report);
	tallies_deinit(&tallies);
	return err;
}

int taker_fill(struct taker *taker, struct stacks *ret)
{
	int err = name_frames(taker);
	size_t i;

	ret->processes = calloc(taker->options->count, sizeof(*ret->processes));
	if (!ret->processes)
		return -ENOMEM;
	for (i = 0; !err && i < taker->options->count; i++) {
		ret->count++;
		err = fill_process(taker, i, &ret->processes[i]);
	}
	return err;
}
