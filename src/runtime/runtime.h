/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * runtime: what strata knows about the implementation of a language. Each has its own folder, src/runtime/NAME/. Other
 * code uses it through `struct runtime`, and the kernel part through the lists that mk/runtimes.mk makes of the folders
 * (abi/runtime.h). Code outside the folder does not include its headers (tests/style/arrows.t lists the exceptions and
 * their reasons).
 *
 * A runtime keeps its frames in one of two ways, or in both.
 *
 *   A second stack   It interprets, and keeps its frames apart from the native ones: CPython (Ruby, PHP, Perl). Its
 *                    walk in the kernel (NAME/bpf/walk.h, by bpf/second_stack.h) records functions and positions in
 *                    them. User space puts them in place of the native frames of the interpreter's loop (merge.h).
 *
 *   Native frames    Its compiled code has frames on the native stack, or on several: Go, SBCL (V8, HotSpot). They are
 *                    unwound by rules from its `source`, and by its own steps in the native walk (NAME/bpf/step.h,
 *                    called by bpf/native.h).
 *
 *   a file is mapped ─► recognise ─► a process has it ─► attach ─► the kernel walks ─► decode, line ─► frames
 *                        (prove)         (aid)                         └─ roles ─► merge
 *
 * docs/RECIPES.md says how to add one. All bytes of files and processes are hostile: a runtime bounds the time and
 * memory that it spends on reading them. Its functions are called by one thread. Errors are negative errnos; after
 * -ENOMEM the call may be repeated. A runtime without a second stack has NULL for `recognise` and all other members
 * that concern it. Otherwise all of these are set, except those that are documented as possibly NULL.
 */
#ifndef STRATA_RUNTIME_RUNTIME_H
#define STRATA_RUNTIME_RUNTIME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "abi/events.h"
#include "abi/runtime.h"
#include "abi/runtime_id.h"
#include "base/cache.h"
#include "base/diag.h"
#include "base/vec.h"
#include "elf/elf_file.h"
#include "proc/memory.h"
#include "unwind/source.h"

/* The role of a native frame in the merge with the second stack. */
enum runtime_role {
	ROLE_NATIVE,
	ROLE_LOOP,    /* one run of the interpreter's loop */
	ROLE_HANDLER, /* a function that executes one instruction: called by the loop, and part of the same run */
	ROLE_SWITCH,  /* switches from one coroutine's native stack to another's */
	/*
	 * Starts such a stack. Before the switch it is also on the stack of the coroutine that starts the other one;
	 * then no loop follows inwards.
	 */
	ROLE_START
};

struct runtime_range {
	uint64_t start, end; /* vaddrs, end exclusive */
	enum runtime_role role;
};

struct runtime;

/* What recognise() has found in a file. Release it with runtime_file_deinit(). */
struct runtime_file {
	const struct runtime *runtime; /* NULL: the file contains no runtime with a second stack */
	void *facts;                   /* the runtime's own */
	struct runtime_layout layout;  /* for the kernel */
	uint64_t state;                /* a vaddr in its own data; 0: not known */
	uint16_t version;              /* major << 8 | minor */
	bool unknown;  /* the version is not supported: nothing is known, except perhaps where its loop is */
	bool to_prove; /* not used until a process has proved that the facts in the file are true */
	bool needs_aid;
	bool has_lock;     /* it has one lock for all threads: strata tells who holds it and who waits for it */
	bool tells_holder; /* a walk finds out whether its thread holds that lock (SAMPLE_CURRENT) */
};

/* What attach() needs from another file of the process, its libc. Defined by the runtime. */
struct runtime_aid {
	uint64_t words[2];
};

/* The result of asking a process: verified, refuted for now, or neither, because nothing runs yet. */
struct runtime_proof {
	bool verified, refuted;
	char result[160]; /* in words */
};

/* A variable of a frame. The value is written as in the language, and cut if it is long; UTF-8, malloc'd. */
struct runtime_local {
	char *name, *value;
};

#define RUNTIME_UNREAD "?" /* a value that could not be read */

