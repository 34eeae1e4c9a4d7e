// SPDX-License-Identifier: GPL-2.0-or-later
/* D's expressions to the core, by C's rules for integers: operands narrower than int become int, then both get one
 * type. */
#include <string.h>

#include "lang/dialect/d/d.h"

static bool is_comparison(enum op op)
{
	return op >= OP_EQUAL && op <= OP_GREATER_EQUAL;
}

/* As in dtrace, a sum or product of ints that is used at once has 64 bits: in C it would be undefined. */
static bool is_wide(enum op op, const struct type *type)
{
	return type->kind == TYPE_INT && type->is_signed &&
	       (op == OP_ADD || op == OP_SUB || op == OP_MUL || op == OP_SHIFT_LEFT);
}

struct node *d_binary(struct compiler *c, enum op op, const struct type *type, struct node *a, struct node *b)
{
	struct node *node = node_create(c->arena, NODE_BINARY, a->span, 2);

	if (c->arena->failed)
		return node;
	node->op = op;
	node->kids[0] = a;
	node->kids[1] = b;
	node->flags = a->type->kind == TYPE_INT && a->type->is_signed ? OPERATION_SIGNED : 0;
	node->type = is_comparison(op) || op == OP_LOGICAL_AND || op == OP_LOGICAL_OR ? &type_int32 : type;
	if (is_wide(op, type))
		return node;
	if (node->type->kind == TYPE_INT && node->type->size < 8 && !is_comparison(op) && op != OP_LOGICAL_AND &&
	    op != OP_LOGICAL_OR) {
		node->type = type_integer(8, type->is_signed);
		return d_cast(c, node, type);
	}
	return node;
}

static struct node *unary(struct compiler *c, enum op op, const struct type *type, struct node *a)
{
	struct node *node = node_create(c->arena, NODE_UNARY, a->span, 1);

	if (c->arena->failed)
		return node;
	node->op = op;
	node->kids[0] = a;
	node->type = type;
	return node;
}

static int64_t narrow(uint64_t value, const struct type *type)
{
	unsigned int bits = 64 - type->size * 8;

	if (!bits || type->size > 8)
		return (int64_t)value;
	return type->is_signed ? (int64_t)(value << bits) >> bits : (int64_t)(value << bits >> bits);
}

static const char *cut(struct compiler *c, const char *text, uint32_t room)
{
	const char *ret = strlen(text) < room ? text : arena_printf(c->arena, "%.*s", (int)room - 1, text);

	return ret ? ret : "";
}

struct node *d_cast(struct compiler *c, struct node *node, const struct type *type)
{
	struct node *cast;

	if (c->arena->failed || type_equal(node->type, type))
		return node;
	if (node->kind == NODE_INT && type->kind == TYPE_INT)
		return d_int(c, narrow(node->value, type), type);
	if (node->kind == NODE_STRING && type->kind == TYPE_STRING) {
		struct node *copy = d_literal(c, cut(c, node->text, type->count));

		copy->type = type;
		return copy;
	}
	cast = node_create(c->arena, NODE_CAST, node->span, 1);
	if (c->arena->failed)
		return cast;
	cast->kids[0] = node;
	cast->type = type;
	return cast;
}

/* --- types of operations --- */

static const struct type *promoted(const struct type *type)
{
	return type->kind == TYPE_INT && type->size < 4 ? &type_int32 : type->kind == TYPE_BOOL ? &type_int32 : type;
}

/* C's usual arithmetic conversions, but for those to int: in D the sum of two chars is one. */
static const struct type *common(const struct type *a, const struct type *b)
{
	if (a->kind == TYPE_BOOL)
		a = &type_int32;
	if (b->kind == TYPE_BOOL)
		b = &type_int32;
	if (a->kind != TYPE_INT || b->kind != TYPE_INT)
		return &type_uint64;
	if (a->size == b->size)
		return type_integer(a->size, a->is_signed && b->is_signed);
	return a->size > b->size ? type_integer(a->size, a->is_signed) : type_integer(b->size, b->is_signed);
}

/* --- values of a kind --- */

