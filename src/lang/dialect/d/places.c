// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What can be assigned to: variables, members, elements, what pointers point to. And addresses. Only scratch memory,
 * which alloca() gives, can be written by way of a pointer (core.h, type_scratch()).
 */
#include <string.h>

#include "lang/dialect/d/d.h"

static bool is_indexable(const struct type *type)
{
	return (type->kind == TYPE_POINTER || type->kind == TYPE_ARRAY) && type->to->kind != TYPE_NONE;
}

struct node *d_element(struct compiler *c, struct node *of, const struct d_expr *index, struct span span)
{
	struct node *node = node_create(c->arena, NODE_INDEX, span, 2);
	int64_t number;

	if (c->arena->failed)
		return node;
	if (!is_indexable(of->type) && of->type->kind != TYPE_STRING) {
		if (!c->report->errors)
			report_error(c->report, of->type->kind == TYPE_POINTER ? "D_DEREF_VOID" : "D_OP_ARRFUN", span,
				     "cannot index a value of this type");
		return d_int(c, 0, &type_int32);
	}
	node->kids[0] = of;
	node->kids[1] = d_number(c, index);
	node->type = of->type->kind == TYPE_STRING ? &type_int8 : of->type->to;
	if (of->type->kind == TYPE_ARRAY && of->type->count && node_constant(node->kids[1], &number) &&
	    (number < 0 || number >= of->type->count) && !c->report->errors)
		report_error(c->report, "D_ARR_BOUNDS", span, "index outside array bounds: %lld, max is %u",
			     (long long)number, of->type->count);
	if (!type_is_number(node->kids[1]->type) && !c->report->errors)
		report_error(c->report, "D_ARR_BADREF", span, "array index must be an integer");
	return node;
}

/*
 * let s = text, i = index; if (i > 0 && !s[0]) fault; s[i]
 * A string that is NULL is an empty one here, and behind it there is nothing.
 */
struct node *d_string_checked(struct compiler *c, struct node *node)
{
	struct symbol *index = d_local(c, &type_int64), *text = d_local(c, d_string_type(c));
	struct node *block, *test, *fault, *first;
	int64_t number;

	if (node->kind != NODE_INDEX || node->kids[0]->type->kind != TYPE_STRING ||
	    (node_constant(node->kids[1], &number) && number <= 0))
		return node;
	block = node_create(c->arena, NODE_BLOCK_VALUE, node->span, 4);
	test = node_create(c->arena, NODE_IF, node->span, 3);
	first = node_create(c->arena, NODE_INDEX, node->span, 2);
	fault = d_call(c, CORE_FAULT, &type_none, node->span, 1);
	if (c->arena->failed || !index || !text)
		return node;
	text->type = node->kids[0]->type;
	block->kids[0] = d_let(c, text, node->kids[0]);
	block->kids[1] = d_let(c, index, d_cast(c, node->kids[1], &type_int64));
	first->kids[0] = node->kids[0] = d_variable_node(c, text);
	first->kids[1] = d_int(c, 0, &type_int64);
	first->type = node->type;
	node->kids[1] = d_variable_node(c, index);
	fault->value = CORE_FAULT_ADDRESS;
	fault->kids[0] = d_variable_node(c, index);
	test->kids[0] = d_binary(
		c, OP_LOGICAL_AND, &type_int32,
		d_binary(c, OP_GREATER, &type_int32, d_variable_node(c, index), d_int(c, 0, &type_int64)),
		d_binary(c, OP_EQUAL, &type_int32, first, d_int(c, 0, &type_int32)));
	test->kids[1] = fault;
	test->kids[2] = NULL;
	block->kids[2] = test;
	block->kids[3] = node;
	block->type = node->type;
	return block;
}

/* A variable of an array's or a pointer's type, with its index. */
static struct node *indexed_variable(struct compiler *c, const struct d_variable *variable, const struct d_expr *expr)
{
	struct d_expr whole = *expr;

	if (expr->kid_count != 1) {
		if (!c->report->errors)
			report_error(c->report, "D_ARR_BADREF", expr->span,
				     "cannot access scalar %s as an associative array", expr->text);
		return d_int(c, 0, &type_int32);
	}
	whole.kid_count = 0;
	return d_element(c, variable ? d_place(c, &whole) : d_value(c, &whole), expr->kids[0], expr->span);
}

static struct node *kernel_place(struct compiler *c, const struct d_expr *expr)
{
	struct d_expr whole = *expr;

