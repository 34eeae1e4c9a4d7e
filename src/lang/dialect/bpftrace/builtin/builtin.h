/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * builtin: the functions and builtin variables of bpftrace's language, each an entry of a table. An entry checks its
 * arguments, gives its type, and names its equivalent in the core.
 */
#ifndef STRATA_LANG_DIALECT_BPFTRACE_BUILTIN_BUILTIN_H
#define STRATA_LANG_DIALECT_BPFTRACE_BUILTIN_BUILTIN_H

#include "lang/dialect/bpftrace/check/check.h"

enum builtin_flag {
	BUILTIN_BARE = 1,        /* may stand without parentheses */
	BUILTIN_UNSAFE = 2,      /* only with --unsafe */
	BUILTIN_AGGREGATION = 4, /* only as @map = NAME(...) */
	BUILTIN_BARE_ONLY = 8,
	BUILTIN_DISCARDABLE = 16, /* it is called for its effect, not for its value */
	BUILTIN_LEAVES = 32       /* nothing runs behind it */
};

#define OPERANDS_NONE 0xff

struct builtin {
	const char *name;
	uint8_t least, most; /* arguments */
	uint8_t flags;
	/* The type of the call; its arguments are not checked yet. It may change the call into something else. */
	const struct type *(*check)(struct compiler *c, struct ast *call);
	enum core_builtin code; /* CORE_NONE: `check` leaves none in the tree */
	uint8_t taken;          /* arguments, by their bits, that are known by then, and no operands in the core */
	const char *usage;      /* for messages: "str(pointer [, length])" */
	/* Says why the record that it gives has no such field. False: there is nothing more to say about it. */
	bool (*explain)(struct compiler *c, const struct ast *call, const char *name, struct span span);
};

const struct builtin *builtin_find(const char *name);

/* The groups, each in its own file; ended by an entry without a name. */
extern const struct builtin builtins_process[], builtins_time[], builtins_text[], builtins_output[], builtins_maps[],
	builtins_aggregations[], builtins_probe[], builtins_stacks[], builtins_meta[], builtins_net[],
	builtins_address[], builtins_kernel[];

#endif