static const char *describe(struct compiler *c, const struct type *type)
{
	return type->kind == TYPE_STRING ? "string" : type->kind == TYPE_NONE ? "void" : type_describe(c->arena, type);
}

struct node *d_number(struct compiler *c, const struct d_expr *expr)
{
	struct node *node = d_value(c, expr);

	if (type_is_scalar(node->type))
		return node;
	if (node->type->kind == TYPE_ARRAY)
		return d_decayed(c, node);
	if (!c->report->errors)
		report_error(c->report, "D_OP_SCALAR", expr->span, "an operand of scalar type is required, not %s",
			     describe(c, node->type));
	return d_int(c, 0, &type_int32);
}

static bool is_action(const struct d_expr *expr)
{
	return expr->kind == D_CALL && d_is_action(expr->text);
}

/* The operand of an operator that has one: an integer. */
static struct node *single(struct compiler *c, const struct d_expr *expr, const char *operator)
{
	struct node *node = is_action(expr) ? NULL : d_value(c, expr);

	if (node && type_is_number(node->type))
		return node;
	if (!c->report->errors)
		report_error(c->report, *operator== '~' ? "D_OP_INT" : "D_OP_ARITH", expr->span,
			     "operator %s requires an operand of %s type", operator,
			     *operator== '~' ? "integral" : "arithmetic");
	return d_int(c, 0, &type_int32);
}

static void incompatible(struct compiler *c, const struct d_expr *expr, const struct type *a, const struct type *b)
{
	if (!c->report->errors)
		report_error(c->report, "D_OP_INCOMPAT", expr->span,
			     "operands have incompatible types: \"%s\" %s \"%s\"",
			     a ? d_type_name(c, a) : "aggregation", expr->text, b ? d_type_name(c, b) : "aggregation");
}

/* An integer, not a pointer. */
static struct node *integer(struct compiler *c, const struct d_expr *expr, const char *operator)
{
	struct node *node = d_value(c, expr);

	if (type_is_number(node->type))
		return node;
	if (!c->report->errors && (!strcmp(operator, "+=") || !strcmp(operator, "-=")) &&
	    node->type->kind == TYPE_POINTER && node->type->to->kind == TYPE_NONE)
		report_error(c->report, "D_OP_VFPTR", expr->span,
			     "operator %s requires left-hand scalar operand of known size", operator);
	else if (!c->report->errors)
		report_error(c->report, "D_OP_ARITH", expr->span,
			     "operator %s requires operands of arithmetic type, not %s", operator,
			     describe(c, node->type));
	return d_int(c, 0, &type_int32);
}

struct node *d_text(struct compiler *c, const struct d_expr *expr)
{
	struct node *node = d_value(c, expr), *text;

	if (node->type->kind == TYPE_STRING)
		return node;
	if (node->type->kind == TYPE_POINTER || node->type->kind == TYPE_PROBE || d_is_null(c, expr) ||
	    (node->type->kind == TYPE_ARRAY && node->type->to->size == 1)) {
		text = d_call(c, CORE_STR, d_string_type(c), expr->span, 1);
		if (!c->arena->failed)
			text->kids[0] = d_is_null(c, expr) ? d_int(c, 0, &type_uint64) : node;
		return text;
	}
	if (!c->report->errors) {
		report_error(c->report, "D_PROTO_ARG", expr->span, "a string is required, not %s",
			     describe(c, node->type));
		if (type_is_number(node->type))
			report_hint(
				c->report,
				"copyinstr() reads a string at a process's address, stringof() one of the kernel's");
	}
	return d_literal(c, "");
}

bool d_is_null(struct compiler *c, const struct d_expr *expr)
{
	bool is_named = expr->kind == D_VARIABLE && !strcmp(expr->text, "NULL");

	(void)c;
	return is_named || (expr->kind == D_INT && !expr->value);
}

