/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * stap: SystemTap's language: what the files of this folder share.
 *
 *   text ─► lexer.c ─► preprocess.c (%( %), @define, $1) ─► parser.c, parse_expressions.c ─► probes, functions, aliases
 *        ─► probes.c, points.c, tapset.c: which places each probe is about; a handler for each probe and point
 *        ─► resolve.c: what names mean, and the types of variables
 *        ─► capture.c: what a handler's program collects: the kernel part, in the core
 *        ─► record.c: a record came: its handler runs: interpret.c, functions.c, values.c, print_format.c, histogram.c
 *
 * Where bodies run. The kernel part of a probe collects facts: the current process, arguments, the texts at addresses,
 * stacks, the time. It sends only what the body can use, and only if the conditions at the start of the body hold. The
 * body itself runs here, record after record, in the order in which things happened: whatever the language can say
 * works in every probe (sorted foreach, recursion, tokenize, try), and no probe sees the half-finished work of another,
 * as the language promises. The cost is one record per event, about as much as the update of a map with strings. Memory
 * of a process is read when the event happens or not at all: an address must come from the probe itself, and one that
 * is kept for later is refused by name.
 *
 * The order: a `begin` runs before anything is attached, and before the command starts. Records that are in the ring
 * when exit() runs are dropped, as in SystemTap.
 */
#ifndef STRATA_LANG_DIALECT_STAP_STAP_H
#define STRATA_LANG_DIALECT_STAP_STAP_H

#include "lang/core/compiler.h"
#include "lang/dialect/printer.h"

enum stap_token { STAP_END, STAP_NAME, STAP_NUMBER, STAP_TEXT, STAP_OPERATOR, STAP_EMBEDDED };

/* `text` of a name has its $ or @. */
struct stap_lexeme {
	enum stap_token kind;
	struct span span;
	const char *text;
	int64_t value;
};

typedef VEC(struct stap_lexeme) stap_lexemes;

enum stap_type { STAP_UNKNOWN, STAP_LONG, STAP_STRING, STAP_STATS };

/*
 * How the steps from a variable to what is meant begin, in the text of STAP_E_TARGET and STAP_E_CAST, one behind the
 * other: ->MEMBER, [INDEX], {TYPE} (what is there so far is the address of a TYPE), & (where it lies).
 */
#define STAP_STEPS "-[{&"

enum stap_kind {
	/* expressions */
	STAP_E_NUMBER,
	STAP_E_TEXT,
	STAP_E_VARIABLE, /* text */
	STAP_E_ELEMENT,  /* text; kids: keys, NULL is * */
	STAP_E_TARGET,   /* text with $, and steps (STAP_STEPS); flags: STAP_ADDRESS */
	STAP_E_CALL,     /* text; kids */
	STAP_E_UNARY,    /* text; kid */
	STAP_E_BINARY,   /* text; kids */
	STAP_E_TERNARY,  /* kids */
	STAP_E_ASSIGN,   /* text: =, +=, <<<; kids */
	STAP_E_STEP,     /* text: ++, --; kid; flags: STAP_PREFIX */
	STAP_E_IN,       /* text: the array; kids: keys, NULL is * */
	STAP_E_REGEX,    /* text: the pattern; kid; flags: STAP_NOT */
	STAP_E_STAT,     /* text: @count, ...; kid; value: the index of a histogram's bucket's expression */
	STAP_E_HIST,     /* text: @hist_log, @hist_linear; kid; numbers in `range` */
	STAP_E_BUCKET,   /* kids: E_HIST, index */
	STAP_E_DEFINED,  /* kid */
	STAP_E_CHOOSE,   /* kids: this if it is defined, otherwise that */
	STAP_E_ENTRY,    /* kid */
	STAP_E_CAST,     /* @cast: kid; text: steps */
	STAP_E_VAR,      /* @var: text */
	/* statements */
	STAP_S_BLOCK,
	STAP_S_EXPRESSION,
	STAP_S_IF,      /* condition, then, else or NULL */
	STAP_S_WHILE,   /* condition, body */
	STAP_S_FOR,     /* begin, condition, step: NULL where missing; body */
	STAP_S_FOREACH, /* text: the array; kids: body, limit or NULL, then variables; a slice in `slice` */
	STAP_S_BREAK,
	STAP_S_CONTINUE,
	STAP_S_NEXT,
	STAP_S_RETURN, /* kid or NULL */
	STAP_S_DELETE, /* kid: variable or element */
	STAP_S_TRY     /* body, handler, variable or NULL */
};

enum stap_flag {
	STAP_PREFIX = 1,
	STAP_NOT = 2,
	STAP_ADDRESS = 4,
	STAP_DOWN = 8,       /* foreach: from the largest; else from the smallest, if it is sorted */
	STAP_SORTED = 16,    /* by sort_by: 0 is the value, N the key number N */
	STAP_WITH_VALUE = 32 /* foreach (v = [a, b] in x): the first variable is the value */
};

struct stap_variable;
struct stap_function;
struct stap_builtin;

