// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Translators: translator OUT < IN name > { member = expression; ... }; and xlate < OUT > (value). A member of what
 * xlate gives is the translator's expression for it, in which `name` stands for the value. All of its members together
 * are a struct.
 */
#include <string.h>

#include "lang/dialect/d/d.h"

static const struct type *record_of(const struct type *type)
{
	return type->kind == TYPE_POINTER ? type->to : type;
}

static const struct d_translator *find(struct compiler *c, const struct type *out, const struct type *in)
{
	const struct d_state *state = d_state(c);
	size_t i;

	for (i = 0; i < state->translators.count; i++)
		if (type_equal(state->translators.at[i].out, out) && type_equal(state->translators.at[i].in, in))
			return &state->translators.at[i];
	return NULL;
}

bool d_translator_add(struct compiler *c, const struct d_translator *translator)
{
	const char *tag = NULL, *what = "", *name = "";
	struct type_field field;
	uint32_t i;

	if (translator->out->kind != TYPE_RECORD) {
		tag = "D_XLATE_SOU";
		what = "translator output type must be a struct or union";
	} else if (translator->out->is_incomplete && !types_complete(&c->types, translator->out)) {
		tag = "D_XLATE_SOU";
		what = "incomplete struct/union/enum ";
		name = type_describe(c->arena, translator->out);
	} else if (find(c, translator->out, translator->in) ||
		   d_library_translator(c, translator->out, translator->in)) {
		tag = "D_XLATE_REDECL";
		what = arena_printf(c->arena, "translator from %s to %s has already been declared",
				    d_type_name(c, translator->in), d_type_name(c, translator->out));
	}
	for (i = 0; !tag && i < translator->count; i++)
		if (!types_field(&c->types, translator->out, translator->members[i].name, &field)) {
			tag = "D_XLATE_MEMB";
			what = arena_printf(c->arena, "translator member %s is not a member of ",
					    translator->members[i].name);
			name = type_describe(c->arena, translator->out);
		}
	if (tag) {
		report_error(c->report, tag, translator->span, "%s%s", what ? what : "", name);
		return false;
	}
	if (vec_push(&d_state(c)->translators, *translator))
		c->arena->failed = true;
	return true;
}

static const struct d_translator *translator_of(struct compiler *c, const struct d_expr *xlate)
{
	const struct type *in = d_place(c, xlate->kids[0])->type;
	const struct d_translator *ret = find(c, record_of(xlate->type_name.type), in);

	if (!ret)
		ret = d_library_translator(c, record_of(xlate->type_name.type), in);

	if (!ret && !c->report->errors)
		report_error(c->report, "D_XLATE_NONE", xlate->span, "cannot translate from \"%s\" to \"%s\"",
			     d_type_name(c, in), d_type_name(c, xlate->type_name.type));
	return ret;
}

static struct node *member_value(struct compiler *c, const struct d_translator *translator, const struct d_expr *xlate,
				 const struct d_expr *value, const char *name)
{
	struct d_state *state = d_state(c);
	struct d_binding binding = {&translator->parameter, xlate->kids, 1, state->binding};
	struct type_field field;
	struct node *node;

	if (state->binding && state->binding->depth > D_NESTING_MAX) {
		report_error(c->report, "D_XLATE_NONE", xlate->span, "translators are in each other");
		return d_int(c, 0, &type_int32);
	}
	binding.depth = state->binding ? state->binding->depth + 1 : 1;
	state->binding = &binding;
	node = d_value(c, value);
	state->binding = binding.outer;
	if (types_field(&c->types, translator->out, name, &field) && type_is_scalar(field.type) &&
	    type_is_scalar(node->type))
		node = d_cast(c, node, field.type);
	return node;
}

/* What stands for the value while no xlate gives one: (in)0, or what an address of 0 is the place of. */
static struct d_expr *nothing_of(struct compiler *c, const struct type *in)
{
	struct d_expr *all = arena_array(c->arena, struct d_expr, 3);
	struct d_expr **kids = arena_array(c->arena, struct d_expr *, 2);

	if (!all || !kids)
		return NULL;
	all[0] = (struct d_expr){.kind = D_INT, .type = &type_int32, .text = ""};
	all[1] = (struct d_expr){.kind = D_CAST, .text = "", .kids = kids, .kid_count = 1};
	all[1].type_name.type = type_is_scalar(in) ? in : type_pointer(c->arena, in);
	all[2] = (struct d_expr){.kind = D_UNARY, .text = "*", .kids = kids + 1, .kid_count = 1};
	kids[0] = &all[0];
	kids[1] = &all[1];
	return type_is_scalar(in) ? &all[1] : &all[2];
}

