/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * sampler: the BPF sampler of src/bpf/sampler.bpf.c, loaded, attached and read.
 *
 * Owns the BPF object, the perf events and the ring buffer; all go away with it (and with the process, however it
 * ends). Not thread-safe.
 */
#ifndef STRATA_KERNEL_SAMPLER_H
#define STRATA_KERNEL_SAMPLER_H

#include <stdbool.h>
#include <stdint.h>

#include "abi/events.h"
#include "abi/config.h"
#include "abi/files.h"
#include "abi/python.h"
#include "base/diag.h"
#include "kernel/programs.h"
#include "kernel/tables.h"

struct sampler;

struct sampler_options {
	bool watch_all;         /* else only the processes of sampler_watch() */
	unsigned int frequency; /* Hz, per CPU */
	enum walk_strategy strategy;
	uint64_t sample_ns;        /* as in struct sampler_config */
	unsigned int verify_every; /* of so many samples one comes with a snapshot though its stack is whole; 0: none */
};

struct sampler_counters {
	uint64_t runs;                 /* samples that the kernel part began */
	uint64_t sent;                 /* samples that are, or were, in the ring */
	uint64_t frames;               /* walked, native and Python */
	uint64_t ring_full;            /* samples that did not fit into the ring */
	uint64_t missed_ticks;         /* of the clock, which ran no program */
	uint64_t thread_states;        /* looked through in interpreters' lists */
	uint64_t bpf_run_ns, bpf_runs; /* of the sampling program, by the kernel's bpf_stats; 0 where not to be had */
	uint64_t worst_ns;             /* the longest sample, in its interrupt, since sampler_forget_worst() */
	uint64_t task_ns;              /* of walks in task context, also of what ran meanwhile */
};

/* Loads the programs and opens the events, stopped. -EPERM: a capability is missing. */
int sampler_create(const struct sampler_options *options, struct sampler **ret, struct diag *diag);
/*
 * The same around an object of somebody else's that contains the sampler's maps and walkers: keeps its tables, takes no
 * samples, reads no ring. The object is borrowed; its maps are there (kernel/object_maps.h), and it may be loaded
 * meanwhile.
 */
int sampler_adopt(struct bpf_object *object, struct sampler **ret, struct diag *diag);
/* Once such an object is loaded: from now on the kernel part learns by itself of processes that fork or call exec. */
int sampler_attach_hooks(struct sampler *sampler, struct diag *diag);
void sampler_destroy(struct sampler *sampler);

/* The tables that the sampler walks by; owned by the sampler. */
struct tables *sampler_tables(struct sampler *sampler);

/* Adds a process to those watched. `flags`: TARGET_* (abi/config.h), or 0. 0 or a negative errno. */
int sampler_watch(struct sampler *sampler, int tgid, uint64_t flags);

/* Tells that a process runs Python: layout and addresses. `layout` in *process is filled in here. 0 or a negative
 * errno. */
int sampler_python(struct sampler *sampler, int tgid, const struct py_layout *layout, struct py_process *process);

/*
 * The kernel part's own finding of mappings (bpf/find.h). sampler_finds(): can it? sampler_know_file() tells what is
 * known of a file, with the layout of the interpreter in it, if there is one; 0 or a negative errno.
 */
bool sampler_finds(const struct sampler *sampler);
int sampler_know_file(struct sampler *sampler, const struct file_key *key, const struct py_layout *layout,
		      struct known_file *file);
void sampler_forget_file(struct sampler *sampler, const struct file_key *key);
/* What was found until now does not hold any more: of all processes, or of one. */
void sampler_void_found(struct sampler *sampler);
void sampler_void_process(struct sampler *sampler, int tgid);

/* Takes that back, after exec. */
void sampler_no_python(struct sampler *sampler, int tgid);

/*
 * Forgets a process that ended then (CLOCK_MONOTONIC, ns): what was said of it above. A child that has got its pid
 * since, which the kernel part knows before user space does, stays watched.
 */
void sampler_forget(struct sampler *sampler, int tgid, uint64_t ended);

/* Takes a stack or code object, by id, as not sent: it is sent again when it is met. */
void sampler_unsend(struct sampler *sampler, uint64_t id);

/* Begins and ends sampling on all CPUs. */
int sampler_start(struct sampler *sampler, struct diag *diag);
void sampler_stop(struct sampler *sampler);

/* Samples on CPUs that have come online, too; to be called now and then. How many came or went, or a negative errno. */
int sampler_follow_cpus(struct sampler *sampler);

/* Becomes readable when there are records; poll it with a timeout of 100 ms, as not every record wakes. */
int sampler_fd(const struct sampler *sampler);

/*
 * Delivers records to `handle`, in the order in which the kernel wrote them, until the ring is empty. `event` is valid
 * during the call only; `size` is checked to hold at least the record's fixed part. A non-zero return of `handle` stops
 * and is returned.
 */
int sampler_drain(struct sampler *sampler, int (*handle)(void *context, const struct event_header *event, size_t size),
		  void *context);

/*
 * Takes out of the ring what has come, for the next sampler_drain(), or the one under way, to deliver: for whoever is
 * busy for longer than the ring has room. Negative when it could not take all: -EAGAIN when enough waits already,
 * -ENOMEM.
 */
int sampler_relieve(struct sampler *sampler);

void sampler_counters(struct sampler *sampler, struct sampler_counters *ret);
void sampler_forget_worst(struct sampler *sampler);

#endif
