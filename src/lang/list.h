/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * list: lists what can be traced, one probe a line. With `verbose` the types of its arguments follow. As in compile.h,
 * root is needed only to expand attach points. Of the options, `pid` is used, and for scripts the parameters.
 */
#ifndef STRATA_LANG_LIST_H
#define STRATA_LANG_LIST_H

#include <stdio.h>

#include "lang/compile.h"

/*
 * Lists what patterns, separated by commas, match: "tracepoint:syscalls:*"; or a kernel type by its name ("struct
 * file"), with `verbose` also its fields. Messages about what could not be read go to `errors`. Returns the number of
 * probes and types.
 */
int lang_list(const char *patterns, const struct compile_options *options, bool verbose, FILE *out, FILE *errors);

/*
 * Lists the places to which the probes of a script would be attached. Messages go to `errors`. Returns their number, or
 * -EINVAL.
 */
int lang_list_script(const char *name, const char *source, size_t size, const struct compile_options *options,
		     bool verbose, FILE *out, FILE *errors);

#endif
