/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * calls: records Python's calls as they happen (`strata calls`). lang/rt/calls.h says what the kernel part sends. The
 * programs that send it come from a dialect without text: calls_dialect() is passed to the code that compiles and runs
 * scripts (compile_options.dialect, with an empty source). Then, for each record:
 *
 *   record ─► functions.h   which function the record is about
 *          ─► follow.h      the stacks of calls of all threads, repaired where records were lost; times
 *          ─► a sink        text.h: lines, printed at once; timeline.h: kept, and written at the end
 *
 * calls_end() closes the calls that are still open. Times are in nanoseconds. Used by one thread.
 */
#ifndef STRATA_CALLS_CALLS_H
#define STRATA_CALLS_CALLS_H

#include <stdbool.h>
#include <stdio.h>

#include "base/diag.h"
#include "lang/dialect/dialect.h"
#include "lang/rt/abi.h"

struct calls;

struct calls_options {
	const char *from;  /* only calls of this function, and what they call; NULL: all */
	const char *match; /* only functions whose names match this pattern; NULL: all */
	uint32_t depth;    /* only calls nested at most this deep; 0: all */
	uint64_t min_ns;   /* only calls that take at least this long are printed as text; 0: all */
	FILE *text;        /* where calls are printed as they come; NULL: nowhere */
	bool color;
	bool lines;    /* from which line a call comes, and in which one it ends */
	bool timeline; /* calls are kept for calls_write_html() and calls_write_chrome(), and not printed */
};

/* Pointers in the options are borrowed until calls_destroy(). 0, or -ENOMEM with a diag. */
int calls_create(const struct calls_options *options, struct calls **ret, struct diag *diag);
void calls_destroy(struct calls *calls);

const struct dialect *calls_dialect(const struct calls *calls);

/* When tracing has ended: closes the calls that have not returned, and prints what is left to print. */
void calls_end(struct calls *calls);

/* Losses, by kind. All are reported: in words by calls_write_lost(), and in JSON. */
struct calls_lost {
	uint64_t events; /* records for which there was no room in the ring buffer, or no time at the end */
	uint64_t counters[RT_COUNTER_COUNT]; /* other losses that the kernel part counts, by enum rt_counter */
	uint64_t repaired;  /* calls whose end was not seen; they are closed by a later record that shows it */
	uint64_t unseen;    /* ends of calls whose beginning was not seen: before tracing began, or lost */
	uint64_t functions; /* beyond the limit: not told apart */
	uint64_t memory;    /* records for which there was no memory */
	uint64_t short_calls, shorter_ns; /* calls that the timeline dropped: all shorter than shorter_ns */
};

struct calls_lost calls_lost(const struct calls *calls);
/* A line for each that is not 0. */
void calls_write_lost(const struct calls *calls, FILE *out);

/* After calls_end(): calls and times of each function, the one with the most time of its own first. */
void calls_write_summary(const struct calls *calls, FILE *out);
/* {"functions": [...], "lost": {...}}, on one line. */
void calls_write_summary_json(const struct calls *calls, FILE *out);

/* The timeline, with what was lost. 0, or a negative errno with a diag. */
int calls_write_html(struct calls *calls, FILE *out, struct diag *diag);
/* The same as trace events of Chrome. */
int calls_write_chrome(struct calls *calls, FILE *out, struct diag *diag);

char *calls_missed(const struct calls *calls);

#endif
