// SPDX-License-Identifier: GPL-2.0-or-later
#include "stack/stack.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "base/table.h"
#include "base/time.h"
#include "kernel/tasks.h"
#include "engine/report.h"
#include "engine/watch.h"
#include "stack/freeze.h"
#include "stack/waits.h"

#define PATIENCE_NS 1000000000ull /* for threads that always run, or never for long enough */
#define WAIT_MS     4             /* between two rounds, for ticks */
#define FREQUENCY   997
#define UNREAD_MAX  20 /* samples of a thread */
#define QUIET_TURNS 2 /* rounds before the sampler is asked */
#define SAMPLE_NS   10000000ull
#define FREEZE_NS   50000000ull /* for threads that cannot be held */

/* For variables: of all threads of a process in one round, while they are held, and of one thread. */
#define LOCALS_NS        500000000ull
#define LOCALS_FREEZE_NS 15000000ull
#define LOCALS_READS     50000u

/* For the tasks of a process. */
#define TASKS_NS        2000000000ull
#define TASKS_FREEZE_NS 50000000ull
#define TASKS_READS     50000000u

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

static struct thread *find_thread(struct taker *taker, uint32_t tid)
{
	uint64_t found;

	return table_get(&taker->by_tid, tid, &found) ? &taker->threads.at[found - 1] : NULL;
}

static void answer(struct taker *taker, struct thread *thread, enum answer what)
{
	if (thread->answer == ANSWER_NONE)
		taker->open--;
	thread->answer = what;
}

/*
 * The first sample of each thread that no walk has answered for. Where nothing finishes a sample that met a page that
 * was not there, the page may be there for the next one.
 */
static bool wants(void *context, const struct sample_event *sample)
{
	struct taker *taker = context;
	struct thread *thread = find_thread(taker, sample->tid);

	if (!thread || thread->answer != ANSWER_NONE || thread->kept)
		return false;
	if (sample->native_loss == LOSS_STACK_READ && !(sample->flags & (SAMPLE_LATE | SAMPLE_RESUMES)) &&
	    thread->unread++ < UNREAD_MAX)
		return false;
	answer(taker, thread, ANSWER_SAMPLED);
	thread->current = sample->flags & SAMPLE_CURRENT;
	return true;
}

/* Is it there, and may its memory be read? What it has mapped tells, and takes the same right. */
static int check_access(int pid, struct diag *diag)
{
	char path[64];
	FILE *maps;

	snprintf(path, sizeof(path), "/proc/%d/maps", pid);
	maps = fopen(path, "re");
	if (maps) {
		fclose(maps);
		return 0;
	}
	if (errno == ENOENT || errno == ESRCH)
		return diag_fail(diag, ESRCH, "stack.pid", "%d: the process is gone", pid);
	return diag_fail(diag, errno, "stack.access",
			 "%d: its memory may not be read (%s); CAP_SYS_PTRACE gives the right", pid, strerror(errno));
}

static int begin(struct taker *taker, struct diag *diag)
{
	/* Threads that sleep are walked from here: where all do, there are no samples. */
	const struct sampler_options sampler = {.frequency = FREQUENCY, .sample_ns = SAMPLE_NS, .waits = true};
	const struct watch_options watch = {
		.files = taker->options->files, .waits = true, .wants = wants, .wants_context = taker};
	size_t i;
	int err = 0;

	for (i = 0; !err && i < taker->options->count; i++)
		err = check_access(taker->options->pids[i], diag);
	if (!err)
		err = tasks_create(&taker->tasks, diag);
	if (!err)
		err = sampler_create(&sampler, &taker->sampler, diag);
	if (!err)
		err = sideband_open(&taker->sideband, diag);
	if (!err)
		err = watch_create(&watch, taker->sampler, taker->sideband, &taker->watch, diag);
	for (i = 0; !err && i < taker->options->count; i++) {
		err = sampler_watch(taker->sampler, taker->options->pids[i], 0);
		if (!err)
			err = watch_scan(taker->watch, taker->options->pids[i]);
		if (err)
			return diag_fail(diag, -err, "stack.pid", err == -ESRCH ? "%d: the process is gone" : "%d: %s",
					 taker->options->pids[i], strerror(-err));
	}
	if (!err && watch_drain(taker->watch))
		err = diag_fail(diag, ENOMEM, "stack.memory", "out of memory");
	return err;
}

