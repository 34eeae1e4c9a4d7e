// SPDX-License-Identifier: GPL-2.0-or-later
/* Constant expressions, as C declarations and directives have them. */
#include "lang/dialect/bpftrace/parse/parts.h"

static bool unary(enum op op, int64_t value, int64_t *ret)
{
	if (op != OP_NEGATE && op != OP_COMPLEMENT && op != OP_NOT)
		return false;
	*ret = op == OP_NOT ? !value : op == OP_NEGATE ? (int64_t)(0 - (uint64_t)value) : ~value;
	return true;
}

static bool size_of(struct parser *p, const struct type_name *name, int64_t *ret)
{
	const struct type *type = name && name->name ? types_find(p->types, name->name) : NULL;
	int64_t size = type ? type->size : 0;
	uint32_t i;

	for (i = 0; name && i < name->suffix_count; i++)
		size = name->suffixes[i].kind == '*' ? 8 : size * name->suffixes[i].count;
	*ret = size;
	return type;
}

bool parse_evaluate(struct parser *p, const struct ast *node, bool known, int64_t *ret)
{
	const struct named_constant *constant;
	int64_t a, b;

	switch (node->kind) {
	case AST_INT:
	case AST_BOOL:
		*ret = (int64_t)node->value;
		return true;
	case AST_NAME:
		constant = known ? types_constant(p->types, node->text) : NULL;
		*ret = constant ? constant->value : 0;
		return constant || !known;
	case AST_CALL: /* of a macro that is not defined */
		*ret = 0;
		return !known;
	case AST_UNARY:
		return parse_evaluate(p, node->kids[0], known, &a) && unary(node->op, a, ret);
	case AST_BINARY:
		return parse_evaluate(p, node->kids[0], known, &a) && parse_evaluate(p, node->kids[1], known, &b) &&
		       op_apply(node->op, a, b, ret);
	case AST_TERNARY:
		return parse_evaluate(p, node->kids[0], known, &a) &&
		       parse_evaluate(p, node->kids[a ? 1 : 2], known, ret);
	case AST_CAST:
		return parse_evaluate(p, node->kids[0], known, ret);
	case AST_SIZEOF:
		return size_of(p, node->type_name, ret);
	default:
		return false;
	}
}

bool parse_constant(struct parser *p, int64_t *ret)
{
	uint32_t begin = p->token.span.begin;
	const struct ast *node = parse_expression(p);

	if (p->stop)
		return false;
	if (parse_evaluate(p, node, true, ret))
		return true;
	report_error(p->report, "type.constant", span_from(p, begin), "a constant number is needed here");
	return false;
}
