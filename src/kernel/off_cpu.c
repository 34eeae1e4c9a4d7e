// SPDX-License-Identifier: GPL-2.0-or-later
#include "kernel/off_cpu.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <linux/membarrier.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/time.h"
#include "kernel/features.h"

#define LEAVES   "thread_leaves"
#define WAKES    "thread_wakes"
#define RETURNS  "thread_returns"
#define PROBED   "thread_returns_probed"
#define IS_OFF   "thread_is_off"
#define FUNCTION "finish_task_switch"

struct off_cpu {
	struct bpf_object *object;
	struct bpf_program *leaves, *returns; /* those that are loaded */
	struct bpf_program *wakes;            /* NULL: it is not */
	struct off_cpu_state *states;         /* by CPU */
	int threads;                          /* the map */
	struct bpf_link *links[3];            /* wakes, returns, leaves */
};

int off_cpu_configure(struct bpf_object *object, uint32_t cpus, bool wanted, bool wakers)
{
	bool has_tracepoint = wanted && feature_probe(FEATURE_SWITCH_END);
	const struct {
		const char *program;
		bool loads;
	} programs[] = {
		{LEAVES, wanted},
		{WAKES, wanted && wakers},
		{IS_OFF, wanted},
		{RETURNS, has_tracepoint},
		{PROBED, wanted && !has_tracepoint}};
	struct bpf_map *threads = bpf_object__find_map_by_name(object, "off_cpu_threads"),
		       *states = bpf_object__find_map_by_name(object, "off_cpu_states");
	size_t i;
	int err = 0;

	if (!threads) /* the object has the walks only */
		return 0;
	for (i = 0; !err && i < sizeof(programs) / sizeof(*programs); i++)
		err = bpf_program__set_autoload(bpf_object__find_program_by_name(object, programs[i].program),
						programs[i].loads);
	if (!err)
		err = bpf_map__set_max_entries(threads, wanted ? OFF_CPU_THREADS_MAX : 1);
	return err ? err : bpf_map__set_max_entries(states, wanted ? cpus : 1);
}

static size_t states_size(void)
{
	return (size_t)libbpf_num_possible_cpus() * sizeof(struct off_cpu_state);
}

int off_cpu_open(struct bpf_object *object, const bool *cpus, struct off_cpu **ret, struct diag *diag)
{
	struct off_cpu *off = calloc(1, sizeof(*off));
	void *states;
	int cpu;

	if (!off)
		return diag_fail(diag, ENOMEM, "off-cpu.memory", "out of memory");
	off->object = object;
	off->leaves = bpf_object__find_program_by_name(object, LEAVES);
	off->returns = bpf_object__find_program_by_name(object, RETURNS);
	if (!bpf_program__autoload(off->returns))
		off->returns = bpf_object__find_program_by_name(object, PROBED);
	off->wakes = bpf_object__find_program_by_name(object, WAKES);
	if (!bpf_program__autoload(off->wakes))
		off->wakes = NULL;
	off->threads = bpf_object__find_map_fd_by_name(object, "off_cpu_threads");
	states = mmap(NULL, states_size(), PROT_READ | PROT_WRITE, MAP_SHARED,
		      bpf_object__find_map_fd_by_name(object, "off_cpu_states"), 0);
	if (states == MAP_FAILED) {
		int err = errno;

		free(off);
		return diag_fail(diag, err, "off-cpu.map", "the map off_cpu_states cannot be mapped: %s",
				 strerror(err));
	}
	off->states = states;
	for (cpu = 0; cpus && cpu < libbpf_num_possible_cpus(); cpu++)
		off->states[cpu].left_out = !cpus[cpu];
	*ret = off;
	return 0;
}

void off_cpu_close(struct off_cpu *off)
{
	size_t i;

	if (!off)
		return;
	for (i = 0; i < sizeof(off->links) / sizeof(*off->links); i++)
		bpf_link__destroy(off->links[i]);
	munmap(off->states, states_size());
	free(off);
}

/* The name that the compiler has given the function: with a suffix where it has changed how it is called. */
static void find_function(char name[static 64])
{
	FILE *symbols = fopen("/proc/kallsyms", "re");
	char line[1024], found[64];

	snprintf(name, 64, "%s", FUNCTION);
	while (symbols && fgets(line, sizeof(line), symbols)) {
		if (sscanf(line, "%*s %*c %63s", found) != 1 || strncmp(found, FUNCTION, strlen(FUNCTION)) ||
		    strstr(found, ".cold"))
			continue;
		snprintf(name, 64, "%s", found);
		break;
	}
	if (symbols)
		fclose(symbols);
}

static struct bpf_link *attach_returns(struct off_cpu *off)
{
	char function[64];

	if (strcmp(bpf_program__name(off->returns), PROBED))
		return bpf_program__attach(off->returns);
	find_function(function);
	return bpf_program__attach_kprobe(off->returns, false, function);
}

