/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * watch: tells the kernel about processes, and puts what the kernel sends into a store.
 *
 *   side-band records ─► processes ─► objects ─► tables, facts of runtimes in the kernel
 *   ring records ───────────────────────────────► store (addresses → file locations, by the mappings of their moment)
 *
 * When are the tables of a process compiled?
 * - At once, if the process was asked for, or has a runtime with a second stack (whose frames cannot be found later),
 *   unless the kernel finds its mappings by itself (bpf/find.h). With more than 16 MiB of code: once its first sample
 *   may arrive (watch_scan()).
 * - For all other processes, when the first sample arrives. It carries a copy of its stack and is walked here
 *   (kernel/late_walk.h).
 * - For large files only the parts that walks need, each in the same way (unwind/unwind_parts.h), unless
 *   watch_options.whole_tables is set.
 * While tables are compiled the ring is emptied every few milliseconds. What came is handled afterwards, at most 64 MiB
 * of it (kernel/backlog.h). Machine code without tables is followed by another process (analyser.h). Until it has
 * answered, that file has no rows, and late samples that end there wait (watch_analysis.c), unless watch_options.waits
 * is set.
 *
 * Time and order. Samples and side-band records come through different buffers and in no common order. Everything
 * carries CLOCK_MONOTONIC.
 * - watch_drain() reads the side-band first, then the ring. It keeps the time before it read the side-band: every older
 *   record is known.
 * - A mapping is valid from one time to another. The question is always: what was at this address at that moment? Past
 *   mappings are kept for three seconds, measured by the time of the records (watch_advance_watermark() in
 *   watch_parts.h). So strata may be stopped for as long as it likes, and what it reads then is still resolved.
 * - process_entry.valid_from says that no older change of the mappings is missing. The kernel notes the time of each
 *   exec itself, and does not use tables with an older valid_from.
 * - When a stack has an unknown address, the side-band is read once more. If that does not help a late sample,
 *   /proc/PID/maps is read again, at most five times a second for each process.
 * - fork copies: the child inherits its parent's mappings and runtime.
 *
 * Memory is bounded over days; see store.h and watch_tidy.c. Not thread-safe. All memory is released by
 * watch_destroy().
 */
#ifndef STRATA_ENGINE_WATCH_H
#define STRATA_ENGINE_WATCH_H

#include "abi/tasks.h"
#include "kernel/late_walk.h"
#include "kernel/live_second.h"
#include "kernel/sampler.h"
#include "kernel/sideband.h"
#include "proc/memory.h"
#include "profile/profile.h"
#include "engine/objects.h"
#include "engine/store.h"
#include "runtime/runtime.h"

struct watch;

struct watch_counts {
	uint64_t late;                      /* samples finished from a snapshot */
	uint64_t unfinished, unfinished_ns; /* waits that had not ended: watch_take_waits() */
	uint64_t refused;                   /* samples that watch_options.wants did not want, */
	uint64_t refused_waits, refused_ns; /* and those of them that are waits, which were all measured */
	uint64_t sideband_lost;             /* side-band records that did not fit */
	struct profile_verify verify;
	uint64_t dropped[STORE_DROP_COUNT]; /* samples that lost something to keep within the bound: by struct
					       store_drop.what */
};

/* A file, as /proc/PID/maps names it: the device is major << 32 | minor. */
struct watch_file {
	uint64_t device, inode;
};

struct watch_options {
	bool everything;             /* every process may be sampled, else those of watch_scan() and their children */
	bool verify, verbose;        /* unwind native stacks that come with a copy a second time; print differences */
	struct foreign_files *files; /* reads mapped files; borrowed */
	uint64_t max_memory;         /* bytes for what was sampled; 0: no limit */
	bool merges_threads;         /* threads need not be told apart */
	bool cgroups, moments, slices, locks; /* kept for samples: store.h */
	size_t moments_max;                   /* the same */
	bool sources;                         /* read source files: source_files.h */
	uint64_t tick_ns;                     /* the same */
	enum frame_detail detail;             /* what frames keep */
	bool lines;                           /* source lines and inlined functions of native code */
	const struct watch_file
		*expected; /* processes that map one of these get their tables before their first event; borrowed */
	uint32_t expected_count;
	uint64_t publish_ns; /* how long one drain may compile tables; 0: until all are done */
	/* Asked once for each of the kernel's samples: is it wanted? NULL: all are. And for waits that have not ended.
	 */
	bool (*wants)(void *context, const struct sample_event *sample);
	bool (*wants_waiting)(void *context, const struct off_cpu_waiting *waiting);
	void *wants_context;
	/* Asked of each when its stack is known, with wants_context; NULL: all are kept. Others were never taken. */
	bool (*keeps)(void *context, const struct sample_event *sample);
	bool tasks; /* walks shall tell which task a thread runs */
	bool waits; /* for machine code that another process follows (engine/analyser.h), instead of taking samples as
		       late ones */
	bool whole_tables; /* compile the tables of large files whole, not only the parts that walks need: the first
			    * stack must not be late
			    */
};

