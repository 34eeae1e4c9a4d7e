/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * watch_parts: what watch's files share; no other file includes it.
 *
 *   watch.c            creation and end, the side-band, reading /proc
 *   watch_publish.c    tells the kernel part about a process: mappings and runtimes
 *   watch_prove.c      runtimes of an unknown version: does the process agree with the layout?
 *   watch_files.c      tells the kernel part about files, so that it finds mappings by itself
 *   watch_records.c    handles what the kernel part sends
 *   watch_live.c       walks threads that do not run, from this process
 *   watch_learn.c      learns rules for code that has none, from what the code does
 *   watch_analysis.c   asks another process about files, and keeps the samples that wait for its answers
 *   watch_rows.c       has other processes compile unwind rows
 *   watch_runtime.c    asks another process what is in a runtime's machine code
 *   watch_generated.c  generated code (no file backs it) that does not keep frame pointers
 *   watch_published.c  unwind rules that processes publish for their generated code
 *   watch_full.c       what finds no room in the kernel's tables
 *   watch_tidy.c       releases what is no longer needed while the recording lasts
 */
#ifndef STRATA_ENGINE_WATCH_PARTS_H
#define STRATA_ENGINE_WATCH_PARTS_H

#include "abi/loss.h"
#include "base/budget.h"
#include "engine/analyser.h"
#include "engine/namer.h"
#include "engine/names.h"
#include "engine/owners.h"
#include "engine/source_files.h"
#include "engine/verify.h"
#include "engine/watch.h"
#include "kernel/backlog.h"
#include "kernel/kernel_names.h"
#include "kernel/late_walk.h"
#include "kernel/live_second.h"
#include "symbol/jit_objects.h"
#include "symbol/perf_maps.h"

/* Machine code without tables that may be followed: at most 4 s of work, of which one user may cause half. */
#define WATCH_CODE_BYTES     (16ull << 20)
#define WATCH_CODE_HALVING_S 20
/* CPU time to find what is in the machine code of runtimes, ms; an interpreter takes 20 to 50. */
#define WATCH_RUNTIME_MS        8000
#define WATCH_RUNTIME_HALVING_S 20
/* CPU time to compile unwind rows, us: the largest files known take 300 ms. */
#define WATCH_ROWS_US        16000000
#define WATCH_ROWS_HALVING_S 20
/* Generated code: one user may cause checks for an eighth of the time. */
#define WATCH_CHECKS_NS        1000000000ull
#define WATCH_CHECKS_HALVING_S 2
#define WATCH_PUBLISHED_BYTES  (128u << 20)
#define WATCH_REMARKS_MAX      32
#define WATCH_REMARK_BYTES     1024

/* A range of generated code with its own unwind rules (watch_generated.c). Addresses are those of the process. */
struct window {
	uint64_t start, end;
	struct tables_run run; /* its base is `start`, but of a wide one */
	struct learnt learnt;
	uint64_t state;           /* where a word points to the state that names the frame of its code, or 0 */
	bool is_wide;             /* watch_widen_window() */
	uint32_t rule;            /* in both cases: the number of the one rule that all of it has */
	bool met;                 /* the stack that is being handled goes through it */
	bool published;           /* some of its rules were published by the process */
	uint64_t digest, checked; /* of the code from which the rules were learnt; when that was last read */
};

/* The place in the tables of a window that was dropped, and when: a walk may still use it for a while. */
struct retired_run {
	struct tables_run run;
	uint64_t at;
};

/* What a process publishes of its generated code (watch_published.c). */
struct published {
	struct jit_objects *objects; /* NULL: nothing was read yet */
	uint64_t descriptor;         /* 0: not looked for yet */
	uint32_t changes;            /* process.changes then */
	uint64_t next;               /* when it may be read again */
	uint64_t kept;               /* bytes, of sharing.published */
};

/* Where a process has its tasks (watch_tasks.c). */
struct watched_tasks {
	bool are_known;
	uint64_t words[4];   /* runtime_process.tasks */
	uint64_t next, wait; /* when it may be asked again, ns */
};