/* Whose stacks they are: the threads that there are at the beginning. */
static int find_threads(struct taker *taker, struct diag *diag)
{
	size_t i, k;
	int err;

	for (i = 0; i < taker->options->count; i++) {
		err = tasks_read(taker->tasks, taker->options->pids[i], &taker->list);
		if (err)
			return diag_fail(diag, -err, "stack.threads", "%d: its threads cannot be read: %s",
					 taker->options->pids[i], strerror(-err));
		if (!taker->list.starts.count)
			return diag_fail(diag, ESRCH, "stack.pid", "%d: the process is gone", taker->options->pids[i]);
		for (k = 0; k < taker->list.starts.count; k++) {
			const struct task_event *task = task_list_at(&taker->list, k);
			const struct thread thread = {.pid = (int)task->tgid, .tid = (int)task->tid};

			if (find_thread(taker, task->tid))
				continue;
			if (vec_push(&taker->threads, thread) ||
			    table_set(&taker->by_tid, task->tid, taker->threads.count))
				return diag_fail(diag, ENOMEM, "stack.memory", "out of memory");
			taker->open++;
		}
	}
	return 0;
}

static int keep_task(struct thread *thread, const struct task_event *task)
{
	struct task_event *copy = realloc(thread->task, sizeof(*copy));

	if (!copy)
		return -ENOMEM;
	*copy = *task;
	thread->task = copy;
	return 0;
}

static void forget_locals(struct thread *thread)
{
	watch_locals_destroy(thread->locals, thread->locals_count);
	thread->locals = NULL;
	thread->locals_count = 0;
}

static int read_locals(struct taker *taker, const struct watch_live *live, struct thread *thread)
{
	struct runtime_effort effort = {.until = taker->locals_until, .reads = LOCALS_READS};

	forget_locals(thread);
	if (!taker->options->locals || !live->second.count)
		return 0;
	return watch_live_locals(taker->watch, live, &effort, &thread->locals, &thread->locals_count);
}

static int walk(struct taker *taker, struct watch_live *live, struct thread *thread, const struct task_event *task)
{
	const struct held_thread *held;
	int err;

	thread->walked = false;
	if (thread->answer != ANSWER_NONE || task->flags & TASK_ON_CPU)
		return 0;
	held = freeze_find(&taker->freeze, thread->tid);
	thread->held = held;
	thread->ran = held && held->ran;
	err = watch_live_walk(taker->watch, live, task, &thread->last);
	if (thread->held)
		thread->last.kernel_stack = 0; /* that is how it was held */
	if (!err)
		err = keep_task(thread, task);
	if (!err)
		err = read_locals(taker, live, thread);
	thread->current = thread->last.flags & SAMPLE_CURRENT;
	thread->switches = task->switches;
	thread->walked = !err;
	return err;
}

/* What has not run since it was walked is the truth. */
static bool held_still(const struct thread *thread, const struct task_event *task)
{
	return thread->walked && (thread->held || (!(task->flags & TASK_ON_CPU) && task->switches == thread->switches));
}

static int keep(struct taker *taker, struct thread *thread)
{
	answer(taker, thread, ANSWER_WALKED);
	return watch_live_keep(taker->watch, &thread->last);
}

static void note_runtime(struct taker *taker, size_t process, const struct watch_live *live)
{
	if (!live->facts)
		return;
	taker->runtimes[process] = (struct stack_runtime){.name = live->runtime->runtime->name,
							  .language = live->runtime->runtime->language,
							  .version = live->runtime->version,
							  .has_lock = live->runtime->has_lock,
							  .data_start = live->data_start,
							  .data_end = live->data_end};
}

