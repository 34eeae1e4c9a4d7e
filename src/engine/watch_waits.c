// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What threads off the CPU wait for, as far as the sample does not say; and the threads that are still off the CPU when
 * the recording ends. These are walked from here, while the kernel part still sends the threads that return. So both
 * may have the stack of a thread. When the kernel part sends nothing more, it is known which one counts: a thread that
 * had not returned by then did not run while it was walked.
 *
 * The same can be done at the end of each window, so that a view of what is now has waits that go on for long: the part
 * of each until then is told, and what is left when the thread returns is shortened by it.
 */
#include "engine/watch_parts.h"

#include <string.h>

#include "kernel/tasks.h"
#include "lang/core/syscalls.h"
#include "proc/cgroups.h"

#define TOLD_LEAST_NS 10000000 /* a shorter wait is told when it has ended, as it soon has */

struct unfinished {
	struct watch *watch;
	struct tasks *tasks; /* borrowed; NULL: threads cannot be read */
	struct task_list list;
	struct off_cpu_list waiting;
	struct sample_event *samples; /* of each that waits */
	uint64_t ended;
};

void watch_note_lock(struct watch *watch, struct process *process, struct sample_event *sample)
{
	struct watched *watched;
	uint64_t start, end;

	watched = process ? watched_of(watch, process) : NULL;
	if (!watched || !watched->runtime || !watched->interpreter->runtime.has_lock)
		return;
	if (watched->interpreter->runtime.tells_holder)
		sample->flags |= SAMPLE_HAS_LOCK;
	if (!sample->waits || sample->waits & WAIT_NO_CALL ||
	    (int)(sample->waits & WAIT_NUMBER) != syscall_number("futex"))
		return;
	if (watch_runtime_data(watched, &start, &end) && sample->argument >= start && sample->argument < end)
		sample->waits |= WAIT_RUNTIME_LOCK;
}

/* Until when a wait is told, that began at `left`: then, if nothing was. */
static uint64_t told_until(const struct waits_told *told, uint32_t tid, uint64_t left)
{
	uint64_t begun, until;

	if (!table_get(&told->begun, tid, &begun) || begun != left || !table_get(&told->until, tid, &until))
		return left;
	return until;
}

void watch_cut_wait(struct watch *watch, struct sample_event *sample)
{
	uint64_t left, until;

	/* So long a wait has its own length as its weight (bpf/off_cpu.h): that tells when it began. */
	if (!sample->waits || !sample->weight || !watch->told.begun.count || sample->weight > sample->time)
		return;
	left = sample->time - sample->weight;
	until = told_until(&watch->told, sample->tid, left);
	if (until > sample->time)
		until = sample->time;
	sample->weight = sample->time - until;
	watch->counts.unfinished_ns -= until - left;
}

/* A wait whose stack is not known. */
static struct sample_event without_stack(const struct off_cpu_waiting *waiting, uint64_t now)
{
	return (struct sample_event){.header = {.type = EVENT_SAMPLE},
				     .time = now,
				     .tgid = waiting->thread.tgid,
				     .tid = waiting->tid,
				     .native_loss = LOSS_EXITED,
				     .flags = SAMPLE_IN_KERNEL};
}

static const struct task_event *find_task(const struct task_list *list, uint32_t tid)
{
	size_t i;

	for (i = 0; i < list->starts.count; i++)
		if (task_list_at(list, i)->tid == tid)
			return task_list_at(list, i);
	return NULL;
}

static int walk_thread(struct unfinished *all, struct watch_live *live, size_t index)
{
	const struct off_cpu_waiting *waiting = &all->waiting.threads.at[index];
	const struct task_event *task = live ? find_task(&all->list, waiting->tid) : NULL;
	struct sample_event *sample = &all->samples[index];
	uint64_t from;
	int err = 0;

	*sample = without_stack(waiting, watch_now());
	if (task && !(task->flags & TASK_ON_CPU))
		err = watch_live_walk(all->watch, live, task, sample);
	if (all->watch->store.keeps_cgroups)
		sample->cgroup = cgroup_of_thread((int)waiting->thread.tgid, (int)waiting->tid);
	from = told_until(&all->watch->told, waiting->tid, waiting->thread.left);
	sample->weight = all->ended > from ? all->ended - from : 0;
	sample->waits = (waiting->thread.flags & ~(uint32_t)WAIT_UNJUDGED) | WAIT_NO_CALL;
	if (err || !task || task->flags & (TASK_KERNEL_THREAD | TASK_NO_REGISTERS))
		return err;
	if (task->call <= WAIT_NUMBER) {
		sample->waits = (sample->waits & ~(uint32_t)WAIT_NO_CALL) | (uint32_t)task->call;
		sample->argument = task->arguments[0];
	}
	watch_note_lock(all->watch, live ? live->process : NULL, sample);
	return 0;
}