/* How many went through generated code while its frame pointers were trusted, and how many of them ended there. */
struct trial_counts {
	uint32_t met, failed;
};

/* What the kernel was told about a process: struct process.user. */
struct watched {
	struct watch *watch;
	struct process *process;
	struct process_entry entry; /* generation 0: not published */
	uint32_t published_changes; /* process.changes at that time */
	uint32_t seen_epoch;        /* process.epoch at the last watch_note_replaced() */
	uint64_t changed;           /* when those changes were learnt */
	uint64_t published_at;
	uint64_t published_enough; /* watch_count_published(): until then it has published enough */
	uint64_t rescanned;
	size_t kept;                      /* mappings after the last look for those that are gone */
	VEC(uint32_t) pins;               /* indices of the files whose tables `entry` needs */
	bool wanted;                      /* it was asked for, or is a child of such a process, or was sampled */
	bool is_prepared;                 /* its tables are compiled before its first sample */
	bool runtime;                     /* the kernel was told about its runtime, */
	bool has_aid;                     /* and about what that needs from other files */
	uint32_t runtime_changes;         /* process.changes at that time */
	struct runtime_process facts;     /* what it was told, */
	const struct object *interpreter; /* of this file, */
	uint64_t bias;                    /* which is mapped this far above its vaddrs */
	struct watched_tasks tasks;
	bool to_prove;                    /* its runtime is of an unknown version that has not been proved yet */
	uint64_t asked_at;                /* when that was last tried */
	bool dirty;                       /* in watch.dirty */
	struct share_owner owner;         /* who is charged for it; when known: */
	bool has_owner;
	bool is_full; /* some of its tables did not fit */
	struct published published;
	VEC(struct window) windows; /* sorted, and apart from each other */
	struct trial_counts stacks, samples;
	uint32_t tried;       /* late samples that ended in generated code while it was trusted */
	bool distrusts;       /* its generated code was found not to keep frame pointers */
	bool no_windows; /* there is no room or time for them: walks end in its generated code, if that is not trusted
			  */
	uint64_t doubt_from, doubt_to; /* between these times code was changed from which rules were learnt, or the
					  kernel part had yet to be told. doubt_to is UINT64_MAX while it has */
	bool untold;                   /* so it must be published again */
	uint64_t told_windows;         /* when it was last published for that reason */
};

/* A sample that waits for its snapshot, or for the walk in task work. */
struct waiting_sample {
	struct sample_event sample; /* its sequence becomes 0 when what it waits for has arrived */
	uint32_t awaits;            /* of SAMPLE_LATE, SAMPLE_RESUMES */
	bool is_parked;             /* its snapshot is: struct analysing */
	uint32_t before;            /* the previous sample with the same sequence: index + 1, or 0 */
};

/* What the kernel part is told: watch_publish.c, watch_files.c. */
struct publishing {
	const struct watch_file *expected;
	uint32_t expected_count;
	uint64_t expected_ns;              /* CPU time that tables of processes which map them took at the start */
	VEC(struct process *) dirty;       /* mappings changed and not published yet; alive at the last drain */
	VEC(struct mapping_entry) entries; /* of the process at hand */
	VEC(uint32_t) files;               /* of the entries: whose tables they need */
	uint32_t unnamed;                  /* of the entries: those of files that the kernel part has not named yet */
	uint64_t publish_ns;               /* for one drain; 0: no limit */
	bool whole_tables;                 /* watch_options */
	bool unpublished;                  /* nothing is published any more */
};

/* What the kernel part sends: watch_records.c. */
struct arriving {
	struct table late; /* sample.sequence → index + 1 into `waiting` of the last with it */
	VEC(struct waiting_sample) waiting;
	VEC(uint32_t) frames; /* of the stack at hand */
	uint64_t newest;      /* the largest time of a record that was read; 0: none was */
	uint64_t watermark;   /* no older record is unread */
	uint64_t drain_until;
	uint32_t records; /* handled; the clock is not read for each one */
};

