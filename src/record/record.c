// SPDX-License-Identifier: GPL-2.0-or-later
#include "record/record.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "base/time.h"
#include "elf/debuginfod.h"
#include "engine/filter.h"
#include "engine/session.h"
#include "profile/text.h"
#include "record/family.h"

#define PROGRESS_MS  500
#define MOMENTS_MAX  (1u << 20) /* times of single samples that are kept: 32 MiB */
#define MOMENT_SHARE 256        /* bytes of --max-memory for each */
#define RESERVE      (64u << 20)

#define NO_MEMORY "no memory: give strata more (ulimit -v), or a lower --max-memory"

struct recording {
	const struct record_options *options;
	struct profile *profile;
	struct engine_targets targets;
	struct session session;
	struct family family; /* of the processes, where it is not recorded */
	double shown;         /* when progress was drawn */
	bool interrupted;
	void *reserve; /* address space, never touched: given back when memory runs out, so that what there is can be
			  reported */
};

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

static bool tells_family(const struct recording *recording)
{
	return recording->options->pid_count && !recording->options->children;
}

/* A small part of the memory, as stacks need most of it. */
static size_t moments_max(const struct record_options *options)
{
	size_t share = options->max_memory / MOMENT_SHARE;

	return share && share < MOMENTS_MAX ? share : MOMENTS_MAX;
}

/* Everything up to the first sample. */
static int start(struct recording *recording, struct diag *diag)
{
	const struct record_options *options = recording->options;
	const struct engine_options engine = {.everything = options->all,
					      .filter = options->filter,
					      .frequency = options->frequency,
					      .off_cpu_rate = options->off_cpu_rate,
					      .gil = options->gil,
					      .wakers = options->wakers,
					      .tasks = options->tasks,
					      .strategy = options->strategy,
					      .sample_ns = options->sample_ns,
					      .max_memory = options->max_memory,
					      .verify = options->verify,
					      .verbose = options->verbose,
					      .function = options->function,
					      .detail = options->detail,
					      .lines = options->lines,
					      .merges_threads = options->merges_threads,
					      .cgroups = options->owners,
					      .slices = options->times,
					      .sources = options->sources,
					      .moments = options->moments,
					      .moments_max = moments_max(options)};
	int err;

	recording->targets = (struct engine_targets){.pids = options->pids,
						     .pid_count = options->pid_count,
						     .children = options->children,
						     .command = options->command,
						     .all = options->all};
	reserve_take(recording);
	err = session_open(&recording->targets, &engine, -1, &recording->session, diag);
	if (!err)
		err = session_start(&recording->session, diag);
	if (!err && tells_family(recording))
		family_look(&recording->family);
	return err;
}

static void show_progress(struct recording *recording, bool last)
{
	double now = time_s(CLOCK_MONOTONIC);
	struct engine_progress progress;

	if (!recording->options->progress || (!last && now < recording->shown + PROGRESS_MS / 1e3))
		return;
	recording->shown = now;
	progress = engine_progress(recording->session.engine);
	if (last)
		fputs("\r\033[K", stderr);
	else
		fprintf(stderr, "\r\033[Krecording: %.0f s, %llu samples, %zu different (Ctrl-C ends it)",
			now - recording->session.began, (unsigned long long)progress.samples, progress.different);
	fflush(stderr);
}

/* 0, or a negative errno of what ended it too early. */
static int loop(struct recording *recording)
{
	struct session *session = &recording->session;
	double end = recording->options->duration_s > 0 ? session->began + recording->options->duration_s : 0;
	enum session_event event = SESSION_NOTHING;
	int err = 0;

	while (!err && (event == SESSION_NOTHING || event == SESSION_INPUT)) {
		err = session_wait(session, end, &event);
		/* Nothing is told once the whole family has ended; it matters most where there is nothing else. */
		if (tells_family(recording) && !engine_progress(session->engine).samples)
			family_look_again(&recording->family);
		show_progress(recording, false);
	}
	recording->interrupted = event == SESSION_SIGNAL;
	return err;
}

static const char *string_of(struct recording *recording, const char *text)
{
	const char *copy = profile_string(recording->profile, text);

	return copy ? copy : "";
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

static void show_fetch(void *context, const char *name, size_t number, size_t count)
{
	const struct recording *recording = context;

	if (!recording->options->progress)
		return;
	fprintf(stderr, "\r\033[Kdebuginfod: %zu of %zu, for ", number, count);
	text_print(stderr, name, strlen(name));
	fputs(" (Ctrl-C goes on without)", stderr);
	fflush(stderr);
}

/* Symbols from debuginfod. What could not be had is told. */
static void fetch_all(struct recording *recording)
{
	struct fetch fetch = {.progress = show_fetch, .context = recording};
	int err = engine_fetch(recording->session.engine, &fetch);
	char text[160];

	if (recording->options->progress)
		fputs("\r\033[K", stderr);
	if (fetch.err == -EINTR)
		signals_forget(&recording->session.signals);
	if (fetch.fetched == fetch.wanted && !err)
		return;
	snprintf(text, sizeof(text), "debuginfod gave symbols for %zu of %zu files without: %s", fetch.fetched,
		 fetch.wanted, fetch_reason(&fetch, err));
	profile_add_remark(recording->profile, text);
}

/* Takes in what is still in the buffers, and names it all. `failed` is what ended the sampling, if not 0. */
static int finish(struct recording *recording, int failed, struct diag *diag)
{
	struct profile_info *info = profile_info(recording->profile);
	int unread, unnamed;

	if (tells_family(recording))
		family_look(&recording->family);
	reserve_give(recording);
	unread = engine_stop(recording->session.engine);
	show_progress(recording, true);
	if (recording->options->no_debuginfod)
		debuginfod_decline(); /* now: the command has its own environment */
	if (debuginfod_wanted())
		fetch_all(recording);
	/*
	 * From here on a second Ctrl-C ends strata at once. One that comes when the recording has ended by itself is
	 * the first, and loses nothing.
	 */
	if (recording->interrupted)
		signals_give_back(&recording->session.signals);
	else
		signals_give_back_but_one(&recording->session.signals);
	unnamed = engine_collect(recording->session.engine, recording->profile);
	info->command = string_of(recording, recording->options->target_text);
	fill_children(recording);
	profile_quality(recording->profile)->startup_ms =
		(recording->session.began - recording->options->started_at) * 1e3;
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
	reserve_give(recording);
	family_deinit(&recording->family);
	session_close(&recording->session);
}

int record_run(const struct record_options *options, struct profile *profile, struct record_result *ret,
	       struct diag *diag)
{
	struct recording recording = {.options = options,
				      .profile = profile,
				      .session.signals.fd = -1,
				      .family = {.pids = options->pids, .count = options->pid_count}};
	int err;

	err = start(&recording, diag);
	/* Left in the queue, what came while it could not start would end the process before that is said. */
	if (err)
		recording.interrupted |= signals_forget(&recording.session.signals);
	ret->kept = !err;
	if (!err)
		err = finish(&recording, loop(&recording), diag);
	ret->command_status = session_finish_command(&recording.session);
	ret->command_left = recording.session.command.left ? recording.session.command.pid : 0;
	ret->interrupted = recording.interrupted;
	recording_deinit(&recording);
	return err;
}