/* Those that are off the CPU now: each read of the iterator runs the program for all. */
static int find_threads(struct off_cpu *off)
{
	struct bpf_link *link = bpf_program__attach_iter(bpf_object__find_program_by_name(off->object, IS_OFF), NULL);
	int err = link ? 0 : -errno, fd;
	char nothing[64];
	ssize_t got = 0;

	if (err)
		return err;
	fd = bpf_iter_create(bpf_link__fd(link));
	if (fd < 0)
		err = -errno;
	do
		got = err ? 0 : read(fd, nothing, sizeof(nothing));
	while (got > 0 || (got < 0 && (errno == EINTR || errno == EAGAIN)));
	if (got < 0)
		err = -errno;
	if (fd >= 0)
		close(fd);
	bpf_link__destroy(link);
	return err;
}

int off_cpu_start(struct off_cpu *off, struct diag *diag)
{
	int err;

	/* First, so that no wait ends unseen that is to have a waker. */
	if (off->wakes) {
		off->links[0] = bpf_program__attach(off->wakes);
		if (!off->links[0])
			return diag_fail(diag, errno, "off-cpu.wakers",
					 "--wakers: this kernel's tracepoint sched_waking cannot be traced: %s",
					 strerror(errno));
	}
	off->links[1] = attach_returns(off);
	if (!off->links[1])
		return diag_fail(diag, errno, "off-cpu.attach",
				 "time off the CPU cannot be measured: this kernel has neither the tracepoint "
				 "sched_exit_tp nor a probe at " FUNCTION ": %s",
				 strerror(errno));
	off->links[2] = bpf_program__attach(off->leaves);
	if (!off->links[2])
		return diag_fail(diag, errno, "off-cpu.attach",
				 "time off the CPU cannot be measured: sched_switch cannot be traced: %s",
				 strerror(errno));
	err = find_threads(off);
	return err ? diag_fail(diag, -err, "off-cpu.threads", "threads cannot be read by a BPF iterator: %s",
			       strerror(-err))
		   : 0;
}

void off_cpu_end(struct off_cpu *off)
{
	uint64_t now = time_ns(CLOCK_MONOTONIC);
	int cpus = libbpf_num_possible_cpus(), cpu;

	for (cpu = 0; cpu < cpus; cpu++)
		__atomic_store_n(&off->states[cpu].until, now, __ATOMIC_RELEASE);
}

uint64_t off_cpu_ended(const struct off_cpu *off)
{
	return off->states[0].until;
}

static int by_process(const void *a, const void *b)
{
	const struct off_cpu_waiting *x = a, *y = b;

	if (x->thread.tgid != y->thread.tgid)
		return x->thread.tgid < y->thread.tgid ? -1 : 1;
	return x->tid < y->tid ? -1 : x->tid > y->tid;
}

int off_cpu_threads(struct off_cpu *off, struct off_cpu_list *list)
{
	struct off_cpu_waiting waiting;
	uint32_t *before = NULL, tid;

	list->threads.count = 0;
	while (!bpf_map_get_next_key(off->threads, before, &tid)) {
		waiting.tid = tid;
		if (!bpf_map_lookup_elem(off->threads, &tid, &waiting.thread) && waiting.thread.left &&
		    vec_push(&list->threads, waiting))
			return -ENOMEM;
		before = &waiting.tid;
	}
	if (list->threads.count)
		qsort(list->threads.at, list->threads.count, sizeof(waiting), by_process);
	return 0;
}

void off_cpu_detach(struct off_cpu *off)
{
	size_t i;

	for (i = 0; i < sizeof(off->links) / sizeof(*off->links); i++) {
		bpf_link__destroy(off->links[i]);
		off->links[i] = NULL;
	}
	/* Returns when no CPU is in a program any more that had begun before. */
	syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL, 0, 0);
}

bool off_cpu_is_off(struct off_cpu *off, const struct off_cpu_waiting *waiting)
{
	struct off_cpu_thread thread;

	return !bpf_map_lookup_elem(off->threads, &waiting->tid, &thread) && thread.left == waiting->thread.left;
}

void off_cpu_totals(const struct off_cpu *off, struct off_cpu_totals *ret)
{
	const struct bpf_program *programs[] = {off->leaves, off->returns, off->wakes};
	int cpus = libbpf_num_possible_cpus(), cpu;
	size_t i;

	*ret = (struct off_cpu_totals){};
	for (cpu = 0; cpu < cpus; cpu++) {
		const volatile struct off_cpu_state *state = &off->states[cpu];

		ret->waits += state->waits;
		ret->waits_ns += state->waits_ns;
		ret->measured += state->measured;
		ret->measured_ns += state->measured_ns;
		ret->unseen += state->unseen;
	}
	for (i = 0; i < sizeof(programs) / sizeof(*programs); i++) {
		struct bpf_prog_info info = {};
		uint32_t size = sizeof(info);

		if (!programs[i] || bpf_obj_get_info_by_fd(bpf_program__fd(programs[i]), &info, &size))
			continue;
		ret->run_ns += info.run_time_ns;
		ret->runs += info.run_cnt;
	}
}