/* Names of locations. */
struct naming {
	struct frames *names; /* of the locations that were named */
	enum frame_detail detail;
	bool lines; /* watch_options */
	struct namer *namer;
	struct perf_maps *perf_maps;   /* by the index of the ANONYMOUS file + 1 */
	struct perf_maps *jit_maps;    /* the same, of what processes publish otherwise */
	struct kernel_names *kernel;
};

/* What is released: watch_tidy.c. */
struct tidying {
	uint64_t max_memory;    /* bytes that store and names may hold; 0: no limit */
	uint64_t rebuilt_bytes; /* what they held after the store was rebuilt */
	uint32_t next;          /* before a rebuild: the object that is named next */
	bool has_files;         /* there was no time for all files that nobody maps any more */
	uint64_t aged_at, reaped_at;
};

/* Code without rules, and runtimes of unknown versions: watch_learn.c, watch_prove.c. */
struct learning {
	uint64_t begun, learn_ns; /* when it began; CPU time that learning has taken */
	VEC(struct retired_run) retired;
	uint64_t checked;     /* when windows were read again */
	struct table doubted; /* ids of stacks that were cut, + 1 */
	struct table judged;  /* id of a stack through generated code that is trusted → what it says about it */
	bool to_prove;        /* a process may have to be tried again: watched.to_prove */
};

/* Shares of the kernel's tables, and what does not fit into them: watch_full.c. */
struct sharing {
	struct budget code; /* bytes of machine code without tables that are followed */
	bool code_told;
	struct budget checks;    /* CPU time for reading generated code again, and what is published of it, ns */
	struct shares published; /* bytes that are kept of what processes publish */
	uint32_t charged;        /* the user of watch_charge() */
	uint64_t full_since;     /* since when something waits for room in the tables; 0: nothing does */
	uint32_t full_told;      /* of enum tables_kind: a bit each */
};

/* What another process is asked about files: watch_analysis.c. */
struct analysing {
	struct analyser *analyser; /* NULL: there is none, all is done here */
	bool waits;                /* watch_options */
	bool refusal_told;
	bool is_answered;      /* something is, since the last unparking */
	bool finishing;        /* nothing is parked any more */
	struct backlog parked; /* snapshots whose walk ended in code that is being followed */
	uint64_t parked_since; /* the time of the oldest; 0: there is none */
};

/* A process that compiles files of one owner and one file system. */
struct compiler {
	uint64_t device;
	uint32_t owner;
	uint64_t used; /* when it was used last: compiling.uses */
	struct analyser *analyser;
};

/* What other processes are asked about rows: watch_rows.c. */
struct compiling {
	VEC(struct compiler) compilers;
	uint64_t root; /* the device of strata's root directory */
	uint64_t uses;
	double cpu_s;        /* of processes that are gone */
	struct budget spent; /* CPU time, us */
	bool refusal_told;
};

/* What another process is asked about runtimes: watch_runtime.c. */
struct finding {
	struct analyser *analyser; /* NULL: there is none, all is found here */
	struct budget spent;       /* CPU time, ms */
	bool refusal_told;
};

/* Waits under way of which a part was told, by the thread's number; watch_waits.c. */
struct waits_told {
	struct table begun, until; /* CLOCK_MONOTONIC ns */
	uint64_t at;               /* when that was, the last time */
	struct tasks *tasks;       /* made when it is needed */
};

struct watch {
	struct sampler *sampler;
	struct sideband *sideband;
	struct foreign_files *foreign;
	struct processes *processes;
	struct objects *objects;
	struct late_walker *walker;
	struct live_second *live_second; /* made when it is needed */
	bool (*wants)(void *context, const struct sample_event *sample);
	bool (*wants_waiting)(void *context, const struct off_cpu_waiting *waiting);
	bool (*keeps)(void *context, const struct sample_event *sample);
	void *wants_context;
	struct source_files *sources;   /* the source files of samples; NULL: these are not wanted */
	struct owners *owners;     /* of the cgroups of samples; NULL: these are not kept */
	struct verifier *verifier; /* NULL: not asked for */
	struct store store;
	struct watch_counts counts;
	struct publishing publishing;
	struct arriving arriving;
	struct naming naming;
	struct tidying tidying;
	struct learning learning;
	struct sharing sharing;
	struct compiling compiling;
	struct analysing analysing;
	struct finding finding;
	struct waits_told told;
	VEC(char *) remarks; /* what is to be said at the end, a line each */
	bool tells_tasks;    /* watch_options.tasks */
	bool everything;     /* every process may be sampled, else the wanted ones */
	bool behind;         /* the last drain left tables or records for the next one */
	uint64_t drained_at; /* every older side-band record is known */
	int err;             /* of a callback */
};

