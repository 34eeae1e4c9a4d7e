// SPDX-License-Identifier: GPL-2.0-or-later
#include "kernel/sampler.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "abi/config.h"
#include "abi/counters.h"
#include "base/time.h"
#include "base/vec.h"
#include "bpf/scratch.h"
#include "kernel/backlog.h"
#include "kernel/clock.h"
#include "kernel/programs.h"

#define BACKLOG_MAX (64u << 20) /* bytes; beyond, records wait in the ring */

struct sampler {
	struct programs *programs;
	struct sampler_options options; /* until it is ready */
	bool is_ready;                  /* see sampler_ready() */
	bool finds;                     /* see sampler_finds() */
	struct bpf_program *program;    /* the one that takes samples */
	struct tables *tables;
	struct ring_buffer *ring;
	struct backlog backlog; /* out of the ring, not handled yet */
	int stats_fd;           /* keeps the kernel's bpf_stats on; -1: not to be had */
	VEC(struct bpf_link *) links;
	struct clock *clock;       /* NULL: no ticks */
	struct off_cpu *off_cpu;   /* NULL: none */
	struct clock_ticks *ticks; /* by CPU */
	uint64_t *sent;            /* SENT_SLOTS ids */
	struct runtime_layout layouts[RUNTIME_LAYOUTS_MAX];
	uint32_t layout_count;
};

static int keep_record(void *context, void *data, size_t size)
{
	struct backlog *backlog = context;
	int err = backlog_put(backlog, data, size);

	return !err && backlog->bytes >= BACKLOG_MAX ? -EAGAIN : err;
}

/* Moves what the ring holds to the backlog. How many records, -EAGAIN when there are more than it may hold, or -ENOMEM.
 */
static int empty_ring(struct sampler *sampler)
{
	return sampler->ring ? ring_buffer__consume(sampler->ring) : 0;
}

/* Is there all of a record that its type promises? */
static bool is_whole(const struct event_header *event, size_t size)
{
	static const size_t fixed[] = {
		[EVENT_SAMPLE] = SAMPLE_EVENT_BRIEF,               [EVENT_KERNEL_STACK] = sizeof(struct stack_event),
		[EVENT_NATIVE_STACK] = sizeof(struct stack_event), [EVENT_SECOND_STACK] = sizeof(struct stack_event),
		[EVENT_CODE] = CODE_EVENT_BRIEF,                   [EVENT_SNAPSHOT] = sizeof(struct snapshot_event),
		[EVENT_RESUMED] = SAMPLE_EVENT_BRIEF,              [EVENT_FILE] = sizeof(struct file_event),
	};

	return size >= sizeof(*event) && event->type < sizeof(fixed) / sizeof(fixed[0]) && size >= fixed[event->type];
}

int sampler_attach_hooks(struct sampler *sampler, struct diag *diag)
{
	struct bpf_object *object = programs_object(sampler->programs);
	struct bpf_program *hooks[] = {bpf_object__find_program_by_name(object, "process_exec"),
				       bpf_object__find_program_by_name(object, "process_fork")};
	size_t i;

	for (i = 0; i < sizeof(hooks) / sizeof(hooks[0]); i++) {
		struct bpf_link *link = bpf_program__attach(hooks[i]);

		if (!link)
			return diag_fail(diag, errno, "sampler.attach", "%s cannot be attached: %s",
					 bpf_program__name(hooks[i]), strerror(errno));
		if (vec_push(&sampler->links, link)) {
			bpf_link__destroy(link);
			return diag_fail(diag, ENOMEM, "sampler.memory", "out of memory");
		}
	}
	return 0;
}

static int attach(struct sampler *sampler, struct diag *diag)
{
	const struct sampler_options *options = &sampler->options;
	const bool *cpus = options->filters ? options->filters->cpus : NULL;
	int err = sampler_attach_hooks(sampler, diag);

	if (!err && options->frequency)
		err = clock_open(bpf_program__fd(sampler->program), options->frequency, sampler->ticks, cpus,
				 &sampler->clock, diag);
	if (!err && options->off_cpu_rate)
		err = off_cpu_open(programs_object(sampler->programs), cpus, &sampler->off_cpu, diag);
	return err;
}

