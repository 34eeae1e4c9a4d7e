/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * names: the words for numbers in a script's values: symbols, users, attach points, cgroups, dates, stacks. Files are
 * read when first needed and kept. Not thread-safe.
 */
#ifndef STRATA_TRACE_NAMES_H
#define STRATA_TRACE_NAMES_H

#include <stdint.h>
#include <stdio.h>

#include "base/foreign.h"
#include "lang/core/compiler.h"
#include "lang/rt/abi.h"

struct names;
struct stacks;

/* `stacks` may be NULL when the script uses none. Both are borrowed. NULL when memory is short. */
/* `files`, borrowed, reads what programs have mapped; NULL: made when it is first needed. */
struct names *names_create(const struct compiler *compiler, struct stacks *stacks, struct foreign_files *files);
void names_destroy(struct names *names);

/* `is_return`: it is where a call returns to, and the symbol that of the call. */
void names_kernel_symbol(struct names *names, FILE *out, uint64_t address, bool is_return);
void names_user_symbol(struct names *names, FILE *out, uint64_t address, uint64_t pid);
void names_user(struct names *names, FILE *out, uint64_t uid);
/* What it is called now; N/A: it is gone. */
void names_process(struct names *names, FILE *out, uint64_t pid);
/* The filter is a pattern of hierarchies, or NULL: nothing is written of those that it leaves out. */
void names_cgroup(struct names *names, FILE *out, uint64_t id, const char *filter);
void names_probe(struct names *names, FILE *out, uint64_t attach);
/* By a strftime format; \001 before it: nanoseconds since 1970, else since the machine started. */
/* When the machine was started, in nanoseconds since 1970. */
int64_t names_boot_time(const struct names *names);

void names_time(struct names *names, FILE *out, const char *format, uint64_t nanoseconds);
void names_stack(struct names *names, FILE *out, const struct type *type, const struct rt_stack_value *value,
		 bool json);

#endif
