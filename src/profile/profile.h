/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * profile: the result of a recording, ready to be written in any format: frames, unique stacks, and the quality of the
 * data. Filled by src/engine, read by src/export. Not thread-safe. All strings are copied or interned; returned
 * pointers live as long as the profile.
 */
#ifndef STRATA_PROFILE_PROFILE_H
#define STRATA_PROFILE_PROFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "abi/loss.h"
#include "profile/frames.h"

/* One distinct (process, thread, cgroup, stack) and how often it was seen. */
struct profile_sample {
	const char *comm;   /* the thread's name (as perf's comm) when it was first seen with this stack */
	const char *thread; /* same as comm; kept apart for formats that show both a process's and a thread's name */
	int pid, tid;
	uint64_t cgroup; /* its cgroup's id (v2), 0 if that was not wanted */
	uint64_t count;
	uint64_t lockable;      /* of these: where a runtime has a lock for all threads, the GIL; if that was wanted */
	uint64_t held;          /* of those: the thread held it */
	uint64_t weight;        /* ns that these stand for, where samples are weighed; else 0 */
	uint64_t before;        /* the count in the recording that this one is compared with (src/diff); else 0 */
	double squares_before, squares; /* of compared times: the sum of squares of what each one lasted (struct
					   profile_compared), before and now; else 0 */
	uint32_t depth;         /* number of frames */
	const uint32_t *frames; /* frame ids, outermost first */
};

/* What a cgroup is. Empty texts: it is nothing of the sort, or not known. */
struct profile_owner {
	const char *cgroup;    /* its path, as `/system.slice/cron.service` */
	const char *container; /* its container's name, or the beginning of the id */
	const char *pod;       /* NAMESPACE/POD, or the pod's UID */
	const char *unit;      /* of systemd */
	const char *text;      /* for people, one of the above: never empty */
};

/* One of the samples counted there, if that was wanted. */
struct profile_moment {
	uint64_t time;   /* CLOCK_MONOTONIC, ns */
	uint32_t sample; /* index */
	uint32_t cpu;
	uint64_t weight; /* ns before `time` that it stands for; 0: samples are not weighed */
};

/* How many of the samples counted there were taken in one slice of time, if that was wanted; their ns, if weighed. */
struct profile_slice {
	uint32_t sample; /* index */
	uint32_t slice;
	uint64_t count;
};

/* The slices, which are of equal width. Every sample of the profile is in one, unless width_s is 0: then none is. */
struct profile_times {
	double start_s; /* of the first: after the start of the recording */
	double width_s;
	uint32_t count;
};

/* The second unwinder's results for some samples' native stacks. */
struct profile_verify {
	uint64_t chosen;                 /* `samples` plus all of `uncompared` */
	uint64_t samples;                /* compared ones: the sum of the following */
	uint64_t agree;                  /* all frames are the same, and so is the end */
	uint64_t differ;                 /* some frame differs */
	uint64_t shorter;                /* the second unwinder stopped earlier, and agreed until then */
	uint64_t longer;                 /* it found more frames */
	uint64_t cut;                    /* the copy of the stack ended earlier, and both agreed until then */
	uint64_t guessed;                /* it had no unwind information for a frame, and guessed another caller */
	uint64_t uncompared[LOSS_COUNT]; /* not compared, by reason */
};

/* Time off the CPU: all waits, and of these the ones whose stack was taken; the others are in the weights of these. */
struct profile_off_cpu {
	uint64_t waits, waits_ns;
	uint64_t measured, measured_ns;
	uint64_t run_ns, runs; /* of the programs */
};

#define PROFILE_RUNTIMES_MAX 8

/* A runtime with a stack of its own. The strings are static. */
struct profile_runtime {
	const char *name, *language; /* "python", "Python" */
	uint64_t samples;            /* with at least one frame of it */
};

/* A source file that frames name, as some processes have it. The text is valid UTF-8 without zero bytes. */
struct profile_source {
	const char *path; /* as in frames */
	const char *text;
	size_t size;
	bool is_changed; /* it was written after the recording began: lines may be others */
	const int *pids; /* of these processes */
	size_t pid_count;
};

/* The figures behind --stats, the summary and the page's data-quality panel. */
struct profile_quality {
	uint64_t samples;          /* all that were taken: complete + truncated + incomplete + lost */
	uint64_t complete;         /* reached the thread's outermost frame in every layer that it has */
	uint64_t truncated;        /* cut at one of strata's limits */
	uint64_t lost[LOSS_COUNT]; /* samples by reason: PARTIAL and LOST reasons; see abi/loss.def */
	struct profile_runtime runtimes[PROFILE_RUNTIMES_MAX]; /* up to the first without a name */
	uint64_t late_samples;                                 /* finished in user space from a copy of the stack */
	uint64_t unique_stacks;
	uint64_t max_depth;
	uint64_t bpf_run_ns, bpf_runs, bpf_frames, bpf_thread_states; /* the sampling program's own cost */
	uint64_t bpf_worst_ns;                                        /* the longest sample, in its interrupt */
	uint64_t bpf_task_ns; /* in addition to run_ns: walks in the threads' own context */
	bool verified;        /* was wanted */
	struct profile_verify verify;
	struct profile_off_cpu off_cpu;
	double self_cpu_s;
	uint64_t self_peak_rss_kb;
	double startup_ms; /* from start to sampling */
};

