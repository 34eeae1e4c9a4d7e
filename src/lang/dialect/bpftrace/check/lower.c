// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * From the checked tree to the core. Everything is known by now: the nodes say what the names mean, constant
 * expressions were replaced by their results, and calls of macros by their bodies. So this translates node by node, and
 * leaves out what only the checker needs: names, types as written, arguments that a builtin reads while compiling.
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

static struct node *lower(struct compiler *c, const struct ast *ast);

static bool is_wide_unsigned(const struct type *type)
{
	return type->kind == TYPE_POINTER || (type->kind == TYPE_INT && type->size == 8 && !type->is_signed);
}

/* Does this operator mind the sign of its operands? */
static bool is_signed_operation(struct arena *arena, enum op op, const struct type *a, const struct type *b)
{
	const struct type *both;

	switch (op) {
	case OP_SHIFT_RIGHT:
		return a->is_signed;
	case OP_DIV:
	case OP_MOD:
		return !is_wide_unsigned(a) && !is_wide_unsigned(b);
	case OP_LESS:
	case OP_LESS_EQUAL:
	case OP_GREATER:
	case OP_GREATER_EQUAL:
		both = type_join(arena, a, b);
		return both && both->kind == TYPE_INT && both->is_signed;
	default:
		return false;
	}
}

/* Is this a comparison of a probe with a text? */
static bool names_probe(const struct ast *ast)
{
	return ast->kind == AST_BINARY && (ast->op == OP_EQUAL || ast->op == OP_NOT_EQUAL) &&
	       (ast->kids[0]->type->kind == TYPE_PROBE) != (ast->kids[1]->type->kind == TYPE_PROBE);
}

static struct node *number(struct arena *arena, uint64_t value)
{
	struct node *node = node_create(arena, NODE_INT, (struct span){}, 0);

	if (!arena->failed) {
		node->value = value;
		node->type = &type_uint64;
	}
	return node;
}

static struct node *binary(struct arena *arena, enum op op, struct node *left, struct node *right)
{
	struct node *node = node_create(arena, NODE_BINARY, left->span, 2);

	if (!arena->failed) {
		node->op = op;
		node->type = &type_bool;
		node->kids[0] = left;
		node->kids[1] = right;
	}
	return node;
}

/* probe == "name": its number is one of those of the attach points that bear this name. */
static struct node *lower_probe_name(struct compiler *c, const struct ast *ast)
{
	bool is_equal = ast->op == OP_EQUAL, swapped = ast->kids[0]->kind == AST_STRING;
	const char *name = ast->kids[swapped ? 0 : 1]->text;
	struct node *all = NULL, *probe;
	size_t i;

	for (i = 0; i < c->attaches.count; i++) {
		struct node *one;

		if (strcmp(c->attaches.at[i].name, name) != 0)
			continue;
		probe = node_create(c->arena, NODE_CAST, ast->span, 1);
		if (c->arena->failed)
			return probe;
		probe->type = &type_uint64;
		probe->kids[0] = lower(c, ast->kids[swapped ? 1 : 0]);
		one = binary(c->arena, ast->op, probe, number(c->arena, i));
		all = all ? binary(c->arena, is_equal ? OP_LOGICAL_OR : OP_LOGICAL_AND, all, one) : one;
	}
	if (all)
		return all;
	all = node_create(c->arena, NODE_BOOL, ast->span, 0);
	if (!c->arena->failed)
		all->value = !is_equal;
	return all;
}

static bool is_operand(const struct ast *call, uint32_t index)
{
	uint8_t taken = call->builtin->taken;

	return taken != OPERANDS_NONE && (index >= 8 || !(taken >> index & 1));
}

static struct node *lower_call(struct compiler *c, const struct ast *ast)
{
	struct arena *arena = c->arena;
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
			node->kids[count++] = lower(c, ast->kids[i]);
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

static struct node *lower_other(struct compiler *c, const struct ast *ast)
{
	struct arena *arena = c->arena;
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
	if ((kind == NODE_BINARY || kind == NODE_ASSIGN) && ast->kid_count == 2 &&
	    is_signed_operation(arena, ast->op, ast->kids[0]->type, ast->kids[1]->type))
		node->flags = OPERATION_SIGNED;
	node->symbol = ast->symbol;
	node->is_first = kind == NODE_ASSIGN && (ast->flags & 1);
	/* The number of turns has become `value`. */
	if (kind == NODE_UNROLL) {
		node->kids[0] = lower(c, ast->kids[1]);
		node->kid_count = 1;
		return node;
	}
	for (i = first; i < ast->kid_count; i++)
		node->kids[i - first] = lower(c, ast->kids[i]);
	return node;
}

static struct node *lower(struct compiler *c, const struct ast *ast)
{
	struct arena *arena = c->arena;
	struct node *node;

	if (!ast)
		return NULL;
	switch (ast->kind) {
	case AST_NAME:
	case AST_CALL:
		node = lower_call(c, ast);
		break;
	case AST_PARAMETER:
	case AST_SIZEOF:
	case AST_OFFSETOF:
	case AST_TYPE: /* an argument that a builtin has read */
		return node_create(arena, NODE_NONE, ast->span, 0);
	default:
		node = names_probe(ast) ? lower_probe_name(c, ast) : lower_other(c, ast);
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

		c->units.at[i].predicate = lower(c, checked->predicate);
		c->units.at[i].body = lower(c, checked->body);
	}
}
