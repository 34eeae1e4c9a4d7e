/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the parser's files share: parser.c (scripts, statements), attach_text.c, expressions.c, constants.c,
 * declarations.c, preprocess.c, includes.c, imports.c.
 */
#ifndef STRATA_LANG_DIALECT_BPFTRACE_PARSE_PARTS_H
#define STRATA_LANG_DIALECT_BPFTRACE_PARSE_PARTS_H

#include <sys/types.h>

#include "lang/dialect/bpftrace/parse/lexer.h"
#include "lang/dialect/bpftrace/parse/parser.h"
#include "lang/dialect/bpftrace/parse/preprocess.h"

struct file_id {
	dev_t device;
	ino_t inode;
};

struct parser {
	struct lexer lexer;
	struct token token; /* not taken yet */
	struct arena *arena;
	struct report *report;
	struct types *types;
	const struct parser_options *options;
	struct script *script;
	const char *path;                /* of the file; NULL: it has none */
	struct file_id id;               /* {}: it has none */
	const struct parser *importer;   /* who asked for the file; NULL: it is the script */
	struct imported_files *imported; /* of all files together */
	struct defines *defines;         /* likewise */
	struct token *words;             /* that a macro stands for; those from word_at on come next */
	size_t word_at, word_count;
	unsigned int conditionals; /* #if around this place */
	bool is_header;            /* one of the system */
	bool yields;               /* if the kernel has a type of the same name, the kernel's is used */
	uint32_t last_end;         /* where the last token taken ended */
	unsigned int depth;
	bool in_body; /* behind C declarations, settings and imports */
	bool stop;    /* too deep or too broken to go on */
};

struct token parser_take(struct parser *p);
bool parser_is(const struct parser *p, const char *punctuation);
bool parser_is_word(const struct parser *p, const char *word);
/* Takes the token if it is this punctuation. */
bool parser_accept(struct parser *p, const char *punctuation);
bool parser_accept_word(struct parser *p, const char *word);
/* The same, and complains if it is not. */
bool parser_expect(struct parser *p, const char *punctuation);
const char *parser_expect_name(struct parser *p, const char *what);
/* "unexpected X, expected WHAT". Only the first message at a place is useful, so the parser stops. */
void parser_unexpected(struct parser *p, const char *expected);
/* False, with a complaint, when a tree is higher than HEIGHT_MAX: then parsing stops. */
bool parser_height(struct parser *p, const struct ast *node);

/* False, with a complaint, when the nesting is too deep; else parser_leave() must follow. */
bool parser_enter(struct parser *p);
void parser_leave(struct parser *p);

/* Goes back to a copy of *p made before. */
void parser_rewind(struct parser *p, const struct parser *to);

struct ast *parse_expression(struct parser *p);
struct ast *parse_block(struct parser *p, enum ast_kind kind);
struct ast *parse_assignment_or_expression(struct parser *p);
/* One attach point; the lexer stands at its first character, and afterwards behind its last. */
struct attach_text parse_attach_point(struct parser *p);
/* The statements up to the closing brace, which is taken; `open` is where the block began. */
struct ast *parse_statements(struct parser *p, struct span open, enum ast_kind kind);

/* A growing list of nodes. */
struct node_list {
	VEC(struct ast *) nodes;
};
void node_list_add(struct parser *p, struct node_list *list, struct ast *node);
/* A node with the list's nodes as kids; the list is emptied. */
struct ast *node_list_end(struct parser *p, struct node_list *list, enum ast_kind kind, struct span span);

/* Does a type begin here? By its words alone. */
bool parse_is_type(const struct parser *p);
struct type_name *parse_type_name(struct parser *p);

#define SOURCE_MAX (1u << 20) /* bytes of a script and all that it imports */

/* A whole file, from the lexer's place on; a header has C declarations only. */
void parse_file(struct parser *p);
void parse_header(struct parser *p);
/* A header that was not written for scripts: what cannot be parsed is skipped. */
void parse_included(struct parser *p);

struct imported_files {
	VEC(struct file_id) ids;
};
/* import "PATH"; the word is the next token. */
void parse_import(struct parser *p);

/* struct, union, enum, typedef. False when none begins here. */
bool parse_declaration(struct parser *p);

/* The value of an expression that is constant, as in C. Names are enum constants, or 0 where they are not `known`. */
bool parse_evaluate(struct parser *p, const struct ast *node, bool known, int64_t *ret);
/* A constant expression; complains when it is none. */
bool parse_constant(struct parser *p, int64_t *ret);

static inline struct span span_from(const struct parser *p, uint32_t begin)
{
	return (struct span){begin, p->last_end > begin ? p->last_end : begin};
}

#endif
