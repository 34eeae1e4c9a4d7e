// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/process_stat.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

unsigned long process_stat_ticks(pid_t pid, char *state)
{
	unsigned long user = 0, system = 0;
	char path[32], text[512];
	const char *rest;
	ssize_t size;
	int fd;

	*state = '\0';
	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return 0;
	size = read(fd, text, sizeof(text) - 1);
	close(fd);
	text[size > 0 ? size : 0] = '\0';
	rest = strrchr(text, ')');
	if (rest)
		sscanf(rest + 1, " %c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu", state, &user, &system);
	return user + system;
}
