// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The types of operators' results, and operations on literals. Arithmetic is done, and has its result, in 64 bits:
 * signed when one of the operands is, and after a subtraction.
 */
#include <string.h>

#include "lang/dialect/bpftrace/check/expressions.h"

static bool is_comparison(enum op op)
{
	return op >= OP_EQUAL && op <= OP_GREATER_EQUAL;
}

static const struct type *complain_operands(struct compiler *c, const struct ast *node)
{
	report_error(c->report, "type.operator", node->span, "'%s' cannot be used with '%s' and '%s'",
		     op_text(node->op), type_describe(c->arena, node->kids[0]->type),
		     type_describe(c->arena, node->kids[1]->type));
	return &type_none;
}

/* Of two numbers: what is computed while compiling is a literal again. */
static const struct type *fold(struct ast *node, uint64_t x, uint64_t y)
{
	bool is_unsigned = node->op != OP_SUB && ((int64_t)x >= 0 || !node->kids[0]->type->is_signed) &&
			   ((int64_t)y >= 0 || !node->kids[1]->type->is_signed);
	int64_t value;

	/* These depend on signs. */
	if (node->op == OP_DIV || node->op == OP_MOD || node->op == OP_SHIFT_RIGHT ||
	    !op_apply(node->op, (int64_t)x, (int64_t)y, &value))
		return check_arithmetic(node->op, node->kids[0]->type, node->kids[1]->type);
	return check_become_number(node, (uint64_t)value, is_unsigned);
}

static const struct type *of_pointers(struct compiler *c, const struct ast *node)
{
	const struct type *a = node->kids[0]->type, *b = node->kids[1]->type;

	if (b->kind != TYPE_POINTER && (node->op == OP_ADD || node->op == OP_SUB))
		return a;
	if (a->kind != TYPE_POINTER && node->op == OP_ADD)
		return b;
	return node->op == OP_SUB || node->op == OP_AND || node->op == OP_MOD ? &type_int64
									      : complain_operands(c, node);
}

const struct type *check_arithmetic(enum op op, const struct type *a, const struct type *b)
{
	bool is_signed;

	if (a->kind == TYPE_BOOL)
		a = &type_literal;
	if (b->kind == TYPE_BOOL)
		b = &type_literal;
	is_signed =
		a->is_flexible == b->is_flexible ? a->is_signed || b->is_signed : (a->is_flexible ? b : a)->is_signed;
	return op == OP_SUB || is_signed ? &type_int64 : &type_uint64;
}

static const struct type *arithmetic(struct compiler *c, struct ast *node)
{
	const struct type *a = node->kids[0]->type, *b = node->kids[1]->type;
	int64_t x, y;

	if (a->kind == TYPE_POINTER || b->kind == TYPE_POINTER)
		return of_pointers(c, node);
	if (check_constant(node->kids[0], &x) && check_constant(node->kids[1], &y))
		return fold(node, (uint64_t)x, (uint64_t)y);
	return check_arithmetic(node->op, a, b);
}

static const struct type *become_bool(struct ast *node, bool value)
{
	node->kind = AST_BOOL;
	node->value = value;
	node->kid_count = 0;
	return &type_bool;
}

/* A condition of two numbers that are known, like those of parameters: branches that it excludes are not reached. */
static const struct type *fold_condition(struct ast *node)
{
	int64_t x, y, value;

	if (!check_constant(node->kids[0], &x) || !check_constant(node->kids[1], &y))
		return &type_bool;
	/* Which one is less, is of the types. */
	if ((x < 0 && !node->kids[0]->type->is_signed) || (y < 0 && !node->kids[1]->type->is_signed))
		return &type_bool;
	return op_apply(node->op, x, y, &value) ? become_bool(node, value) : &type_bool;
}

/* A text, or a tuple of literals. */
static bool is_literal(const struct ast *node)
{
	int64_t value;
	uint32_t i;

	if (node->kind != AST_TUPLE)
		return node->kind == AST_STRING || check_constant(node, &value);
	for (i = 0; i < node->kid_count && is_literal(node->kids[i]);)
		i++;
	return i == node->kid_count;
}

