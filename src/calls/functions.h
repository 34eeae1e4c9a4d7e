/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * functions: the functions that are called, by the ids of their code objects. Code objects with the same name, file and
 * first line are one function, also if they are of several processes. Names come from the program and may be any bytes.
 */
#ifndef STRATA_CALLS_FUNCTIONS_H
#define STRATA_CALLS_FUNCTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lang/rt/calls.h"

#define FUNCTIONS_MAX 200000

struct call_time {
	uint64_t wall, cpu;
};

struct function {
	const char *name, *file;
	int line;
	uint32_t index;
	bool is_from;    /* --from's */
	bool is_matched; /* by --match, or all are */
	/* Of the calls that are shown (follow.h). */
	uint64_t calls;         /* how often it began or was resumed, as cProfile counts */
	uint64_t resumes;       /* of these: resumed */
	uint64_t unwinds;       /* how often an exception ended it */
	struct call_time own;   /* without what it calls */
	struct call_time total; /* with what it calls; of recursive calls only the outermost counts */
};

struct functions;

/* `from` and `match` (NULL: none) are borrowed. NULL when memory is short. */
struct functions *functions_create(const char *from, const char *match);
void functions_destroy(struct functions *functions);

/* A code object's names. 0 or -ENOMEM. */
int functions_add(struct functions *functions, const struct rt_call_code *code);

/* The function of a code object; one without a name if it is unknown. Never NULL. Valid until functions_destroy(). */
struct function *functions_find(const struct functions *functions, uint64_t code);

size_t functions_count(const struct functions *functions);
struct function *functions_at(const struct functions *functions, size_t index);
/* How many code objects share one entry because there are too many functions. */
uint64_t functions_refused(const struct functions *functions);

/*
 * Does `name` mean this function? It may be NAME, the last part of a qualified name, or FILE:NAME with the end of a
 * path.
 */
bool function_is_named(const struct function *function, const char *name);

#endif
