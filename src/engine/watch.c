// SPDX-License-Identifier: GPL-2.0-or-later
#include "engine/watch_parts.h"

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>

#include "base/time.h"

#define REAP_AFTER_NS 3000000000ull /* a record is not older than this when those after it are read */
#define REAP_EVERY_NS 1000000000ull
#define CODE_AT_ONCE  (16ull << 20) /* bytes of code that are compiled before the first sample: some 15 ms */
/* After this the side-band, signals and the clock have their turn, however much comes. */
#define DRAIN_NS   200000000ull

uint64_t watch_now(void)
{
	return time_ns(CLOCK_MONOTONIC);
}

/* Called when a process is forgotten. Its pid may be another's by now: that one's entries stay. */
static void release(struct process *process)
{
	struct watched *watched = process->user;
	struct watch *watch = watched->watch;

	if (watched->entry.generation)
		tables_withdraw(sampler_tables(watch->sampler), (uint32_t)process->pid, &watched->entry, watch_now());
	watch_unpin(watch, watched);
	watch_drop_windows(watch, watched);
	watch_forget_published(watched);
	if (watch->verifier)
		verifier_forget(watch->verifier, process);
	if (processes_find(watch->processes, process->pid, UINT64_MAX) == process)
		sampler_forget(watch->sampler, process->pid, process->ended);
	vec_free(&watched->pins);
	free(watched);
}

static void free_user(struct process *process)
{
	struct watched *watched = process->user;

	vec_free(&watched->pins);
	watch_drop_windows(watched->watch, watched);
	watch_forget_published(watched);
	free(watched);
}

int watch_create(const struct watch_options *options, struct sampler *sampler, struct sideband *sideband,
		 struct watch **ret, struct diag *diag)
{
	struct watch *watch = calloc(1, sizeof(*watch));

	if (!watch)
		return diag_fail(diag, ENOMEM, "watch.memory", "out of memory");
	watch->sampler = sampler;
	watch->sideband = sideband;
	watch->foreign = options->files;
	watch->sharing.code = (struct budget){.whole = WATCH_CODE_BYTES, .halving_s = WATCH_CODE_HALVING_S};
	watch->sharing.checks = (struct budget){.whole = WATCH_CHECKS_NS, .halving_s = WATCH_CHECKS_HALVING_S};
	watch->sharing.published =
		(struct shares){.whole = WATCH_PUBLISHED_BYTES, .floor = 1u << 20, .user_16ths = 8, .process_16ths = 8};
	watch->everything = options->everything;
	watch->tells_tasks = options->tasks;
	watch->tidying.max_memory = options->max_memory;
	watch->store.merges_threads = options->merges_threads;
	watch->store.keeps_cgroups = options->cgroups;
	watch->store.keeps_locks = options->locks;
	watch->store.keeps_moments = options->moments;
	watch->store.moments_max = options->moments_max;
	watch->store.tick_ns = options->tick_ns;
	watch->store.keeps_slices = options->slices;
	watch->naming.detail = options->detail;
	watch->naming.lines = options->lines;
	watch->publishing.expected = options->expected;
	watch->publishing.expected_count = options->expected_count;
	watch->publishing.publish_ns = options->publish_ns;
	watch->publishing.whole_tables = options->whole_tables;
	watch->wants = options->wants;
	watch->wants_waiting = options->wants_waiting;
	watch->keeps = options->keeps;
	watch->wants_context = options->wants_context;
	if (options->cgroups)
		watch->owners = owners_create();
	if (options->sources)
		watch->sources = source_files_create(options->files);
	if (options->verify)
		watch->verifier = verifier_create(options->verbose);
	watch->naming.names = frames_create();
	watch->naming.kernel = kernel_names_create(true);
	watch->processes = processes_create();
	watch->objects = objects_create(options->files);
	watch->walker = late_walker_create(sampler_tables(sampler));
	watch->naming.perf_maps = perf_maps_create(options->files);
	watch->naming.jit_maps = perf_maps_create(NULL);
	watch->tidying.reaped_at = watch->learning.begun = watch_now();
	watch_names_init(watch);
	if (!watch->naming.names || !watch->naming.kernel || !watch->naming.namer || !watch->processes ||
	    !watch->objects || !watch->walker || !watch->naming.perf_maps || !watch->naming.jit_maps ||
	    (options->verify && !watch->verifier) ||
	    (options->cgroups && !watch->owners) || (options->sources && !watch->sources)) {
		watch_destroy(watch);
		return diag_fail(diag, ENOMEM, "watch.memory", "out of memory");
	}
	watch_rows_init(watch);
	watch_runtime_init(watch);
	late_walker_fills(watch->walker, watch_fill, watch);
	watch_analysis_init(watch, options->waits);
	*ret = watch;
	return 0;
}

