// SPDX-License-Identifier: GPL-2.0-or-later
/* D's actions: what a clause records, to be printed or done when its record arrives. */
#include <string.h>

#include "lang/dialect/d/d.h"

struct action_row {
	const char *name;
	void (*lower)(struct compiler *c, const struct action_row *self, const struct d_expr *call);
	enum d_act kind;
};

static void add(struct compiler *c, struct d_action action)
{
	if (vec_push(&d_state(c)->actions, action))
		c->arena->failed = true;
}

static struct d_action begin(struct compiler *c, const struct action_row *self, const struct d_expr *call)
{
	return (struct d_action){.kind = self->kind,
				 .span = call->span,
				 .first = (uint32_t)d_state(c)->recorded.count};
}

static void trace_of_nothing(struct compiler *c, const struct d_expr *call)
{
	report_error(c->report, "D_TRACE_VOID", call->kids[0]->span,
		     "trace( ) may not be applied to a void expression");
}

static void lower_trace(struct compiler *c, const struct action_row *self, const struct d_expr *call)
{
	struct d_action action = begin(c, self, call);
	struct node *node;

	if (call->kids[0]->kind == D_AGGREGATION) {
		report_error(c->report, "D_TRACE_DYN", call->kids[0]->span,
			     "trace( ) may not be applied to a dynamic expression");
		report_hint(c->report, "printa( ) prints one");
		return;
	}
	if (call->kids[0]->kind == D_CALL && d_is_recorded(call->kids[0]->text)) {
		d_action(c, call->kids[0]);
		return;
	}
	if (call->kids[0]->kind == D_CALL && d_is_action(call->kids[0]->text)) {
		trace_of_nothing(c, call);
		return;
	}
	node = d_argument_value(c, call->kids[0]);
	if (node->type->kind == TYPE_NONE ||
	    (call->kids[0]->kind == D_CAST && call->kids[0]->type_name.type->kind == TYPE_NONE)) {
		trace_of_nothing(c, call);
		return;
	}
	/* An array of characters is one here, and no string. */
	if (call->kids[0]->kind == D_MEMBER && node->type->kind == TYPE_STRING && !c->report->errors) {
		struct node *array = d_place(c, call->kids[0]);

		node = array->type->kind == TYPE_ARRAY ? array : node;
	}
	d_record(c, node);
	action.count = 1;
	add(c, action);
}

/* Values for a format: the words among them are those that actions give. */
static void record_arguments(struct compiler *c, const struct d_expr *call, uint32_t first, struct d_action *action)
{
	struct d_argument *arguments = arena_array(c->arena, struct d_argument, call->kid_count + 1);
	uint32_t i;

	for (i = first; arguments && i < call->kid_count; i++) {
		const struct d_expr *expr = call->kids[i];
		struct node *node;

		if (expr->kind == D_AGGREGATION || (expr->kind == D_CALL && d_is_action(expr->text))) {
			arguments[i - first] =
				(struct d_argument){&type_none, expr->kind == D_AGGREGATION, expr->span};
			action->count++;
			continue;
		}
		node = d_argument_value(c, expr);
		arguments[i - first] = (struct d_argument){node->type, false, expr->span};
		d_record(c, node);
		action->count++;
	}
	if (arguments && !c->report->errors)
		d_format_check(c, call->text, action->format, call->span, arguments, action->count, 0);
}

static bool take_format(struct compiler *c, const struct d_expr *call, struct d_action *action)
{
	if (call->kids[0]->kind != D_STRING) {
		report_error(c->report, !strcmp(call->text, "printa") ? "D_PRINTA_AGGARG" : "D_PRINTF_ARG_FMT",
			     call->kids[0]->span,
			     "%s( ) argument #1 is incompatible with prototype:\n\tprototype: %s\n\t argument: %s",
			     call->text, !strcmp(call->text, "printa") ? "aggregation" : "string constant",
			     d_type_name(c, d_value(c, call->kids[0])->type));
		return false;
	}
	action->format = call->kids[0]->text;
	return true;
}

static void lower_printf(struct compiler *c, const struct action_row *self, const struct d_expr *call)
{
	struct d_action action = begin(c, self, call);

	if (!take_format(c, call, &action))
		return;
	if (self->kind == ACT_FREOPEN && !strcmp(action.format, ".")) {
		report_error(c->report, "D_FREOPEN_INVALID", call->span, "freopen( ) argument #1 cannot be \".\"");
		return;
	}
	record_arguments(c, call, 1, &action);
	add(c, action);
}

