/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * ast: a script as the parsers of all dialects give it to the checker. Nodes live in the script's arena.
 *
 * One kind of struct for all nodes: `kids` are its operands, in the order in which the enum's comments name them. What
 * the checker finds out (types, symbols, builtins) is written into the node.
 */
#ifndef STRATA_LANG_DIALECT_BPFTRACE_AST_H
#define STRATA_LANG_DIALECT_BPFTRACE_AST_H

#include "lang/core/op.h"
#include "lang/core/report.h"
#include "lang/core/type.h"

enum node_kind {
	/* expressions */
	NODE_INT,         /* value; is_unsigned when it is over INT64_MAX */
	NODE_BOOL,        /* value */
	NODE_STRING,      /* text */
	NODE_NAME,        /* text: a builtin without arguments, an enum's constant, or a macro */
	NODE_PARAMETER,   /* value: $1, $2, ...; 0 is $# */
	NODE_VARIABLE,    /* text without the $ */
	NODE_MAP,         /* text without the @; kids: none, or the key */
	NODE_CALL,        /* text; kids: the arguments */
	NODE_UNARY,       /* op; operand */
	NODE_BINARY,      /* op; left, right */
	NODE_TERNARY,     /* condition, then, else */
	NODE_FIELD,       /* text; record, or tuple with text a number */
	NODE_INDEX,       /* array or pointer, index */
	NODE_CAST,        /* type_name; operand */
	NODE_TUPLE,       /* elements; names when it is a record */
	NODE_SIZEOF,      /* type_name, or an operand */
	NODE_OFFSETOF,    /* type_name or an operand; text: the fields, joined by dots */
	NODE_TYPE,        /* type_name as an argument */
	NODE_STEP,        /* op OP_ADD or OP_SUB: ++ and --; is_prefix; variable or map */
	NODE_BLOCK_VALUE, /* statements, the last of which is the value */
	/* statements */
	NODE_ASSIGN,     /* op OP_NONE or a compound one's; variable or map, value */
	NODE_LET,        /* text; type_name may be NULL; kids: none or the value */
	NODE_EXPRESSION, /* expression */
	NODE_IF,         /* condition, then, else (may be NULL) */
	NODE_WHILE,      /* condition, body */
	NODE_FOR_RANGE,  /* text: the variable; first, end, body */
	NODE_FOR_MAP,    /* text: the variable; map, body */
	NODE_UNROLL,     /* count, body */
	NODE_BREAK,
	NODE_CONTINUE,
	NODE_RETURN, /* kids: none, or a value */
	NODE_BLOCK   /* statements */
};

/* A type as written: resolved by the checker, because it may name an expression. */
struct type_name {
	struct span span;
	const char *name; /* "uint64", "struct task_struct", ... */
	bool is_record;   /* struct or union, an enum or a typedef by C declarations */
	struct node *of;  /* typeof(expression): then name is NULL */
	/* Read from left to right: '*', or '[' with a count (0: not given). */
	struct type_suffix {
		char kind;
		uint32_t count;
	} * suffixes;
	uint32_t suffix_count;
};

struct symbol;
struct builtin;

/* Where a macro is used, and where the one is that uses it. */
struct expansion_place {
	struct span span;
	const struct expansion_place *outer;
};

struct node {
	enum node_kind kind;
	enum op op;
	struct span span;
	const char *text;
	uint64_t value;
	bool is_unsigned, is_prefix;
	struct node **kids;
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
	uint32_t site;  /* of a call that makes records */
	uint32_t flags; /* a builtin's own */
};

/* PROVIDER:TARGET:... as written. */
struct attach_text {
	struct span span;
	const char **parts; /* without quotes; the first is the provider's name */
	uint32_t part_count;
};

struct probe {
	struct span span;
	struct attach_text *points;
	uint32_t point_count;
	struct node *predicate; /* or NULL */
	struct node *body;      /* NODE_BLOCK */
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
	struct node *body; /* NODE_BLOCK_VALUE or NODE_BLOCK */
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
struct node *node_create(struct arena *arena, enum node_kind kind, struct span span, uint32_t count);

/* Whether a tree is more than so many levels high; it is gone through no deeper than that. NULL is none. */
bool node_is_higher(const struct node *node, unsigned int levels);

/* A copy that shares nothing with the original but texts, and the names of types that are no typeof(). */
struct node *node_copy(struct arena *arena, const struct node *node);

/* The tree as indented text, for -d ast. */
void node_print(FILE *out, const struct node *node, unsigned int depth);
void script_print(FILE *out, const struct script *script);

/*
 * Nesting of expressions, blocks and types that is allowed in the source, and the height of a tree: a chain as in
 * a + b + c is a tree as high as it has operators. More is refused with a message, as trees are gone through by
 * functions that call themselves.
 */
#define NESTING_MAX 200
#define HEIGHT_MAX  (4 * NESTING_MAX)

#endif
