/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * foreign: reads files that other processes chose, without trusting that their file system answers.
 *
 * If a FUSE or NFS server hangs, a process that opens, reads, stats or closes one of its files waits, often so that not
 * even SIGKILL ends it. A program with such a thread does not end either. So strata lets another process access these
 * files: the *reader*. Strata asks it over a socket and waits DEADLINE_MS for each answer, less if many readers hang. A
 * reader that is ready to run but gets no CPU is waited for. One that hangs is left behind and replaced, and files of
 * the same *place* (a device, a mount namespace) are refused with -ETIMEDOUT. What they would have told is lost as
 * `no-answer`. When the reader comes back, those files are opened again.
 *
 *   strata ──fork──► nursery ──fork──► reader      the nursery forks readers, and touches no file but strata's own
 *      └───────────── socket ──────────┘           libraries: a process that strata forked later would keep its maps
 *                                                  and memory
 *
 * strata forks the nursery before anything else, so readers hold none of strata's maps, events or outputs. They end
 * when their sockets are closed, even if strata is killed. The nursery also forks the other processes that must hold
 * nothing of strata's: foreign_files_fork().
 *
 * strata itself holds only descriptors of such a file that cannot block: one of O_PATH, and, on file systems with
 * RWF_NOWAIT (ext4, xfs, btrfs), one that returns at once what is in the page cache. The rest comes through the reader.
 * If a file system may hang, libdw (`--verify`) gets a copy of the file in memory.
 *
 * What is not bounded: an output that is a pipe or device; what a script reads itself (`cat()`, the script); the memory
 * of a process that is a mapping of such a file. And whoever reads the output of strata and its command to the end
 * waits for a command that cannot be ended. tests/chaos/hung_fs.t has a FUSE server that stops answering.
 *
 * Not thread-safe. A foreign_file must be closed before its foreign_files is destroyed.
 */
#ifndef STRATA_BASE_FOREIGN_H
#define STRATA_BASE_FOREIGN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

#include "base/diag.h"

#define FOREIGN_PATHS_MAX 5

struct foreign_files; /* the readers. NULL is allowed below, for files that are trusted: then there is no bound */
struct foreign_file;

/*
 * Starts the nursery. To be called before there are descriptors and mappings that must not outlive strata. `nice`: the
 * readers' nice value, if that is allowed.
 */
int foreign_files_create(int nice, struct foreign_files **ret, struct diag *diag);
void foreign_files_destroy(struct foreign_files *files);

/*
 * The nursery forks a process that runs life() with one end of a socket (SOCK_SEQPACKET); *socket is the other end. The
 * process holds nothing else, ignores all signals, and has to end when the socket is closed. 0 or negative errno.
 */
int foreign_files_fork(struct foreign_files *files, void (*life)(int socket), int *socket, pid_t *pid);

/*
 * The nursery itself runs prepare(), before it forks what is asked for later: what that loads, its processes need not
 * load each. It must touch nothing but strata's own libraries. Returns at once.
 */
void foreign_files_prepare(struct foreign_files *files, void (*prepare)(void));

/* CPU time that a process has used, in seconds; 0 when it is gone. */
double foreign_cpu_s(pid_t pid);

/* CPU time that the nursery and its readers have used, in seconds. */
double foreign_files_cpu_s(const struct foreign_files *files);

/* Has a place begun to answer again since the last call? Then refused files may be tried again. */
bool foreign_files_recovered(struct foreign_files *files);

struct foreign_request {
	const char *paths[FOREIGN_PATHS_MAX]; /* tried in this order; NULL: skipped */
	const char *root; /* if not NULL: paths are below it, relative, and no link is followed out of it */
	uint64_t inode;   /* 0: any; else only a file with this inode is taken */
	uint64_t place;   /* what hangs together: FOREIGN_DEVICE(), foreign_namespace() */
};

/* Numbers of places: for a device as in /proc/PID/maps (below 2^63); for the mount namespace of a process. */
#define FOREIGN_DEVICE(device) ((device) & ~(1ull << 63))
uint64_t foreign_namespace(int pid);
/* The place for the folder of a path: one folder may answer while another one does not. */
uint64_t foreign_folder(const char *path);

/*
 * Opens the first path that is a regular file. 0; -ETIMEDOUT: the place does not answer; -EINVAL: there is something,
 * but no regular file; or the negative errno of opening the last path.
 */
int foreign_open(struct foreign_files *files, const struct foreign_request *request, struct foreign_file **ret);

/*
 * The files that match a pattern of glob(3), as texts one after the other, each with its zero byte. Returns the number
 * of bytes; -ETIMEDOUT; -E2BIG if they do not fit into `size` or FOREIGN_NAMES_MAX; or another negative errno.
 */
#define FOREIGN_NAMES_MAX (64u << 10)
ssize_t foreign_glob(struct foreign_files *files, const char *pattern, char *ret, size_t size);

/*
 * Makes a foreign_file of a file that is already open, and trusted. Always takes ownership of the descriptor. NULL when
 * memory is short.
 */
struct foreign_file *foreign_wrap(int fd);

/* Adds an owner: the file must be closed once more. Returns `file`. */
struct foreign_file *foreign_share(struct foreign_file *file);
void foreign_close(struct foreign_file *file); /* may be NULL */

/* As pread(2), but negative errno: -ETIMEDOUT when the place does not answer. Less than `size` only at the end. */
ssize_t foreign_read(struct foreign_file *file, void *buffer, size_t size, uint64_t offset);

/* As fstat(2): 0 or negative errno. */
int foreign_stat(struct foreign_file *file, struct stat *ret);

/* Did its file system ever fail to answer? */
bool foreign_unanswered(const struct foreign_file *file);

/* May its file system hang, as far as is known? False for a trusted file. */
bool foreign_waits(const struct foreign_file *file);

/* The readers that it belongs to, and its place; NULL and 0 for trusted files. */
struct foreign_files *foreign_files_of(const struct foreign_file *file);

/*
 * A new descriptor from which it can be read without waiting for its file system, or -1. For libraries that need a
 * descriptor. If the file system may block, it is that of a copy in memory, which is made once.
 */
int foreign_descriptor(struct foreign_file *file);
/* The descriptor that it has, which is not to be closed and lives as long as it; -1: none. */
int foreign_borrow(const struct foreign_file *file);
/*
 * A path below /proc by which the kernel and other processes of strata open the file itself, whatever its name means by
 * now; valid while it is open here. Its file system may hang.
 */
#define FOREIGN_LINK_BYTES 48
void foreign_link(const struct foreign_file *file, char ret[static FOREIGN_LINK_BYTES]);
/* Frees that copy, if there is one: it takes as much memory as the file. */
void foreign_drop_copy(struct foreign_file *file);

/*
 * A file of its own, in memory, with the content that it has now, which nobody changes: what is derived from it, and
 * its digest, are about the same bytes. NULL: it is larger than FOREIGN_SNAPSHOT_MAX, or cannot be read.
 */
#define FOREIGN_SNAPSHOT_MAX (256u << 20)
struct foreign_file *foreign_snapshot(struct foreign_file *file);

/* Its path in its mount namespace, with links resolved; no file system is accessed. False: it has none. */
bool foreign_path(const struct foreign_file *file, char *ret, size_t size);

#endif
