/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * translate: a script of another dialect as a script in bpftrace's language, for people: what the writers of all
 * dialects share. It is output line by line, with the comments of the source where they were, names that do not
 * collide, and marks.
 *
 * A writer works from its dialect's tree, not from the core: the core has the casts, records and fault handlers that
 * make a program right, and nobody would read them. It needs neither root nor the traced programs.
 *
 * What bpftrace's language cannot say is a mark, a comment in front of the line that it is about:
 *
 *   // strata: WHAT: WHY
 *
 * and the line has a 0 or an "" in its place, so that the result is a script in any case. Texts are in the compiler's
 * arena; when memory is short, they are "" and arena->failed is set.
 */
#ifndef STRATA_LANG_TRANSLATE_TRANSLATE_H
#define STRATA_LANG_TRANSLATE_TRANSLATE_H

#include "lang/core/compiler.h"

/* A name in the new script, and what it stands for in the old one. */
struct translate_name {
	const char *key, *name;
};

struct translation {
	struct compiler *c;
	VEC(char) out;
	VEC(const char *) marks; /* for the next line */
	VEC(struct translate_name) names;
	VEC(const char *) headers; /* to be included */
	uint32_t depth;            /* of the next line */
	uint32_t at;               /* where in the source the comments that are still to be copied begin */
	uint32_t marked;           /* how many marks there are in `out` */
	bool has_hashes;           /* in the source, # begins a comment */
	size_t floor;              /* where in `out` the aside begins that is written */
};

void translation_init(struct translation *t, struct compiler *c);
void translation_deinit(struct translation *t);
/* The whole script. */
void translation_write(const struct translation *t, FILE *out);

/* One line, behind the marks that wait for it. */
void translate_line(struct translation *t, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* An empty line, unless the script begins here, or there is one. */
void translate_gap(struct translation *t);
/* For the next line; the same text is there once. */
void translate_mark(struct translation *t, const char *what, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
/* The comments of the source up to `end`: those on the line that was written last behind it, the others as lines. */
void translate_comments(struct translation *t, uint32_t end);
/* Adds a system header, once. */
void translate_include(struct translation *t, const char *header);

/* The name for `key`; it begins as `wanted`, and no other key has it. Both are copied. */
const char *translate_name(struct translation *t, const char *key, const char *wanted);
/* A text between quotes. */
const char *translate_quoted(struct translation *t, const char *text);
/* The source's own text. */
const char *translate_source(struct translation *t, struct span span);

/* Output for later: what is written goes to a text of its own, from begin to end. */
struct translate_piece {
	const char *text;
	uint32_t marked;
	size_t begin, floor;
};
struct translate_piece translate_aside_begin(struct translation *t);
void translate_aside_end(struct translation *t, struct translate_piece *piece);
void translate_again(struct translation *t, const struct translate_piece *piece);

#endif
