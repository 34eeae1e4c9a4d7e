/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * dialect: a language of scripts, in a folder of its own. Its functions are called in this order: begin, parse, check,
 * end. parse and check are only called while the report has no errors, end in any case. Its state is in
 * compiler.of_dialect.
 */
#ifndef STRATA_LANG_DIALECT_DIALECT_H
#define STRATA_LANG_DIALECT_DIALECT_H

#include "lang/dialect/printer.h"

struct translation;

struct dialect {
	const char *name;
	/* Sets all settings (compiler.numbers and texts). If memory is short, arena->failed is set. */
	void (*begin)(struct compiler *c);
	/* The report's source to the dialect's own tree; compiler.points are what it names. */
	void (*parse)(struct compiler *c);
	/* Settings of the script and the environment, units, types, and the units' trees of the core. */
	void (*check)(struct compiler *c);
	void (*end)(struct compiler *c);
	/* The tree as it was parsed, and with its types, for -d ast and -d types. May be NULL. */
	void (*print_tree)(const struct compiler *c, FILE *out);
	void (*print_types)(const struct compiler *c, FILE *out);
	/* A script that was parsed, in one style. NULL: there is none for it. */
	void (*format)(struct report *report, FILE *out);
	/* The places that a script names, after check(). NULL: providers list them. */
	void (*list)(const struct compiler *c, FILE *out);
	/* A script that was parsed, in bpftrace's language (lang/translate/translate.h). NULL: it cannot. */
	void (*translate)(struct compiler *c, struct translation *translation);
	const struct dialect_print *print; /* of what the running script sends */
};

extern const struct dialect dialect_bpftrace, dialect_d, dialect_stap;

/* The dialect of this name, or NULL. */
const struct dialect *dialect_find(const char *name);

#endif
