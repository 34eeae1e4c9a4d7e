// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/person.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NAME_MAX_TEXT "255" /* of NAME_BYTES */
#define NAME_BYTES    256

/* The whole of a text as a number below 2^32. */
static bool read_number(const char *text, uint32_t *ret)
{
	unsigned long long number;
	char *end;

	if (*text < '0' || *text > '9')
		return false;
	number = strtoull(text, &end, 10);
	if (*end || number > UINT32_MAX)
		return false;
	*ret = (uint32_t)number;
	return true;
}

/* passwd(5): NAME:PASSWORD:UID:... */
static bool find_name(const char *wanted, const char *names, uint32_t *ret)
{
	FILE *file = names ? fopen(names, "re") : NULL;
	char *line = NULL, *rest, *name, *number;
	size_t room = 0;
	bool found = false;

	while (file && !found && getline(&line, &room, file) >= 0) {
		rest = line;
		name = strsep(&rest, ":\n");
		strsep(&rest, ":\n"); /* the password; may be empty */
		number = strsep(&rest, ":\n");
		found = number && !strcmp(name, wanted) && read_number(number, ret);
	}
	free(line);
	if (file)
		fclose(file);
	return found;
}

uint32_t person_find(uint32_t user, const char *ranges, const char *names)
{
	FILE *file = ranges ? fopen(ranges, "re") : NULL;
	char *line = NULL, name[NAME_BYTES];
	uint32_t first, ret = user;
	unsigned long long count;
	size_t room = 0;

	while (file && getline(&line, &room, file) >= 0) {
		/* NAME:FIRST:COUNT */
		if (sscanf(line, "%" NAME_MAX_TEXT "[^:]:%" SCNu32 ":%llu", name, &first, &count) != 3 ||
		    user < first || user - first >= count)
			continue;
		if (!read_number(name, &ret) && !find_name(name, names, &ret))
			ret = first;
		break;
	}
	free(line);
	if (file)
		fclose(file);
	return ret;
}

uint32_t person_of(uint32_t user)
{
	return user ? person_find(user, "/etc/subuid", "/etc/passwd") : user;
}