/* CLOCK_MONOTONIC, ns. */
uint64_t watch_now(void);

/* What is kept for a process; NULL when memory is short. */
struct watched *watched_of(struct watch *watch, struct process *process);

/* Where the data of a process's runtime are, which contain its state and its lock. False: it has no runtime. */
bool watch_runtime_data(const struct watched *watched, uint64_t *start, uint64_t *end);

/*
 * Notes in a sample whether its runtime has one lock for all threads; and, for a thread that waits on a futex, whether
 * the futex is in the runtime's own data. `process` may be NULL.
 */
void watch_note_lock(struct watch *watch, struct process *process, struct sample_event *sample);

/* Takes off the weight of a wait that has ended what watch_tell_waits() has told of it. */
void watch_cut_wait(struct watch *watch, struct sample_event *sample);
void waits_told_deinit(struct waits_told *told);

/* Handles the side-band's records. 0 or -ENOMEM. */
int watch_drain_sideband(struct watch *watch);

/* Memory without a file, or a file that is no program: code there was generated. */
bool watch_is_generated(const struct object *object);

/* Adds the rows that a walk on the host needs (late_walker_fills()). `context` is the watch. */
void watch_fill(void *context, uint32_t page);

/* Describes the mappings that a process had at a time in watch->publishing.entries, sorted. UINT64_MAX - 1 for now. 0
 * or -ENOMEM.
 */
int watch_describe(struct watch *watch, struct process *process, uint64_t time);

/* Reads a process's mappings again, because an address of it is unknown. True when that may have helped. */
bool watch_rescan(struct watch *watch, struct process *process, uint64_t now);

/*
 * Was it published a moment ago? Publishing many mappings takes time and space, so a process that keeps changing them
 * has to wait.
 */
bool watch_published_lately(const struct watched *watched, uint64_t now);

/*
 * Counts mappings that are published and take new space: what they replace holds its space for TABLES_GRACE_NS. So a
 * process that goes on changing its mappings publishes some 8,192 a second, and twice that in the first one.
 */
void watch_count_published(struct watched *watched, uint32_t mappings, uint64_t now);

/* Tells the kernel the process's mappings as they are known now. 0 or -ENOMEM. */
int watch_publish(struct watch *watch, struct process *process);

/* Publishes a process at the next chance, even if its mappings have not changed. */
void watch_publish_again(struct watch *watch, struct process *process);

/* What is added to the kernel's tables from now on is charged to this process. */
void watch_charge(struct watch *watch, const struct process *process);

/* The real user of a process. */
uint32_t watch_user(const struct process *process);

/* May this much machine code be followed for the user of the last watch_charge()? */
bool watch_may_follow(struct watch *watch, uint64_t bytes);

/* watch.analysing. `waits`: watch_options. */
void watch_analysis_init(struct watch *watch, bool waits);
void watch_analysis_deinit(struct watch *watch);

/* watch.finding. To be called once there are objects, and before any is asked for. */
void watch_runtime_init(struct watch *watch);
void watch_runtime_deinit(struct watch *watch);

/* struct object_finder.find. `context` is the watch. */
int watch_find_in_runtime(void *context, struct object *object, const struct process *process,
			  enum runtime_question question, struct analysis *ret);

/* Reads the ring ahead, while something takes a while. `context` is the watch. */
void watch_relieve(void *context);

