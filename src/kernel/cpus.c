// SPDX-License-Identifier: GPL-2.0-or-later
#include "kernel/cpus.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
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

/* A number of at most six digits. */
static bool take_number(const char **at, unsigned long *ret)
{
	size_t digits = strspn(*at, "0123456789");

	*ret = strtoul(*at, NULL, 10);
	*at += digits;
	return digits && digits <= 6;
}

int cpus_parse(const char *text, bool *ret, size_t count, unsigned long *beyond)
{
	unsigned long first, last, cpu;
	int err = 0;

	for (;; text++) {
		if (!take_number(&text, &first))
			return -EINVAL;
		last = first;
		if (*text == '-' && (text++, !take_number(&text, &last)))
			return -EINVAL;
		if (last < first || (*text && *text != ','))
			return -EINVAL;
		for (cpu = first; cpu <= last && cpu < count; cpu++)
			ret[cpu] = true;
		if (cpu <= last && !err) {
			err = -ERANGE;
			*beyond = cpu;
		}
		if (!*text)
			return err;
	}
}
