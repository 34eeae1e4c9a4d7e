/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * translate: a SystemTap script as one for bpftrace: what the writer's files share.
 *
 *   translate.c ─► probes, their aliases expanded, and statements
 *        ├─ translate_points.c: probe points as attach points, and the variables that they give
 *        ├─ translate_values.c: expressions; statistics, of which each kind is a map of its own
 *        └─ translate_calls.c: functions
 *
 * It works from the parsed tree, so that a script is translated where its probes are not. Globals are maps, locals are
 * $variables. What a statistic is asked for, in the whole script, decides its maps: @count(x) is @x_count.
 */
#ifndef STRATA_LANG_DIALECT_STAP_TRANSLATE_H
#define STRATA_LANG_DIALECT_STAP_TRANSLATE_H

#include "lang/dialect/stap/stap.h"
#include "lang/translate/translate.h"

enum stap_site {
	SITE_NOTHING,
	SITE_ENTRY,  /* of a system call: `events` */
	SITE_RETURN, /* of a system call */
	SITE_RAW_ENTRY,
	SITE_RAW_RETURN,
	SITE_FUNCTION,
	SITE_FUNCTION_RETURN,
	SITE_MARK,
	SITE_PYTHON,
	SITE_EVENT /* args.NAME */
};

/* A point in bpftrace's words. */
struct stap_target {
	enum stap_site site;
	const char *point;     /* NULL: bpftrace has none */
	const char *condition; /* or NULL */
	const char *name;      /* of the system call, quoted; or NULL */
	const char *events;    /* SITE_ENTRY: the pattern of the tracepoints */
	bool is_begin, is_end;
};

enum stap_stat_kind { STAT_COUNT, STAT_SUM, STAT_MIN, STAT_MAX, STAT_AVG, STAT_LOG, STAT_LINEAR, STAT_KINDS };

/* What is known of a variable, by its name, in the whole script. */
struct stap_use {
	const char *name;
	bool is_global, is_text, is_written, is_read, is_array;
	bool keys[STAP_KEYS_MAX]; /* which are texts */
	uint32_t stats;           /* bits of enum stap_stat_kind */
	int64_t range[3];
};

/* A name that stands for something here: a parameter, or what a loop goes over. */
struct stap_meaning {
	const char *name, *text;
	bool is_text;
};

struct stap_writer {
	struct compiler *c;
	struct translation *t;
	VEC(struct stap_use) uses;
	VEC(struct stap_meaning) meanings;
	const struct stap_target *target;
	const struct stap_node *body;   /* of the probe, with its aliases' */
	const struct stap_node *ending; /* the exit() that comes last */
	const char *alias;
	uint32_t depth, loops;
	bool told_time; /* that clocks count from the machine's start */
};

/* translate.c */
struct stap_use *stap_use_of(const struct stap_writer *w, const char *name);

/* translate_points.c */
struct stap_target stap_target_of(struct stap_writer *w, const struct stap_point *point);
/* Does the place itself give what the tapset's alias of this name is for? */
bool stap_is_given(const struct stap_point *point);
/* What a name that nothing is assigned to means at this place; NULL: nothing. */
const char *stap_given(struct stap_writer *w, const char *name, bool *is_text);
/* $name, $argN, $return. */
const char *stap_write_target(struct stap_writer *w, const struct stap_node *node);

/* translate_values.c: an expression that may stand in one with operators from `level` on. */
const char *stap_write(struct stap_writer *w, const struct stap_node *node, int level);
const char *stap_write_place(struct stap_writer *w, const struct stap_node *node, const char *suffix);
bool stap_node_is_text(struct stap_writer *w, const struct stap_node *node);
const char *stap_words(struct stap_writer *w, const char *format, ...) __attribute__((format(printf, 2, 3)));
const char *stap_unsaid(struct stap_writer *w, bool is_text, const char *what, const char *why);
extern const char *const stap_stat_names[STAT_KINDS];

/* translate_calls.c */
const char *stap_write_call(struct stap_writer *w, const struct stap_node *call);
/* A call that stands alone. */
void stap_write_action(struct stap_writer *w, const struct stap_node *call);

#endif
