/* SPDX-License-Identifier: GPL-2.0-or-later */
/* parser: what the two files of D's parser share: tokens, and expressions. */
#ifndef STRATA_LANG_DIALECT_D_PARSER_H
#define STRATA_LANG_DIALECT_D_PARSER_H

#include "lang/dialect/d/d.h"

struct parser {
	struct compiler *c;
	struct d_lexer lexer;
	struct d_lexeme token;
	uint32_t depth;
	bool in_predicate;
};

void d_advance(struct parser *p);
/* The token behind this one. */
struct d_lexeme d_ahead(const struct parser *p);
/* Is this operator, or this word, the token? */
bool d_at(const struct parser *p, const char *operator);
bool d_at_word(const struct parser *p, const char *word);
bool d_failed(const struct parser *p);
/* Is the token the / behind a predicate? *behind: what follows it. */
bool d_ends_predicate(const struct parser *p, struct span *behind);
/* Both end the parsing. */
void d_syntax_error(struct parser *p, const char *expected);
void d_refuse(struct parser *p, const char *what, const char *hint);
/* Takes the operator if it is the token; d_need() complains if not. */
bool d_take(struct parser *p, const char *operator);
void d_need(struct parser *p, const char *operator);

/* Never NULL: a spare one if memory is short. */
struct d_expr *d_create(struct parser *p, enum d_kind kind, struct span span, uint32_t kids);
/* For where an expression is missing. */
struct d_expr *d_nothing(struct parser *p);
/* least 0: with commas; else operators that bind as strongly at least. */
struct d_expr *d_expression(struct parser *p, int least);
struct d_expr *d_assignment(struct parser *p);

/* parse_types.c */
bool d_is_type_word(const char *text);
/* The name of a type that is neither a keyword nor a variable: those that D knows, and what follows suit. */
bool d_is_type_name(const struct parser *p, const char *text);
/* A type with its stars and dimensions, as in casts; structs and the like are defined on the way. */
bool d_take_type(struct parser *p, struct d_type_name *ret);

/* What a declaration says of one name. */
struct d_declarator {
	struct span span;
	const char *name; /* NULL: none was given */
	const struct type *type;
	bool is_function;
	bool is_array; /* associative, with the keys of these types */
	const struct type **keys;
	const char *const *key_names;
	uint32_t key_count;
};
/* The specifiers of a declaration: its type before stars. */
const struct type *d_take_specifiers(struct parser *p);
bool d_take_declarator(struct parser *p, const struct type *base, struct d_declarator *ret);

#endif
