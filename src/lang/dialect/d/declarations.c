// SPDX-License-Identifier: GPL-2.0-or-later
/* What a program declares: variables, and inline definitions. */
#include <string.h>

#include "lang/dialect/d/d.h"
#include "lang/rt/abi.h"

/* Has a variable of this type a value? */
static bool declarable(struct compiler *c, const struct d_declaration *declaration)
{
	const struct type *type = declaration->type;
	const char *tag = NULL, *what = "";

	if (type->kind == TYPE_NONE) {
		tag = "D_DECL_VOIDOBJ";
		what = "cannot have void object";
	} else if (type->kind == TYPE_RECORD && type->is_incomplete && !types_complete(&c->types, type)) {
		tag = "D_DECL_INCOMPLETE";
		what = "incomplete struct/union/enum";
	} else if (type->kind == TYPE_ARRAY && !type->count) {
		tag = "D_DECL_ARRNULL";
		what = "array declaration requires array dimension or tuple signature";
	} else if (type->size > RT_FRAME_MAX / 4) {
		tag = "D_DECL_ARRBIG";
		what = "variables of this size are not supported";
	}
	if (tag)
		report_error(c->report, tag, declaration->span, "%s: %s", what, declaration->name);
	return !tag;
}

void d_declare(struct compiler *c)
{
	struct d_state *state = d_state(c);
	size_t i;

	for (i = 0; i < state->declarations.count; i++) {
		const struct d_declaration *declaration = &state->declarations.at[i];
		struct d_variable variable = {.scope = declaration->scope, .name = declaration->name};

		if (d_variable_find(c, declaration->scope, declaration->name, false)) {
			report_error(c->report, "D_DECL_IDRED", declaration->span, "identifier redeclared: %s",
				     declaration->name);
			return;
		}
		variable.type = declaration->type;
		variable.inlined = declaration->value;
		variable.is_array = declaration->is_array;
		variable.key_count = declaration->key_count;
		variable.keys = declaration->keys;
		variable.parameters = declaration->key_names;
		if (!declarable(c, declaration))
			return;
		if (variable.scope == D_THIS && variable.is_array) {
			report_error(c->report, "D_DECL_LOCASSC", declaration->span,
				     "associative arrays may not be declared as local variables: %s",
				     declaration->name);
			return;
		}
		if (c->arena->failed)
			return;
		if (variable.inlined) {
			d_variable_add(c, variable);
		} else {
			struct d_variable *added = d_variable_add(c, variable);

			if (added)
				d_variable_make(c, added);
		}
	}
}

/* --- inline --- */

static const struct d_declaration *declared(const struct compiler *c, const char *name)
{
	const struct d_state *state = d_state(c);
	size_t i;

	for (i = 0; i < state->declarations.count; i++)
		if (state->declarations.at[i].scope == D_GLOBAL && !strcmp(state->declarations.at[i].name, name))
			return &state->declarations.at[i];
	return NULL;
}

/* Where the expression names what it defines; NULL: nowhere. */
static const struct d_expr *itself(const struct d_expr *expr, const char *name)
{
	const struct d_expr *ret = NULL;
	uint32_t i;

	if (!expr)
		return NULL;
	if (expr->kind == D_VARIABLE && expr->scope == D_GLOBAL && !strcmp(expr->text, name))
		return expr;
	for (i = 0; !ret && i < expr->kid_count; i++)
		ret = itself(expr->kids[i], name);
	return ret;
}

void d_inline_check(struct compiler *c, const struct d_declaration *declaration)
{
	const struct d_declaration *before = declared(c, declaration->name);
	const struct d_expr *value = declaration->value;
	const char *name = declaration->name, *previous = NULL;

	if (before)
		previous = before->value ? "scalar inline" : before->is_array ? "associative array" : "scalar";
	else if (d_is_function(name))
		previous = "function ";
	if (previous)
		report_error(c->report, "D_DECL_IDRED", declaration->span,
			     "identifier redefined: %s\n\t current: inline definition\n\tprevious: %s", name, previous);
	else if (itself(value, name))
		report_error(c->report, "D_IDENT_UNDEF", itself(value, name)->span,
			     "failed to resolve %s: Unknown variable name", name);
	else if ((value->kind == D_STRING && type_is_number(declaration->type)) ||
		 (value->kind == D_INT && value->value && declaration->type->kind == TYPE_STRING))
		report_error(c->report, "D_OP_INCOMPAT", declaration->span,
			     "inline %s definition uses incompatible types: \"%s\" = \"%s\"", name,
			     d_type_name(c, declaration->type),
			     value->kind == D_STRING ? "string" : d_type_name(c, value->type));
}
