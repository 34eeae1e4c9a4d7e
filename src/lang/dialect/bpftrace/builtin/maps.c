// SPDX-License-Identifier: GPL-2.0-or-later
/* What is done with maps as a whole, and their keys. */
#include <string.h>

#include "lang/dialect/bpftrace/builtin/builtin.h"

static const struct type *check_whole(struct compiler *c, struct ast *call)
{
	enum site_kind kind = !strcmp(call->text, "clear") ? SITE_CLEAR : SITE_ZERO;
	struct symbol *map = check_map_name(c, call->kids[0]);

	if (map && map->value)
		call->site = check_site(c, call, (struct site){.kind = kind, .map = map});
	return &type_none;
}

/* delete(@map, key) and, as it once was, delete(@map[key]); delete(@scalar). */
static const struct type *check_delete(struct compiler *c, struct ast *call)
{
	struct ast *target = call->kids[0];
	struct symbol *map;

	if (target->kind != AST_MAP || (target->kid_count && call->kid_count > 1)) {
		report_error(c->report, "map.name", target->span, "%s() expects a map to be provided", call->text);
		return &type_bool;
	}
	if (target->kid_count) {
		check_map_symbol(c, target);
		return &type_bool;
	}
	map = check_map_name(c, target);
	if (map && !map->key)
		map->is_deleted = true;
	if (map && call->kid_count > 1 && map->used_bare)
		report_error(c->report, "map.key", call->span,
			     "call to %s() expects a map with explicit keys (non-scalar map)", call->text);
	else if (map && call->kid_count > 1)
		check_key(c, map, call->kids[1], call->span);
	else if (map && map->key) {
		report_error(c->report, "map.key", call->span,
			     "call to %s() expects a map without explicit keys (scalar map)", call->text);
		report_hint(c->report, "usage: %s", call->builtin->usage);
	}
	return &type_bool;
}

static const struct type *check_has_key(struct compiler *c, struct ast *call)
{
	if (call->kid_count == 1 && call->kids[0]->kind == AST_MAP && !call->kids[0]->kid_count) {
		report_error(c->report, "map.key", call->span, "call to has_key() needs the key to look for");
		report_hint(c->report, "usage: %s; a map without keys is there, or not, by its value",
			    call->builtin->usage);
		return &type_bool;
	}
	return check_delete(c, call);
}

/* find(@map, key, $variable): an assignment to the variable takes its place. */
static const struct type *check_find(struct compiler *c, struct ast *call)
{
	struct ast *map = call->kids[0], *assign = call->kids[2], *value;

	if (assign->kind != AST_ASSIGN && assign->kind != AST_VARIABLE) {
		report_error(c->report, "find.variable", assign->span, "find() expects a variable for the value");
		report_hint(c->report, "usage: %s", call->builtin->usage);
		return &type_bool;
	}
	check_delete(c, call);
	if (assign->kind == AST_VARIABLE && map->kind == AST_MAP) {
		value = ast_create(c->arena, AST_MAP, map->span, 1);
		value->text = map->text;
		value->expanded = map->expanded;
		value->kids[0] = ast_copy(c->arena, call->kids[1]);
		call->kids[2] = ast_create(c->arena, AST_ASSIGN, assign->span, 2);
		call->kids[2]->kids[0] = assign;
		call->kids[2]->kids[1] = value;
	}
	if (map->kind == AST_MAP && !map->kid_count && !c->report->errors)
		check_statement(c, call->kids[2]);
	return &type_bool;
}

static const struct type *check_len(struct compiler *c, struct ast *call)
{
	struct ast *what = call->kids[0];
	const struct type *type;

	call->flags = 0;
	if (what->kind == AST_MAP && !what->kid_count) {
		struct symbol *map = check_map_name(c, what);

		if (!map || !map->value || map->value->kind != TYPE_STACK) {
			if (map && map->value && !map->key)
				report_error(c->report, "map.key", call->span,
					     "call to len() expects a map with explicit keys (non-scalar map)");
			call->flags = 1;
			return &type_int64;
		}
	}
	type = check_value(c, what);
	if (type->kind != TYPE_STACK && type->kind != TYPE_STRING && type->kind != TYPE_NONE &&
	    type->kind != TYPE_BUFFER && type->kind != TYPE_ARRAY && type->kind != TYPE_TUPLE)
		report_error(c->report, "type.len", what->span,
			     "len() expects a map or stack to be provided, and this is of type '%s'",
			     type_describe(c->arena, type));
	if (type->kind == TYPE_STRING)
		report_hint(c->report, "use strlen() for strings");
	return &type_int64;
}

const struct builtin builtins_maps[] = {
	{"clear", 1, 1, 0, check_whole, CORE_EVENT, OPERANDS_NONE, "clear(@map)"},
	{"zero", 1, 1, 0, check_whole, CORE_EVENT, OPERANDS_NONE, "zero(@map)"},
	{"delete", 1, 2, BUILTIN_DISCARDABLE, check_delete, CORE_DELETE, 0, "delete(@map, KEY)"},
	{"has_key", 1, 2, 0, check_has_key, CORE_HAS_KEY, 0, "has_key(@map, KEY)"},
	{"find", 3, 3, BUILTIN_DISCARDABLE, check_find, CORE_FIND, 0, "find(@map, KEY, $VARIABLE)"},
	{"len", 1, 1, 0, check_len, CORE_LEN, 0, "len(@map) or len(STACK)"},
	{},
};