static int fill_filters(struct sampler *sampler, const struct filter_rules *rules, struct diag *diag)
{
	int err = rules ? filters_fill(sampler->programs, rules) : 0;

	return err ? diag_fail(diag, -err, "sampler.filters", "the filters cannot be told to the kernel: %s",
			       strerror(-err))
		   : 0;
}

static size_t ticks_size(void)
{
	return (size_t)libbpf_num_possible_cpus() * sizeof(struct clock_ticks);
}

static void *map_shared(const struct sampler *sampler, const char *name, size_t size, struct diag *diag)
{
	void *at = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, programs_map(sampler->programs, name), 0);

	if (at != MAP_FAILED)
		return at;
	diag_fail(diag, errno, "sampler.map", "the map %s cannot be mapped: %s", name, strerror(errno));
	return NULL;
}

/* What each sampler shares with its programs: the tables, and the ids that were sent. */
static int share(struct sampler *sampler, struct diag *diag)
{
	struct tables_maps maps = {
		.mappings = programs_map(sampler->programs, "mappings"),
		.pages = programs_map(sampler->programs, "pages"),
		.rules = programs_map(sampler->programs, "rules"),
		.slabs = programs_map(sampler->programs, "slabs"),
		.processes = programs_map(sampler->programs, "processes"),
		.changed = programs_map(sampler->programs, "changed"),
	};
	int err;

	sampler->finds = programs_find(programs_object(sampler->programs));
	err = tables_create(&maps, &sampler->tables, diag);
	if (err)
		return err;
	sampler->sent = map_shared(sampler, "sent", SENT_SLOTS * sizeof(*sampler->sent), diag);
	return sampler->sent ? 0 : -ENOMEM;
}

int sampler_create(const struct sampler_options *options, struct sampler **ret, struct diag *diag)
{
	struct programs_options programs = {.strategy = options->strategy,
					    .watch_all = options->watch_all,
					    .frequency = options->frequency,
					    .verify_every = options->verify_every,
					    .sample_ns = options->sample_ns,
					    .off_cpu_rate = options->off_cpu_rate,
					    .wakers = options->wakers,
					    .cgroups = options->cgroups,
					    .walks = SAMPLER_NATIVE | SAMPLER_SECOND |
						     (options->tasks ? SAMPLER_TASKS : 0),
					    .finds = !options->tells_all,
					    .filters = options->filters};
	struct sampler *sampler = calloc(1, sizeof(*sampler));
	int err;

	if (!sampler)
		return diag_fail(diag, ENOMEM, "sampler.memory", "out of memory");
	sampler->stats_fd = -1;
	sampler->options = *options;
	err = programs_open(&programs, &sampler->programs, diag);
	if (!err && !options->waits)
		programs_load_apart(sampler->programs);
	if (!err)
		err = share(sampler, diag);
	if (!err) {
		tables_prepare(sampler->tables);
		sampler->ticks = map_shared(sampler, "ticks", ticks_size(), diag);
		err = sampler->ticks ? 0 : -ENOMEM;
	}
	if (!err)
		err = fill_filters(sampler, options->filters, diag);
	if (!err) {
		sampler->ring = ring_buffer__new(programs_map(sampler->programs, "events"), keep_record,
						 &sampler->backlog, NULL);
		if (!sampler->ring)
			err = diag_fail(diag, errno, "sampler.ring", "the ring buffer cannot be mapped: %s",
					strerror(errno));
	}
	if (err)
		sampler_destroy(sampler);
	else
		*ret = sampler;
	return err;
}

