// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The body may use maps and outer variables only by its parameters. Its own variables get names that no script can
 * write, so that they meet no others.
 */
#include "lang/check/macros.h"

#include <string.h>

#define MACRO_DEPTH_MAX 32 /* of macros that use macros */
#define MACRO_NODES_MAX 100000

struct expansion {
	struct compiler *c;
	const struct macro *macro;
	const struct node *call;
	unsigned int serial;
};

static const struct macro *find(struct compiler *c, const struct node *node)
{
	size_t i;

	for (i = c->script.macros.count; i-- > 0;)
		if (!strcmp(c->script.macros.at[i].name, node->text) &&
		    c->script.macros.at[i].parameter_count == node->kid_count)
			return &c->script.macros.at[i];
	return NULL;
}

static const struct node *argument(const struct expansion *x, char kind, const char *name)
{
	uint32_t i;

	for (i = 0; i < x->macro->parameter_count; i++)
		if (x->macro->parameters[i].kind == kind && !strcmp(x->macro->parameters[i].name, name))
			return x->call->kids[i];
	return NULL;
}

static void rename_variable(struct expansion *x, struct node *node)
{
	const struct node *given = argument(x, '$', node->text);

	node->text = given ? given->text : arena_printf(x->c->arena, "%s.%u", node->text, x->serial);
}

static void substitute(struct expansion *x, struct node *node);

/* typeof(parameter) */
static struct type_name *substitute_typeof(struct expansion *x, const struct type_name *name)
{
	struct type_name *copy = arena_new(x->c->arena, struct type_name);

	if (!copy)
		return NULL;
	*copy = *name;
	copy->of = node_copy(x->c->arena, name->of);
	substitute(x, copy->of);
	return copy;
}

static void substitute(struct expansion *x, struct node *node)
{
	const struct node *given;
	struct node **kids;
	uint32_t i;

	if (!node || x->c->arena->failed)
		return;
	for (i = 0; i < node->kid_count; i++)
		substitute(x, node->kids[i]);
	if (node->type_name && node->type_name->of)
		node->type_name = substitute_typeof(x, node->type_name);
	switch (node->kind) {
	case NODE_VARIABLE:
	case NODE_LET:
	case NODE_FOR_RANGE:
	case NODE_FOR_MAP:
		rename_variable(x, node);
		break;
	case NODE_MAP:
		given = argument(x, '@', node->text);
		if (!given)
			report_error(x->c->report, "macro.map", node->span,
				     "the macro %s uses @%s, which was not passed to it", x->macro->name, node->text);
		else
			node->text = given->text;
		break;
	case NODE_NAME:
		given = argument(x, 'e', node->text);
		if (!given)
			break;
		{
			struct node *copy = node_copy(x->c->arena, given);

			kids = copy->kids;
			*node = *copy;
			node->kids = kids;
		}
		break;
	case NODE_CAST:
	case NODE_SIZEOF:
		if (node->type_name && node->type_name->name && !node->type_name->of) {
			struct type_name *name;

			given = argument(x, 'e', node->type_name->name);
			if (!given || given->kind != NODE_TYPE || !given->type_name)
				break;
			name = arena_new(x->c->arena, struct type_name);
			if (!name)
				break;
			*name = *given->type_name;
			name->suffix_count = given->type_name->suffix_count + node->type_name->suffix_count;
			name->suffixes = arena_array(x->c->arena, struct type_suffix, name->suffix_count + 1);
			for (i = 0; name->suffixes && i < name->suffix_count; i++)
				name->suffixes[i] =
					i < given->type_name->suffix_count
						? given->type_name->suffixes[i]
						: node->type_name->suffixes[i - given->type_name->suffix_count];
			node->type_name = name;
		}
		break;
	default:
		break;
	}
}

static bool arguments_fit(struct expansion *x)
{
	uint32_t i;

	for (i = 0; i < x->macro->parameter_count; i++) {
		const struct node *given = x->call->kids[i];
		char kind = x->macro->parameters[i].kind;

		if ((kind == '$' && given->kind != NODE_VARIABLE) ||
		    (kind == '@' && (given->kind != NODE_MAP || given->kid_count))) {
			report_error(x->c->report, "macro.argument", given->span, "the macro %s needs a %s here",
				     x->macro->name, kind == '$' ? "variable" : "map");
			return false;
		}
	}
	return true;
}

static uint32_t count_nodes(const struct node *node)
{
	uint32_t i, count = 1;

	for (i = 0; node && i < node->kid_count; i++)
		count += count_nodes(node->kids[i]);
	return count;
}

bool macro_expand(struct compiler *c, struct node *node)
{
	struct expansion x = {.c = c, .macro = find(c, node), .call = node};
	struct node *body;

	if (!x.macro)
		return false;
	x.serial = ++c->macro_depth;
	/* Each expansion is done once, so their number bounds a script that calls itself. */
	if (c->macro_depth > MACRO_NODES_MAX / 100 || count_nodes(x.macro->body) > MACRO_NODES_MAX) {
		report_error(c->report, "macro.endless", node->span,
			     "the macro %s calls itself, or is expanded too often", x.macro->name);
		return false;
	}
	if (!arguments_fit(&x))
		return false;
	body = node_copy(c->arena, x.macro->body);
	substitute(&x, body);
	if (body->kind == NODE_BLOCK_VALUE && body->kid_count == 0)
		body->kind = NODE_BLOCK;
	*node = *body;
	return true;
}
