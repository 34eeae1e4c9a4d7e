// SPDX-License-Identifier: GPL-2.0-or-later
#include "record/record.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/signals.h"
#include "base/time.h"
#include "base/vec.h"
#include "proc/command.h"
#include "engine/engine.h"
#include "record/family.h"

#define PROGRESS_MS 500
#define PRIORITY    -15 /* nice value */
#define RESERVE     (64u << 20)

#define NO_MEMORY "no memory: give strata more (ulimit -v), or a lower --max-memory"

struct recording {
	const struct record_options *options;
	struct profile *profile;
	struct engine *engine;
	struct family family; /* of the processes, where it is not recorded */
	struct command command;
	bool has_command;
	struct signals signals;
	struct command_origin origin; /* how this process was before */
	VEC(struct pollfd) polls;     /* signals, the engine's, then what must end: command or targets */
	size_t first_target;
	double began; /* sampling, CLOCK_MONOTONIC seconds */
	double shown; /* when progress was drawn */
	bool interrupted;
	void *reserve; /* address space, never touched: given back when memory runs out, so that what there is can be
			  reported */
};

/* Each file that is mapped somewhere stays open, and each CPU has its events. */
static void raise_descriptor_limit(struct recording *recording)
{
	struct rlimit limit;

	getrlimit(RLIMIT_NOFILE, &limit); /* cannot fail */
	recording->origin.files = limit;
	limit.rlim_cur = limit.rlim_max;
	setrlimit(RLIMIT_NOFILE, &limit);
}

/*
 * A new process's mappings must be read before it runs its first Python code, and the ring before it is full: what
 * little strata has to do, it does at once. The command was forked before and keeps its own priority.
 */
static void raise_priority(void)
{
	if (setpriority(PRIO_PROCESS, 0, PRIORITY))
		return; /* as well as we can */
}

static int take_signals(struct recording *recording, struct diag *diag)
{
	int err = signals_take_ends(&recording->signals);

	recording->origin.mask = recording->signals.before;
	return err ? diag_fail(diag, -err, "record.signals", "signals cannot be taken: %s", strerror(-err)) : 0;
}

