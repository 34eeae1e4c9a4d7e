/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * builtin: the functions and words of the language, each an entry of a table. An entry checks its arguments and gives
 * its type, and writes the code for its value: to R0 if the type is a scalar, else into the frame.
 *
 * The words are bpftrace's; other dialects map theirs onto them.
 */
#ifndef STRATA_LANG_BUILTIN_BUILTIN_H
#define STRATA_LANG_BUILTIN_BUILTIN_H

#include "lang/gen/gen.h"

enum builtin_flag {
	BUILTIN_BARE = 1,        /* may stand without parentheses */
	BUILTIN_UNSAFE = 2,      /* only with --unsafe */
	BUILTIN_AGGREGATION = 4, /* only as @map = NAME(...) */
	BUILTIN_BARE_ONLY = 8
};

struct builtin {
	const char *name;
	uint8_t least, most; /* arguments */
	uint8_t flags;
	/* The type of the call; its arguments are not checked yet. */
	const struct type *(*check)(struct compiler *c, struct node *call);
	void (*scalar)(struct gen *g, const struct node *call); /* of scalars, and those without a value */
	void (*place)(struct gen *g, const struct node *call, uint32_t offset); /* of all others */
	const char *usage; /* for messages: "str(pointer [, length])" */
	/*
	 * One field of a record that it gives, or NULL: such a record is written as a whole. True: its address is in
	 * R0. False: it was written to the frame, at *place.
	 */
	bool (*field)(struct gen *g, const struct node *call, const struct type_field *field, uint32_t *place);
	/* Says why the record has no such field. False: there is nothing more to say about it. */
	bool (*explain)(struct compiler *c, const struct node *call, const char *name, struct span span);
};

const struct builtin *builtin_find(const char *name);

/* The groups, each in its own file; ended by an entry without a name. */
extern const struct builtin builtins_process[], builtins_time[], builtins_text[], builtins_output[], builtins_maps[],
	builtins_aggregations[], builtins_probe[], builtins_stacks[], builtins_meta[], builtins_net[],
	builtins_address[], builtins_kernel[];

#endif
