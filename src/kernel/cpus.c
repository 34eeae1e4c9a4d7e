// SPDX-License-Identifier: GPL-2.0-or-later
#include "kernel/cpus.h"

#include <stdio.h>
#include <string.h>

static bool read_list(FILE *file, bool *online, size_t count)
{
	unsigned int first, last, cpu;
	bool any = false;
	int next = ',';

	while (next == ',') {
		if (fscanf(file, "%u", &first) != 1)
			return false;
		last = first;
		next = fgetc(file);
		if (next == '-') {
			if (fscanf(file, "%u", &last) != 1)
				return false;
			next = fgetc(file);
		}
		for (cpu = first; cpu <= last && cpu < count; cpu++)
			online[cpu] = any = true;
	}
	return any && (next == '\n' || next == EOF);
}

bool cpus_online(const char *path, bool *online, size_t count)
{
	FILE *file = fopen(path, "re");
	bool found;

	memset(online, 0, count * sizeof(*online));
	found = file && read_list(file, online, count);
	if (file)
		fclose(file);
	if (!found)
		memset(online, true, count * sizeof(*online));
	return found;
}
