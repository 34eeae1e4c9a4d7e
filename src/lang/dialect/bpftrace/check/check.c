// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Checks statements, and finds the types of symbols.
 *
 * The type of a variable or map is the smallest type that holds all that is assigned to it. An assignment may come
 * later in the script. So all units are checked again until no type has grown. Types only grow: integers become wider,
 * and the type of a literal takes the sign of the type with which it is joined.
 */
#include <string.h>

#include "lang/dialect/bpftrace/builtin/builtin.h"
#include "lang/dialect/bpftrace/check/check.h"
#include "lang/dialect/bpftrace/check/expressions.h"
#include "lang/dialect/bpftrace/check/macros.h"
#include "lang/provider/provider.h"

#define PASSES_MAX 100
#define UNROLL_MAX 100

static struct symbol *find_variable(struct compiler *c, const char *name)
{
	size_t i;

	for (i = checker(c)->scope.count; i-- > 0;)
		if (!strcmp(checker(c)->scope.at[i]->name, name))
			return checker(c)->scope.at[i];
	return NULL;
}

static struct symbol *declare_variable(struct compiler *c, struct ast *node, const char *name)
{
	struct symbol *symbol = node->symbol;

	if (!symbol) {
		symbol = arena_new(c->arena, struct symbol);
		if (!symbol)
			return NULL;
		*symbol = (struct symbol){.name = name, .span = node->span};
		node->symbol = symbol;
	}
	symbol->depth = checker(c)->depth;
	if (vec_push(&checker(c)->scope, symbol))
		c->arena->failed = true;
	return symbol;
}

bool check_grow(struct compiler *c, struct symbol *symbol, const struct type *type, struct span span)
{
	const struct type **own = symbol->is_map ? &symbol->value : &symbol->type;
	const char *sigil = symbol->is_map ? "@" : "$";
	const struct type *joined;

	if (type->kind == TYPE_NONE && !checker(c)->final)
		return false; /* not known yet */
	if (type->kind == TYPE_NONE) {
		report_error(c->report, "type.none", span, "this has no value that could be assigned to %s%s", sigil,
			     symbol->name);
		return false;
	}
	/* What lies apart for each CPU is added up. */
	if (symbol->is_map && symbol_is_percpu(symbol) && type->kind == TYPE_INT)
		type = type_integer(8, type->is_signed);
	if (!*own) {
		*own = type;
		checker(c)->changed = true;
		return true;
	}
	joined = type_join(c->arena, *own, type);
	if (joined && symbol->is_declared && !type_equal(joined, *own) && type_is_number(*own) && type_is_number(type))
		return true; /* a declared integer keeps its type, as in C */
	if (!joined || (symbol->is_declared && !type_equal(joined, *own))) {
		report_error(
			c->report, "type.mismatch", span,
			"Type mismatch for %s%s: trying to assign value of type '%s' when it already has type '%s'",
			sigil, symbol->name, type_describe(c->arena, type), type_describe(c->arena, *own));
		report_hint(c->report, "use another %s for it", symbol->is_map ? "map" : "variable");
		return false;
	}
	if (!type_equal(joined, *own)) {
		*own = joined;
		checker(c)->changed = true;
	}
	return true;
}

/* A literal that a declared integer cannot hold. */
static bool check_range(struct compiler *c, const struct symbol *symbol, const struct ast *value)
{
	const struct type *type = symbol->type;
	unsigned int bits;
	int64_t number;
	bool fits;

	if (!symbol->is_declared || !type || type->kind != TYPE_INT || value->kind != AST_INT ||
	    value->type->kind != TYPE_INT)
		return true;
	number = (int64_t)value->value;
	bits = type->size * 8;
	if (bits == 64)
		fits = number >= 0 || type->is_signed == value->type->is_signed;
	else if (type->is_signed)
		fits = number >= -(1ll << (bits - 1)) && number < 1ll << (bits - 1);
	else
		fits = number >= 0 && number < 1ll << bits;
	if (!fits)
		report_error(c->report, "type.range", value->span, "the value does not fit %s",
			     type_describe(c->arena, type));
	return fits;
}