/* May an expression of a declaration, which is in no clause, be a constant? Names may be those of constants. */
static bool may_be_constant(struct compiler *c, const struct d_expr *expr)
{
	const struct d_variable *variable;
	uint32_t i;

	switch (expr->kind) {
	case D_INT:
	case D_OFFSETOF:
		return true;
	case D_SIZEOF:
		return !expr->kid_count;
	case D_VARIABLE:
		variable = d_variable_find(c, expr->scope, expr->text, false);
		return !expr->kid_count && (!variable || (variable->inlined && d_may_inline(c, expr->span) &&
							   may_be_constant(c, variable->inlined)));
	case D_UNARY:
		if (!strcmp(expr->text, "*") || !strcmp(expr->text, "&"))
			return false;
		break;
	case D_BINARY:
	case D_TERNARY:
	case D_CAST:
	case D_COMMA:
		break;
	default:
		return false;
	}
	for (i = 0; i < expr->kid_count; i++)
		if (!may_be_constant(c, expr->kids[i]))
			return false;
	return true;
}

bool d_constant(struct compiler *c, const struct d_expr *expr, int64_t *ret)
{
	struct node *node;

	if (!c->unit && !may_be_constant(c, expr))
		return false;
	node = d_value(c, expr);
	return node->kind == NODE_INT && node_constant(node, ret);
}

/* --- operators --- */

static enum op operator_of(const char *text)
{
	static const struct {
		const char *text;
		enum op op;
	} table[] = {{"+", OP_ADD},          {"-", OP_SUB},          {"*", OP_MUL},     {"/", OP_DIV},
		     {"%", OP_MOD},          {"&", OP_AND},          {"|", OP_OR},      {"^", OP_XOR},
		     {"<<", OP_SHIFT_LEFT},  {">>", OP_SHIFT_RIGHT}, {"==", OP_EQUAL},  {"!=", OP_NOT_EQUAL},
		     {"<", OP_LESS},         {"<=", OP_LESS_EQUAL},  {">", OP_GREATER}, {">=", OP_GREATER_EQUAL},
		     {"&&", OP_LOGICAL_AND}, {"||", OP_LOGICAL_OR}};
	size_t length = strlen(text), i;

	/* Of a compound assignment without its =. */
	for (i = 0; i < sizeof(table) / sizeof(table[0]); i++)
		if (!strcmp(table[i].text, text) ||
		    (table[i].op <= OP_SHIFT_RIGHT && strlen(table[i].text) + 1 == length && text[length - 1] == '=' &&
		     !strncmp(table[i].text, text, length - 1)))
			return table[i].op;
	return OP_NONE;
}

/* let t = b; if (!t) fault; a / t. A constant needs no test. */
static struct node *divide(struct compiler *c, enum op op, const struct type *type, struct node *a, struct node *b,
			   struct span span)
{
	struct node *block, *let, *test, *fault;
	struct symbol *symbol;

	if (b->kind == NODE_INT && b->value)
		return d_binary(c, op, type, a, b);
	if (b->kind == NODE_INT) {
		report_error(c->report, "D_DIV_ZERO", span, "expression contains division by zero");
		return d_int(c, 0, type);
	}
	symbol = arena_new(c->arena, struct symbol);
	block = node_create(c->arena, NODE_BLOCK_VALUE, span, 3);
	let = node_create(c->arena, NODE_LET, span, 1);
	test = node_create(c->arena, NODE_IF, span, 3);
	if (c->arena->failed)
		return block;
	*symbol = (struct symbol){.name = "divisor", .type = type};
	let->symbol = symbol;
	let->kids[0] = b;
	fault = d_call(c, CORE_FAULT, &type_none, span, 1);
	if (c->arena->failed)
		return block;
	fault->value = CORE_FAULT_DIVISION;
	fault->kids[0] = d_int(c, 0, &type_int64);
	test->kids[0] = d_binary(c, OP_EQUAL, type, d_variable_node(c, symbol), d_int(c, 0, type));
	test->kids[1] = fault;
	test->kids[2] = NULL;
	block->kids[0] = let;
	block->kids[1] = test;
	block->kids[2] = d_binary(c, op, type, a, d_variable_node(c, symbol));
	block->type = block->kids[2]->type;
	return block;
}

/* A string that is NULL is an empty one here. */
static struct node *compared(struct compiler *c, const struct d_expr *expr)
{
	return d_is_null(c, expr) ? d_literal(c, "") : d_text(c, expr);
}

