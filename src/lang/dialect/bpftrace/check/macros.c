// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The body of a macro may use maps and outer variables only through its parameters. Its own variables get names that no
 * script can write, so they cannot clash with others.
 */
#include "lang/dialect/bpftrace/check/macros.h"

#include <string.h>

#define MACRO_DEPTH_MAX 32 /* of macros that use macros */
#define MACRO_NODES_MAX 100000

struct expansion {
	struct compiler *c;
	const struct macro *macro;
	const struct ast *call;
	const struct expansion_place *place;
	unsigned int serial;
};

static bool fits(char kind, const struct ast *argument)
{
	return (kind != '$' || argument->kind == AST_VARIABLE) &&
	       (kind != '@' || (argument->kind == AST_MAP && !argument->kid_count));
}

/* How many arguments are what the macro names for its own: a variable, or a map. -1: one of them is not. */
static int likeness(const struct macro *macro, const struct ast *call)
{
	int count = 0;
	uint32_t i;

	for (i = 0; i < macro->parameter_count; i++) {
		if (!fits(macro->parameters[i].kind, call->kids[i]))
			return -1;
		count += macro->parameters[i].kind != 'e';
	}
	return count;
}

/* Of those with as many parameters the one that fits best; of two the later. */
static const struct macro *find(struct compiler *c, const struct ast *node)
{
	const struct macro *best = NULL;
	int best_likeness = -1;
	size_t i;

	for (i = checker(c)->script.macros.count; i-- > 0;) {
		const struct macro *macro = &checker(c)->script.macros.at[i];
		int like;

		if (strcmp(macro->name, node->text) != 0 || macro->parameter_count != node->kid_count)
			continue;
		like = likeness(macro, node);
		if (!best || like > best_likeness) {
			best = macro;
			best_likeness = like;
		}
	}
	return best;
}

static const struct ast *argument(const struct expansion *x, char kind, const char *name)
{
	uint32_t i;

	for (i = 0; i < x->macro->parameter_count; i++)
		if (x->macro->parameters[i].kind == kind && !strcmp(x->macro->parameters[i].name, name))
			return x->call->kids[i];
	return NULL;
}

static void rename_variable(struct expansion *x, struct ast *node)
{
	const struct ast *given = argument(x, '$', node->text);

	node->text = given ? given->text : arena_printf(x->c->arena, "%s.%u", node->text, x->serial);
}

static void substitute(struct expansion *x, struct ast *node);

/* The type that was passed, with the suffixes that the body gives it. */
static struct type_name *substitute_type(struct expansion *x, const struct type_name *given,
					 const struct type_suffix *suffixes, uint32_t count)
{
	struct type_name *name = arena_new(x->c->arena, struct type_name);
	struct type_suffix *all = arena_array(x->c->arena, struct type_suffix, given->suffix_count + count + 1);

	if (!name || !all)
		return name;
	*name = *given;
	if (given->suffix_count)
		memcpy(all, given->suffixes, given->suffix_count * sizeof(*all));
	if (count)
		memcpy(all + given->suffix_count, suffixes, count * sizeof(*all));
	name->suffixes = all;
	name->suffix_count = given->suffix_count + count;
	return name;
}

/* typeof(parameter), or a parameter that stands for a type. */
static struct type_name *substitute_type_name(struct expansion *x, struct type_name *name)
{
	const struct ast *given = name->name ? argument(x, 'e', name->name) : NULL;

	if (given && given->kind == AST_TYPE && given->type_name)
		return substitute_type(x, given->type_name, name->suffixes, name->suffix_count);
	if (!name->of)
		return name;
	substitute(x, name->of);
	if (name->of->kind == AST_TYPE && name->of->type_name)
		return substitute_type(x, name->of->type_name, name->suffixes, name->suffix_count);
	return name;
}

/* sizeof(parameter) and sizeof(parameter[2]), where the parameter is a type. */
static void substitute_operand(struct expansion *x, struct ast *node)
{
	const struct ast *operand = node->kids[0];
	struct type_suffix suffix = {.kind = '['};
	bool is_array = operand->kind == AST_INDEX && operand->kids[0]->kind == AST_TYPE &&
			operand->kids[1]->kind == AST_INT && operand->kids[1]->value <= 65536;
	const struct ast *type = is_array ? operand->kids[0] : operand;

	if (type->kind != AST_TYPE || !type->type_name)
		return;
	if (is_array)
		suffix.count = (uint32_t)operand->kids[1]->value;
	node->type_name = substitute_type(x, type->type_name, &suffix, is_array);
	node->kid_count = 0;
}

static void substitute(struct expansion *x, struct ast *node)
{
	const struct ast *given;
	struct ast **kids;
	uint32_t i;

	if (!node || x->c->arena->failed)
		return;
	node->expanded = x->place;
	for (i = 0; i < node->kid_count; i++)
		substitute(x, node->kids[i]);
	if (node->type_name)
		node->type_name = substitute_type_name(x, node->type_name);
	switch (node->kind) {
	case AST_VARIABLE:
	case AST_LET:
	case AST_FOR_RANGE:
	case AST_FOR_MAP:
		rename_variable(x, node);
		break;
	case AST_MAP:
		given = argument(x, '@', node->text);
		if (!given)
			report_error(x->c->report, "macro.map", node->span,
				     "the macro %s uses @%s, which was not passed to it", x->macro->name, node->text);
		else
			node->text = given->text;
		break;
	case AST_NAME:
		given = argument(x, 'e', node->text);
		if (!given)
			break;
		{
			struct ast *copy = ast_copy(x->c->arena, given);

			kids = copy->kids;
			*node = *copy;
			node->kids = kids;
		}
		break;
	case AST_SIZEOF:
	case AST_OFFSETOF:
		if (node->kid_count)
			substitute_operand(x, node);
		break;
	default:
		break;
	}
}

static bool arguments_fit(struct expansion *x)
{
	uint32_t i;

	for (i = 0; i < x->macro->parameter_count; i++) {
		const struct ast *given = x->call->kids[i];
		char kind = x->macro->parameters[i].kind;

		if (!fits(kind, given)) {
			report_error(x->c->report, "macro.argument", given->span, "the macro %s needs a %s here",
				     x->macro->name, kind == '$' ? "variable" : "map");
			return false;
		}
	}
	return true;
}

static uint32_t count_nodes(const struct ast *node)
{
	uint32_t i, count = 1;

	for (i = 0; node && i < node->kid_count; i++)
		count += count_nodes(node->kids[i]);
	return count;
}

bool macro_expand(struct compiler *c, struct ast *node)
{
	struct expansion x = {.c = c, .macro = find(c, node), .call = node};
	struct expansion_place *place;
	struct ast *body;

	if (!x.macro)
		return false;
	x.serial = ++checker(c)->macro_depth;
	/* Each expansion is done once, so their number bounds a script that calls itself. */
	if (checker(c)->macro_depth > MACRO_NODES_MAX / 100 || count_nodes(x.macro->body) > MACRO_NODES_MAX) {
		report_error(c->report, "macro.endless", node->span,
			     "the macro %s calls itself, or is expanded too often", x.macro->name);
		return false;
	}
	if (!arguments_fit(&x))
		return false;
	place = arena_new(c->arena, struct expansion_place);
	if (!place)
		return false;
	*place = (struct expansion_place){node->span, node->expanded};
	x.place = place;
	body = ast_copy(c->arena, x.macro->body);
	substitute(&x, body);
	if (body->kind == AST_BLOCK_VALUE && body->kid_count == 0)
		body->kind = AST_BLOCK;
	*node = *body;
	return true;
}