/* What an assignment by an operator makes of a variable or map. */
static void check_compound(struct compiler *c, struct ast *node, struct symbol *symbol)
{
	const struct type *own = symbol->is_map ? symbol->value : symbol->type, *value = node->kids[1]->type;

	if (!check_number(c, node->kids[1]))
		return;
	if (own && own->kind == TYPE_POINTER && (node->op == OP_ADD || node->op == OP_SUB))
		return;
	if (own && !type_is_number(own))
		report_error(c->report, "type.operator", node->span, "%s= cannot be used on a value of type '%s'",
			     op_text(node->op), type_describe(c->arena, own));
	else if (node->kids[1]->type->kind != TYPE_NONE)
		check_grow(c, symbol, check_arithmetic(node->op, own ? own : &type_literal, node->kids[1]->type),
			   value->kind == TYPE_NONE ? node->span : node->kids[1]->span);
}

static void assign_variable(struct compiler *c, struct ast *node)
{
	struct ast *target = node->kids[0], *value = node->kids[1];
	const struct type *type = check_value(c, value);
	struct symbol *symbol = find_variable(c, target->text);

	node->flags = 0;
	if (!symbol && node->op != OP_NONE) {
		report_error(c->report, "variable.undefined", target->span, "Undefined or undeclared variable: $%s",
			     target->text);
		report_hint(c->report, "assign to it first: $%s = 0", target->text);
		return;
	}
	if (!symbol) {
		symbol = declare_variable(c, target, target->text);
		node->flags = 1;
	}
	if (!symbol)
		return;
	target->symbol = symbol;
	if (node->op != OP_NONE) {
		check_compound(c, node, symbol);
	} else {
		if (type_is_aggregate(type) && check_number(c, value))
			type = value->type;
		if (check_range(c, symbol, value))
			check_grow(c, symbol, type, value->span);
	}
	target->type = symbol->type ? symbol->type : &type_none;
}

static const struct builtin *aggregation(const struct ast *value)
{
	const struct builtin *builtin = value->kind == AST_CALL ? builtin_find(value->text) : NULL;

	return builtin && (builtin->flags & BUILTIN_AGGREGATION) ? builtin : NULL;
}

/* @x = { ...; count() }, which a macro may have made, is { ...; @x = count() }. */
static bool assign_in_block(struct compiler *c, struct ast *node)
{
	struct ast *value = node->kids[1], *inner;

	if (value->kind == AST_CALL || value->kind == AST_NAME)
		macro_expand(c, value);
	if (value->kind != AST_BLOCK_VALUE || !aggregation(value->kids[value->kid_count - 1]))
		return false;
	inner = ast_create(c->arena, AST_ASSIGN, node->span, 2);
	if (c->arena->failed)
		return false;
	inner->op = node->op;
	inner->kids[0] = node->kids[0];
	inner->kids[1] = value->kids[value->kid_count - 1];
	value->kids[value->kid_count - 1] = inner;
	value->kind = AST_BLOCK;
	*node = *value;
	check_statement(c, node);
	return true;
}

static void assign_map(struct compiler *c, struct ast *node)
{
	struct ast *target = node->kids[0], *value = node->kids[1];
	const struct builtin *builtin = aggregation(value);
	struct symbol *map;

	if (assign_in_block(c, node))
		return;
	map = check_map_symbol(c, target);
	if (!map)
		return;
	if (builtin) {
		const struct type *type;

		if (node->op != OP_NONE)
			report_error(c->report, "map.aggregate", node->span, "%s() is assigned with =", value->text);
		value->builtin = builtin;
		value->code = builtin->code;
		if (!check_argument_count(c, value))
			return;
		type = builtin->check(c, value);
		value->type = type;
		node->detail = type;
		if (map->value && !type_equal(map->value, type)) {
			report_error(c->report, "type.mismatch", node->span,
				     "Type mismatch for @%s: trying to assign value of type '%s' when it already has "
				     "type '%s'",
				     map->name, type_describe(c->arena, type), type_describe(c->arena, map->value));
			return;
		}
		if (!map->value) {
			map->value = type;
			checker(c)->changed = true;
			if (!map->storage_declared)
				map->storage = STORAGE_PERCPU_HASH;
		}
		return;
	}
	node->detail = NULL;
	check_kept(c, value);
	if (type_is_aggregate(value->type))
		check_number(c, value);
	if (map->value && type_is_aggregate(map->value)) {
		report_error(c->report, "type.mismatch", node->span,
			     "Map value '%s' cannot be assigned from one map to another: @%s holds %s()",
			     type_describe(c->arena, map->value), map->name, type_describe(c->arena, map->value));
		report_hint(c->report, "use another map for plain values");
		return;
	}
	if (node->op != OP_NONE)
		check_compound(c, node, map);
	else
		check_grow(c, map, value->type, value->span);
	target->type = map->value ? map->value : &type_none;
}

