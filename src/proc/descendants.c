// SPDX-License-Identifier: GPL-2.0-or-later
#include "proc/descendants.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/table.h"
#include "base/vec.h"

#define STAT_MAX 1024 /* bytes of a line: 52 numbers, and a name of 64 bytes at most */

bool descendant_read(int pid, struct descendant *ret)
{
	char path[40], line[STAT_MAX];
	const char *name, *rest; /* a name may have any character in it, so its end is the last bracket */
	struct descendant found = {.pid = pid};
	uint64_t user, kernel;
	ssize_t size = -1;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0) {
		size = read(fd, line, sizeof(line) - 1);
		close(fd);
	}
	if (size <= 0)
		return false;
	line[size] = '\0';
	name = strchr(line, '(');
	rest = strrchr(line, ')');
	if (!name || !rest || rest < name ||
	    sscanf(rest + 1,
		   " %*c %d %*d %*d %*d %*d %*u %*u %*u %*u %*u %" SCNu64 " %" SCNu64
		   " %*d %*d %*d %*d %*d %*d %" SCNu64,
		   &found.parent, &user, &kernel, &found.started) != 4)
		return false;
	found.ticks = user + kernel;
	snprintf(found.name, sizeof(found.name), "%.*s", (int)(rest - name - 1), name + 1);
	*ret = found;
	return true;
}

typedef VEC(struct descendant) list;

static int read_all(list *ret)
{
	DIR *proc = opendir("/proc");
	struct descendant found;
	const struct dirent *entry;
	int err = 0;

	if (!proc)
		return -errno;
	while (!err && (entry = readdir(proc)))
		if (atoi(entry->d_name) > 0 && descendant_read(atoi(entry->d_name), &found))
			err = vec_push(ret, found);
	closedir(proc);
	return err;
}

/* Moves those whose parents are known to the front, until there are no others; their number in *ret. */
static int sort_out(list *all, const int *pids, size_t count, size_t *ret)
{
	struct table known = {};
	size_t found = 0, before, i;
	int err = 0;

	for (i = 0; i < count && !err; i++)
		err = table_set(&known, (uint64_t)pids[i], 1);
	do {
		before = found;
		for (i = found; i < all->count && !err; i++) {
			const struct descendant one = all->at[i];

			if (table_get(&known, (uint64_t)one.pid, NULL) ||
			    !table_get(&known, (uint64_t)(unsigned int)one.parent, NULL))
				continue;
			err = table_set(&known, (uint64_t)one.pid, 1);
			all->at[i] = all->at[found];
			all->at[found++] = one;
		}
	} while (!err && found > before);
	table_deinit(&known);
	*ret = found;
	return err;
}

int descendants_find(const int *pids, size_t count, struct descendant **ret, size_t *ret_count)
{
	list all = {};
	size_t found = 0;
	int err = read_all(&all);

	if (!err)
		err = sort_out(&all, pids, count, &found);
	if (err) {
		vec_free(&all);
		return err;
	}
	*ret = all.at;
	*ret_count = found;
	return 0;
}