/* Where the record or tuple `b` has what stands at `index` of `a`. */
static uint32_t counterpart(const struct ast *a, uint32_t index, const struct ast *b)
{
	uint32_t i;

	if (!a->names || !b->names)
		return index;
	for (i = 0; i < b->kid_count && strcmp(a->names[index], b->names[i]) != 0;)
		i++;
	return i;
}

static bool same_literals(const struct ast *a, const struct ast *b)
{
	int64_t x, y;
	uint32_t i, at;

	if (a->kind == AST_STRING || b->kind == AST_STRING)
		return a->kind == b->kind && !strcmp(a->text, b->text);
	if (a->kind != AST_TUPLE || b->kind != AST_TUPLE)
		return check_constant(a, &x) && check_constant(b, &y) && x == y;
	for (i = 0; a->kid_count == b->kid_count && i < a->kid_count; i++) {
		at = counterpart(a, i, b);
		if (at == b->kid_count || !same_literals(a->kids[i], b->kids[at]))
			return false;
	}
	return a->kid_count == b->kid_count;
}

/* probe == "name": known where all places of the program have one name. A probe that was kept may be another one. */
static const struct type *compare_probe(struct compiler *c, struct ast *node)
{
	bool swapped = node->kids[0]->kind == AST_STRING;
	const struct ast *probe = node->kids[swapped ? 1 : 0], *text = node->kids[swapped ? 0 : 1];
	const struct attach *attaches = &c->attaches.at[c->unit->first_attach];
	bool has_one_name = c->unit->attach_count;
	uint32_t i;

	for (i = 1; i < c->unit->attach_count; i++)
		has_one_name &= !strcmp(attaches[i].name, attaches->name);
	if (!has_one_name || (probe->kind != AST_NAME && probe->kind != AST_CALL))
		return &type_bool;
	return become_bool(node, !strcmp(attaches->name, text->text) == (node->op == OP_EQUAL));
}

static const struct type *check_comparison(struct compiler *c, struct ast *node)
{
	const struct type *a = node->kids[0]->type, *b = node->kids[1]->type;
	bool is_equality = node->op == OP_EQUAL || node->op == OP_NOT_EQUAL;

	if (type_is_scalar(a) && type_is_scalar(b))
		return fold_condition(node);
	if (is_equality && a->kind == b->kind && is_literal(node->kids[0]) && is_literal(node->kids[1]))
		return become_bool(node, same_literals(node->kids[0], node->kids[1]) == (node->op == OP_EQUAL));
	if (is_equality &&
	    ((a->kind == TYPE_PROBE && b->kind == TYPE_STRING) || (b->kind == TYPE_PROBE && a->kind == TYPE_STRING)) &&
	    (node->kids[0]->kind == AST_STRING || node->kids[1]->kind == AST_STRING))
		return compare_probe(c, node);
	if (is_equality && a->kind == b->kind && (type_join(c->arena, a, b) || a->kind == TYPE_STRING) &&
	    a->kind != TYPE_NONE)
		return &type_bool;
	if ((a->kind == TYPE_NONE || b->kind == TYPE_NONE) && !checker(c)->final)
		return &type_bool;
	report_error(c->report, "type.comparison", node->span, "Type mismatch for '%s': comparing '%s' with '%s'",
		     op_text(node->op), type_describe(c->arena, a), type_describe(c->arena, b));
	return &type_bool;
}

const struct type *check_binary(struct compiler *c, struct ast *node)
{
	uint32_t i;

	for (i = 0; i < 2; i++) {
		check_value(c, node->kids[i]);
		if (type_is_aggregate(node->kids[i]->type))
			check_number(c, node->kids[i]);
	}
	if (is_comparison(node->op))
		return check_comparison(c, node);
	if (!check_number(c, node->kids[0]) || !check_number(c, node->kids[1]))
		return &type_none;
	if (node->op == OP_LOGICAL_AND || node->op == OP_LOGICAL_OR)
		return fold_condition(node);
	if (node->kids[0]->type->kind == TYPE_NONE || node->kids[1]->type->kind == TYPE_NONE)
		return &type_literal; /* not known yet */
	if ((node->op == OP_DIV || node->op == OP_MOD) && node->kids[1]->kind == AST_INT && !node->kids[1]->value)
		report_error(c->report, "type.division", node->kids[1]->span, "division by zero");
	return arithmetic(c, node);
}

