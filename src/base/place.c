// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/place.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/vfs.h>
#include <unistd.h>

#define LINKS_MAX 40 /* as the kernel: include/linux/namei.h, MAXSYMLINKS */

/* Whether somebody who is neither the caller nor the directory's owner may have put this there. */
static bool is_foreign(const struct stat *directory, uid_t owner)
{
	return directory->st_mode & S_ISVTX && directory->st_mode & (S_IWGRP | S_IWOTH) && owner != geteuid() &&
	       owner != directory->st_uid;
}

/* Goes to the directory that holds the last component of `path`, from the directory `from`. */
static int enter(int from, const char *path, struct place *ret)
{
	const char *slash = strrchr(path, '/');
	struct place place = {.directory = -1};
	char *parent = slash ? strndup(path, slash == path ? 1 : (size_t)(slash - path)) : strdup(".");

	place.name = strdup(slash ? slash + 1 : path);
	if (parent && place.name)
		place.directory = openat(from, parent, O_PATH | O_DIRECTORY | O_CLOEXEC);
	else
		errno = ENOMEM;
	free(parent);
	if (place.directory < 0) {
		int err = -errno;

		free(place.name);
		return err;
	}
	*ret = place;
	return 0;
}

void place_close(struct place *place)
{
	close(place->directory);
	free(place->name);
}

/* The links of /proc lead to what a process has open (/proc/self/fd/1): only the kernel can follow them. */
static bool is_proc(const struct place *place)
{
	struct statfs system;

	return !fstatfs(place->directory, &system) && system.f_type == PROC_SUPER_MAGIC;
}

/* Where a link leads. -EINVAL where there is none. */
static int read_link(const struct place *place, char target[PATH_MAX])
{
	struct stat directory, link;
	ssize_t length;

	if (is_proc(place))
		return -EINVAL;
	length = readlinkat(place->directory, place->name, target, PATH_MAX);
	if (length < 0)
		return -errno;
	if (length == PATH_MAX)
		return -ENAMETOOLONG;
	target[length] = '\0';
	if (fstat(place->directory, &directory) || fstatat(place->directory, place->name, &link, AT_SYMLINK_NOFOLLOW))
		return -errno;
	return is_foreign(&directory, link.st_uid) ? -EACCES : 0;
}

int place_find(const char *path, struct place *ret)
{
	char target[PATH_MAX];
	struct place place, next;
	int links, err = enter(AT_FDCWD, path, &place);

	if (err)
		return err;
	for (links = 0; links < LINKS_MAX; links++) {
		err = read_link(&place, target);
		if (err == -EINVAL || err == -ENOENT) {
			*ret = place;
			return 0;
		}
		if (!err)
			err = enter(place.directory, target, &next);
		place_close(&place);
		if (err)
			return err;
		place = next;
	}
	place_close(&place);
	return -ELOOP;
}

int place_look(const struct place *place, struct stat *ret)
{
	struct stat directory, file;

	if (fstat(place->directory, &directory) || fstatat(place->directory, place->name, &file, AT_SYMLINK_NOFOLLOW))
		return -errno;
	if ((S_ISREG(file.st_mode) || S_ISFIFO(file.st_mode) || S_ISLNK(file.st_mode)) &&
	    is_foreign(&directory, file.st_uid))
		return -EACCES;
	*ret = file;
	return 0;
}

/* `old`: what is done with what a file that is there has: O_TRUNC or O_APPEND. */
static int open_at(const struct place *place, int old)
{
	int flags = O_WRONLY | O_NOCTTY | O_CLOEXEC | (old & O_APPEND) | (is_proc(place) ? 0 : O_NOFOLLOW);
	struct stat file;
	int fd, err = place_look(place, &file);

	if (err && err != -ENOENT)
		return err;
	/* What was not there must be new: another's file that came meanwhile is not taken for it. */
	fd = openat(place->directory, place->name, flags | (err ? O_CREAT | O_EXCL : old), 0666);
	return fd < 0 ? -errno : fd;
}

/* Its descriptor, or a negative errno. */
static int open_path(const char *path, int old)
{
	struct place place;
	int fd = place_find(path, &place);

	if (!fd) {
		fd = open_at(&place, old);
		place_close(&place);
	}
	return fd;
}

static FILE *open_stream(const char *path, int old)
{
	int fd = open_path(path, old);
	FILE *file;

	if (fd < 0) {
		errno = -fd;
		return NULL;
	}
	file = fdopen(fd, old == O_APPEND ? "a" : "w");
	if (!file)
		close(fd);
	return file;
}

FILE *place_open(const char *path)
{
	return open_stream(path, O_TRUNC);
}

FILE *place_append(const char *path)
{
	return open_stream(path, O_APPEND);
}

int place_redirect(const char *path, FILE *stream)
{
	int fd = open_path(path, O_TRUNC), err;

	if (fd < 0)
		return fd;
	err = fflush(stream) || dup2(fd, fileno(stream)) < 0 ? -errno : 0;
	close(fd);
	return err;
}
