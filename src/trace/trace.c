// SPDX-License-Identifier: GPL-2.0-or-later
#include "trace/trace.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <stdio_ext.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "elf/debuginfod.h"
#include "engine/fetch.h"
#include "trace/later.h"
#include "trace/load.h"
#include "trace/names.h"
#include "trace/run.h"
#include "trace/wanted.h"
#include "trace/whole_lines.h"

#define POLL_MS 100
#define REST_MS 4
#define LAST_NS 1000000000ull /* for what is still in the ring at the end */

/* --- attaching --- */

int run_program(const struct run *run, size_t unit)
{
	return bpf_program__fd(bpf_object__find_program_by_name(run->object, run->compiler->units.at[unit].program));
}

/* begin and end run once, here. */
static int run_special(struct run *run, enum provider_run which, struct diag *diag)
{
	size_t i;

	for (i = 0; i < run->compiler->units.count && !run->finished; i++) {
		uint64_t context[8] = {};
		LIBBPF_OPTS(bpf_test_run_opts, options, .ctx_in = context, .ctx_size_in = sizeof(context));
		int err;

		if (run->compiler->units.at[i].provider->run != which)
			continue;
		if (run->compiler->has_cpu) {
			options.flags = BPF_F_TEST_RUN_ON_CPU;
			options.cpu = run->compiler->cpu;
		}
		err = bpf_prog_test_run_opts(run_program(run, i), &options);
		if (err)
			return diag_fail(diag, -err, "trace.begin", "%s cannot be run: %s",
					 run->compiler->units.at[i].provider->name, strerror(-err));
	}
	return 0;
}

/* Attaches a unit's program to `count` of its places from `first` on. */
static int attach_places(struct run *run, size_t index, uint32_t first, uint32_t count, struct diag *diag)
{
	const struct compiler *c = run->compiler;
	const struct unit *unit = &c->units.at[index];
	const struct attach_target target = {.pid = unit->is_everywhere ? 0 : c->options->pid,
					     .is_command = !unit->is_everywhere && run->options->command != NULL,
					     .cpu = c->has_cpu ? (int)c->cpu : -1};
	uint32_t at = unit->first_attach + first;
	struct watchpoint watch = {.address = c->attaches.at[at].address, .first = run->attachment.fds.at.count};
	int err = unit->provider->attach(run_program(run, index), &c->attaches.at[at], count, at, &target,
					 &run->attachment, diag);

	watch.end = run->attachment.fds.at.count;
	if (!err && unit->provider->is_watch && vec_push(&run->watchpoints, watch))
		err = diag_fail(diag, ENOMEM, "trace.memory", "out of memory");
	return err;
}

static void skip_place(struct run *run, const struct attach *attach, const struct diag *diag)
{
	static const char unable[] = "Unable to attach probe: ";

	run->unattached++;
	if (strcmp(run->compiler->texts[SETTING_MISSING_PROBES], "warn") != 0)
		return;
	if (!strncmp(diag->text, unable, sizeof(unable) - 1))
		fprintf(stderr, "WARNING: %s. Skipping.\n", diag->text);
	else
		fprintf(stderr, "WARNING: %s%s: %s. Skipping.\n", unable, attach->name, diag->text);
}

/*
 * Where missing_probes lets places be missing, those of a program that cannot be attached to together are tried one by
 * one. A link of many is there for all of them or not at all; other kinds may have taken some before they failed.
 */
static int attach_unit(struct run *run, size_t index, struct diag *diag)
{
	const struct compiler *c = run->compiler;
	const struct unit *unit = &c->units.at[index];
	const struct attach *attaches = &c->attaches.at[unit->first_attach];
	bool may_miss = strcmp(c->texts[SETTING_MISSING_PROBES], "error") != 0;
	uint32_t i;

	if (!may_miss || (attaches->flags & (ATTACH_MULTI | ATTACH_TOGETHER))) {
		int err = attach_places(run, index, 0, unit->attach_count, diag);

		if (!err || !may_miss)
			return err;
	}
	if (attaches->flags & ATTACH_TOGETHER) {
		skip_place(run, attaches, diag);
		return 0;
	}
	for (i = 0; i < unit->attach_count; i++)
		if (attach_places(run, index, i, 1, diag))
			skip_place(run, &attaches[i], diag);
	return 0;
}

