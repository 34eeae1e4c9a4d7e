// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Names that predicates of Python's probes want (python.h). Only comparisons in the interpreter loop's own probes are
 * taken, as the runtime library reads names from code objects; and none below a negation, which wants other names.
 */
#include <string.h>

#include "lang/provider/python.h"
#include "lang/rt/python.h"

static const struct python_probe *probe_in_loop(const struct compiler *c, const struct unit *unit)
{
	const struct python_probe *probe = unit->provider == &provider_python ? c->attaches.at[unit->first_attach].own
									      : NULL;

	return probe && !probe->arguments &&
			       (probe->event == PYTHON_FUNCTION_ENTRY || probe->event == PYTHON_FUNCTION_RETURN ||
				probe->event == PYTHON_EXCEPTION)
		       ? probe
		       : NULL;
}

/* The name of the field of `args` that is compared with a text, and the text; NULL: it is something else. */
static const char *compared(const struct node *node, const char **text)
{
	const struct node *field, *literal;

	if (node->kind != NODE_BINARY || node->op != OP_EQUAL)
		return NULL;
	literal = node->kids[node->kids[0]->kind == NODE_STRING ? 0 : 1];
	field = node->kids[literal == node->kids[0] ? 1 : 0];
	if (literal->kind != NODE_STRING || field->kind != NODE_FIELD || !node_calls(field->kids[0], CORE_ARGS) ||
	    (strcmp(field->field->name, "function") != 0 && strcmp(field->field->name, "file") != 0))
		return NULL;
	*text = literal->text;
	return field->field->name;
}

/* Is it true only if this field has one of some texts? Then it is false for all others. */
static bool is_choice_of(const struct node *node, const char *name)
{
	const char *text, *other;

	if (node_calls(node, CORE_PYTHON_WANTED))
		return is_choice_of(node->kids[0], name);
	other = compared(node, &text);
	if (other)
		return !strcmp(name, other);
	return node->kind == NODE_BINARY && node->op == OP_LOGICAL_OR && is_choice_of(node->kids[0], name) &&
	       is_choice_of(node->kids[1], name);
}

/* The number of a wanted name; RT_PYTHON_WANTED: there are too many. */
static size_t number(struct compiler *c, struct wanted_name name)
{
	size_t i;

	for (i = 0; i < c->wanted.count; i++) {
		struct wanted_name *other = &c->wanted.at[i];

		if (strcmp(other->field, name.field) != 0 || strcmp(other->text, name.text) != 0)
			continue;
		other->is_conditional |= name.is_conditional;
		other->is_of_calls &= name.is_of_calls;
		return i;
	}
	if (i < RT_PYTHON_WANTED && vec_push(&c->wanted, name)) {
		c->arena->failed = true;
		return RT_PYTHON_WANTED;
	}
	return i;
}

/* The same tree with what is wanted in it. `is_of_calls`, `is_conditional`: as struct wanted_name's. */
static struct node *want(struct compiler *c, struct node *node, bool is_of_calls, bool is_conditional)
{
	const char *text = NULL, *field = compared(node, &text);
	struct node *wrapped;
	size_t which;

	if (field) {
		which = number(c, (struct wanted_name){field, text, is_conditional, is_of_calls});
		wrapped = which < RT_PYTHON_WANTED ? node_create(c->arena, NODE_CALL, node->span, 1) : NULL;
		if (!wrapped || c->arena->failed)
			return node;
		wrapped->builtin = CORE_PYTHON_WANTED;
		wrapped->type = node->type;
		wrapped->value = which;
		wrapped->kids[0] = node;
		return wrapped;
	}
	if (node->kind != NODE_BINARY || (node->op != OP_LOGICAL_AND && node->op != OP_LOGICAL_OR))
		return node;
	node->kids[0] = want(c, node->kids[0], is_of_calls, is_conditional);
	/* Of "a" or "b" for the same field, "b" is compared whenever it could be equal. */
	field = compared(node->kids[1], &text);
	is_conditional |= node->op == OP_LOGICAL_AND || !field || !is_choice_of(node->kids[0], field);
	node->kids[1] = want(c, node->kids[1], is_of_calls, is_conditional);
	return node;
}

void python_want_names(struct compiler *c)
{
	size_t i;

	for (i = 0; i < c->units.count; i++) {
		struct unit *unit = &c->units.at[i];
		const struct python_probe *probe = unit->predicate ? probe_in_loop(c, unit) : NULL;

		if (probe)
			unit->predicate = want(c, unit->predicate, probe->event != PYTHON_EXCEPTION, false);
	}
}
