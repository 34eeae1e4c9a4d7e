/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * engine: samples what runs, and tells what was sampled window by window. Every command that samples is a client.
 *
 *   engine_open ─► engine_watch… ─► engine_start ─► { poll, engine_poll } ─► engine_stop ─► engine_collect
 *                                                            │ ▲                                  │
 *                                                            ▼ │                                  ▼
 *                                                      engine_collect                       engine_close
 *                                                the window since the last one
 *
 * A window is a profile of its own: the samples that have arrived since the last engine_collect(), and in its quality
 * what was lost, and what it cost, in that time. The sums over all windows are what one recording would have had:
 * complete, truncated and lost samples are all samples, in each window. A sample belongs to the window in which it
 * arrived whole; one that waits for its other part, or lies in the ring, to a later one.
 *
 * Stacks, code objects, names and what is known of processes and files stay from window to window, so a window costs
 * what is new in it. Memory stays bounded however many windows there are: stacks that the kernel part has not named for
 * a minute are forgotten, and sent again if they come back; files that nobody has mapped for ten seconds are closed;
 * the content of both goes when the store has doubled. Beyond `max_memory` the rarest stacks of the window are dropped,
 * and counted.
 *
 * The engine owns the BPF programs, perf events, ring buffers, and the processes that read files for it; all go away
 * with it, however strata ends. It prints nothing, takes no signals, and is used by one thread. Errors: a negative
 * errno, with a diag where there is one.
 */
#ifndef STRATA_ENGINE_ENGINE_H
#define STRATA_ENGINE_ENGINE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/diag.h"
#include "kernel/programs.h"
#include "profile/profile.h"

struct engine;

struct engine_options {
	bool everything;        /* every process, else those of engine_watch() */
	unsigned int frequency; /* samples per second and CPU, 1 .. 10000 */
	int nice;               /* of the processes that read files */
	enum walk_strategy strategy;
	uint64_t sample_ns;  /* a sample may be walked so long in its interrupt; 0: as long as it takes */
	uint64_t max_memory; /* bytes that may be held of what was sampled; 0: no bound */
	bool verify;         /* have a share of the native stacks unwound a second time (engine/verify.h) */
	bool verbose;        /* print where those differ */

	/* What frames have: */
	bool function; /* Python frames carry the function's first line instead of the current one */
	enum frame_detail detail;

	/* What samples have: */
	bool merges_threads; /* nobody tells threads of one name apart: pid and tid are 0 */
	bool cgroups;        /* the id of their cgroup */
	bool moments;        /* each its time and CPU: profile_moment_at() */
};

/* Loads the programs and opens what it needs; nothing is sampled yet. */
int engine_open(const struct engine_options *options, struct engine **ret, struct diag *diag);
void engine_close(struct engine *engine); /* may be NULL */

enum engine_watch {
	ENGINE_CHILDREN = 1,   /* its later children, too, and theirs */
	ENGINE_BEFORE_EXEC = 2 /* it is about to call exec, and is sampled from then on */
};

/* Samples a process; before engine_start() or after. -ESRCH: it is gone. */
int engine_watch(struct engine *engine, pid_t pid, unsigned int flags);
/*
 * Samples all descendants of processes that are watched with their later children already. None is missed that has its
 * parent while this runs.
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

/* Takes in what has arrived, for 0.2 s at most. 0, or what ends the recording; what was taken until then is kept. */
int engine_poll(struct engine *engine);

/* Samples no more, and takes in all that is left. 0, or -ENOMEM: some of it is not kept, which is counted. */
int engine_stop(struct engine *engine);

/*
 * Adds the window that ends now to `profile`, with its quality and its part of the info, and begins the next one. After
 * engine_stop() it is the last one: what it reads is given back as it goes. 0, or -ENOMEM: there was no memory for some
 * samples, rare stacks first, which are counted as LOSS_INTERNAL, or for some names.
 */
int engine_collect(struct engine *engine, struct profile *profile);

/* Samples that were taken in since the start, and distinct ones in this window. */
struct engine_progress {
	uint64_t samples;
	size_t different;
};
struct engine_progress engine_progress(const struct engine *engine);

#endif