/* Adds the remark `over-budget`: `what` of the object's file `undone`, because of a negative errno. */
void watch_note_over_budget(struct watch *watch, const struct object *object, const char *what, const char *undone,
			    int err);

/* Makes naming.namer; NULL when memory is short. */
void watch_names_init(struct watch *watch);

/* Has another process find rows: struct object_compiling.rows, and .failed. `context` is the watch. */
int watch_find_rows(void *context, struct object *object, const void *question, size_t question_size, uint8_t **bytes,
		    size_t *size);
void watch_note_rowless(void *context, struct object *object, int err);

/* watch.compiling. To be called before any file is compiled. */
void watch_rows_init(struct watch *watch);
void watch_rows_deinit(struct watch *watch);
/* CPU time of its processes, in seconds. */
double watch_rows_cpu_s(const struct watch *watch);

/* Has machine code followed by another process: struct object_compiling.follow. `context` is the watch. */
int watch_follow(void *context, struct object *object, const char *name, uint64_t code, const uint8_t **bytes,
		 size_t *size);

/* Did a walk end in code that is being followed? */
bool watch_awaits(const struct watch *watch, const struct process *process, uint64_t time,
		  const struct late_stack *stack);
/* Keeps a snapshot until the next answer. False: there is no room, or no answer is expected any more. */
bool watch_park(struct watch *watch, const struct snapshot_event *snapshot);

/* Takes answers, and handles the samples that waited for them. To be called regularly. 0 or -ENOMEM. */
int watch_poll_analysis(struct watch *watch);
/* The same at the end, after a short while; what is still parked is tallied as it is. 0 or -ENOMEM. */
int watch_finish_analysis(struct watch *watch);

/* Reduces publishing.entries to the allowed number: the rest becomes one entry of MAPPING_TABLE_FULL. */
void watch_shorten(struct watch *watch);

/* Something did not fit into the tables; something of this process, if it is not NULL. */
void watch_note_full(struct watch *watch, struct watched *watched);

/* Adds a remark about the user with the largest share, and from time to time tries again. To be called regularly. */
void watch_retry_full(struct watch *watch, uint64_t now);

/* The kernel knows nothing about the process any more: its files may be closed. */
void watch_unpin(struct watch *watch, struct watched *watched);

/*
 * Releases what is not needed any more: files that nobody maps, ids that nobody names. Keeps the store and its names
 * within their limit. 0 or -ENOMEM.
 */
int watch_tidy(struct watch *watch);

#define CLOSING_NS 2000000ull /* in each turn: a new program, and its file, may be gone soon */

/*
 * Part of watch_tidy(): closes files that nobody has mapped for a while, for `ns`, but at least one file. Sets
 * tidying.has_files. 0 or -ENOMEM.
 */
int watch_forget_files(struct watch *watch, uint64_t ns);

/* Names the sampled locations of an object (struct location.object). 0 or -ENOMEM. */
int watch_name(struct watch *watch, uint32_t object);

/* Forgets names that no location in the store uses any more. 0 or -ENOMEM. */
int watch_forget_names(struct watch *watch);

/* Names the sampled locations of a file that is about to be forgotten. 0 or -ENOMEM. */
int watch_name_file(struct watch *watch, const struct mapped_file *file);

/* What read_code() of a struct memory needs: the instructions that a process had at a time. */
struct code_then {
	struct watch *watch;
	const struct process *process;
	uint64_t time;
};
int watch_read_code(void *context, void *dst, size_t size, uint64_t address);
/* As much of it as is in one mapping: how many bytes. */
size_t watch_read_some(struct code_then *then, uint64_t address, uint8_t *ret, size_t size);

/*
 * Learns a rule for the place where a late walk ended without one (watch_learn.c). True if there is one now: walk
 * again.
 */
bool watch_learn(struct watch *watch, struct process *process, uint64_t time, const struct late_stack *stack);

/*
 * Does the code of a window run in the frame of the function that has entered it (watch_entry.c)? Looks from where a
 * walk has ended. If so the window has one rule for all of its code, from when the process is published again.
 */
