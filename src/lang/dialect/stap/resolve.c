// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What names mean, and types: long, string, or statistics. Types flow in both directions (a variable that is compared
 * with a text is one), so all functions and handlers are gone through until nothing changes; the last pass complains.
 */
#include <regex.h>
#include <string.h>

#include "lang/dialect/stap/stap.h"
#include "lang/dialect/stap/tasks.h"

static enum stap_type value(struct compiler *c, struct stap_node *node, enum stap_type want);
static void statement(struct compiler *c, struct stap_node *node);

const char *stap_type_name(enum stap_type type)
{
	return type == STAP_LONG ? "long" : type == STAP_STRING ? "string" : type == STAP_STATS ? "stats" : "unknown";
}

static bool is_final(const struct compiler *c)
{
	return stap_state(c)->final;
}

#define complain(c, tag, ...)                                                                                          \
	do {                                                                                                           \
		if (is_final(c))                                                                                       \
			stap_complain(c, tag, __VA_ARGS__);                                                            \
	} while (0)

/* --- types --- */

static void mismatch(struct compiler *c, struct span span, enum stap_type want, enum stap_type found)
{
	complain(c, "stap.type", span, "type mismatch: expected %s but found %s", stap_type_name(want),
		 stap_type_name(found));
	if (is_final(c) && want == STAP_LONG && found == STAP_STRING)
		report_hint(c->report, "strtol(text, 10) makes a number of a text");
	else if (is_final(c) && want == STAP_STRING && found == STAP_LONG)
		report_hint(c->report, "sprint(number) makes a text of a number");
}

/* Two that must be the same. */
static void join(struct compiler *c, enum stap_type *type, enum stap_type with, struct span span)
{
	if (with == STAP_UNKNOWN || *type == with)
		return;
	if (*type == STAP_UNKNOWN) {
		*type = with;
		stap_state(c)->changed = true;
	} else {
		mismatch(c, span, *type, with);
	}
}

/* --- names --- */

static struct stap_variable *find_in(const stap_variables *list, const char *name)
{
	size_t i;

	for (i = 0; i < list->count; i++)
		if (!strcmp(list->at[i]->name, name))
			return list->at[i];
	return NULL;
}

static struct stap_variable *find_variable(struct compiler *c, const struct stap_node *node)
{
	struct stap_state *state = stap_state(c);
	struct stap_variable *variable = find_in(state->locals, node->text);

	if (!variable)
		variable = find_in(&state->globals, node->text);
	if (variable)
		return variable;
	variable = arena_new(c->arena, struct stap_variable);
	if (!variable)
		return NULL;
	*variable =
		(struct stap_variable){.name = node->text, .span = node->span, .slot = (uint32_t)state->locals->count};
	if (vec_push(state->locals, variable)) {
		c->arena->failed = true;
		return NULL;
	}
	state->changed = true;
	return variable;
}

/* A global that has keys. */
static struct stap_variable *find_array(struct compiler *c, struct stap_node *node, uint32_t keys)
{
	struct stap_variable *variable = find_in(&stap_state(c)->globals, node->text);

	if (!variable) {
		complain(c, "stap.array", node->span,
			 "unresolved arity-%u global array %s, missing global declaration?", keys, node->text);
		return NULL;
	}
	node->variable = variable;
	variable->is_array = true;
	if (!variable->key_count) {
		variable->key_count = keys;
		stap_state(c)->changed = true;
	} else if (variable->key_count != keys) {
		complain(c, "stap.arity", node->span, "inconsistent arity (%u vs %u) for array '%s'",
			 variable->key_count, keys, variable->name);
		return NULL;
	}
	return variable;
}

static void join_keys(struct compiler *c, struct stap_variable *variable, struct stap_node *const *keys, uint32_t count)
{
	uint32_t i;

	for (i = 0; i < count; i++) {
		enum stap_type type;

		if (!keys[i])
			continue;
		type = value(c, keys[i], variable ? variable->keys[i] : STAP_UNKNOWN);
		if (variable)
			join(c, &variable->keys[i], type, keys[i]->span);
	}
}

/* --- constants --- */

static bool is_defined(struct compiler *c, const struct stap_node *node)
{
	struct stap_state *state = stap_state(c);

	if (node->kind == STAP_E_TARGET)
		return state->handler && stap_target_type(c, node) != STAP_UNKNOWN;
	if (node->kind == STAP_E_CAST)
		return is_defined(c, node->kids[0]) && stap_cast_type(c, node) != STAP_UNKNOWN;
	if (node->kind == STAP_E_VARIABLE)
		return find_in(state->locals, node->text) || find_in(&state->globals, node->text);
	if (node->kind == STAP_E_VAR || node->kind == STAP_E_ENTRY)
		return false;
	return true;
}

