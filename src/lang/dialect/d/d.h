/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * d: DTrace's language, as dtrace-utils 2.0 has it: what its files share.
 *
 *   text ─► lexer.c ─► parser.c, parse_expressions.c ─► clauses and declarations (this header)
 *        ─► probes.c, processes.c: which places each clause is about; places with the same clauses become one unit
 *        ─► clauses.c: each unit's clauses, in the order of the text, to the core; types are found on the way
 *             ├─ nodes.c, expressions.c, members.c, places.c, variables.c, kernel.c, functions.c, memory.c,
 *             │  registers.c, translators.c, library.c: what has a value
 *             └─ actions.c, recorded.c, aggregations.c, speculation.c: what is recorded
 *        ─► print.c, print_types.c, print_format.c, print_aggregations.c: what the records say
 *
 * Unlike in bpftrace's language, the first assignment in the source decides a variable's type. So one pass over the
 * tree checks and lowers it.
 *
 * A clause is a NODE_CLAUSE: what it records is kept in variables until its end, and sent as one record. So a clause
 * that failed prints nothing, and the output of different CPUs does not mix. All clauses for one place are blocks of
 * one program, and share this->. Each `if` makes clauses of its own, as in dtrace.
 *
 * Maps store all numbers in 8 bytes, whatever their type; reading converts them back to the type.
 */
#ifndef STRATA_LANG_DIALECT_D_D_H
#define STRATA_LANG_DIALECT_D_D_H

#include "lang/core/compiler.h"
#include "lang/dialect/printer.h"

enum d_token {
	D_END,
	D_NAME,
	D_NUMBER,
	D_TEXT, /* "..." */
	D_OPERATOR
};

struct d_lexeme {
	enum d_token kind;
	struct span span;
	const char *text; /* a name, an operator, or what is between the quotes */
	uint64_t value;
	bool is_unsigned, is_long;
	bool after_space; /* blank before it */
};

enum d_kind {
	D_INT,         /* value, type */
	D_STRING,      /* text */
	D_VARIABLE,    /* scope, text; kids: the keys of an associative array */
	D_AGGREGATION, /* text; kids: keys */
	D_CALL,        /* text; kids: the arguments */
	D_UNARY,       /* text: the operator */
	D_BINARY,      /* text */
	D_TERNARY,
	D_ASSIGN, /* text: "=", "+=", ... */
	D_STEP,   /* text: "++" or "--"; is_prefix */
	D_MEMBER, /* text; is_arrow */
	D_INDEX,  /* of a pointer, an array or args */
	D_CAST,   /* type_name */
	D_SIZEOF, /* type_name, or a kid */
	D_OFFSETOF, /* type_name, text: the member */
	D_XLATE,  /* type_name; what is translated */
	D_COMMA,
	D_IF,   /* kids: condition, then, else or NULL */
	D_BLOCK /* statements */
};

enum d_scope { D_GLOBAL, D_SELF, D_THIS };

struct d_type_name {
	struct span span;
	const struct type *type;
};

struct d_expr {
	enum d_kind kind;
	enum d_scope scope;
	struct span span;
	uint32_t behind; /* where the token behind it begins: dtrace tells that line; 0: its own */
	const char *text;
	uint64_t value;
	const struct type *type; /* D_INT */
	bool is_prefix, is_arrow;
	struct d_type_name type_name;
	struct d_expr **kids;
	uint32_t kid_count;
};

/* PROVIDER:MODULE:FUNCTION:NAME; missing parts are empty. */
struct d_probe {
	struct span span;
	const char *parts[4];
};

struct d_clause {
	struct span span;
	uint32_t end; /* where its last brace is; 0: it has none */
	struct d_probe *probes;
	uint32_t probe_count;
	struct d_expr *predicate; /* or NULL */
	struct d_expr *body;      /* NULL: traces that it fired */
};