bool watch_find_entry(struct code_then *then, const struct native_walk *at, struct window *window);

/*
 * One rule holds for more than a window, whatever code is there: the window becomes as large as that range is in its
 * mapping, and other windows in it go. So code of any size takes as much of the tables as one window. `address`: in the
 * window, where the rule is in force. The window is no longer valid then.
 */
void watch_widen_window(struct watch *watch, struct process *process, struct window *window, uint64_t address,
			const struct rule_range *range);

/* The kernel part is told soon what is known of the generated code of a process. */
void watch_tell_soon(struct process *process);

/* The window of generated code that an address lies in; NULL: none. Valid until the next change of the windows. */
struct window *watch_window_at(const struct process *process, uint64_t address);

/*
 * Makes a window for generated code that is not trusted to keep frame pointers, or whose rules are published. True if
 * there is a new one: then describe the process again.
 */
bool watch_open_window(struct watch *watch, struct process *process, uint64_t address, uint64_t time);

/*
 * What is walked by frame pointers says whether generated code keeps them. If it does not, it is no longer trusted, and
 * the kernel part is told. A stack that the kernel part walked, the first time that it comes; a sample, after its
 * stack: 0 or -ENOMEM. A copy that was walked, and did not reach the outermost frame of the thread. True: describe the
 * process again.
 */
int watch_judge_stack(struct watch *watch, struct process *process, const struct stack_event *event,
		      const uint64_t *frames);
int watch_judge_sample(struct watch *watch, const struct sample_event *sample);
bool watch_judge_late(struct watch *watch, struct process *process, uint64_t time, const struct late_stack *stack);
/* The same for a stack that is walked once and never again (watch_live_walk()): it decides alone. */
bool watch_judge_live(struct watch *watch, struct process *process, uint64_t time, const struct late_stack *stack);
/* The process runs another program. */
void watch_forget_trial(struct watched *watched);

/* Adds to publishing.entries what a mapping of generated code is. 0 or -ENOMEM. */
int watch_describe_generated(struct watch *watch, struct process *process, const struct process_mapping *mapping);

/* Rules were added to a window: notes a digest of the code from which they come. */
void watch_window_learnt(const struct process *process, struct window *window);

/*
 * When a stack was walked, was the generated code still that from which the rules were learnt? It is read again, if it
 * was not read since; windows whose code has changed are dropped. *doubted: it may have been other code, and *ret of
 * the frames can be trusted; how the walk ended cannot, even if these are all of them. 0 or -ENOMEM.
 */
int watch_check_stack(struct watch *watch, struct process *process, const uint64_t *frames, uint32_t count,
		      uint64_t time, uint32_t *ret, bool *doubted);
/* The kernel part knows what was untold, and which windows were dropped: it does not walk by those any more. */
void watch_published_anew(struct watched *watched);
/* The same before more rules are added to a window. The window may be dropped. 0 or -ENOMEM. */
int watch_check_window(struct watch *watch, struct process *process, struct window *window);
/* From now on samples with this stack are counted as cut. 0 or -ENOMEM. */
int watch_doubt(struct watch *watch, uint64_t stack);
/* Reads the code of all windows again, now and then. 0 or -ENOMEM. */
int watch_check_all_windows(struct watch *watch, uint64_t now);

/* Reads again what a process publishes about its generated code, if it is time. True if some of it is gone. */
bool watch_read_published(struct watch *watch, struct process *process);
/*
 * Adds to *ret the rules that it has published around an address. *whole: they are valid whatever code is there. 0,
 * -ENOENT or -ENOMEM.
 */
int watch_published_rules(const struct process *process, uint64_t address, rule_ranges *ret, bool *whole);
void watch_forget_published(struct watched *watched);

/* Counts CPU time from `begin` on (CLOCK_THREAD_CPUTIME_ID) for the process's user. False: beyond the user's share. */
bool watch_spend(struct watch *watch, struct process *process, uint64_t begin);
/* Is something of the share left? */
bool watch_may_spend(struct watch *watch, struct process *process);

