/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * options: a command's options, declared once. getopt_long's arrays and the text of --help are made from the table;
 * tests/cli/agree.t compares --help with the manual page and the shell completion.
 */
#ifndef STRATA_CLI_OPTIONS_H
#define STRATA_CLI_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/diag.h"

/* From here up: options that have a long name only. */
#define OPTION_LONG_ONLY 256
#define OPTIONS_MAX      40

struct option_row {
	int id;            /* the option's letter, or a number from OPTION_LONG_ONLY up; 0 ends a table */
	const char *name;  /* the long name, without dashes; NULL: there is none */
	const char *value; /* the value's name in --help; NULL for an option without one */
	const char *help;  /* lines are broken by '\n' */
};

/* Takes one option. 0: go on; 1: enough, parse no further; negative errno and a diag: wrong. */
typedef int (*option_handler)(void *context, int id, const char *value, struct diag *diag);

/*
 * Parses options up to the first other argument, or up to `--`. argv[0] is skipped. `called`: how the command is typed.
 * Returns the index of that argument (argc if there is none), 0 if the handler returned 1, or a negative errno and a
 * diag.
 */
int options_parse(const struct option_row *rows, const char *called, int argc, char **argv, option_handler handle,
		  void *context, struct diag *diag);

/* A whole number of `size` digits without sign or blanks, low .. high. */
bool options_number(const char *text, size_t size, unsigned long low, unsigned long high, unsigned long *ret);

/* Says that the value of an option is wrong: -EINVAL and a diag. */
int options_wrong(char letter, const char *value, const char *wanted, struct diag *diag);

/* The value of -F: samples per second and CPU. 0, or -EINVAL and a diag; and so below. */
int options_frequency(const char *text, unsigned int *ret, struct diag *diag);

/* A time above 0 in seconds, such as 10, 0.5, 10s, 2m or 1h, of the option `letter`. */
int options_duration(char letter, const char *text, double *ret, struct diag *diag);

/* How long a sample or a stack may be walked in an interrupt: --max-sample-time. 0, or -EINVAL and a diag. */
int options_sample_time(const char *text, uint64_t *ret, struct diag *diag);

/* The lines of --help. */
void options_print(FILE *out, const struct option_row *rows);

#endif
