/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * binary_arguments: `args` of a uprobe, by the DWARF of its binary. When the function begins, the parameters are in
 * registers and on the stack. The record that the script sees is assembled in the frame; if the script uses only one
 * parameter, only that one is read.
 */
#ifndef STRATA_LANG_PROVIDER_BINARY_ARGUMENTS_H
#define STRATA_LANG_PROVIDER_BINARY_ARGUMENTS_H

#include "lang/core/compiler.h"

struct binary_argument {
	const char *name;        /* "" where it has none */
	const char *declaration; /* as its source has it, with the name */
	const char *missing;     /* why it cannot be read, as in "NAME is ..."; NULL: it can */
	uint32_t size;
	uint32_t offset;       /* in the record */
	uint16_t registers[2]; /* in the context, 8 bytes of it each */
	uint8_t register_count;
	uint32_t stack; /* without registers: from the stack pointer on */
};

struct binary_arguments {
	const char *why;           /* NULL, or why there are none that are known */
	const char *hint;          /* may be NULL */
	const struct type *record; /* of those that can be read */
	const struct binary_argument *at;
	uint32_t count;
};

/* Those of the function at which the attach point is; found once, then kept in it. NULL when memory is short. */
const struct binary_arguments *binary_arguments(struct compiler *c, struct attach *attach);

/* By its name; NULL: there is none. */
const struct binary_argument *binary_argument_find(const struct binary_arguments *arguments, const char *name);

#endif