/* Drops all windows of a process. */
void watch_drop_windows(struct watch *watch, struct watched *watched);
/* Frees the places in the tables of windows that were dropped long enough ago. */
void watch_collect_windows(struct watch *watch, uint64_t now);

/* Adds to the kernel's tables what was learnt about a file in earlier runs; its table was just compiled. */
void watch_recall(struct watch *watch, struct object *object);

/* Saves what was learnt about a file for later runs. */
void watch_keep_learnt(struct object *object);

/* Reads what was kept; false when it makes no sense. *ret is to be freed. For tests and fuzzing. */
#define LEARNT_RANGE_MAX (1u << 20) /* bytes */
bool watch_learnt_decode(const uint8_t *bytes, size_t size, uint64_t *digest, rule_ranges *ret);

/* Are this process's samples wanted? */
bool watch_is_wanted(const struct watch *watch, const struct process *process);

/* If the process has a runtime with a second stack mapped, tells the kernel where. */
void watch_find_runtime(struct watch *watch, struct process *process);

/*
 * Has the process proved that a runtime of an unknown version may be used? Tried a few times a second; if it fails for
 * a while, the runtime is refused. A remark says what happened.
 */
bool watch_prove(struct watch *watch, struct process *process, struct object *object, uint64_t bias);
/* Tries again the processes whose threads ran nothing before. */
void watch_prove_again(struct watch *watch);
/* Asks processes where they have their tasks, when it is due. */
void watch_find_tasks(struct watch *watch);
/* A function was met: if it is an event loop's, the process is asked at once. */
void watch_note_loop(struct watch *watch, const struct code_event *event);
/* Adds to watched->facts, which were filled in anew, where the process has its tasks. */
void watch_tell_tasks(struct watch *watch, struct watched *watched);
/* Notes an interpreter with an unknown layout. */
void watch_note_unknown(struct watch *watch, struct object *object);
/* Does the kernel part know every file of the process? Then it finds its mappings by itself. */
bool watch_finds(const struct watch *watch, const struct process *process);

/* Tells the kernel part about a file, under the keys by which it knows it. */
void watch_tell_file(struct watch *watch, struct object *object);

/* The kernel part forgets the file. A walk may use its tables until the grace period is over. */
void watch_forget_keys(struct watch *watch, struct object *object);

/* Voids what the kernel part has found by itself, if code of the process was replaced by other code. */
void watch_note_replaced(struct watch *watch, const struct process *process);

/* Counts a sample; whatever names source files goes this way. 0 or -ENOMEM. */
int watch_keep_sample(struct watch *watch, const struct sample_event *sample);

/* The process of a record; read from /proc if it is not known. NULL if it is gone or memory is short. */
struct process *watch_process(struct watch *watch, int tgid, uint64_t time);

/* Brings the kernel up to date about a process whose mappings have changed. 0 or -ENOMEM. */
int watch_refresh(struct watch *watch, struct process *process);

/* Keeps a native stack by its id. 0 or -ENOMEM. */
int watch_store_native(struct watch *watch, uint64_t id, struct process *process, const uint64_t *frames,
		       uint32_t count, uint64_t time);

/* Takes one record of the ring. 0 or -ENOMEM. */
int watch_take_record(struct watch *watch, const struct event_header *header, size_t size);

/*
 * Tallies the samples from before `time` whose second part has not arrived and will not; if that was their stack, it is
 * lost to `missing`. 0 or -ENOMEM.
 */
int watch_release_stale(struct watch *watch, uint64_t time, enum loss missing);

/*
 * Notes how far the ring was read: watch->arriving.watermark. `emptied`: everything that was in it at `begun` was read.
 * Otherwise the time of the last record counts, because strata may have been stopped for longer than past mappings are
 * kept.
 */
void watch_advance_watermark(struct watch *watch, uint64_t begun, bool emptied);

/*
 * Nothing arrives any more: samples that were chosen for verification and whose copy did not arrive count as `missing`.
 */
void watch_count_unverified(struct watch *watch, enum loss missing);

#endif
