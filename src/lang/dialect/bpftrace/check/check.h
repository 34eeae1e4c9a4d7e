/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * check: takes a script in bpftrace's language from the parser's tree to one whose types are known, and to the core.
 *
 *   script ─► units, each with a copy of its probe's tree
 *         ─► types, by checking all units until nothing changes any more
 *         ─► core, unit by unit (lower.c)
 */
#ifndef STRATA_LANG_DIALECT_BPFTRACE_CHECK_CHECK_H
#define STRATA_LANG_DIALECT_BPFTRACE_CHECK_CHECK_H

#include "lang/core/compiler.h"
#include "lang/dialect/bpftrace/ast.h"
#include "lang/dialect/bpftrace/settings.h"

/* An option that the script asks getopt() for, and the words about it, which may be empty. */
struct parameter {
	const char *name, *words;
};

/* A unit's trees while they are checked. */
struct checked {
	struct ast *predicate, *body; /* predicate: or NULL */
};

/* What bpftrace's language keeps of a script: compiler.of_dialect. */
struct checker {
	struct script script;
	VEC(struct checked) units;        /* in the compiler's order */
	VEC(struct parameter) parameters; /* what the script asks getopt() for */
	VEC(struct symbol *) scope;
	uint32_t depth;
	unsigned int loops;
	unsigned int unreached; /* how many branches around the current place are excluded by a constant condition */
	unsigned int nesting, macro_depth;
	uint32_t round; /* units checked so far, over all passes */
	bool changed;   /* a type has grown: check again */
	bool pending;   /* some code depends on a type that may still grow */
	bool deciding;  /* types are not changed until the code that depends on them is checked */
	bool final;     /* types do not change any more: what is still unknown is an error */
};

static inline struct checker *checker(const struct compiler *c)
{
	return c->of_dialect;
}

/* mentions.c: enum probe_use of an action. */
unsigned int check_uses(const struct compiler *c, const struct probe *probe);

/* Complains about named parameters that the script does not know, after check_all(). */
void check_parameters(struct compiler *c);

/* Checks one unit, annotates its nodes. */
void check_unit(struct compiler *c, uint32_t unit);

/* Checks all units until types are stable. */
void check_all(struct compiler *c);

/* lower.c: gives all units their trees of the core. */
void lower_all(struct compiler *c);

/* The units' trees with the types that were found, for -d types. */
void check_dump(const struct compiler *c, FILE *out);

/* For builtins: */

/* Checks an expression and gives its type; reports what is wrong. Never NULL. */
const struct type *check_value(struct compiler *c, struct ast *node);
/* The same for a value that is stored or printed: all arguments of the probe are copied as a record. */
const struct type *check_kept(struct compiler *c, struct ast *node);
/* An expression that must be a number; an aggregation is read as one. False, with a complaint, when it is not. */
bool check_number(struct compiler *c, struct ast *node);
/* The text of a literal (or of a positional parameter), or NULL with a complaint. */
const char *check_literal_text(struct compiler *c, struct ast *node, const char *what);
/* The value of a constant number; false with a complaint. */
bool check_literal_number(struct compiler *c, struct ast *node, int64_t *ret);
/* The map itself, not its value: for print(@x), clear(@x). NULL with a complaint. */
struct symbol *check_map_name(struct compiler *c, struct ast *node);
/* A map's key against its type, which grows if need be. */
void check_key(struct compiler *c, struct symbol *map, struct ast *key, struct span span);
struct symbol *check_map_symbol(struct compiler *c, struct ast *node);
void check_statement(struct compiler *c, struct ast *node);
/* The number of the site that `call` makes, new at the first check. */
uint32_t check_site(struct compiler *c, struct ast *call, struct site site);
/* Makes a variable or map hold values of this type as well. False with a complaint when it cannot. */
bool check_grow(struct compiler *c, struct symbol *symbol, const struct type *type, struct span span);
/* What an arithmetic operator makes of two numbers: 64 bits. */
const struct type *check_arithmetic(enum op op, const struct type *a, const struct type *b);
/* A type as written. */
const struct type *check_type_name(struct compiler *c, const struct type_name *name);
/* The type that is named, or that of an expression, where either may stand, as in sizeof(). */
const struct type *check_type_of(struct compiler *c, struct ast *node);
/* Has a call, whose builtin is set, as many arguments as it takes? Complains if not. */
bool check_argument_count(struct compiler *c, const struct ast *call);
/* Is it known while compiling? Then *ret is its value. */
bool check_constant(const struct ast *node, int64_t *ret);

#endif