/* Strings are ordered by their bytes. */
static struct node *compare_texts(struct compiler *c, enum op op, const struct d_expr *expr)
{
	struct node *a = compared(c, expr->kids[0]), *b = compared(c, expr->kids[1]), *node;

	if (op == OP_EQUAL || op == OP_NOT_EQUAL)
		return d_binary(c, op, &type_int32, a, b);
	node = d_call(c, CORE_MEMCMP, &type_int64, expr->span, 2);
	if (c->arena->failed)
		return node;
	node->kids[0] = d_cast(c, a, d_string_type(c));
	node->kids[1] = d_cast(c, b, d_string_type(c));
	node->value = d_string_type(c)->size;
	return d_binary(c, op, &type_int32, node, d_int(c, 0, &type_int64));
}

/* How far to go is not known. */
static bool points_to_nothing(const struct type *a, const struct type *b)
{
	const struct type *pointer = a->kind == TYPE_POINTER ? a : b;

	return pointer->to->kind == TYPE_NONE;
}

static struct node *arithmetic(struct compiler *c, enum op op, struct node *a, struct node *b, struct span span,
			       const char *text)
{
	const struct type *type = common(a->type, b->type);
	int64_t x, y, value;

	if (a->type->kind == TYPE_POINTER || b->type->kind == TYPE_POINTER) {
		if (is_comparison(op))
			return d_binary(c, op, &type_int32, d_cast(c, a, &type_uint64), d_cast(c, b, &type_uint64));
		if (op == OP_SUB && a->type->kind == TYPE_POINTER && b->type->kind == TYPE_POINTER)
			return divide(
				c, OP_DIV, &type_int64,
				d_binary(c, OP_SUB, &type_int64, d_cast(c, a, &type_int64), d_cast(c, b, &type_int64)),
				d_int(c, a->type->to->size ? a->type->to->size : 1, &type_int64), span);
		if ((op == OP_ADD || op == OP_SUB) && points_to_nothing(a->type, b->type)) {
			if (!c->report->errors)
				report_error(c->report, "D_OP_INCOMPAT", span,
					     "operands have incompatible types: \"%s\" %s \"%s\"",
					     d_type_name(c, a->type), text, d_type_name(c, b->type));
			return a;
		}
		if (op == OP_ADD || op == OP_SUB)
			return d_binary(c, op, a->type->kind == TYPE_POINTER ? a->type : b->type, a, b);
		report_error(c->report, "D_OP_ARITH", span, "operator %s requires operands of arithmetic type", text);
		return a;
	}
	if (op == OP_SHIFT_LEFT || op == OP_SHIFT_RIGHT) {
		type = promoted(a->type);
		b = d_cast(c, b, &type_int64);
	} else {
		b = d_cast(c, b, type);
	}
	a = d_cast(c, a, type);
	if (a->kind == NODE_INT && b->kind == NODE_INT && node_constant(a, &x) && node_constant(b, &y) &&
	    (type->is_signed || (x >= 0 && y >= 0)) && op_apply(op, x, y, &value)) {
		if (!is_comparison(op) && !(is_wide(op, type) && type->size >= 4))
			value = narrow((uint64_t)value, type);
		return d_int(c, value, is_comparison(op) ? &type_int32 : type);
	}
	if (op == OP_DIV || op == OP_MOD)
		return divide(c, op, type, a, b, span);
	return d_binary(c, op, type, a, b);
}

static bool is_textual(const struct type *type)
{
	return type->kind == TYPE_STRING || type->kind == TYPE_PROBE;
}

/* Strings where numbers are needed. */
static void wrong_operands(struct compiler *c, const struct d_expr *expr, enum op op)
{
	bool is_scalar = op == OP_NONE || op >= OP_LOGICAL_AND, is_arithmetic = op && strchr("+-*/", *expr->text);

	if (!c->report->errors)
		report_error(c->report, is_scalar ? "D_OP_SCALAR" : is_arithmetic ? "D_OP_ARITH" : "D_OP_INT",
			     expr->span, "operator %s requires operands of %s type", expr->text,
			     is_scalar       ? "scalar"
			     : is_arithmetic ? "arithmetic"
					     : "integral");
}

