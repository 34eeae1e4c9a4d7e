/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * runtime: the runtime library (lang/rt) as the generator sees it: the arguments of its functions, and how it is
 * linked.
 */
#ifndef STRATA_LANG_GEN_RUNTIME_H
#define STRATA_LANG_GEN_RUNTIME_H

#include <stdbool.h>
#include <stddef.h>

/* A letter for the result and one for each argument: p a pointer, s one that may point to the BPF stack, u a number. */
const char *runtime_signature(const char *name);

/* Is all memory that this function is given allowed to be the BPF stack? */
bool runtime_allows_stack(const char *name);

/* Is this function in the part `strings`? */
bool runtime_is_of_strings(const char *name);
/* And in `time`? */
bool runtime_is_of_time(const char *name);

/* Which parts an object needs beside the base. */
struct runtime_parts {
	bool stacks, packets, command, strings, time, python, lines, lines_312, lines_old, calls;
	bool source_lines; /* with the library's source lines, which the verifier's log then shows */
};

/* Links an object with them, to malloc'd memory. 0 or a negative errno. */
int runtime_link(const void *object, size_t object_size, const struct runtime_parts *parts, void **ret, size_t *size);

#endif