static bool constant(struct compiler *c, const struct stap_node *node, int64_t *ret)
{
	int64_t a, b;

	if (node->kind == STAP_E_NUMBER) {
		*ret = node->value;
		return true;
	}
	if (node->kind == STAP_E_DEFINED) {
		*ret = is_defined(c, node->kids[0]);
		return true;
	}
	if (node->kind == STAP_E_UNARY && *node->text == '!' && constant(c, node->kids[0], &a)) {
		*ret = !a;
		return true;
	}
	if (node->kind != STAP_E_BINARY || (strcmp(node->text, "&&") && strcmp(node->text, "||")))
		return false;
	if (!constant(c, node->kids[0], &a) || !constant(c, node->kids[1], &b))
		return false;
	*ret = *node->text == '&' ? a && b : a || b;
	return true;
}

/* --- expressions --- */

static enum stap_type variable_value(struct compiler *c, struct stap_node *node, enum stap_type want, bool is_write)
{
	struct stap_variable *variable = find_variable(c, node);

	if (!variable)
		return want;
	node->variable = variable;
	if (variable->is_global) {
		variable->is_written |= is_write;
		variable->is_read |= !is_write;
	}
	if (variable->is_array || variable->key_count) {
		complain(c, "stap.arity", node->span, "inconsistent arity (%u vs 0) for array '%s'",
			 variable->key_count, variable->name);
		return want;
	}
	join(c, &variable->type, want, node->span);
	return variable->type;
}

static enum stap_type element_value(struct compiler *c, struct stap_node *node, enum stap_type want, bool is_write)
{
	struct stap_variable *variable = find_array(c, node, node->kid_count);

	join_keys(c, variable, node->kids, node->kid_count);
	if (!variable)
		return want;
	variable->is_written |= is_write;
	variable->is_read |= !is_write;
	join(c, &variable->type, want, node->span);
	return variable->type;
}

/* What is assigned to. */
static enum stap_type place(struct compiler *c, struct stap_node *node, enum stap_type want)
{
	if (node->kind == STAP_E_VARIABLE)
		return node->type = variable_value(c, node, want, true);
	if (node->kind == STAP_E_ELEMENT)
		return node->type = element_value(c, node, want, true);
	if (node->kind == STAP_E_TARGET || node->kind == STAP_E_CAST || node->kind == STAP_E_VAR) {
		complain(c, "stap.write", node->span, "write to target variable not permitted");
		report_hint(c->report, "strata changes nothing in the programs it watches");
		return want;
	}
	complain(c, "stap.lvalue", node->span, "Expecting symbol or array index expression");
	return want;
}

static enum stap_type assignment(struct compiler *c, struct stap_node *node)
{
	enum stap_type type = STAP_LONG;

	if (!strcmp(node->text, "<<<")) {
		join(c, &type, value(c, node->kids[1], STAP_LONG), node->kids[1]->span);
		place(c, node->kids[0], STAP_STATS);
		if (node->kids[0]->variable && !node->kids[0]->variable->is_global)
			complain(c, "stap.stats", node->kids[0]->span,
				 "statistics are global: missing global declaration of '%s'?", node->kids[0]->text);
		return STAP_LONG;
	}
	if (!strcmp(node->text, ".="))
		type = STAP_STRING;
	if (!strcmp(node->text, "=")) {
		type = value(c, node->kids[1], STAP_UNKNOWN);
		type = place(c, node->kids[0], type);
		return value(c, node->kids[1], type);
	}
	value(c, node->kids[1], type);
	place(c, node->kids[0], type);
	return type;
}

static bool is_comparison(const char *op)
{
	return !strcmp(op, "==") || !strcmp(op, "!=") || (op[0] == '<' && op[1] != '<') ||
	       (op[0] == '>' && op[1] != '>');
}

static enum stap_type binary(struct compiler *c, struct stap_node *node)
{
	enum stap_type type = STAP_LONG;
	uint32_t i;

	if (!strcmp(node->text, "."))
		type = STAP_STRING;
	if (is_comparison(node->text)) {
		type = value(c, node->kids[0], STAP_UNKNOWN);
		type = value(c, node->kids[1], type);
		value(c, node->kids[0], type);
		return STAP_LONG;
	}
	for (i = 0; i < 2; i++)
		value(c, node->kids[i], type);
	return type;
}

