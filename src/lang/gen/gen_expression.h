/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * gen_expression: what gen_expression.c and gen_operators.c share. Scalar results are in R0 unless it says otherwise.
 */
#ifndef STRATA_LANG_GEN_GEN_EXPRESSION_H
#define STRATA_LANG_GEN_GEN_EXPRESSION_H

#include "lang/gen/gen.h"

void gen_binary(struct gen *g, const struct node *node);
void gen_unary(struct gen *g, const struct node *node);
void gen_step(struct gen *g, const struct node *node);
/* A value that is no scalar goes to the frame, at `offset`. */
void gen_ternary(struct gen *g, const struct node *node, uint32_t offset);

/* A number, or a variable that is one, to a register; no other register is changed. */
void gen_simple(struct gen *g, int to, const struct node *node);
/* Left to R0, right to R1. */
void gen_operands(struct gen *g, const struct node *left, const struct node *right);
/* Multiplies a register by the size of what a pointer points to. */
void gen_scale(struct gen *g, int reg, const struct type *pointer);
/* Ends the clause: what is R1 bytes in is outside of the array, whose elements have `size` bytes. */
void gen_index_fault(struct gen *g, uint32_t size);
/* R0 = 1 when control comes to `yes`, else 0. */
void gen_bool_result(struct gen *g, label yes);

#endif