static const struct d_variable *aggregation(struct compiler *c, const struct d_expr *call, uint32_t index)
{
	const struct d_expr *expr = call->kids[index];
	const struct d_variable *variable;

	if (expr->kind != D_AGGREGATION) {
		report_error(c->report,
			     !strcmp(call->text, "printa")  ? "D_PRINTA_AGGARG"
			     : !strcmp(call->text, "clear") ? "D_CLEAR_AGGARG"
			     : !strcmp(call->text, "trunc") ? "D_TRUNC_AGGARG"
							    : "D_NORMALIZE_AGGARG",
			     call->span,
			     "%s( ) argument #%u is incompatible with prototype:\n"
			     "\tprototype: aggregation\n\t argument: %s",
			     call->text, index + 1,
			     expr->kind == D_CALL && (d_is_aggregating(expr->text) || d_is_action(expr->text))
				     ? "void"
				     : d_type_name(c, d_value(c, expr)->type));
		return NULL;
	}
	if (expr->kid_count) {
		report_error(c->report, "D_PRINTA_AGGKEY", expr->span,
			     "%s( ): the aggregation is meant as a whole, without keys", call->text);
		return NULL;
	}
	variable = d_variable_find(c, D_GLOBAL, expr->text, true);
	if (!variable || !variable->symbol) {
		report_error(c->report,
			     !strcmp(call->text, "printa")  ? "D_PRINTA_AGGBAD"
			     : !strcmp(call->text, "clear") ? "D_CLEAR_AGGBAD"
			     : !strcmp(call->text, "trunc") ? "D_TRUNC_AGGBAD"
							    : "D_NORMALIZE_AGGBAD",
			     expr->span, "undefined aggregation: @%s", expr->text);
		return NULL;
	}
	return variable;
}

static const char *keys_of(struct compiler *c, const struct d_variable *variable)
{
	return arena_printf(c->arena, "@%s has %u key%s", variable->name, variable->key_count,
			    variable->key_count == 1 ? "" : "s");
}

/* Of aggregations that one printa() prints. */
static bool same_keys(struct compiler *c, const struct d_variable *a, const struct d_variable *b, struct span span)
{
	uint32_t i;

	if (a->key_count != b->key_count) {
		report_error(c->report, "D_PRINTA_AGGKEY", span,
			     "printa( ): @%s and @%s do not have matching key signatures: %s, %s", a->name, b->name,
			     keys_of(c, a), keys_of(c, b));
		return false;
	}
	for (i = 0; i < a->key_count; i++) {
		if (type_equal(a->keys[i], b->keys[i]))
			continue;
		report_error(c->report, "D_PRINTA_AGGPROTO", span,
			     "printa( ): @%s[ ] key #%u is incompatible with @%s:\n%9s key #%u: %s\n%9s key #%u: %s",
			     b->name, i + 1, a->name, a->name, i + 1, d_type_name(c, a->keys[i]), b->name, i + 1,
			     d_type_name(c, b->keys[i]));
		return false;
	}
	return true;
}

static void lower_printa(struct compiler *c, const struct action_row *self, const struct d_expr *call)
{
	struct d_action action = begin(c, self, call);
	uint32_t first = call->kids[0]->kind == D_AGGREGATION ? 0 : 1, i;
	struct d_argument *keys;

	if (first && !take_format(c, call, &action))
		return;
	if (call->kid_count == first) {
		report_error(c->report, "D_PRINTA_PROTO", call->span,
			     "printa( ) prototype mismatch: 1 args passed, 2 expected");
		return;
	}
	action.aggregations = arena_array(c->arena, const struct d_variable *, call->kid_count);
	for (i = first; action.aggregations && i < call->kid_count; i++) {
		const struct d_variable *one = aggregation(c, call, i);

		if (!one)
			return;
		action.aggregations[action.aggregation_count++] = one;
		if (!same_keys(c, action.aggregations[0], one, call->kids[i]->span))
			return;
	}
	if (action.format && action.aggregation_count) {
		const struct d_variable *one = action.aggregations[0];

		keys = arena_array(c->arena, struct d_argument, one->key_count + 1);
		for (i = 0; keys && i < one->key_count; i++)
			keys[i] = (struct d_argument){one->keys[i], false, call->span};
		if (keys)
			d_format_check(c, call->text, action.format, call->span, keys, one->key_count,
				       action.aggregation_count);
	}
	add(c, action);
}

/* clear, trunc, normalize, denormalize */
static void lower_of_aggregation(struct compiler *c, const struct action_row *self, const struct d_expr *call)
{
	struct d_action action = begin(c, self, call);
	const struct d_variable *one = aggregation(c, call, 0);

	action.aggregations = arena_array(c->arena, const struct d_variable *, 1);
	if (!one || !action.aggregations)
		return;
	action.aggregations[action.aggregation_count++] = one;
	if (call->kid_count > 1) {
		struct node *number = d_number(c, call->kids[1]);

		if (self->kind == ACT_NORMALIZE && number->kind == NODE_INT && (int64_t)number->value <= 0) {
			report_error(c->report, "D_NORMALIZE_SCALAR", call->kids[1]->span,
				     "normalize( ) by a positive number only");
			return;
		}
		d_record(c, d_cast(c, number, &type_int64));
		action.count = 1;
	}
	add(c, action);
}

