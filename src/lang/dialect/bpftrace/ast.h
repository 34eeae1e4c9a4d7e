/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * ast: the tree of a script that the parser gives to the checker. Nodes live in the script's arena.
 *
 * One kind of struct for all nodes: `kids` are its operands, in the order in which the enum's comments name them. What
 * the checker finds out (types, symbols, builtins) is written into the node; lower.c makes the core of that.
 */
#ifndef STRATA_LANG_DIALECT_BPFTRACE_AST_H
#define STRATA_LANG_DIALECT_BPFTRACE_AST_H

#include "lang/core/compiler.h"

enum ast_kind {
	/* expressions */
	AST_INT,         /* value; is_unsigned when it is over INT64_MAX */
	AST_BOOL,        /* value */
	AST_STRING,      /* text */
	AST_NAME,        /* text: a builtin without arguments, an enum's constant, or a macro */
	AST_PARAMETER,   /* value: $1, $2, ...; 0 is $# */
	AST_VARIABLE,    /* text without the $ */
	AST_MAP,         /* text without the @; kids: none, or the key */
	AST_CALL,        /* text; kids: the arguments */
	AST_UNARY,       /* op; operand */
	AST_BINARY,      /* op; left, right */
	AST_TERNARY,     /* condition, then, else */
	AST_FIELD,       /* text; record, or tuple with text a number */
	AST_INDEX,       /* array or pointer, index */
	AST_CAST,        /* type_name; operand */
	AST_TUPLE,       /* elements; names when it is a record */
	AST_SIZEOF,      /* type_name, or an operand */
	AST_OFFSETOF,    /* type_name or an operand; text: the fields, joined by dots */
	AST_TYPE,        /* type_name as an argument */
	AST_STEP,        /* op OP_ADD or OP_SUB: ++ and --; is_prefix; variable or map */
	AST_BLOCK_VALUE, /* statements, the last of which is the value */
	/* statements */
	AST_ASSIGN,     /* op OP_NONE or a compound one's; variable or map, value */
	AST_LET,        /* text; type_name may be NULL; kids: none or the value */
	AST_EXPRESSION, /* expression */
	AST_IF,         /* condition, then, else (may be NULL) */
	AST_WHILE,      /* condition, body */
	AST_FOR_RANGE,  /* text: the variable; first, end, body */
	AST_FOR_MAP,    /* text: the variable; map, body */
	AST_UNROLL,     /* count, body */
	AST_BREAK,
	AST_CONTINUE,
	AST_RETURN, /* kids: none, or a value */
	AST_BLOCK   /* statements */
};

/* A type as written: resolved by the checker, because it may name an expression. */
struct type_name {
	struct span span;
	const char *name; /* "uint64", "struct task_struct", ... */
	bool is_record;   /* struct or union, an enum or a typedef by C declarations */
	struct ast *of;   /* typeof(expression): then name is NULL */
	/* Read from left to right: '*', or '[' with a count (0: not given). */
	struct type_suffix {
		char kind;
		uint32_t count;
	} * suffixes;
	uint32_t suffix_count;
};

struct builtin;

struct ast {
	enum ast_kind kind;
	enum op op;
	struct span span;
	const char *text;
	uint64_t value;
	bool is_unsigned, is_prefix;
	struct ast **kids;
	uint32_t kid_count;
	const char **names;
	struct type_name *type_name;
	/* The checker's. */
	const struct expansion_place *expanded; /* in a macro's body; NULL: elsewhere */
	const struct type *type;                /* of the value; &type_none: it has none */
	uint32_t round;                         /* of the checker, in which `type` was found */
	struct symbol *symbol;                  /* the variable or map */
	const struct builtin *builtin;
	const struct type *detail; /* a second type: what sizeof is about, which aggregation is assigned */
	const struct type_field *field;
	uint32_t site;          /* of a call that makes records */
	uint32_t flags;         /* a builtin's own */
	enum core_builtin code; /* what the builtin is in the core: its row's, or what its check makes of it */
	const char *literal;    /* a text that the core's builtin works on */
};

struct probe {
	struct span span;
	struct attach_text *points;
	uint32_t point_count;
	struct ast *predicate; /* or NULL */
	struct ast *body;      /* AST_BLOCK */
};

/* let @a = hash(100); */
struct map_declaration {
	struct span span;
	const char *name;
	const char *kind; /* hash, lruhash, percpuhash, percpulruhash */
	uint64_t entries;
};

struct setting {
	struct span span;
	const char *name;
	const char *value;
};

struct macro_parameter {
	char kind; /* '$', '@' or 'e' */
	const char *name;
};

struct macro {
	struct span span;
	const char *name;
	struct macro_parameter *parameters;
	uint32_t parameter_count;
	struct ast *body; /* AST_BLOCK_VALUE or AST_BLOCK */
};

struct script {
	VEC(struct probe) probes;
	VEC(struct map_declaration) declarations;
	VEC(struct setting) settings;
	VEC(struct macro) macros;
};

void script_deinit(struct script *script);

/* A new node with `count` kids, to be set by the caller; never NULL: a static one when memory is short (arena->failed).
 */
struct ast *ast_create(struct arena *arena, enum ast_kind kind, struct span span, uint32_t count);

/* Is a tree more than this many levels high? It is visited no deeper than that. NULL has no levels. */
bool ast_is_higher(const struct ast *node, unsigned int levels);

/* A copy that shares nothing with the original but texts, and the names of types that are no typeof(). */
struct ast *ast_copy(struct arena *arena, const struct ast *node);

/* The tree as indented text, for -d ast. */
void ast_print(FILE *out, const struct ast *node, unsigned int depth);
void script_print(FILE *out, const struct script *script);

/*
 * The allowed nesting of expressions, blocks and types in the source, and the allowed height of a tree: the tree of a
 * chain such as a + b + c is as high as the number of its operators. More is refused with a message, because trees are
 * visited by recursive functions.
 */
#define NESTING_MAX 200
#define HEIGHT_MAX  (4 * NESTING_MAX)

#endif
