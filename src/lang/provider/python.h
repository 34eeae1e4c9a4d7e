/* SPDX-License-Identifier: GPL-2.0-or-later */
/* python: the data of a place of a Python probe, for builtin/python.c, which generates the code that reads it. */
#ifndef STRATA_LANG_PROVIDER_PYTHON_H
#define STRATA_LANG_PROVIDER_PYTHON_H

#include <sys/stat.h>
#include <time.h>

#include "elf/elf_file.h"
#include "lang/provider/provider.h"
#include "runtime/python/event_sites.h"
#include "runtime/python/probe_sites.h"

/* Which file a Python was found in. */
struct python_identity {
	uint64_t digest[2]; /* elf_file_digest() */
	uint64_t inode, size;
	struct timespec written; /* st_mtim */
	bool is_known;           /* false: it is too large for a digest, or could not be read */
};

/* Of a file that is open; `status` is its own. */
struct python_identity python_identity_of(const struct elf_file *elf, const struct stat *status);
/* Have both the same content, so that the places of the one are those of the other? */
bool python_identity_alike(const struct python_identity *a, const struct python_identity *b);
/*
 * Are they one file? Not by the device: overlays of different containers have different ones for the same file below
 * them, where breakpoints would be put twice.
 */
bool python_identity_same(const struct python_identity *a, const struct python_identity *b);

/* A Python that started later: compile_options.later. All is borrowed. */
struct python_later {
	const char *path;  /* which the kernel can open */
	const char *shown; /* as its process names it */
	const struct elf_file *elf;
	const struct python_identity *identity;
	struct python_cache *cache; /* where the places in its loop are */
};

/* Is this file one? As python_interpreter_recognise(). */
int python_later_recognise(const struct elf_file *elf, struct diag *diag);
/*
 * A cache for python_later.cache, whose entries another process finds (base/cache.h, CACHE_ELSEWHERE). NULL when memory
 * is short.
 */
struct python_cache *python_later_cache(void);
void python_later_cache_destroy(struct python_cache *cache);
/* Does it lack what is to be known of this Python's loop? Then a process is asked (RUNTIME_PROBES). */
bool python_later_asks(struct python_cache *cache, const struct elf_file *elf);
/* Takes what that answered; `elf` is what it has read. 0, or as cache_read(). */
int python_later_answer(struct python_cache *cache, const struct elf_file *elf, const void *bytes, size_t size);
/* There is no such process: the compiler searches. */
void python_later_search_here(struct python_cache *cache);

/* attach.own */
struct python_probe {
	struct uprobe_own own;
	enum python_event event;
	const char *arguments;     /* of a marker; NULL: by what the code does */
	struct python_place value; /* gc-start, gc-done, audit without a marker: as struct python_event_site's */
	struct python_place more;  /* likewise */
	struct python_site site;   /* the other events, without a marker: in the interpreter loop */
	struct py_layout layout;
	struct py_objects objects;
	uint64_t frees;            /* likewise: the vaddr of the one where code objects are freed; 0: there is none */
	uint32_t lines;            /* of lines in the loop: by which probe's own state they are told */
	const struct python_identity *file; /* NULL: not of all Pythons of the machine */
};

/* Releases what was found in Pythons. */
void provider_python_close(struct compiler *c);

/*
 * After lowering: in predicates of Python's probes, what compares args.function or args.file with a text becomes a
 * CORE_PYTHON_WANTED, which remembers whether it was ever true, and which names came until then.
 */
void python_want_names(struct compiler *c);

#endif
