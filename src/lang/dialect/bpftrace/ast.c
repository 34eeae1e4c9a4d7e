// SPDX-License-Identifier: GPL-2.0-or-later
#include "lang/dialect/bpftrace/ast.h"

#include <inttypes.h>

static const char *const kind_texts[] = {
	[NODE_INT] = "int",
	[NODE_BOOL] = "bool",
	[NODE_STRING] = "string",
	[NODE_NAME] = "name",
	[NODE_PARAMETER] = "parameter",
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
	[NODE_SIZEOF] = "sizeof",
	[NODE_OFFSETOF] = "offsetof",
	[NODE_TYPE] = "type",
	[NODE_STEP] = "step",
	[NODE_BLOCK_VALUE] = "block value",
	[NODE_ASSIGN] = "assign",
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
};

void script_deinit(struct script *script)
{
	vec_free(&script->probes);
	vec_free(&script->declarations);
	vec_free(&script->settings);
	vec_free(&script->macros);
}

struct node *node_create(struct arena *arena, enum node_kind kind, struct span span, uint32_t count)
{
	/* Nobody uses the tree once the arena has failed, but it must hold together until that is noticed. */
	static struct node none = {.kind = NODE_INT, .type = &type_literal};
	static struct node *const none_kids[4] = {&none, &none, &none, &none};
	struct node *node = arena_new(arena, struct node);
	struct node **kids = count ? arena_array(arena, struct node *, count) : NULL;

	if (!node || (count && !kids)) {
		none.kids = (struct node **)none_kids;
		return &none;
	}
	*node = (struct node){.kind = kind, .span = span, .kids = kids, .kid_count = count, .type = &type_none};
	return node;
}

bool node_is_higher(const struct node *node, unsigned int levels)
{
	uint32_t i;

	if (!node)
		return false;
	if (!levels || (node->type_name && node_is_higher(node->type_name->of, levels - 1)))
		return true;
	for (i = 0; i < node->kid_count; i++)
		if (node_is_higher(node->kids[i], levels - 1))
			return true;
	return false;
}

/* One that names an expression has its own. */
static struct type_name *type_name_copy(struct arena *arena, struct type_name *name)
{
	struct type_name *copy = name && name->of ? arena_new(arena, struct type_name) : NULL;

	if (!copy)
		return name;
	*copy = *name;
	copy->of = node_copy(arena, name->of);
	return copy;
}

struct node *node_copy(struct arena *arena, const struct node *node)
{
	struct node *copy;
	struct node **kids;
	uint32_t i;

	if (!node)
		return NULL;
	copy = node_create(arena, node->kind, node->span, node->kid_count);
	if (arena->failed)
		return copy;
	kids = copy->kids;
	*copy = *node;
	copy->kids = kids;
	copy->type_name = type_name_copy(arena, node->type_name);
	for (i = 0; i < node->kid_count; i++)
		kids[i] = node_copy(arena, node->kids[i]);
	return copy;
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
	fputs(kind_texts[node->kind], out);
	if (node->op)
		fprintf(out, " %s", op_text(node->op));
	if (node->kind == NODE_INT || node->kind == NODE_BOOL || node->kind == NODE_PARAMETER)
		fprintf(out, " %" PRId64, (int64_t)node->value);
	if (node->text)
		fprintf(out, " %s", node->text);
	if (node->type->kind != TYPE_NONE)
		fprintf(out, " :: %s", type_describe(&arena, node->type));
	fputc('\n', out);
	for (i = 0; i < node->kid_count; i++)
		node_print(out, node->kids[i], depth + 1);
	arena_deinit(&arena);
}

void script_print(FILE *out, const struct script *script)
{
	size_t i;
	uint32_t j, k;

	for (i = 0; i < script->probes.count; i++) {
		const struct probe *probe = &script->probes.at[i];

		fputs("probe", out);
		for (j = 0; j < probe->point_count; j++)
			for (k = 0; k < probe->points[j].part_count; k++)
				fprintf(out, "%s%s", k ? ":" : " ", probe->points[j].parts[k]);
		fputc('\n', out);
		if (probe->predicate)
			node_print(out, probe->predicate, 1);
		node_print(out, probe->body, 1);
	}
}
