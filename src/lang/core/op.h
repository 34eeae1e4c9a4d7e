/* SPDX-License-Identifier: GPL-2.0-or-later */
/* op: the operators that all dialects have. */
#ifndef STRATA_LANG_CORE_OP_H
#define STRATA_LANG_CORE_OP_H

#include <stdbool.h>
#include <stdint.h>

enum op {
	OP_NONE,
	OP_ADD,
	OP_SUB,
	OP_MUL,
	OP_DIV,
	OP_MOD,
	OP_AND,
	OP_OR,
	OP_XOR,
	OP_SHIFT_LEFT,
	OP_SHIFT_RIGHT,
	OP_EQUAL,
	OP_NOT_EQUAL,
	OP_LESS,
	OP_LESS_EQUAL,
	OP_GREATER,
	OP_GREATER_EQUAL,
	OP_LOGICAL_AND,
	OP_LOGICAL_OR,
	/* unary */
	OP_NOT,
	OP_COMPLEMENT,
	OP_NEGATE,
	OP_DEREFERENCE,
	OP_ADDRESS,
	OP_KNOWN /* the operand must be known while compiling */
};

const char *op_text(enum op op);

/* The result of a binary operator on two signed numbers. False if it is no binary operator, or divides by zero. */
bool op_apply(enum op op, int64_t a, int64_t b, int64_t *ret);

#endif
