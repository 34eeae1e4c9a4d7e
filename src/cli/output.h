/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * output: result files that are either whole or not there. A regular file is first written without a name beside its
 * target (or, if the file system has no O_TMPFILE, as .strata-XXXXXX). At the end it takes the target's place, with the
 * mode and owner of the file that it replaces. So an old result is never half overwritten, and nothing is left behind,
 * even after SIGKILL. "-" (standard output), /dev/stdout, pipes and devices are written directly. In a directory where
 * everybody may write, files and links of another user are neither followed nor replaced nor written to (base/place.h).
 *
 * A child checks and writes regular files. If the file system of one hangs, the others are not affected (-ETIMEDOUT).
 */
#ifndef STRATA_CLI_OUTPUT_H
#define STRATA_CLI_OUTPUT_H

#include <stdbool.h>
#include <stdio.h>

#include "base/diag.h"

/* Writes the content. 0, or a negative errno and a diag. */
typedef int (*output_writer)(FILE *out, const void *context, struct diag *diag);

/* True for what is not replaced but written to: "-", a pipe, a device. */
bool output_is_direct(const char *path);

/* Whether an output can be written, found out without leaving or changing anything. */
int output_check(const char *path, struct diag *diag);

/* 0; or a negative errno and a diag, and the target is as it was (but for one written directly). */
int output_write(const char *path, output_writer write, const void *context, struct diag *diag);

/*
 * For content that could not be written where it was wanted: a new file strata-XXXXXX`suffix` in $TMPDIR, else /tmp.
 * 0 and its malloc'd name, or a negative errno.
 */
int output_rescue(const char *suffix, output_writer write, const void *context, char **ret);

#endif