static void keep_learnt(struct watch *watch)
{
	uint32_t i;

	if (!watch->processes || !watch->objects)
		return;
	for (i = 0; i < processes_file_count(watch->processes); i++)
		if (objects_at(watch->objects, i))
			watch_keep_learnt(objects_at(watch->objects, i));
}

void watch_destroy(struct watch *watch)
{
	size_t i;

	if (!watch)
		return;
	keep_learnt(watch);
	watch_analysis_deinit(watch);
	watch_runtime_deinit(watch);
	watch_rows_deinit(watch);
	namer_destroy(watch->naming.namer);
	processes_destroy(watch->processes, free_user);
	objects_destroy(watch->objects);
	late_walker_destroy(watch->walker);
	live_second_destroy(watch->live_second);
	waits_told_deinit(&watch->told);
	owners_destroy(watch->owners);
	source_files_destroy(watch->sources);
	verifier_destroy(watch->verifier);
	store_deinit(&watch->store);
	frames_destroy(watch->naming.names);
	vec_free(&watch->publishing.dirty);
	vec_free(&watch->publishing.entries);
	vec_free(&watch->publishing.files);
	vec_free(&watch->arriving.frames);
	table_deinit(&watch->arriving.late);
	vec_free(&watch->arriving.waiting);
	for (i = 0; i < watch->remarks.count; i++)
		free(watch->remarks.at[i]);
	vec_free(&watch->remarks);
	vec_free(&watch->learning.retired);
	table_deinit(&watch->learning.doubted);
	table_deinit(&watch->learning.judged);
	perf_maps_destroy(watch->naming.perf_maps);
	perf_maps_destroy(watch->naming.jit_maps);
	kernel_names_destroy(watch->naming.kernel);
	budget_deinit(&watch->sharing.code);
	budget_deinit(&watch->sharing.checks);
	shares_deinit(&watch->sharing.published);
	free(watch);
}

struct watched *watched_of(struct watch *watch, struct process *process)
{
	struct watched *watched = process->user;

	if (!watched) {
		watched = calloc(1, sizeof(*watched));
		if (!watched)
			return NULL;
		watched->watch = watch;
		watched->process = process;
		process->user = watched;
	}
	return watched;
}

static void mark_dirty(struct watch *watch, struct process *process)
{
	struct watched *watched = watched_of(watch, process);

	if (!watched || watched->dirty)
		return;
	if (vec_push(&watch->publishing.dirty, process))
		watch->err = -ENOMEM;
	else
		watched->dirty = true;
}

/* After exec nothing of before holds; the kernel part knows by itself. */
static void handle_exec(struct watch *watch, struct process *process)
{
	struct watched *watched = watched_of(watch, process);

	if (!watched)
		return;
	/* When another thread than the main one calls exec, the main one's end was told before. */
	if (process->older && process->older->user)
		watched->wanted |= ((struct watched *)process->older->user)->wanted;
	if (watched->entry.generation)
		tables_withdraw(sampler_tables(watch->sampler), (uint32_t)process->pid, &watched->entry, watch_now());
	watched->entry = (struct process_entry){};
	watch_unpin(watch, watched);
	watch_drop_windows(watch, watched);
	watch_forget_published(watched);
	watch_forget_trial(watched);
	if (watched->runtime)
		sampler_no_runtime(watch->sampler, process->pid);
	watched->runtime = watched->has_aid = false;
	watched->tasks = (struct watched_tasks){};
}

/* A child is known as its parent was; the kernel part has copied where its runtime is, if it was told in time. */
static void handle_fork(struct watch *watch, struct process *parent, struct process *child)
{
	struct watched *from = parent ? parent->user : NULL, *to = watched_of(watch, child);

	if (!to)
		return;
	to->wanted = from && from->wanted;
	to->is_prepared = from && from->is_prepared;
	if (from && (from->entry.generation || from->runtime || from->wanted))
		mark_dirty(watch, child);
}

/* Read while the process lived, if possible. */
struct perf_map *watch_perf_map(struct watch *watch, const struct mapped_file *file)
{
	struct perf_map *map = perf_maps_of(watch->naming.perf_maps, file->index + 1ull, file->pid);

