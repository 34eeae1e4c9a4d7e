/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * engine: samples what runs, and reports it window by window. Every command that samples is a client.
 *
 *   engine_open ─► engine_watch… ─► engine_start ─► { poll, engine_poll } ─► engine_stop ─► engine_collect
 *                                                            │ ▲                                  │
 *                                                            ▼ │                                  ▼
 *                                                      engine_collect                       engine_close
 *                                                the window since the last one
 *
 * A window is a profile of its own: the samples that have arrived since the last engine_collect(), and in its quality
 * what was lost, and what it cost, in that time. The sums over all windows are what one recording would have had:
 * complete, truncated and lost samples are all samples, in each window. A sample belongs to the window in which its
 * last part arrived. One that waits for another part, or is still in the ring, belongs to a later window.
 *
 * Stacks, code objects, names and facts about processes and files are kept from window to window, so a window costs
 * what is new in it. Memory stays bounded however many windows there are: stacks that the kernel has not named for a
 * minute are forgotten, and sent again if they come back; files that nobody has mapped for ten seconds are closed; the
 * content of both is freed when the store has doubled. Beyond `max_memory` the rarest stacks of the window are dropped,
 * and counted.
 *
 * A client sleeps in poll() on engine_descriptors(), for 100 ms at most. The kernel wakes it early for a late sample,
 * for a line table that only user space can read, or when the ring is a quarter full.
 *
 * The engine owns the BPF programs, perf events, ring buffers, and the processes that read files for it; all of them
 * end with it, however strata ends. It takes no signals and is used by one thread. Errors: a negative errno, with a
 * diag where there is one.
 */
#ifndef STRATA_ENGINE_ENGINE_H
#define STRATA_ENGINE_ENGINE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/diag.h"
#include "engine/fetch.h"
#include "kernel/programs.h"
#include "profile/profile.h"

struct engine;
struct filter;

#define ENGINE_OFF_CPU_RATE 1000 /* the usual off_cpu_rate */

struct engine_options {
	bool everything;        /* every process, else those of engine_watch() */
	struct filter *filter;  /* which of their threads (engine/filter.h); borrowed; NULL: all */
	unsigned int frequency; /* samples per second and CPU, 1 .. 10000; 0: no samples of running threads */
	/*
	 * If not 0: threads off the CPU are sampled, too, with the reason as their innermost frame, and samples weigh
	 * the time that they stand for. On each CPU up to this many waits per second are all taken; beyond that, short
	 * waits are taken with a probability proportional to their length (bpf/off_cpu.h). A wait belongs to the window
	 * in which it ends, or to the last one; with waits_by_window each window has its own part of it.
	 */
	unsigned int off_cpu_rate;
	bool waits_by_window; /* costs some 70 us for each thread that waits, at the end of each window */
	/* With off_cpu_rate: only threads that hold their runtime's lock, the GIL, wait for it, or hand it over. */
	bool gil;
	bool wakers; /* with off_cpu_rate: frames further in say who has ended the wait: `[woken by: ...]` */
	bool tasks; /* stacks of a task begin with it: `[task NAME]` instead of its event loop's frames */
	int nice; /* nice value of the processes that read files */
	enum walk_strategy strategy;
	uint64_t sample_ns;  /* how long one sample may be walked in its interrupt; 0: no limit */
	uint64_t max_memory; /* bytes for what was sampled; 0: no limit */
	bool verify;         /* unwind a share of the native stacks a second time (engine/verify.h) */
	bool verbose;        /* print where those differ */

	/* What frames have: */
	bool function; /* frames of second stacks carry the function's first line instead of the current one */
	enum frame_detail detail;
	bool lines; /* of native code: source lines, and inlined functions as frames of their own */

	/* What samples have: */
	bool merges_threads; /* threads with the same name are not told apart: pid and tid are 0 */
	bool cgroups;        /* the id and the owner of their cgroup: profile_owner() */
	bool locks;          /* whether their thread held its runtime's lock, the GIL */
	bool moments;        /* the time and CPU of each: profile_moment_at() */
	size_t moments_max;  /* if there are more in a window, none is kept; 0: no limit */
	bool sources;        /* the text of source files: profile_source_at(), of the last window */
	bool slices; /* counts, or times, for each slice of time: profile_slice_at() */
};

/* What a client samples (engine/session.h). */
struct engine_targets {
	const pid_t *pids; /* or NULL */
	size_t pid_count;
	bool children;        /* also the descendants of `pids`, existing and future ones */
	char *const *command; /* argv of a command to start, NULL-terminated; or NULL */
	bool all; /* everything on the machine, until `command`, if there is one, ends; as engine_options.everything */
};

/* Opens what it needs, and begins to load the programs; nothing is sampled yet. */
int engine_open(const struct engine_options *options, struct engine **ret, struct diag *diag);
void engine_close(struct engine *engine); /* may be NULL */

enum engine_watch {
	ENGINE_CHILDREN = 1,   /* also its future children, and theirs */
	ENGINE_BEFORE_EXEC = 2 /* it is about to call exec, and is sampled from then on */
};

/* Samples a process; before or after engine_start(). -ESRCH: it is gone. */
int engine_watch(struct engine *engine, pid_t pid, unsigned int flags);
/*
 * Waits until the programs are loaded, so that the kernel part notices processes that fork. engine_start() does it, if
 * it was not done before.
 */
int engine_ready(struct engine *engine, struct diag *diag);
/*
 * Samples all existing descendants of processes that are already watched with their later children. The engine is
 * ready. No descendant is missed whose parent lives while this runs.
 */
int engine_watch_descendants(struct engine *engine, const pid_t *pids, size_t count);
/* Reads what runs, for an engine that samples everything. */
int engine_watch_all(struct engine *engine);

/* Begins to sample, and the first window. */
int engine_start(struct engine *engine, struct diag *diag);

/* The descriptors to be polled for input, with a timeout of engine_timeout_ms() at most, before each engine_poll(). */
#define ENGINE_DESCRIPTORS 3
void engine_descriptors(const struct engine *engine, int ret[ENGINE_DESCRIPTORS]);
int engine_timeout_ms(const struct engine *engine);

/* Handles what has arrived, for 0.2 s at most. 0, or the error that ends the recording; what was sampled is kept. */
int engine_poll(struct engine *engine);

/* Stops sampling, and handles all that is left. 0, or -ENOMEM: some of it is lost, which is counted. */
int engine_stop(struct engine *engine);

/* After engine_stop(): fetches debug files for what is not named yet. 0 or -ENOMEM. */
int engine_fetch(struct engine *engine, struct fetch *fetch);

/*
 * Adds the window that ends now to `profile`, with its quality and its part of the info, and begins the next one. After
 * engine_stop() it is the last one, and frees what it reads as it goes. 0, or -ENOMEM: there was no memory for some
 * names, or for some samples, rare stacks first; these are counted as LOSS_INTERNAL.
 */
int engine_collect(struct engine *engine, struct profile *profile);

/* Samples that have arrived since the start, and distinct ones in this window. */
struct engine_progress {
	uint64_t samples;
	size_t different;
};
struct engine_progress engine_progress(const struct engine *engine);

#endif