/* Borrows the sampler and the side-band. */
int watch_create(const struct watch_options *options, struct sampler *sampler, struct sideband *sideband,
		 struct watch **ret, struct diag *diag);
void watch_destroy(struct watch *watch);

/*
 * Reads one process, or all processes, from /proc; to be called after the side-band is open and before sampling. For a
 * process with much code the tables are compiled by the next watch_drain(), which is due at once. Until then its
 * samples are late, but sampling need not wait. 0 or -ESRCH, -ENOMEM.
 */
int watch_scan(struct watch *watch, int pid);
int watch_scan_all(struct watch *watch);

/* The same for a process whose tables would otherwise be compiled at its first sample. */
int watch_prepare(struct watch *watch, int pid);

/* The same for a process that is about to call exec: its present mappings are only needed if it is sampled before. */
int watch_scan_briefly(struct watch *watch, int pid);

/*
 * All processes in less time: the kernel is told where runtimes are. The tables of processes that have one are compiled
 * by watch_drain(), for watch_options.publish_ns each time, after other work.
 */
int watch_scan_all_lazily(struct watch *watch);
/* Did the last watch_drain() leave work undone for lack of time? Then the next one is due at once. */
bool watch_is_behind(const struct watch *watch);
/* Nothing is walked in the kernel from now on: watch_drain() compiles no more tables. */
void watch_stop_publishing(struct watch *watch);

/* To be polled for input, then watch_drain(); -1: nothing. */
int watch_fd(const struct watch *watch);
/* CPU time of the processes that work for it, in seconds. */
double watch_cpu_s(const struct watch *watch);

/* Takes in what has arrived, for 0.2 s at most: there may be no end of it. 0 or -ENOMEM. */
int watch_drain(struct watch *watch);

/*
 * After the end of sampling: handles all that is left. Samples whose second part never came are tallied as they are.
 * What there is no memory for is left out, and -ENOMEM says so; nothing is accepted after that.
 */
int watch_finish(struct watch *watch);

/*
 * Walks a snapshot by the mappings of its process at that moment. If that was not enough, reads the mappings again or
 * learns rules, and walks again. From then on the kernel has the process's tables. ret->frames is NULL if the process
 * is not known. 0 or -ENOMEM.
 */
int watch_walk_late(struct watch *watch, const struct snapshot_event *snapshot, const uint8_t *bytes,
		    struct late_stack *ret);

/*
 * Walks the threads of a process that do not run, as they are now, from this process. Facts about the process are those
 * of watch_live_begin(), and valid until the next call of any other function of the watch.
 */
struct watch_live {
	struct process *process;
	struct memory memory;
	const struct runtime_process *facts; /* of its runtime; NULL: it has none with a second stack, or none known */
	const struct runtime_file *runtime;
	uint64_t bias;                   /* of the runtime's file */
	uint64_t data_start, data_end;   /* the runtime's own data, including its state and its lock; 0: not known */
	struct live_second_stack second; /* of the thread that was walked last */
};

/* 0, -ESRCH when the process is gone, or -ENOMEM. */
int watch_live_begin(struct watch *watch, int pid, struct watch_live *ret);

/*
 * Walks one thread. The sample in *ret is true if the thread has not run since `task` was read; then watch_live_keep()
 * tallies it. 0 or -ENOMEM.
 */
int watch_live_walk(struct watch *watch, struct watch_live *live, const struct task_event *task,
		    struct sample_event *ret);
