// SPDX-License-Identifier: GPL-2.0-or-later
/* What is known while compiling, and numbers. */
#include <string.h>

#include "lang/dialect/bpftrace/check/expressions.h"

bool check_constant(const struct ast *node, int64_t *ret)
{
	int64_t value;

	switch (node->kind) {
	case AST_INT:
	case AST_BOOL:
		*ret = (int64_t)node->value;
		return true;
	case AST_UNARY:
		if (node->op != OP_NEGATE || !check_constant(node->kids[0], &value))
			return false;
		*ret = (int64_t)(0 - (uint64_t)value);
		return true;
	default:
		return false;
	}
}

const struct type *check_become_int(struct ast *node, uint64_t value, const struct type *type)
{
	node->kind = AST_INT;
	node->value = value;
	node->kid_count = 0;
	node->is_unsigned = !type->is_signed;
	node->type = type;
	return type;
}

const struct type *check_become_number(struct ast *node, uint64_t value, bool is_unsigned)
{
	return check_become_int(node, value, type_of_number(value, is_unsigned));
}

bool check_number(struct compiler *c, struct ast *node)
{
	const struct type *type = node->type;

	/* Once in a round: each level of an expression without a type would double the work of the one below. */
	if (type->kind == TYPE_NONE && node->round != checker(c)->round)
		type = check_value(c, node);
	if (type_is_number(type) || type->kind == TYPE_POINTER)
		return true;
	if (type_is_aggregate(type) && node->kind == AST_MAP && type_is_readable_aggregate(type)) {
		node->detail = type;
		node->type = type->kind == TYPE_COUNT || !type->is_signed ? &type_uint64 : &type_int64;
		return true;
	}
	if (type->kind == TYPE_NONE && node->kind == AST_MAP && !checker(c)->final)
		return true; /* not known yet */
	report_error(c->report, "type.number", node->span, "a number is needed here, and this is of type '%s'",
		     type_describe(c->arena, type));
	return false;
}

const char *check_literal_text(struct compiler *c, struct ast *node, const char *what)
{
	check_value(c, node);
	if (node->kind == AST_STRING)
		return node->text;
	if (node->kind == AST_CALL && !strcmp(node->text, "str") && node->kid_count &&
	    node->kids[0]->kind == AST_STRING)
		return node->kids[0]->text;
	report_error(c->report, "type.literal", node->span, "%s must be a string literal", what);
	return NULL;
}

bool check_literal_number(struct compiler *c, struct ast *node, int64_t *ret)
{
	check_value(c, node);
	if (check_constant(node, ret))
		return true;
	report_error(c->report, "type.literal", node->span, "this must be a constant number");
	return false;
}
