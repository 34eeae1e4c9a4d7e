/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * export: a profile written as a file. Each format is one file of this folder behind a `const struct exporter`,
 * found by the suffix of the output's name; export.c holds the table.
 */
#ifndef STRATA_EXPORT_EXPORT_H
#define STRATA_EXPORT_EXPORT_H

#include <stdbool.h>
#include <stdio.h>

#include "base/diag.h"
#include "profile/profile.h"

struct export_options {
	bool threads; /* -t: put a `thread NAME (TID)` frame under the comm */
};

struct exporter {
	const char *suffix;      /* such as ".folded" */
	const char *description; /* for --help */
	bool threads;            /* tells threads apart, whatever the options */
	bool owners;             /* tells containers, pods and units */
	bool times;              /* tells when samples were taken, if the profile has that */
	bool moments;            /* can tell the time of each sample, if the profile has it */
	bool sources;            /* shows source files, if the profile has them */
	bool addresses;          /* tells the addresses of frames without a symbol */
	/* Writes everything; 0, or a negative errno and a diag (write errors, no memory). Does not close `out`. */
	int (*write)(FILE *out, const struct profile *profile, const struct export_options *options, struct diag *diag);
};

extern const struct exporter export_folded, export_pprof, export_html, export_speedscope, export_firefox, export_trace;

/* The exporter for a file name, "-" meaning folded; NULL for an unknown suffix. */
const struct exporter *exporter_for(const char *path);

/* All exporters, for --help and messages; NULL after the last index. */
const struct exporter *exporter_at(unsigned int index);

/* The --stats object (one JSON object and a newline), keys as in the contract of docs/OUTPUT.md. */
int export_stats(FILE *out, const struct profile *profile, struct diag *diag);

/* The summary for people, some lines on a terminal or a log; `color` allows ANSI colours. */
int export_summary(FILE *out, const struct profile *profile, bool color);

/*
 * A JSON string with its quotes. Also safe inside <script> of HTML: `<`, `>`, `&`, U+2028 and U+2029 are escaped;
 * bytes that are not valid UTF-8 become U+FFFD.
 */
void export_json_string(FILE *out, const char *string);

#endif
