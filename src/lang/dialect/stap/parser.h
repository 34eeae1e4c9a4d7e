/* SPDX-License-Identifier: GPL-2.0-or-later */
/* parser: what parser.c, parse_statements.c and parse_expressions.c share. */
#ifndef STRATA_LANG_DIALECT_STAP_PARSER_H
#define STRATA_LANG_DIALECT_STAP_PARSER_H

#include "lang/dialect/stap/stap.h"

struct stap_parser {
	struct compiler *c;
	const struct stap_lexeme *at; /* the last one is the end */
	size_t next, count;
	unsigned int depth;
	bool in_function, in_probe, is_tapset, failed;
	unsigned int loops;
	bool no_in; /* `in` belongs to the foreach around */
};

static inline const struct stap_lexeme *stap_peek(const struct stap_parser *p)
{
	return &p->at[p->next];
}

const struct stap_lexeme *stap_ahead(const struct stap_parser *p, size_t count);
const struct stap_lexeme *stap_take(struct stap_parser *p);
bool stap_is(const struct stap_parser *p, const char *op);
bool stap_is_name(const struct stap_parser *p, const char *name);
/* Takes it if it is there. */
bool stap_accept(struct stap_parser *p, const char *op);
bool stap_accept_name(struct stap_parser *p, const char *name);
/* Complains if it is not. */
bool stap_expect(struct stap_parser *p, const char *op);
void stap_expected(struct stap_parser *p, const char *what);
/* False, with a complaint: it is nested too deeply. stap_leave() follows a true. */
bool stap_enter(struct stap_parser *p);
void stap_leave(struct stap_parser *p);

/* Nodes that are collected, and then kept in the arena. */
typedef VEC(struct stap_node *) stap_nodes;
struct stap_node *stap_with_kids(struct stap_parser *p, struct stap_node *node, stap_nodes *kids);

/* Never NULL. */
struct stap_node *stap_expression(struct stap_parser *p);
struct stap_node *stap_statement(struct stap_parser *p);
struct stap_node *stap_block(struct stap_parser *p);
/* [a, b, *]: the keys, `[` taken already. */
void stap_keys(struct stap_parser *p, stap_nodes *ret, bool stars);

#endif
