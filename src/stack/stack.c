// SPDX-License-Identifier: GPL-2.0-or-later
#include "stack/stack.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "base/time.h"
#include "stack/taker.h"

#define PATIENCE_NS 1000000000ull /* for threads that always run, or never for long enough */
#define WAIT_MS     4             /* between two rounds, for ticks */
#define FREQUENCY   997
#define LEARNT       8          /* whole stacks in a row that show that nothing more is to be learnt */
#define DOUBT_NS    500000000ull /* how long a thread is sampled again whose stack did not reach its end */
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

static struct thread *find_thread(struct taker *taker, uint32_t tid)
{
	uint64_t found;

	return table_get(&taker->by_tid, tid, &found) ? &taker->threads.at[found - 1] : NULL;
}

/* It ends in code of which more may be learnt. */
static bool is_doubtful(const struct sample_event *sample)
{
	return sample->native_loss == LOSS_NO_MAPPING || sample->native_loss == LOSS_NO_RULE ||
	       sample->native_loss == LOSS_ODD_STACK || sample->native_loss == LOSS_LATE;
}

static void answer(struct taker *taker, struct thread *thread, enum answer what)
{
	if (thread->answer == ANSWER_NONE)
		taker->open--;
	thread->answer = what;
}

/*
 * Samples of the threads that no walk has answered for. Where nothing finishes a sample that met a page that was not
 * there, the page may be there for the next one.
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
	return true;
}

/*
 * The first whose stack is whole. From those that are not it is learnt how code is to be walked that was generated, or
 * has no unwind information (engine/watch_generated.c, watch_learn.c). The next samples may be by that.
 */
static bool keeps(void *context, const struct sample_event *sample)
{
	struct taker *taker = context;
	struct thread *thread = find_thread(taker, sample->tid);
	bool doubtful = is_doubtful(sample);

	if (!thread || thread->answer != ANSWER_NONE || thread->kept)
		return false;
	if (thread->learning) {
		thread->learning = doubtful ? LEARNT : thread->learning - 1;
		return false;
	}
	if (doubtful && !thread->doubted)
		thread->doubted = sample->time;
	if (doubtful && sample->time < thread->doubted + DOUBT_NS)
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
		.files = taker->options->files, .waits = true, .wants = wants, .keeps = keeps, .wants_context = taker};
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

/*
 * Would it run? Then it will be sampled, and its stack known better than by a walk that did not reach the end. What
 * sleeps is never sampled.
 */
static bool shall_teach(struct thread *thread)
{
	uint64_t now = time_ns(CLOCK_MONOTONIC);

	if (thread->held || thread->task->state || !is_doubtful(&thread->last))
		return false;
	if (!thread->doubted)
		thread->doubted = now;
	return now < thread->doubted + DOUBT_NS;
}

/* Takes the stacks of those that held still. */
static int keep_all(struct taker *taker, int pid)
{
	size_t i;
	int err = 0;

	for (i = 0; !err && i < taker->threads.count; i++) {
		struct thread *thread = &taker->threads.at[i];

		if (thread->pid == pid && thread->answer == ANSWER_NONE && thread->still &&
		    !shall_teach(thread))
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
static int freeze_once(struct taker *taker, size_t process)
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
	return freezing.err < 0 ? freezing.err : 0;
}

/* Of the threads that were held: do some have a stack that may be walked further by what samples teach? */
static bool wants_learning(struct taker *taker, int pid)
{
	bool any = false;
	size_t i;

	for (i = 0; i < taker->threads.count; i++) {
		struct thread *thread = &taker->threads.at[i];

		bool learns = thread->pid == pid && thread->answer == ANSWER_NONE && thread->walked && thread->held &&
			      is_doubtful(&thread->last);

		thread->learning = learns ? LEARNT : 0;
		any |= learns;
	}
	return any;
}

static bool still_learning(const struct taker *taker)
{
	size_t i;

	for (i = 0; i < taker->threads.count; i++)
		if (taker->threads.at[i].learning)
			return true;
	return false;
}

/* Samples these threads until they have whole stacks, or not for too long. */
static int learn(struct taker *taker, struct diag *diag)
{
	uint64_t until = time_ns(CLOCK_MONOTONIC) + DOUBT_NS;
	size_t i;
	int err = 0;

	while (!err && still_learning(taker) && time_ns(CLOCK_MONOTONIC) < until)
		err = sample(taker, diag);
	for (i = 0; i < taker->threads.count; i++)
		taker->threads.at[i].learning = 0;
	return err;
}

static int freeze_process(struct taker *taker, size_t process, struct diag *diag)
{
	int pid = taker->options->pids[process], err = freeze_once(taker, process);

	if (!err && wants_learning(taker, pid)) {
		if (learn(taker, diag))
			return -ECANCELED;
		err = freeze_once(taker, process);
	}
	err = err ?: keep_all(taker, pid);
	return err ? read_error(err, pid, diag) : 0;
}

static int freeze_all(struct taker *taker, struct diag *diag)
{
	size_t i;
	int err;

	for (i = 0; i < taker->options->count; i++) {
		err = freeze_process(taker, i, diag);
		if (err)
			return err;
	}
	return keep_rest(taker, diag);
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
		if (taker_fill(&taker, stacks))
			err = diag_fail(diag, ENOMEM, "stack.memory", "out of memory");
	}
	taker_deinit(&taker);
	if (err)
		stack_destroy(stacks);
	else
		*ret = stacks;
	return err;
}
