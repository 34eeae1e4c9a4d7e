// SPDX-License-Identifier: GPL-2.0-or-later
#include "proc/cgroups.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#define DEPTH_MAX 32
/* Of a file handle: kernel, include/linux/exportfs.h. Since 5.5 that of a cgroup is its id (fs/kernfs/mount.c). */
#define HANDLE_KERNFS 0xfe

static const char *const roots[] = {"/sys/fs/cgroup", "/sys/fs/cgroup/unified"};

/* Where both versions are mounted, the first one is a tmpfs, whose inode numbers mean nothing here. */
static bool is_cgroup(int fd)
{
	struct statfs system;

	return !fstatfs(fd, &system) && system.f_type == CGROUP2_SUPER_MAGIC;
}

/* The folder of all; -ENODEV: there is none. *ret is its path. */
static int open_root(const char **ret)
{
	size_t i;

	for (i = 0; i < sizeof(roots) / sizeof(roots[0]); i++) {
		int folder = open(roots[i], O_RDONLY | O_DIRECTORY | O_CLOEXEC);

		if (folder >= 0 && is_cgroup(folder)) {
			*ret = roots[i];
			return folder;
		}
		if (folder >= 0)
			close(folder);
	}
	return -ENODEV;
}

struct walk {
	bool (*take)(void *context, uint64_t id, const char *path);
	void *context;
	char path[PATH_MAX];
};

/* Goes through `folder`, which it closes, and what is below; walk->path is where that is. False: it is to end. */
static bool walk_below(struct walk *walk, int folder, unsigned int depth)
{
	DIR *entries = fdopendir(folder);
	size_t length = strlen(walk->path), room = sizeof(walk->path) - length;
	struct dirent *entry;
	bool goes_on = true;

	while (entries && goes_on && depth < DEPTH_MAX && (entry = readdir(entries))) {
		int inner;

		if (entry->d_type != DT_DIR || entry->d_name[0] == '.' ||
		    (size_t)snprintf(walk->path + length, room, "/%s", entry->d_name) >= room)
			continue;
		goes_on = walk->take(walk->context, entry->d_ino, walk->path);
		inner = goes_on ? openat(dirfd(entries), entry->d_name, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
		if (inner >= 0)
			goes_on = walk_below(walk, inner, depth + 1);
	}
	walk->path[length] = '\0';
	if (entries)
		closedir(entries);
	else
		close(folder);
	return goes_on;
}

bool cgroups_each(bool (*take)(void *context, uint64_t id, const char *path), void *context)
{
	struct walk walk = {.take = take, .context = context};
	const char *root;
	int folder = open_root(&root);
	struct stat stat;

	if (folder < 0)
		return false;
	if (fstat(folder, &stat) || !take(context, stat.st_ino, "/"))
		close(folder);
	else
		walk_below(&walk, folder, 0);
	return true;
}

/* The path below the root of what is open, as far as that can be told. */
static bool path_of(int fd, const char *root, char *ret, size_t size)
{
	char link[64], path[PATH_MAX];
	size_t length = strlen(root);
	ssize_t got;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	got = readlink(link, path, sizeof(path) - 1);
	if (got < 0)
		return false;
	path[got] = '\0';
	if (strncmp(path, root, length) || (path[length] && path[length] != '/'))
		return false;
	return (size_t)snprintf(ret, size, "%s", path[length] ? path + length : "/") < size;
}

/* By the id as a file handle, which needs a capability. */
static bool path_by_handle(int folder, const char *root, uint64_t id, char *ret, size_t size)
{
	struct {
		struct file_handle handle;
		unsigned char id[sizeof(id)];
	} wanted = {.handle = {.handle_bytes = sizeof(id), .handle_type = HANDLE_KERNFS}};
	bool found;
	int fd;

	memcpy(wanted.handle.f_handle, &id, sizeof(id));
	fd = open_by_handle_at(folder, &wanted.handle, O_PATH | O_CLOEXEC);
	found = fd >= 0 && path_of(fd, root, ret, size);
	if (fd >= 0)
		close(fd);
	return found;
}

struct search {
	uint64_t id;
	char *path;
	size_t size;
	bool found;
};

static bool is_searched(void *context, uint64_t id, const char *path)
{
	struct search *search = context;

	if (id != search->id)
		return true;
	search->found = (size_t)snprintf(search->path, search->size, "%s", path) < search->size;
	return false;
}

bool cgroup_path(uint64_t id, char *ret, size_t size)
{
	struct search search = {.id = id, .path = ret, .size = size};
	const char *root;
	int folder = open_root(&root);
	bool found = folder >= 0 && path_by_handle(folder, root, id, ret, size);

	if (folder >= 0)
		close(folder);
	if (found)
		return true;
	cgroups_each(is_searched, &search);
	return search.found;
}

int cgroup_open(const char *name, char *path, size_t size)
{
	char whole[PATH_MAX];
	const char *root;
	int folder = open_root(&root), fd, err;

	if (folder < 0)
		return folder;
	close(folder);
	if (!strncmp(name, root, strlen(root)) && (!name[strlen(root)] || name[strlen(root)] == '/'))
		name += strlen(root);
	name += strspn(name, "/");
	if ((size_t)snprintf(whole, sizeof(whole), "%s/%s", root, name) >= sizeof(whole))
		return -ENAMETOOLONG;
	fd = open(whole, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	err = !is_cgroup(fd) ? -ENODEV : path_of(fd, root, path, size) ? 0 : -ENOENT;
	if (err)
		close(fd);
	return err ? err : fd;
}

bool cgroup_path_of_thread(int pid, int tid, char *ret, size_t size)
{
	char path[96], line[PATH_MAX + 16];
	bool found = false;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/cgroup", pid, tid);
	file = fopen(path, "re");
	while (file && !found && fgets(line, sizeof(line), file)) {
		line[strcspn(line, "\n")] = '\0';
		found = !strncmp(line, "0::", 3) && (size_t)snprintf(ret, size, "%s", line + 3) < size;
	}
	if (file)
		fclose(file);
	return found;
}

uint64_t cgroup_of_thread(int pid, int tid)
{
	char path[PATH_MAX], opened[PATH_MAX];
	struct stat stat = {};
	int fd = cgroup_path_of_thread(pid, tid, path, sizeof(path)) ? cgroup_open(path, opened, sizeof(opened)) : -1;

	if (fd < 0)
		return 0;
	if (fstat(fd, &stat))
		stat.st_ino = 0;
	close(fd);
	return stat.st_ino;
}

bool cgroup_is_below(const char *path, const char *above)
{
	size_t length = strlen(above);

	if (!strcmp(above, "/"))
		return true;
	return !strncmp(path, above, length) && (!path[length] || path[length] == '/');
}
