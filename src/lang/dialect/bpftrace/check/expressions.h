/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the files that check expressions share: expressions.c, operators.c, constants.c. */
#ifndef STRATA_LANG_DIALECT_BPFTRACE_CHECK_EXPRESSIONS_H
#define STRATA_LANG_DIALECT_BPFTRACE_CHECK_EXPRESSIONS_H

#include "lang/dialect/bpftrace/check/check.h"

/* operators.c: the type of the result. */
const struct type *check_binary(struct compiler *c, struct ast *node);
const struct type *check_unary(struct compiler *c, struct ast *node);
const struct type *check_ternary(struct compiler *c, struct ast *node);

/* type_names.c: likewise. */
const struct type *check_cast(struct compiler *c, struct ast *node);
const struct type *check_sizeof(struct compiler *c, struct ast *node);
const struct type *check_offsetof(struct compiler *c, struct ast *node);

/* Is this an if, or a conditional value, whose condition is to be known, and is not yet? */
bool check_is_choice(const struct ast *node);
/* Is the branch that is taken when the condition is `when` never taken? */
bool check_excludes(const struct ast *condition, bool when);

/* constants.c: the node becomes a literal of this type, or of the one that the number has; it is returned. */
const struct type *check_become_int(struct ast *node, uint64_t value, const struct type *type);
const struct type *check_become_number(struct ast *node, uint64_t value, bool is_unsigned);

#endif