int sampler_ready(struct sampler *sampler, struct diag *diag)
{
	int err;

	if (sampler->is_ready)
		return 0;
	err = programs_load(sampler->programs, diag);
	if (err)
		return err;
	sampler->finds = programs_find(programs_object(sampler->programs));
	sampler->program = bpf_object__find_program_by_name(programs_object(sampler->programs), "sample");
	err = attach(sampler, diag);
	if (err)
		return err;
	sampler->stats_fd = bpf_enable_stats(BPF_STATS_RUN_TIME);
	sampler->is_ready = true;
	return 0;
}

const char *sampler_refused(const struct sampler *sampler)
{
	return programs_refused(sampler->programs);
}

int sampler_adopt(struct bpf_object *object, struct sampler **ret, struct diag *diag)
{
	struct sampler *sampler = calloc(1, sizeof(*sampler));
	int err;

	if (!sampler)
		return diag_fail(diag, ENOMEM, "sampler.memory", "out of memory");
	sampler->stats_fd = -1;
	err = programs_adopt(object, &sampler->programs);
	err = err ? diag_fail(diag, -err, "sampler.maps", "the maps cannot be kept: %s", strerror(-err))
		  : share(sampler, diag);
	if (err)
		sampler_destroy(sampler);
	else
		*ret = sampler;
	return err;
}

void sampler_destroy(struct sampler *sampler)
{
	size_t i;

	if (!sampler)
		return;
	clock_close(sampler->clock);
	off_cpu_close(sampler->off_cpu);
	for (i = 0; i < sampler->links.count; i++)
		bpf_link__destroy(sampler->links.at[i]);
	vec_free(&sampler->links);
	ring_buffer__free(sampler->ring);
	backlog_deinit(&sampler->backlog);
	if (sampler->ticks)
		munmap(sampler->ticks, ticks_size());
	if (sampler->sent)
		munmap(sampler->sent, SENT_SLOTS * sizeof(*sampler->sent));
	tables_destroy(sampler->tables);
	if (sampler->stats_fd >= 0)
		close(sampler->stats_fd);
	programs_close(sampler->programs);
	free(sampler);
}

struct tables *sampler_tables(struct sampler *sampler)
{
	return sampler->tables;
}

int sampler_watch(struct sampler *sampler, int tgid, uint64_t flags)
{
	uint32_t key = (uint32_t)tgid;
	uint64_t time = time_ns(CLOCK_MONOTONIC) | flags;

	return bpf_map_update_elem(programs_map(sampler->programs, "targets"), &key, &time, BPF_ANY) ? -errno : 0;
}

void sampler_judge_comm(struct sampler *sampler, const char comm[static 16], uint32_t bits)
{
	filters_judge_comm(sampler->programs, comm, bits);
}

void sampler_judge_container(struct sampler *sampler, uint64_t cgroup, uint32_t bits)
{
	filters_judge_container(sampler->programs, cgroup, bits);
}

/* The index of a layout in the kernel's array, put there when new. */
static int layout_index(struct sampler *sampler, const struct runtime_layout *layout, uint16_t *ret)
{
	uint32_t i;

	for (i = 0; i < sampler->layout_count; i++) {
		if (!memcmp(&sampler->layouts[i], layout, sizeof(*layout))) {
			*ret = (uint16_t)i;
			return 0;
		}
	}
	if (i == RUNTIME_LAYOUTS_MAX)
		return -ENOSPC;
	if (bpf_map_update_elem(programs_map(sampler->programs, "runtime_layouts"), &i, layout, BPF_ANY))
		return -errno;
	sampler->layouts[i] = *layout;
	sampler->layout_count++;
	*ret = (uint16_t)i;
	return 0;
}

int sampler_runtime(struct sampler *sampler, int tgid, const struct runtime_layout *layout,
		    struct runtime_process *process)
{
	uint32_t key = (uint32_t)tgid;
	int err = layout_index(sampler, layout, &process->layout);

