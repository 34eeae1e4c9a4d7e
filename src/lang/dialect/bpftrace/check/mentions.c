// SPDX-License-Identifier: GPL-2.0-or-later
/* What an action mentions of its probe, also in the macros that it uses, each of which is looked at once. */
#include <string.h>

#include "lang/dialect/bpftrace/check/check.h"

struct mentions {
	const struct script *script;
	bool *seen; /* macros, by their numbers */
	unsigned int uses;
};

static unsigned int uses_of(const struct ast *node)
{
	bool is_bare = node->kind == AST_NAME;
	unsigned int uses = 0;

	if (node->type_name && node->type_name->name && !types_builtin(node->type_name->name))
		uses |= USES_TYPES;
	if (node->kind == AST_UNARY && node->op == OP_KNOWN)
		uses |= USES_CHOICE;
	if (!is_bare && node->kind != AST_CALL)
		return uses;
	if (is_bare && !strcmp(node->text, "args"))
		uses |= USES_ARGS;
	if (!strncmp(node->text, "arg", 3) || (is_bare && !strcmp(node->text, "ctx")))
		uses |= USES_ARGUMENTS;
	if (!strcmp(node->text, "probe"))
		uses |= USES_NAME;
	if (!strcmp(node->text, "probe") || !strcmp(node->text, "func"))
		uses |= USES_PLACE;
	return uses;
}

static void visit(struct mentions *m, const struct ast *node)
{
	uint32_t i;
	size_t j;

	if (!node)
		return;
	m->uses |= uses_of(node);
	if (node->type_name)
		visit(m, node->type_name->of);
	for (j = 0; (node->kind == AST_NAME || node->kind == AST_CALL) && j < m->script->macros.count; j++) {
		if (m->seen[j] || strcmp(m->script->macros.at[j].name, node->text))
			continue;
		m->seen[j] = true;
		visit(m, m->script->macros.at[j].body);
	}
	for (i = 0; i < node->kid_count; i++)
		visit(m, node->kids[i]);
}

unsigned int check_uses(const struct compiler *c, const struct probe *probe)
{
	struct mentions m = {.script = &checker(c)->script};

	m.seen = arena_array(c->arena, bool, m.script->macros.count + 1);
	if (!m.seen)
		return 0;
	visit(&m, probe->predicate);
	visit(&m, probe->body);
	return m.uses;
}
