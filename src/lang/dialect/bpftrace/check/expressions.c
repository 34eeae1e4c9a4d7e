// SPDX-License-Identifier: GPL-2.0-or-later
/* The types of expressions. */
#include <stdlib.h>
#include <string.h>

#include "lang/core/number.h"
#include "lang/dialect/bpftrace/builtin/builtin.h"
#include "lang/dialect/bpftrace/check/expressions.h"
#include "lang/dialect/bpftrace/check/macros.h"

static const struct type *check_parameter(struct compiler *c, struct ast *node)
{
	const char *text;
	uint64_t number;
	bool minus;

	if (!node->value)
		return check_become_number(node, c->options->parameter_count, false);
	if (node->value > c->options->parameter_count)
		return check_become_number(node, 0, false);
	text = c->options->parameters[node->value - 1];
	minus = *text == '-';
	if (number_parse(text + minus, strlen(text + minus), &number))
		return check_become_number(node, minus ? 0 - number : number, !minus);
	node->kind = AST_STRING;
	node->text = text;
	return type_string(c->arena, (uint32_t)strlen(text) + 1);
}

struct symbol *check_map_symbol(struct compiler *c, struct ast *node)
{
	struct symbol *map = NULL;
	size_t i;

	for (i = 0; i < c->maps.count && !map; i++)
		if (!strcmp(c->maps.at[i]->name, node->text))
			map = c->maps.at[i];
	if (!map) {
		map = arena_new(c->arena, struct symbol);
		if (!map || vec_push(&c->maps, map)) {
			c->arena->failed = true;
			return NULL;
		}
		*map = (struct symbol){
			.name = node->text, .span = node->span, .is_map = true, .index = (uint32_t)c->maps.count - 1};
	}
	if (!map->bpf_name)
		map->bpf_name = arena_printf(c->arena, "map%u_%.8s", map->index, map->name);
	node->symbol = map;
	if (node->kid_count) {
		if (map->used_bare) {
			report_error(c->report, "map.key", node->span,
				     "@%s used as a map with an explicit key (non-scalar map), previously used without "
				     "an explicit key (scalar map)",
				     map->name);
			return NULL;
		}
		check_key(c, map, node->kids[0], node->span);
	} else {
		if (map->key) {
			report_error(c->report, "map.key", node->span,
				     "@%s used as a map without an explicit key (scalar map), previously used with an "
				     "explicit key (non-scalar map)",
				     map->name);
			report_hint(c->report, "write @%s[...]", map->name);
			return NULL;
		}
		map->used_bare = true;
	}
	return map;
}

void check_key(struct compiler *c, struct symbol *map, struct ast *key, struct span span)
{
	const struct type *type = check_kept(c, key), *joined;

	map->used_keyed = true;
	if (type_is_aggregate(type) && check_number(c, key))
		type = key->type;
	if (type->kind == TYPE_NONE || type_is_aggregate(type)) {
		if (checker(c)->final || type->kind != TYPE_NONE)
			report_error(c->report, "map.key", key->span, "a value of type '%s' cannot be a key",
				     type_describe(c->arena, type));
		return;
	}
	if (!map->key) {
		map->key = type;
		checker(c)->changed = true;
		return;
	}
	joined = type_join(c->arena, map->key, type);
	if (!joined) {
		report_error(c->report, "map.key", span,
			     "Argument mismatch for @%s: trying to access with arguments: '%s' when map expects "
			     "arguments: '%s'",
			     map->name, type_describe(c->arena, type), type_describe(c->arena, map->key));
	} else if (!type_equal(joined, map->key)) {
		map->key = joined;
		checker(c)->changed = true;
	}
}

struct symbol *check_map_name(struct compiler *c, struct ast *node)
{
	size_t i;

	if (node->kind != AST_MAP || node->kid_count) {
		report_error(c->report, "map.name", node->span, "a map is needed here, without a key");
		return NULL;
	}
	for (i = 0; i < c->maps.count; i++) {
		if (!strcmp(c->maps.at[i]->name, node->text)) {
			node->symbol = c->maps.at[i];
			return node->symbol;
		}
	}
	if (checker(c)->final) {
		report_error(c->report, "map.undefined", node->span, "Undefined map: @%s", node->text);
		report_hint(c->report, "assign to it somewhere in the script");
	}
	return NULL;
}