/*
 * The runtime library's own programs, those that were linked in: processes that the command starts are known from the
 * moment when they are forked; of threads that make calls, when they are on a CPU, and when they end.
 */
static int attach_hooks(struct run *run, struct diag *diag)
{
	static const struct {
		const char *event, *program;
	} hooks[] = {
		{"sched_process_fork", "rt_command_fork"}, {"sched_process_free", "rt_command_free"},
		{"sched_switch", "rt_calls_switch"},       {"sched_process_exit", "rt_calls_exit"},
		{"sched_process_exec", "rt_calls_exec"},
		{"sched_switch", "rt_time_switch"},
	};
	int err = 0;
	size_t i;

	for (i = 0; i < sizeof(hooks) / sizeof(hooks[0]) && !err; i++) {
		const struct bpf_program *program = bpf_object__find_program_by_name(run->object, hooks[i].program);
		int fd;

		if (!program)
			continue;
		fd = bpf_raw_tracepoint_open(hooks[i].event, bpf_program__fd(program));
		err = fd < 0 ? diag_fail(diag, -fd, "attach.hook", "processes cannot be followed (%s): %s",
					 hooks[i].event, strerror(-fd))
			     : attachment_keep(&run->attachment.fds, fd, diag);
	}
	return err;
}

/* Programs at one place run in the order of the script. */
static int attach_some(struct run *run, bool in_files, struct diag *diag)
{
	const struct compiler *c = run->compiler;
	size_t count = c->units.count, i;
	int err = 0;

	for (i = 0; i < 2 * count && !err; i++) {
		size_t index = i < count ? i : 2 * count - 1 - i;
		const struct unit *unit = &c->units.at[index];

		if (unit->provider->attach && unit->provider->runs_last_first == (i >= count) &&
		    (c->attaches.at[unit->first_attach].path != NULL) == in_files)
			err = attach_unit(run, index, diag);
	}
	return err;
}

/*
 * Places in programs come first: they take long, and what the kernel tells is often about a process that then is to go
 * by them.
 */
/* The record of exit() may have found no room in the ring. */
static bool has_exited(const struct run *run)
{
	uint32_t key = RT_STATE_EXITED;
	uint64_t value = 0;

	bpf_map_lookup_elem(bpf_object__find_map_fd_by_name(run->object, "rt_state"), &key, &value);
	return value;
}

static int attach_all(struct run *run, struct diag *diag)
{
	bool is_held = run->print->begins_together && !has_exited(run);
	int err;

	if (is_held)
		run_set_state(run, RT_STATE_EXITED, 1);
	err = attach_some(run, true, diag);
	if (!err)
		err = attach_some(run, false, diag);
	if (is_held)
		run_set_state(run, RT_STATE_EXITED, 0);
	return err;
}

/* Places of the same name (a marker's, or those of an event of Python's) are one probe. */
static size_t count_probes(const struct compiler *c)
{
	size_t count = 0, i;

	for (i = 0; i < c->units.count; i++) {
		const struct unit *unit = &c->units.at[i];

		count += unit->provider->is_alike ? 1 : unit->attach_count;
		if (i && unit->point == unit[-1].point &&
		    !strcmp(c->attaches.at[unit->first_attach].name, c->attaches.at[unit[-1].first_attach].name))
			count--;
	}
	return count;
}

static void tell_pinned(const struct run *run)
{
	const struct compiler *c = run->compiler;
	size_t i;

	for (i = 0; i < c->units.count && !run->options->quiet && !run->printer.json; i++)
		if (unit_is_pinned(c, &c->units.at[i]))
			fprintf(run->printer.out, "Program pinned to %s\n",
				c->attaches.at[c->units.at[i].first_attach].path);
}