/* Walks all threads of a process that have no answer; which of them held still, look_again() tells. */
static int walk_all(struct taker *taker, size_t process)
{
	int pid = taker->options->pids[process], err;
	struct watch_live live;
	size_t i;

	err = watch_live_begin(taker->watch, pid, &live);
	if (!err)
		err = tasks_read(taker->tasks, pid, &taker->list);
	if (!err)
		note_runtime(taker, process, &live);
	for (i = 0; i < taker->threads.count; i++)
		taker->threads.at[i].walked = false;
	for (i = 0; !err && i < taker->list.starts.count && time_ns(CLOCK_MONOTONIC) < taker->until; i++) {
		const struct task_event *task = task_list_at(&taker->list, i);
		struct thread *thread = find_thread(taker, task->tid);

		if (thread)
			err = walk(taker, &live, thread, task);
	}
	return err;
}

static int take_tasks(struct taker *taker, size_t process, uint64_t ns)
{
	struct runtime_effort effort = {.until = time_ns(CLOCK_MONOTONIC) + ns, .reads = TASKS_READS};
	struct watch_live live;
	int err;

	if (!taker->options->tasks)
		return 0;
	runtime_tasks_deinit(&taker->coroutines[process]);
	err = watch_live_begin(taker->watch, taker->options->pids[process], &live);
	return err ?: watch_live_tasks(&live, &effort, &taker->coroutines[process]);
}

/* The second reading. How many threads without an answer have not held still, or a negative errno. */
static int look_again(struct taker *taker, int pid)
{
	int err = tasks_read(taker->tasks, pid, &taker->list), moved = 0;
	size_t i;

	for (i = 0; i < taker->threads.count; i++)
		taker->threads.at[i].seen = taker->threads.at[i].still = false;
	for (i = 0; !err && i < taker->list.starts.count; i++) {
		const struct task_event *task = task_list_at(&taker->list, i);
		struct thread *thread = find_thread(taker, task->tid);

		if (!thread)
			continue;
		thread->seen = true;
		thread->still = held_still(thread, task);
		moved += thread->answer == ANSWER_NONE && !thread->still;
	}
	for (i = 0; !err && i < taker->threads.count; i++)
		if (taker->threads.at[i].pid == pid && !taker->threads.at[i].seen &&
		    taker->threads.at[i].answer == ANSWER_NONE)
			answer(taker, &taker->threads.at[i], ANSWER_GONE);
	return err ? err : moved;
}

/* Takes the stacks of those that held still. */
static int keep_all(struct taker *taker, int pid)
{
	size_t i;
	int err = 0;

	for (i = 0; !err && i < taker->threads.count; i++) {
		struct thread *thread = &taker->threads.at[i];

		if (thread->pid == pid && thread->answer == ANSWER_NONE && thread->still)
			err = keep(taker, thread);
	}
	return err;
}

static int take_process(struct taker *taker, size_t process)
{
	int err;

	taker->locals_until = time_ns(CLOCK_MONOTONIC) + LOCALS_NS;
	err = walk_all(taker, process);
	if (!err)
		err = look_again(taker, taker->options->pids[process]);
	return err < 0 ? err : keep_all(taker, taker->options->pids[process]);
}

static int read_error(int err, int pid, struct diag *diag)
{
	return diag_fail(diag, -err, "stack.read",
			 err == -ESRCH ? "%d: the process is gone" : "%d: its threads cannot be read: %s", pid,
			 strerror(-err));
}

static int sample(struct taker *taker, struct diag *diag)
{
	struct pollfd ring = {.fd = sampler_fd(taker->sampler), .events = POLLIN};
	int err = 0;

	if (!taker->sampling) {
		err = sampler_start(taker->sampler, diag);
		taker->sampling = !err;
	}
	if (err)
		return err;
	poll(&ring, 1, WAIT_MS);
	if (watch_drain(taker->watch))
		return diag_fail(diag, ENOMEM, "stack.memory", "out of memory");
	return 0;
}

/* What never held still, as it was seen last. */
static int keep_rest(struct taker *taker, struct diag *diag)
{
	size_t i;
	int err = 0;

	for (i = 0; !err && i < taker->threads.count; i++) {
		struct thread *thread = &taker->threads.at[i];

		if (thread->answer != ANSWER_NONE || !thread->last.time)
			continue;
		thread->kept = true;
		err = watch_live_keep(taker->watch, &thread->last);
	}
	return err ? diag_fail(diag, ENOMEM, "stack.memory", "out of memory") : 0;
}

