/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * format: writes a script in one style. Words, comments and preprocessor lines stay as they are, in their order. Only
 * the blank space between them changes, so the script keeps its meaning. A formatted script stays as it is.
 *
 *   interval:s:1,           each attach point, the predicate and the brace of a probe or macro on lines of their own
 *   interval:s:2
 *   /@x > 1/
 *   {
 *     $a = f(1, 2);         two columns for each block, a statement on each line
 *     if ($a) {             other braces at the end of the line
 *       print(@x);          lines that were broken within a statement stay broken
 *     } else {
 *       exit();
 *     }
 *   }
 *   end
 *   {}
 */
#ifndef STRATA_LANG_DIALECT_BPFTRACE_PARSE_FORMAT_H
#define STRATA_LANG_DIALECT_BPFTRACE_PARSE_FORMAT_H

#include "lang/core/report.h"

/* Writes the report's script, which must be one that parses. Complaints go to the report: then nothing was written. */
void bpftrace_format(struct report *report, FILE *out);

#endif