static int tell_attached(const struct run *run, struct diag *diag)
{
	size_t count = count_probes(run->compiler);

	if (run->unattached && run->unattached >= count)
		return diag_fail(diag, ENOENT, "attach.none", "Attachment failed for all probes.");
	run->print->attached(&run->printer, count - run->unattached, run->options->quiet);
	tell_pinned(run);
	run->print->ready(&run->printer);
	return 0;
}

/* --- running --- */

static uint64_t monotonic(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000ull + (uint64_t)now.tv_nsec;
}

/* What is left at the end is written by finish(). */
static void write_output(struct run *run)
{
	uint64_t now;

	if (run->print->drained)
		run->print->drained(&run->printer);
	if (!run->print->write_every) {
		fflush(run->printer.out);
		return;
	}
	now = monotonic();
	if (!run->written)
		run->written = now;
	if (now - run->written < run->print->write_every(&run->printer))
		return;
	run->written = now;
	whole_lines_write(run->printer.out, run->options->out_buffer);
}

void run_drain(struct run *run)
{
	if (run->stacks)
		stacks_drain(run->stacks);
	if (run->packets)
		packets_drain(run->packets);
	ring_buffer__consume(run->ring);
	write_output(run);
}

/*
 * Reads the iterators to their ends. Each byte is an object for which the program ran, so the ring is emptied between
 * two reads.
 */
static int run_iterators(struct run *run, struct diag *diag)
{
	char objects[64];
	ssize_t got;
	size_t i;

	for (i = 0; i < run->attachment.iterators.at.count && !run->finished; i++) {
		do {
			got = read(run->attachment.iterators.at.at[i], objects, sizeof(objects));
			if (got < 0 && errno != EINTR && errno != EAGAIN)
				return diag_fail(diag, errno, "trace.iter", "an iterator cannot be read: %s",
						 strerror(errno));
			run_drain(run);
		} while (got && !run->finished);
	}
	return 0;
}

void run_set_state(const struct run *run, enum rt_state which, uint64_t value)
{
	uint32_t key = which;

	if (!run->object) /* it could not be loaded */
		return;
	bpf_map_update_elem(bpf_object__find_map_fd_by_name(run->object, "rt_state"), &key, &value, BPF_ANY);
}

static bool has_run(const struct compiler *c, enum provider_run which)
{
	size_t i;

	for (i = 0; i < c->units.count; i++)
		if (c->units.at[i].provider->run == which)
			return true;
	return false;
}

static int take_signals(struct run *run, struct diag *diag)
{
	static const int user[] = {SIGUSR1, 0}, child[] = {SIGCHLD, 0};
	int err = signals_take_ends(&run->signals);

	if (!err && has_run(run->compiler, RUN_ON_SIGNAL))
		err = signals_take(user, &run->user_signals);
	if (!err && run->stacks && run->options->command)
		err = signals_take(child, &run->children);
	return err ? diag_fail(diag, -err, "trace.signals", "signals cannot be taken: %s", strerror(-err)) : 0;
}

enum { POLL_SIGNALS, POLL_RING, POLL_TARGET, POLL_CHILDREN, POLL_USER_SIGNALS, POLL_STACKS };

static int prepare_polls(struct run *run)
{
	const struct trace_options *options = run->options;
	int target = options->command ? options->command->child.pidfd
		     : options->pid   ? (int)syscall(SYS_pidfd_open, options->pid, 0)
				      : -1;
	int fds[] = {
		[POLL_SIGNALS] = run->signals.fd,
		[POLL_RING] = ring_buffer__epoll_fd(run->ring),
		[POLL_TARGET] = target,
		[POLL_CHILDREN] = run->children.fd,
		[POLL_USER_SIGNALS] = run->user_signals.fd,
	};
	unsigned int i;

	for (i = 0; i < POLL_STACKS; i++)
		if (vec_push(&run->polls, (struct pollfd){.fd = fds[i], .events = POLLIN}))
			return -ENOMEM;
	if (run->packets && vec_push(&run->polls, (struct pollfd){.fd = packets_fd(run->packets), .events = POLLIN}))
		return -ENOMEM;
	if (run->later && vec_push(&run->polls, (struct pollfd){.fd = later_fd(run->later), .events = POLLIN}))
		return -ENOMEM;
	for (i = 0; run->stacks && i < stacks_fd_count(run->stacks); i++)
		if (vec_push(&run->polls, (struct pollfd){.fd = stacks_fd(run->stacks, i), .events = POLLIN}))
			return -ENOMEM;
	return 0;
}

