// SPDX-License-Identifier: GPL-2.0-or-later
#include "engine/engine.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "base/table.h"
#include "base/time.h"
#include "proc/descendants.h"
#include "engine/balance.h"
#include "engine/filter.h"
#include "engine/report.h"
#include "engine/watch.h"

#define POLL_MS      100 /* not every record wakes */
#define CPUS_S       1.0 /* how often it is looked which CPUs are online */
#define VERIFY_EVERY 10  /* of so many samples one is unwound by libdw, which takes it some 0.1 ms */

struct engine {
	struct engine_options options;
	struct foreign_files *files;
	struct sampler *sampler;
	struct sideband *sideband;
	struct watch *watch;
	struct report *report;
	struct balance balance;
	double began, began_at; /* the window at hand: CLOCK_MONOTONIC and CLOCK_REALTIME seconds */
	double ended;           /* sampling; 0: it goes on */
	double followed;        /* when the CPUs were looked at */
	size_t remarks;         /* that were told in windows */
	uint64_t samples;       /* in windows until now */
};

static uint64_t tick_ns(const struct engine_options *options)
{
	return options->off_cpu_rate && options->frequency ? 1000000000 / options->frequency : 0;
}

static int open_parts(struct engine *engine, struct diag *diag)
{
	const struct engine_options *options = &engine->options;
	const struct sampler_options sampler = {.watch_all = options->everything,
						.frequency = options->frequency,
						.off_cpu_rate = options->off_cpu_rate,
						.wakers = options->wakers,
						.cgroups = options->cgroups,
						.strategy = options->strategy,
						.sample_ns = options->sample_ns,
						.verify_every = options->verify ? VERIFY_EVERY : 0,
						.tells_all = options->tasks,
						.tasks = options->tasks,
						.filters = filter_rules(options->filter)};
	const struct report_options report = {.function = options->function, .gil = options->gil};
	struct watch_options watch = {.everything = options->everything,
				      .max_memory = options->max_memory,
				      .merges_threads = options->merges_threads,
				      .cgroups = options->cgroups,
				      .locks = options->locks || options->gil,
				      .moments = options->moments,
				      .moments_max = options->moments_max,
				      .tick_ns = tick_ns(options),
				      .slices = options->slices,
				      .sources = options->sources,
				      .detail = options->detail,
				      .lines = options->lines,
				      .tasks = options->tasks,
				      .verify = options->verify,
				      .verbose = options->verbose};
	int err = foreign_files_create(options->nice, &engine->files, diag);

	watch.files = engine->files;
	watch.wants = sampler.filters ? filter_wants : NULL;
	watch.wants_waiting = sampler.filters ? filter_wants_waiting : NULL;
	watch.wants_context = options->filter;
	if (!err)
		err = sampler_create(&sampler, &engine->sampler, diag);
	if (!err && sampler.filters)
		filter_begin(options->filter, engine->sampler);
	if (!err)
		err = sideband_open(&engine->sideband, diag);
	if (!err)
		err = watch_create(&watch, engine->sampler, engine->sideband, &engine->watch, diag);
	if (err)
		return err;
	engine->report = report_create(engine->watch, &report);
	return engine->report ? 0 : diag_fail(diag, ENOMEM, "engine.memory", "out of memory");
}

int engine_open(const struct engine_options *options, struct engine **ret, struct diag *diag)
{
	struct engine *engine = calloc(1, sizeof(*engine));
	int err;

	if (!engine)
		return diag_fail(diag, ENOMEM, "engine.memory", "out of memory");
	engine->options = *options;
	err = open_parts(engine, diag);
	if (err)
		engine_close(engine);
	else
		*ret = engine;
	return err;
}

void engine_close(struct engine *engine)
{
	if (!engine)
		return;
	report_destroy(engine->report);
	watch_destroy(engine->watch);
	sideband_close(engine->sideband);
	sampler_destroy(engine->sampler);
	foreign_files_destroy(engine->files);
	free(engine);
}

int engine_watch(struct engine *engine, pid_t pid, unsigned int flags)
{
	bool before_exec = flags & ENGINE_BEFORE_EXEC;
	uint64_t target = (before_exec ? TARGET_AWAITS_EXEC : 0) | (flags & ENGINE_CHILDREN ? TARGET_CHILDREN : 0);
	int err = before_exec ? watch_scan_briefly(engine->watch, pid) : 0;

	if (!err)
		err = sampler_watch(engine->sampler, pid, target);
	return err || before_exec ? err : watch_scan(engine->watch, pid);
}

int engine_watch_descendants(struct engine *engine, const pid_t *pids, size_t count)
{
	struct table watched = {};
	size_t found, added, i;
	int err;

	/* A child that its parent had before that was watched may have had children itself meanwhile: those are seen
	 * the next time. */
	do {
		struct descendant *list = NULL;

		added = found = 0;
		err = descendants_find(pids, count, &list, &found);
		for (i = 0; i < found && !err; i++) {
			if (table_get(&watched, (uint64_t)list[i].pid, NULL))
				continue;
			err = table_set(&watched, (uint64_t)list[i].pid, 1);
			if (!err)
				err = engine_watch(engine, list[i].pid, ENGINE_CHILDREN);
			if (err == -ESRCH)
				err = 0;
			added++;
		}
		free(list);
	} while (!err && added);
	table_deinit(&watched);
	return err;
}

int engine_watch_all(struct engine *engine)
{
	return watch_scan_all(engine->watch);
}

int engine_ready(struct engine *engine, struct diag *diag)
{
	return sampler_ready(engine->sampler, diag);
}

