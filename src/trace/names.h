/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * names: texts for numbers in a script's values: symbols, users, attach points, cgroups, dates, stacks. Files are read
 * when they are first needed, and kept. Not thread-safe.
 */
#ifndef STRATA_TRACE_NAMES_H
#define STRATA_TRACE_NAMES_H

#include <stdint.h>
#include <stdio.h>

#include "base/foreign.h"
#include "lang/dialect/printer.h"

struct stacks;

/* `stacks` may be NULL when the script uses none. Both are borrowed. NULL when memory is short. */
/* `files`, borrowed, reads what programs have mapped; NULL: made when it is first needed. */
/* From now on `compiler`, borrowed, has the places that probes are named after. */
void names_use(struct names *names, const struct compiler *compiler);

struct names *names_create(const struct compiler *compiler, struct stacks *stacks, struct foreign_files *files);
void names_destroy(struct names *names);

/* As a printer asks for them (lang/dialect/printer.h). */
extern const struct print_names names_words;

/* Where `is_return`, the symbol is that of the call. */
void names_kernel_symbol(struct names *names, FILE *out, uint64_t address, bool is_return);
/* When the machine was started, in nanoseconds since 1970. */
int64_t names_boot_time(const struct names *names);

#endif
