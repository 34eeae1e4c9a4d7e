/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * processes: which process had which executable file mapped where, and when.
 *
 * It is fed by /proc at the start (processes_scan) and by perf's side-band records afterwards. Samples and side-band
 * records come through different buffers and in no common order, so each mapping has the time during which it existed.
 * The question is always "what was at this address at that moment". Times are CLOCK_MONOTONIC in ns. Pids are those of
 * the initial namespace as seen by this process. A reused pid gets a new `struct process`; the old one can be found by
 * time until processes_reap().
 *
 * Each `struct processes` has one owner. The watch of an engine (engine/watch.c) keeps what the kernel was told about a
 * process in `user`. Others make one for a moment: `strata inspect`, and what reads a thread state in a process.
 *
 * Pointers to processes stay valid until the process is reaped, those to files until processes_forget_file().
 * Pointers to mappings are valid until the next change of that process. Not thread-safe.
 */
#ifndef STRATA_PROC_PROCESSES_H
#define STRATA_PROC_PROCESSES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"

enum file_kind {
	FILE_REGULAR,
	FILE_ANONYMOUS, /* no file: generated code */
	FILE_VDSO,
	FILE_SPECIAL /* [vsyscall], [uprobes], ...: nothing to read */
};

/*
 * A file that is or was mapped somewhere, identified by device and inode; for ANONYMOUS, one per process. If the same
 * device and inode have other content now (the file was overwritten, the inode was reused), call
 * processes_renew_file().
 */
struct mapped_file {
	uint32_t index; /* dense, from 0, for other tables; that of a forgotten file is used again */
	uint32_t users; /* known mappings, current and past; for ANONYMOUS, also the process itself */
	enum file_kind kind;
	uint64_t device; /* as in /proc/PID/maps: major << 32 | minor */
	uint64_t inode;
	int pid;    /* ANONYMOUS: whose; else the process that mapped it first */
	char *path; /* as that process sees it; "" when anonymous */
};

struct process_mapping {
	uint64_t start, end; /* end exclusive */
	uint64_t offset;     /* in the file, of `start` */
	uint64_t from, to;   /* when it existed: [from, to); `to` is UINT64_MAX while it does */
	uint64_t seen;       /* when /proc last showed it; 0: never */
	struct mapped_file *file;
};

/* Where a process has mapped nothing, as far as known: [below, start) and [end, above), around the last new mapping. */
struct process_gaps {
	uint64_t below, start, end, above;
};

struct process {
	int pid, parent;
	uint64_t started, ended; /* ended: UINT64_MAX while it lives */
	uint64_t executed;       /* the last exec that was told; 0: none */
	uint32_t changes;        /* goes up with each change of the mappings */
	uint32_t epoch;          /* goes up when an address gets another file, or another part of its file */
	bool scanned;            /* /proc/PID/maps was read: nothing older is missing */
	VEC(struct process_mapping) mappings; /* current and past ones, in order of `from` */
	struct process_gaps gaps;
	struct process *older;         /* which had this pid before */
	struct mapped_file *anonymous; /* its file of that kind; NULL: none yet */
	void *user;                    /* the owner's, NULL at first */
};

struct processes;

struct processes *processes_create(void);
/* `release` is called for the `user` of each process that has one; may be NULL. */
void processes_destroy(struct processes *processes, void (*release)(struct process *process));

/* Reads /proc/PID/maps; mappings that it does not show any more have ended (there is no record of munmap). 0, -ESRCH
 * if the process is gone, -ENOMEM. `now` is taken before reading. */
int processes_scan(struct processes *processes, int pid, uint64_t now, struct process **ret);

/* A record of perf's side-band. Unknown processes are added. 0, -ENOMEM, or -EINVAL for a mapping of no size. */
int processes_mmap(struct processes *processes, int pid, uint64_t time, uint64_t start, uint64_t size, uint64_t offset,
		   uint64_t device, uint64_t inode, const char *path, struct process **ret);
int processes_fork(struct processes *processes, int parent, int child, uint64_t time, struct process **ret);
int processes_exec(struct processes *processes, int pid, uint64_t time, struct process **ret);
struct process *processes_exit(struct processes *processes, int pid, uint64_t time);

/* Has a process threads besides its main one? The main thread may have ended while others still run. */
bool process_has_threads(int pid);

/* The process that had a pid at a time; NULL when none is known. */
struct process *processes_find(const struct processes *processes, int pid, uint64_t time);

/* Visits every living process: start with *at = 0, NULL after the last. */
struct process *processes_next(const struct processes *processes, size_t *at);

/* Forgets processes and mappings that ended before `time`. */
void processes_reap(struct processes *processes, uint64_t time, void (*release)(struct process *process));

/* The mapping at an address at a time; NULL when there was none. UINT64_MAX - 1 for "now". */
const struct process_mapping *process_find_mapping(const struct process *process, uint64_t address, uint64_t time);

/* The ANONYMOUS file of a process, for code that has no readable file; NULL when memory is short. */
struct mapped_file *processes_anonymous(struct processes *processes, struct process *process);

/* By index; NULL when there is none. The highest index is below the count. */
struct mapped_file *processes_file(const struct processes *processes, uint32_t index);
size_t processes_file_count(const struct processes *processes);

/* From now on the same device and inode mean another file, with an index of its own; present mappings keep this one. */
void processes_renew_file(struct processes *processes, struct mapped_file *file);

/* Releases a file without users. */
void processes_forget_file(struct processes *processes, struct mapped_file *file);

#endif