static void of_aggregation(struct compiler *c, const struct d_expr *expr)
{
	const struct type *types[2] = {};
	uint32_t i;

	for (i = 0; i < 2; i++)
		if (expr->kids[i]->kind != D_AGGREGATION)
			types[i] = d_value(c, expr->kids[i])->type;
	incompatible(c, expr, types[0], types[1]);
}

/* A string and a number: the string from there on. */
static struct node *text_from(struct compiler *c, struct node *text, struct node *place, struct span span)
{
	struct node *node = d_call(c, CORE_SUBSTR, d_string_type(c), span, 3);

	if (c->arena->failed)
		return node;
	node->kids[0] = d_cast(c, text, d_string_type(c));
	node->kids[1] = d_cast(c, place, &type_int64);
	node->kids[2] = d_int(c, INT32_MAX, &type_int64);
	return node;
}

static struct node *lower_binary(struct compiler *c, const struct d_expr *expr)
{
	enum op op = operator_of(expr->text);
	struct node *a, *b;

	if (expr->kids[0]->kind == D_AGGREGATION || expr->kids[1]->kind == D_AGGREGATION) {
		of_aggregation(c, expr);
		return d_int(c, 0, &type_int32);
	}
	a = d_value(c, expr->kids[0]);
	b = d_value(c, expr->kids[1]);
	if (is_textual(a->type) || is_textual(b->type)) {
		if (is_comparison(op))
			return compare_texts(c, op, expr);
		if (op == OP_ADD && (type_is_number(a->type) || type_is_number(b->type)))
			return type_is_number(a->type) ? text_from(c, b, a, expr->span)
						       : text_from(c, a, b, expr->span);
		wrong_operands(c, expr, op);
		return d_int(c, 0, &type_int32);
	}
	if (!type_is_scalar(a->type) || !type_is_scalar(b->type)) {
		if (!c->report->errors)
			report_error(c->report, "D_OP_SCALAR", expr->span,
				     "operator %s requires operands of scalar type, not %s", expr->text,
				     describe(c, type_is_scalar(a->type) ? b->type : a->type));
		return d_int(c, 0, &type_int32);
	}
	if (!strcmp(expr->text, "^^"))
		return d_binary(c, OP_NOT_EQUAL, &type_int32, unary(c, OP_NOT, &type_int32, a),
				unary(c, OP_NOT, &type_int32, b));
	if (op == OP_LOGICAL_AND || op == OP_LOGICAL_OR)
		return d_binary(c, op, &type_int32, a, b);
	return arithmetic(c, op, a, b, expr->span, expr->text);
}

static struct node *lower_unary(struct compiler *c, const struct d_expr *expr)
{
	const struct type *type;
	struct node *a;

	if (*expr->text == '*') {
		a = d_number(c, expr->kids[0]);
		if (a->type->kind != TYPE_POINTER || a->type->to->kind == TYPE_NONE) {
			report_error(c->report, a->type->kind == TYPE_POINTER ? "D_DEREF_VOID" : "D_DEREF_NONPTR",
				     expr->span, "cannot dereference %s",
				     a->type->kind == TYPE_POINTER ? "pointer to void" : "non-pointer type");
			return d_int(c, 0, &type_int32);
		}
		type = a->type->to;
		if (type->kind == TYPE_STRING) {
			struct node *text = d_call(c, CORE_STR, d_string_type(c), expr->span, 1);

			text->kids[0] = a;
			return text;
		}
		return unary(c, OP_DEREFERENCE, type, a);
	}
	if (*expr->text == '&')
		return d_address(c, expr);
	if (*expr->text == '!')
		return unary(c, OP_NOT, &type_int32, d_number(c, expr->kids[0]));
	a = single(c, expr->kids[0], expr->text);
	type = promoted(a->type);
	a = d_cast(c, a, type);
	if (*expr->text == '+')
		return a;
	if (a->kind == NODE_INT)
		return d_int(c, narrow(*expr->text == '-' ? -a->value : ~a->value, type), type);
	a = unary(c, *expr->text == '-' ? OP_NEGATE : OP_COMPLEMENT, type_integer(8, type->is_signed), a);
	return d_cast(c, a, type);
}