static void reserve_take(struct recording *recording)
{
	void *at = mmap(NULL, RESERVE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	recording->reserve = at == MAP_FAILED ? NULL : at;
}

static void reserve_give(struct recording *recording)
{
	if (recording->reserve)
		munmap(recording->reserve, RESERVE);
	recording->reserve = NULL;
}

static int add_poll(struct recording *recording, int fd)
{
	return vec_push(&recording->polls, (struct pollfd){.fd = fd, .events = POLLIN});
}

static int prepare_polls(struct recording *recording)
{
	int own[ENGINE_DESCRIPTORS];
	size_t i;
	int err = add_poll(recording, recording->signals.fd);

	engine_descriptors(recording->engine, own);
	for (i = 0; !err && i < ENGINE_DESCRIPTORS; i++)
		err = add_poll(recording, own[i]);
	recording->first_target = recording->polls.count;
	if (!err && recording->has_command)
		err = add_poll(recording, recording->command.pidfd);
	for (i = 0; !err && i < recording->options->pid_count; i++)
		err = add_poll(recording, (int)syscall(SYS_pidfd_open, recording->options->pids[i], 0));
	return err;
}

static int choose_targets(struct recording *recording, struct diag *diag)
{
	const struct record_options *options = recording->options;
	unsigned int children = options->children ? ENGINE_CHILDREN : 0;
	size_t i;
	int err = 0;

	if (recording->has_command)
		err = engine_watch(recording->engine, recording->command.pid, ENGINE_BEFORE_EXEC | ENGINE_CHILDREN);
	for (i = 0; i < options->pid_count && !err; i++) {
		err = engine_watch(recording->engine, options->pids[i], children);
		if (err == -ESRCH)
			return diag_fail(diag, ESRCH, "record.pid", "no process %d: it is gone", options->pids[i]);
	}
	if (!err && options->children)
		err = engine_watch_descendants(recording->engine, options->pids, options->pid_count);
	if (!err && options->all)
		err = engine_watch_all(recording->engine);
	return err ? diag_fail(diag, -err, "record.targets", "the processes cannot be watched: %s", strerror(-err)) : 0;
}

static bool tells_family(const struct recording *recording)
{
	return recording->options->pid_count && !recording->options->children;
}

static int open_engine(struct recording *recording, struct diag *diag)
{
	const struct record_options *options = recording->options;
	const struct engine_options engine = {.everything = options->all,
					      .frequency = options->frequency,
					      .nice = PRIORITY,
					      .strategy = options->strategy,
					      .sample_ns = options->sample_ns,
					      .max_memory = options->max_memory,
					      .verify = options->verify,
					      .verbose = options->verbose,
					      .function = options->function,
					      .detail = options->detail,
					      .merges_threads = options->merges_threads};

	return engine_open(&engine, &recording->engine, diag);
}

/* Everything up to the first sample. */
static int start(struct recording *recording, struct diag *diag)
{
	const struct record_options *options = recording->options;
	int err;

	reserve_take(recording);
	raise_descriptor_limit(recording);
	err = take_signals(recording, diag);
	if (!err)
		err = open_engine(recording, diag);
	if (!err && options->command) {
		err = command_prepare(options->command, &recording->origin, &recording->command, diag);
		recording->has_command = !err;
	}
	raise_priority();
	if (!err)
		err = choose_targets(recording, diag);
	if (!err && prepare_polls(recording))
		err = diag_fail(diag, ENOMEM, "record.memory", "out of memory");
	if (!err)
		err = engine_start(recording->engine, diag);
	recording->began = time_s(CLOCK_MONOTONIC);
	if (!err && tells_family(recording))
		family_look(&recording->family);
	if (!err && recording->has_command)
		err = command_start(&recording->command, options->command[0], diag);
	return err;
}

static void show_progress(struct recording *recording, bool last)
{
	double now = time_s(CLOCK_MONOTONIC);
	struct engine_progress progress;

	if (!recording->options->progress || (!last && now < recording->shown + PROGRESS_MS / 1e3))
		return;
	recording->shown = now;
	progress = engine_progress(recording->engine);
	if (last)
		fputs("\r\033[K", stderr);
	else
		fprintf(stderr, "\r\033[Krecording: %.0f s, %llu samples, %zu different (Ctrl-C ends it)",
			now - recording->began, (unsigned long long)progress.samples, progress.different);
	fflush(stderr);
}

/* True when the command, or every process that was asked for, has ended. */
static bool targets_gone(struct recording *recording)
{
	size_t i, living = 0;

	if (recording->first_target == recording->polls.count)
		return false;
	for (i = recording->first_target; i < recording->polls.count; i++) {
		struct pollfd *target = &recording->polls.at[i];

		if (target->revents || target->fd < 0) {
			if (target->fd >= 0 && !recording->has_command)
				close(target->fd);
			target->fd = -1; /* poll() leaves it out */
		} else {
			living++;
		}
	}
	return !living;
}

/* 0, or a negative errno of what ended it too early. */
static int loop(struct recording *recording)
{
	double end = recording->options->duration_s > 0 ? recording->began + recording->options->duration_s : 0;
	int err = 0;

	while (!err) {
		int timeout = engine_timeout_ms(recording->engine);

		if (end) {
			double left = end - time_s(CLOCK_MONOTONIC);

			if (left <= 0)
				break;
			if (left * 1e3 < timeout)
				timeout = (int)(left * 1e3) + 1;
		}
		if (poll(recording->polls.at, recording->polls.count, timeout) < 0 && errno != EINTR)
			return -errno;
		if (recording->polls.at[0].revents) {
			/* Taken off the queue: left there, it would end the process when signals are given back. */
			recording->interrupted = signals_next(&recording->signals);
			break;
		}
		err = engine_poll(recording->engine);
		/* Nothing is told once the whole family has ended; it matters most where there is nothing else. */
		if (tells_family(recording) && !engine_progress(recording->engine).samples)
			family_look_again(&recording->family);
		show_progress(recording, false);
		if (targets_gone(recording))
			break;
	}
	return err;
}

static const char *string_of(struct recording *recording, const char *text)
{
	const char *copy = profile_string(recording->profile, text);

	return copy ? copy : "";
}

static void fill_info(struct recording *recording)
{
	const struct record_options *options = recording->options;
	struct profile_info *info = profile_info(recording->profile);
	char text[1024] = "all processes";
	size_t used = 0, i;

	if (options->command) {
		for (i = 0; options->command[i] && used < sizeof(text); i++)
			used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%s", i ? " " : "",
						 options->command[i]);
	} else if (options->pid_count) {
		for (i = 0; i < options->pid_count && used < sizeof(text); i++)
			used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%d", i ? ", " : "pid ",
						 options->pids[i]);
	}
	info->command = string_of(recording, text);
}