static const struct type *check_map(struct compiler *c, struct ast *node)
{
	const struct symbol *map = check_map_symbol(c, node);

	node->detail = NULL;
	if (!map)
		return &type_none;
	if (!map->value) {
		if (checker(c)->final) {
			report_error(c->report, "map.undefined", node->span, "Undefined map: @%s", node->text);
			report_hint(c->report, "assign to it somewhere in the script");
		}
		return &type_none;
	}
	return map->value;
}

static const struct type *check_variable(struct compiler *c, struct ast *node)
{
	size_t i;

	for (i = checker(c)->scope.count; i-- > 0;) {
		if (strcmp(checker(c)->scope.at[i]->name, node->text))
			continue;
		node->symbol = checker(c)->scope.at[i];
		if (!node->symbol->type && checker(c)->final)
			node->symbol->type = &type_int64;
		return node->symbol->type ? node->symbol->type : &type_literal;
	}
	report_error(c->report, "variable.undefined", node->span, "Undefined or undeclared variable: $%s", node->text);
	report_hint(c->report, "assign to it first; a variable is known in its block only");
	return &type_none;
}

static const struct type *tuple_element(struct compiler *c, struct ast *node, const struct type *type, const char *name)
{
	char *end;
	unsigned long index = strtoul(name, &end, 10);
	uint32_t i;

	if (*end) {
		for (i = 0; i < type->field_count; i++)
			if (type->fields[i].name && !strcmp(type->fields[i].name, name))
				break;
		index = i;
	}
	if (index >= type->field_count) {
		report_error(c->report, "type.field", node->span, "Invalid tuple index: %s; it has %u elements", name,
			     type->field_count);
		return &type_none;
	}
	node->field = &type->fields[index];
	return node->field->type;
}

/* char arrays are strings when their value is asked for. */
static const struct type *field_type(struct compiler *c, const struct type *type)
{
	if (type->kind == TYPE_ARRAY && type->to->is_char)
		return type_string(c->arena, type->count);
	if (type->is_data_loc)
		return type_pointer(c->arena, type->to);
	if (type->kind == TYPE_RECORD)
		types_complete(&c->types, type);
	return type;
}

static const struct type *check_field(struct compiler *c, struct ast *node)
{
	const struct type *type = check_value(c, node->kids[0]);
	struct type_field *field;

	if (type->kind == TYPE_TUPLE) {
		type = tuple_element(c, node, type, node->text);
		/* Of a record of literals, like those of config() and typeinfo(), a field is one as well. */
		if (node->field && node->kids[0]->kind == AST_TUPLE && node->kids[0]->names)
			*node = *node->kids[0]->kids[node->field - node->kids[0]->type->fields];
		return type;
	}
	if (type->kind == TYPE_POINTER)
		type = type->to;
	if (type->kind == TYPE_NONE && !checker(c)->final)
		return c->report->errors ? &type_none : &type_literal;
	if (type->kind != TYPE_RECORD) {
		report_error(c->report, "type.field", node->span,
			     "Can not access field '%s' on expression of type '%s'", node->text,
			     type_describe(c->arena, node->kids[0]->type));
		if (node->kids[0]->type->kind == TYPE_INT)
			report_hint(c->report, "cast it first: ((struct NAME *)...).%s", node->text);
		return &type_none;
	}
	field = arena_new(c->arena, struct type_field);
	if (!field)
		return &type_none;
	if (!types_field(&c->types, type, node->text, field)) {
		const struct ast *of = node->kids[0];

		if (of->kind == AST_NAME && of->builtin && of->builtin->explain &&
		    of->builtin->explain(c, of, node->text, node->span))
			return &type_none;
		report_error(c->report, "type.field", node->span, "%s has no field named '%s'",
			     type_describe(c->arena, type), node->text);
		return &type_none;
	}
	node->field = field;
	if (field->type->kind == TYPE_NONE && checker(c)->final)
		report_error(c->report, "type.value", node->span,
			     "the field '%s' is of a type that the language has no values of", node->text);
	return field_type(c, field->type);
}