/* int x; self string s; int a[int, string]; inline int X = 1; */
struct d_declaration {
	struct span span;
	enum d_scope scope;
	const char *name;
	const struct type *type;
	const struct type **keys;
	const char *const *key_names; /* NULL: of no key */
	uint32_t key_count;
	bool is_array; /* associative */
	struct d_expr *value; /* of inline; else NULL */
};

/* translator OUT < IN parameter > { ... }; */
struct d_translator {
	struct span span;
	const struct type *out, *in;
	const char *parameter;
	struct d_translation {
		struct span span;
		uint32_t behind; /* as of an expression */
		const char *name;
		struct d_expr *value;
	} *members;
	uint32_t count;
};

/* #pragma D attributes STABILITY NAME */
struct d_attributes {
	struct span span;
	const char *name;
};

/* What the parameters of a translator or an inline definition stand for while its expressions are lowered. */
struct d_binding {
	const char *const *names;
	struct d_expr *const *values;
	uint32_t count;
	const struct d_binding *outer;
	uint32_t depth;
};

/* A variable or an aggregation. */
struct d_variable {
	enum d_scope scope;
	const char *name;
	const struct type *type; /* of its value */
	const struct type **keys;
	uint32_t key_count;
	bool is_array; /* associative */
	struct symbol *symbol;
	struct d_expr *inlined; /* what it stands for */
	const char *const *parameters; /* of that; as many as keys */
	/* aggregations */
	bool is_aggregation;
	enum core_builtin function;
	uint32_t number;
	/* while the script runs */
	bool is_printed;
	int64_t normal; /* 0: 1 */
};

/* When a probe of proc, sched or io fires at its place. */
enum d_when {
	D_WHEN_ALWAYS,
	D_WHEN_LEADER,      /* in a process's first thread */
	D_WHEN_NEW_PROCESS, /* the second argument is a process's first thread */
	D_WHEN_NEW_THREAD,  /* it is another one */
	D_WHEN_BORN_PROCESS, /* a system call returns 0 in a process's first thread */
	D_WHEN_BORN,         /* in any */
	D_WHEN_FAILED,   /* it returns less than 0 */
	D_WHEN_POSITIVE, /* or more */
	D_WHEN_TRUE,     /* the first argument is */
	D_WHEN_SENT,     /* a signal that is not ignored */
	D_WHEN_DISCARDED
};

#define D_MADE_ARGUMENTS 3

struct d_made {
	const char *provider, *name;
	const char *parts[3]; /* in the providers' words */
	enum d_when when;
	const char *arguments[D_MADE_ARGUMENTS];
};

/* made.c: those that there are; the last one has no name. */
extern const struct d_made d_made_probes[];

/* A place, in D's words. */
struct d_place {
	uint32_t id;
	const char *provider, *module, *function, *name;
	bool is_everywhere; /* not only in the processes of -p and -c */
	const struct d_made *made; /* of proc, sched and io; else NULL */
	int pid;            /* of this process only; 0: all */
};

enum d_act {
	ACT_TRACE,
	ACT_PRINTF,
	ACT_PRINTA,
	ACT_STACK,
	ACT_SYMBOL, /* sym, func, mod, usym, ufunc, umod, uaddr */
	ACT_MEMORY, /* tracemem */
	ACT_PRINT,  /* what a pointer points to, by its type */
	ACT_EXIT,
	ACT_CLEAR,
	ACT_TRUNC,
	ACT_NORMALIZE,
	ACT_DENORMALIZE,
	ACT_SYSTEM,
	ACT_FREOPEN,
	ACT_FTRUNCATE,
	ACT_SETOPT,
	ACT_COMMIT,
	ACT_DISCARD,
	ACT_NOTHING /* the clause fired */
};

/* What an action says: the arguments from `first` on in the clause's record. */
struct d_action {
	enum d_act kind;
	struct span span;
	const char *format;
	const struct d_variable **aggregations;
	uint32_t aggregation_count;
	uint32_t first, count;
	const struct type *type; /* ACT_PRINT: of what the pointer points to */
};

