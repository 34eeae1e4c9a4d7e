// SPDX-License-Identifier: GPL-2.0-or-later
#include "arch/arch.h"

#include <elf.h>
#include <string.h>

#include "arch/aarch64/parts.h"
#include "arch/x86_64/parts.h"

#if defined(__aarch64__)
#define HERE EM_AARCH64
#else
#define HERE EM_X86_64
#endif

const struct arch *arch_of(uint16_t machine)
{
	switch (machine) {
	case EM_X86_64:
		return &x86_64;
	case EM_AARCH64:
		return &aarch64;
	default:
		return NULL;
	}
}

const struct arch *arch_here(void)
{
	return arch_of(HERE);
}

const struct arch_register *arch_register_named(const struct arch *arch, const char *name)
{
	const struct arch_register *at;

	for (at = arch->registers; at->name; at++)
		if (!strcmp(at->name, name) || (at->alias && !strcmp(at->alias, name)))
			return at;
	return NULL;
}

const struct arch_register *arch_register_numbered(const struct arch *arch, unsigned int number)
{
	const struct arch_register *at;

	for (at = arch->registers; at->name; at++)
		if (at->number == number && number != ARCH_NO_NUMBER)
			return at;
	return NULL;
}
