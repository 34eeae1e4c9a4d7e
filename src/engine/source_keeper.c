// SPDX-License-Identifier: GPL-2.0-or-later
/* The keeper's side: the only one that opens source files. It looks at nothing in them. */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <linux/capability.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/foreign_parts.h"
#include "base/time.h"
#include "engine/source_files.h"

struct rights {
	bool plain; /* real, effective, saved and file-system ids are the same */
	uint32_t user, group;
};

struct held {
	int pid;
	uint32_t kind;
	uint64_t sampled; /* the sample for which it was looked at */
	uint64_t looked;  /* when its ids were known */
	struct rights rights;
	bool refused;
	int root, directory; /* O_PATH */
};

struct keeper {
	int socket;
	struct held held[2 * SOURCE_FILES_HELD_MAX];
	size_t count;
	uint8_t piece[SOURCE_FILES_PIECE];
	char path[PATH_MAX];
};

static struct held *find(struct keeper *keeper, uint32_t kind, int pid)
{
	size_t i;

	for (i = 0; i < keeper->count; i++)
		if (keeper->held[i].pid == pid && keeper->held[i].kind == kind)
			return &keeper->held[i];
	return NULL;
}

static bool read_rights(int process, struct rights *ret)
{
	unsigned int ids[2][4] = {};
	bool has_user = false, has_group = false;
	int fd = openat(process, "status", O_RDONLY | O_CLOEXEC);
	FILE *status = fd < 0 ? NULL : fdopen(fd, "r");
	char line[256];

	if (!status && fd >= 0)
		close(fd);
	while (status && fgets(line, sizeof(line), status)) {
		has_user |= sscanf(line, "Uid:\t%u\t%u\t%u\t%u", &ids[0][0], &ids[0][1], &ids[0][2], &ids[0][3]) == 4;
		has_group |= sscanf(line, "Gid:\t%u\t%u\t%u\t%u", &ids[1][0], &ids[1][1], &ids[1][2], &ids[1][3]) == 4;
	}
	if (status)
		fclose(status);
	if (!has_user || !has_group)
		return false;
	*ret = (struct rights){.plain = true, .user = ids[0][0], .group = ids[1][0]};
	for (size_t i = 1; i < 4; i++)
		ret->plain &= ids[0][i] == ret->user && ids[1][i] == ret->group;
	return true;
}

static bool same_rights(const struct rights *a, const struct rights *b)
{
	return a->plain == b->plain && a->user == b->user && a->group == b->group;
}

/* All through one descriptor: what it opens is of the same process, or nothing. */
static bool look(int pid, struct held *ret)
{
	const int flags = O_PATH | O_DIRECTORY | O_CLOEXEC;
	char path[32];
	int process;

	snprintf(path, sizeof(path), "/proc/%d", pid);
	process = open(path, flags);
	if (process < 0)
		return false;
	ret->root = ret->directory = -1;
	if (read_rights(process, &ret->rights)) {
		ret->looked = (uint64_t)(time_s(CLOCK_MONOTONIC) * 1e9) + 1000; /* rounded up */
		ret->root = openat(process, "root", flags);
		ret->directory = openat(process, "cwd", flags);
	}
	close(process);
	if (ret->root >= 0)
		return true;
	if (ret->directory >= 0)
		close(ret->directory);
	return false;
}

static void meet(struct keeper *keeper, uint32_t kind, int pid, uint64_t time)
{
	struct held *held = find(keeper, kind, pid), seen = {.pid = pid, .kind = kind, .sampled = time};

	if ((!held && keeper->count == 2 * SOURCE_FILES_HELD_MAX) || !look(pid, &seen))
		return;
	if (!held) {
		keeper->held[keeper->count++] = seen;
		return;
	}
	close(held->root);
	if (held->directory >= 0)
		close(held->directory);
	seen.refused = held->refused || !same_rights(&held->rights, &seen.rights);
	*held = seen;
}

static void renew(struct keeper *keeper, int pid, uint64_t time)
{
	size_t i;

	for (i = 0; i < keeper->count; i++) {
		struct held *held = &keeper->held[i];

		if (held->pid == pid && held->sampled < time && time <= held->looked)
			held->refused = true;
	}
}

static int set_effective(bool all)
{
	struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = {};
	size_t i;

	if (syscall(SYS_capget, &head, data))
		return -errno;
	for (i = 0; i < _LINUX_CAPABILITY_U32S_3; i++)
		data[i].effective = all ? data[i].permitted : 0;
	return syscall(SYS_capset, &head, data) ? -errno : 0;
}