/* What an address is printed as: the module and the symbol, with the offset only as PART_ADDRESS; or the module. */
enum d_symbol_part { PART_ALL, PART_MODULE, PART_ADDRESS };

/* site.call of a clause's record. Its first two arguments are the CPU and the number of the place. */
struct d_record {
	bool is_fault;
	bool is_error;   /* of an ERROR clause */
	uint32_t clause; /* of the text */
	uint32_t speculation; /* the argument that is its speculation, from 1; 0: none */
	struct d_action *actions;
	uint32_t action_count;
};

/* A record that waits for commit() or discard(). */
struct d_held {
	uint64_t speculation;
	const struct site *site;
	uint8_t *bytes;
};

/* What the clause has done so far: some actions may not follow others. */
enum d_before { D_BEFORE_RECORD = 1, D_BEFORE_SPECULATE = 2, D_BEFORE_COMMIT = 4 };

/* What print() records at most. */
#define D_PRINT_MAX 8192

/* Options, set by #pragma D option and -x. */
enum d_option {
	D_QUIET,
	D_STRSIZE,
	D_FLOWINDENT,
	D_DESTRUCTIVE,
	D_ZDEFS,
	D_DEFAULTARGS,
	D_DYNVARS,
	D_AGGSORTKEY,
	D_AGGSORTREV,
	D_AGGSORTPOS,
	D_AGGSORTKEYPOS,
	D_STACKFRAMES,
	D_USTACKFRAMES,
	D_MAXFRAMES, /* of any stack; 0: there is no limit */
	D_STACKINDENT,
	D_RAWBYTES,
	D_NORESOLVE,
	D_DROPTAGS,
	D_SWITCHRATE, /* nanoseconds */
	D_SCRATCHSIZE,
	D_NSPEC,
	D_SPECSIZE,
	D_MAY_BE_EMPTY,
	D_ARGREF,
	D_PRINTSIZE,
	D_OPTIONS
};

struct d_unit {
	VEC(uint32_t) clauses;
	VEC(struct node *) nodes;    /* one for each clause */
	VEC(uint32_t) numbers;       /* of the clauses, as nodes has them */
	VEC(struct symbol *) locals; /* this-> variables that they use */
	struct symbol *strtok;       /* its state; NULL: not used */
	struct symbol *timestamp;    /* when the place was reached; NULL: not used */
};

/* compiler.of_dialect */
struct d_state {
	struct d_expr spare; /* what stands in when memory is short */
	VEC(struct d_clause) clauses;
	VEC(struct d_declaration) declarations;
	VEC(struct d_translator) translators;
	VEC(struct d_attributes) attributes;
	const struct d_binding *binding; /* NULL: not in a translator */
	VEC(struct d_variable *) variables;
	VEC(struct d_unit) units;   /* of the compiler's */
	VEC(struct d_place) places; /* of the compiler's attaches */
	bool has_error;  /* a description matches dtrace:::ERROR, which is no place */
	size_t error_at; /* where it would be in `places` */
	uint64_t options[D_OPTIONS];
	struct d_limit {
		bool is_given;
		uint64_t bytes;
	} buffer_size, aggregation_size, variable_size; /* bufsize, aggsize, dynvarsize */
	uint64_t used_parameters; /* bit N: $N + 1 was used, of the first 64 */
	uint32_t aggregation_count;
	size_t matches; /* places, over all clauses */
	/* the clause that is lowered */
	VEC(struct node *) statements;
	VEC(struct d_action) actions;
	VEC(struct node *) recorded;
	struct d_unit *unit;
	uint32_t clause;
	struct node *exit_status; /* NULL: it does not end the tracing */
	struct symbol *fault;     /* of the clause around an ERROR clause; NULL: there is none */
	uint32_t fault_clause;    /* its number */
	bool has_handler;         /* a program has the ERROR clauses */
	struct symbol *speculation;  /* after speculate(): its number, 0 if there is none; NULL: not after it */
	size_t speculates_from;      /* the statement behind it */
	struct symbol *speculations; /* a map; NULL: not used yet */
	unsigned int before;         /* enum d_before */
	bool is_used;                /* what is lowered now is an argument: d_take_use() */
	uint32_t inlined; /* how many inline definitions were put in their places */
	bool has_self;
	bool is_destructive; /* it has an action that needs -w */
	/* printing */
	bool has_first_out;
	int first_out; /* the output before freopen() */
	bool has_header;
	VEC(struct d_held) held;
	uint64_t held_bytes;
	uint32_t indent;
};