static void lower_exit(struct compiler *c, const struct action_row *self, const struct d_expr *call)
{
	struct node *status = d_cast(c, d_number(c, call->kids[0]), &type_int32);

	add(c, begin(c, self, call));
	if (!d_state(c)->exit_status)
		d_state(c)->exit_status = status;
}

/* stack(), usym() and their like */
static void lower_place(struct compiler *c, const struct action_row *self, const struct d_expr *call)
{
	struct d_action action = begin(c, self, call);
	struct node *node = d_recorded(c, call);

	if (!node || c->report->errors)
		return;
	d_record(c, node);
	action.count = 1;
	add(c, action);
}

static void lower_memory(struct compiler *c, const struct action_row *self, const struct d_expr *call)
{
	struct d_action action = begin(c, self, call);
	struct node *node;
	int64_t size;

	node = d_place(c, call->kids[0]);
	if (!type_is_scalar(node->type) && node->type->kind != TYPE_ARRAY) {
		if (!c->report->errors)
			report_error(c->report, "D_TRACEMEM_ADDR", call->span,
				     "tracemem( ) argument #1 is incompatible with prototype:\n"
				     "\tprototype: pointer or integer\n\t argument: %s",
				     d_type_name(c, node->type));
		return;
	}
	if (!d_constant(c, call->kids[1], &size) || size < 1) {
		report_error(c->report, "D_TRACEMEM_SIZE", call->kids[1]->span,
			     "tracemem( ) argument #2 must be a non-zero positive integral constant expression");
		return;
	}
	if (size > 4096) {
		report_error(c->report, "D_TRACEMEM_SIZE", call->kids[1]->span,
			     "tracemem( ) argument #2 must be 4096 at most");
		return;
	}
	node = d_call(c, CORE_BUF, type_buffer(c->arena, (uint32_t)size), call->span, 2);
	if (c->arena->failed)
		return;
	node->kids[0] = d_cast(c, d_number(c, call->kids[0]), &type_uint64);
	node->kids[1] = d_int(c, size, &type_int64);
	d_record(c, node);
	action.count = 1;
	if (call->kid_count > 2) {
		d_record(c, d_cast(c, d_number(c, call->kids[2]), &type_int64));
		action.count = 2;
	}
	add(c, action);
}

/* The records in it, while their types can be looked up. */
static void complete(struct compiler *c, const struct type *type, uint32_t depth)
{
	uint32_t i;

	if (depth > 10)
		return;
	if (type->kind == TYPE_ARRAY)
		complete(c, type->to, depth + 1);
	if (type->kind != TYPE_RECORD || (type->is_incomplete && !types_complete(&c->types, type)))
		return;
	for (i = 0; i < type->field_count; i++)
		complete(c, type->fields[i].type, depth + 1);
}

/* What a value was recorded as, once more. */
static struct node *recorded_again(struct compiler *c, uint32_t place)
{
	const struct node *node = d_state(c)->recorded.at[place];

	return node->kind == NODE_VARIABLE ? d_variable_node(c, node->symbol)
					   : d_int(c, (int64_t)node->value, node->type);
}

static void lower_print(struct compiler *c, const struct action_row *self, const struct d_expr *call)
{
	struct d_action action = begin(c, self, call);
	struct node *pointer = d_place(c, call->kids[0]), *node;
	uint32_t size, place;

	if (pointer->type->kind == TYPE_ARRAY)
		pointer = d_decayed(c, pointer);
	if (c->report->errors)
		return;
	if (pointer->type->kind != TYPE_POINTER) {
		report_error(c->report, "D_PROTO_ARG", call->span,
			     "print( ) argument #1 is incompatible with prototype:\n\tprototype: void *\n"
			     "\t argument: %s",
			     d_type_name(c, pointer->type));
		return;
	}
	action.type = pointer->type->to;
	complete(c, action.type, 0);
	if (!action.type->size) {
		report_error(c->report, "D_PRINT_SIZE", call->span,
			     "print( ) argument #1 reference has type '%s' with size 0; cannot print( ) it.",
			     d_type_name(c, action.type));
		return;
	}
	size = action.type->size < D_PRINT_MAX ? action.type->size : D_PRINT_MAX;
	place = d_record(c, d_cast(c, pointer, &type_uint64));
	node = d_call(c, CORE_BUF, type_buffer(c->arena, size), call->span, 2);
	if (c->arena->failed)
		return;
	node->kids[0] = recorded_again(c, place);
	node->kids[1] = d_int(c, size, &type_int64);
	d_record(c, node);
	action.count = 2;
	add(c, action);
}

