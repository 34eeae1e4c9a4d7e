/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * source_files: the text of source files that samples name, for `record --source`.
 *
 * A file's name is what its process says, so it is read as that process could read it, and not as root could: below the
 * process's own root directory, with its user and group, without supplementary groups, and without any capability. A
 * process whose user or group ids are not all the same, as of a set-user-id program, is not asked.
 *
 *   sample with a source file ─► source_files_meet() ─► the keeper holds the process's root, working directory and ids
 *   exec, fork                ─► source_files_renew()
 *   end of the recording      ─► source_files_collect() ─► the keeper reads what is hot, with those ids
 *
 * The *keeper* is a process of its own (base/foreign.h): a file system that hangs holds up only that, and sources are
 * given up. As it holds the root, a process may have ended by the time its files are read. Samples arrive late: what
 * was sampled as one program may by then be another one, with other rights. So a process is not asked
 *
 *   - if it called exec, or another one got its pid, between a sample and the moment at which its ids were read;
 *   - if its ids changed with exec;
 *   - if any record of the side-band was lost: that may have been an exec.
 *
 * Files that frames of a runtime name, and those of native frames, are asked for apart: which program named a file of
 * Python's is clear when all samples with Python frames are, whatever ran before in that process, such as a shell.
 *
 * Not covered: what else confines a process, such as Landlock or AppArmor. Not thread-safe.
 */
#ifndef STRATA_ENGINE_SOURCE_FILES_H
#define STRATA_ENGINE_SOURCE_FILES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/foreign.h"
#include "proc/processes.h"
#include "profile/profile.h"

#define SOURCE_FILES_FILE_MAX  (1u << 20) /* bytes of one file */
#define SOURCE_FILES_BYTES_MAX (8u << 20) /* of all */
#define SOURCE_FILES_ASKED_MAX 512        /* files of processes, the hottest first */
#define SOURCE_FILES_HELD_MAX  256        /* processes, for each kind: two descriptors each */

struct source_files;

struct source_files *source_files_create(struct foreign_files *files); /* NULL when memory is short */
void source_files_destroy(struct source_files *sources); /* may be NULL */

enum source_files_kind { SOURCE_FILES_RUNTIME, SOURCE_FILES_NATIVE };

/*
 * A sample of this time has frames of this kind that name source files. `process`: which had the pid then, or NULL.
 * 0 or -ENOMEM.
 */
int source_files_meet(struct source_files *sources, enum source_files_kind kind, int pid, uint64_t time,
		      const struct process *process);

/* The pid has another program, or is another process, from `time` on. 0 or -ENOMEM. */
int source_files_renew(struct source_files *sources, int pid, uint64_t time);

/* Records of exec or fork were lost. */
void source_files_doubt(struct source_files *sources);

/*
 * Adds the source files of a profile's samples to it, the hottest first, and a remark about those that could not be
 * had. At the end of a recording. 0 or -ENOMEM.
 */
int source_files_collect(struct source_files *sources, struct profile *profile);

/* Between the two sides (source_keeper.c). One datagram: the question, then the path with its zero byte. */
enum source_files_ask { SOURCE_FILES_MEET, SOURCE_FILES_RENEW, SOURCE_FILES_READ };

struct source_files_question {
	uint32_t ask; /* enum source_files_ask */
	int32_t pid;
	uint64_t time; /* CLOCK_MONOTONIC, ns */
	uint32_t kind; /* enum source_files_kind; not of SOURCE_FILES_RENEW, which is for both */
	uint32_t reserved;
};

/* To SOURCE_FILES_READ only; the file's bytes follow, in datagrams of at most SOURCE_FILES_PIECE. */
#define SOURCE_FILES_PIECE (32u << 10)
struct source_files_answer {
	/*
	 * 0; -ESRCH: the process was gone; -EPERM: its ids are not clear, or it may not; -EFBIG; -EINVAL: no regular
	 * file; or another negative errno of opening it
	 */
	int32_t result;
	uint32_t size;
	uint64_t changed; /* when the file was written last, ns since the epoch */
};

void source_keeper(int socket);

#endif