static const struct type *check_dereference(struct compiler *c, struct ast *node)
{
	const struct type *type = node->kids[0]->type;

	if (type->kind == TYPE_INT)
		return &type_uint64;
	if (type->kind != TYPE_POINTER) {
		report_error(c->report, "type.pointer", node->span, "a value of type '%s' cannot be dereferenced",
			     type_describe(c->arena, type));
		return &type_none;
	}
	if (type->to->kind == TYPE_NONE) {
		report_error(c->report, "type.pointer", node->span, "a void pointer cannot be dereferenced");
		report_hint(c->report, "cast it to a pointer of some type");
		return &type_none;
	}
	if (type->to->kind == TYPE_RECORD)
		types_complete(&c->types, type->to);
	return type->to;
}

bool check_is_choice(const struct ast *node)
{
	return node->kids[0]->kind == AST_UNARY && node->kids[0]->op == OP_KNOWN;
}

bool check_excludes(const struct ast *condition, bool when)
{
	int64_t value;

	return check_constant(condition, &value) && (value != 0) != when;
}

/* A literal takes the operator's place. */
static const struct type *check_known(struct compiler *c, struct ast *node)
{
	const struct ast *operand = node->kids[0];

	if (operand->kind == AST_INT || operand->kind == AST_BOOL || operand->kind == AST_STRING)
		*node = *operand;
	else if (checker(c)->deciding || checker(c)->final)
		report_error(c->report, "call.comptime", operand->span, "this is not known while compiling");
	else
		checker(c)->pending = true;
	return operand->type;
}

const struct type *check_unary(struct compiler *c, struct ast *node)
{
	const struct type *type = check_value(c, node->kids[0]);
	int64_t value;

	if (node->op == OP_KNOWN)
		return check_known(c, node);

	if (node->op == OP_ADDRESS) {
		if (node->kids[0]->kind == AST_VARIABLE || (node->kids[0]->kind == AST_MAP && !type_is_aggregate(type)))
			return type_pointer(c->arena, type);
		report_error(c->report, "address.operand", node->span, "only variables and plain maps have an address");
		return &type_none;
	}
	if (type_is_aggregate(type) && check_number(c, node->kids[0]))
		type = node->kids[0]->type;
	if (node->op == OP_DEREFERENCE)
		return check_dereference(c, node);
	if (!check_number(c, node->kids[0]))
		return &type_none;
	switch (node->op) {
	case OP_NOT:
		return check_constant(node->kids[0], &value) ? become_bool(node, !value) : &type_bool;
	case OP_NEGATE:
		if (check_constant(node->kids[0], &value))
			return check_become_number(node, 0 - (uint64_t)value, false);
		return &type_int64;
	default:
		return type->is_signed ? &type_int64 : &type_uint64;
	}
}

const struct type *check_ternary(struct compiler *c, struct ast *node)
{
	const struct type *a, *b, *type;

	bool is_choice = check_is_choice(node);

	check_value(c, node->kids[0]);
	if (!type_is_scalar(node->kids[0]->type))
		check_number(c, node->kids[0]);
	if (is_choice && check_is_choice(node))
		return &type_none; /* not known yet */
	if (is_choice) {
		*node = *node->kids[check_excludes(node->kids[0], true) ? 2 : 1];
		return check_value(c, node);
	}
	a = check_value(c, node->kids[1]);
	b = check_value(c, node->kids[2]);
	if (type_is_aggregate(a) && check_number(c, node->kids[1]))
		a = node->kids[1]->type;
	if (type_is_aggregate(b) && check_number(c, node->kids[2]))
		b = node->kids[2]->type;
	type = type_join(c->arena, a, b);
	if (type)
		return type;
	report_error(c->report, "type.ternary", node->span,
		     "Ternary operator must return the same type: have '%s' and '%s'", type_describe(c->arena, a),
		     type_describe(c->arena, b));
	return &type_none;
}