	return map ? map : perf_maps_kept(watch->naming.jit_maps, file->index + 1ull);
}

static struct perf_map *perf_map_of(void *context, const struct mapped_file *file)
{
	struct watch *watch = context;

	/* It has grown since the window before, by what was generated since. */
	if (watch->store.in_windows)
		perf_maps_renew(watch->naming.perf_maps, file->index + 1ull, file->pid);
	return watch_perf_map(watch, file);
}

/* A process that ran generated code is about to take its perf map's owner away. */
static void handle_exit(struct watch *watch, const struct process *process)
{
	if (process->anonymous)
		watch_perf_map(watch, process->anonymous);
}

void watch_publish_again(struct watch *watch, struct process *process)
{
	struct watched *watched = process->user;

	watched->published_changes = process->changes - 1;
	mark_dirty(watch, process);
}

/* A file system answers again: what could not be read is read, and told to the kernel. */
static void publish_anew(struct watch *watch)
{
	struct process *process;
	size_t at = 0;

	objects_retry(watch->objects);
	while ((process = processes_next(watch->processes, &at))) {
		struct watched *watched = process->user;

		if (!watched || !watched->entry.generation || process->ended != UINT64_MAX)
			continue;
		watch_publish_again(watch, process);
	}
}

static void rescan_living(struct watch *watch)
{
	struct process *process;
	size_t at = 0;

	while ((process = processes_next(watch->processes, &at)))
		if (process->user)
			process->scanned = false; /* read again when its next sample is late */
}

/*
 * A file may have been overwritten in place since it was opened, or its inode be another file's now. What was mapped
 * before keeps what is known of it.
 */
static int check_content(struct watch *watch, const struct sideband_event *event, struct process *process)
{
	const struct process_mapping *mapping = process_find_mapping(process, event->start, event->time);
	const struct object *object = mapping ? objects_at(watch->objects, mapping->file->index) : NULL;

	if (!object || !object_changed(object))
		return 0;
	processes_renew_file(watch->processes, mapping->file);
	return processes_mmap(watch->processes, event->pid, event->time, event->start, event->size, event->offset,
			      event->device, event->inode, event->path, &process);
}

/* What a start may compute for the tables of processes that run an expected file: those of some ten programs. */
#define EXPECTED_NS 50000000ull

static bool is_expected(const struct watch *watch, uint64_t device, uint64_t inode)
{
	uint32_t i;

	for (i = 0; i < watch->publishing.expected_count; i++)
		if (watch->publishing.expected[i].device == device && watch->publishing.expected[i].inode == inode)
			return true;
	return false;
}

/* It maps a file that is expected to be met. */
static void expect_process(struct watch *watch, struct process *process)
{
	struct watched *watched = watched_of(watch, process);

	if (watched)
		watched->is_prepared = true;
	mark_dirty(watch, process);
}

static void note_sources(struct watch *watch, const struct sideband_event *event)
{
	bool renews = event->type == SIDEBAND_EXEC || event->type == SIDEBAND_FORK;

	if (!watch->sources)
		return;
	if (event->type == SIDEBAND_LOST)
		source_files_doubt(watch->sources);
	if (renews && source_files_renew(watch->sources, event->pid, event->time))
		watch->err = -ENOMEM;
}

static void handle_sideband(void *context, const struct sideband_event *event)
{
	struct watch *watch = context;
	struct process *process = NULL, *parent;
	int err = 0;

	switch (event->type) {
	case SIDEBAND_MMAP:
		err = processes_mmap(watch->processes, event->pid, event->time, event->start, event->size,
				     event->offset, event->device, event->inode, event->path, &process);
		if (!err)
			err = check_content(watch, event, process);
		if (process)
			watch_note_replaced(watch, process);
		if (process && is_expected(watch, event->device, event->inode))
			expect_process(watch, process);
		else if (process)
			mark_dirty(watch, process);
		break;
	case SIDEBAND_EXEC:
		err = processes_exec(watch->processes, event->pid, event->time, &process);
		if (process)
			handle_exec(watch, process);
		break;
	case SIDEBAND_FORK:
		parent = processes_find(watch->processes, event->parent, event->time);
		err = processes_fork(watch->processes, event->parent, event->pid, event->time, &process);
		if (process)
			handle_fork(watch, parent, process);
		break;
	case SIDEBAND_EXIT:
		/* Threads beside the main one may go on; then end_dead() sees the end. */
		process = process_has_threads(event->pid) ? processes_find(watch->processes, event->pid, event->time)
							  : processes_exit(watch->processes, event->pid, event->time);
		if (process)
			handle_exit(watch, process);
		break;
	case SIDEBAND_LOST:
		watch->counts.sideband_lost += event->lost;
		rescan_living(watch);
		break;
	}
	note_sources(watch, event);
	if (err == -ENOMEM)
		watch->err = err;
}