struct runtime_locals {
	bool known; /* else the frame's variables could not be read, or the effort was used up */
	VEC(struct runtime_local) list;
};

void runtime_locals_deinit(struct runtime_locals *locals);

/* One function in a chain of functions that wait for each other. */
struct runtime_task_frame {
	char *function, *file; /* malloc'd UTF-8; a file of NULL: `function` is a mark, and says what is missing */
	int line;
};

enum runtime_task_state {
	RUNTIME_TASK_READY,   /* it waits for nothing: the loop will run it */
	RUNTIME_TASK_RUNNING, /* it is the loop's current task */
	RUNTIME_TASK_WAITING
};

/*
 * A task as in asyncio: a chain of functions that an event loop runs in turn with others. Strings are UTF-8, malloc'd.
 */
struct runtime_task {
	uint64_t id;
	char *name; /* NULL: it has none */
	enum runtime_task_state state;
	const char *waits_for;                 /* the kind: "sleep", "lock", ...; NULL: it does not wait */
	char *detail;                          /* what it waits for, in words; NULL: not known in more detail */
	int fd;                                /* the descriptor that it waits for; -1: none is known */
	uint64_t awaits;                       /* the task that it waits for; 0: none */
	VEC(uint64_t) awaited_by;              /* tasks that wait for it: their ids */
	VEC(struct runtime_task_frame) frames; /* innermost first */
	uint32_t thread; /* id of the thread that runs it, in the process's own pid namespace; 0: not known, or none */
	bool consistent; /* the state of all tasks with this flag is from one moment */
};

struct runtime_tasks {
	bool known; /* else they could not be found */
	VEC(struct runtime_task) list;
	VEC(const char *) limits; /* each limit that was reached, in words; static */
};

void runtime_task_deinit(struct runtime_task *task);
void runtime_tasks_deinit(struct runtime_tasks *tasks);

/* The effort that may still be spent on reading a process. */
struct runtime_effort {
	uint64_t until; /* CLOCK_MONOTONIC, ns */
	uint64_t reads; /* of memory */
};

struct runtime {
	const char *name;     /* as its folder; also in --stats (NAME_samples) and in pprof ([NAME]) */
	const char *language; /* as people write it */

	/* --- native frames; NULL: it has none --- */
	const struct unwind_source *source;

	/* --- files --- */

	/*
	 * Does this file contain the runtime? Decided by content. Must be quick, some tens of microseconds for a file
	 * without it, because it is called for each mapped file. 1: yes, and *ret is filled in, except `runtime`. 0:
	 * no. Negative, with a diag: yes, but it is not supported; *ret may then have what roles() needs. `cache`,
	 * which may be NULL, stores results that are slow to compute; it belongs to one version of the analyser
	 * (mk/build.mk). If another process is to compute them (CACHE_ELSEWHERE), those that are not in it are wanted
	 * (cache_want()), and left out; this also holds for roles() and aid(). The caller then calls again.
	 */
	int (*recognise)(const struct elf_file *elf, struct cache *cache, struct runtime_file *ret, struct diag *diag);
	void (*forget)(void *facts);

	/*
	 * The address ranges of the loop: malloc'd, without overlaps. Slow; called once per file, before the first
	 * merge. -EINPROGRESS: they are wanted.
	 */
	int (*roles)(const struct runtime_file *file, const struct elf_file *elf, struct cache *cache,
		     struct runtime_range **ret, size_t *count, struct diag *diag);

	/*
	 * The role of a function in any other file: for libraries whose coroutines change native stacks. NULL: there
	 * are none.
	 */
	enum runtime_role (*function_role)(const char *file, const char *symbol);

	/*
	 * Could this file contain something that attach() also needs? Quick. `own`: the runtime is in this file. aid()
	 * reads it, which is slow. NULL: nothing is needed.
	 */
	bool (*has_aid)(const struct elf_file *elf, bool own);
	bool (*aid)(const struct elf_file *elf, struct cache *cache, struct runtime_aid *ret);

