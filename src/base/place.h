/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * place: where a file of this program's own is to be written, as a directory's descriptor and a name in it.
 *
 * strata often runs as root in a directory that everybody may write to (/tmp). A link or file that somebody else
 * created there under the name of a result must not lead strata elsewhere, and must not receive the result. So, in a
 * sticky directory that others may write to,
 *
 *   - a symbolic link is followed only if it belongs to the caller or to the directory's owner;
 *   - a file or FIFO is written or replaced only if it belongs to the caller or to the directory's owner.
 *
 * These are the kernel's rules for open(O_CREAT) with fs.protected_symlinks, protected_regular and protected_fifos set
 * (fs/namei.c: may_follow_link(), may_create_in_sticky()). They are applied here whatever those settings are, because
 * the kernel does not apply them when rename() replaces a file. The last link of a path is followed here and never by
 * the kernel, so nothing can be exchanged between the check and the use. Directories in the path are the user's choice.
 */
#ifndef STRATA_BASE_PLACE_H
#define STRATA_BASE_PLACE_H

#include <stdio.h>
#include <sys/stat.h>

struct place {
	int directory; /* O_PATH */
	char *name;    /* in it; malloc'd. Not a symbolic link when it was looked at */
};

/*
 * Resolves `path` to a place; a link that leads to nothing means the place where its target would be.
 * 0 and *ret, to be closed by place_close(); -EACCES by the rules above; -ELOOP; or another negative errno.
 */
int place_find(const char *path, struct place *ret);
void place_close(struct place *place);

/* stat() of the place, not following a link. 0 and *ret; -ENOENT; -EACCES by the rules above; or another errno. */
int place_look(const struct place *place, struct stat *ret);

/* As fopen(path, "we"), by the rules above. NULL and errno on failure. */
FILE *place_open(const char *path);
FILE *place_append(const char *path); /* as fopen(path, "ae") */

/* What is written to a stream from now on goes to this file, opened as by place_open(). 0 or a negative errno. */
int place_redirect(const char *path, FILE *stream);

#endif