static struct stap_function *find_function(const struct compiler *c, const char *name)
{
	const struct stap_state *state = stap_state(c);
	struct stap_function *of_tapset = NULL;
	size_t i;

	for (i = 0; i < state->functions.count; i++)
		if (!strcmp(state->functions.at[i]->name, name)) {
			if (!state->functions.at[i]->of_tapset)
				return state->functions.at[i];
			of_tapset = state->functions.at[i];
		}
	return of_tapset;
}

static enum stap_type call_function(struct compiler *c, struct stap_node *node, enum stap_type want)
{
	struct stap_function *function = node->function;
	uint32_t i;

	if (node->kid_count != function->parameter_count) {
		complain(c, "stap.call", node->span, "unresolved function %s: it has %u parameter%s", node->text,
			 function->parameter_count, function->parameter_count == 1 ? "" : "s");
		return want;
	}
	for (i = 0; i < node->kid_count; i++) {
		struct stap_variable *parameter = function->locals.at[i];

		join(c, &parameter->type, value(c, node->kids[i], parameter->type), node->kids[i]->span);
	}
	if (!function->is_used) {
		function->is_used = true;
		stap_state(c)->changed = true;
	}
	join(c, &function->type, want, node->span);
	return function->type;
}

static void find_printing(struct compiler *c, struct stap_node *node)
{
	uint32_t i;

	for (i = 0; i < node->kid_count; i++)
		if (node->kids[i]->kind != STAP_E_HIST)
			value(c, node->kids[i], STAP_UNKNOWN);
		else if (node->kids[i]->kid_count)
			value(c, node->kids[i], STAP_UNKNOWN);
	if (is_final(c) || !node->format)
		node->format = stap_format_read(c, node, is_final(c));
}

/* Arguments of printf() get their types from the format. */
static void join_format(struct compiler *c, struct stap_node *node)
{
	const char *at = node->kid_count && node->kids[0]->kind == STAP_E_TEXT ? node->kids[0]->text : "";
	uint32_t next = 1;

	for (; *at; at++) {
		enum stap_type type;

		if (*at != '%' || *++at == '%')
			continue;
		for (; *at && strchr("-+ #0123456789.*l", *at); at++)
			if (*at == '*' && next < node->kid_count)
				value(c, node->kids[next++], STAP_LONG);
		if (!*at)
			break;
		type = *at == 's' ? STAP_STRING : STAP_LONG;
		if (next < node->kid_count)
			value(c, node->kids[next], type);
		next++;
	}
}

static enum stap_type call_builtin(struct compiler *c, struct stap_node *node)
{
	const struct stap_builtin *builtin = node->builtin;
	const char *parameter = builtin->parameters;
	bool may_miss = false;
	uint32_t i;

	if (builtin->refused) {
		complain(c, "stap.refused", node->span, "%s() is not supported", node->text);
		if (is_final(c))
			report_hint(c->report, "%s", builtin->refused);
	}
	if (*parameter == '*') { /* printing */
		if (strstr(node->text, "printf"))
			join_format(c, node);
		find_printing(c, node);
		return builtin->type;
	}
	for (i = 0; *parameter || i < node->kid_count; parameter++, i++) {
		if (*parameter == '?') {
			may_miss = true;
			parameter++;
		}
		if (i == node->kid_count && (may_miss || !*parameter))
			break;
		if (!*parameter || i >= node->kid_count) {
			complain(c, "stap.call", node->span, "unresolved function %s: it has %s%zu argument%s",
				 node->text, may_miss ? "up to " : "", strlen(builtin->parameters) - may_miss,
				 strlen(builtin->parameters) - may_miss == 1 ? "" : "s");
			break;
		}
		value(c, node->kids[i],
		      *parameter == 'l' || *parameter == 't' ? STAP_LONG
		      : *parameter == 's'		     ? STAP_STRING
							     : STAP_UNKNOWN);
	}
	return builtin->type;
}

static enum stap_type call(struct compiler *c, struct stap_node *node, enum stap_type want)
{
	if (!node->function && !node->builtin && !find_function(c, node->text) && stap_rewrite_call(c, node))
		return value(c, node, want);
	if (!node->function && !node->builtin) {
		node->function = find_function(c, node->text);
		if (!node->function)
			node->builtin = stap_builtin_find(node->text);
	}
	if (node->function)
		return call_function(c, node, want);
	if (node->builtin)
		return call_builtin(c, node);
	complain(c, "stap.function", node->span, "unresolved function %s", node->text);
	if (is_final(c))
		report_hint(c->report, "docs/SYSTEMTAP.md lists the functions that there are");
	return want;
}