static int take_all(struct taker *taker, struct diag *diag)
{
	uint64_t until = time_ns(CLOCK_MONOTONIC) + PATIENCE_NS;
	unsigned int turn;
	size_t i;
	int err = 0;

	for (turn = 0; taker->open && time_ns(CLOCK_MONOTONIC) < until; turn++) {
		if (turn >= QUIET_TURNS)
			err = sample(taker, diag);
		for (i = 0; !err && i < taker->options->count; i++) {
			err = take_process(taker, i);
			if (err)
				return read_error(err, taker->options->pids[i], diag);
		}
		if (err)
			return err;
	}
	if (taker->sampling) {
		sampler_stop(taker->sampler);
		if (watch_drain(taker->watch))
			return diag_fail(diag, ENOMEM, "stack.memory", "out of memory");
	}
	for (i = 0; i < taker->options->count; i++) {
		err = take_tasks(taker, i, TASKS_NS);
		if (err)
			return read_error(err, taker->options->pids[i], diag);
	}
	return keep_rest(taker, diag);
}

/* Holds what runs, or would, until no thread is on a CPU. */
static int hold_running(struct taker *taker, int pid, uint64_t until)
{
	size_t i, running;
	int err;

	do {
		err = tasks_read(taker->tasks, pid, &taker->list);
		for (i = running = 0; !err && i < taker->list.starts.count; i++) {
			const struct task_event *task = task_list_at(&taker->list, i);
			bool runs = task->flags & TASK_ON_CPU;

			running += runs;
			if ((runs || !task->state) && !freeze_find(&taker->freeze, (pid_t)task->tid))
				running += freeze_hold(&taker->freeze, (pid_t)task->tid, runs);
		}
	} while (!err && running && time_ns(CLOCK_MONOTONIC) < until);
	return err;
}

/* What has run between two readings sleeps for moments only: it is held, too, before it runs again. */
static void hold_restless(struct taker *taker, int pid)
{
	size_t i;

	for (i = 0; i < taker->threads.count; i++) {
		const struct thread *thread = &taker->threads.at[i];

		if (thread->pid == pid && thread->answer == ANSWER_NONE && !thread->still &&
		    !freeze_find(&taker->freeze, thread->tid))
			freeze_hold(&taker->freeze, thread->tid, false);
	}
}

/* While threads are held nobody else's work comes first, where that is allowed. */
static void take_precedence(bool yes)
{
	const struct sched_param priority = {.sched_priority = yes};

	sched_setscheduler(0, yes ? SCHED_FIFO : SCHED_OTHER, &priority);
}

struct freezing {
	struct taker *taker;
	size_t process;
	int err; /* > 0: so many threads ran all the same */
};

static void *freeze_apart(void *context)
{
	struct freezing *freezing = context;
	struct taker *taker = freezing->taker;
	int pid = taker->options->pids[freezing->process], err = 0;
	uint64_t begun, until;

	take_precedence(true);
	begun = time_ns(CLOCK_MONOTONIC);
	taker->until = until = begun + FREEZE_NS;
	do {
		if (err >= 0)
			err = hold_running(taker, pid, until);
		taker->locals_until = time_ns(CLOCK_MONOTONIC) + LOCALS_FREEZE_NS;
		if (!err)
			err = walk_all(taker, freezing->process);
		if (!err)
			err = look_again(taker, pid);
		if (!err && taker->options->tasks) {
			err = take_tasks(taker, freezing->process, TASKS_FREEZE_NS);
			if (!err) /* sleepers may have run meanwhile */
				err = look_again(taker, pid);
		}
		if (err > 0)
			hold_restless(taker, pid);
	} while (err > 0 && time_ns(CLOCK_MONOTONIC) < until);
	freeze_release(&taker->freeze); /* of those that are left nobody was scheduled, and so nobody waits */
	taker->frozen_ms[freezing->process] = (double)(time_ns(CLOCK_MONOTONIC) - begun) / 1e6;
	take_precedence(false);
	freeze_deinit(&taker->freeze);
	taker->until = UINT64_MAX;
	freezing->err = err;
	return NULL;
}