static struct node *lower_ternary(struct compiler *c, const struct d_expr *expr)
{
	struct node *condition = d_value(c, expr->kids[0]), *node, *a, *b;
	const struct type *type;

	if (is_textual(condition->type) && !c->report->errors)
		report_error(c->report, "D_OP_SCALAR", expr->span, "operator ?: expression must be of scalar type");
	condition = d_number(c, expr->kids[0]);
	if (is_action(expr->kids[1]) || is_action(expr->kids[2])) {
		if (!c->report->errors && (!is_action(expr->kids[1]) || d_check_call(c, expr->kids[1])) &&
		    (!is_action(expr->kids[2]) || d_check_call(c, expr->kids[2])))
			report_error(c->report, "D_OP_ACT", expr->span,
				     "action cannot be used in a conditional context");
		return d_int(c, 0, &type_int32);
	}
	a = d_value(c, expr->kids[1]);
	b = d_value(c, expr->kids[2]);
	node = node_create(c->arena, NODE_TERNARY, expr->span, 3);
	if (c->arena->failed)
		return node;
	if (is_textual(a->type) || is_textual(b->type)) {
		type = d_string_type(c);
		a = d_cast(c, d_text(c, expr->kids[1]), type);
		b = d_cast(c, d_text(c, expr->kids[2]), type);
	} else if (type_is_number(a->type) && type_is_number(b->type)) {
		type = common(a->type, b->type);
		a = d_cast(c, a, type);
		b = d_cast(c, b, type);
	} else if (type_is_scalar(a->type) && type_is_scalar(b->type)) {
		type = a->type->kind == TYPE_POINTER ? a->type : b->type;
	} else {
		if (!c->report->errors)
			report_error(c->report, "D_OP_INCOMPAT", expr->span,
				     "operator ?: operands must have compatible types");
		return d_int(c, 0, &type_int32);
	}
	node->kids[0] = condition;
	node->kids[1] = a;
	node->kids[2] = b;
	node->type = type;
	return node;
}

static struct node *lower_index(struct compiler *c, const struct d_expr *expr)
{
	struct node *node;
	int64_t number;

	if (expr->kids[0]->kind == D_VARIABLE && expr->kids[0]->scope == D_GLOBAL &&
	    !strcmp(expr->kids[0]->text, "uregs"))
		return d_registers(c, expr);
	if (expr->kids[0]->kind == D_VARIABLE && !strcmp(expr->kids[0]->text, "args")) {
		struct d_expr name = *expr->kids[0];

		if (!d_may_index_args(c, expr->kids[1]))
			return d_int(c, 0, &type_int64);
		if (!d_constant(c, expr->kids[1], &number) || number < 0 || number > 9) {
			report_error(c->report, "D_ARGS_IDX", expr->span,
				     "index of args[] must be a constant from 0 to 9");
			return d_int(c, 0, &type_int64);
		}
		node = d_made_argument(c, (uint32_t)number, expr, true);
		if (node)
			return node;
		name.text = arena_printf(c->arena, "arg%d", (int)number);
		name.span = expr->span;
		return name.text ? d_builtin(c, &name) : d_int(c, 0, &type_int64);
	}
	return d_as_text(c, d_string_checked(c, d_place(c, expr)));
}

static struct node *lower_cast(struct compiler *c, const struct d_expr *expr)
{
	const struct type *type = expr->type_name.type;
	struct node *node;

	if (type->kind == TYPE_STRING)
		return d_text(c, expr->kids[0]);
	if (type->kind == TYPE_NONE) {
		node = d_value(c, expr->kids[0]);
		return node;
	}
	if (expr->kids[0]->kind == D_XLATE && expr->kids[0]->type_name.type->kind == TYPE_POINTER &&
	    type_is_scalar(type)) {
		report_error(c->report, "D_CAST_INVAL", expr->span,
			     "invalid cast expression: \"pointer to translated data\" to \"%.*s\"",
			     (int)(expr->type_name.span.end - expr->type_name.span.begin),
			     c->report->source + expr->type_name.span.begin);
		return d_int(c, 0, &type_int32);
	}
	node = type->kind == TYPE_RECORD && !is_action(expr->kids[0]) ? d_place(c, expr->kids[0]) : NULL;
	if (node && type_equal(node->type, type))
		return node;
	if (!type_is_scalar(type)) {
		report_error(c->report, "D_CAST_INVAL", expr->span, "invalid cast expression: to %s",
			     describe(c, type));
		return d_int(c, 0, &type_int32);
	}
	if (type->kind == TYPE_POINTER && type->to->size == 1 && !is_action(expr->kids[0])) {
		node = d_value(c, expr->kids[0]);
		if (node->type->kind == TYPE_STRING)
			return d_cast(c, d_text_address(c, node), type);
	}
	return d_cast(c, d_number(c, expr->kids[0]), type);
}