static enum stap_type statistics(struct compiler *c, struct stap_node *node)
{
	struct stap_node *kid = node->kids[0];

	if (kid->kind != STAP_E_VARIABLE && kid->kind != STAP_E_ELEMENT) {
		complain(c, "stap.stats", kid->span, "Expecting symbol or array index expression");
		return STAP_LONG;
	}
	value(c, kid, STAP_STATS);
	if (node->kind == STAP_E_HIST && kid->variable) {
		struct stap_variable *variable = kid->variable;
		enum stap_histogram kind = !strcmp(node->text, "@hist_log") ? STAP_LOGARITHMIC : STAP_LINEAR;

		if (variable->histogram &&
		    (variable->histogram != kind ||
		     (kind == STAP_LINEAR && (variable->low != node->range[0] || variable->high != node->range[1] ||
					      variable->step != node->range[2]))))
			complain(c, "stap.histogram", node->span,
				 "conflicting histograms of the same statistic are not supported");
		if (kind == STAP_LINEAR &&
		    ((uint64_t)node->range[1] - (uint64_t)node->range[0]) / (uint64_t)node->range[2] > 2000)
			complain(c, "stap.histogram", node->span, "too many buckets in this histogram");
		variable->histogram = kind;
		variable->low = node->range[0];
		variable->high = node->range[1];
		variable->step = node->range[2];
	}
	return STAP_LONG;
}

static enum stap_type array_in(struct compiler *c, struct stap_node *node)
{
	struct stap_variable *variable = find_array(c, node, node->kid_count);

	if (variable)
		variable->is_read = true;
	join_keys(c, variable, node->kids, node->kid_count);
	return STAP_LONG;
}

static enum stap_type regex(struct compiler *c, struct stap_node *node)
{
	regex_t *compiled;

	value(c, node->kids[0], STAP_STRING);
	if (node->regex || !is_final(c))
		return STAP_LONG;
	compiled = calloc(1, sizeof(*compiled));
	if (!compiled || regcomp(compiled, node->text, REG_EXTENDED | REG_NOSUB)) {
		free(compiled);
		complain(c, "stap.regex", node->span, "regex compilation failed: '%s'", node->text);
		return STAP_LONG;
	}
	node->regex = compiled;
	if (vec_push(&stap_state(c)->regexes, compiled)) {
		regfree(compiled);
		free(compiled);
		node->regex = NULL;
		c->arena->failed = true;
	}
	return STAP_LONG;
}

static void replace(struct stap_node *node, const struct stap_node *with)
{
	*node = *with;
}

static enum stap_type target(struct compiler *c, struct stap_node *node)
{
	enum stap_type type;

	/* The current task may be asked for everywhere. */
	if (!stap_state(c)->handler && !strncmp(node->text, STAP_CURRENT_TASK, strlen(STAP_CURRENT_TASK)))
		return STAP_LONG;
	if (!stap_state(c)->handler) {
		complain(c, "stap.target", node->span, "unresolved target-symbol expression");
		if (is_final(c))
			report_hint(c->report, "functions have no target variables: pass %s to it", node->text);
		return STAP_LONG;
	}
	if (stap_expand_target(c, node))
		return value(c, node, STAP_STRING);
	type = stap_target_type(c, node);
	if (type != STAP_UNKNOWN)
		return type;
	complain(c, "stap.target", node->span, "unable to find target variable '%s'", node->text);
	return STAP_LONG;
}

/* @cast() of a target is another target. What else an address is made of, capture.c finds. */
static enum stap_type cast(struct compiler *c, struct stap_node *node)
{
	struct stap_node *kid = node->kids[0];
	enum stap_type type;

	value(c, kid, STAP_LONG);
	if (kid->kind == STAP_E_TARGET && stap_state(c)->handler) {
		replace(node, stap_target_behind(c, kid, node->text));
		return target(c, node);
	}
	type = stap_cast_type(c, node);
	if (type != STAP_UNKNOWN)
		return type;
	complain(c, "stap.cast", node->span, "unable to find type or member of @cast: %s", node->text);
	return STAP_LONG;
}

