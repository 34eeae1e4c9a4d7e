/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * objects: what strata knows about each mapped file: its segments, whether it contains a runtime, its unwind
 * table in the kernel, and in the end its symbols. Each fact is found once, when first needed. A file stays open until
 * objects_drop(), when no process maps it any more, so that a file deleted or replaced meanwhile still gives its
 * symbols. Not thread-safe.
 */
#ifndef STRATA_ENGINE_OBJECTS_H
#define STRATA_ENGINE_OBJECTS_H

#include <time.h>

#include "abi/files.h"
#include "dwarf/debug_info.h"
#include "elf/symbols.h"
#include "engine/analyser.h"
#include "kernel/tables.h"
#include "proc/processes.h"
#include "runtime/runtime.h"
#include "unwind/function_starts.h"
#include "unwind/way_out.h"

enum object_table {
	OBJECT_TABLE_UNKNOWN, /* not compiled yet */
	OBJECT_TABLE_READY,
	OBJECT_TABLE_NONE, /* the file could not be read, or has no text */
	OBJECT_TABLE_FULL  /* it does not fit into a share, or is over a limit: objects_retry_full() */
};

/* What was learnt of code without rules (engine/watch_learn.c). */
struct learnt {
	rule_ranges ranges; /* vaddrs, in the order in which they were learnt */
	uint32_t tries;
	bool complete; /* nothing more will be learnt */
	bool changed;  /* since it was saved */
};

/* A key by which the BPF part knows a file, and the id under which it was sent. */
struct object_key {
	struct file_key key;
	uint64_t id;
	bool told; /* the BPF part was told about the file */
};

/* What another process was asked about it (engine/watch_analysis.c). */
struct object_analysis {
	uint64_t asked; /* the question's id; 0: none is under way */
	unsigned int tries;
	bool failed; /* it cannot tell */
	char *name;     /* what the last answer is about: derived_name(); NULL: there is none */
	uint8_t *bytes; /* it */
	size_t size;
};

struct object {
	const struct mapped_file *file;
	struct cache *cache;          /* the objects' */
	const struct object_finder *finder; /* the objects' */
	struct file_rows_keeper *keeper;    /* the objects' */
	struct foreign_file *content; /* NULL: not open */
	bool opened;                  /* opening was tried */
	bool readable;                /* an ELF file */
	bool unanswered;              /* its file system did not answer: nothing is known about it yet */
	const struct process *missed; /* a process through which it could not be opened, perhaps gone; else NULL */
	uint64_t missed_at;           /* CLOCK_MONOTONIC, ns */
	struct elf_segment *segments; /* the executable ones, then the others */
	size_t segment_count;
	struct runtime_file runtime; /* the one in it */
	uint16_t machine;            /* EM_* */
	unsigned int refutals;       /* how many times in a row a process has disproved the layout of the runtime */
	size_t remark;               /* number + 1 of the watch's remark about it; 0: none */
	const struct runtime *aids;  /* the runtime that needs information from this file besides its own; NULL: none */
	bool aid_tried, has_aid;
	struct runtime_aid aid;      /* once object_aid() was called */
	struct runtime_range *roles; /* of its code, once object_find_roles() was called */
	size_t role_count;
	bool roles_tried;
	bool jit_tried;
	uint64_t jit_descriptor; /* vaddr, once object_jit_descriptor() was called; 0: none */
	enum object_table table;
	struct tables_run run;
	uint32_t charged;            /* the user whose process needed its table first */
	bool lacks_parts, too_large; /* some parts found no room; the file never will */
	bool in_parts;    /* its rows are compiled where they are needed: object_fill() */
	bool is_reserved; /* or all rows come at once, after another process has followed its code */
	bool is_rowless;  /* another process failed over its rows: all of its code has the rule UNWIND_OVER_BUDGET */
	struct object_analysis analysis;
	uint32_t pins;            /* processes whose mappings, as the kernel knows them, need `run` */
	uint64_t idle_since;      /* CLOCK_MONOTONIC ns: since when nobody has the file mapped; 0: somebody has */
	bool located;             /* a sample was in it */
	bool is_nameless;         /* its symbols cost too much (engine/namer.h), */
	bool nameless_told;       /* or those of its user did; that was told */
	bool is_lineless;         /* the same for its lines, */
	bool lineless_told;       /* and that was told */
	struct timespec modified; /* as it was when it was opened, with its size: */
	int64_t size;
	struct learnt *learnt;        /* NULL: nothing */
	VEC(struct object_key) names; /* its keys in the BPF part, see engine/watch_files.c */
	size_t known;                 /* how many of these the BPF part was told */
	uint32_t told_kind;           /* the kind it was told: enum mapping_kind */
	char *problem;                /* why it is not readable or has no table; NULL if nothing is wrong */
};

struct objects;

/* `files`, borrowed, reads them. */
struct objects *objects_create(struct foreign_files *files);
void objects_destroy(struct objects *objects);

/* Another process, which finds what is in the machine code of runtimes (watch_runtime.c). */
struct object_finder {
	/*
	 * Gives the answer, whose bytes are as cache_write() wrote them, or anything, and a snapshot of the file;
	 * `process` may be NULL. 0; -ENOSYS: there is no such process, so it is to be found here; another negative
	 * errno: it is not known. The caller releases *ret in any case.
	 */
	int (*find)(void *context, struct object *object, const struct process *process, enum runtime_question question,
		    struct analysis *ret);
	void *context;
};