/* The command stands still where a program begins. */
static void arrived(void *context)
{
	struct run *run = context;

	stacks_drain(run->stacks);
}

/* The command may have come to a stop. */
static void take_command(struct run *run)
{
	signals_forget(&run->children);
	hold_take(&run->options->command->hold, arrived, run);
}

/* Once for each signal that came. */
static int take_user_signals(struct run *run, struct diag *diag)
{
	int err = 0;

	while (!err && !run->finished && signals_next(&run->user_signals))
		err = run_special(run, RUN_ON_SIGNAL, diag);
	return err;
}

/*
 * Where records come in quick succession each would wake this process: to be woken, to read one record and to write
 * one line costs tens of times what it takes to print one. So after some have come the ring is left alone for a moment.
 * Stacks that user space has to finish cannot wait.
 */
static int wait_for_something(struct run *run)
{
	bool rests = run->taken != run->rested && !run->stacks;
	int ring = run->polls.at[POLL_RING].fd, err;

	if (rests)
		run->polls.at[POLL_RING].fd = -1;
	err = poll(run->polls.at, run->polls.count,
		   run->stacks && stacks_is_behind(run->stacks) ? 0
		   : rests                                      ? REST_MS
								: POLL_MS);
	run->polls.at[POLL_RING].fd = ring;
	run->rested = run->taken;
	return err;
}

static int wait_for_end(struct run *run, struct diag *diag)
{
	/* A script that has ended needs no tables of the processes that run. */
	while (!run->finished && !has_exited(run)) {
		bool ended;

		if (wait_for_something(run) < 0 && errno != EINTR)
			return diag_fail(diag, errno, "trace.poll", "waiting failed: %s", strerror(errno));
		ended = run->polls.at[POLL_SIGNALS].revents || run->polls.at[POLL_TARGET].revents;
		if (run->polls.at[POLL_CHILDREN].revents)
			take_command(run);
		if (run->polls.at[POLL_USER_SIGNALS].revents) {
			int err = take_user_signals(run, diag);

			if (err)
				return err;
		}
		if (run->later)
			later_tend(run->later);
		run_drain(run);
		if (ended)
			break;
	}
	/* What came before exit() is done while the probes are still there, as system() may look at them. */
	if (!run->finished && has_exited(run))
		run_drain(run);
	return 0;
}

/* --- the end --- */

static void tell_losses(struct run *run)
{
	int fd = bpf_object__find_map_fd_by_name(run->object, "rt_counters");
	uint32_t key;

	if (run->thrown && !run->finished)
		fprintf(stderr, "WARNING: events were not printed, as there were too many at the end (%llu)\n",
			(unsigned long long)run->thrown);
	if (run->packets && packets_lost(run->packets))
		fprintf(stderr, "WARNING: packets were lost: the buffer of their CPU, or the disk, was full (%llu)\n",
			(unsigned long long)packets_lost(run->packets));
	for (key = 0; key < RT_COUNTER_COUNT; key++) {
		uint64_t count = 0;

		if (fd >= 0 && !bpf_map_lookup_elem(fd, &key, &count) && count)
			run->print->lost(&run->printer, (enum rt_counter)key, count);
	}
}

static void detach(struct run *run)
{
	run_set_state(run, RT_STATE_EXITED, 1);
	attachment_close(&run->attachment);
}

/* What could not be had is told. */
static void fetch_symbols_of(struct run *run)
{
	struct fetch fetch = {};
	int err = stacks_fetch(run->stacks, &fetch);

	if (fetch.err == -EINTR)
		signals_forget(&run->signals);
	if ((err || fetch.fetched < fetch.wanted) && !run->options->quiet)
		fprintf(stderr, "strata: debuginfod gave symbols for %zu of %zu files without: %s\n", fetch.fetched,
			fetch.wanted, fetch_reason(&fetch, err));
}