/* Takes the changes of living processes to the kernel; what has to wait stays in `dirty`. */
static int refresh_dirty(struct watch *watch, uint64_t now)
{
	uint64_t until = watch->publishing.publish_ns ? now + watch->publishing.publish_ns : UINT64_MAX;
	size_t i, kept = 0;
	int err = 0;

	watch->behind = false;
	for (i = 0; i < watch->publishing.dirty.count; i++) {
		struct process *process = watch->publishing.dirty.at[i];
		struct watched *watched = process->user;
		bool living = process->ended == UINT64_MAX && !watch->publishing.unpublished;
		bool late = living && until != UINT64_MAX && watch_now() > until;

		if (late || (living && watch_published_lately(watched, now))) {
			watch->behind |= late;
			watch->publishing.dirty.at[kept++] = process;
			continue;
		}
		watched->dirty = false;
		if (living && watch_refresh(watch, process))
			err = -ENOMEM;
	}
	watch->publishing.dirty.count = kept;
	return err;
}

int watch_drain_sideband(struct watch *watch)
{
	uint64_t now = watch_now();
	size_t i;
	int err;

	watch->err = 0;
	err = sideband_drain(watch->sideband, handle_sideband, watch);
	watch->drained_at = now;
	/* Second stacks first, of all: their frames cannot be found later, and the tables of another program may take
	 * milliseconds. */
	for (i = 0; i < watch->publishing.dirty.count; i++)
		if (watch->publishing.dirty.at[i]->ended == UINT64_MAX &&
		    watch_is_wanted(watch, watch->publishing.dirty.at[i]) &&
		    !watch_finds(watch, watch->publishing.dirty.at[i]))
			watch_find_runtime(watch, watch->publishing.dirty.at[i]);
	watch_prove_again(watch);
	watch_find_tasks(watch);
	if (refresh_dirty(watch, now))
		err = -ENOMEM;
	return err ? err : watch->err;
}

static int handle_record(void *context, const struct event_header *header, size_t size)
{
	struct watch *watch = context;
	int err = watch_take_record(watch, header, size);

	return !err && !(++watch->arriving.records & 255) && watch_now() > watch->arriving.drain_until ? -EAGAIN : err;
}

/* Ends the processes whose exit was not told: the record was lost, or was another thread's. */
static void end_dead(struct watch *watch)
{
	struct process *process;
	size_t at = 0;

	while ((process = processes_next(watch->processes, &at)))
		if (process->started < watch->drained_at && kill(process->pid, 0) && errno == ESRCH)
			processes_exit(watch->processes, process->pid, watch->drained_at);
}

void watch_advance_watermark(struct watch *watch, uint64_t begun, bool emptied)
{
	uint64_t until = emptied || watch->arriving.newest > begun ? begun : watch->arriving.newest;

	if (until > watch->arriving.watermark)
		watch->arriving.watermark = until;
}

void watch_count_unverified(struct watch *watch, enum loss missing)
{
	struct profile_verify *verify = &watch->counts.verify;
	uint64_t told = verify->samples;
	size_t i;

	for (i = 0; i < LOSS_COUNT; i++)
		told += verify->uncompared[i];
	if (verify->chosen > told)
		verify->uncompared[missing] += verify->chosen - told;
}

