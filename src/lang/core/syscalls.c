// SPDX-License-Identifier: GPL-2.0-or-later
#include "lang/core/syscalls.h"

#include <string.h>

static const struct {
	const char *name;
	int number;
} syscalls[] = {
#define SYSCALL(name, number) {#name, number},
#include "syscalls.inc"
#undef SYSCALL
};

#define SYSCALLS (sizeof(syscalls) / sizeof(syscalls[0]))

const char *syscall_name(uint64_t number)
{
	size_t i;

	for (i = 0; i < SYSCALLS; i++)
		if ((uint64_t)syscalls[i].number == number)
			return syscalls[i].name;
	return NULL;
}

int syscall_number(const char *name)
{
	size_t i;

	for (i = 0; i < SYSCALLS; i++)
		if (!strcmp(syscalls[i].name, name))
			return syscalls[i].number;
	return -1;
}