/* setopt(): both texts are recorded. */
static void lower_option(struct compiler *c, const struct action_row *self, const struct d_expr *call)
{
	struct d_action action = begin(c, self, call);
	uint32_t i;

	for (i = 0; i < call->kid_count; i++)
		d_record(c, d_cast(c, d_text(c, call->kids[i]), d_string_type(c)));
	action.count = call->kid_count;
	add(c, action);
}

static void lower_truncate(struct compiler *c, const struct action_row *self, const struct d_expr *call)
{
	add(c, begin(c, self, call));
}

static void lower_raise(struct compiler *c, const struct action_row *self, const struct d_expr *call)
{
	struct node *node, *statement;

	/* It is seen in the output that it was done. */
	add(c, begin(c, self, call));
	node = d_call(c, CORE_SIGNAL, &type_none, call->span, 1);
	statement = node_create(c->arena, NODE_EXPRESSION, call->span, 1);
	if (c->arena->failed)
		return;
	node->kids[0] = d_cast(c, d_number(c, call->kids[0]), &type_int64);
	statement->kids[0] = node;
	d_add_statement(c, statement);
}

static void lower_speculation(struct compiler *c, const struct action_row *self, const struct d_expr *call)
{
	struct d_action action = begin(c, self, call);

	if (self->kind == ACT_NOTHING) {
		d_speculate(c, call);
		return;
	}
	d_record(c, d_end_speculation(c, call));
	action.count = 1;
	add(c, action);
}

static const struct action_row actions[] = {
	{"speculate", lower_speculation, ACT_NOTHING},
	{"commit", lower_speculation, ACT_COMMIT},
	{"discard", lower_speculation, ACT_DISCARD},
	{"trace", lower_trace, ACT_TRACE},
	{"printf", lower_printf, ACT_PRINTF},
	{"system", lower_printf, ACT_SYSTEM},
	{"freopen", lower_printf, ACT_FREOPEN},
	{"printa", lower_printa, ACT_PRINTA},
	{"clear", lower_of_aggregation, ACT_CLEAR},
	{"trunc", lower_of_aggregation, ACT_TRUNC},
	{"normalize", lower_of_aggregation, ACT_NORMALIZE},
	{"denormalize", lower_of_aggregation, ACT_DENORMALIZE},
	{"exit", lower_exit, ACT_EXIT},
	{"stack", lower_place, ACT_STACK},
	{"ustack", lower_place, ACT_STACK},
	{"jstack", lower_place, ACT_STACK},
	{"sym", lower_place, ACT_SYMBOL},
	{"func", lower_place, ACT_SYMBOL},
	{"mod", lower_place, ACT_SYMBOL},
	{"usym", lower_place, ACT_SYMBOL},
	{"ufunc", lower_place, ACT_SYMBOL},
	{"umod", lower_place, ACT_SYMBOL},
	{"uaddr", lower_place, ACT_SYMBOL},
	{"tracemem", lower_memory, ACT_MEMORY},
	{"print", lower_print, ACT_PRINT},
	{"setopt", lower_option, ACT_SETOPT},
	{"ftruncate", lower_truncate, ACT_FTRUNCATE},
	{"raise", lower_raise, ACT_NOTHING},
};

static const char *const missing[] = {"breakpoint", "chill", "panic", "pcap", "stop"};

bool d_is_action(const char *name)
{
	size_t i;

	for (i = 0; i < sizeof(actions) / sizeof(actions[0]); i++)
		if (!strcmp(actions[i].name, name))
			return true;
	for (i = 0; i < sizeof(missing) / sizeof(missing[0]); i++)
		if (!strcmp(missing[i], name))
			return true;
	return false;
}

bool d_action(struct compiler *c, const struct d_expr *call)
{
	size_t i;

	for (i = 0; i < sizeof(actions) / sizeof(actions[0]); i++) {
		const struct action_row *one = &actions[i];

		if (strcmp(one->name, call->text) != 0)
			continue;
		if (d_check_call(c, call) && d_may_act(c, call, d_is_destructive(call->text)))
			one->lower(c, one, call);
		return true;
	}
	for (i = 0; i < sizeof(missing) / sizeof(missing[0]); i++)
		if (!strcmp(missing[i], call->text)) {
			if (!d_check_call(c, call) || !d_may_act(c, call, d_is_destructive(call->text)))
				return true;
			report_error(c->report, "D_FUNC_UNDEF", call->span, "%s( ) is not supported", call->text);
			report_hint(c->report, "docs/D.md lists the actions that there are");
			return true;
		}
	return false;
}
