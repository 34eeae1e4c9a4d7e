// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Scratch memory: what alloca(), copyin() and their like give, until the clause ends. All clauses of a unit have one
 * area, as large as the option scratchsize says; each clause begins with nothing of it in use.
 */
#include <string.h>

#include "lang/dialect/d/d.h"

static struct symbol *scratch(struct compiler *c)
{
	struct d_unit *unit = d_state(c)->unit;
	uint32_t size = (uint32_t)d_state(c)->options[D_SCRATCHSIZE];
	struct unit *own = &c->units.at[c->unit - c->units.at];

	if (own->scratch)
		return own->scratch;
	/* Twice: what begins in it and is as long as it may be ends behind it, as far as the verifier knows. */
	own->scratch = d_local(c, type_scratch(c->arena, 2 * size));
	if (!own->scratch || vec_push(&unit->locals, own->scratch)) {
		c->arena->failed = true;
		return NULL;
	}
	own->scratch->name = "scratch";
	return own->scratch;
}

static struct node *part(struct compiler *c, struct symbol *symbol, uint32_t index)
{
	struct node *node = node_create(c->arena, NODE_FIELD, (struct span){}, 1);

	if (c->arena->failed)
		return node;
	node->kids[0] = d_variable_node(c, symbol);
	node->field = &symbol->type->fields[index];
	node->type = node->field->type;
	return node;
}

static struct node *assign(struct compiler *c, struct node *to, struct node *value)
{
	struct node *node = node_create(c->arena, NODE_ASSIGN, (struct span){}, 2);

	if (c->arena->failed)
		return node;
	node->kids[0] = to;
	node->kids[1] = value;
	return node;
}

struct node *d_scratch_begin(struct compiler *c)
{
	return c->unit->scratch ? assign(c, part(c, c->unit->scratch, 0), d_int(c, 0, &type_uint64)) : NULL;
}

/* if (condition) the clause ends. */
static struct node *fault_if(struct compiler *c, struct node *condition, enum core_fault kind, struct node *number,
			     struct span span)
{
	struct node *test = node_create(c->arena, NODE_IF, span, 3),
		    *fault = d_call(c, CORE_FAULT, &type_none, span, 1);

	if (c->arena->failed)
		return test;
	fault->value = kind;
	fault->kids[0] = number;
	test->kids[0] = condition;
	test->kids[1] = fault;
	test->kids[2] = NULL;
	return test;
}

struct node *d_scratch(struct compiler *c, struct node *size, struct span span)
{
	struct symbol *area = scratch(c), *at = d_local(c, &type_uint64), *bytes = d_local(c, &type_uint64);
	uint64_t most = d_state(c)->options[D_SCRATCHSIZE];
	struct node *block = node_create(c->arena, NODE_BLOCK_VALUE, span, 5), *base, *end;

	base = node_create(c->arena, NODE_UNARY, span, 1);
	if (c->arena->failed || !area || !at || !bytes)
		return d_int(c, 0, &type_uint64);
	base->op = OP_ADDRESS;
	base->flags = ADDRESS_NUMBER;
	base->kids[0] = d_variable_node(c, area);
	base->type = &type_uint64;
	end = d_binary(c, OP_ADD, &type_uint64, d_variable_node(c, at), d_variable_node(c, bytes));
	block->kids[0] = d_let(c, bytes, d_cast(c, size, &type_uint64));
	block->kids[1] = d_let(c, at,
			     d_binary(c, OP_AND, &type_uint64,
				      d_binary(c, OP_ADD, &type_uint64, part(c, area, 0), d_int(c, 7, &type_uint64)),
				      d_int(c, -8, &type_uint64)));
	block->kids[2] =
		fault_if(c,
			 d_binary(c, OP_LOGICAL_OR, &type_int32,
				  d_binary(c, OP_GREATER, &type_int32, d_variable_node(c, bytes),
					   d_int(c, (int64_t)most, &type_uint64)),
				  d_binary(c, OP_GREATER, &type_int32, end, d_int(c, (int64_t)most, &type_uint64))),
			 CORE_FAULT_SCRATCH, d_int(c, 0, &type_uint64), span);
	block->kids[3] = assign(c, part(c, area, 0), end);
	block->kids[4] =
		d_binary(c, OP_ADD, &type_uint64, d_binary(c, OP_ADD, &type_uint64, base, d_int(c, 8, &type_uint64)),
			 d_variable_node(c, at));
	block->type = &type_uint64;
	return block;
}

