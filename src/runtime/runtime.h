/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * runtime: what strata knows of a language's implementation, in one folder each: src/runtime/NAME/. Everybody else
 * reaches it through `struct runtime`, and the kernel part through the lists that mk/runtimes.mk makes of the folders
 * (abi/runtime.h). Nobody outside includes a runtime's own headers (tests/style/arrows.t, which lists who does and
 * why).
 *
 * A runtime has frames of its own in one of two ways, or in both.
 *
 *   A second stack   It interprets, and keeps its frames apart: CPython (Ruby, PHP, Perl). Its walk in the kernel
 *                    (NAME/bpf/walk.h, by bpf/second_stack.h) records functions and positions in them. User space
 * merges them with the native stack, from the root inwards, in place of the interpreter's loop (merge.h). Native frames
 * Its compiled code has frames on the native stack, or on several: Go, SBCL (V8, HotSpot). They are unwound by rules
 * that its `source` makes, and by steps of the native walk (NAME/bpf/step.h, by bpf/native.h).
 *
 *   a file is mapped ─► recognise ─► a process has it ─► attach ─► the kernel walks ─► decode, line ─► frames
 *                        (prove)         (aid)                         └─ roles ─► merge
 *
 * docs/RECIPES.md says how one is added. All bytes of files and processes are hostile: a runtime bounds what it reads,
 * in time and memory too. Functions are called by one thread. Errors are negative errnos; -ENOMEM means that it may be
 * tried again. Members of a second stack are all there, or `recognise` is NULL and none is, but those said to be NULL.
 */
#ifndef STRATA_RUNTIME_RUNTIME_H
#define STRATA_RUNTIME_RUNTIME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "abi/events.h"
#include "abi/runtime.h"
#include "base/cache.h"
#include "base/diag.h"
#include "base/vec.h"
#include "elf/elf_file.h"
#include "proc/memory.h"
#include "unwind/source.h"

/* What a native frame is to the merge with the second stack. */
enum runtime_role {
	ROLE_NATIVE,
	ROLE_LOOP,    /* one run of the interpreter's loop */
	ROLE_HANDLER, /* an instruction of its own function: called by the loop, and one run with it */
	ROLE_SWITCH,  /* switches from one coroutine's native stack to another's */
	/* Starts such a stack; in the one that starts it, too, before the switch: it then has no loop inwards. */
	ROLE_START
};

struct runtime_range {
	uint64_t start, end; /* vaddrs, end exclusive */
	enum runtime_role role;
};

struct runtime;

/* What recognise() has found out of a file. Given back by runtime_file_deinit(). */
struct runtime_file {
	const struct runtime *runtime; /* NULL: none with a second stack is in the file */
	void *facts;                   /* the runtime's own */
	struct runtime_layout layout;  /* for the kernel */
	uint64_t state;                /* vaddr of something in its own data; 0: not known */
	uint16_t version;              /* major << 8 | minor */
	bool unknown;  /* a version that is not understood: there are no facts but where its loop is, perhaps */
	bool to_prove; /* is not used before a process has shown that what it says of itself is true */
	bool needs_aid;
	bool has_lock; /* one for all threads: who runs, and who waits for it */
};

/* What another file of the process, its libc, tells that attach() needs: the runtime's own. */
struct runtime_aid {
	uint64_t words[2];
};

/* What came of asking a process: verified, refuted for now, or neither: nothing runs yet. */
struct runtime_proof {
	bool verified, refuted;
	char result[160]; /* in words */
};

/* A variable of a frame: its value as the language writes it, and cut where it is long; UTF-8, malloc'd. */
struct runtime_local {
	char *name, *value;
};

#define RUNTIME_UNREAD "?" /* a value that could not be read */

struct runtime_locals {
	bool known; /* else the frame's variables could not be read, or there was no effort left */
	VEC(struct runtime_local) list;
};

void runtime_locals_deinit(struct runtime_locals *locals);

/* A function in the chain of those that wait for each other. */
struct runtime_task_frame {
	char *function, *file; /* malloc'd UTF-8; a file of NULL: `function` is a mark, and says what is missing */
	int line;
};

enum runtime_task_state {
	RUNTIME_TASK_READY,   /* it waits for nothing: the loop is to run it */
	RUNTIME_TASK_RUNNING, /* it is the loop's current task */
	RUNTIME_TASK_WAITING
};

/* A task of asyncio's kind: functions that a loop runs in turns. Strings are UTF-8, malloc'd. */
struct runtime_task {
	uint64_t id;
	char *name; /* NULL: it has none */
	enum runtime_task_state state;
	const char *waits_for;                 /* the kind: "sleep", "lock", ...; NULL: it does not wait */
	char *detail;                          /* what it waits for, in words; NULL: no more is known */
	int fd;                                /* the descriptor that it waits for; -1: none is known */
	uint64_t awaits;                       /* the task that it waits for; 0: none */
	VEC(uint64_t) awaited_by;              /* tasks that wait for it: their ids */
	VEC(struct runtime_task_frame) frames; /* innermost first */
	uint32_t thread; /* that runs it, as the process counts (its own pid namespace); 0: not known, or none does */
	bool consistent; /* it and all others that are so were so at one moment */
};