static inline struct d_state *d_state(const struct compiler *c)
{
	return c->of_dialect;
}

#define D_NESTING_MAX 200

/* The tag of what is told as it is: not about the program's text. */
#define D_NOT_ENABLED "EDT_NOT_ENABLED"

#define D_ERROR_ID 3 /* of dtrace:::ERROR */

/* d.c: how many probes matched, as dtrace tells it. */
const char *d_matched(const struct compiler *c);

/* lexer.c */
struct d_lexer {
	struct compiler *c;
	const char *source;
	uint32_t at, end;
	uint32_t parentheses, brackets; /* open ones */
	bool failed;
};
void d_lexer_init(struct d_lexer *lexer, struct compiler *c);
struct d_lexeme d_next(struct d_lexer *lexer);
/* The text up to a `:`-separated probe description's end: blanks, {, /, ; or a comma. */
struct d_lexeme d_next_probe(struct d_lexer *lexer);

/* options.c */
void d_options_init(struct compiler *c);
/* NAME or NAME=VALUE. False with a complaint. */
bool d_option_set(struct compiler *c, const char *text, struct span span);
/* setopt(): NULL, or why not. value "": none. */
const char *d_option_change(struct d_state *state, const char *name, const char *value);

/* parser.c */
void d_parse(struct compiler *c);

/* probes.c: makes c->units, and state.units beside them. */
void d_probes(struct compiler *c);

/* clauses.c */
void d_lower(struct compiler *c);
void d_add_statement(struct compiler *c, struct node *node);
/* A new variable of this unit that holds the value, which is computed now; its place in the record. */
uint32_t d_record(struct compiler *c, struct node *value);
bool d_is_error_clause(const struct d_clause *clause);
struct symbol *d_local(struct compiler *c, const struct type *type);
void d_statement(struct compiler *c, const struct d_expr *expr);

/* nodes.c */
struct node *d_int(struct compiler *c, int64_t value, const struct type *type);
struct node *d_literal(struct compiler *c, const char *text);
struct node *d_call(struct compiler *c, enum core_builtin builtin, const struct type *type, struct span span,
		    uint32_t kids);
struct node *d_variable_node(struct compiler *c, struct symbol *symbol);
/* Without a value: the variable is only declared. */
struct node *d_let(struct compiler *c, struct symbol *symbol, struct node *value);

/* expressions.c */
struct node *d_value(struct compiler *c, const struct d_expr *expr); /* mistakes in it are told with their line */
/* A number or a pointer. */
struct node *d_number(struct compiler *c, const struct d_expr *expr);
struct node *d_text(struct compiler *c, const struct d_expr *expr);
struct node *d_cast(struct compiler *c, struct node *node, const struct type *type);
/* NULL, or 0: a string's address that is none. */
bool d_is_null(struct compiler *c, const struct d_expr *expr);
bool d_constant(struct compiler *c, const struct d_expr *expr, int64_t *ret);
/* "int", "struct task_struct", "string": the type of this name; a complaint if there is none. */
const struct type *d_type(struct compiler *c, const char *name, struct span span);
const struct type *d_string_type(struct compiler *c);
/* float, double, long double */
bool d_is_floating(const struct type *type);
struct node *d_binary(struct compiler *c, enum op op, const struct type *type, struct node *a, struct node *b);
/* members.c */
/* An array of characters is a string where its value is needed. */
struct node *d_as_text(struct compiler *c, struct node *node);
struct node *d_size_of(struct compiler *c, const struct d_expr *expr);
struct node *d_offset_of(struct compiler *c, const struct d_expr *expr);
/* A member whose array of characters is no string yet. */
struct node *d_member(struct compiler *c, struct node *of, const struct d_expr *expr);
/* record->name of the kernel's types; NULL with a complaint. */
struct node *d_field(struct compiler *c, struct node *of, const char *name, struct span span);