static const struct type *check_index(struct compiler *c, struct ast *node)
{
	const struct type *type = check_value(c, node->kids[0]);
	int64_t index;

	check_value(c, node->kids[1]);
	if (!check_number(c, node->kids[1]))
		return &type_none;
	if (type->kind == TYPE_TUPLE) {
		if (!check_literal_number(c, node->kids[1], &index))
			return &type_none;
		return tuple_element(c, node, type, arena_printf(c->arena, "%lld", (long long)index));
	}
	if (type->kind == TYPE_STRING)
		return &type_int8;
	if (type->kind != TYPE_ARRAY && type->kind != TYPE_POINTER) {
		report_error(c->report, "type.index", node->span,
			     "The array index operator [] can only be used on arrays and pointers, found '%s'",
			     type_describe(c->arena, type));
		return &type_none;
	}
	if (type->kind == TYPE_ARRAY && check_constant(node->kids[1], &index) && type->count &&
	    (index < 0 || index >= type->count)) {
		report_error(c->report, "type.bounds", node->span,
			     "the index %lld is out of bounds for array of size %u", (long long)index, type->count);
	}
	return type->to->kind == TYPE_NONE ? &type_uint8 : field_type(c, type->to);
}

static const struct type *check_tuple(struct compiler *c, struct ast *node)
{
	const struct type **elements = arena_array(c->arena, const struct type *, node->kid_count + 1), *type;
	uint32_t i;

	if (!elements)
		return &type_none;
	for (i = 0; i < node->kid_count; i++) {
		elements[i] = check_value(c, node->kids[i]);
		if (type_is_aggregate(elements[i]) && check_number(c, node->kids[i]))
			elements[i] = node->kids[i]->type;
		if (elements[i]->kind == TYPE_NONE) {
			if (checker(c)->final)
				report_error(c->report, "type.none", node->kids[i]->span, "this has no value");
			return &type_none;
		}
	}
	type = type_tuple(c->arena, elements, node->names, node->kid_count);
	for (i = 0; node->names && i < node->kid_count; i++)
		if (type->kind == TYPE_TUPLE && type_element(type, i, type) != i)
			report_error(c->report, "record.twice", node->kids[i]->span,
				     "the record has two fields named '%s'", node->names[i]);
	return type;
}

/* ++ and -- make 64 bits of a number whose type is not declared. */
static const struct type *step_number(struct compiler *c, const struct ast *node, struct symbol *symbol)
{
	const struct type *type = node->kids[0]->type;

	if (!symbol->is_declared)
		check_grow(c, symbol, check_arithmetic(node->op, type, &type_literal), node->span);
	type = symbol->is_map ? symbol->value : symbol->type;
	return type ? type : &type_literal;
}

static const struct type *check_step(struct compiler *c, struct ast *node)
{
	struct ast *target = node->kids[0];

	if (target->kind == AST_MAP) {
		struct symbol *map = check_map_symbol(c, target);

		if (!map)
			return &type_none;
		if (map->value && type_is_aggregate(map->value)) {
			report_error(c->report, "type.mismatch", node->span,
				     "@%s holds %s(), which ++ and -- do not change", map->name,
				     type_describe(c->arena, map->value));
			return &type_none;
		}
		target->type = map->value ? map->value : &type_literal;
	} else if (target->kind == AST_VARIABLE) {
		check_value(c, target);
	} else {
		report_error(c->report, "type.step", node->span, "++ and -- need a variable or a map");
		return &type_none;
	}
	if (type_is_number(target->type) && target->symbol)
		target->type = step_number(c, node, target->symbol);
	else if (target->type->kind != TYPE_POINTER)
		report_error(c->report, "type.operator", node->span, "%s cannot be used on a value of type '%s'",
			     node->op == OP_ADD ? "++" : "--", type_describe(c->arena, target->type));
	return target->type;
}

bool check_argument_count(struct compiler *c, const struct ast *call)
{
	const struct builtin *builtin = call->builtin;

	if (call->kid_count >= builtin->least && call->kid_count <= builtin->most)
		return true;
	report_error(c->report, "call.arguments", call->span, "%s() takes %u to %u arguments (%u provided)", call->text,
		     builtin->least, builtin->most, call->kid_count);
	report_hint(c->report, "usage: %s", builtin->usage);
	return false;
}