struct stap_node {
	enum stap_kind kind;
	enum stap_type type;
	struct span span; /* of the operator or the name, which messages point at */
	const char *text;
	int64_t value;
	unsigned int flags;
	uint32_t sort_by;
	const char *sort_stat;    /* @count and its like; NULL: none */
	int64_t range[3];         /* of a histogram: low, high, step */
	struct stap_node **slice; /* S_FOREACH: keys that must be equal, NULL is * */
	struct stap_node **kids;
	uint32_t kid_count;
	uint32_t depth; /* of the tree, as parsed; 0: not known yet */
	/* resolve.c */
	struct stap_variable *variable;
	struct stap_function *function;
	const struct stap_builtin *builtin;
	void *format;  /* struct stap_format: of printf and its like */
	void *regex;   /* regex_t, which the state owns */
	uint32_t slot; /* in the record */
};

/* Values are longs or texts. Texts live as long as the record that is handled, or the script. */
struct stap_value {
	int64_t number;
	const char *text;
};

#define STAP_KEYS_MAX 16

enum stap_histogram { STAP_NO_HISTOGRAM, STAP_LOGARITHMIC, STAP_LINEAR };
struct stap_map;
struct stap_stat;

struct stap_variable {
	const char *name;
	struct span span;
	enum stap_type type;
	bool is_global, is_array, is_parameter, of_tapset;
	bool is_written, is_read;
	uint32_t slot; /* of a local: in the frame */
	/* globals */
	uint32_t key_count;
	enum stap_type keys[STAP_KEYS_MAX];
	struct stap_node *initial;
	uint64_t entries; /* 0: MAXMAPENTRIES */
	bool wraps;
	enum stap_histogram histogram;
	int64_t low, high, step;
	/* while the script runs */
	struct stap_value value;
	struct stap_stat *stat;
	struct stap_map *map;
};

typedef VEC(struct stap_variable *) stap_variables;

struct stap_function {
	const char *name;
	struct span span;
	enum stap_type type;
	bool returns_value, of_tapset, is_used;
	struct stap_variable **parameters;
	uint32_t parameter_count;
	struct stap_node *body;
	stap_variables locals; /* the parameters first */
};

/* NAME or NAME(ARGUMENT). */
struct stap_component {
	const char *name;
	struct span span;
	enum stap_token kind; /* of the argument; STAP_END: there is none */
	const char *text;
	int64_t value;
};

struct stap_point {
	struct span span;
	struct stap_component *parts;
	uint32_t part_count;
	bool is_optional, is_sufficient;
	struct stap_node *condition; /* or NULL */
};

struct stap_probe {
	struct span span;
	struct stap_point *points;
	uint32_t point_count;
	struct stap_node *body;
};

struct stap_alias {
	struct stap_point name;
	struct stap_point *points;
	uint32_t point_count;
	struct stap_node *body;
	bool is_epilogue, is_own, is_busy; /* is_own: a name that the user gives again hides it */
};

/* What a program can collect. */
enum stap_need {
	NEED_PID,
	NEED_TID,
	NEED_UID,
	NEED_GID,
	NEED_EUID,
	NEED_EGID,
	NEED_CPU,
	NEED_TIME,
	NEED_NAME, /* execname() */
	NEED_PPID,
	NEED_PNAME,
	NEED_USTACK,
	NEED_KSTACK,
	NEED_USERMODE,
	NEED_FUNCTION,
	NEED_COMMAND, /* the command line: words, each with its end */
	NEED_ADDRESS, /* of the instruction */
	NEED_COUNT
};

/* A text at an address. */
struct stap_memory {
	struct stap_node *address;
	bool is_kernel;
	uint32_t slot; /* of the text; then if it could be read, then the address */
};

enum stap_when { WHEN_EVENT, WHEN_BEGIN, WHEN_END, WHEN_ERROR, WHEN_TIMER, WHEN_NEVER };

/* A probe at one point: one body, and the places it is for. */
struct stap_handler {
	struct span span;
	enum stap_when when;
	int64_t sequence;
	struct stap_node *body, *condition;
	const char *text;  /* of the point, as the script has it */
	const char *alias; /* pn() */
	bool is_everywhere, is_return;
	stap_variables locals;
	int pid;                      /* of this process only; 0: all */
	const char *process;          /* of processes with this name only; NULL: all */
	bool is_leader, is_no_leader; /* events of a process's first thread, or of the others */
	/* what is collected */
	uint32_t needs; /* bits of enum stap_need */
	VEC(struct stap_node *) targets;
	VEC(struct stap_memory) memory;
	const struct node
		*kernel_condition; /* what the body begins with, as far as the kernel part can tell; NULL: nothing */
	bool is_raw_syscall;       /* process.syscall: its variables are $syscall, $arg1... and $return */
};

/* Beside compiler.attaches. */
struct stap_place {
	struct stap_handler *handler;
	const char *name; /* pp() */
	const char *function;
};

/* site.call: where a record has what. 0: it is not there. */
struct stap_layout {
	uint32_t needs[NEED_COUNT];
};