static int finish(struct run *run, struct diag *diag)
{
	int err;

	/* The one that ended the tracing shall not end what `end` prints. */
	signals_forget(&run->signals);
	detach(run);
	if (run->stacks)
		stacks_end(run->stacks);
	run->ending = true;
	run->deadline = monotonic() + LAST_NS;
	run_drain(run);
	/* What is left by then is let go, so that `end` is not behind it. */
	run->ending = false;
	run->draining = true;
	run_drain(run);
	run->draining = run->finished = false;
	if (run->stacks && debuginfod_wanted())
		fetch_symbols_of(run);
	err = run_special(run, RUN_LAST, diag);
	run_drain(run);
	if (run->options->mode == TRACE_RUN)
		run->print->ended(&run->printer);
	if (run->options->mode == TRACE_RUN && run->compiler->numbers[SETTING_PRINT_MAPS_ON_EXIT])
		run_print_all_maps(run);
	whole_lines_write(run->printer.out, run->options->out_buffer);
	tell_losses(run);
	if (run->later && !run->options->quiet)
		later_tell(run->later, stderr);
	if (!run->options->quiet)
		wanted_tell(run->object, run->compiler, stderr);
	return err;
}

static void set_started(const struct run *run)
{
	struct timespec now;

	clock_gettime(CLOCK_BOOTTIME, &now);
	run_set_state(run, RT_STATE_STARTED, (uint64_t)now.tv_sec * 1000000000ull + (uint64_t)now.tv_nsec);
}

/* The files that programs are attached to: into an array with room for all of them. */
static uint32_t probed_files(const struct compiler *c, const char **ret)
{
	uint32_t count = 0;
	size_t i;

	for (i = 0; ret && i < c->units.count; i++)
		if (c->units.at[i].provider->context == CONTEXT_REGISTERS &&
		    c->attaches.at[c->units.at[i].first_attach].path)
			ret[count++] = c->attaches.at[c->units.at[i].first_attach].path;
	return count;
}

static size_t largest_arguments(const struct compiler *c)
{
	size_t largest = 1, i;

	for (i = 0; i < c->sites.count; i++)
		if (c->sites.at[i].arguments && c->sites.at[i].arguments->size > largest)
			largest = c->sites.at[i].arguments->size;
	return largest;
}

