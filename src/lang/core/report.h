/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * report: the compiler's messages about a script. Each has a tag (tests are named after it), a place in the source, one
 * line that says what is wrong, and a hint what to do. They are collected, so that one run shows all of them, and
 * printed by the caller:
 *
 *   FILE:LINE:COLUMN-END: ERROR: text
 *   the source line
 *      ~~~~
 *   HINT: what to do
 */
#ifndef STRATA_LANG_CORE_REPORT_H
#define STRATA_LANG_CORE_REPORT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/arena.h"
#include "base/vec.h"

/* Byte offsets into report.source, end exclusive. {}: no place in the source. */
struct span {
	uint32_t begin, end;
};

/* Where a macro is used, and the use of the outer macro, if any. */
struct expansion_place {
	struct span span;
	const struct expansion_place *outer;
};

enum severity { SEVERITY_ERROR, SEVERITY_WARNING, SEVERITY_NONE };

struct complaint {
	enum severity severity;
	const char *tag;
	struct span span;
	const char *text, *more, *hint; /* more, a second line of text, and hint may be NULL */
	uint32_t told; /* a place whose line the dialect tells instead; 0: that of the span */
};

/* A file's part of report.source. */
struct source {
	const char *name; /* as shown */
	uint32_t begin, end;
};

/*
 * The source is the script's text followed by the texts of its included files, so that a span also identifies the file.
 * It moves when a file is added; older pointers into it stay valid for the text that was there then.
 */
struct report {
	bool hide_warnings;
	struct arena *arena; /* the caller's */
	const char *source;
	size_t size, room; /* room: 0 while the source is the caller's */
	struct source script;
	VEC(struct source) others; /* in their order */
	VEC(struct complaint) complaints;
	unsigned int errors;
};

void report_init(struct report *report, struct arena *arena, const char *name, const char *source, size_t size);
void report_deinit(struct report *report);

/* Adds a file's text, which is copied. NULL when memory is short. Valid until the next one is added. */
const struct source *report_add(struct report *report, const char *name, const char *text, size_t size);
/* The file that a place is in. */
const struct source *report_source(const struct report *report, uint32_t at);

#define REPORTS_MAX 50 /* more are not kept */

void report_error(struct report *report, const char *tag, struct span span, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));
void report_warning(struct report *report, const char *tag, struct span span, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));
/* What ends it although nothing in the script is wrong: told without a place, and not called an error. */
void report_nothing(struct report *report, const char *tag, const char *text);
/* A hint for the complaint made last. */
void report_hint(struct report *report, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* For complaints from number `first` on that have none yet; 0: what is told is where they begin. */
void report_told(struct report *report, size_t first, uint32_t place);

/* Prints a message of the running script at once. It has no tag. */
void report_now(const struct report *report, const struct complaint *complaint, FILE *out);
/* Where something begins, from 1 on. */
struct span_place {
	size_t line, column;
};
struct span_place report_where(const struct report *report, struct span span);
/* FILE:LINE:COLUMN-END, as messages begin. */
void report_place(const struct report *report, struct span span, FILE *out);

/*
 * Writes a part of a script, or what names one: it is somebody else's, and nothing of it may move a terminal's cursor.
 * One byte stays one column.
 */
void report_text(FILE *out, const char *text, size_t size);

/* The line of the source, what is marked in it, and the hint. */
void report_excerpt(const struct report *report, const struct complaint *complaint, FILE *out);

void report_print(const struct report *report, FILE *out);

#endif
