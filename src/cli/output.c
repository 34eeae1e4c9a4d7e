// SPDX-License-Identifier: GPL-2.0-or-later
#include "cli/output.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/attempt.h"
#include "base/place.h"

#define NAME_TRIES       16
#define CHECK_PATIENCE_S 5.0
#define WRITE_PATIENCE_S 60.0 /* a slow disk may sync for long */

/* A file that is being written, beside its target; `name` is empty as long as it has none. */
struct temporary {
	const struct place *target;
	int fd;
	char name[32];
};

static bool is_standard_output(const char *path)
{
	return !strcmp(path, "-");
}

/* Behind these names may be a regular file, but it is the descriptor that is meant. */
static bool is_descriptor(const char *path)
{
	return is_standard_output(path) || !strcmp(path, "/dev/stdout") || !strcmp(path, "/dev/stderr") ||
	       !strncmp(path, "/dev/fd/", 8) || !strncmp(path, "/proc/self/fd/", 14);
}

static int refuse(const char *path, int err, const char *why, struct diag *diag)
{
	return diag_fail(diag, -err, "output.unwritable", "%s: cannot be written: %s%s", path, strerror(-err), why);
}

/* What a path means: its place, to be closed, and what is there, of type 0 where nothing is. Or a negative errno. */
static int find(const char *path, struct place *place, struct stat *file)
{
	int err = place_find(path, place);

	if (err)
		return err;
	err = place_look(place, file);
	if (err == -ENOENT) {
		*file = (struct stat){};
		return 0;
	}
	if (err)
		place_close(place);
	return err;
}

static bool is_direct(const struct stat *file)
{
	return file->st_mode && !S_ISREG(file->st_mode) && !S_ISDIR(file->st_mode);
}

static int ask_direct(void *context, struct diag *diag)
{
	struct place place;
	struct stat file;

	(void)diag;
	if (find(context, &place, &file))
		return 0; /* the attempt to replace it says why not */
	place_close(&place);
	return is_direct(&file);
}

/* 1 for what is written to directly, 0 for what is replaced; -ETIMEDOUT and a diag. */
static int find_direct(const char *path, struct diag *diag)
{
	return is_descriptor(path) ? 1 : attempt(CHECK_PATIENCE_S, path, ask_direct, (void *)path, diag);
}

bool output_is_direct(const char *path)
{
	return find_direct(path, NULL) > 0;
}

static int random_name(char name[32])
{
	uint64_t random;

	if (getrandom(&random, sizeof(random), 0) != sizeof(random))
		return -errno;
	snprintf(name, 32, ".strata-%012llx", (unsigned long long)(random >> 16));
	return 0;
}

/* Makes a file of a passing name, by make(), beside the target. */
static int make_named(struct temporary *temporary, int (*make)(const struct temporary *temporary, const char *name))
{
	char name[32];
	int tries, err = -EEXIST;

	for (tries = 0; tries < NAME_TRIES && err == -EEXIST; tries++) {
		err = random_name(name);
		if (!err)
			err = make(temporary, name);
	}
	if (err >= 0)
		memcpy(temporary->name, name, sizeof(name));
	return err;
}

static int create_named(const struct temporary *temporary, const char *name)
{
	int fd = openat(temporary->target->directory, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);

	return fd < 0 ? -errno : fd;
}

static int link_named(const struct temporary *temporary, const char *name)
{
	char own[64];

	snprintf(own, sizeof(own), "/proc/self/fd/%d", temporary->fd);
	return linkat(AT_FDCWD, own, temporary->target->directory, name, AT_SYMLINK_FOLLOW) ? -errno : 0;
}

static int temporary_open(const struct place *target, struct temporary *ret)
{
	struct temporary temporary = {.target = target};

	temporary.fd = openat(target->directory, ".", O_TMPFILE | O_WRONLY | O_CLOEXEC, 0666);
	if (temporary.fd < 0 && errno == EOPNOTSUPP)
		temporary.fd = make_named(&temporary, create_named);
	else if (temporary.fd < 0)
		temporary.fd = -errno;
	if (temporary.fd < 0)
		return temporary.fd;
	*ret = temporary;
	return 0;
}

static void temporary_discard(struct temporary *temporary)
{
	if (*temporary->name)
		unlinkat(temporary->target->directory, temporary->name, 0);
	*temporary->name = '\0';
}

/* Puts the file in place. What stood there gives it its mode and, if it may be, its owner. */
static int temporary_commit(struct temporary *temporary)
{
	const struct place *target = temporary->target;
	struct stat old;
	int err = place_look(target, &old);

	if (err && err != -ENOENT)
		return err;
	/* Only root may give a file away; else it stays the user's own. */
	if (!err && S_ISREG(old.st_mode) && (!fchown(temporary->fd, old.st_uid, old.st_gid) || old.st_uid == geteuid()))
		fchmod(temporary->fd, old.st_mode & 0777);
	/* link() cannot replace its target, so a passing name is needed. */
	err = *temporary->name ? 0 : make_named(temporary, link_named);
	if (!err && renameat(target->directory, temporary->name, target->directory, target->name))
		err = -errno;
	if (err)
		temporary_discard(temporary);
	else
		*temporary->name = '\0';
	return err;
}

/* Whether what is there may be written to, and what is not may be made. */
static int check_place(const char *path, const struct place *place, const struct stat *file, struct diag *diag)
{
	struct temporary temporary;
	int err;

	if (S_ISDIR(file->st_mode))
		return diag_fail(diag, EISDIR, "output.directory", "%s: is a directory: name a file in it", path);
	if (file->st_mode && faccessat(place->directory, place->name, W_OK, AT_EACCESS))
		return refuse(path, -errno, "", diag);
	if (is_direct(file))
		return 0;
	err = temporary_open(place, &temporary);
	if (err)
		return refuse(path, err, "", diag);
	temporary_discard(&temporary);
	close(temporary.fd);
	return 0;
}

