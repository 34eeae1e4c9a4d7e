/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * foreign_parts: the messages between strata and a reader, for foreign.c and foreign_reader.c, and functions that send
 * descriptors, also for attempt.c.
 */
#ifndef STRATA_BASE_FOREIGN_PARTS_H
#define STRATA_BASE_FOREIGN_PARTS_H

#include <limits.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

#include "base/foreign.h"

#define FOREIGN_PIECE (64u << 10) /* bytes of one answer */
#define FOREIGN_TEXT  ((FOREIGN_PATHS_MAX + 1) * (PATH_MAX + 64u))

enum foreign_ask { FOREIGN_OPEN, FOREIGN_READ, FOREIGN_STAT, FOREIGN_GLOB, FOREIGN_FORGET };

/*
 * One datagram: the question, then of FOREIGN_OPEN the root and the paths, of FOREIGN_GLOB the pattern, each ended by a
 * zero byte.
 */
struct foreign_question {
	uint32_t ask;    /* enum foreign_ask */
	uint32_t size;   /* of FOREIGN_READ, FOREIGN_GLOB; how many paths of FOREIGN_OPEN */
	uint64_t serial; /* the file: a descriptor of it comes along, for when the reader has another one open */
	uint64_t offset; /* of FOREIGN_READ */
	uint64_t inode;  /* of FOREIGN_OPEN */
};

/*
 * The answer, then the bytes of FOREIGN_READ or the names of FOREIGN_GLOB. With that of FOREIGN_OPEN come an O_PATH
 * descriptor and, if the file can be read without waiting, one for reading.
 */
struct foreign_answer {
	int64_t result; /* bytes, 0, or negative errno */
	struct stat status;
};

/* What a descriptor travels in (unix(7), SCM_RIGHTS). */
union foreign_control {
	struct cmsghdr align;
	char bytes[64];
};

/* Sends a datagram of parts, with descriptors. 0 or negative errno. */
struct iovec;
int foreign_send(int socket, const struct iovec *parts, size_t count, const int *fds, size_t fd_count);

/*
 * Receives one. Descriptors that did not come are -1; of those that did, only `fd_count` are taken,
 * FOREIGN_DESCRIPTORS at most. Its size, 0 at the end, or negative errno.
 */
#define FOREIGN_DESCRIPTORS 4
ssize_t foreign_receive(int socket, const struct iovec *parts, size_t count, int *fds, size_t fd_count);

/* Opens as a request says: a descriptor for reading, or negative errno. `root` may be NULL. */
int foreign_open_path(const char *root, const char *path, uint64_t inode, struct stat *ret);

/* As foreign_glob(), without a bound. */
ssize_t foreign_glob_here(const char *pattern, char *ret, size_t size);

/*
 * What comes to the nursery: with a socket, what the process that it forks runs, in the image that it shares with
 * strata. It ends when that returns. Without one, what the nursery itself runs, for those that it forks later.
 */
struct foreign_birth {
	void (*life)(int socket);
	void (*prepare)(void);
};

void foreign_reader(int socket);

/*
 * The nursery's life: tells its pid, then forks a process for each socket that comes, and tells that; or prepares, and
 * tells nothing. Does not return.
 */
_Noreturn void foreign_nursery(int socket, int nice);

#endif