static void check_member(struct compiler *c, const struct d_translator *translator, struct d_expr *xlate, uint32_t i)
{
	const struct d_translation *one = &translator->members[i];
	struct d_state *state = d_state(c);
	struct d_binding binding = {.names = &translator->parameter, .values = &xlate, .count = 1, .depth = 1};
	struct type_field field;
	const struct type *type;

	state->binding = &binding;
	type = d_value(c, one->value)->type;
	state->binding = NULL;
	if (c->report->errors || !types_field(&c->types, translator->out, one->name, &field))
		return;
	if (field.type->kind == TYPE_POINTER && type_is_number(type) && one->value->kind != D_INT) {
		report_error(c->report, "D_XLATE_INCOMPAT", one->span,
			     "translator member %s definition uses incompatible types: \"%s\" = \"%s\"", one->name,
			     d_type_name(c, field.type), d_type_name(c, type));
		report_told(c->report, 0, one->behind);
	}
}

void d_translators_check(struct compiler *c)
{
	struct d_state *state = d_state(c);
	size_t i, statements = state->statements.count, recorded = state->recorded.count;
	uint32_t k;

	for (i = 0; i < state->translators.count; i++) {
		const struct d_translator *translator = &state->translators.at[i];
		struct d_expr *nothing = nothing_of(c, translator->in);

		for (k = 0; nothing && k < translator->count && !c->report->errors; k++)
			check_member(c, translator, nothing, k);
	}
	/* Only the complaints were wanted. */
	state->statements.count = statements;
	state->recorded.count = recorded;
}

struct node *d_translated_member(struct compiler *c, const struct d_expr *expr)
{
	const struct d_expr *xlate = expr->kids[0];
	const struct d_translator *translator = translator_of(c, xlate);
	uint32_t i;

	if (!translator)
		return d_int(c, 0, &type_int32);
	for (i = 0; i < translator->count; i++)
		if (!strcmp(translator->members[i].name, expr->text))
			return member_value(c, translator, xlate, translator->members[i].value, expr->text);
	if (!c->report->errors)
		report_error(c->report, "D_XLATE_NOCONV", expr->span,
			     "translator does not define conversion for member: %s", expr->text);
	return d_int(c, 0, &type_int32);
}

struct node *d_translation(struct compiler *c, const struct d_expr *xlate)
{
	const struct d_translator *translator = translator_of(c, xlate);
	struct symbol *symbol = translator ? d_local(c, translator->out) : NULL;
	struct node *block;
	uint32_t i;

	if (!symbol || vec_push(&d_state(c)->unit->locals, symbol))
		return d_int(c, 0, &type_int32);
	symbol->name = "translated";
	block = node_create(c->arena, NODE_BLOCK_VALUE, xlate->span, translator->count + 1);
	for (i = 0; i < translator->count && !c->arena->failed; i++) {
		struct node *assign = node_create(c->arena, NODE_ASSIGN, xlate->span, 2);

		if (c->arena->failed)
			break;
		assign->kids[0] = d_field(c, d_variable_node(c, symbol), translator->members[i].name, xlate->span);
		assign->kids[1] = member_value(c, translator, xlate, translator->members[i].value,
					       translator->members[i].name);
		block->kids[i] = assign;
	}
	if (c->arena->failed)
		return d_int(c, 0, &type_int32);
	block->kids[translator->count] = d_variable_node(c, symbol);
	block->type = translator->out;
	return block;
}

/* Definitions that name each other, or several of the one before, would never end, or not soon. */
#define INLINED_MAX 20000

bool d_may_inline(struct compiler *c, struct span span)
{
	if (++d_state(c)->inlined <= INLINED_MAX)
		return true;
	if (!c->report->errors)
		report_error(c->report, "D_IDENT_BADREF", span, "inline definitions are in each other");
	return false;
}

struct node *d_bound(struct compiler *c, const struct d_expr *expr)
{
	struct d_state *state = d_state(c);
	const struct d_binding *binding = state->binding;
	struct node *node;
	uint32_t i;

	if (!binding || expr->scope != D_GLOBAL || expr->kid_count)
		return NULL;
	for (i = 0; i < binding->count; i++)
		if (binding->names[i] && !strcmp(expr->text, binding->names[i]))
			break;
	if (i == binding->count)
		return NULL;
	if (!d_may_inline(c, expr->span))
		return d_int(c, 0, &type_int32);
	state->binding = binding->outer;
	node = d_place(c, binding->values[i]);
	state->binding = binding;
	return node;
}

struct node *d_inlined(struct compiler *c, const struct d_variable *variable, const struct d_expr *expr)
{
	struct d_state *state = d_state(c);
	struct d_binding binding = {variable->parameters, expr->kids, variable->key_count, state->binding};
	struct node *node;

	binding.depth = state->binding ? state->binding->depth + 1 : 1;
	if (binding.depth > D_NESTING_MAX)
		state->inlined = INLINED_MAX;
	if (c->arena->failed || !d_may_inline(c, expr->span))
		return d_int(c, 0, &type_int32);
	state->binding = &binding;
	node = d_value(c, variable->inlined);
	state->binding = binding.outer;
	return node;
}