int engine_start(struct engine *engine, struct diag *diag)
{
	int err = sampler_start(engine->sampler, diag);
	const char *refused = err ? NULL : sampler_refused(engine->sampler);
	char remark[256];

	if (refused) {
		snprintf(remark, sizeof(remark),
			 "this kernel refused the best form of the sampler, and a lesser one samples; "
			 "please report it: %s",
			 refused);
		watch_add_remark(engine->watch, remark);
	}
	engine->began = time_s(CLOCK_MONOTONIC);
	engine->began_at = time_s(CLOCK_REALTIME);
	/* The first wait that ends may have lasted for long, and is not the first that began. */
	if (engine->options.off_cpu_rate)
		watch_begin_slices(engine->watch, (uint64_t)(engine->began * 1e9));
	return err;
}

void engine_descriptors(const struct engine *engine, int ret[ENGINE_DESCRIPTORS])
{
	ret[0] = sampler_fd(engine->sampler);
	ret[1] = sideband_fd(engine->sideband);
	ret[2] = watch_fd(engine->watch);
}

int engine_timeout_ms(const struct engine *engine)
{
	return watch_is_behind(engine->watch) ? 0 : POLL_MS;
}

/* CPUs that come online are sampled, too. One that cannot be is no reason to stop. */
static void follow_cpus(struct engine *engine)
{
	double now = time_s(CLOCK_MONOTONIC);

	if (now < engine->followed + CPUS_S)
		return;
	engine->followed = now;
	sideband_follow(engine->sideband);
	sampler_follow_cpus(engine->sampler);
}

int engine_poll(struct engine *engine)
{
	int err = watch_drain(engine->watch);

	follow_cpus(engine);
	return err;
}

int engine_stop(struct engine *engine)
{
	struct off_cpu *off = sampler_off_cpu(engine->sampler);
	int err, unfinished;

	sampler_stop(engine->sampler);
	engine->ended = time_s(CLOCK_MONOTONIC);
	unfinished = off ? watch_take_waits(engine->watch, off) : 0;
	err = watch_finish(engine->watch);
	return err ? err : unfinished;
}

int engine_fetch(struct engine *engine, struct fetch *fetch)
{
	return fetch_symbols(fetch, watch_store(engine->watch), watch_objects(engine->watch),
			     watch_namer(engine->watch));
}

static double self_cpu_s(const struct engine *engine, uint64_t *peak_kb)
{
	struct rusage usage;

	if (getrusage(RUSAGE_SELF, &usage))
		return 0;
	*peak_kb = (uint64_t)usage.ru_maxrss;
	return (double)usage.ru_utime.tv_sec + (double)usage.ru_utime.tv_usec / 1e6 + (double)usage.ru_stime.tv_sec +
	       (double)usage.ru_stime.tv_usec / 1e6 + foreign_files_cpu_s(engine->files) + watch_cpu_s(engine->watch);
}

static const char *string_of(struct profile *profile, const char *text)
{
	const char *copy = profile_string(profile, text);

	return copy ? copy : "";
}

static void fill_info(struct engine *engine, struct profile *profile, double now)
{
	struct profile_info *info = profile_info(profile);
	struct utsname name;

	if (!uname(&name)) {
		info->hostname = string_of(profile, name.nodename);
		info->kernel = string_of(profile, name.release);
	}
	info->strata_version = STRATA_VERSION;
	info->frequency = engine->options.frequency;
	info->weighed = engine->options.off_cpu_rate;
	info->cpus = (unsigned int)sysconf(_SC_NPROCESSORS_ONLN);
	info->start_time = engine->began_at;
	info->began_ns = (uint64_t)(engine->began * 1e9);
	info->duration_s = now - engine->began;
	engine->began_at += now - engine->began;
	engine->began = now;
}

int engine_collect(struct engine *engine, struct profile *profile)
{
	struct profile_quality *quality = profile_quality(profile);
	struct balance_window window = {.last = engine->ended != 0};
	struct balance_totals totals = {};
	struct tallies tallies;
	struct off_cpu *off = sampler_off_cpu(engine->sampler);
	const double began = engine->began;
	const char *remark;
	double now;
	int err, unnamed;

	sampler_counters(engine->sampler, &totals.kernel);
	sampler_forget_worst(engine->sampler);
	err = window.last ? 0 : watch_drain(engine->watch);
	now = window.last ? engine->ended : time_s(CLOCK_MONOTONIC);
	if (off && engine->options.waits_by_window && !window.last && !err && !watch_is_behind(engine->watch))
		err = watch_tell_waits(engine->watch, off, (uint64_t)(now * 1e9));
	window.emptied = window.last || !watch_is_behind(engine->watch);
	window.waiting = watch_waiting(engine->watch);
	watch_take(engine->watch, !window.last, &tallies);
	window.seen = tallies.samples;
	engine->samples += tallies.samples;
	fill_info(engine, profile, now);
	unnamed = report_window(engine->report, &tallies, window.last, profile);
	profile_info(profile)->times.start_s -= began;
	if (window.last)
		unnamed = watch_tell_sources(engine->watch, profile) ?: unnamed;
	tallies_deinit(&tallies);
	while ((remark = watch_remark(engine->watch, engine->remarks))) {
		unnamed = profile_add_remark(profile, remark) ?: unnamed;
		engine->remarks++;
	}
	totals.watch = *watch_get_counts(engine->watch);
	totals.perf_maps = watch_perf_maps_refused(engine->watch);
	totals.self_cpu_s = self_cpu_s(engine, &quality->self_peak_rss_kb);
	balance_add(&engine->balance, &totals, &window, quality);
	quality->verified = engine->options.verify;
	return err ? err : unnamed;
}

struct engine_progress engine_progress(const struct engine *engine)
{
	const struct tallies *tallies = &watch_store(engine->watch)->tallies;

	return (struct engine_progress){engine->samples + tallies->samples, tallies->list.count};
}