/* target op= value as target = target op value. */
static struct node *assigned(struct compiler *c, const struct d_expr *expr, struct node **read)
{
	enum op op = operator_of(expr->text);
	struct node *value, *old;

	if (d_is_target(c, expr->kids[0])) {
		value = op == OP_NONE || !strcmp(expr->text, "=")
				? d_value(c, expr->kids[1])
				: arithmetic(c, op, d_number(c, expr->kids[0]), integer(c, expr->kids[1], expr->text),
					     expr->span, expr->text);
		return d_assign_place(c, expr->kids[0], value, read);
	}
	if (expr->kids[0]->kind != D_VARIABLE) {
		report_error(c->report, "D_OP_LVAL", expr->span,
			     "operator %s requires modifiable lvalue as its left operand", expr->text);
		return d_int(c, 0, &type_int32);
	}
	if (op == OP_NONE || !strcmp(expr->text, "=")) {
		value = d_value(c, expr->kids[1]);
	} else {
		const struct d_variable *known = d_variable_find(c, expr->kids[0]->scope, expr->kids[0]->text, false);

		if (!known && expr->kids[1]->kind == D_CALL && d_is_action(expr->kids[1]->text)) {
			report_error(c->report, "D_VAR_UNDEF", expr->kids[0]->span,
				     "%s has not yet been declared or assigned", expr->kids[0]->text);
			return d_int(c, 0, &type_int32);
		}
		/* What is not known yet begins as 0. */
		value = d_value(c, expr->kids[1]);
		if (known && type_is_number(known->type) && is_textual(value->type)) {
			incompatible(c, expr, known->type, value->type);
			return d_int(c, 0, &type_int32);
		}
		value = integer(c, expr->kids[1], expr->text);
		if (!known) {
			if (expr->kids[0]->scope != D_GLOBAL || !d_builtin(c, expr->kids[0]))
				d_variable_assign(c, expr->kids[0], d_cast(c, value, promoted(value->type)), NULL);
			else
				d_variable_read(c, expr->kids[0]);
		}
		old = d_number(c, expr->kids[0]);
		value = arithmetic(c, op, old, value, expr->span, expr->text);
	}
	return d_variable_assign(c, expr->kids[0], value, read);
}

static struct node *assigned_value(struct compiler *c, const struct d_expr *expr)
{
	struct node *read = NULL, *statement = assigned(c, expr, &read);
	struct node *block = node_create(c->arena, NODE_BLOCK_VALUE, expr->span, 2);

	if (c->arena->failed || !read)
		return statement;
	block->kids[0] = statement;
	block->kids[1] = read;
	block->type = read->type;
	return block;
}

static struct node *lower(struct compiler *c, const struct d_expr *expr)
{
	struct node *node, *first;