/* translators.c */
/* False with a complaint. */
bool d_translator_add(struct compiler *c, const struct d_translator *translator);
/* xlate<T>(x).member, and the whole. */
struct node *d_translated_member(struct compiler *c, const struct d_expr *expr);
struct node *d_translation(struct compiler *c, const struct d_expr *xlate);
/* What the name stands for in a translator or an inline definition; NULL: nothing. */
struct node *d_bound(struct compiler *c, const struct d_expr *expr);
/* May one more be put in its place? A complaint if there are too many. */
bool d_may_inline(struct compiler *c, struct span span);
/* What an inline definition says of these keys. */
struct node *d_inlined(struct compiler *c, const struct d_variable *variable, const struct d_expr *expr);

/*
 * library.c: the record of this name that D's libraries define; NULL: there is none. The translator that they have, or
 * NULL. An expression in D's words, all of it at `span`.
 */
const struct type *d_library_type(struct compiler *c, const char *name);
const struct d_translator *d_library_translator(struct compiler *c, const struct type *out, const struct type *in);
struct d_expr *d_library_expression(struct compiler *c, const char *text, struct span span);

/* recorded.c: stack(), usym() and their like. */
bool d_is_recorded(const char *name);
/* The value of such a call; NULL, perhaps with a complaint: it is none. */
struct node *d_recorded(struct compiler *c, const struct d_expr *expr);

/* registers.c */
bool d_register_named(const char *name, int64_t *ret);
struct node *d_registers(struct compiler *c, const struct d_expr *expr);

/* speculation.c: the map's element that counts how often none was free: not a number that a script can have. */
#define D_SPECULATION_NONE (1ull << 32)
struct node *d_speculation(struct compiler *c, const struct d_expr *call);
void d_speculate(struct compiler *c, const struct d_expr *call);
/* commit() or discard(): what is recorded, its number. */
struct node *d_end_speculation(struct compiler *c, const struct d_expr *call);
/* False with a complaint: not after what the clause has done. */
bool d_may_aggregate(struct compiler *c, struct span span);
bool d_may_act(struct compiler *c, const struct d_expr *call, bool is_destructive);

/* places.c: what can be assigned to */
bool d_is_target(const struct compiler *c, const struct d_expr *expr);
/* As d_value(), but arrays stay what they are: a node that may be assigned to. */
struct node *d_place(struct compiler *c, const struct d_expr *expr);
struct node *d_element(struct compiler *c, struct node *of, const struct d_expr *index, struct span span);
/* An element of a string fails where the string is empty: others stay as they are. */
struct node *d_string_checked(struct compiler *c, struct node *node);
/* An array's address, as a pointer to its first element. */
struct node *d_decayed(struct compiler *c, struct node *node);
struct node *d_address(struct compiler *c, const struct d_expr *expr);
/* As d_variable_assign(). */
struct node *d_assign_place(struct compiler *c, const struct d_expr *target, struct node *value, struct node **read);
struct node *d_step_place(struct compiler *c, const struct d_expr *expr);

/* kernel.c: `name, module`name */
struct node *d_kernel_variable(struct compiler *c, const struct d_expr *expr);
/* The variable that the address is in, which the caller frees; how far. NULL: it is in none that is known. */
char *d_kernel_data(uint64_t address, uint64_t *ret);