static enum stap_type kind_value(struct compiler *c, struct stap_node *node, enum stap_type want)
{
	enum stap_type type;
	int64_t number;

	switch (node->kind) {
	case STAP_E_NUMBER:
		return STAP_LONG;
	case STAP_E_TEXT:
		return STAP_STRING;
	case STAP_E_VARIABLE:
		return variable_value(c, node, want, false);
	case STAP_E_ELEMENT:
		return element_value(c, node, want, false);
	case STAP_E_TARGET:
		return target(c, node);
	case STAP_E_CALL:
		return call(c, node, want);
	case STAP_E_UNARY:
		value(c, node->kids[0], STAP_LONG);
		return STAP_LONG;
	case STAP_E_BINARY:
		return binary(c, node);
	case STAP_E_TERNARY:
		if (constant(c, node->kids[0], &number)) {
			replace(node, node->kids[number ? 1 : 2]);
			return value(c, node, want);
		}
		value(c, node->kids[0], STAP_LONG);
		type = value(c, node->kids[1], want);
		type = value(c, node->kids[2], type);
		return value(c, node->kids[1], type);
	case STAP_E_ASSIGN:
		return assignment(c, node);
	case STAP_E_STEP:
		place(c, node->kids[0], STAP_LONG);
		return STAP_LONG;
	case STAP_E_IN:
		return array_in(c, node);
	case STAP_E_REGEX:
		return regex(c, node);
	case STAP_E_STAT:
	case STAP_E_HIST:
		return statistics(c, node);
	case STAP_E_BUCKET:
		statistics(c, node->kids[0]);
		value(c, node->kids[1], STAP_LONG);
		return STAP_LONG;
	case STAP_E_DEFINED:
		number = is_defined(c, node->kids[0]);
		*node = (struct stap_node){.kind = STAP_E_NUMBER, .span = node->span, .text = "", .value = number};
		return STAP_LONG;
	case STAP_E_CHOOSE:
		replace(node, is_defined(c, node->kids[0]) ? node->kids[0] : node->kids[1]);
		return value(c, node, want);
	case STAP_E_ENTRY:
		complain(c, "stap.entry", node->span, "@entry is not valid here");
		if (is_final(c))
			report_hint(c->report, "it is for probes of returns: of functions and system calls");
		return STAP_LONG;
	case STAP_E_CAST:
		return cast(c, node);
	case STAP_E_VAR:
		complain(c, "stap.var", node->span, "@var is not supported");
		if (is_final(c))
			report_hint(c->report,
				    "variables of the program are not read, parameters of its functions are");
		return STAP_LONG;
	default:
		return STAP_UNKNOWN;
	}
}

static enum stap_type value(struct compiler *c, struct stap_node *node, enum stap_type want)
{
	enum stap_type type = kind_value(c, node, want);

	/* As in `done && exit()`. */
	if (type == STAP_UNKNOWN && want == STAP_LONG && node->kind == STAP_E_CALL && node->builtin &&
	    !strcmp(node->text, "exit"))
		type = want;
	if (type == STAP_UNKNOWN && is_final(c) && want != STAP_UNKNOWN && node->kind == STAP_E_CALL)
		stap_complain(c, "stap.void", node->span, "unresolved type: %s() has no value", node->text);
	if (type == STAP_UNKNOWN)
		type = want;
	else if (want != STAP_UNKNOWN && type != want)
		mismatch(c, node->span, want, type);
	node->type = type;
	return type;
}

/* --- statements --- */

static void if_statement(struct compiler *c, struct stap_node *node)
{
	struct stap_node *kept;
	int64_t number;

	if (constant(c, node->kids[0], &number)) {
		kept = node->kids[number ? 1 : 2];
		if (kept) {
			replace(node, kept);
			statement(c, node);
		} else {
			*node = (struct stap_node){.kind = STAP_S_BLOCK, .span = node->span, .text = ""};
		}
		return;
	}
	value(c, node->kids[0], STAP_LONG);
	statement(c, node->kids[1]);
	if (node->kids[2])
		statement(c, node->kids[2]);
}

