/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * namer: names of addresses in files. The files are not parsed in this process, which has strata's capabilities, but by
 * an analyser (engine/analyser.h), which is started when it is first needed. It is not the analyser that follows
 * machine code, because strata waits for names. While it waits, the ring is emptied.
 *
 *   namer_names()   asks for all addresses of a file, FILE_NAMES_AT_ONCE at a time. The answer says whether the file
 *                   needs a debug file, and how to find it. Candidates are opened here, and the question is asked again
 *                   with each of them.
 *
 * A file whose names take too long gets no more names, and the client is told. The same happens to the files of a user
 * whose share of the time is used up (base/budget.h). If no process can be confined, the files are parsed in this
 * process.
 */
#ifndef STRATA_ENGINE_NAMER_H
#define STRATA_ENGINE_NAMER_H

#include "engine/analyser.h"
#include "engine/file_lines.h"
#include "engine/file_names.h"
#include "engine/objects.h"
#include "symbol/perf_map.h"

/* CPU time for names; one user may use 4 s of it. */
#define NAMER_MS        8000
#define NAMER_HALVING_S 20

struct namer;

struct namer_client {
	/* Empties the ring. Called every few milliseconds while the namer waits for an answer; may be NULL. */
	void (*relieve)(void *context);
	/*
	 * A file's names are lost: -ETIME, -ENOMEM (the limits of the process), -ECHILD (the process ended), -EBADMSG
	 * (its answer was invalid), -EDQUOT (its user's share of the time is used up); or some of them,
	 * -ENAMETOOLONG. If `object` is NULL: files are parsed here, because the process cannot be confined.
	 */
	void (*failed)(void *context, const struct object *object, int err);
	void *context;
	/* The same for lines: there are none, or not for all addresses (-ETIME); may be NULL. */
	void (*lineless)(void *context, const struct object *object, int err);
};

/*
 * `files`, borrowed, forks the process and opens debug files; NULL: files are parsed here. `options`: of the analyser,
 * for tests, or NULL. NULL when memory is short.
 */
struct namer *namer_create(struct foreign_files *files, const struct namer_client *client,
			   const struct analyser_options *options);
void namer_destroy(struct namer *namer); /* may be NULL */

/*
 * The names of addresses, which may be in any order and are sorted here. If `namer` is NULL, the file is parsed here.
 * *ret is empty if there are no names; release it with file_names_deinit(). 0 or -ENOMEM.
 */
int namer_names(struct namer *namer, struct object *object, uint64_t *vaddrs, size_t count, struct file_names *ret);

/*
 * The same for source lines and inlined functions. What is not known has none; nor have files whose names are lost.
 * *ret is to be released with file_lines_deinit(). 0 or -ENOMEM.
 */
int namer_lines(struct namer *namer, struct object *object, uint64_t *vaddrs, size_t count, struct file_lines *ret);

/*
 * The same from the perf map of an ANONYMOUS object's process. -ENOSYS: use perf_map_lookup() in this process.
 */
int namer_map_names(struct namer *namer, struct object *object, const struct perf_map *map, uint64_t *addresses,
		    size_t count, struct file_names *ret);

/*
 * Could debuginfod help with this file? 1, and *ret names its debug file: it has a build id, but no symbol table, nor
 * has a local debug file. Otherwise 0; or -ENOMEM. `vaddr`: any address of the file that is to be named.
 */
int namer_lacks_symbols(struct namer *namer, struct object *object, uint64_t vaddr, struct elf_debug_names *ret);

/* CPU time of its processes, in seconds. */
double namer_cpu_s(struct namer *namer);

#endif
