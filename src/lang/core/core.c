// SPDX-License-Identifier: GPL-2.0-or-later
#include "lang/core/core.h"

#include <inttypes.h>

#include "lang/core/compiler.h"

static const char *const kind_names[] = {
	[NODE_NONE] = "none",
	[NODE_INT] = "int",
	[NODE_BOOL] = "bool",
	[NODE_STRING] = "string",
	[NODE_VARIABLE] = "variable",
	[NODE_MAP] = "map",
	[NODE_CALL] = "call",
	[NODE_UNARY] = "unary",
	[NODE_BINARY] = "binary",
	[NODE_TERNARY] = "ternary",
	[NODE_FIELD] = "field",
	[NODE_INDEX] = "index",
	[NODE_CAST] = "cast",
	[NODE_TUPLE] = "tuple",
	[NODE_STEP] = "step",
	[NODE_BLOCK_VALUE] = "block value",
	[NODE_ASSIGN] = "assign",
	[NODE_AGGREGATE] = "aggregate",
	[NODE_LET] = "let",
	[NODE_EXPRESSION] = "expression",
	[NODE_IF] = "if",
	[NODE_WHILE] = "while",
	[NODE_FOR_RANGE] = "for range",
	[NODE_FOR_MAP] = "for map",
	[NODE_UNROLL] = "unroll",
	[NODE_BREAK] = "break",
	[NODE_CONTINUE] = "continue",
	[NODE_RETURN] = "return",
	[NODE_BLOCK] = "block",
	[NODE_CLAUSE] = "clause",
};

static const char *const builtin_names[] = {
	[CORE_NONE] = "none",
#define CORE(id, name) [CORE_##id] = (name),
#include "lang/core/builtins.def"
#undef CORE
};

struct node *node_create(struct arena *arena, enum node_kind kind, struct span span, uint32_t count)
{
	/* Nobody uses the tree once the arena has failed, but it must hold together until that is noticed. */
	static struct node none = {.kind = NODE_INT, .type = &type_literal};
	struct node *node = arena_new(arena, struct node);
	struct node **kids = count ? arena_array(arena, struct node *, count) : NULL;

	if (!node || (count && !kids))
		return &none;
	*node = (struct node){.kind = kind, .span = span, .kids = kids, .kid_count = count, .type = &type_none};
	return node;
}

const struct type *type_fault(struct arena *arena)
{
	const struct type *const words[] = {&type_uint64, &type_uint64, &type_uint64};

	return type_tuple(arena, words, NULL, 3);
}

const struct type *type_scratch(struct arena *arena, uint32_t bytes)
{
	const struct type *const parts[] = {&type_uint64, type_array(arena, &type_uint8, (bytes + 7) & ~7u)};

	return type_tuple(arena, parts, NULL, 2);
}

bool node_constant(const struct node *node, int64_t *ret)
{
	int64_t value;

	switch (node->kind) {
	case NODE_INT:
	case NODE_BOOL:
		*ret = (int64_t)node->value;
		return true;
	case NODE_UNARY:
		if (node->op != OP_NEGATE || !node_constant(node->kids[0], &value))
			return false;
		*ret = (int64_t)(0 - (uint64_t)value);
		return true;
	default:
		return false;
	}
}

static bool makes_record(enum core_builtin builtin)
{
	return builtin == CORE_EVENT || builtin == CORE_SEND || builtin == CORE_PRINT_MAP || builtin == CORE_JOIN ||
	       builtin == CORE_UNWATCH || builtin == CORE_PACKET;
}

static void print_call(FILE *out, const struct node *node)
{
	fprintf(out, " %s", builtin_names[node->builtin]);
	if (makes_record(node->builtin))
		fprintf(out, " site %u", node->site);
	if (node->value)
		fprintf(out, " value %" PRId64, (int64_t)node->value);
	if (node->flags)
		fprintf(out, " flags %u", node->flags);
	if (node->text)
		fprintf(out, " \"%s\"", node->text);
}

/* What a node holds beside its kids. */
static void print_own(FILE *out, const struct node *node)
{
	if (node->op)
		fprintf(out, " %s", op_text(node->op));
	if (node->is_prefix || node->is_first)
		fputs(node->is_first ? " first" : " prefix", out);
	if (node->kind == NODE_CALL)
		print_call(out, node);
	else if (node->kind == NODE_INT || node->kind == NODE_BOOL || node->kind == NODE_UNROLL)
		fprintf(out, " %" PRId64, (int64_t)node->value);
	else if (node->kind == NODE_STRING)
		fprintf(out, " \"%s\"", node->text);
	else if (node->symbol && *node->symbol->name)
		fprintf(out, " %s", node->symbol->name);
	else if (node->field)
		fprintf(out, " %s at %u", node->field->name ? node->field->name : "element", node->field->offset);
}

void node_print(FILE *out, const struct node *node, unsigned int depth)
{
	struct arena arena = {};
	uint32_t i;

	fprintf(out, "%*s", (int)depth * 2, "");
	if (!node) {
		fputs("(none)\n", out);
		return;
	}
	fputs(kind_names[node->kind], out);
	print_own(out, node);
	if (node->type->kind != TYPE_NONE)
		fprintf(out, " :: %s", type_describe(&arena, node->type));
	fputc('\n', out);
	for (i = 0; i < node->kid_count; i++)
		node_print(out, node->kids[i], depth + 1);
	arena_deinit(&arena);
}
