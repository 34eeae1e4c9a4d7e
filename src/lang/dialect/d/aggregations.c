// SPDX-License-Identifier: GPL-2.0-or-later
/* @name[keys] = function(value, ...). */
#include <string.h>

#include "lang/dialect/d/d.h"

static const struct aggregating {
	const char *name;
	enum core_builtin builtin;
	enum type_kind kind;
	uint8_t least, most;
} functions[] = {
	{"count", CORE_COUNT, TYPE_COUNT, 0, 0},
	{"sum", CORE_SUM, TYPE_SUM, 1, 1},
	{"min", CORE_MIN, TYPE_MINIMUM, 1, 1},
	{"max", CORE_MAX, TYPE_MAXIMUM, 1, 1},
	{"avg", CORE_AVG, TYPE_AVG, 1, 1},
	{"stddev", CORE_STDDEV, TYPE_STDDEV, 1, 1},
	{"quantize", CORE_QUANTIZE, TYPE_QUANTIZE, 1, 2},
	{"lquantize", CORE_LHIST, TYPE_LHIST, 3, 5},
	{"llquantize", CORE_LLQUANTIZE, TYPE_LLQUANTIZE, 5, 6},
};

static const struct aggregating *function_of(const char *name)
{
	size_t i;

	for (i = 0; i < sizeof(functions) / sizeof(functions[0]); i++)
		if (!strcmp(functions[i].name, name))
			return &functions[i];
	return NULL;
}

bool d_is_aggregating(const char *name)
{
	return function_of(name) != NULL;
}

static bool constants(struct compiler *c, const struct d_expr *call, uint32_t first, uint32_t count, int64_t *ret)
{
	uint32_t i;

	for (i = 0; i < count; i++)
		if (!d_constant(c, call->kids[first + i], &ret[i])) {
			if (!c->report->errors)
				report_error(c->report,
					     *call->text == 'q'     ? "D_QUANT_TYPE"
					     : call->text[1] == 'l' ? "D_LLQUANT_FACTORTYPE"
					     : i == 0               ? "D_LQUANT_BASETYPE"
					     : i == 1               ? "D_LQUANT_LIMTYPE"
								    : "D_LQUANT_STEPTYPE",
					     call->kids[first + i]->span,
					     "%s( ) argument #%u must be an integer constant", call->text,
					     first + i + 1);
			return false;
		}
	return true;
}

static const struct type *lquantize(struct compiler *c, const struct d_expr *call)
{
	int64_t n[3] = {0, 0, 1};

	if (!constants(c, call, 1, call->kid_count > 3 ? 3 : 2, n))
		return NULL;
	if (n[0] < INT32_MIN || n[0] > INT32_MAX || n[1] < INT32_MIN || n[1] > INT32_MAX) {
		report_error(c->report, n[0] < INT32_MIN || n[0] > INT32_MAX ? "D_LQUANT_BASEVAL" : "D_LQUANT_LIMVAL",
			     call->span, "lquantize( ) base and limit must be 32-bit quantities");
		return NULL;
	}
	if (n[1] <= n[0]) {
		report_error(c->report, "D_LQUANT_MISMATCH", call->span, "lquantize( ) base must be less than limit");
		return NULL;
	}
	if (n[2] < 1 || n[2] > UINT16_MAX || (n[1] - n[0]) / n[2] < 1) {
		report_error(c->report, n[2] < 1 || n[2] > UINT16_MAX ? "D_LQUANT_STEPVAL" : "D_LQUANT_STEPLARGE",
			     call->span, "lquantize( ) step must be a 16-bit number, and less than limit - base");
		return NULL;
	}
	if ((n[1] - n[0]) / n[2] > 4000) {
		report_error(c->report, "D_LQUANT_STEPSMALL", call->span,
			     "lquantize( ) step (value %lld) too small: more than 4000 "
			     "levels",
			     (long long)n[2]);
		return NULL;
	}
	/* A last step that is cut belongs to what is above. */
	return type_lhist(c->arena, n[0], n[0] + (n[1] - n[0]) / n[2] * n[2], n[2]);
}