static void foreach (struct compiler *c, struct stap_node * node)
{
	uint32_t first = 2 + !!(node->flags & STAP_WITH_VALUE), i;
	struct stap_variable *array = find_array(c, node, node->kid_count - first);

	if (array) {
		array->is_read = true;
		for (i = first; i < node->kid_count; i++)
			join(c, &array->keys[i - first], place(c, node->kids[i], array->keys[i - first]),
			     node->kids[i]->span);
		if (node->flags & STAP_WITH_VALUE)
			join(c, &array->type, place(c, node->kids[2], array->type), node->kids[2]->span);
		if (node->sort_stat)
			join(c, &array->type, STAP_STATS, node->span);
		if (node->slice && (uint32_t)node->value != array->key_count && array->key_count)
			complain(c, "stap.arity", node->span, "inconsistent arity (%u vs %u) for array '%s'",
				 array->key_count, (uint32_t)node->value, array->name);
		else if (node->slice)
			join_keys(c, array, node->slice, (uint32_t)node->value);
	}
	if (node->kids[1])
		value(c, node->kids[1], STAP_LONG);
	statement(c, node->kids[0]);
}

static void delete (struct compiler *c, struct stap_node *node)
{
	struct stap_node *kid = node->kids[0];

	if (kid->kind == STAP_E_VARIABLE) {
		kid->variable = find_in(&stap_state(c)->globals, kid->text);
		if (kid->variable)
			kid->variable->is_written = true;
		else
			complain(c, "stap.delete", kid->span, "unresolved array in delete statement");
	} else if (kid->kind == STAP_E_ELEMENT) {
		element_value(c, kid, STAP_UNKNOWN, true);
	} else {
		complain(c, "stap.delete", kid->span, "unresolved array in delete statement");
	}
}

static void return_statement(struct compiler *c, struct stap_node *node)
{
	struct stap_function *function = stap_state(c)->function;

	if (!function || !node->kid_count)
		return;
	function->returns_value = true;
	join(c, &function->type, value(c, node->kids[0], function->type), node->kids[0]->span);
}

static void statement(struct compiler *c, struct stap_node *node)
{
	uint32_t i;

	switch (node->kind) {
	case STAP_S_BLOCK:
		for (i = 0; i < node->kid_count; i++)
			statement(c, node->kids[i]);
		break;
	case STAP_S_EXPRESSION:
		value(c, node->kids[0], STAP_UNKNOWN);
		break;
	case STAP_S_IF:
		if_statement(c, node);
		break;
	case STAP_S_WHILE:
		value(c, node->kids[0], STAP_LONG);
		statement(c, node->kids[1]);
		break;
	case STAP_S_FOR:
		for (i = 0; i < 3; i++)
			if (node->kids[i])
				value(c, node->kids[i], i == 1 ? STAP_LONG : STAP_UNKNOWN);
		statement(c, node->kids[3]);
		break;
	case STAP_S_FOREACH:
		foreach (c, node)
			;
		break;
	case STAP_S_RETURN:
		return_statement(c, node);
		break;
	case STAP_S_DELETE:
		delete (c, node);
		break;
	case STAP_S_TRY:
		statement(c, node->kids[0]);
		if (node->kids[2])
			place(c, node->kids[2], STAP_STRING);
		statement(c, node->kids[1]);
		break;
	default:
		break;
	}
}

/* --- all --- */

static void pass(struct compiler *c)
{
	struct stap_state *state = stap_state(c);
	struct unit unit;
	size_t i, first = 0;

	for (i = 0; i < state->functions.count; i++) {
		struct stap_function *function = state->functions.at[i];

		/* What the script does not use of tapsets may need what is not there. */
		if (function->of_tapset && !function->is_used)
			continue;
		state->function = function;
		state->locals = &function->locals;
		if (function->body)
			statement(c, function->body);
		state->function = NULL;
	}
	for (i = 0; i < state->handlers.count; i++) {
		struct stap_handler *handler = state->handlers.at[i];

		/* Its first place, for the target variables. */
		for (first = 0; first < state->places.count && state->places.at[first].handler != handler;)
			first++;
		unit = c->units.at[first];
		c->unit = &unit;
		c->types.local = compiler_attach(c)->types;
		state->handler = handler;
		state->locals = &handler->locals;
		if (handler->condition)
			value(c, handler->condition, STAP_LONG);
		statement(c, handler->body);
		state->handler = NULL;
		c->types.local = NULL;
		c->unit = NULL;
	}
}

void stap_resolve(struct compiler *c)
{
	struct stap_state *state = stap_state(c);
	unsigned int turn = 0;

	state->final = false;
	do {
		state->changed = false;
		pass(c);
	} while (state->changed && ++turn < 100 && !c->arena->failed && !c->report->errors);
	state->final = true;
	if (!c->arena->failed && !c->report->errors)
		pass(c);
}