static void check_assign(struct compiler *c, struct ast *node)
{
	struct ast *target = node->kids[0];

	if (target->kind == AST_VARIABLE)
		assign_variable(c, node);
	else if (target->kind == AST_MAP)
		assign_map(c, node);
	else
		check_value(c, node->kids[1]);
}

static void check_let(struct compiler *c, struct ast *node)
{
	const struct type *declared = node->type_name ? check_type_name(c, node->type_name) : NULL;
	const struct type *type = node->kid_count ? check_value(c, node->kids[0]) : NULL;
	struct symbol *symbol = find_variable(c, node->text);

	if (symbol && symbol->depth == checker(c)->depth && symbol != node->symbol) {
		report_error(c->report, "variable.twice", node->span, "Variable $%s was already declared", node->text);
		return;
	}
	if (type && type_is_aggregate(type) && check_number(c, node->kids[0]))
		type = node->kids[0]->type;
	symbol = declare_variable(c, node, node->text);
	if (!symbol)
		return;
	if (declared && declared->kind != TYPE_NONE) {
		symbol->type = declared;
		symbol->is_declared = true;
	}
	if (type && check_range(c, symbol, node->kids[0]))
		check_grow(c, symbol, type, node->kids[0]->span);
	if (checker(c)->final && !symbol->type)
		symbol->type = &type_int64;
}

static void block_begin(struct compiler *c)
{
	checker(c)->depth++;
}

static void block_end(struct compiler *c)
{
	checker(c)->depth--;
	while (checker(c)->scope.count && checker(c)->scope.at[checker(c)->scope.count - 1]->depth > checker(c)->depth)
		checker(c)->scope.count--;
}

static void check_body(struct compiler *c, struct ast *body, bool is_loop)
{
	checker(c)->loops += is_loop;
	check_statement(c, body);
	checker(c)->loops -= is_loop;
}

static void check_condition(struct compiler *c, struct ast *node)
{
	const struct type *type = check_value(c, node);

	if (type->kind == TYPE_POINTER || type_is_number(type))
		return;
	if (type_is_aggregate(type) && check_number(c, node))
		return;
	if (type->kind == TYPE_NONE && !checker(c)->final)
		return; /* not known yet */
	if (!type_is_aggregate(type))
		report_error(c->report, "type.condition", node->span, "a value of type '%s' is no condition",
			     type_describe(c->arena, type));
}

static void check_for_range(struct compiler *c, struct ast *node)
{
	struct symbol *symbol;

	const struct type *type;

	check_number(c, node->kids[0]);
	check_number(c, node->kids[1]);
	type = type_join(c->arena, node->kids[0]->type, node->kids[1]->type);
	block_begin(c);
	symbol = declare_variable(c, node, node->text);
	if (symbol)
		check_grow(c, symbol, type && type->kind == TYPE_INT ? type : &type_int64, node->span);
	check_body(c, node->kids[2], true);
	block_end(c);
}

