// SPDX-License-Identifier: GPL-2.0-or-later
#include "lang/core/op.h"

static const char *const op_texts[] = {
	[OP_NONE] = "",
	[OP_ADD] = "+",
	[OP_SUB] = "-",
	[OP_MUL] = "*",
	[OP_DIV] = "/",
	[OP_MOD] = "%",
	[OP_AND] = "&",
	[OP_OR] = "|",
	[OP_XOR] = "^",
	[OP_SHIFT_LEFT] = "<<",
	[OP_SHIFT_RIGHT] = ">>",
	[OP_EQUAL] = "==",
	[OP_NOT_EQUAL] = "!=",
	[OP_LESS] = "<",
	[OP_LESS_EQUAL] = "<=",
	[OP_GREATER] = ">",
	[OP_GREATER_EQUAL] = ">=",
	[OP_LOGICAL_AND] = "&&",
	[OP_LOGICAL_OR] = "||",
	[OP_NOT] = "!",
	[OP_COMPLEMENT] = "~",
	[OP_NEGATE] = "-",
	[OP_DEREFERENCE] = "*",
	[OP_ADDRESS] = "&",
	[OP_KNOWN] = "comptime",
};

const char *op_text(enum op op)
{
	return op_texts[op];
}

bool op_apply(enum op op, int64_t a, int64_t b, int64_t *ret)
{
	uint64_t left = (uint64_t)a, right = (uint64_t)b;

	switch (op) {
	case OP_ADD:
		*ret = (int64_t)(left + right);
		return true;
	case OP_SUB:
		*ret = (int64_t)(left - right);
		return true;
	case OP_MUL:
		*ret = (int64_t)(left * right);
		return true;
	case OP_DIV:
	case OP_MOD:
		if (!b || (b == -1 && a == INT64_MIN))
			return false;
		*ret = op == OP_DIV ? a / b : a % b;
		return true;
	case OP_AND:
		*ret = a & b;
		return true;
	case OP_OR:
		*ret = a | b;
		return true;
	case OP_XOR:
		*ret = a ^ b;
		return true;
	case OP_SHIFT_LEFT:
		*ret = (int64_t)(left << (right & 63));
		return true;
	case OP_SHIFT_RIGHT:
		*ret = a >> (right & 63);
		return true;
	case OP_EQUAL:
		*ret = a == b;
		return true;
	case OP_NOT_EQUAL:
		*ret = a != b;
		return true;
	case OP_LESS:
		*ret = a < b;
		return true;
	case OP_LESS_EQUAL:
		*ret = a <= b;
		return true;
	case OP_GREATER:
		*ret = a > b;
		return true;
	case OP_GREATER_EQUAL:
		*ret = a >= b;
		return true;
	case OP_LOGICAL_AND:
		*ret = a && b;
		return true;
	case OP_LOGICAL_OR:
		*ret = a || b;
		return true;
	default:
		return false;
	}
}
