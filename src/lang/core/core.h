/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * core: the typed tree that every dialect makes for each program of a script, and the only thing the generator sees.
 *
 *   source ─► dialect/NAME: parse, check, lower ─► core ─► gen (+ builtin) ─► BPF object ─► load ─► attach
 *                      │  ▲                          │                                              │
 *                      │  └ kernel, provider:        └ sites: what the records mean ─► dialect/NAME: print
 *                      │    what there is to probe
 *
 * Design
 *  - A dialect owns its syntax, its tree, its names, its scopes, its type rules and the wording of its messages. It
 *    asks providers what an attach point means (provider_expand()), gives each program (struct unit) its tree, and each
 *    variable and map its symbol. In the core no name is looked up: a symbol is a pointer, a builtin an id
 *    (builtins.def), a field its place in the type, a probe its number in compiler.attaches. Names in symbols are for
 *    dumps and for printing maps. Texts in nodes are data: literals and formats.
 *  - Every node has a type, and the types decide what is generated. Conversions to a wider integer, a longer string or
 *    a tuple of wider elements are implicit when a value goes into a symbol, a key or an operand. Numbers have 64 bits.
 *    A dialect with narrower rules, such as C's, puts NODE_CAST around the operation. Whether an operation is one of
 *    signed numbers says its node (OPERATION_SIGNED), not the types of its operands: languages differ in that. A
 *    division by zero is 1, and the program goes on: a dialect that wants something else tests for it.
 *  - Work for user space is a site: a number in the record, whose description stays in compiler.sites. There a dialect
 *    finds what to print, and how, by the site's kind, format and type: no text is sent.
 *  - Statements and expressions share one struct, because blocks may have values. A tree belongs to one unit: its
 *    sizes, types and constant conditions are those of its attach point. Trees live in the compiler's arena, and are
 *    not changed after lowering. Symbols are shared by all units; the generator writes a variable's place into them.
 *  - Layers, lowest first, held by tests/style/arrows.t: core; kernel (its names and types); provider; gen; builtin
 *    (code for ids); dialect; and compile.c, list.c, which put them together. Nothing below dialect/ knows a dialect.
 *  - Other dialects have several actions for one firing: D's clauses, SystemTap's aliases with prologues. Both become
 *    blocks of one unit. Thread-locals become maps keyed by TID, associative arrays maps with tuples as keys. What is
 *    abandoned when a read fails is a NODE_CLAUSE. If a dialect needs something that is not here (speculation), add a
 *    node kind or id, with its code in gen or builtin. The generator never asks which dialect it works for.
 */
#ifndef STRATA_LANG_CORE_CORE_H
#define STRATA_LANG_CORE_CORE_H

#include "lang/core/op.h"
#include "lang/core/report.h"
#include "lang/core/type.h"

enum node_kind {
	/* expressions */
	NODE_NONE,        /* nothing: an operand that was not given */
	NODE_INT,         /* value */
	NODE_BOOL,        /* value */
	NODE_STRING,      /* text */
	NODE_VARIABLE,    /* symbol */
	NODE_MAP,         /* symbol; kids: none, or the key */
	NODE_CALL,        /* builtin, and what its row in builtins.def says; kids: its operands */
	NODE_UNARY,       /* op; operand */
	NODE_BINARY,      /* op; flags: OPERATION_SIGNED; left, right */
	NODE_TERNARY,     /* condition, then, else */
	NODE_FIELD,       /* field; record, pointer to one, or tuple */
	NODE_INDEX,       /* array or pointer, index; of a tuple: field */
	NODE_CAST,        /* operand */
	NODE_TUPLE,       /* elements */
	NODE_STEP,        /* op OP_ADD or OP_SUB: ++ and --; is_prefix; variable or map */
	NODE_BLOCK_VALUE, /* statements, the last of which is the value */
	/* statements */
	NODE_ASSIGN,     /* op OP_NONE or a compound one's, flags; variable (is_first: it begins here) or map, value;
			    with OP_NONE also what a field, an index or a pointer names: see gen/gen_target.c */
	NODE_AGGREGATE,  /* map, NODE_CALL of an aggregation */
	NODE_LET,        /* symbol; kids: none or the value */
	NODE_EXPRESSION, /* expression */
	NODE_IF,         /* condition, then, else (may be NULL) */
	NODE_WHILE,      /* condition, body */
	NODE_FOR_RANGE,  /* symbol; first, end, body */
	NODE_FOR_MAP,    /* symbol, a tuple of key and value; map, body */
	NODE_UNROLL,     /* value: turns; body */
	NODE_BREAK,
	NODE_CONTINUE,
	NODE_RETURN, /* kids: none, or a value */
	NODE_BLOCK,  /* statements */
	NODE_CLAUSE  /* statement, what is done when it is abandoned (may be NULL); symbol: why, of type_fault() */
};