static void check_for_map(struct compiler *c, struct ast *node)
{
	struct symbol *map, *symbol;
	const struct type *elements[2];

	if (node->kids[0]->kind != AST_MAP) {
		report_error(c->report, "for.map", node->kids[0]->span, "a loop goes over a map or a range");
		report_hint(c->report, "as in for ($kv : @map) or for ($i : 0..10)");
		return;
	}
	map = check_map_name(c, node->kids[0]);
	if (!map)
		return;
	block_begin(c);
	symbol = declare_variable(c, node, node->text);
	if (map->key && map->value && symbol) {
		elements[0] = map->key;
		elements[1] = type_is_readable_aggregate(map->value) ? &type_int64 : map->value;
		if (map->value->kind == TYPE_HIST || map->value->kind == TYPE_LHIST)
			report_error(c->report, "for.histogram", node->kids[0]->span,
				     "a loop cannot go over histograms");
		else if (!symbol->type || !type_equal(symbol->type, type_tuple(c->arena, elements, NULL, 2)))
			symbol->type = type_tuple(c->arena, elements, NULL, 2);
	} else if (checker(c)->final) {
		report_error(c->report, "for.map", node->kids[0]->span, "@%s has no keys to go over", map->name);
	}
	if (map->key && map->value)
		check_body(c, node->kids[1], true);
	block_end(c);
}

static void check_unroll(struct compiler *c, struct ast *node)
{
	int64_t count = 0;

	if (check_value(c, node->kids[0]) && !check_constant(node->kids[0], &count))
		report_error(c->report, "unroll.constant", node->kids[0]->span, "unroll needs a constant");
	else if (count < 1)
		report_error(c->report, "unroll.range", node->kids[0]->span, "unroll minimum value is 1");
	else if (count > UNROLL_MAX)
		report_error(c->report, "unroll.range", node->kids[0]->span, "unroll maximum value is %d", UNROLL_MAX);
	node->value = (uint64_t)count;
	check_body(c, node->kids[1], false);
}

/* Does nothing come after this statement? */
static bool leaves(const struct ast *node)
{
	return node->kind == AST_RETURN || node->kind == AST_BREAK || node->kind == AST_CONTINUE ||
	       (node->kind == AST_EXPRESSION && node->kids[0]->kind == AST_CALL && node->kids[0]->builtin &&
		(node->kids[0]->builtin->flags & BUILTIN_LEAVES));
}

static void check_list(struct compiler *c, struct ast *node)
{
	uint32_t i;

	block_begin(c);
	for (i = 0; i < node->kid_count; i++) {
		check_statement(c, node->kids[i]);
		if (i + 1 < node->kid_count && leaves(node->kids[i]))
			report_warning(c->report, "statement.unreachable", node->kids[i + 1]->span,
				       "Unreachable statement");
	}
	block_end(c);
}

static void check_jump(struct compiler *c, struct ast *node)
{
	if (!checker(c)->loops) {
		report_error(c->report, "jump.outside", node->span, "%s outside of a loop",
			     node->kind == AST_BREAK ? "break" : "continue");
		report_hint(c->report, "return ends the probe's action");
	}
}

/* What a constant condition excludes is checked as well, but not reached. */
static void check_branch(struct compiler *c, const struct ast *condition, struct ast *branch, bool when)
{
	bool excluded = check_excludes(condition, when);

	checker(c)->unreached += excluded;
	check_statement(c, branch);
	checker(c)->unreached -= excluded;
}

/* Of an if whose condition is to be known nothing but what it chooses counts, and nothing before it has chosen. */
static void check_choice(struct compiler *c, struct ast *node)
{
	check_condition(c, node->kids[0]);
	if (check_is_choice(node))
		return;
	*node = !check_excludes(node->kids[0], true) ? *node->kids[1]
		: node->kids[2]			     ? *node->kids[2]
						     : (struct ast){.kind = AST_BLOCK, .type = &type_none};
	check_statement(c, node);
}

static void check_if(struct compiler *c, struct ast *node)
{
	check_condition(c, node->kids[0]);
	check_branch(c, node->kids[0], node->kids[1], true);
	if (node->kids[2])
		check_branch(c, node->kids[0], node->kids[2], false);
}

/* A value that nobody takes: likely something else was meant. Of some calls it is the lesser part. */
static void warn_discarded(struct compiler *c, const struct ast *node)
{
	if (node->type->kind == TYPE_NONE || node->kind == AST_STEP || node->kind == AST_ASSIGN)
		return;
	if (node->kind == AST_CALL && node->builtin && (node->builtin->flags & BUILTIN_DISCARDABLE))
		return;
	report_warning(c->report, "statement.discarded", node->span, "Return value discarded.");
	report_hint(c->report, "_ = ... says that it is meant");
}