	if (!expr->kid_count)
		return d_kernel_variable(c, expr);
	whole.kid_count = 0;
	return d_element(c, d_kernel_variable(c, &whole), expr->kids[0], expr->span);
}

/* Is it one that D has itself? */
static bool is_own(struct compiler *c, const struct d_expr *expr)
{
	struct d_expr whole = *expr;

	whole.kid_count = 0;
	return expr->scope == D_GLOBAL && c->unit && d_builtin(c, &whole);
}

/* An xlate, perhaps by the name of an inline definition. */
static struct d_expr *xlate_of(struct compiler *c, struct d_expr *expr)
{
	const struct d_variable *variable = expr->kind == D_VARIABLE && expr->scope == D_GLOBAL && !expr->kid_count
						    ? d_variable_find(c, D_GLOBAL, expr->text, false)
						    : NULL;

	if (variable && variable->inlined)
		expr = variable->inlined;
	return expr->kind == D_XLATE ? expr : NULL;
}

struct node *d_place(struct compiler *c, const struct d_expr *expr)
{
	const struct d_variable *variable;
	struct d_expr *xlate, member;
	struct node *of;

	switch (expr->kind) {
	case D_VARIABLE:
		of = d_bound(c, expr);
		if (of)
			return of;
		if (strchr(expr->text, '`') && expr->scope == D_GLOBAL)
			return kernel_place(c, expr);
		variable = d_variable_find(c, expr->scope, expr->text, false);
		if (expr->kid_count && (variable ? !variable->is_array && !variable->inlined : is_own(c, expr)))
			return indexed_variable(c, variable, expr);
		return d_variable_read(c, expr);
	case D_MEMBER:
		xlate = xlate_of(c, expr->kids[0]);
		if (xlate) {
			member = *expr;
			member.kids = &xlate;
			return d_translated_member(c, &member);
		}
		of = d_translated(c, expr);
		return of ? of : d_member(c, expr->is_arrow ? d_value(c, expr->kids[0]) : d_place(c, expr->kids[0]),
					  expr);
	case D_INDEX:
		return d_element(c, d_place(c, expr->kids[0]), expr->kids[1], expr->span);
	default:
		return d_value(c, expr);
	}
}

static struct node *moved(struct compiler *c, struct node *address, uint32_t by)
{
	address = d_cast(c, address, &type_uint64);
	return by ? d_binary(c, OP_ADD, &type_uint64, address, d_int(c, by, &type_uint64)) : address;
}

/* As a number of 64 bits. */
static struct node *address_of(struct compiler *c, struct node *node)
{
	struct node *ret;

	switch (node->kind) {
	case NODE_FIELD:
		ret = node->kids[0]->type->kind == TYPE_POINTER ? node->kids[0] : address_of(c, node->kids[0]);
		return moved(c, ret, node->field->offset);
	case NODE_INDEX:
		ret = node->kids[0]->type->kind == TYPE_POINTER ? node->kids[0] : address_of(c, node->kids[0]);
		return d_binary(c, OP_ADD, &type_uint64, d_cast(c, ret, &type_uint64),
				d_binary(c, OP_MUL, &type_uint64, d_cast(c, node->kids[1], &type_uint64),
					 d_int(c, node->type->size, &type_uint64)));
	case NODE_UNARY:
		return d_cast(c, node->kids[0], &type_uint64);
	default:
		ret = node_create(c->arena, NODE_UNARY, node->span, 1);
		if (c->arena->failed)
			return ret;
		ret->op = OP_ADDRESS;
		ret->flags = ADDRESS_NUMBER | ADDRESS_ADDS;
		ret->kids[0] = node;
		ret->type = &type_uint64;
		return ret;
	}
}

struct node *d_decayed(struct compiler *c, struct node *node)
{
	const struct type *type = type_pointer(c->arena, node->type->to);

	return d_cast(c, address_of(c, node), type);
}

/* It has no address either. */
static struct node *aggregation_place(struct compiler *c)
{
	return node_create(c->arena, NODE_MAP, (struct span){}, 0);
}

struct node *d_address(struct compiler *c, const struct d_expr *expr)
{
	struct node *node = expr->kids[0]->kind == D_AGGREGATION ? aggregation_place(c)
								 : d_place(c, expr->kids[0]);
	const char *tag = NULL, *what = "";