/* The threads [from, to) that wait are those of one process. */
static int walk_process(struct unfinished *all, size_t from, size_t to)
{
	int pid = (int)all->waiting.threads.at[from].thread.tgid, err;
	struct watch_live live;
	bool readable;
	size_t i;

	err = all->tasks ? watch_live_begin(all->watch, pid, &live) : -ESRCH;
	readable = !err && !tasks_read(all->tasks, pid, &all->list);
	err = err == -ENOMEM ? err : 0;
	for (i = from; i < to && !err; i++)
		err = walk_thread(all, readable ? &live : NULL, i);
	return err;
}

static int walk_all(struct unfinished *all)
{
	size_t from, to;
	int err = 0;

	for (from = 0; from < all->waiting.threads.count && !err; from = to) {
		for (to = from + 1; to < all->waiting.threads.count; to++)
			if (all->waiting.threads.at[to].thread.tgid != all->waiting.threads.at[from].thread.tgid)
				break;
		err = walk_process(all, from, to);
	}
	return err;
}

static int note_told(struct waits_told *told, uint32_t tid, uint64_t begun, uint64_t until)
{
	return table_set(&told->begun, tid, begun) ?: table_set(&told->until, tid, until);
}

/* Those that the kernel part has not sent. `told`: notes them there; or NULL. */
static int keep_all(struct unfinished *all, struct off_cpu *off, struct waits_told *told)
{
	size_t i;
	int err = 0;

	for (i = 0; i < all->waiting.threads.count && !err; i++) {
		if (!all->samples[i].weight || !off_cpu_is_off(off, &all->waiting.threads.at[i]))
			continue;
		all->samples[i].time = all->ended; /* not when it was walked: it stands for the time before that */
		err = watch_live_keep(all->watch, &all->samples[i]);
		all->watch->counts.unfinished++;
		all->watch->counts.unfinished_ns += all->samples[i].weight;
		if (!err && told)
			err = note_told(told, all->waiting.threads.at[i].tid, all->waiting.threads.at[i].thread.left,
					all->ended);
	}
	return err;
}

/* What filters do not want, and what began after a time. */
static void leave_out(const struct watch *watch, struct off_cpu_list *list, uint64_t after)
{
	size_t i, kept = 0;

	for (i = 0; i < list->threads.count; i++)
		if (list->threads.at[i].thread.left <= after &&
		    (!watch->wants_waiting || watch->wants_waiting(watch->wants_context, &list->threads.at[i])))
			list->threads.at[kept++] = list->threads.at[i];
	list->threads.count = kept;
}

void waits_told_deinit(struct waits_told *told)
{
	table_deinit(&told->begun);
	table_deinit(&told->until);
	tasks_destroy(told->tasks);
}

/* Without those that have ended long ago. The ends of others may not have arrived yet. */
static int keep_recent(const struct waits_told *before, struct waits_told *ret)
{
	const struct table_slot *slot;
	uint64_t until;
	size_t at = 0;
	int err = 0;

	while (!err && (slot = table_next(&before->begun, &at)))
		if (table_get(&before->until, slot->key, &until) && until == before->at)
			err = note_told(ret, (uint32_t)slot->key, slot->value, until);
	return err;
}

int watch_tell_waits(struct watch *watch, struct off_cpu *off, uint64_t until)
{
	struct unfinished all = {.watch = watch, .ended = until};
	struct waits_told told = {.at = all.ended};
	struct diag diag = {};
	int err = keep_recent(&watch->told, &told) ?: off_cpu_threads(off, &all.waiting);

	leave_out(watch, &all.waiting, all.ended - TOLD_LEAST_NS);
	if (!err && all.waiting.threads.count && !watch->told.tasks && tasks_create(&watch->told.tasks, &diag))
		watch->told.tasks = NULL;
	all.tasks = watch->told.tasks;
	all.samples = calloc(all.waiting.threads.count + 1, sizeof(*all.samples));
	if (!err)
		err = all.samples ? walk_all(&all) : -ENOMEM;
	if (!err)
		err = keep_all(&all, off, &told);
	told.tasks = watch->told.tasks;
	watch->told.tasks = NULL;
	waits_told_deinit(&watch->told);
	watch->told = told;
	task_list_deinit(&all.list);
	vec_free(&all.waiting.threads);
	free(all.samples);
	return err;
}

int watch_take_waits(struct watch *watch, struct off_cpu *off)
{
	struct unfinished all = {.watch = watch, .ended = off_cpu_ended(off)};
	struct diag diag = {};
	int err = off_cpu_threads(off, &all.waiting);

	leave_out(watch, &all.waiting, all.ended);
	if (!err && all.waiting.threads.count && tasks_create(&all.tasks, &diag))
		all.tasks = NULL;
	all.samples = calloc(all.waiting.threads.count + 1, sizeof(*all.samples));
	if (!err)
		err = all.samples ? walk_all(&all) : -ENOMEM;
	off_cpu_detach(off);
	if (!err)
		err = keep_all(&all, off, NULL);
	tasks_destroy(all.tasks);
	task_list_deinit(&all.list);
	vec_free(&all.waiting.threads);
	free(all.samples);
	return err;
}