/*
 * The recording that this one is compared with; its counts are in profile_sample.before. A weight is what one sample
 * is worth: the share of all samples, or, by time, how many CPUs it stands for. weight 0: nothing is compared.
 */
struct profile_compared {
	const char *name_before, *name; /* of the files */
	double weight_before, weight;
	uint64_t samples_before, samples;
	bool by_time;
	bool times;    /* counts are microseconds: waits, or these and CPU time; what they lasted is in squares */
	double spread; /* of these: the variance of all, squares times the square of the weight, of both sides */
};

struct profile_info {
	const char *command;  /* the recorded command or a description of the target ("pid 123", "all processes") */
	const char *children; /* the target's children that used CPU time and were not recorded; "" or NULL: none */
	const char *hostname, *kernel, *strata_version;
	unsigned int frequency; /* Hz, per CPU; 0: the CPU was not sampled */
	bool weighed;           /* samples have weights, and threads off the CPU are among them */
	unsigned int cpus;
	double start_time; /* seconds since the epoch */
	uint64_t began_ns; /* the same as CLOCK_MONOTONIC, as of moments */
	double duration_s;
	struct profile_compared compared;
	struct profile_times times;
};

struct profile;

struct profile *profile_create(void); /* NULL when memory is short */
void profile_destroy(struct profile *profile);

/* Mutable, filled in by the engine and its client; the strings in info must be set with profile_string(). */
struct profile_info *profile_info(struct profile *profile);
struct profile_quality *profile_quality(struct profile *profile);
const struct profile_info *profile_get_info(const struct profile *profile);
const struct profile_quality *profile_get_quality(const struct profile *profile);
const char *profile_string(struct profile *profile, const char *string); /* interned; NULL: no memory */

/* Remarks about the recording, a line each, by number from 0. 0 or -ENOMEM; NULL: no more. */
int profile_add_remark(struct profile *profile, const char *text);
const char *profile_remark(const struct profile *profile, size_t index);

/* Interns a frame: 0 and its id (dense, from 0), or -ENOMEM. Strings are copied. */
int profile_frame(struct profile *profile, const struct frame *frame, uint32_t *ret);
size_t profile_frame_count(const struct profile *profile);
const struct frame *profile_frame_at(const struct profile *profile, uint32_t id);

/* Adds `count` to the sample with this comm, pid, tid and stack (frame ids, outermost first). 0 or -ENOMEM. */
int profile_add(struct profile *profile, const char *comm, int pid, int tid, const uint32_t *frames, uint32_t depth,
		uint64_t count);
/* The same with all fields of struct profile_sample; `thread` is taken from comm. *ret: its index, if not NULL. */
int profile_add_sample(struct profile *profile, const struct profile_sample *sample, uint32_t *ret);
size_t profile_sample_count(const struct profile *profile);
size_t profile_stack_count(const struct profile *profile); /* distinct ones, of all threads together */
const struct profile_sample *profile_sample_at(const struct profile *profile, size_t index);

/* What the cgroup of some samples is, by its id. 0 or -ENOMEM; NULL: nobody has said. Valid until the next is set. */
int profile_set_owner(struct profile *profile, uint64_t cgroup, const struct profile_owner *owner);
const struct profile_owner *profile_owner(const struct profile *profile, uint64_t cgroup);

/*
 * Adds a source file of a process, with path, text and is_changed of `source`; equal ones of several processes are one.
 * The text is copied. 0 or -ENOMEM. By number from 0, NULL: no more.
 */
int profile_add_source(struct profile *profile, const struct profile_source *source, int pid);
const struct profile_source *profile_source_at(const struct profile *profile, size_t index);

/* In the order in which they were added. 0 or -ENOMEM. */
int profile_add_moment(struct profile *profile, const struct profile_moment *moment);
size_t profile_moment_count(const struct profile *profile);
const struct profile_moment *profile_moment_at(const struct profile *profile, size_t index);

/* In any order; a sample and slice may come more than once. 0 or -ENOMEM. */
int profile_add_slice(struct profile *profile, const struct profile_slice *slice);
size_t profile_slice_count(const struct profile *profile);
const struct profile_slice *profile_slice_at(const struct profile *profile, size_t index);

/* One loss reason's texts; NULL when the number is not in use. */
const char *loss_key(unsigned int loss);
const char *loss_meaning(unsigned int loss);
const char *loss_advice(unsigned int loss);
enum loss_kind { LOSS_KIND_TRUNCATED, LOSS_KIND_PARTIAL, LOSS_KIND_LOST, LOSS_KIND_NOTE };
enum loss_kind loss_kind(unsigned int loss);

#endif