	if (node->kind == NODE_FIELD && node->field->bit_size) {
		tag = "D_ADDROF_BITFIELD";
		what = "cannot take address of bit-field";
	} else if (node->kind == NODE_VARIABLE || node->kind == NODE_MAP || node->kind == NODE_CAST) {
		tag = "D_ADDROF_VAR";
		what = "cannot take address of dynamic variable";
	} else if (node->kind != NODE_FIELD && node->kind != NODE_INDEX &&
		   !(node->kind == NODE_UNARY && node->op == OP_DEREFERENCE)) {
		tag = "D_ADDROF_LVAL";
		what = "unacceptable operand for unary & operator";
	}
	if (tag) {
		if (!c->report->errors)
			report_error(c->report, tag, expr->span, "%s", what);
		return d_int(c, 0, &type_int32);
	}
	return d_cast(c, address_of(c, node), type_pointer(c->arena, node->type));
}

/* --- assignments --- */

static bool is_textual(const struct type *type)
{
	return type->kind == TYPE_STRING || type->kind == TYPE_PROBE;
}

static bool agree(const struct type *to, const struct type *from)
{
	if (type_is_scalar(to))
		return type_is_scalar(from);
	if (is_textual(to))
		return is_textual(from);
	return to == from || type_equal(to, from);
}

/* Is it a place, and no variable without members or indices? */
bool d_is_target(const struct compiler *c, const struct d_expr *expr)
{
	const struct d_variable *variable;

	if (expr->kind == D_VARIABLE) {
		variable = d_variable_find(c, expr->scope, expr->text, false);
		return variable && !variable->is_array && expr->kid_count && is_indexable(variable->type);
	}
	return expr->kind == D_MEMBER || expr->kind == D_INDEX || (expr->kind == D_UNARY && *expr->text == '*');
}

/* Only what is the program's own, or where a pointer points to, can be written. */
static bool is_writable(const struct node *node)
{
	if (node->kind == NODE_UNARY)
		return node->op == OP_DEREFERENCE;
	if (node->kind != NODE_FIELD && node->kind != NODE_INDEX)
		return false;
	while ((node->kind == NODE_FIELD || node->kind == NODE_INDEX) && node->kids[0]->type->kind != TYPE_POINTER)
		node = node->kids[0];
	return node->kind == NODE_FIELD || node->kind == NODE_INDEX || node->kind == NODE_VARIABLE ||
	       node->kind == NODE_MAP || node->kind == NODE_UNARY;
}

struct node *d_assign_place(struct compiler *c, const struct d_expr *target, struct node *value, struct node **read)
{
	struct node *place = d_place(c, target), *node = node_create(c->arena, NODE_ASSIGN, target->span, 2);

	if (c->arena->failed || c->report->errors)
		return value;
	if (!is_writable(place)) {
		report_error(c->report, "D_OP_LVAL", target->span,
			     "operator = requires modifiable lvalue as its left operand");
		return value;
	}
	if (value->type->kind == TYPE_ARRAY && type_is_scalar(place->type))
		value = d_decayed(c, value);
	if (!agree(place->type, value->type)) {
		report_error(c->report, place->type->kind == TYPE_ARRAY ? "D_OP_ARRFUN" : "D_OP_INCOMPAT", target->span,
			     "operands have incompatible types");
		return value;
	}
	if (type_is_scalar(place->type))
		value = d_cast(c, value, place->type);
	node->kids[0] = place;
	node->kids[1] = value;
	if (read)
		*read = place;
	return node;
}

/* ++ and -- of a place: what it was, or what it becomes. */
struct node *d_step_place(struct compiler *c, const struct d_expr *expr)
{
	struct node *block = node_create(c->arena, NODE_BLOCK_VALUE, expr->span, 3), *let, *place, *next;
	struct symbol *symbol = d_local(c, &type_int64);

	place = d_place(c, expr->kids[0]);
	let = node_create(c->arena, NODE_LET, expr->span, 1);
	if (c->arena->failed || !symbol)
		return block;
	if (!type_is_scalar(place->type)) {
		if (!c->report->errors)
			report_error(c->report, "D_OP_SCALAR", expr->span,
				     "operator %s requires operand of scalar type", expr->text);
		return d_int(c, 0, &type_int32);
	}
	symbol->type = place->type;
	let->symbol = symbol;
	let->kids[0] = place;
	next = d_binary(c, *expr->text == '+' ? OP_ADD : OP_SUB, place->type, d_variable_node(c, symbol),
			d_int(c, 1, place->type->kind == TYPE_POINTER ? &type_int64 : place->type));
	block->kids[0] = let;
	block->kids[1] = d_assign_place(c, expr->kids[0], next, NULL);
	block->kids[2] = expr->is_prefix ? d_cast(c, next, place->type) : d_variable_node(c, symbol);
	block->type = place->type;
	return block;
}
