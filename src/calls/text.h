/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * text: calls as lines, printed as they come:
 *
 *     0.001234 python3/4711     12.3 us      plain (x.py:3)           a call that called nothing that is shown
 *     0.001250 python3/4711                  outer (x.py:9)           a call that is not over yet
 *     0.001400 python3/4711    150.1 us      < outer                  its end, and the time that it took
 *
 * The lines of a thread are in order; lines of several threads are in the order of arrival. With a minimum time, a call
 * is printed once it has taken that long, after the calls around it.
 */
#ifndef STRATA_CALLS_TEXT_H
#define STRATA_CALLS_TEXT_H

#include <stdio.h>

#include "calls/follow.h"

struct call_text {
	FILE *out;
	bool color;
	uint64_t min_ns;
	uint64_t start; /* what the times count from: the first record's */
	bool has_header;
};

/* Its sink is a struct call_text. */
extern const struct call_sink call_text_sink;

/* Prints the calls of all threads that have been going on for some time at `now`, and were not printed yet. */
void call_text_go_on(struct call_text *text, const struct follow *follow, uint64_t now);

/* NAME (FILE:LINE) */
void call_text_function(FILE *out, const struct function *function);
/* 12.3 us */
void call_text_time(char *ret, size_t size, uint64_t ns);

#endif
