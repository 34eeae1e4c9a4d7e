/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * sampler: the BPF sampler of src/bpf/sampler.bpf.c, loaded, attached and read.
 *
 * Owns the BPF object, the perf events and the ring buffer; all of them end with it, and with the process, however it
 * ends. Not thread-safe.
 */
#ifndef STRATA_KERNEL_SAMPLER_H
#define STRATA_KERNEL_SAMPLER_H

#include <stdbool.h>
#include <stdint.h>

#include "abi/events.h"
#include "abi/config.h"
#include "abi/files.h"
#include "abi/runtime.h"
#include "base/diag.h"
#include "kernel/off_cpu.h"
#include "kernel/programs.h"
#include "kernel/tables.h"

struct sampler;

struct sampler_options {
	bool watch_all;            /* else only the processes of sampler_watch() */
	unsigned int frequency;    /* Hz, per CPU; 0: no ticks */
	unsigned int off_cpu_rate; /* waits a second and CPU that are taken as they come; 0: none (kernel/off_cpu.h) */
	bool wakers; /* with off_cpu_rate: also who has ended each wait (bpf/wakers.h) */
	bool cgroups; /* samples say their cgroup; so they do, too, where a filter asks for containers */
	enum walk_strategy strategy;
	uint64_t sample_ns; /* as in struct sampler_config */
	unsigned int
		verify_every; /* 1 in this many samples comes with a snapshot even if its stack is complete; 0: none */
	bool tasks;     /* finds the task that a thread runs, where sampler_runtime() says how */
	bool waits;     /* the programs are loaded by sampler_ready() only: it may be that no sample is taken */
	bool tells_all; /* processes are told by user space only: the kernel does not find mappings by itself */
	const struct filter_rules *filters; /* borrowed as long as the sampler is there; NULL: none */
};

struct sampler_counters {
	uint64_t runs;                 /* samples that were begun in the kernel */
	uint64_t sent;                 /* samples that are, or were, in the ring */
	uint64_t frames;               /* walked, of native and second stacks */
	uint64_t ring_full;            /* samples that did not fit into the ring */
	uint64_t missed_ticks;         /* ticks of the clock that ran no program */
	uint64_t thread_states;        /* looked at in runtimes' lists */
	uint64_t bpf_run_ns, bpf_runs; /* of the sampling program, by the kernel's bpf_stats; 0 if not available */
	uint64_t worst_ns;             /* the longest sample, in its interrupt, since sampler_forget_worst() */
	uint64_t task_ns;              /* walks in task context, including what ran meanwhile */
	struct off_cpu_totals off_cpu; /* with its own cost */
};

/*
 * Makes the maps, which everything below may fill from now on, and begins to load the programs, in a thread of its
 * own. -EPERM: a capability is missing. What the options point to stays there until the sampler is ready.
 */
int sampler_create(const struct sampler_options *options, struct sampler **ret, struct diag *diag);
/*
 * Waits until the programs are loaded, and opens the events, stopped. From now on the kernel part notices processes
 * that fork or call exec. sampler_start() does it, if it was not done before. -EPERM: a capability is missing.
 */
int sampler_ready(struct sampler *sampler, struct diag *diag);
/*
 * The same for somebody else's object that contains the sampler's maps and walks: it keeps the tables, takes no samples
 * and reads no ring. The object is borrowed; its maps exist (kernel/object_maps.h), and it may be loaded meanwhile.
 */
int sampler_adopt(struct bpf_object *object, struct sampler **ret, struct diag *diag);
/* Once such an object is loaded: from now on the kernel part notices processes that fork or call exec. */
int sampler_attach_hooks(struct sampler *sampler, struct diag *diag);
void sampler_destroy(struct sampler *sampler);

/* The unwind tables; owned by the sampler. */
struct tables *sampler_tables(struct sampler *sampler);

/* As programs_refused(). */
const char *sampler_refused(const struct sampler *sampler);