/* A constant that is too large is told while compiling. */
static struct node *asked_size(struct compiler *c, const struct d_expr *call, uint32_t index)
{
	struct node *size = d_number(c, call->kids[index]);
	uint64_t most = d_state(c)->options[D_SCRATCHSIZE];

	if (size->kind == NODE_INT && size->value > most && !c->report->errors)
		report_error(c->report, "D_ALLOCA_SIZE", call->span, "%s(%llu) size larger than scratchsize %llu",
			     call->text, (unsigned long long)size->value, (unsigned long long)most);
	return size;
}

struct node *d_alloca(struct compiler *c, const struct d_expr *call)
{
	return d_cast(c, d_scratch(c, asked_size(c, call, 0), call->span), &type_void_pointer);
}

static struct node *copy(struct compiler *c, enum core_builtin builtin, struct node *to, struct node *from,
			 struct node *size, struct span span)
{
	struct node *node = d_call(c, builtin, &type_none, span, 3);

	scratch(c);
	if (c->arena->failed)
		return node;
	node->kids[0] = d_cast(c, to, &type_uint64);
	node->kids[1] = d_cast(c, from, &type_uint64);
	node->kids[2] = d_cast(c, size, &type_uint64);
	return node;
}

/* A variable for a string, whose address can be told. */
static struct symbol *text_variable(struct compiler *c)
{
	struct symbol *variable = d_local(c, d_string_type(c));

	if (!variable || vec_push(&d_state(c)->unit->locals, variable)) {
		c->arena->failed = true;
		return NULL;
	}
	return variable;
}

static struct node *address_of(struct compiler *c, struct symbol *variable, struct span span)
{
	struct node *address = node_create(c->arena, NODE_UNARY, span, 1);

	if (c->arena->failed)
		return address;
	address->op = OP_ADDRESS;
	address->flags = ADDRESS_NUMBER;
	address->kids[0] = d_variable_node(c, variable);
	address->type = &type_uint64;
	return address;
}

struct node *d_text_address(struct compiler *c, struct node *text)
{
	struct symbol *variable = text_variable(c);
	struct node *block = node_create(c->arena, NODE_BLOCK_VALUE, text->span, 2);

	if (c->arena->failed || !variable)
		return d_int(c, 0, &type_uint64);
	block->kids[0] = assign(c, d_variable_node(c, variable), d_cast(c, text, variable->type));
	block->kids[1] = address_of(c, variable, text->span);
	block->type = &type_uint64;
	return block;
}

/* A pointer, or a complaint. */
static struct node *pointer(struct compiler *c, const struct d_expr *call, uint32_t index)
{
	struct node *node = d_value(c, call->kids[index]);

	if (node->type->kind == TYPE_ARRAY)
		return d_decayed(c, node);
	if (node->type->kind == TYPE_STRING)
		return d_text_address(c, node);
	if (node->type->kind != TYPE_POINTER && !c->report->errors)
		report_error(c->report, "D_PROTO_ARG", call->kids[index]->span,
			     "%s( ) argument #%u is incompatible with prototype:\n\tprototype: void *", call->text,
			     index + 1);
	return node;
}

/* No memory of a clause, whatever happens: 0, or the kernel's. */
static bool is_elsewhere(struct compiler *c, const struct d_expr *expr)
{
	int64_t value;

	while (expr->kind == D_CAST)
		expr = expr->kids[0];
	if (expr->kind == D_UNARY && *expr->text == '&')
		return expr->kids[0]->kind == D_VARIABLE && strchr(expr->kids[0]->text, '`');
	return d_is_null(c, expr) || (d_constant(c, expr, &value) && !value);
}

/* Of what can be written to: a string's characters cannot. */
static struct node *target(struct compiler *c, const struct d_expr *call, uint32_t index)
{
	const struct type *type = d_value(c, call->kids[index])->type;
	bool is_text = type->kind == TYPE_STRING;

	if (!is_text && !is_elsewhere(c, call->kids[index]))
		return pointer(c, call, index);
	if (!c->report->errors)
		report_error(c->report, "D_PROTO_ARG", call->span,
			     "%s( ) argument #%u is incompatible with prototype:\n\tprototype: alloca pointer\n"
			     "\t argument: %s",
			     call->text, index + 1, is_text ? "string" : "non-alloca pointer");
	return d_int(c, 0, &type_uint64);
}

