// SPDX-License-Identifier: GPL-2.0-or-later
/* Functions about an address: its source, the module or file, and the node, that it lies in. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "lang/dialect/stap/functions.h"

/* Sources of the kernel are not known. What is not known is the address. */
TEXT_FUNCTION(stap_source_name)
{
	const char *part = strstr(call->text, "sym") + 3, *file = NULL;
	uint64_t address = (uint64_t)arguments[0].number;
	uint32_t line = 0;
	char text[4096 + 16];

	if (*call->text == 'u')
		run->p->words->user_source(run->p->names, address, (uint64_t)stap_need_number(run, NEED_PID), &file,
					   &line);
	if (!file || !line)
		snprintf(text, sizeof(text), "0x%" PRIx64, address);
	else if (!strcmp(part, "file"))
		snprintf(text, sizeof(text), "%s", file);
	else if (!strcmp(part, "line"))
		snprintf(text, sizeof(text), "%" PRIu32, line);
	else
		snprintf(text, sizeof(text), "%s:%" PRIu32, file, line);
	ret->text = stap_text(run, text, strlen(text));
}

/* Where a kernel has one node, all its memory is there. */
TEXT_FUNCTION(stap_node_of)
{
	char text[64] = "";
	FILE *file;

	(void)call;
	ret->number = 0;
	if (arguments[0].number >= 0) {
		stap_fail(run, "invalid kernel virtual address 0x%" PRIx64, (uint64_t)arguments[0].number);
		return;
	}
	file = fopen("/sys/devices/system/node/online", "re");
	if (file) {
		if (!fgets(text, sizeof(text), file))
			*text = '\0';
		fclose(file);
	}
	if (strpbrk(text, ",-"))
		stap_fail(run, "addr_to_node: this machine has several nodes, and whose an address is cannot be told");
}

/* The line of a table of the kernel's in which the address lies: the name of what lies there; "": nothing. */
static void find_module(FILE *file, bool is_user, uint64_t address, char *name, size_t size)
{
	char *line = NULL;
	size_t room = 0;

	while (getline(&line, &room, file) > 0) {
		uint64_t begin, end, length;
		int at = 0;

		if (is_user) {
			if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %*s %*s %*s %*s %n", &begin, &end, &at) != 2 || !at)
				continue;
			line[strcspn(line, "\n")] = '\0';
			if (address >= begin && address < end)
				snprintf(name, size, "%s", line + at);
		} else if (sscanf(line, "%*s %" SCNu64 " %*s %*s %*s %" SCNx64, &length, &begin) == 2) {
			if (address >= begin && address - begin < length)
				snprintf(name, size, "%.*s", (int)strcspn(line, " "), line);
		}
	}
	free(line);
}

TEXT_FUNCTION(stap_module_of)
{
	bool is_user = *call->text == 'u';
	uint64_t address = (uint64_t)arguments[0].number;
	char path[64] = "/proc/modules", name[512] = "";
	FILE *file;

	if (is_user)
		snprintf(path, sizeof(path), "/proc/%" PRId64 "/maps", stap_need_number(run, NEED_PID));
	file = fopen(path, "re");
	if (file) {
		find_module(file, is_user, address, name, sizeof(name));
		fclose(file);
	}
	/* The kernel's own code is no module; it lies in the upper half. */
	if (!is_user && !*name && address >> 63)
		snprintf(name, sizeof(name), "kernel");
	if (!*name)
		stap_fail(run, "address 0x%" PRIx64 " lies in no module", address);
	ret->text = stap_text(run, name, strlen(name));
}
