/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * lexer: the tokens of bpftrace's language. The source is borrowed; texts of tokens with escapes live in the report's
 * arena. An unknown character or an unterminated string is reported, and skipped.
 */
#ifndef STRATA_LANG_DIALECT_BPFTRACE_PARSE_LEXER_H
#define STRATA_LANG_DIALECT_BPFTRACE_PARSE_LEXER_H

#include "lang/core/report.h"

enum token_kind {
	TOKEN_END,
	TOKEN_NAME,       /* text */
	TOKEN_VARIABLE,   /* $name: text without the $ */
	TOKEN_PARAMETER,  /* $1: value; $#: 0 */
	TOKEN_MAP,        /* @name: text without the @, may be empty */
	TOKEN_NUMBER,     /* value; is_unsigned when over INT64_MAX */
	TOKEN_STRING,     /* text */
	TOKEN_PUNCTUATION /* text: the longest that fits */
};

struct token {
	enum token_kind kind;
	struct span span;
	const char *text;
	uint64_t value;
	bool is_unsigned;
	bool after_newline; /* a line ended before it */
};

struct lexer {
	struct report *report;
	const char *source;
	uint32_t at, end;
};

/* Of one file of the report's. */
void lexer_init(struct lexer *lexer, struct report *report, const struct source *file);

struct token lexer_next(struct lexer *lexer);

/* Passes over blanks and comments. True when a line ended in them. */
bool lexer_skip_blanks(struct lexer *lexer);

#endif
