/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * record: `strata record` as a library: sample some or all processes for a while and fill a profile.
 *
 * record_run() is a client of the engine (engine/engine.h) with one window. It owns everything it sets up (the engine,
 * the command, descriptors) and releases all of it before it returns, also on failure. It is called once per process,
 * from one thread.
 *
 * SIGINT, SIGTERM and SIGHUP arrive through a signalfd and end the recording. When the last records are read the old
 * mask is restored: a second Ctrl-C, while names are looked up and files written, ends strata at once. If the recording
 * ended by itself, the first one loses nothing: it may have been meant for the recording.
 *
 * When an allocation fails (ulimit -v, strict overcommit), sampling ends and what is there is reported. 64 MiB of
 * address space, reserved and never touched, are given back for that; tables that only adding needs are freed; the
 * most frequent stacks come first, and each stack is freed once it is merged. What finds no memory counts as
 * `internal`, and the exit status is 1. A single failed allocation costs only what it was for: the next record is
 * read, the next location named. A file for whose symbols there is no memory has addresses (elf_file_starved() tells
 * such a file from a damaged one), and the last line says so. Only the kernel's out-of-memory killer leaves nothing.
 * tests/unit/test_no_memory.c makes each allocation fail in turn; tests/chaos/memory.t does both.
 */
#ifndef STRATA_RECORD_RECORD_H
#define STRATA_RECORD_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/diag.h"
#include "kernel/programs.h"
#include "profile/profile.h"

struct record_options {
	const pid_t *pids; /* processes to watch; NULL with command or all */
	size_t pid_count;
	char *const *command;        /* argv of a command to start and watch, NULL-terminated; or NULL */
	bool all;                    /* everything on the machine */
	bool children;               /* the descendants of `pids`, too: those of now and later ones */
	struct filter *filter;       /* which of their threads; borrowed; NULL: all */
	unsigned int frequency;      /* samples per second and CPU, 1 .. 10000; 0: of time off the CPU only */
	unsigned int off_cpu_rate;   /* as in struct engine_options */
	bool gil;                    /* the same */
	bool wakers;                 /* the same */
	bool tasks;                  /* the same */
	double duration_s;           /* 0: until the command ends, the targets are gone, or a signal */
	enum walk_strategy strategy; /* how the kernel part walks long stacks; for tests */
	uint64_t sample_ns;          /* how long one sample may be walked in its interrupt; 0: no limit */
	bool verify;                 /* unwind a share of the native stacks a second time (engine/verify.h) */
	uint64_t max_memory;         /* bytes for what was sampled; beyond, the rarest is dropped; 0: no limit */
	enum frame_detail detail;    /* what frames keep besides their names */
	bool lines;                  /* source lines and inlined functions of native code */
	bool merges_threads; /* no result tells threads of one name apart: the profile's samples have pid and tid 0 */
	bool owners;         /* keep the cgroups of samples, and what these are: profile_owner() */
	bool times;          /* keep when samples were taken: profile_slice_at() */
	bool moments;        /* of each sample, unless there are too many: profile_moment_at() */
	bool sources;        /* read source files: profile_source_at() */
	bool no_debuginfod;  /* do without it, as if its servers were not named (elf/debuginfod.h) */
	bool function;       /* Python frames carry the function's first line instead of the current one */
	const char *target_text; /* what is recorded, for the summary; borrowed */
	bool verbose;
	bool progress;     /* draw a progress line on stderr */
	double started_at; /* CLOCK_MONOTONIC seconds when the program started, for startup_ms */
};

struct record_result {
	int command_status; /* exit status of the command in the shell's convention (128 + signal); 0 without one */
	pid_t command_left; /* it hangs in the kernel and cannot be ended: its pid; else 0 */
	bool interrupted;   /* ended by a signal */
	bool kept;          /* the profile has what was recorded, also when it failed */
};

/*
 * Records into `profile`. 0, or a negative errno and a diag. If memory runs out while it samples, the recording ends,
 * and what was sampled so far is kept: ret->kept.
 */
int record_run(const struct record_options *options, struct profile *profile, struct record_result *ret,
	       struct diag *diag);

#endif
