/* SPDX-License-Identifier: GPL-2.0-or-later */
/* macros: replaces a call of one of the script's macros by its body, with the arguments put in. */
#ifndef STRATA_LANG_DIALECT_BPFTRACE_CHECK_MACROS_H
#define STRATA_LANG_DIALECT_BPFTRACE_CHECK_MACROS_H

#include "lang/dialect/bpftrace/check/check.h"

/* If the node names a macro, turns it into the macro's body. */
bool macro_expand(struct compiler *c, struct ast *node);

#endif
