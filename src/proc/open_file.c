// SPDX-License-Identifier: GPL-2.0-or-later
#include "proc/open_file.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>

#define PATHS_SIZE (PATH_MAX + 64)

/*
 * The ways to a file that a process has mapped: the mapping itself (right even when the file was deleted), the path in
 * the process's root, in its parent's root (when it is gone already), and in ours. By the inode, as overlay and btrfs
 * have other devices in stat() than in maps.
 */
int mapped_file_open(struct foreign_files *files, const struct mapped_file *file, const struct process *process,
		     const struct process_mapping *mapping, struct foreign_file **ret)
{
	char by_mapping[64], own[PATHS_SIZE], parents[PATHS_SIZE], first[PATHS_SIZE];
	struct foreign_request request = {.inode = file->inode, .place = FOREIGN_DEVICE(file->device)};
	size_t count = 0;

	if (process && mapping) {
		snprintf(by_mapping, sizeof(by_mapping), "/proc/%d/map_files/%" PRIx64 "-%" PRIx64, process->pid,
			 mapping->start, mapping->end);
		request.paths[count++] = by_mapping;
	}
	if (process) {
		snprintf(own, sizeof(own), "/proc/%d/root%s", process->pid, file->path);
		request.paths[count++] = own;
	}
	if (process && process->parent) {
		snprintf(parents, sizeof(parents), "/proc/%d/root%s", process->parent, file->path);
		request.paths[count++] = parents;
	}
	if (!process || process->pid != file->pid) {
		snprintf(first, sizeof(first), "/proc/%d/root%s", file->pid, file->path);
		request.paths[count++] = first;
	}
	request.paths[count] = file->path;
	return foreign_open(files, &request, ret);
}