/*
 * All threads of a process at one moment: what runs is held, what sleeps holds still, and between the two readings
 * nobody ran. The first walk is thrown away: after it everything is known that takes time. A thread of our own holds
 * them: when it ends, so does what it held, whatever that was doing.
 */
static int freeze_process(struct taker *taker, size_t process)
{
	struct freezing freezing = {.taker = taker, .process = process};
	pthread_t thread;
	int err;

	taker->locals_until = 0;
	err = walk_all(taker, process);
	if (err)
		return err;
	err = -pthread_create(&thread, NULL, freeze_apart, &freezing);
	if (err)
		return err;
	pthread_join(thread, NULL);
	taker->moved[process] = freezing.err > 0;
	return freezing.err < 0 ? freezing.err : keep_all(taker, taker->options->pids[process]);
}

static int freeze_all(struct taker *taker, struct diag *diag)
{
	size_t i;
	int err;

	for (i = 0; i < taker->options->count; i++) {
		err = freeze_process(taker, i);
		if (err)
			return read_error(err, taker->options->pids[i], diag);
	}
	return keep_rest(taker, diag);
}

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

static int fill(struct taker *taker, struct stacks *stacks)
{
	int err = name_frames(taker);
	size_t i;

	stacks->processes = calloc(taker->options->count, sizeof(*stacks->processes));
	if (!stacks->processes)
		return -ENOMEM;
	for (i = 0; !err && i < taker->options->count; i++) {
		stacks->count++;
		err = fill_process(taker, i, &stacks->processes[i]);
	}
	return err;
}

static void taker_deinit(struct taker *taker)
{
	size_t i;

	watch_destroy(taker->watch);
	sideband_close(taker->sideband);
	sampler_destroy(taker->sampler);
	tasks_destroy(taker->tasks);
	task_list_deinit(&taker->list);
	for (i = 0; i < taker->threads.count; i++) {
		free(taker->threads.at[i].task);
		forget_locals(&taker->threads.at[i]);
	}
	vec_free(&taker->threads);
	table_deinit(&taker->by_tid);
	for (i = 0; taker->coroutines && i < taker->options->count; i++)
		runtime_tasks_deinit(&taker->coroutines[i]);
	free(taker->coroutines);
	free(taker->runtimes);
	free(taker->frozen_ms);
	free(taker->moved);
	freeze_deinit(&taker->freeze);
}

int stack_take(const struct stack_options *options, struct stacks **ret, struct diag *diag)
{
	struct taker taker = {.options = options, .until = UINT64_MAX};
	struct stacks *stacks = calloc(1, sizeof(*stacks));
	uint64_t begun;
	int err = -ENOMEM;

	taker.runtimes = calloc(options->count, sizeof(*taker.runtimes));
	taker.frozen_ms = calloc(options->count, sizeof(*taker.frozen_ms));
	taker.coroutines = calloc(options->count, sizeof(*taker.coroutines));
	taker.moved = calloc(options->count, sizeof(*taker.moved));
	if (stacks)
		stacks->profile = taker.profile = profile_create();
	if (!taker.profile || !taker.runtimes || !taker.frozen_ms || !taker.moved || !taker.coroutines)
		diag_fail(diag, ENOMEM, "stack.memory", "out of memory");
	else
		err = begin(&taker, diag);
	begun = time_ns(CLOCK_MONOTONIC);
	if (!err)
		err = find_threads(&taker, diag);
	if (!err)
		err = options->freeze ? freeze_all(&taker, diag) : take_all(&taker, diag);
	if (!err) {
		stacks->taken_ms = (double)(time_ns(CLOCK_MONOTONIC) - begun) / 1e6;
		if (fill(&taker, stacks))
			err = diag_fail(diag, ENOMEM, "stack.memory", "out of memory");
	}
	taker_deinit(&taker);
	if (err)
		stack_destroy(stacks);
	else
		*ret = stacks;
	return err;
}