	if (err)
		return err;
	process->since = time_ns(CLOCK_MONOTONIC);
	process->tgid = key;
	process->check = runtime_process_check(process);
	if (bpf_map_update_elem(programs_map(sampler->programs, "runtime_processes"), &key, process, BPF_ANY))
		return -errno;
	tables_changed(sampler->tables);
	return 0;
}

bool sampler_finds(const struct sampler *sampler)
{
	return sampler->finds;
}

int sampler_know_file(struct sampler *sampler, const struct file_key *key, const struct runtime_layout *layout,
		      struct known_file *file)
{
	int err = file->runtime.runtime ? layout_index(sampler, layout, &file->runtime.layout) : 0;

	if (err)
		return err;
	return bpf_map_update_elem(programs_map(sampler->programs, "files"), key, file, BPF_ANY) ? -errno : 0;
}

void sampler_forget_file(struct sampler *sampler, const struct file_key *key)
{
	bpf_map_delete_elem(programs_map(sampler->programs, "files"), key);
}

void sampler_void_found(struct sampler *sampler)
{
	uint32_t key = FOUND_VOID_UNTIL;
	uint64_t now = time_ns(CLOCK_MONOTONIC);

	bpf_map_update_elem(programs_map(sampler->programs, "found_words"), &key, &now, BPF_ANY);
}

void sampler_void_process(struct sampler *sampler, int tgid)
{
	uint32_t key = (uint32_t)tgid;

	if (!sampler->finds || bpf_map_delete_elem(programs_map(sampler->programs, "founds"), &key))
		return;
	tables_changed(sampler->tables);
}

/* Is the run of what was found still its own, and valid? */
static bool is_run_there(struct sampler *sampler, const struct found_process *found)
{
	int words = programs_map(sampler->programs, "found_words");
	uint32_t at = FOUND_POSITION, until = FOUND_VOID_UNTIL;
	uint64_t position, void_until;

	return !bpf_map_lookup_elem(words, &at, &position) && !bpf_map_lookup_elem(words, &until, &void_until) &&
	       position - found->position <= FOUND_MAPPINGS && found->looked_at >= void_until;
}

size_t sampler_found(struct sampler *sampler, int tgid, process_cookie cookie,
		     struct mapping_entry ret[static FIND_MAPPINGS_MAX], uint64_t *since)
{
	uint32_t key = (uint32_t)tgid, i, count, at;
	struct found_process found;

	if (!sampler->finds || bpf_map_lookup_elem(programs_map(sampler->programs, "founds"), &key, &found))
		return 0;
	count = found.entry.mapping_count;
	if (found.cookie != cookie || found.check != found_check(&found) || !found.entry.generation ||
	    count > FIND_MAPPINGS_MAX)
		return 0;
	for (i = 0; i < count; i++) {
		at = found.entry.mapping_first + i;
		if (bpf_map_lookup_elem(programs_map(sampler->programs, "mappings"), &at, &ret[i]))
			return 0;
	}
	*since = found.entry.valid_from;
	return is_run_there(sampler, &found) ? count : 0; /* it was while it was read */
}

void sampler_no_runtime(struct sampler *sampler, int tgid)
{
	uint32_t key = (uint32_t)tgid;

	bpf_map_delete_elem(programs_map(sampler->programs, "runtime_processes"), &key);
	tables_changed(sampler->tables);
}

void sampler_forget(struct sampler *sampler, int tgid, uint64_t ended)
{
	int targets = programs_map(sampler->programs, "targets"),
	    runtimes = programs_map(sampler->programs, "runtime_processes");
	uint32_t key = (uint32_t)tgid;
	struct runtime_process runtime;
	uint64_t added;

	if (!bpf_map_lookup_elem(targets, &key, &added) && (added & ~TARGET_FLAGS) <= ended)
		bpf_map_delete_elem(targets, &key);
	if (!bpf_map_lookup_elem(runtimes, &key, &runtime) && runtime.since <= ended)
		bpf_map_delete_elem(runtimes, &key);
	tables_changed(sampler->tables);
}