/* In node.flags of an operation: comparisons, divisions and shifts to the right mind the sign. */
#define OPERATION_SIGNED 1u
/* Of OP_ADDRESS: the address is a number, to be calculated with; a map's element is added where it is not there. */
#define ADDRESS_NUMBER 2u
#define ADDRESS_ADDS   4u

/* Of CORE_PYTHON_CALL. */
enum calls_flag {
	CALLS_LINES = 1, /* with lines */
	CALLS_WANTED = 2 /* only what compiler.calls_wanted names */
};

/*
 * Why a clause is abandoned: the first element of type_fault(). The second one is an address or a number, the third one
 * the number of the BPF instruction that found out.
 */
enum core_fault {
	CORE_FAULT_NONE,
	CORE_FAULT_ADDRESS,
	CORE_FAULT_DIVISION,
	CORE_FAULT_SIZE,
	CORE_FAULT_OPERATION, /* what cannot be done */
	CORE_FAULT_INDEX,     /* outside an array */
	CORE_FAULT_SCRATCH    /* the unit's scratch memory is used up */
};

/* Kinds of addresses that are made text; the runtime has the same numbers. */
enum core_address {
	CORE_ADDRESS_IP4,
	CORE_ADDRESS_IP6, /* IPv4 within it is written as IPv4 */
	CORE_ADDRESS_IP6_STRICT,
	CORE_ADDRESS_ETHERNET,
	CORE_ADDRESS_INFINIBAND
};

enum core_builtin {
	CORE_NONE,
#define CORE(id, name) CORE_##id,
#include "lang/core/builtins.def"
#undef CORE
	CORE_COUNT_OF_IDS
};

enum core_clock { CORE_CLOCK_MONOTONIC, CORE_CLOCK_BOOT, CORE_CLOCK_TAI };

/* What CORE_TRACE_PRINTF and CORE_SEQ_PRINTF take: MAX_BPRINTF_VARARGS of the kernel's kernel/bpf/helpers.c */
#define KERNEL_PRINT_MAX 12

struct symbol;

struct node {
	enum node_kind kind;
	enum op op;
	enum core_builtin builtin;
	struct span span;        /* for warnings at run time */
	const struct type *type; /* of the value; &type_none: it has none */
	struct symbol *symbol;
	const struct type_field *field;
	const char *text;
	uint64_t value;
	uint32_t site, flags;
	bool is_prefix, is_first;
	struct node **kids;
	uint32_t kid_count;
};

/* A node with `count` kids, to be set by the caller; never NULL: a static one if memory is short (arena->failed). */
struct node *node_create(struct arena *arena, enum node_kind kind, struct span span, uint32_t count);

/* The type of a clause's symbol: three words. */
const struct type *type_fault(struct arena *arena);

/*
 * The type of a unit's scratch memory: how many bytes are in use, and the bytes. A pointer may write to bytes in use,
 * and what it reads there must be in use; else the clause is abandoned.
 */
const struct type *type_scratch(struct arena *arena, uint32_t bytes);

/* Is it a number that is known while compiling? Then *ret is its value. */
bool node_constant(const struct node *node, int64_t *ret);

/* Is it a call of this builtin? */
static inline bool node_calls(const struct node *node, enum core_builtin builtin)
{
	return node->kind == NODE_CALL && node->builtin == builtin;
}

/* The tree as indented text, for -d core. */
void node_print(FILE *out, const struct node *node, unsigned int depth);

#endif