struct runtime_tasks {
	bool known; /* else they could not be found */
	VEC(struct runtime_task) list;
	VEC(const char *) limits; /* each limit that was met, in words; static */
};

void runtime_task_deinit(struct runtime_task *task);
void runtime_tasks_deinit(struct runtime_tasks *tasks);

/* What may still be spent on reading a process. */
struct runtime_effort {
	uint64_t until; /* CLOCK_MONOTONIC, ns */
	uint64_t reads; /* of memory */
};

struct runtime {
	const char
		*name; /* as its folder; the key of --stats is NAME_samples, and what pprof calls its frames [NAME] */
	const char *language; /* as people write it */

	/* --- native frames; NULL: it has none --- */
	const struct unwind_source *source;

	/* --- files --- */

	/*
	 * Is the runtime in this file? By content; quickly, as every file that is mapped is asked: some tens of
	 * microseconds for one that has none. 1: *ret is filled in, but for `runtime`. 0: no. Negative, with a diag: it
	 * is, and is not understood; *ret may then have what roles() needs. `cache`, which may be NULL, keeps what is
	 * slow to find out; it is for one analyser's version (mk/build.mk).
	 */
	int (*recognise)(const struct elf_file *elf, struct cache *cache, struct runtime_file *ret, struct diag *diag);
	void (*forget)(void *facts);

	/* Where the loop is: malloc'd, without overlaps. Slow; called once for a file, before the first merge. */
	int (*roles)(const struct runtime_file *file, const struct elf_file *elf, struct cache *cache,
		     struct runtime_range **ret, size_t *count, struct diag *diag);

	/* The role of a function of any other file: coroutines that change native stacks. NULL: there are none. */
	enum runtime_role (*function_role)(const char *file, const char *symbol);

	/*
	 * May a file tell what attach() needs beside? `own`: the runtime is in it. Quick. And what it tells: slow.
	 * NULL: nothing is needed.
	 */
	bool (*has_aid)(const struct elf_file *elf, bool own);
	bool (*aid)(const struct elf_file *elf, struct cache *cache, struct runtime_aid *ret);

	/* What is published in the process, by which prove() goes; NULL, as prove(): nothing is to be proved. */
	const char *published;
	bool (*prove)(const struct runtime_file *file, uint16_t machine, int pid, uint64_t bias,
		      struct runtime_proof *ret);

	/* --- processes --- */

	/*
	 * What the walk is to know of a process that has the file mapped `bias` above its vaddrs; but for `runtime`,
	 * `layout`, `since`, `tgid` and `check`. `aid` is NULL where it is not known. A process is detached by taking
	 * this back from the kernel: the runtime keeps nothing of it.
	 */
	void (*attach)(const struct runtime_file *file, uint64_t bias, const struct runtime_aid *aid,
		       struct runtime_process *ret);

	/* --- functions, as the walk has sent them --- */

	/* Names as UTF-8, malloc'd; NULL where they cannot be had. `hidden`: nobody wrote it, and it is not shown. */
	void (*decode)(const struct code_event *event, char **name, char **file, bool *hidden);

	/* The line of a position (struct second_frame). `table` is what was sent; damaged ones give some line. */
	int (*line)(uint16_t version, const uint8_t *table, size_t size, int firstlineno, int position);

	/* --- frames of a thread that does not run --- */

	/*
	 * The variables of the frame at an address that the walk has noted (walk_note_frame() of bpf/shim.h). Other
	 * threads may change their values meanwhile. 0 or -ENOMEM; *ret is filled in in any case. NULL: nobody knows.
	 */
	int (*locals)(const struct runtime_file *file, const struct memory *memory, uint64_t frame,
		      struct runtime_effort *effort, struct runtime_locals *ret);

	/*
	 * The tasks of a process that has the file mapped `bias` above its vaddrs. They may change meanwhile: all
	 * are read twice, and those that are the same in both readings are of the moment between them. 0 or -ENOMEM;
	 * *ret is filled in in any case. NULL: there are none.
	 */
	int (*tasks)(const struct runtime_file *file, const struct memory *memory, uint64_t bias,
		     struct runtime_effort *effort, struct runtime_tasks *ret);
};

/* Those that are built in, in the order of their numbers: runtimes()[id - 1]. */
const struct runtime *const *runtimes(size_t *count);

/* By number; NULL when there is none. */
const struct runtime *runtime_of(unsigned int id);
enum runtime_id runtime_id(const struct runtime *runtime);

/*
 * Asks all that have a second stack. As recognise(); a file has one at most: the first that says so. *ret is filled in
 * in any case, and is to be given back.
 */
int runtime_recognise(const struct elf_file *elf, struct cache *cache, struct runtime_file *ret, struct diag *diag);
void runtime_file_deinit(struct runtime_file *file);

/* Attaches, and fills in the runtime's number. */
void runtime_attach(const struct runtime_file *file, uint64_t bias, const struct runtime_aid *aid,
		    struct runtime_process *ret);

/* The role of a function, as any runtime says. */
enum runtime_role runtime_function_role(const char *file, const char *symbol);

#endif
