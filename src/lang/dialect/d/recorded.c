// SPDX-License-Identifier: GPL-2.0-or-later
/* Stacks and symbols: actions that print what they record, and keys of aggregations. */
#include <string.h>

#include "lang/dialect/d/d.h"

struct recorded {
	const char *name;
	uint32_t parts; /* of a stack: enum stack_part; 0: it is a symbol */
	enum symbol_side side;
	enum d_symbol_part part;
};

static const struct recorded table[] = {
	{.name = "stack", .parts = STACK_KERNEL},
	{.name = "ustack", .parts = STACK_NATIVE},
	{.name = "jstack", .parts = STACK_NATIVE | STACK_SECOND},
	{.name = "sym", .side = SYMBOL_KERNEL, .part = PART_ALL},
	{.name = "func", .side = SYMBOL_KERNEL, .part = PART_ALL},
	{.name = "mod", .side = SYMBOL_KERNEL, .part = PART_MODULE},
	{.name = "usym", .side = SYMBOL_USER, .part = PART_ALL},
	{.name = "ufunc", .side = SYMBOL_USER, .part = PART_ALL},
	{.name = "umod", .side = SYMBOL_USER, .part = PART_MODULE},
	{.name = "uaddr", .side = SYMBOL_USER, .part = PART_ADDRESS},
};

static const struct recorded *find(const char *name)
{
	size_t i;

	for (i = 0; i < sizeof(table) / sizeof(table[0]); i++)
		if (!strcmp(table[i].name, name))
			return &table[i];
	return NULL;
}

bool d_is_recorded(const char *name)
{
	return find(name) != NULL;
}

static struct node *stack(struct compiler *c, const struct recorded *self, const struct d_expr *call)
{
	bool is_kernel = self->parts == STACK_KERNEL;
	const uint64_t *options = d_state(c)->options;
	int64_t strings, limit = (int64_t)options[is_kernel ? D_STACKFRAMES : D_USTACKFRAMES],
			 most = options[D_MAXFRAMES] ? (int64_t)options[D_MAXFRAMES] : 65536;

	if (call->kid_count && (!d_constant(c, call->kids[0], &limit) || limit < 1)) {
		report_error(c->report, is_kernel ? "D_STACK_SIZE" : "D_USTACK_FRAMES", call->kids[0]->span,
			     "%s( ) argument #1 must be a non-zero positive integer constant", call->text);
		return NULL;
	}
	if (limit > most)
		limit = most;
	if (call->kid_count > 1 && (!d_constant(c, call->kids[1], &strings) || strings < 0)) {
		report_error(c->report, "D_USTACK_STRSIZE", call->kids[1]->span,
			     "%s( ) argument #2 must be a positive integer constant", call->text);
		return NULL;
	}
	c->stack_parts |= self->parts;
	return d_call(c, CORE_STACK, type_stack(c->arena, self->parts, (uint32_t)limit, STACK_STYLE_DEFAULT),
		      call->span, 0);
}

static struct node *symbol(struct compiler *c, const struct recorded *self, const struct d_expr *call)
{
	struct type *type = arena_new(c->arena, struct type);
	struct node *node;

	if (!type)
		return NULL;
	*type = *type_symbol(c->arena, self->side);
	type->style = self->part;
	node = d_call(c, CORE_SYMBOL, type, call->span, 1);
	if (c->arena->failed)
		return NULL;
	node->kids[0] = d_cast(c, d_number(c, call->kids[0]), &type_uint64);
	return node;
}

struct node *d_recorded(struct compiler *c, const struct d_expr *expr)
{
	const struct recorded *self = expr->kind == D_CALL ? find(expr->text) : NULL;

	if (!self || !d_check_call(c, expr))
		return NULL;
	return self->parts ? stack(c, self, expr) : symbol(c, self, expr);
}