void sampler_unsend(struct sampler *sampler, uint64_t id)
{
	/* Another id may be written there just now: that one stays. */
	__atomic_compare_exchange_n(&sampler->sent[id & (SENT_SLOTS - 1)], &id, 0, false, __ATOMIC_RELAXED,
				    __ATOMIC_RELAXED);
}

int sampler_start(struct sampler *sampler, struct diag *diag)
{
	int err = sampler_ready(sampler, diag);

	if (!err && sampler->clock)
		err = clock_start(sampler->clock, diag);
	return !err && sampler->off_cpu ? off_cpu_start(sampler->off_cpu, diag) : err;
}

void sampler_stop(struct sampler *sampler)
{
	if (sampler->clock)
		clock_stop(sampler->clock);
	if (sampler->off_cpu)
		off_cpu_end(sampler->off_cpu);
}

struct off_cpu *sampler_off_cpu(struct sampler *sampler)
{
	return sampler->off_cpu;
}

int sampler_follow_cpus(struct sampler *sampler)
{
	return sampler->clock ? clock_follow(sampler->clock) : 0;
}

int sampler_fd(const struct sampler *sampler)
{
	return ring_buffer__epoll_fd(sampler->ring);
}

int sampler_read_ahead(struct sampler *sampler)
{
	return sampler->backlog.bytes < BACKLOG_MAX ? empty_ring(sampler) : -EAGAIN;
}

int sampler_drain(struct sampler *sampler, int (*handle)(void *context, const struct event_header *event, size_t size),
		  void *context)
{
	const struct event_header *event;
	int taken, err;
	size_t size;

	do {
		while ((event = backlog_take(&sampler->backlog, &size))) {
			err = is_whole(event, size) ? handle(context, event, size) : 0;
			if (err)
				return err;
		}
		taken = empty_ring(sampler);
	} while (taken > 0 || taken == -EAGAIN);
	return taken;
}

void sampler_counters(struct sampler *sampler, struct sampler_counters *ret)
{
	int cpus = libbpf_num_possible_cpus(), fd = programs_map(sampler->programs, "counters"), cpu;
	uint64_t *values = calloc((size_t)cpus, sizeof(*values)), sums[COUNTER_COUNT] = {};
	struct bpf_prog_info info = {};
	uint32_t key, size = sizeof(info);

	for (key = 0; values && key < COUNTER_COUNT; key++) {
		if (bpf_map_lookup_elem(fd, &key, values))
			continue;
		for (cpu = 0; cpu < cpus; cpu++)
			sums[key] = key != COUNTER_WORST      ? sums[key] + values[cpu]
				    : values[cpu] > sums[key] ? values[cpu]
							      : sums[key];
	}
	free(values);
	*ret = (struct sampler_counters){.runs = sums[COUNTER_RUNS],
					 .sent = sums[COUNTER_SENT],
					 .frames = sums[COUNTER_FRAMES],
					 .ring_full = sums[COUNTER_RING_FULL],
					 .missed_ticks = sampler->clock ? clock_missed(sampler->clock) : 0,
					 .worst_ns = sums[COUNTER_WORST],
					 .task_ns = sums[COUNTER_TASK_NS],
					 .thread_states = sums[COUNTER_THREADS]};
	if (sampler->off_cpu)
		off_cpu_totals(sampler->off_cpu, &ret->off_cpu);
	if (sampler->clock && !bpf_obj_get_info_by_fd(bpf_program__fd(sampler->program), &info, &size)) {
		ret->bpf_run_ns = info.run_time_ns;
		ret->bpf_runs = info.run_cnt;
	}
}

void sampler_forget_worst(struct sampler *sampler)
{
	uint64_t *zeroes = calloc((size_t)libbpf_num_possible_cpus(), sizeof(*zeroes));
	uint32_t key = COUNTER_WORST;

	if (zeroes)
		bpf_map_update_elem(programs_map(sampler->programs, "counters"), &key, zeroes, BPF_ANY);
	free(zeroes);
}