void check_statement(struct compiler *c, struct ast *node)
{
	if (c->report->errors >= REPORTS_MAX || c->arena->failed)
		return;
	switch (node->kind) {
	case AST_ASSIGN:
		check_assign(c, node);
		break;
	case AST_LET:
		check_let(c, node);
		break;
	case AST_EXPRESSION:
		check_value(c, node->kids[0]);
		if (checker(c)->final)
			warn_discarded(c, node->kids[0]);
		break;
	case AST_IF:
		if (check_is_choice(node))
			check_choice(c, node);
		else
			check_if(c, node);
		break;
	case AST_WHILE:
		check_condition(c, node->kids[0]);
		check_body(c, node->kids[1], true);
		break;
	case AST_FOR_RANGE:
		check_for_range(c, node);
		break;
	case AST_FOR_MAP:
		check_for_map(c, node);
		break;
	case AST_UNROLL:
		check_unroll(c, node);
		break;
	case AST_BREAK:
	case AST_CONTINUE:
		check_jump(c, node);
		break;
	case AST_RETURN:
		if (node->kid_count)
			check_number(c, node->kids[0]);
		break;
	case AST_BLOCK:
		check_list(c, node);
		break;
	default:
		check_value(c, node);
	}
}

void check_unit(struct compiler *c, uint32_t index)
{
	const struct unit *unit = &c->units.at[index];
	const struct checked *trees = &checker(c)->units.at[index];

	c->unit = unit;
	c->types.local = unit->first_attach < c->attaches.count ? c->attaches.at[unit->first_attach].types : NULL;
	checker(c)->round++;
	checker(c)->scope.count = 0;
	checker(c)->depth = 0;
	checker(c)->loops = 0;
	if (trees->predicate)
		check_condition(c, trees->predicate);
	check_statement(c, trees->body);
}

void check_all(struct compiler *c)
{
	unsigned int pass;
	size_t i;

	for (pass = 0; pass < PASSES_MAX; pass++) {
		checker(c)->changed = checker(c)->pending = false;
		for (i = 0; i < c->units.count && !c->report->errors; i++)
			check_unit(c, (uint32_t)i);
		if ((!checker(c)->changed && !checker(c)->pending) || c->report->errors)
			break;
		checker(c)->deciding = !checker(c)->changed;
	}
	if (pass == PASSES_MAX) {
		report_error(c->report, "type.endless", (struct span){}, "the script's types do not settle");
		report_hint(c->report, "assign to maps and variables before they are read");
	}
	checker(c)->final = true;
	for (i = 0; i < c->maps.count; i++)
		if (c->maps.at[i]->storage_declared && !c->maps.at[i]->value && !c->report->errors)
			report_warning(c->report, "map.unused", c->maps.at[i]->span, "Unused map: @%s",
				       c->maps.at[i]->name);
	for (i = 0; i < c->units.count && !c->report->errors; i++)
		check_unit(c, (uint32_t)i);
}

uint32_t check_site(struct compiler *c, struct ast *call, struct site site)
{
	site.call = call;
	site.span = call->span;
	site.expanded = call->expanded;
	site.is_frequent = c->unit->provider->obeys_target;
	if (unit_is_pinned(c, c->unit)) {
		report_error(c->report, "iter.output", call->span,
			     "%s() needs strata, which is not there when a pinned iterator is read", call->text);
		report_hint(c->report, "printf() writes to who reads it");
	}
	if (call->site < c->sites.count && c->sites.at[call->site].call == call)
		c->sites.at[call->site] = site;
	else if (vec_push(&c->sites, site))
		c->arena->failed = true;
	else
		call->site = (uint32_t)c->sites.count - 1;
	return call->site;
}

void check_dump(const struct compiler *c, FILE *out)
{
	size_t i;

	for (i = 0; i < c->units.count; i++) {
		const struct unit *unit = &c->units.at[i];

		fprintf(out, "probe %s", c->attaches.at[unit->first_attach].name);
		if (unit->attach_count > 1)
			fprintf(out, " and %u more", unit->attach_count - 1);
		fputc('\n', out);
		if (checker(c)->units.at[i].predicate)
			ast_print(out, checker(c)->units.at[i].predicate, 1);
		ast_print(out, checker(c)->units.at[i].body, 1);
	}
}