	/* Leaves in the cache where the probes of its functions are, if it is in this file. Slow. NULL: it has none. */
	void (*find_probes)(const struct elf_file *elf, struct cache *cache);

	/* What the process publishes, as prove() needs it. NULL, like prove(): nothing has to be proved. */
	const char *published;
	bool (*prove)(const struct runtime_file *file, uint16_t machine, int pid, uint64_t bias,
		      struct runtime_proof *ret);

	/* --- processes --- */

	/*
	 * Fills in what the walk needs to know about a process that has the file mapped `bias` above its vaddrs, except
	 * `runtime`, `layout`, `since`, `tgid` and `check`. `aid` is NULL if it is not known. To detach a process, its
	 * entry is removed from the kernel's map: the runtime itself keeps nothing about it.
	 */
	void (*attach)(const struct runtime_file *file, uint64_t bias, const struct runtime_aid *aid,
		       struct runtime_process *ret);

	/* --- functions, as the walk has sent them --- */

	/*
	 * The names as UTF-8, malloc'd; NULL if they are not available. `hidden`: the function is not in any source,
	 * and is not shown.
	 */
	void (*decode)(const struct code_event *event, char **name, char **file, bool *hidden);

	/* The line of a position (struct second_frame). `table` is what was sent; a damaged table gives some line. */
	int (*line)(uint16_t version, const uint8_t *table, size_t size, int firstlineno, int position);

	/* --- frames of a thread that does not run --- */

	/*
	 * The variables of the frame at an address that the walk has noted (walk_note_frame() of bpf/shim.h). Other
	 * threads may change their values meanwhile. 0 or -ENOMEM; *ret is filled in in any case. NULL: not supported.
	 */
	int (*locals)(const struct runtime_file *file, const struct memory *memory, uint64_t frame,
		      struct runtime_effort *effort, struct runtime_locals *ret);

	/*
	 * The tasks of a process that has the file mapped `bias` above its vaddrs. They may change meanwhile. So all
	 * are read twice: those that are the same in both readings had this state at the moment between them. 0 or
	 * -ENOMEM; *ret is filled in in any case. NULL: the runtime has no tasks.
	 */
	int (*tasks)(const struct runtime_file *file, const struct memory *memory, uint64_t bias,
		     struct runtime_effort *effort, struct runtime_tasks *ret);

	/*
	 * Fills in the `tasks` of what attach() has filled in: from then on walks tell the task that a thread runs.
	 * False: the process has no tasks, or none yet, or they cannot be found. NULL: the runtime has no tasks.
	 */
	bool (*find_tasks)(const struct runtime_file *file, const struct memory *memory, uint64_t bias,
			   struct runtime_effort *effort, struct runtime_process *ret);
};

/* The runtimes that are built in, in the order of their numbers: runtimes()[id - 1]. */
const struct runtime *const *runtimes(size_t *count);

/* By number; NULL when there is none. */
const struct runtime *runtime_of(unsigned int id);
enum runtime_id runtime_id(const struct runtime *runtime);

/*
 * As recognise(), for all runtimes with a second stack. The first one that recognises the file is taken. *ret is filled
 * in in any case, and must be released.
 */
int runtime_recognise(const struct elf_file *elf, struct cache *cache, struct runtime_file *ret, struct diag *diag);
void runtime_file_deinit(struct runtime_file *file);

/*
 * What another process is asked about a file: what recognise(), roles() or aid() computes; or where the probes of its
 * functions are.
 */
enum runtime_question { RUNTIME_RECOGNISE, RUNTIME_ROLES, RUNTIME_AID, RUNTIME_PROBES };

/* Computes that for all runtimes, and leaves what was slow in `cache`, which has CACHE_FOR_OTHERS. */
void runtime_answer(const struct elf_file *elf, enum runtime_question question, struct cache *cache);

/* Attaches, and fills in the runtime's number. */
void runtime_attach(const struct runtime_file *file, uint64_t bias, const struct runtime_aid *aid,
		    struct runtime_process *ret);

/* The role of a function, by the first runtime that knows it. */
enum runtime_role runtime_function_role(const char *file, const char *symbol);

#endif