int watch_live_keep(struct watch *watch, const struct sample_event *sample);

/* The variables of a frame of a second stack. */
struct watch_locals {
	char *function; /* whose they are; NULL: not known */
	bool unsure;    /* SECOND_FRAME_UNSURE */
	struct runtime_locals locals;
};

/*
 * The variables of the thread that was walked last, as they are now: for each frame of its second stack that is shown,
 * innermost first. Malloc'd, with what is in it. 0 or -ENOMEM.
 */
int watch_live_locals(struct watch *watch, const struct watch_live *live, struct runtime_effort *effort,
		      struct watch_locals **ret, size_t *count);
void watch_locals_destroy(struct watch_locals *locals, size_t count);

/*
 * The tasks of its runtime, as they are now. If the runtime has no tasks, none, and `known` is not set. 0 or -ENOMEM.
 */
int watch_live_tasks(const struct watch_live *live, struct runtime_effort *effort, struct runtime_tasks *ret);

/*
 * After sampling: tallies the waits of threads that have not returned since, as they are now. From then on none is
 * measured any more. 0 or -ENOMEM; a process that cannot be read has waits with the loss `exited`.
 */
int watch_take_waits(struct watch *watch, struct off_cpu *off);

/*
 * At the end of a window that is not the last one, when all records are read: tallies the part until then
 * (CLOCK_MONOTONIC ns, at most now) of waits that go on, and have for 10 ms. 0 or -ENOMEM.
 */
int watch_tell_waits(struct watch *watch, struct off_cpu *off, uint64_t until);

/* Handles an event about a file that the BPF part does not know. 0 or -ENOMEM. */
int watch_take_file(struct watch *watch, const struct file_event *event);

/*
 * To be called with each native stack that the kernel part has walked, before its addresses are located: finds out what
 * its process had mapped, from the side-band, from /proc, or else from what the kernel part has found by itself. *ret:
 * the process; NULL if it is not known. 0 or -ENOMEM.
 */
int watch_meet_stack(struct watch *watch, const struct stack_event *event, const uint64_t *frames,
		     struct process **ret);

/* The file that a process had mapped at an address at some time, and the vaddr; false if that is not known. */
bool watch_locate(struct watch *watch, int pid, uint64_t address, uint64_t time, struct object **object,
		  uint64_t *vaddr);

const struct store *watch_store(const struct watch *watch);
struct objects *watch_objects(struct watch *watch);
struct namer *watch_namer(struct watch *watch);
const struct watch_counts *watch_get_counts(const struct watch *watch);
/* The perf map of the process that an ANONYMOUS file stands for; NULL if there is none. */
struct perf_map *watch_perf_map(struct watch *watch, const struct mapped_file *file);
/* Perf maps that were too large to be read (symbol/perf_maps.h). */
uint64_t watch_perf_maps_refused(const struct watch *watch);

/* Adds a line that is to be said at the end; it is dropped if memory is short or there are many already. */
void watch_add_remark(struct watch *watch, const char *text);

/* Remarks about the recording, a line each, by number from 0; NULL when there are no more. */
const char *watch_remark(const struct watch *watch, size_t index);

/* Gives every location that has none its frame. 0, or -ENOMEM: some have none. */
int watch_name_all(struct watch *watch);

/* Frees a stack of the store; after watch_finish(). */
void watch_drop_stack(struct watch *watch, uint32_t number);

/* What was tallied since the last time: store_take(). `more`: it will be called again. */
void watch_take(struct watch *watch, bool more, struct tallies *ret);
/* Before the first sample: its slices of time, if they are kept, begin at this time (slices_begin()). */
void watch_begin_slices(struct watch *watch, uint64_t time);
/* How many samples wait for their second part. */
size_t watch_waiting(const struct watch *watch);

/* Adds to a profile what a cgroup is: container, pod, unit; if cgroups are kept. 0 or -ENOMEM. */
int watch_tell_owner(const struct watch *watch, uint64_t cgroup, struct profile *profile);

/* Adds the source files of its samples to a profile, at the end of a recording, if that is wanted. 0 or -ENOMEM. */
int watch_tell_sources(struct watch *watch, struct profile *profile);

/* The frames of locations that have a name: LOCATION_FRAME(). */
const struct frames *watch_frames(const struct watch *watch);

#endif