/* memory.c: alloca() and its like */
struct node *d_alloca(struct compiler *c, const struct d_expr *call);
struct node *d_bcopy(struct compiler *c, const struct d_expr *call);
struct node *d_copyinto(struct compiler *c, const struct d_expr *call);
struct node *d_copyin(struct compiler *c, const struct d_expr *call);
struct node *d_copyout(struct compiler *c, const struct d_expr *call);
struct node *d_copyoutstr(struct compiler *c, const struct d_expr *call);
/* The address of a copy of the text, which is there until the clause ends. */
struct node *d_text_address(struct compiler *c, struct node *text);
/* `size` bytes: their address, a number. */
struct node *d_scratch(struct compiler *c, struct node *size, struct span span);
/* What a clause begins with; NULL: nothing. */
struct node *d_scratch_begin(struct compiler *c);

/* text_parts.c: functions whose work the runtime does */
/*
 * As d_text(), of what a function or action is given: a function's NULL ends the clause there. Elsewhere it is an empty
 * text. d_take_use() says once whether the function that is lowered now is used so.
 */
struct node *d_argument_text(struct compiler *c, const struct d_expr *expr);
struct node *d_argument_value(struct compiler *c, const struct d_expr *expr); /* as d_value(), likewise */
bool d_take_use(struct compiler *c);
struct node *d_null_text(struct compiler *c, bool is_used, struct span span);
struct node *d_strtok(struct compiler *c, const struct d_expr *call);
struct node *d_inet_ntoa(struct compiler *c, const struct d_expr *call);
struct node *d_inet_ntoa6(struct compiler *c, const struct d_expr *call);
struct node *d_inet_ntop(struct compiler *c, const struct d_expr *call);
struct node *d_link_ntop(struct compiler *c, const struct d_expr *call);
struct node *d_d_path(struct compiler *c, const struct d_expr *call);
struct node *d_progenyof(struct compiler *c, const struct d_expr *call);

/* Makes sure that the expressions of the translators have values. */
void d_translators_check(struct compiler *c);

/* pragmas.c: the words behind #pragma, or #error and its words. False with a complaint. */
bool d_pragma(struct compiler *c, char *words, struct span span, bool is_error);
/* After the whole text: complains about attributes of what there is not. */
void d_pragmas_end(struct compiler *c);

/* declarations.c */
void d_declare(struct compiler *c);
/* An inline definition, when it is read; complains. */
void d_inline_check(struct compiler *c, const struct d_declaration *declaration);

/* variables.c */
struct d_variable *d_variable_find(const struct compiler *c, enum d_scope scope, const char *name, bool aggregation);
struct d_variable *d_variable_add(struct compiler *c, struct d_variable variable);
/* Its map, or its variable, when all is known of it. */
void d_variable_make(struct compiler *c, struct d_variable *variable);
struct node *d_variable_read(struct compiler *c, const struct d_expr *expr);
/* Makes the variable that is assigned to first here; NULL with a complaint: it cannot be one of this type. */
struct d_variable *d_variable_create(struct compiler *c, const struct d_expr *target, const struct type *type);
/* Statement: the assignment. *value: what reads it afterwards; may be NULL. */
struct node *d_variable_assign(struct compiler *c, const struct d_expr *target, struct node *value, struct node **read);
struct node *d_variable_step(struct compiler *c, const struct d_expr *expr);
struct symbol *d_map(struct compiler *c, const char *name, const struct type *key, const struct type *value);
struct node *d_key(struct compiler *c, struct d_variable *variable, const struct d_expr *expr);
/* False with a complaint: the place has no args[index]. */
bool d_may_index_args(struct compiler *c, const struct d_expr *index);
/* The place's own argument. */
struct node *d_argument(struct compiler *c, uint32_t number, const struct d_expr *expr);
/* A builtin variable; NULL: there is none of this name. */
struct node *d_builtin(struct compiler *c, const struct d_expr *expr);

