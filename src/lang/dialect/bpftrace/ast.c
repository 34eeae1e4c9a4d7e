// SPDX-License-Identifier: GPL-2.0-or-later
#include "lang/dialect/bpftrace/ast.h"

#include <inttypes.h>

static const char *const kind_texts[] = {
	[AST_INT] = "int",
	[AST_BOOL] = "bool",
	[AST_STRING] = "string",
	[AST_NAME] = "name",
	[AST_PARAMETER] = "parameter",
	[AST_VARIABLE] = "variable",
	[AST_MAP] = "map",
	[AST_CALL] = "call",
	[AST_UNARY] = "unary",
	[AST_BINARY] = "binary",
	[AST_TERNARY] = "ternary",
	[AST_FIELD] = "field",
	[AST_INDEX] = "index",
	[AST_CAST] = "cast",
	[AST_TUPLE] = "tuple",
	[AST_SIZEOF] = "sizeof",
	[AST_OFFSETOF] = "offsetof",
	[AST_TYPE] = "type",
	[AST_STEP] = "step",
	[AST_BLOCK_VALUE] = "block value",
	[AST_ASSIGN] = "assign",
	[AST_LET] = "let",
	[AST_EXPRESSION] = "expression",
	[AST_IF] = "if",
	[AST_WHILE] = "while",
	[AST_FOR_RANGE] = "for range",
	[AST_FOR_MAP] = "for map",
	[AST_UNROLL] = "unroll",
	[AST_BREAK] = "break",
	[AST_CONTINUE] = "continue",
	[AST_RETURN] = "return",
	[AST_BLOCK] = "block",
};

void script_deinit(struct script *script)
{
	vec_free(&script->probes);
	vec_free(&script->declarations);
	vec_free(&script->settings);
	vec_free(&script->macros);
}

struct ast *ast_create(struct arena *arena, enum ast_kind kind, struct span span, uint32_t count)
{
	/* Nobody uses the tree once the arena has failed, but it must hold together until that is noticed. */
	static struct ast none = {.kind = AST_INT, .type = &type_literal};
	static struct ast *const none_kids[4] = {&none, &none, &none, &none};
	struct ast *node = arena_new(arena, struct ast);
	struct ast **kids = count ? arena_array(arena, struct ast *, count) : NULL;

	if (!node || (count && !kids)) {
		none.kids = (struct ast **)none_kids;
		return &none;
	}
	*node = (struct ast){.kind = kind, .span = span, .kids = kids, .kid_count = count, .type = &type_none};
	return node;
}

bool ast_is_higher(const struct ast *node, unsigned int levels)
{
	uint32_t i;

	if (!node)
		return false;
	if (!levels || (node->type_name && ast_is_higher(node->type_name->of, levels - 1)))
		return true;
	for (i = 0; i < node->kid_count; i++)
		if (ast_is_higher(node->kids[i], levels - 1))
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
	copy->of = ast_copy(arena, name->of);
	return copy;
}

struct ast *ast_copy(struct arena *arena, const struct ast *node)
{
	struct ast *copy;
	struct ast **kids;
	uint32_t i;

	if (!node)
		return NULL;
	copy = ast_create(arena, node->kind, node->span, node->kid_count);
	if (arena->failed)
		return copy;
	kids = copy->kids;
	*copy = *node;
	copy->kids = kids;
	copy->type_name = type_name_copy(arena, node->type_name);
	for (i = 0; i < node->kid_count; i++)
		kids[i] = ast_copy(arena, node->kids[i]);
	return copy;
}

void ast_print(FILE *out, const struct ast *node, unsigned int depth)
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
	if (node->kind == AST_INT || node->kind == AST_BOOL || node->kind == AST_PARAMETER)
		fprintf(out, " %" PRId64, (int64_t)node->value);
	if (node->text)
		fprintf(out, " %s", node->text);
	if (node->type->kind != TYPE_NONE)
		fprintf(out, " :: %s", type_describe(&arena, node->type));
	fputc('\n', out);
	for (i = 0; i < node->kid_count; i++)
		ast_print(out, node->kids[i], depth + 1);
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
			ast_print(out, probe->predicate, 1);
		ast_print(out, probe->body, 1);
	}
}