/* To be called before the first objects_get(), if there is one; otherwise it is found here. */
void objects_set_finder(struct objects *objects, const struct object_finder *finder);

/*
 * A file's object. The file is opened through a process that has it mapped at `mapping` (may be NULL). If that process
 * is gone, its root cannot be used: then the next process that maps the file is tried. NULL: memory is short.
 */
struct object *objects_get(struct objects *objects, const struct mapped_file *file, const struct process *process,
			   const struct process_mapping *mapping);
/* By the file's index, if it was asked for before; else NULL. */
struct object *objects_at(const struct objects *objects, uint32_t index);

/* The answer of its analysis is not needed any more. */
void object_forget_answer(struct object *object);

/* The file whose run of the page index a page belongs to, if rows of it are still to be given; else NULL. */
struct object *objects_of_page(const struct objects *objects, uint32_t page);

/*
 * Forgets what is known about a file and removes its unwind table. No process may have it pinned, or have had it pinned
 * within the grace period of the tables. A later objects_get() begins again.
 */
void objects_drop(struct objects *objects, uint32_t index, struct tables *tables);

/* Files whose file system did not answer are opened again when they are next asked for. */
void objects_retry(struct objects *objects);

/* Tables that did not fit are tried again when they are next asked for. */
void objects_retry_full(struct objects *objects, struct tables *tables);

/* Has the content of an open file changed since it was opened? Then its symbols do not belong to what was mapped. */
bool object_changed(const struct object *object);

/* The vaddr at an address of a mapping of this file. False if its segments do not say. */
bool object_vaddr(const struct object *object, const struct process_mapping *mapping, uint64_t address, uint64_t *ret);

/* How tables are compiled. Each function may be NULL. */
struct object_compiling {
	bool whole; /* also for large files: nothing is left to object_fill() */
	/* Called every few milliseconds: see struct unwind_options. */
	void (*pause)(void *context);
	/*
	 * Has another process answer a question of file_rows.h; *bytes is malloc'd. -ENOSYS: there is none, it is done
	 * here; another negative errno: it is not known.
	 */
	int (*rows)(void *context, struct object *object, const void *question, size_t question_size, uint8_t **bytes,
		    size_t *size);
	/* That failed, or the answer made no sense: the object has no rows. */
	void (*failed)(void *context, struct object *object, int err);
	/*
	 * So many bytes of code are to be followed; `name`: derived_name(). As in struct unwind_options. *bytes is
	 * valid until object_forget_answer().
	 */
	int (*follow)(void *context, struct object *object, const char *name, uint64_t code, const uint8_t **bytes,
		      size_t *size);
	void *context;
};

/*
 * Compiles the unwind table and puts it into the kernel, if that was not tried yet. For a large file, and for one whose
 * code is followed by another process (how->follow() gave -EINPROGRESS), it only reserves the place.
 */
void object_compile(struct object *object, struct tables *tables, const struct object_compiling *how);

/*
 * Compiles the rows around a page of a large file (struct walk_host), for 1 MiB of code, or all rows. If that fails,
 * walks end there from now on; if its code is being followed by another process, until that has answered.
 */
void object_fill(struct object *object, struct tables *tables, uint32_t page, const struct object_compiling *how);

/* Does it contain a runtime that can be walked? */
static inline bool object_is_walked(const struct object *object)
{
	return object->runtime.runtime && !object->runtime.unknown;
}

/* Finds the interpreter loop, if that was not tried yet. 0, or -ENOMEM: it can be tried again. */
int object_find_roles(struct object *object);

/*
 * What this file says for a runtime that needs more than its own file; read if that was not tried yet. NULL: nothing.
 */
const struct runtime_aid *object_aid(struct object *object);

/*
 * Opens it to be parsed here, if its content is still that which was mapped; the caller closes it. 0, -ENOENT, or
 * -ENOMEM.
 */
int object_open(const struct object *object, struct elf_file **ret);

#define OBJECT_ROOT_MAX 64
/* The root folder of a process that has the file, where its debug files are looked for; "" for strata's own. */
void object_debug_root(const struct object *object, char ret[OBJECT_ROOT_MAX]);

/*
 * The file's debug information (debug_info_open()), and the file, which must outlive it: the caller closes both, the
 * file also if there is no debug information. 0, -ENOENT, or another negative errno.
 */
int object_debug_info(struct object *object, const char *folders, uint64_t bytes_max, struct elf_file **elf,
		      struct debug_info **ret);

/* Does it define GDB's __jit_debug_descriptor (symbol/jit_objects.h)? Found if that was not tried yet. */
bool object_jit_descriptor(struct object *object);

/* Its GNU build id in hexadecimal digits, `size` with the terminator; "" when it has none. */
void object_build_id(struct object *object, char *ret, size_t size);
/* The offset in the file of a vaddr; false if its segments do not say. */
bool object_file_offset(const struct object *object, uint64_t vaddr, uint64_t *ret);

#endif