	switch (expr->kind) {
	case D_INT:
		return d_int(c, (int64_t)expr->value, expr->type);
	case D_STRING:
		return d_literal(c, expr->text);
	case D_VARIABLE:
		return d_as_text(c, d_string_checked(c, d_place(c, expr)));
	case D_CALL:
		node = d_function(c, expr);
		if (node)
			return node;
		if (d_is_action(expr->text) || d_is_aggregating(expr->text)) {
			report_error(c->report, "D_OP_ACT", expr->span,
				     "%s( ) is an action: it cannot be part of an expression", expr->text);
		} else {
			report_error(c->report, "D_FUNC_UNDEF", expr->span, "undefined function name: %s", expr->text);
			report_hint(c->report, "docs/D.md lists the functions and actions that there are");
		}
		return d_int(c, 0, &type_int32);
	case D_UNARY:
		return lower_unary(c, expr);
	case D_BINARY:
		return lower_binary(c, expr);
	case D_TERNARY:
		return lower_ternary(c, expr);
	case D_ASSIGN:
		return assigned_value(c, expr);
	case D_STEP:
		return d_is_target(c, expr->kids[0]) ? d_step_place(c, expr) : d_variable_step(c, expr);
	case D_MEMBER:
		return d_as_text(c, d_place(c, expr));
	case D_INDEX:
		return lower_index(c, expr);
	case D_CAST:
		return lower_cast(c, expr);
	case D_SIZEOF:
		return d_size_of(c, expr);
	case D_XLATE:
		return d_translation(c, expr);
	case D_OFFSETOF:
		return d_offset_of(c, expr);
	case D_COMMA:
		first = node_create(c->arena, NODE_EXPRESSION, expr->span, 1);
		node = node_create(c->arena, NODE_BLOCK_VALUE, expr->span, 2);
		if (c->arena->failed)
			return node;
		first->kids[0] = d_value(c, expr->kids[0]);
		node->kids[0] = first;
		node->kids[1] = d_value(c, expr->kids[1]);
		node->type = node->kids[1]->type;
		return node;
	case D_AGGREGATION:
		report_error(c->report, "D_AGG_RVAL", expr->span, "an aggregation has no value: printa( ) prints it");
		return d_int(c, 0, &type_int32);
	default:
		report_error(c->report, "D_SYNTAX", expr->span, "this is no expression");
		return d_int(c, 0, &type_int32);
	}
}

struct node *d_value(struct compiler *c, const struct d_expr *expr)
{
	size_t complaints = c->report->complaints.count;
	struct node *node;

	if (c->arena->failed || c->report->errors > REPORTS_MAX)
		return d_int(c, 0, &type_int32);
	node = lower(c, expr);
	report_told(c->report, complaints, expr->behind);
	return node;
}

/* An expression as a statement: its value is not needed. */
void d_statement(struct compiler *c, const struct d_expr *expr)
{
	struct node *node, *statement;

	if (expr->kind == D_ASSIGN && expr->kids[0]->kind == D_INDEX &&
	    expr->kids[0]->kids[0]->kind == D_AGGREGATION) {
		report_error(c->report, "D_AGG_MDIM", expr->kids[0]->span,
			     "@%s: an aggregation's keys are in one pair of brackets", expr->kids[0]->kids[0]->text);
		return;
	}
	if (expr->kind == D_ASSIGN && expr->kids[0]->kind == D_AGGREGATION) {
		d_aggregate(c, expr->kids[0], expr->kids[1]);
		return;
	}
	if (expr->kind == D_COMMA) {
		d_statement(c, expr->kids[0]);
		d_statement(c, expr->kids[1]);
		return;
	}
	if (expr->kind == D_ASSIGN) {
		d_add_statement(c, assigned(c, expr, NULL));
		return;
	}
	if (expr->kind == D_CALL && d_action(c, expr))
		return;
	if (expr->kind == D_AGGREGATION) {
		if (expr->kid_count || d_variable_find(c, D_GLOBAL, expr->text, true))
			report_error(c->report, "D_AGG_NULL", expr->span, "expression has null effect: @%s",
				     expr->text);
		else
			report_error(c->report, "D_IDENT_UNDEF", expr->span, "undefined aggregation: @%s", expr->text);
		return;
	}
	if (expr->kind == D_CALL && d_is_aggregating(expr->text)) {
		report_error(c->report, "D_CG_EXPR", expr->span,
			     "%s( ) may not be called here: its result is assigned to an aggregation", expr->text);
		return;
	}
	node = d_value(c, expr);
	statement = node_create(c->arena, NODE_EXPRESSION, expr->span, 1);
	if (c->arena->failed)
		return;
	statement->kids[0] = node;
	/* Without an effect: only its failures count, and a name or a number has none. */
	if (node->kind != NODE_INT && node->kind != NODE_STRING && node->kind != NODE_VARIABLE)
		d_add_statement(c, statement);
}