/* The rights of a process, for files. Kept as the real user is strata's: others cannot end or trace the keeper. */
static int take_rights(const struct rights *rights)
{
	if (!rights->plain)
		return -EPERM;
	if (setgroups(0, NULL) && rights->user != geteuid())
		return -EPERM;
	setfsgid(rights->group);
	setfsuid(rights->user);
	if ((uint32_t)setfsuid((uid_t)-1) != rights->user || (uint32_t)setfsgid((gid_t)-1) != rights->group)
		return -EPERM;
	return set_effective(false);
}

static void give_rights_back(void)
{
	setfsuid(geteuid());
	setfsgid(getegid());
	if (set_effective(true))
		_exit(1);
}

static int open_in(const struct held *held, const char *path, int flags)
{
	struct open_how how = {.flags = (uint64_t)(flags | O_CLOEXEC)};

	if (*path == '/')
		how.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS;
	else
		how.resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS;
	return (int)syscall(SYS_openat2, *path == '/' ? held->root : held->directory, path, &how, sizeof(how));
}

/* First only to see what it is: to open a device can have effects. */
static int open_source(const struct held *held, const char *path, struct stat *ret)
{
	int fd = open_in(held, path, O_PATH);
	int err = fd < 0 ? -errno : fstat(fd, ret) ? -errno : S_ISREG(ret->st_mode) ? 0 : -EINVAL;

	if (fd >= 0)
		close(fd);
	if (err)
		return err;
	fd = open_in(held, path, O_RDONLY | O_NONBLOCK | O_NOCTTY);
	if (fd < 0)
		return -errno;
	err = fstat(fd, ret) ? -errno : !S_ISREG(ret->st_mode) ? -EINVAL : 0;
	if (!err && ret->st_size > SOURCE_FILES_FILE_MAX)
		err = -EFBIG;
	if (!err)
		return fd;
	close(fd);
	return err;
}

static void tell(const struct keeper *keeper, const void *bytes, size_t size)
{
	if (foreign_send(keeper->socket, &(struct iovec){(void *)bytes, size}, 1, NULL, 0))
		_exit(0);
}

/* As many bytes as were announced: zeros in place of what is not there any more, so that it is no text. */
static void tell_bytes(struct keeper *keeper, int fd, size_t size)
{
	size_t at, part;
	ssize_t got;

	for (at = 0; at < size; at += part) {
		part = size - at < SOURCE_FILES_PIECE ? size - at : SOURCE_FILES_PIECE;
		got = pread(fd, keeper->piece, part, (off_t)at);
		if (got < (ssize_t)part)
			memset(keeper->piece + (got < 0 ? 0 : got), 0, part - (size_t)(got < 0 ? 0 : got));
		tell(keeper, keeper->piece, part);
	}
}

static void read_source(struct keeper *keeper, uint32_t kind, int pid)
{
	const struct held *held = find(keeper, kind, pid);
	struct source_files_answer answer = {.result = !held ? -ESRCH : held->refused ? -EPERM : 0};
	struct stat status;
	int fd = -1;

	if (!answer.result) {
		answer.result = take_rights(&held->rights);
		if (!answer.result)
			fd = open_source(held, keeper->path, &status);
		give_rights_back();
	}
	if (!answer.result && fd < 0)
		answer.result = fd;
	if (fd >= 0) {
		answer.size = (uint32_t)status.st_size;
		answer.changed = (uint64_t)status.st_mtim.tv_sec * 1000000000 + (uint64_t)status.st_mtim.tv_nsec;
	}
	tell(keeper, &answer, sizeof(answer));
	if (fd < 0)
		return;
	tell_bytes(keeper, fd, answer.size);
	close(fd);
}

void source_keeper(int socket)
{
	struct keeper *keeper = calloc(1, sizeof(*keeper));
	struct source_files_question question;
	int fds[1];

	prctl(PR_SET_NAME, "strata-sources");
	if (!keeper)
		return;
	keeper->socket = socket;
	for (;;) {
		const struct iovec parts[] = {{&question, sizeof(question)}, {keeper->path, sizeof(keeper->path) - 1}};
		ssize_t size;

		memset(keeper->path, 0, sizeof(keeper->path));
		size = foreign_receive(socket, parts, 2, fds, 1);
		if (size < (ssize_t)sizeof(question))
			_exit(0);
		switch (question.ask) {
		case SOURCE_FILES_MEET:
			meet(keeper, question.kind, question.pid, question.time);
			break;
		case SOURCE_FILES_RENEW:
			renew(keeper, question.pid, question.time);
			break;
		default:
			read_source(keeper, question.kind, question.pid);
			break;
		}
	}
}
