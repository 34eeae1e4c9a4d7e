// SPDX-License-Identifier: GPL-2.0-or-later
/* The core's nodes that most of the lowering makes. Out of memory they are incomplete, and c->arena->failed is set. */
#include <string.h>

#include "lang/dialect/d/d.h"

struct node *d_int(struct compiler *c, int64_t value, const struct type *type)
{
	struct node *node = node_create(c->arena, NODE_INT, (struct span){}, 0);

	if (!c->arena->failed) {
		node->value = (uint64_t)value;
		node->type = type;
	}
	return node;
}

struct node *d_literal(struct compiler *c, const char *text)
{
	struct node *node = node_create(c->arena, NODE_STRING, (struct span){}, 0);

	if (!c->arena->failed) {
		node->text = text;
		node->type = type_string(c->arena, (uint32_t)strlen(text) + 1);
	}
	return node;
}

struct node *d_call(struct compiler *c, enum core_builtin builtin, const struct type *type, struct span span,
		    uint32_t kids)
{
	struct node *node = node_create(c->arena, NODE_CALL, span, kids);
	uint32_t i;

	if (c->arena->failed)
		return node;
	node->builtin = builtin;
	node->type = type;
	for (i = 0; i < kids; i++)
		node->kids[i] = NULL;
	return node;
}

struct node *d_variable_node(struct compiler *c, struct symbol *symbol)
{
	struct node *node = node_create(c->arena, NODE_VARIABLE, (struct span){}, 0);

	if (!c->arena->failed) {
		node->symbol = symbol;
		node->type = symbol->type;
	}
	return node;
}

struct node *d_let(struct compiler *c, struct symbol *symbol, struct node *value)
{
	struct node *node = node_create(c->arena, NODE_LET, (struct span){}, value ? 1 : 0);

	if (c->arena->failed)
		return node;
	node->symbol = symbol;
	if (value)
		node->kids[0] = value;
	return node;
}