static const struct type *llquantize(struct compiler *c, const struct d_expr *call)
{
	int64_t n[4], top = 1, i;

	if (!constants(c, call, 1, 4, n))
		return NULL;
	if (n[0] < 2 || n[0] > UINT16_MAX || n[1] < 0 || n[2] < n[1] || n[2] > 64 || n[3] < 1 || n[3] > UINT16_MAX ||
	    n[3] < n[0] || n[3] % n[0]) {
		report_error(
			c->report,
			n[0] < 2      ? "D_LLQUANT_FACTORSMALL"
			: n[2] < n[1] ? "D_LLQUANT_MAGRANGE"
			: n[3] % n[0] ? "D_LLQUANT_FACTOREVEN"
				      : "D_LLQUANT_FACTORNSTEPS",
			call->span,
			"llquantize( ): the factor must be 2 or more, the low magnitude not above the high one, and "
			"the steps a multiple of the factor");
		return NULL;
	}
	for (i = 0; i <= n[2]; i++)
		if (__builtin_mul_overflow(top, n[0], &top)) {
			report_error(c->report, "D_LLQUANT_MAGTOOBIG", call->span,
				     "llquantize( ) factor (value %lld) to the power %lld is too big", (long long)n[0],
				     (long long)n[2] + 1);
			return NULL;
		}
	/* Each power has a whole number of steps: between two powers, and in the first one that has more than its
	 * values. */
	for (i = 1, top = n[0]; i <= n[1]; i++)
		top *= n[0];
	if (n[1] && top % n[3]) {
		report_error(c->report, "D_LLQUANT_FACTOREVEN", call->span,
			     "llquantize( ): the steps (%lld) do not divide the lowest power evenly", (long long)n[3]);
		return NULL;
	}
	if ((n[2] - n[1] + 1) * (n[3] - n[3] / n[0]) * 2 + 3 > 4000) {
		report_error(c->report, "D_LLQUANT_FACTORNSTEPS", call->span, "llquantize( ): more than 4000 buckets");
		return NULL;
	}
	return type_llquantize(c->arena, n[0], n[1], n[2], n[3]);
}

/* A number, or a complaint of the aggregation's own. */
static struct node *scalar(struct compiler *c, const struct d_expr *call, uint32_t index, const char *tag)
{
	struct node *node = d_value(c, call->kids[index]);

	if (!type_is_scalar(node->type) && !c->report->errors)
		report_error(c->report, tag, call->kids[index]->span, "%s( ) argument #%u must be of scalar type",
			     call->text, index + 1);
	return d_cast(c, node, &type_int64);
}

static const struct type *value_type(struct compiler *c, const struct aggregating *function, const struct d_expr *call)
{
	switch (function->kind) {
	case TYPE_LHIST:
		return lquantize(c, call);
	case TYPE_LLQUANTIZE:
		return llquantize(c, call);
	case TYPE_QUANTIZE:
		return type_quantize(c->arena);
	default:
		return type_aggregate(c->arena, function->kind, true);
	}
}