/* prototypes.c: false with a complaint: the call's arguments are not those of the function or action. */
bool d_check_call(struct compiler *c, const struct d_expr *call);
bool d_is_destructive(const char *name);
/* What it is, without its effects: it is lowered again when its value is wanted. NULL: a value of no type. */
const struct type *d_type_of(struct compiler *c, const struct d_expr *expr);
/* A type in D's words. */
const char *d_type_name(struct compiler *c, const struct type *type);

/* made.c: chip, pset, lgrp; NULL: it is none of them. */
struct node *d_of_cpu(struct compiler *c, const struct d_expr *expr);
struct node *d_curcpu(struct compiler *c, const struct d_expr *expr);

/* constants.c: a number of D's libraries. */
bool d_constant_named(const char *name, int64_t *ret);

/* made.c: what the place of the unit asks for; NULL: nothing. */
struct node *d_made_condition(struct compiler *c);
/* For lists: the attributes and types of what the place is given. */
void d_made_tell(const struct d_made *made, FILE *out);
/* args[number] (is_typed) or argN of it; NULL: it is not of proc or sched. */
struct node *d_made_argument(struct compiler *c, uint32_t number, const struct d_expr *expr, bool is_typed);
/* MEMBER of curpsinfo, curlwpsinfo, or of an argument that is one; NULL: it is not of these. */
struct node *d_translated(struct compiler *c, const struct d_expr *expr);

/* functions.c */
bool d_is_function(const char *name);
/* A subroutine; NULL: there is none of this name. */
struct node *d_function(struct compiler *c, const struct d_expr *call);

/* actions.c: false: there is none of this name. */
bool d_action(struct compiler *c, const struct d_expr *call);
bool d_is_action(const char *name);

/* aggregations.c */
void d_aggregate(struct compiler *c, const struct d_expr *target, const struct d_expr *call);
bool d_is_aggregating(const char *name);

/* format_check.c: complains about what the format and the arguments do not agree in. */
struct d_argument {
	const struct type *type;
	bool is_aggregation; /* by its name */
	struct span span;
};
void d_format_check(struct compiler *c, const char *function, const char *format, struct span span,
		    const struct d_argument *arguments, uint32_t count, uint32_t aggregations);

/* print_format.c */
void d_print_formatted(const struct printer *p, const char *format, const struct type *tuple, uint32_t first,
		       uint32_t count, const uint8_t *bytes, FILE *out);

/* print.c */
void d_print_trace(const struct printer *p, const struct type *type, const uint8_t *bytes);
void d_print_symbol(const struct printer *p, FILE *out, const struct type *type, const uint8_t *bytes);
void d_print_kernel_symbol(const struct printer *p, FILE *out, uint64_t address, enum d_symbol_part part);
void d_print_stack(const struct printer *p, FILE *out, const struct type *type, const uint8_t *bytes);
void d_print_raw(FILE *out, const uint8_t *bytes, size_t size);

/*
 * print_types.c: `size` bytes of a value of this type from `address`, a member a line. What begins behind the first
 * `limit` bytes is left out.
 */
void d_print_typed(FILE *out, uint64_t address, const struct type *type, const uint8_t *bytes, size_t size,
		   size_t limit);

/* print_aggregations.c */
void d_print_aggregations(const struct printer *p, const struct d_variable **of, uint32_t count, const char *format);
void d_print_unprinted(const struct printer *p);
void d_trunc(const struct printer *p, const struct d_variable *variable, int64_t keep, bool all);
/* A value of an aggregation as one number, divided by its normal. */
int64_t d_aggregate_number(const struct type *type, const uint8_t *value, int64_t normal);

/* translate.c: the parsed script in bpftrace's language. */
struct translation;
void d_translate(struct compiler *c, struct translation *translation);

extern const struct dialect_print d_print;

/* units.c: ns, usec, hour..., in any case, as nanoseconds. False: there is no such unit. */
bool d_unit_of_time(const char *text, uint64_t *ret);

#endif