static const struct type *check_call(struct compiler *c, struct ast *node)
{
	const struct builtin *builtin;
	const struct named_constant *constant;

	if (macro_expand(c, node))
		return check_value(c, node);
	builtin = builtin_find(node->text);
	if (!builtin && node->kind == AST_NAME && (constant = types_constant(&c->types, node->text)))
		return check_become_int(node, (uint64_t)constant->value, constant->type);
	if (!builtin || (node->kind == AST_CALL && (builtin->flags & BUILTIN_BARE_ONLY))) {
		report_error(c->report, "call.unknown", node->span,
			     node->kind == AST_CALL ? "Unknown function: '%s'" : "Unknown identifier: '%s'",
			     node->text);
		report_hint(c->report, "strata-trace(1) lists functions and builtins");
		return &type_none;
	}
	node->builtin = builtin;
	node->code = builtin->code;
	if (node->kind == AST_NAME && !(builtin->flags & (BUILTIN_BARE | BUILTIN_BARE_ONLY))) {
		report_error(c->report, "call.parentheses", node->span, "%s is a function", node->text);
		report_hint(c->report, "usage: %s", builtin->usage);
		return &type_none;
	}
	if (!check_argument_count(c, node))
		return &type_none;
	if ((builtin->flags & BUILTIN_UNSAFE) && !c->options->unsafe) {
		report_error(c->report, "call.unsafe", node->span, "%s() is unsafe. To use you need the --unsafe flag",
			     node->text);
		return &type_none;
	}
	if (builtin->flags & BUILTIN_AGGREGATION) {
		report_error(c->report, "map.aggregate", node->span, "%s() should be assigned to a map", node->text);
		report_hint(c->report, "as in @name = %s(...)", node->text);
		return &type_none;
	}
	return builtin->check(c, node);
}

static const struct type *check_block_value(struct compiler *c, struct ast *node)
{
	const struct type *type = &type_none;
	uint32_t i;

	/* What a macro gives is what it stands for: a literal stays one. */
	if (node->kid_count == 1) {
		*node = *node->kids[0];
		return check_value(c, node);
	}
	checker(c)->depth++;
	for (i = 0; i + 1 < node->kid_count; i++)
		check_statement(c, node->kids[i]);
	if (node->kid_count)
		type = check_value(c, node->kids[node->kid_count - 1]);
	checker(c)->depth--;
	while (checker(c)->scope.count && checker(c)->scope.at[checker(c)->scope.count - 1]->depth > checker(c)->depth)
		checker(c)->scope.count--;
	return type;
}

static const struct type *check_any(struct compiler *c, struct ast *node)
{
	switch (node->kind) {
	case AST_INT:
		return node->type->kind == TYPE_INT ? node->type : type_of_number(node->value, node->is_unsigned);
	case AST_BOOL:
		return &type_bool;
	case AST_STRING:
		return type_string(c->arena, (uint32_t)strlen(node->text) + 1);
	case AST_PARAMETER:
		return check_parameter(c, node);
	case AST_VARIABLE:
		return check_variable(c, node);
	case AST_MAP:
		return check_map(c, node);
	case AST_NAME:
	case AST_CALL:
		return check_call(c, node);
	case AST_UNARY:
		return check_unary(c, node);
	case AST_BINARY:
		return check_binary(c, node);
	case AST_TERNARY:
		return check_ternary(c, node);
	case AST_FIELD:
		return check_field(c, node);
	case AST_INDEX:
		return check_index(c, node);
	case AST_CAST:
		return check_cast(c, node);
	case AST_TUPLE:
		return check_tuple(c, node);
	case AST_SIZEOF:
		return check_sizeof(c, node);
	case AST_OFFSETOF:
		return check_offsetof(c, node);
	case AST_STEP:
		return check_step(c, node);
	case AST_BLOCK_VALUE:
		return check_block_value(c, node);
	case AST_TYPE:
		report_error(c->report, "type.value", node->span, "a type stands where a value should");
		return &type_none;
	default:
		check_statement(c, node);
		return &type_none;
	}
}

const struct type *check_value(struct compiler *c, struct ast *node)
{
	if (c->report->errors >= REPORTS_MAX || c->arena->failed) {
		node->type = &type_none;
		return node->type;
	}
	if (++checker(c)->nesting > HEIGHT_MAX) {
		report_error(c->report, "parse.depth", node->span, "nested too deeply");
		node->type = &type_none;
	} else {
		node->type = check_any(c, node);
	}
	node->round = checker(c)->round;
	checker(c)->nesting--;
	return node->type;
}

const struct type *check_kept(struct compiler *c, struct ast *node)
{
	const struct type *type = check_value(c, node);
	struct ast *inner;

	if (node->kind != AST_NAME || strcmp(node->text, "args") != 0 || type->kind != TYPE_POINTER)
		return type;
	inner = ast_copy(c->arena, node);
	node->kind = AST_UNARY;
	node->op = OP_DEREFERENCE;
	node->kids = arena_array(c->arena, struct ast *, 1);
	node->kid_count = node->kids ? 1 : 0;
	if (!node->kids)
		return &type_none;
	node->kids[0] = inner;
	return check_value(c, node);
}
