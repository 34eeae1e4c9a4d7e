/* SPDX-License-Identifier: GPL-2.0-or-later */
/* entry: @entry(EXPRESSION). */
#ifndef STRATA_LANG_DIALECT_STAP_ENTRY_H
#define STRATA_LANG_DIALECT_STAP_ENTRY_H

#include "lang/dialect/stap/stap.h"

/*
 * Takes @entry out of the body of a handler of `point`, a return. Gives the point of the call, in the arena, and the
 * body of a probe there, which must be made, too; NULL: there is no @entry, or it has no meaning here.
 */
struct stap_point *stap_split_entries(struct compiler *c, struct stap_handler *handler, const struct stap_point *point,
				      struct stap_node **body);

#endif
