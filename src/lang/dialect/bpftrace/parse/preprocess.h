/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * preprocess: the directives (#) of a script and of the C headers that it includes: macros, conditions and includes. It
 * is between the lexer and the parser, which sees the remaining tokens.
 */
#ifndef STRATA_LANG_DIALECT_BPFTRACE_PARSE_PREPROCESS_H
#define STRATA_LANG_DIALECT_BPFTRACE_PARSE_PREPROCESS_H

#include "base/table.h"
#include "base/vec.h"
#include "lang/dialect/bpftrace/parse/lexer.h"

struct parser;

/* #define NAME TEXT, or NAME(parameters) TEXT. Texts live in the arena. */
struct define {
	const char *name; /* NULL: undefined again */
	const char *text;
	const char **parameters;
	uint32_t parameter_count;
	bool is_function;
	bool of_header;
};

/* Those of a script and all that it includes. */
struct defines {
	VEC(struct define) all;
	struct table by_name;
	size_t header_bytes; /* read so far */
	bool is_ready;       /* what every script finds defined is there */
};

void defines_deinit(struct defines *defines);

/* The next token, after expanding macros; directives before it are executed. */
struct token preprocess_next(struct parser *p);

/* #include "NAME" or <NAME>, whose place in the script is `span`. */
void preprocess_include(struct parser *p, const char *name, bool is_quoted, struct span span);

#endif