static int drain(struct watch *watch, uint64_t until)
{
	int err = watch_drain_sideband(watch);
	uint64_t begun = watch->drained_at, reap;

	watch->arriving.drain_until = until;
	if (!err)
		err = watch_poll_analysis(watch);
	if (!err)
		err = watch_check_all_windows(watch, begun);
	if (!err)
		err = sampler_drain(watch->sampler, handle_record, watch);
	watch_advance_watermark(watch, begun, !err);
	if (err == -EAGAIN) {
		watch->behind = true;
		err = 0;
	}
	if (watch->drained_at > watch->tidying.reaped_at + REAP_EVERY_NS) {
		watch->tidying.reaped_at = watch->drained_at;
		end_dead(watch);
		reap = watch->arriving.watermark > REAP_AFTER_NS ? watch->arriving.watermark - REAP_AFTER_NS : 0;
		if (watch->analysing.parked_since && watch->analysing.parked_since < reap)
			reap = watch->analysing.parked_since; /* their processes are still asked about */
		processes_reap(watch->processes, reap, release);
		tables_collect(sampler_tables(watch->sampler), watch->drained_at);
		watch_collect_windows(watch, watch->drained_at);
		if (foreign_files_recovered(watch->foreign))
			publish_anew(watch);
		watch_retry_full(watch, watch->drained_at);
		if (!err)
			err = watch_release_stale(watch, reap, LOSS_STACK_MISSING);
		if (!err)
			err = watch_tidy(watch);
	} else if (!err && watch->tidying.has_files) {
		err = watch_forget_files(watch, CLOSING_NS);
	}
	return err;
}

int watch_drain(struct watch *watch)
{
	return drain(watch, watch_now() + DRAIN_NS);
}

int watch_finish(struct watch *watch)
{
	int err = drain(watch, UINT64_MAX), more = err, stale;

	/* What there is no memory for is gone; the next record may need none. */
	while (more == -ENOMEM)
		more = sampler_drain(watch->sampler, handle_record, watch);
	if (!err)
		err = watch_finish_analysis(watch);
	/* After an error what is missing may still lie in the ring. */
	stale = watch_release_stale(watch, UINT64_MAX, err ? LOSS_LATE : LOSS_STACK_MISSING);
	watch_count_unverified(watch, err ? LOSS_INTERNAL : LOSS_STACK_MISSING);
	store_seal(&watch->store);
	return err ? err : stale;
}

int watch_scan_briefly(struct watch *watch, int pid)
{
	struct watched *watched;
	struct process *process;
	int err;

	watch->drained_at = watch_now();
	err = processes_scan(watch->processes, pid, watch->drained_at, &process);
	if (err)
		return err;
	watched = watched_of(watch, process);
	if (!watched)
		return -ENOMEM;
	watched->wanted = true;
	return 0;
}

/* Would compiling a process's tables have the first sample wait? */
static bool has_much_code(const struct process *process)
{
	uint64_t bytes = 0;
	size_t i;

	for (i = 0; i < process->mappings.count; i++)
		if (process->mappings.at[i].to == UINT64_MAX)
			bytes += process->mappings.at[i].end - process->mappings.at[i].start;
	return bytes > CODE_AT_ONCE;
}

int watch_scan(struct watch *watch, int pid)
{
	struct process *process;
	int err = watch_scan_briefly(watch, pid);

	if (err)
		return err;
	process = processes_find(watch->processes, pid, UINT64_MAX);
	if (watch->publishing.whole_tables || !has_much_code(process))
		return watch_refresh(watch, process);
	watch_find_runtime(watch, process);
	if (!watch->everything || ((struct watched *)process->user)->runtime)
		mark_dirty(watch, process);
	watch->behind = true;
	return watch->err;
}

int watch_prepare(struct watch *watch, int pid)
{
	struct process *process;
	struct watched *watched;
	int err = watch_scan_briefly(watch, pid);

	process = err ? NULL : processes_find(watch->processes, pid, UINT64_MAX);
	watched = process ? watched_of(watch, process) : NULL;
	if (!watched)
		return err ? err : -ENOMEM;
	watched->is_prepared = true;
	return watch_refresh(watch, process);
}

/* At once, or when watch_drain() has the time for it. */
static int prepare_expected(struct watch *watch, struct process *process)
{
	uint64_t begin = time_ns(CLOCK_THREAD_CPUTIME_ID);
	int err;

	if (watch->publishing.expected_ns >= EXPECTED_NS)
		return watch->err;
	err = watch_refresh(watch, process);
	watch->publishing.expected_ns += time_ns(CLOCK_THREAD_CPUTIME_ID) - begin;
	return err;
}

static int scan_lazily(struct watch *watch, int pid)
{
	struct process *process;
	size_t i;
	int err = processes_scan(watch->processes, pid, watch->drained_at, &process);

	if (err)
		return err;
	watch_find_runtime(watch, process);
	if (process->user && ((struct watched *)process->user)->runtime)
		mark_dirty(watch, process);
	for (i = 0; i < process->mappings.count && watch->publishing.expected_count; i++) {
		const struct mapped_file *file = process->mappings.at[i].file;

		if (process->mappings.at[i].to != UINT64_MAX || !is_expected(watch, file->device, file->inode))
			continue;
		expect_process(watch, process);
		return prepare_expected(watch, process);
	}
	return watch->err;
}