/* The types of the keys are those of the first use; records need a place for each. */
static bool learn(struct compiler *c, struct d_variable *variable, const struct d_expr *target,
		  const struct type *value)
{
	const struct type *key = NULL;
	uint32_t i;

	variable->key_count = target->kid_count;
	variable->keys = arena_array(c->arena, const struct type *, target->kid_count + 1);
	for (i = 0; variable->keys && i < target->kid_count; i++) {
		const struct d_expr *expr = target->kids[i];
		struct node *node = expr->kind == D_CALL && d_is_action(expr->text) ? NULL : d_value(c, expr);
		const struct type *type = node ? node->type : NULL;

		if (!node)
			return false;
		variable->keys[i] = type->kind == TYPE_STRING || type->kind == TYPE_PROBE ? d_string_type(c)
				    : type->kind == TYPE_BOOL                             ? &type_int32
											  : type;
		if (!type_is_scalar(variable->keys[i]) && variable->keys[i]->kind != TYPE_STRING) {
			if (!c->report->errors)
				report_error(c->report, "D_KEY_TYPE", expr->span, "this cannot be a key");
			return false;
		}
	}
	if (target->kid_count && variable->keys)
		key = type_tuple(c->arena, variable->keys, NULL, target->kid_count);
	variable->symbol = d_map(c, *target->text == '_' ? "agg" : target->text, key, value);
	if (variable->symbol)
		variable->symbol->name = target->text;
	return variable->symbol != NULL;
}

void d_aggregate(struct compiler *c, const struct d_expr *target, const struct d_expr *call)
{
	const struct aggregating *function = call->kind == D_CALL ? function_of(call->text) : NULL;
	struct d_variable *variable = d_variable_find(c, D_GLOBAL, target->text, true);
	const struct type *value;
	struct node *node, *map, *aggregate, *key;
	uint32_t weight;

	if (function && !d_may_aggregate(c, target->span))
		return;
	if (!function) {
		report_error(c->report, "D_AGG_FUNC", call->span,
			     "@%s must be assigned the result of an aggregating function", target->text);
		return;
	}
	if (call->kid_count < function->least || call->kid_count > function->most) {
		report_error(c->report, "D_PROTO_LEN", call->span,
			     "%s( ) prototype mismatch: %u argument%s passed, %u expected", call->text, call->kid_count,
			     call->kid_count == 1 ? "" : "s",
			     call->kid_count < function->least ? function->least : function->most);
		return;
	}
	value = value_type(c, function, call);
	if (!value)
		return;
	if (variable && variable->function != function->builtin) {
		report_error(c->report, "D_AGG_REDEF", target->span,
			     "aggregation redefined: @%s was another function's", target->text);
		return;
	}
	if (variable && variable->symbol && !type_equal(variable->symbol->value, value)) {
		report_error(c->report, function->kind == TYPE_LHIST ? "D_LQUANT_MATCHBASE" : "D_LLQUANT_MATCHFACTOR",
			     call->span, "%s( ) of @%s does not match the arguments of its first use", call->text,
			     target->text);
		return;
	}
	if (!variable) {
		struct d_variable new = {.name = target->text,
					 .is_aggregation = true,
					 .function = function->builtin,
					 .number = d_state(c)->aggregation_count++};

		variable = d_variable_add(c, new);
		if (!variable || !learn(c, variable, target, value))
			return;
	}
	aggregate = node_create(c->arena, NODE_AGGREGATE, target->span, 2);
	key = d_key(c, variable, target);
	map = node_create(c->arena, NODE_MAP, target->span, key ? 1 : 0);
	weight = function->kind == TYPE_QUANTIZE     ? 1
		 : function->kind == TYPE_LHIST      ? 4
		 : function->kind == TYPE_LLQUANTIZE ? 5
						     : 99;
	node = d_call(c, function->builtin, variable->symbol ? variable->symbol->value : value, call->span,
		      !call->kid_count           ? 0
		      : call->kid_count > weight ? 2
						 : 1);
	if (c->arena->failed || c->report->errors || !variable->symbol)
		return;
	map->symbol = variable->symbol;
	map->type = variable->symbol->value;
	if (key)
		map->kids[0] = key;
	if (call->kid_count)
		node->kids[0] = scalar(c, call, 0, "D_AGG_SCALAR");
	if (node->kid_count > 1)
		node->kids[1] = scalar(c, call, weight, "D_PROTO_ARG");
	aggregate->kids[0] = map;
	aggregate->kids[1] = node;
	d_add_statement(c, aggregate);
}
