/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * kernel_functions: the functions of the kernel and its modules. Their addresses come from /proc/kallsyms. Which of
 * them ftrace can be attached to is read from available_filter_functions of the tracing file system, when somebody
 * asks.
 */
#ifndef STRATA_LANG_KERNEL_KERNEL_FUNCTIONS_H
#define STRATA_LANG_KERNEL_KERNEL_FUNCTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/diag.h"

struct kernel_functions;

struct kernel_function {
	const char *name;
	const char *module; /* "vmlinux": the kernel itself */
	uint64_t address;
};

/*
 * `symbols` and `traceable` are paths of the two files; `traceable` may be NULL or unreadable, then no function counts
 * as traceable. Some 100,000 lines, 50 ms. -EACCES with a diag when all addresses read as 0 (kptr_restrict).
 */
int kernel_functions_create(const char *symbols, const char *traceable, struct kernel_functions **ret,
			    struct diag *diag);
void kernel_functions_destroy(struct kernel_functions *functions);

/* In the order of the file; NULL behind the last. Several may have the same name. */
const struct kernel_function *kernel_functions_at(const struct kernel_functions *functions, uint32_t index);

/* The first of this name; NULL: none. All are looked through. */
const struct kernel_function *kernel_functions_find(const struct kernel_functions *functions, const char *name);

/* Is it the first of its name? For many: the first call makes a table. */
bool kernel_functions_is_first(struct kernel_functions *functions, const struct kernel_function *function);

/*
 * Does a function begin with a call of ftrace's? The first call reads `traceable`: 50,000 lines, 30 ms. Without memory
 * for these, none does.
 */
bool kernel_functions_is_traceable(struct kernel_functions *functions, const struct kernel_function *function);

#endif
