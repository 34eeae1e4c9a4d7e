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

/* Complains about the argument number `index` from 1 on, those of the distribution: not the value. */
static bool wrong(struct compiler *c, const struct d_expr *call, uint32_t index, const char *tag, const char *what)
{
	if (!c->report->errors)
		report_error(c->report, tag, call->kids[index]->span, "%s( ) argument #%u must be %s", call->text,
			     index, what);
	return false;
}

/* An integer constant from `least` to `most`. */
static bool number(struct compiler *c, const struct d_expr *call, uint32_t index, const char *type_tag,
		   const char *value_tag, int64_t least, int64_t most, int64_t *ret)
{
	if (!d_constant(c, call->kids[index], ret))
		return wrong(c, call, index, type_tag, "an integer constant");
	if (*ret < least || *ret > most)
		return wrong(c, call, index, value_tag,
			     least == INT32_MIN ? "a 32-bit quantity"
			     : least == 2       ? "an unsigned 16-bit quantity greater than or equal to 2"
						: "an unsigned 16-bit quantity");
	return true;
}

/* The steps: a positive constant of 16 bits. */
static bool step(struct compiler *c, const struct d_expr *call, uint32_t index, const char *type_tag,
		 const char *value_tag, int64_t *ret)
{
	if (!d_constant(c, call->kids[index], ret) || *ret < 1)
		return wrong(c, call, index, type_tag, "a non-zero positive integer constant");
	return *ret <= UINT16_MAX || wrong(c, call, index, value_tag, "a 16-bit quantity");
}

static const struct type *lquantize(struct compiler *c, const struct d_expr *call)
{
	int64_t low, high, by = 1;

	if (!number(c, call, 1, "D_LQUANT_BASETYPE", "D_LQUANT_BASEVAL", INT32_MIN, INT32_MAX, &low) ||
	    !number(c, call, 2, "D_LQUANT_LIMTYPE", "D_LQUANT_LIMVAL", INT32_MIN, INT32_MAX, &high))
		return NULL;
	if (high <= low) {
		report_error(c->report, "D_LQUANT_MISMATCH", call->span,
			     "lquantize( ) base (argument #1) must be less than limit (argument #2)");
		return NULL;
	}
	if (call->kid_count > 3 && !step(c, call, 3, "D_LQUANT_STEPTYPE", "D_LQUANT_STEPVAL", &by))
		return NULL;
	if ((high - low) / by < 1) {
		report_error(c->report, "D_LQUANT_STEPLARGE", call->span,
			     "lquantize( ) step (argument #3) must be no larger than limit - base");
		return NULL;
	}
	if ((high - low) / by > 4000) {
		report_error(c->report, "D_LQUANT_STEPSMALL", call->span,
			     "lquantize( ) step (value %lld) too small: more than 4000 levels", (long long)by);
		return NULL;
	}
	/* A last step that is cut belongs to what is above. */
	return type_lhist(c->arena, low, low + (high - low) / by * by, by);
}

/* Each power must have a whole number of steps. */
static bool steps_fit(int64_t factor, int64_t low, int64_t steps)
{
	int64_t top = factor, i;

	if (steps <= factor)
		return factor % steps == 0;
	if (steps % factor)
		return false;
	for (i = 0; i < (low ? low : 1); i++)
		top *= factor;
	return top % steps == 0;
}

static const struct type *llquantize(struct compiler *c, const struct d_expr *call)
{
	int64_t factor, low, high, steps, top = 1, i;

	if (!number(c, call, 1, "D_LLQUANT_FACTORTYPE", "D_LLQUANT_FACTORVAL", 2, UINT16_MAX, &factor) ||
	    !number(c, call, 2, "D_LLQUANT_LMAGTYPE", "D_LLQUANT_LMAGVAL", 0, UINT16_MAX, &low) ||
	    !number(c, call, 3, "D_LLQUANT_HMAGTYPE", "D_LLQUANT_HMAGVAL", 0, UINT16_MAX, &high))
		return NULL;
	if (high < low) {
		wrong(c, call, 3, "D_LLQUANT_HMAGVAL", "at least argument #2");
		return NULL;
	}
	for (i = 0; i <= high; i++)
		if (__builtin_mul_overflow(top, factor, &top)) {
			wrong(c, call, 3, "D_LLQUANT_HMAGVAL", "a power whose values have 64 bits");
			return NULL;
		}
	if (!step(c, call, 4, "D_LLQUANT_STEPTYPE", "D_LLQUANT_STEPVAL", &steps))
		return NULL;
	if (!steps_fit(factor, low, steps)) {
		wrong(c, call, 4, "D_LLQUANT_STEPVAL",
		      "a divisor of the factor, or a multiple of it that divides the lowest power evenly");
		return NULL;
	}
	if ((high - low + 1) * (steps - steps / factor) * 2 + 3 > 4000) {
		report_error(c->report, "D_LLQUANT_STEPVAL", call->span, "llquantize( ): more than 4000 buckets");
		return NULL;
	}
	return type_llquantize(c->arena, factor, low, high, steps);
}

/* Which of the arguments is not that of the first use. */
static const char *mismatch(const struct type *a, const struct type *b)
{
	if (a->kind == TYPE_LHIST)
		return a->low != b->low   ? "D_LQUANT_MATCHBASE"
		       : a->step == b->step ? "D_LQUANT_MATCHLIM"
					    : "D_LQUANT_MATCHSTEP";
	return a->bits != b->bits   ? "D_LLQUANT_MATCHFACTOR"
	       : a->low != b->low   ? "D_LLQUANT_MATCHLMAG"
	       : a->high != b->high ? "D_LLQUANT_MATCHHMAG"
				    : "D_LLQUANT_MATCHSTEPS";
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
	/* What follows an error may ask for those that are not learned. */
	for (i = 0; variable->keys && i < target->kid_count; i++)
		variable->keys[i] = &type_int32;
	for (i = 0; variable->keys && i < target->kid_count; i++) {
		const struct d_expr *expr = target->kids[i];
		bool has_value = expr->kind != D_AGGREGATION && (expr->kind != D_CALL || !d_is_action(expr->text));
		bool is_dynamic = expr->kind == D_VARIABLE && expr->scope == D_GLOBAL &&
				  (!strcmp(expr->text, "curpsinfo") || !strcmp(expr->text, "curlwpsinfo") ||
				   !strcmp(expr->text, "curcpu"));
		struct node *node = is_dynamic ? NULL : has_value ? d_value(c, expr) : d_recorded(c, expr);
		const struct type *type = node ? node->type : NULL;

		if (!node || type->kind == TYPE_NONE) {
			if (!c->report->errors)
				report_error(c->report, "D_KEY_TYPE", expr->span, "this cannot be a key");
			return false;
		}
		variable->keys[i] = type->kind == TYPE_STRING || type->kind == TYPE_PROBE ? d_string_type(c)
				    : type->kind == TYPE_BOOL                             ? &type_int32
											  : type;
		if (!type_is_scalar(type) && type->kind != TYPE_STRING && type->kind != TYPE_PROBE &&
		    type->kind != TYPE_BOOL && type->kind != TYPE_STACK && type->kind != TYPE_SYMBOL) {
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
	if (!function && call->kind == D_CALL && !d_is_action(call->text) && !d_function(c, call)) {
		report_error(c->report, "D_FUNC_UNDEF", call->span, "undefined function name: %s", call->text);
		return;
	}
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
		report_error(c->report, mismatch(variable->symbol->value, value), call->span,
			     "%s( ) of @%s does not match the arguments of its first use", call->text, target->text);
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
