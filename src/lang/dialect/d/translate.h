/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * translate: a D script as one for bpftrace: what the writer's files share.
 *
 *   translate.c ─► clauses, in the order of the text, with their comments
 *        ├─ translate_probes.c: descriptions as attach points, and what the place gives
 *        ├─ translate_values.c: expressions and variables
 *        └─ translate_actions.c: what is recorded, and aggregations
 *
 * It works from the parsed tree, so that a script is translated where its probes are not: which variables are texts is
 * found here, by their first assignments, as D's compiler does it.
 *
 * A clause is written once for each of its descriptions; those with the same text are one probe with several attach
 * points. self->x is @self_x[tid], this->x is $x, other variables are maps.
 */
#ifndef STRATA_LANG_DIALECT_D_TRANSLATE_H
#define STRATA_LANG_DIALECT_D_TRANSLATE_H

#include "lang/dialect/d/d.h"
#include "lang/translate/translate.h"

/* What the place of a probe gives. */
enum d_site {
	SITE_NOTHING,    /* BEGIN, END, timers */
	SITE_ENTRY,      /* of a system call: `fields` */
	SITE_RETURN,     /* of a system call */
	SITE_RAW_ENTRY,  /* of any system call */
	SITE_RAW_RETURN, /* the same */
	SITE_FUNCTION,   /* argN */
	SITE_FUNCTION_RETURN,
	SITE_EVENT /* a tracepoint, whose arguments DTrace knows by translators */
};

/* One description in bpftrace's words. */
struct d_target {
	enum d_site site;
	const char *point;     /* the attach point; NULL: bpftrace has none */
	const char *condition; /* to be added to the predicate; or NULL */
	const char *parts[4];  /* D's; NULL: it depends on which place it is */
	const char *function;  /* the expression for probefunc, if parts[2] is NULL; or NULL */
	const char *events;    /* SITE_ENTRY: the pattern of the tracepoints */
	bool is_end;
};

/* What is known of a variable by all its uses. */
struct d_use {
	enum d_scope scope;
	const char *name;
	bool is_aggregation, is_text, is_assigned;
	bool is_carried;       /* this->: from one clause to another */
	bool is_array;         /* associative: it is assigned to with keys only */
	bool is_scalar;        /* it is assigned to as a whole */
	bool is_written;       /* the translation assigns to it */
	const char *inlined;   /* `inline`: #define has it */
	const struct d_declaration *constant;
	/* aggregations */
	const char *function;  /* the first; NULL: none */
	uint32_t key_count;
	bool is_printed;
	uint32_t dividing; /* `inline` that is expanded right now */
};

/* How an aggregation is printed from here to the end of the clause. */
struct d_shown {
	const struct d_use *of;
	int64_t top;         /* 0: all */
	const char *divisor; /* NULL: none */
	bool is_printed;
};

struct d_writer {
	struct compiler *c;
	struct translation *t;
	VEC(struct d_use) uses;
	VEC(struct d_shown) shown;
	VEC(const char *) declared; /* this-> variables that the clause has declared */
	const struct d_clause *clause;
	const struct d_target *target;
	VEC(const struct d_expr *) hoisted; /* assignments in this statement that are statements before it */
	const struct d_expr *ending; /* the exit() that comes last; NULL: none */
	uint32_t depth;
};

/* translate_probes.c */
struct d_target d_target_of(struct d_writer *w, const struct d_probe *probe);
/* The name of a system call's argument; NULL: it is not the same everywhere, or not there. */
const char *d_syscall_field(struct d_writer *w, uint32_t number);

/* translate_values.c: an expression that may stand in one with operators from `level` on; 0: anywhere. */
const char *d_write(struct d_writer *w, const struct d_expr *expr, int level);
/* The same as a condition. */
const char *d_write_condition(struct d_writer *w, const struct d_expr *expr, int level);
bool d_is_text(const struct d_writer *w, const struct d_expr *expr);
struct d_use *d_use_of(const struct d_writer *w, enum d_scope scope, const char *name, bool is_aggregation);
/* A variable or an aggregation as it is written, with its keys. */
const char *d_write_place(struct d_writer *w, const struct d_expr *expr);
/* The map of an aggregation. */
const char *d_write_map(struct d_writer *w, const struct d_use *use);
void d_write_assignment(struct d_writer *w, const struct d_expr *expr);
/* Assignments within a statement, as statements before it: those that happen in any case. */
void d_hoist(struct d_writer *w, const struct d_expr *statement);
void d_find_uses(struct d_writer *w);
/* The value's own text, or what marks that there is none. */
const char *d_unsaid(struct d_writer *w, bool is_text, const char *what, const char *why);

/* translate_actions.c */
/* A call that stands alone. */
void d_write_action(struct d_writer *w, const struct d_expr *call);
void d_write_aggregation(struct d_writer *w, const struct d_expr *target, const struct d_expr *call);
/* What normalize() and trunc() mean for what is printed behind the script's last clause. */
void d_write_shown(struct d_writer *w);

#endif