/* The arguments are computed in their order, whatever the copy wants first: places of "from", "to" and "size". */
static struct node *copy_in_order(struct compiler *c, enum core_builtin builtin, struct node *const arguments[3],
				  uint32_t to, uint32_t from, uint32_t size, struct span span)
{
	struct node *block = node_create(c->arena, NODE_BLOCK_VALUE, span, 4);
	struct symbol *symbols[3];
	uint32_t i;

	for (i = 0; i < 3; i++) {
		symbols[i] = d_local(c, &type_uint64);
		if (c->arena->failed || !symbols[i])
			return d_int(c, 0, &type_int32);
		block->kids[i] = d_let(c, symbols[i], d_cast(c, arguments[i], &type_uint64));
	}
	block->kids[3] = copy(c, builtin, d_variable_node(c, symbols[to]), d_variable_node(c, symbols[from]),
			      d_variable_node(c, symbols[size]), span);
	block->type = &type_none;
	return block;
}

struct node *d_bcopy(struct compiler *c, const struct d_expr *call)
{
	struct node *from = pointer(c, call, 0), *to = target(c, call, 1), *size = d_number(c, call->kids[2]);

	return copy_in_order(c, CORE_COPY, (struct node *const[]){from, to, size}, 1, 0, 2, call->span);
}

struct node *d_copyinto(struct compiler *c, const struct d_expr *call)
{
	struct node *from = d_number(c, call->kids[0]), *size = d_number(c, call->kids[1]), *to = target(c, call, 2);

	return copy_in_order(c, CORE_COPY, (struct node *const[]){from, size, to}, 2, 0, 1, call->span);
}

struct node *d_copyin(struct compiler *c, const struct d_expr *call)
{
	struct symbol *to = d_local(c, &type_void_pointer), *size = d_local(c, &type_uint64);
	struct node *block = node_create(c->arena, NODE_BLOCK_VALUE, call->span, 4),
		    *statement = node_create(c->arena, NODE_EXPRESSION, call->span, 1);

	if (c->arena->failed || !to || !size)
		return d_int(c, 0, &type_int32);
	block->kids[0] = d_let(c, size, d_cast(c, asked_size(c, call, 1), &type_uint64));
	block->kids[1] = d_let(
		c, to, d_cast(c, d_scratch(c, d_variable_node(c, size), call->span), &type_void_pointer));
	statement->kids[0] = copy(c, CORE_COPY, d_variable_node(c, to), d_number(c, call->kids[0]),
				  d_variable_node(c, size), call->span);
	block->kids[2] = statement;
	block->kids[3] = d_variable_node(c, to);
	block->type = &type_void_pointer;
	return block;
}

struct node *d_copyout(struct compiler *c, const struct d_expr *call)
{
	struct node *from, *to, *size;

	if (!d_may_act(c, call, true))
		return d_int(c, 0, &type_int32);
	from = pointer(c, call, 0);
	to = d_number(c, call->kids[1]);
	size = d_number(c, call->kids[2]);
	return copy_in_order(c, CORE_COPY_OUT, (struct node *const[]){from, to, size}, 1, 0, 2, call->span);
}

/* No more than the string and its terminator. */
struct node *d_copyoutstr(struct compiler *c, const struct d_expr *call)
{
	struct symbol *text = text_variable(c), *to = d_local(c, &type_uint64), *size = d_local(c, &type_uint64),
		      *most = d_local(c, &type_uint64);
	struct node *block = node_create(c->arena, NODE_BLOCK_VALUE, call->span, 6),
		    *length = d_call(c, CORE_STRLEN, &type_uint64, call->span, 1),
		    *test = node_create(c->arena, NODE_IF, call->span, 3);

	if (c->arena->failed || !text || !to || !size || !most || !d_may_act(c, call, true))
		return d_int(c, 0, &type_int32);
	block->kids[0] = assign(c, d_variable_node(c, text), d_cast(c, d_argument_text(c, call->kids[0]), text->type));
	block->kids[1] = d_let(c, to, d_cast(c, d_number(c, call->kids[1]), &type_uint64));
	block->kids[2] = d_let(c, size, d_cast(c, d_number(c, call->kids[2]), &type_uint64));
	length->kids[0] = d_variable_node(c, text);
	block->kids[3] = d_let(c, most, d_binary(c, OP_ADD, &type_uint64, length, d_int(c, 1, &type_uint64)));
	test->kids[0] = d_binary(c, OP_GREATER, &type_int32, d_variable_node(c, size), d_variable_node(c, most));
	test->kids[1] = assign(c, d_variable_node(c, size), d_variable_node(c, most));
	test->kids[2] = NULL;
	block->kids[4] = test;
	block->kids[5] = copy(c, CORE_COPY_OUT, d_variable_node(c, to), address_of(c, text, call->span),
			      d_variable_node(c, size), call->span);
	block->type = &type_none;
	return block;
}