enum stap_limit { MAXSTRINGLEN, MAXMAPENTRIES, MAXACTION, MAXERRORS, MAXNESTING, STAP_LIMITS };

struct stap_run;

/* compiler.of_dialect */
struct stap_state {
	struct stap_node spare; /* stands in when memory is short */
	VEC(struct stap_probe) probes;
	VEC(struct stap_function *) functions;
	VEC(struct stap_alias *) aliases;
	stap_variables globals;
	VEC(struct stap_handler *) handlers;
	VEC(struct stap_place) places;
	VEC(void *) regexes;
	int64_t limits[STAP_LIMITS];
	bool lists, lists_variables, suppresses_warnings;
	bool is_own;            /* what is parsed comes with strata */
	stap_variables *locals; /* of what is resolved */
	struct stap_handler *handler;
	struct stap_function *function;
	bool changed, final;
	struct stap_run *run;
};

static inline struct stap_state *stap_state(const struct compiler *c)
{
	return c->of_dialect;
}

#define STAP_NESTING_MAX 150
#define STAP_DEPTH_MAX   600 /* of an expression's tree */

/* lexer.c: all of a source's text, from `begin` to `end` in report.source. False with a complaint. */
bool stap_lex(struct compiler *c, uint32_t begin, uint32_t end, stap_lexemes *ret);
/* preprocess.c: conditions, macros and arguments of the script are taken out. */
bool stap_preprocess(struct compiler *c, const stap_lexemes *from, stap_lexemes *ret);

/* parser.c: adds what the text has to the state. False with a complaint. */
bool stap_parse_source(struct compiler *c, uint32_t begin, uint32_t end, bool is_tapset);
struct stap_node *stap_node(struct compiler *c, enum stap_kind kind, struct span span, uint32_t kids);
struct stap_node *stap_copy(struct compiler *c, const struct stap_node *node);
/* What the parser has to say in stap's words. */
void stap_complain(struct compiler *c, const char *tag, struct span span, const char *format, ...)
	__attribute__((format(printf, 4, 5)));

/* tapset.c: our own, and those of -I: they are parsed before the script. */
bool stap_load_tapsets(struct compiler *c);
/* Aliases for system calls whose names match, made when they are asked for. */
void stap_make_syscalls(struct compiler *c, const char *pattern, bool is_return, struct span span);

/* probes.c: handlers and places: a unit for each place, for now. */
void stap_probes(struct compiler *c);
void stap_list(const struct compiler *c, FILE *out);
/* A point that is no alias: what is made of it. */
struct stap_making {
	struct compiler *c;
	const struct stap_point *point;
	struct stap_handler *handler;
	size_t found;
};
/* points.c: adds the places that the point means; complains when it cannot be. */
void stap_find(struct stap_making *m);
const char *stap_point_text(struct compiler *c, const struct stap_point *point);

/* resolve.c */
void stap_resolve(struct compiler *c);
const char *stap_type_name(enum stap_type type);

/* rewrite.c: a call that is a target variable becomes it; false: it is another one. */
bool stap_rewrite_call(struct compiler *c, struct stap_node *node);

/* capture.c: finds out what each handler asks for, makes units, and gives them their trees. */
void stap_capture(struct compiler *c, struct stap_handler *handler);
/* The trees of c->unit. */
void stap_program(struct compiler *c, const struct stap_handler *handler);
/* $$vars and its like as a sprintf(); false: it is none of them. */
bool stap_expand_target(struct compiler *c, struct stap_node *node);
/* A target of the unit being checked: its type; STAP_UNKNOWN: it is not there. */
enum stap_type stap_target_type(struct compiler *c, const struct stap_node *target);
/* What the steps of @cast() lead to; STAP_UNKNOWN: there is no such type or member. */
enum stap_type stap_cast_type(struct compiler *c, const struct stap_node *cast);
/* A target with more steps. */
struct stap_node *stap_target_behind(struct compiler *c, const struct stap_node *base, const char *steps);

/* functions.c */
struct stap_builtin {
	const char *name;
	enum stap_type type;    /* STAP_UNKNOWN: it has no value */
	const char *parameters; /* l, s, t (a task), a, and ? before those that may be missing */
	uint32_t needs;
	void (*call)(struct stap_run *run, const struct stap_node *call, const struct stap_value *arguments,
		     struct stap_value *ret);
	const char *refused; /* why there is none; NULL */
};
const struct stap_builtin *stap_builtin_find(const char *name);

/* print_format.c */
struct stap_format;
/* NULL with a complaint. Types are those of the arguments. */
struct stap_format *stap_format_read(struct compiler *c, const struct stap_node *call, bool check);
void stap_format_print(struct stap_run *run, const struct stap_format *format, const struct stap_value *arguments,
		       FILE *out, bool is_output);

/* translate.c: the parsed script in bpftrace's language. */
struct translation;
void stap_translate(struct compiler *c, struct translation *translation);

/* record.c */
extern const struct dialect_print stap_print;

#endif