static int check(void *context, struct diag *diag)
{
	const char *path = context;
	struct place place;
	struct stat file;
	int err;

	if (is_standard_output(path)) {
		if ((fcntl(STDOUT_FILENO, F_GETFL) & O_ACCMODE) == O_RDONLY)
			return diag_fail(diag, EBADF, "output.closed", "standard output is closed");
		return 0;
	}
	if (!*path)
		return diag_fail(diag, ENOENT, "output.name", "an output's name is empty");
	err = find(path, &place, &file);
	if (err == -EACCES)
		return refuse(path, err,
			      ": it is another user's, in a directory where everybody may write; name another file",
			      diag);
	if (err)
		return refuse(path, err, "", diag);
	err = check_place(path, &place, &file, diag);
	place_close(&place);
	return err;
}

int output_check(const char *path, struct diag *diag)
{
	return is_descriptor(path) ? check((void *)path, diag)
				   : attempt(CHECK_PATIENCE_S, path, check, (void *)path, diag);
}

/* Lets the writer fill a descriptor, which stays open. `durable`: a full disk shows at the latest when it is synced. */
static int fill(int fd, bool durable, output_writer write, const void *context, struct diag *diag)
{
	int own = fcntl(fd, F_DUPFD_CLOEXEC, 0), err;
	FILE *out = own < 0 ? NULL : fdopen(own, "w");

	if (!out) {
		err = errno;
		if (own >= 0)
			close(own);
		return diag_fail(diag, err, "output.open", "%s", strerror(err));
	}
	err = write(out, context, diag);
	if (!err && (fflush(out) || ferror(out) || (durable && fsync(own))))
		err = diag_fail(diag, errno, "output.write", "%m");
	if (fclose(out) && !err)
		err = diag_fail(diag, errno, "output.write", "%m");
	return err;
}

/* A pipe's or a device's descriptor, or a negative errno. */
static int open_direct(const char *path)
{
	struct place place;
	struct stat file;
	int fd;

	if (is_descriptor(path)) {
		fd = open(path, O_WRONLY | O_CLOEXEC | O_NOCTTY);
		return fd < 0 ? -errno : fd;
	}
	fd = find(path, &place, &file);
	if (fd)
		return fd;
	fd = openat(place.directory, place.name, O_WRONLY | O_NOFOLLOW | O_CLOEXEC | O_NOCTTY);
	if (fd < 0)
		fd = -errno;
	place_close(&place);
	return fd;
}

static int write_direct(const char *path, output_writer write, const void *context, struct diag *diag)
{
	int fd, err;

	if (is_standard_output(path)) {
		fflush(stdout);
		return fill(STDOUT_FILENO, false, write, context, diag);
	}
	fd = open_direct(path);
	if (fd < 0)
		return diag_fail(diag, -fd, "output.open", "%s", strerror(-fd));
	err = fill(fd, false, write, context, diag);
	close(fd);
	return err;
}

static int write_at(const struct place *place, output_writer write, const void *context, struct diag *diag)
{
	struct temporary temporary;
	int err = temporary_open(place, &temporary);

	if (err)
		return diag_fail(diag, -err, "output.open", "%s", strerror(-err));
	err = fill(temporary.fd, true, write, context, diag);
	if (err) {
		temporary_discard(&temporary);
	} else {
		err = temporary_commit(&temporary);
		if (err)
			diag_fail(diag, -err, "output.rename", "%s", strerror(-err));
	}
	close(temporary.fd);
	return err;
}

static int write_replacing(const char *path, output_writer write, const void *context, struct diag *diag)
{
	struct place place;
	struct stat file;
	int err = find(path, &place, &file);

	if (err)
		return diag_fail(diag, -err, "output.open", "%s", strerror(-err));
	err = write_at(&place, write, context, diag);
	place_close(&place);
	return err;
}

struct replacement {
	const char *path;
	output_writer write;
	const void *context;
};

static int replace(void *context, struct diag *diag)
{
	const struct replacement *replacement = context;
	int err = write_replacing(replacement->path, replacement->write, replacement->context, diag);

	if (err)
		diag_prefix(diag, "%s", replacement->path);
	return err;
}

int output_write(const char *path, output_writer write, const void *context, struct diag *diag)
{
	struct replacement replacement = {.path = path, .write = write, .context = context};
	int direct = find_direct(path, diag), err;

	if (direct < 0)
		return direct;
	if (!direct)
		return attempt(WRITE_PATIENCE_S, path, replace, &replacement, diag);
	err = write_direct(path, write, context, diag);
	if (err)
		diag_prefix(diag, "%s", is_standard_output(path) ? "standard output" : path);
	return err;
}

int output_rescue(const char *suffix, output_writer write, const void *context, char **ret)
{
	const char *dir = getenv("TMPDIR");
	char *path;
	int fd, err;

	if (asprintf(&path, "%s/strata-XXXXXX%s", dir && *dir == '/' ? dir : "/tmp", suffix) < 0)
		return -ENOMEM;
	fd = mkostemps(path, (int)strlen(suffix), O_CLOEXEC);
	if (fd < 0) {
		err = -errno;
		free(path);
		return err;
	}
	err = fill(fd, true, write, context, NULL);
	close(fd);
	if (err) {
		unlink(path);
		free(path);
		return err;
	}
	*ret = path;
	return 0;
}