/* Which children used CPU time, and were not recorded. */
static void fill_children(struct recording *recording)
{
	char text[1024];

	if (!tells_family(recording))
		return;
	family_tell(&recording->family, text, sizeof(text));
	profile_info(recording->profile)->children = string_of(recording, text);
}

/* Takes in what is still in the buffers, and names it all. `failed` is what ended the sampling, if not 0. */
static int finish(struct recording *recording, int failed, struct diag *diag)
{
	struct profile_info *info = profile_info(recording->profile);
	int unread, unnamed;

	if (tells_family(recording))
		family_look(&recording->family);
	reserve_give(recording);
	unread = engine_stop(recording->engine);
	show_progress(recording, true);
	/* From here on a signal does what it does to any program: a second Ctrl-C leaves at once. */
	signals_give_back(&recording->signals);
	unnamed = engine_collect(recording->engine, recording->profile);
	fill_info(recording);
	fill_children(recording);
	profile_quality(recording->profile)->startup_ms = (recording->began - recording->options->started_at) * 1e3;
	if (failed)
		return diag_fail(diag, -failed, "record.ended",
				 "the recording ended after %.1f s, and what was taken until then is kept: %s",
				 info->duration_s, failed == -ENOMEM ? NO_MEMORY : strerror(-failed));
	failed = unread ? unread : unnamed;
	if (failed)
		return diag_fail(diag, -failed, "record.incomplete",
				 "some samples, or functions' names, could not be kept: %s",
				 failed == -ENOMEM ? NO_MEMORY : strerror(-failed));
	return 0;
}

static void recording_deinit(struct recording *recording)
{
	size_t i;

	for (i = recording->first_target;
	     !recording->has_command && recording->first_target && i < recording->polls.count; i++)
		if (recording->polls.at[i].fd >= 0)
			close(recording->polls.at[i].fd);
	reserve_give(recording);
	vec_free(&recording->polls);
	family_deinit(&recording->family);
	engine_close(recording->engine);
	signals_give_back(&recording->signals);
}

int record_run(const struct record_options *options, struct profile *profile, struct record_result *ret,
	       struct diag *diag)
{
	struct recording recording = {.options = options,
				      .profile = profile,
				      .signals.fd = -1,
				      .family = {.pids = options->pids, .count = options->pid_count}};
	int err;

	err = start(&recording, diag);
	/* Left in the queue, what came while it could not start would end the process before that is said. */
	if (err)
		recording.interrupted |= signals_forget(&recording.signals);
	ret->kept = !err;
	if (!err)
		err = finish(&recording, loop(&recording), diag);
	if (recording.has_command)
		ret->command_status = command_finish(&recording.command);
	ret->command_left = recording.command.left ? recording.command.pid : 0;
	ret->interrupted = recording.interrupted;
	recording_deinit(&recording);
	return err;
}