/* Adds a process to those watched. `flags`: TARGET_* (abi/config.h), or 0. 0 or a negative errno. */
int sampler_watch(struct sampler *sampler, int tgid, uint64_t flags);

/* Tells the kernel part what a name, or a cgroup as part of a container, is to the filters: bits (abi/filter.h). */
void sampler_judge_comm(struct sampler *sampler, const char comm[static 16], uint32_t bits);
void sampler_judge_container(struct sampler *sampler, uint64_t cgroup, uint32_t bits);

/*
 * Tells the kernel part which runtime a process has, and where. Fills in `layout`, `since`, `tgid` and `check` in
 * *process. 0 or a negative errno.
 */
int sampler_runtime(struct sampler *sampler, int tgid, const struct runtime_layout *layout,
		    struct runtime_process *process);

/*
 * How the kernel part finds mappings by itself (bpf/find.h). sampler_finds(): can it? sampler_know_file() tells it
 * about a file, with the layout of the runtime in it, if there is one; 0 or a negative errno.
 */
bool sampler_finds(const struct sampler *sampler);
int sampler_know_file(struct sampler *sampler, const struct file_key *key, const struct runtime_layout *layout,
		      struct known_file *file);
void sampler_forget_file(struct sampler *sampler, const struct file_key *key);
/* Voids what was found so far, for all processes or for one. */
void sampler_void_found(struct sampler *sampler);
void sampler_void_process(struct sampler *sampler, int tgid);
/*
 * The mappings that the kernel part has found for an incarnation of a process, which may have ended, and since when
 * they are valid (CLOCK_MONOTONIC, ns). How many there are; 0 if nothing was found, or is not there any more.
 */
size_t sampler_found(struct sampler *sampler, int tgid, process_cookie cookie,
		     struct mapping_entry ret[static FIND_MAPPINGS_MAX], uint64_t *since);

/* The process has no such runtime any more, after exec. */
void sampler_no_runtime(struct sampler *sampler, int tgid);

/*
 * Forgets everything above about a process that ended at that time (CLOCK_MONOTONIC, ns). A child that has got the pid
 * since, which the kernel part knows before user space does, stays watched.
 */
void sampler_forget(struct sampler *sampler, int tgid, uint64_t ended);

/* Treats a stack or code object, by id, as not sent: it will be sent again when it is sampled. */
void sampler_unsend(struct sampler *sampler, uint64_t id);

/* Begins and ends sampling on all CPUs; with threads that are off the CPU then, see below. */
int sampler_start(struct sampler *sampler, struct diag *diag);
void sampler_stop(struct sampler *sampler);

/*
 * Time off the CPU; owned by the sampler; NULL: it was not asked for, or is not ready. sampler_stop() has called
 * off_cpu_end().
 */
struct off_cpu *sampler_off_cpu(struct sampler *sampler);

/* Samples on CPUs that have come online, too; to be called regularly. How many came or went, or a negative errno. */
int sampler_follow_cpus(struct sampler *sampler);

/* Becomes readable when there are records; poll it with a timeout of 100 ms, because not every record wakes the
 * poller. */
int sampler_fd(const struct sampler *sampler);

/*
 * Delivers records to `handle`, in the order in which the kernel wrote them, until the ring is empty. `event` is valid
 * only during the call; `size` has been checked to hold at least the record's fixed part. If `handle` returns non-zero,
 * delivery stops and that is returned.
 */
int sampler_drain(struct sampler *sampler, int (*handle)(void *context, const struct event_header *event, size_t size),
		  void *context);

/*
 * Moves what has arrived out of the ring, for the next or current sampler_drain() to deliver: for callers that are busy
 * for longer than the ring has space. Negative if it could not take all: -EAGAIN if enough is waiting already, -ENOMEM.
 */
int sampler_read_ahead(struct sampler *sampler);

void sampler_counters(struct sampler *sampler, struct sampler_counters *ret);
void sampler_forget_worst(struct sampler *sampler);

#endif
