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

#define NAME_TRIES       16
#define CHECK_PATIENCE_S 5.0
#define WRITE_PATIENCE_S 60.0 /* a slow disk may sync for long */

/* A file that is being written; `path` is NULL as long as it has no name. */
struct temporary {
	int fd;
	char *path;
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

static int is_direct(const char *path)
{
	struct stat file;

	return is_descriptor(path) || (!stat(path, &file) && !S_ISREG(file.st_mode) && !S_ISDIR(file.st_mode));
}

static int ask_direct(void *context, struct diag *diag)
{
	(void)diag;
	return is_direct(context);
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

static mode_t usual_mode(void)
{
	mode_t mask = umask(0);

	umask(mask);
	return 0666 & ~mask;
}

/* The file that a path leads to, malloc'd: a link's target is replaced, not the link. */
static char *resolve(const char *path)
{
	char *target = realpath(path, NULL);

	return target ? target : strdup(path);
}

/* DIRECTORY-OF-TARGET/NAME, malloc'd. */
static char *beside(const char *target, const char *name)
{
	const char *slash = strrchr(target, '/');
	char *path;

	if (asprintf(&path, "%.*s%s", slash ? (int)(slash + 1 - target) : 0, target, name) < 0)
		return NULL;
	return path;
}

static int temporary_open(const char *target, struct temporary *ret)
{
	struct temporary temporary = {};
	char *path = beside(target, ".");

	if (!path)
		return -ENOMEM;
	temporary.fd = open(path, O_TMPFILE | O_WRONLY | O_CLOEXEC, 0666);
	free(path);
	if (temporary.fd < 0 && errno == EOPNOTSUPP) {
		temporary.path = beside(target, ".strata-XXXXXX");
		if (!temporary.path)
			return -ENOMEM;
		temporary.fd = mkostemp(temporary.path, O_CLOEXEC);
		if (temporary.fd >= 0)
			fchmod(temporary.fd, usual_mode());
	}
	if (temporary.fd < 0) {
		free(temporary.path);
		return -errno;
	}
	*ret = temporary;
	return 0;
}

static void temporary_discard(struct temporary *temporary)
{
	if (temporary->path)
		unlink(temporary->path);
	free(temporary->path);
	temporary->path = NULL;
}

/* Gives a nameless file a name: link() cannot replace its target, so a passing one is needed. */
static int temporary_name(struct temporary *temporary, const char *target)
{
	char own[64], name[64];
	uint64_t random;
	int tries;

	snprintf(own, sizeof(own), "/proc/self/fd/%d", temporary->fd);
	for (tries = 0; tries < NAME_TRIES; tries++) {
		if (getrandom(&random, sizeof(random), 0) != sizeof(random))
			return -errno;
		snprintf(name, sizeof(name), ".strata-%012llx", (unsigned long long)(random >> 16));
		temporary->path = beside(target, name);
		if (!temporary->path)
			return -ENOMEM;
		if (!linkat(AT_FDCWD, own, AT_FDCWD, temporary->path, AT_SYMLINK_FOLLOW))
			return 0;
		free(temporary->path);
		temporary->path = NULL;
		if (errno != EEXIST)
			return -errno;
	}
	return -EEXIST;
}

static int temporary_commit(struct temporary *temporary, const char *target)
{
	struct stat old;
	int err = 0;

	if (!stat(target, &old)) {
		/* Only root may give a file away; else it stays the user's own. */
		if (!fchown(temporary->fd, old.st_uid, old.st_gid) || old.st_uid == geteuid())
			fchmod(temporary->fd, old.st_mode & 0777);
	}
	if (!temporary->path)
		err = temporary_name(temporary, target);
	if (!err && rename(temporary->path, target))
		err = -errno;
	if (err) {
		temporary_discard(temporary);
	} else {
		free(temporary->path);
		temporary->path = NULL;
	}
	return err;
}

static int check(void *context, struct diag *diag)
{
	const char *path = context;
	struct temporary temporary;
	struct stat file;
	char *target;
	int err = 0;

	if (is_standard_output(path)) {
		if ((fcntl(STDOUT_FILENO, F_GETFL) & O_ACCMODE) == O_RDONLY)
			return diag_fail(diag, EBADF, "output.closed", "standard output is closed");
		return 0;
	}
	if (!*path)
		return diag_fail(diag, ENOENT, "output.name", "an output's name is empty");
	if (!stat(path, &file) && S_ISDIR(file.st_mode))
		return diag_fail(diag, EISDIR, "output.directory", "%s: is a directory: name a file in it", path);
	if (is_direct(path) || !faccessat(AT_FDCWD, path, F_OK, AT_EACCESS)) {
		if (faccessat(AT_FDCWD, path, W_OK, AT_EACCESS))
			return diag_fail(diag, errno, "output.unwritable", "%s: cannot be written: %m", path);
		if (is_direct(path))
			return 0;
	}
	target = resolve(path);
	err = target ? temporary_open(target, &temporary) : -ENOMEM;
	free(target);
	if (err)
		return diag_fail(diag, -err, "output.unwritable", "%s: cannot be written: %s", path, strerror(-err));
	temporary_discard(&temporary);
	close(temporary.fd);
	return 0;
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

static int write_direct(const char *path, output_writer write, const void *context, struct diag *diag)
{
	int fd, err;

	if (is_standard_output(path)) {
		fflush(stdout);
		return fill(STDOUT_FILENO, false, write, context, diag);
	}
	fd = open(path, O_WRONLY | O_CLOEXEC | O_NOCTTY);
	if (fd < 0)
		return diag_fail(diag, errno, "output.open", "%m");
	err = fill(fd, false, write, context, diag);
	close(fd);
	return err;
}

static int write_replacing(const char *path, output_writer write, const void *context, struct diag *diag)
{
	struct temporary temporary;
	char *target = resolve(path);
	int err = target ? temporary_open(target, &temporary) : -ENOMEM;

	if (err) {
		free(target);
		return diag_fail(diag, -err, "output.open", "%s", strerror(-err));
	}
	err = fill(temporary.fd, true, write, context, diag);
	if (err) {
		temporary_discard(&temporary);
	} else {
		err = temporary_commit(&temporary, target);
		if (err)
			diag_fail(diag, -err, "output.rename", "%s", strerror(-err));
	}
	close(temporary.fd);
	free(target);
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
