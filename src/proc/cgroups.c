// SPDX-License-Identifier: GPL-2.0-or-later
#include "proc/cgroups.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#define DEPTH_MAX 32

/* Looks through `folder`, which it closes, and what is below; `path` is where that is. */
static bool find(int folder, uint64_t id, char *path, size_t size, unsigned int depth)
{
	DIR *entries = fdopendir(folder);
	size_t length = strlen(path);
	struct dirent *entry;
	bool found = false;

	while (entries && !found && depth < DEPTH_MAX && (entry = readdir(entries))) {
		int inner;

		if (entry->d_type != DT_DIR || entry->d_name[0] == '.')
			continue;
		if ((size_t)snprintf(path + length, size - length, "/%s", entry->d_name) >= size - length)
			continue;
		if (entry->d_ino == id) {
			found = true;
			break;
		}
		inner = openat(dirfd(entries), entry->d_name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		if (inner >= 0)
			found = find(inner, id, path, size, depth + 1);
	}
	if (!found)
		path[length] = '\0';
	if (entries)
		closedir(entries);
	else
		close(folder);
	return found;
}

bool cgroup_path(uint64_t id, char *ret, size_t size)
{
	static const char *const roots[] = {"/sys/fs/cgroup", "/sys/fs/cgroup/unified"};
	struct stat stat;
	size_t i;

	for (i = 0; i < sizeof(roots) / sizeof(roots[0]); i++) {
		int folder = open(roots[i], O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		struct statfs system;

		if (folder < 0)
			continue;
		/* Where both versions are mounted, the first one is a tmpfs, whose inode numbers mean nothing here. */
		if (fstatfs(folder, &system) || system.f_type != CGROUP2_SUPER_MAGIC) {
			close(folder);
			continue;
		}
		ret[0] = '\0';
		if (!fstat(folder, &stat) && stat.st_ino == id) {
			close(folder);
			snprintf(ret, size, "/");
			return true;
		}
		if (find(folder, id, ret, size, 0))
			return true;
	}
	return false;
}
