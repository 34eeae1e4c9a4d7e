// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * From the checked tree to the core. All is known by now: what a name means is in the node, what constants have decided
 * has taken the place of what they decided, and macros that of their calls. So this goes node by node, and leaves out
 * what the checker alone has needed: names, types as written, arguments that a builtin has read.
 */
#include <string.h>

#include "lang/dialect/bpftrace/builtin/builtin.h"
#include "lang/dialect/bpftrace/check/check.h"

/* Of those that are the same in both; the others are below. */
static const enum node_kind kinds[] = {
	[AST_INT] = NODE_INT,
	[AST_BOOL] = NODE_BOOL,
	[AST_STRING] = NODE_STRING,
	[AST_VARIABLE] = NODE_VARIABLE,
	[AST_MAP] = NODE_MAP,
	[AST_UNARY] = NODE_UNARY,
	[AST_BINARY] = NODE_BINARY,
	[AST_TERNARY] = NODE_TERNARY,
	[AST_FIELD] = NODE_FIELD,
	[AST_INDEX] = NODE_INDEX,
	[AST_CAST] = NODE_CAST,
	[AST_TUPLE] = NODE_TUPLE,
	[AST_STEP] = NODE_STEP,
	[AST_BLOCK_VALUE] = NODE_BLOCK_VALUE,
	[AST_ASSIGN] = NODE_ASSIGN,
	[AST_LET] = NODE_LET,
	[AST_EXPRESSION] = NODE_EXPRESSION,
	[AST_IF] = NODE_IF,
	[AST_WHILE] = NODE_WHILE,
	[AST_FOR_RANGE] = NODE_FOR_RANGE,
	[AST_FOR_MAP] = NODE_FOR_MAP,
	[AST_UNROLL] = NODE_UNROLL,
	[AST_BREAK] = NODE_BREAK,
	[AST_CONTINUE] = NODE_CONTINUE,
	[AST_RETURN] = NODE_RETURN,
	[AST_BLOCK] = NODE_BLOCK,
};

static struct node *lower(struct arena *arena, const struct ast *ast);

static bool is_operand(const struct ast *call, uint32_t index)
{
	uint8_t taken = call->builtin->taken;

	return taken != OPERANDS_NONE && (index >= 8 || !(taken >> index & 1));
}

static struct node *lower_call(struct arena *arena, const struct ast *ast)
{
	uint32_t count = 0, i;
	struct node *node;

	/* A name that is no builtin is a word to one, which has read it. */
	if (!ast->builtin || !ast->code)
		return node_create(arena, NODE_NONE, ast->span, 0);
	for (i = 0; i < ast->kid_count; i++)
		count += is_operand(ast, i);
	node = node_create(arena, NODE_CALL, ast->span, count);
	if (arena->failed)
		return node;
	node->builtin = ast->code;
	node->text = ast->literal;
	node->value = ast->value;
	node->flags = ast->flags;
	node->site = ast->site;
	for (i = 0, count = 0; i < ast->kid_count; i++)
		if (is_operand(ast, i))
			node->kids[count++] = lower(arena, ast->kids[i]);
	return node;
}

/* `_ = value` is the value, and an aggregation a statement of its own. */
static enum node_kind assignment(const struct ast *ast, uint32_t *first)
{
	enum ast_kind target = ast->kids[0]->kind;

	*first = target != AST_VARIABLE && target != AST_MAP;
	if (*first)
		return NODE_EXPRESSION;
	return target == AST_MAP && ast->detail ? NODE_AGGREGATE : NODE_ASSIGN;
}

static struct node *lower_other(struct arena *arena, const struct ast *ast)
{
	uint32_t first = 0, i;
	enum node_kind kind = ast->kind == AST_ASSIGN ? assignment(ast, &first) : kinds[ast->kind];
	struct node *node = node_create(arena, kind, ast->span, ast->kid_count - first);

	if (arena->failed)
		return node;
	/* Of a literal that has taken an operation's place nothing else is meant any more. */
	if (!ast->kid_count) {
		node->text = kind == NODE_STRING ? ast->text : NULL;
		node->value = ast->value;
	} else {
		node->op = ast->op;
		node->field = ast->field;
		node->value = kind == NODE_UNROLL ? ast->value : 0;
		node->is_prefix = ast->is_prefix;
	}
	node->symbol = ast->symbol;
	node->is_first = kind == NODE_ASSIGN && (ast->flags & 1);
	/* The number of turns has become `value`. */
	if (kind == NODE_UNROLL) {
		node->kids[0] = lower(arena, ast->kids[1]);
		node->kid_count = 1;
		return node;
	}
	for (i = first; i < ast->kid_count; i++)
		node->kids[i - first] = lower(arena, ast->kids[i]);
	return node;
}

static struct node *lower(struct arena *arena, const struct ast *ast)
{
	struct node *node;

	if (!ast)
		return NULL;
	switch (ast->kind) {
	case AST_NAME:
	case AST_CALL:
		node = lower_call(arena, ast);
		break;
	case AST_PARAMETER:
	case AST_SIZEOF:
	case AST_OFFSETOF:
	case AST_TYPE: /* an argument that a builtin has read */
		return node_create(arena, NODE_NONE, ast->span, 0);
	default:
		node = lower_other(arena, ast);
	}
	if (!arena->failed)
		node->type = ast->type;
	return node;
}

/* The map whose value is the time, which tests ask for. */
static const struct symbol *series_clock(const struct compiler *c)
{
	const char *name = c->texts[SETTING_DUMMY_TS_MAP];
	size_t i;

	for (i = 0; i < c->maps.count; i++)
		if (*name == '@' && !strcmp(c->maps.at[i]->name, name + 1) && !c->maps.at[i]->key &&
		    c->maps.at[i]->value && c->maps.at[i]->value->kind == TYPE_INT)
			return c->maps.at[i];
	return NULL;
}

void lower_all(struct compiler *c)
{
	size_t i;

	c->series_clock = series_clock(c);
	for (i = 0; i < c->units.count; i++) {
		const struct checked *checked = &checker(c)->units.at[i];

		c->units.at[i].predicate = lower(c->arena, checked->predicate);
		c->units.at[i].body = lower(c->arena, checked->body);
	}
}
