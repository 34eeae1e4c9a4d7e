/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * namer: names of the addresses of files, without parsing them where strata's capabilities are: an analyser of its own
 * does that (engine/analyser.h), which is started when it is first needed. It is another process than the one that
 * follows machine code, as names are waited for. Meanwhile the ring is relieved.
 *
 *   namer_names()   asks for all addresses of a file, FILE_NAMES_AT_ONCE at a time
 *                   the answer says whether the file wants a debug file, and by what that is found;
 *                   files that may be it are opened here, and it is asked again with each of them
 *
 * A file that costs too much has no names from then on, which is told to the client. So it is for the files of a user
 * who has used up their time: users share it (base/budget.h). Where no process can be confined, the files are parsed
 * here.
 */
#ifndef STRATA_ENGINE_NAMER_H
#define STRATA_ENGINE_NAMER_H

#include "engine/analyser.h"
#include "engine/file_names.h"
#include "engine/objects.h"
#include "symbol/perf_map.h"

/* CPU time for names: one user may cause 4 s. */
#define NAMER_MS        8000
#define NAMER_HALVING_S 20

struct namer;

struct namer_client {
	/* Called every few milliseconds while an answer is waited for; may be NULL. */
	void (*relieve)(void *context);
	/*
	 * A file's names are lost: -ETIME, -ENOMEM (the limits of the process), -ECHILD (the process ended), -EBADMSG
	 * (its answer made no sense), -EDQUOT (its user's share of the time); or `object` is NULL: files are parsed
	 * here, as the process cannot be confined.
	 */
	void (*failed)(void *context, const struct object *object, int err);
	void *context;
};

/*
 * `files`, borrowed, forks the process and opens debug files; NULL: files are parsed here. `options`: of the analyser,
 * for tests, or NULL. NULL when memory is short.
 */
struct namer *namer_create(struct foreign_files *files, const struct namer_client *client,
			   const struct analyser_options *options);
void namer_destroy(struct namer *namer); /* may be NULL */

/*
 * The names of addresses, in any order, which it sorts. `namer` may be NULL: the file is parsed here. *ret is empty if
 * there are none, and is to be released by file_names_deinit(). 0 or -ENOMEM.
 */
int namer_names(struct namer *namer, struct object *object, uint64_t *vaddrs, size_t count, struct file_names *ret);

/*
 * The same by the perf map of an ANONYMOUS object's process. -ENOSYS: it is to be parsed here, by perf_map_lookup().
 */
int namer_map_names(struct namer *namer, struct object *object, const struct perf_map *map, uint64_t *addresses,
		    size_t count, struct file_names *ret);

/*
 * Has a file no symbol table, nor a debug file at hand that has one, and a build id, by which one can be asked for?
 * 1 and *ret, 0, or -ENOMEM. `vaddr`: any one of it that is to be named.
 */
int namer_lacks_symbols(struct namer *namer, struct object *object, uint64_t vaddr, struct elf_debug_names *ret);

/* CPU time of its processes, in seconds. */
double namer_cpu_s(const struct namer *namer);

#endif
