/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * capture: what the four files share that decide what the kernel part of a probe sends: targets.c (target variables),
 * capture.c (what a body needs), condition.c (conditions at its beginning), program.c (makes the core's tree).
 */
#ifndef STRATA_LANG_DIALECT_STAP_CAPTURE_H
#define STRATA_LANG_DIALECT_STAP_CAPTURE_H

#include "lang/dialect/stap/stap.h"

/* Where an expression stands: its body, and the calls around it. */
struct stap_scope {
	const struct stap_node *body;
	const struct stap_function *function; /* NULL: the handler's */
	struct stap_node *const *arguments;
	const struct stap_scope *outer;
	unsigned int depth;
};

/* targets.c: nodes of the core; never NULL unless said. */
struct node *stap_core_number(struct compiler *c, int64_t value);
/* An argument of a function or a marker, counted from 0. */
struct node *stap_marker_argument(struct compiler *c, uint32_t index);
struct node *stap_core_call(struct compiler *c, enum core_builtin builtin, const struct type *type,
			    struct node *operand);
struct node *stap_core_cast(struct compiler *c, struct node *of, const struct type *type);
struct node *stap_core_binary(struct compiler *c, enum op op, struct node *a, struct node *b);
/* NULL: it has no such member. */
struct node *stap_core_field(struct compiler *c, struct node *of, const char *name);
const struct type *stap_text_type(struct compiler *c);
bool stap_is_text(const struct type *type);
/* $name and its steps (stap.h) at the place of c->unit. NULL: it is not there. */
struct node *stap_target_node(struct compiler *c, const struct stap_node *target);

/*
 * capture.c: the expression in terms of the probe's own variables. NULL: it has others. Of a variable with several
 * values, *variants of them, this is the one with number `which`; variants NULL: it may have only one.
 */
struct stap_node *stap_own_terms(struct compiler *c, const struct stap_node *node, const struct stap_scope *scope,
				 uint32_t which, uint32_t *variants);

/* condition.c: what the kernel part can compute; NULL: it cannot. */
struct node *stap_kernel_number(struct compiler *c, const struct stap_node *node);
enum op stap_operator_of(const char *text);
/* What must hold at the place of c->unit for the handler to have anything to do, as far as that can be told; NULL:
 * nothing. */
struct node *stap_predicate(struct compiler *c, const struct stap_handler *handler);

#endif