static int each_process(struct watch *watch, int (*take)(struct watch *watch, int pid))
{
	DIR *proc = opendir("/proc");
	struct dirent *entry;
	int err = 0;

	if (!proc)
		return -ESRCH;
	while (!err && (entry = readdir(proc))) {
		int pid = atoi(entry->d_name);

		if (pid > 0)
			err = take(watch, pid);
		if (err == -ESRCH)
			err = 0;
	}
	closedir(proc);
	return err;
}

int watch_scan_all(struct watch *watch)
{
	return each_process(watch, watch_scan);
}

int watch_scan_all_lazily(struct watch *watch)
{
	watch->drained_at = watch_now();
	return each_process(watch, scan_lazily);
}

bool watch_is_behind(const struct watch *watch)
{
	return watch->behind || watch->tidying.has_files;
}

void watch_stop_publishing(struct watch *watch)
{
	watch->publishing.unpublished = true;
}

int watch_fd(const struct watch *watch)
{
	return watch->analysing.analyser ? analyser_fd(watch->analysing.analyser) : -1;
}

double watch_cpu_s(const struct watch *watch)
{
	return (watch->analysing.analyser ? analyser_cpu_s(watch->analysing.analyser) : 0) +
	       (watch->finding.analyser ? analyser_cpu_s(watch->finding.analyser) : 0) +
	       watch_rows_cpu_s(watch) + namer_cpu_s(watch->naming.namer);
}

void watch_begin_slices(struct watch *watch, uint64_t time)
{
	if (watch->store.keeps_slices)
		slices_begin(&watch->store.tallies.slices, time);
}

const struct store *watch_store(const struct watch *watch)
{
	return &watch->store;
}

struct objects *watch_objects(struct watch *watch)
{
	return watch->objects;
}

struct namer *watch_namer(struct watch *watch)
{
	return watch->naming.namer;
}

const struct watch_counts *watch_get_counts(const struct watch *watch)
{
	return &watch->counts;
}

uint64_t watch_perf_maps_refused(const struct watch *watch)
{
	return perf_maps_refused(watch->naming.perf_maps);
}

static struct names names_of(struct watch *watch)
{
	return (struct names){.store = &watch->store,
			      .objects = watch->objects,
			      .namer = watch->naming.namer,
			      .frames = watch->naming.names,
			      .perf_map = perf_map_of,
			      .context = watch,
			      .kernel = watch->naming.kernel,
			      .detail = watch->naming.detail,
			      .lines = watch->naming.lines};
}

int watch_name_all(struct watch *watch)
{
	const struct names names = names_of(watch);

	return names_give_all(&names);
}

void watch_take(struct watch *watch, bool more, struct tallies *ret)
{
	store_take(&watch->store, more, ret);
}

size_t watch_waiting(const struct watch *watch)
{
	size_t i, count = 0;

	for (i = 0; i < watch->arriving.waiting.count; i++)
		count += watch->arriving.waiting.at[i].sample.sequence != 0;
	return count;
}

int watch_tell_owner(const struct watch *watch, uint64_t cgroup, struct profile *profile)
{
	return watch->owners ? owners_tell(watch->owners, cgroup, profile) : 0;
}

int watch_tell_sources(struct watch *watch, struct profile *profile)
{
	return watch->sources ? source_files_collect(watch->sources, profile) : 0;
}

void watch_drop_stack(struct watch *watch, uint32_t number)
{
	store_drop_stack(&watch->store, number);
}

const struct frames *watch_frames(const struct watch *watch)
{
	return watch->naming.names;
}

int watch_name(struct watch *watch, uint32_t object)
{
	const struct names names = names_of(watch);

	return names_give(&names, object);
}

int watch_forget_names(struct watch *watch)
{
	const struct names names = names_of(watch);

	return names_forget(&names);
}

int watch_name_file(struct watch *watch, const struct mapped_file *file)
{
	int err = watch_name(watch, LOCATION_FILES + file->index);

	/* Its number may be another's from now on. */
	store_forget_object(&watch->store, LOCATION_FILES + file->index);
	perf_maps_forget(watch->naming.perf_maps, file->index + 1ull);
	perf_maps_forget(watch->naming.jit_maps, file->index + 1ull);
	return err;
}