static int start(struct run *run, struct diag *diag)
{
	struct loading loading = {.run = run, .types = -1};
	const char **probed = calloc(run->compiler->units.count + 1, sizeof(*probed));
	uint32_t parts = run->compiler->stack_parts;
	int err = parts || later_wanted(run->compiler) ? foreign_files_create(0, &run->files, diag) : 0;

	if (!err)
		err = load_begin(&loading, diag);
	if (!err && parts)
		err = stacks_create(
			run->object,
			&(struct stacks_options){.parts = parts,
						 .pid = run->compiler->options->pid,
						 .is_command = run->options->command != NULL,
						 .files = run->files,
						 .early = run->options->stacks_of,
						 .early_count = run->options->stacks_of_count,
						 .probed = probed,
						 .probed_count = probed_files(run->compiler, probed),
						 .with_sources = run->compiler->numbers[SETTING_SHOW_DEBUG_INFO],
						 .debug_folders = run->compiler->options->debug_folders},
			&run->stacks, diag);
	free(probed);
	err = load_end(&loading, err, diag);
	if (!err && parts)
		err = stacks_begin(run->stacks, diag);
	if (err)
		return err;
	run->room = malloc(largest_arguments(run->compiler));
	run->formats = calloc(run->compiler->sites.count + 1, sizeof(struct print_format *));
	if (!run->room || !run->formats)
		return diag_fail(diag, ENOMEM, "trace.memory", "out of memory");
	run->names = names_create(run->compiler, run->stacks, run->files);
	run->ring = ring_buffer__new(bpf_object__find_map_fd_by_name(run->object, "events"), run_record, run, NULL);
	if (!run->ring || !run->names)
		return diag_fail(diag, errno, "trace.ring", "the ring buffer cannot be mapped: %s", strerror(errno));
	/* One thread writes it. */
	__fsetlocking(run->options->out, FSETLOCKING_BYCALLER);
	run->printer = (struct printer){.out = run->options->out,
					.json = run->options->json,
					.escape = !run->options->json && isatty(fileno(run->options->out)),
					.compiler = run->compiler,
					.words = &names_words,
					.names = run->names,
					.deeds = &run_deeds,
					.run = run,
					.quiet = run->options->quiet};
	set_started(run);
	if (run->options->dry_run)
		return 0;
	if (run->compiler->has_packets)
		err = packets_create(run->object, run->compiler, names_boot_time(run->names), &run->packets, diag);
	if (!err)
		err = take_signals(run, diag);
	if (!err)
		err = run_special(run, RUN_FIRST, diag);
	if (!err && run->print->acts)
		run_drain(run);
	if (!err && !run->finished)
		err = attach_hooks(run, diag);
	if (!err && !run->finished)
		err = attach_all(run, diag);
	if (!err && !run->finished && later_wanted(run->compiler))
		err = later_create(run, &run->later, diag);
	if (!err && prepare_polls(run))
		err = diag_fail(diag, ENOMEM, "trace.memory", "out of memory");
	if (!err)
		err = tell_attached(run, diag);
	if (err)
		return err;
	return run->options->command && !run->finished
		       ? trace_command_start(run->options->command, run->children.fd >= 0 ? arrived : NULL, run, diag)
		       : 0;
}

static void free_formats(struct run *run)
{
	size_t i;

	for (i = 0; run->formats && run->print->format_destroy && i < run->latest->sites.count; i++)
		run->print->format_destroy(run->formats[i]);
	free(run->formats);
}

/* begin, end, benches, tests and iterators come to their end by themselves. */
static bool waits_for_events(const struct compiler *c)
{
	size_t i;

	for (i = 0; i < c->units.count; i++)
		if (c->units.at[i].provider->run == RUN_ON_SIGNAL ||
		    (c->units.at[i].provider->attach && c->units.at[i].provider->context != CONTEXT_ITER))
			return true;
	return false;
}

int trace_run(const struct compilation *compilation, const struct trace_options *options, struct trace_result *ret,
	      struct diag *diag)
{
	struct run run = {.compilation = compilation,
			  .compiler = &compilation->compiler,
			  .latest = &compilation->compiler,
			  .print = compilation->compiler.dialect->print,
			  .options = options,
			  .result = ret,
			  .signals.fd = -1,
			  .children.fd = -1,
			  .user_signals.fd = -1};
	int err;

	*ret = (struct trace_result){};
	err = start(&run, diag);
	if (options->no_debuginfod)
		debuginfod_decline(); /* now: the command has its own environment */
	if (!err && !options->dry_run) {
		err = run_iterators(&run, diag);
		if (!err && options->mode != TRACE_RUN)
			err = run_measured(&run, diag);
		if (!err && options->mode == TRACE_RUN &&
		    (waits_for_events(run.compiler) || run.print->acts || options->command || options->pid))
			err = wait_for_end(&run, diag);
		if (!err)
			err = finish(&run, diag);
	}
	detach(&run);
	vec_free(&run.polls);
	vec_free(&run.watchpoints);
	ring_buffer__free(run.ring);
	packets_destroy(run.packets);
	free_formats(&run);
	names_destroy(run.names);
	later_destroy(run.later);
	stacks_destroy(run.stacks);
	foreign_files_destroy(run.files);
	bpf_object__close(run.object);
	free(run.room);
	signals_give_back(&run.children);
	/* Left in the queue they would end this process, and leave the command behind. */
	signals_forget(&run.user_signals);
	signals_give_back(&run.user_signals);
	signals_forget(&run.signals);
	signals_give_back(&run.signals);
	return err;
}
