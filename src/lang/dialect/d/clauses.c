// SPDX-License-Identifier: GPL-2.0-or-later
/* Clauses to the core: what they do, and one record of what they say. */
#include <string.h>

#include "lang/dialect/d/d.h"
#include "lang/provider/provider.h"

void d_add_statement(struct compiler *c, struct node *node)
{
	if (vec_push(&d_state(c)->statements, node))
		c->arena->failed = true;
}

struct symbol *d_local(struct compiler *c, const struct type *type)
{
	struct symbol *symbol = arena_new(c->arena, struct symbol);

	if (symbol)
		*symbol = (struct symbol){.name = "recorded", .type = type};
	return symbol;
}

/* Constants need no variable. */
uint32_t d_record(struct compiler *c, struct node *value)
{
	struct d_state *state = d_state(c);
	struct symbol *symbol;

	if (value->type->kind == TYPE_BOOL)
		value = d_cast(c, value, &type_int32);
	if (value->kind != NODE_INT && value->kind != NODE_STRING && value->type->kind != TYPE_NONE) {
		symbol = d_local(c, value->type);
		if (!symbol)
			return 0;
		d_add_statement(c, d_let(c, symbol, value));
		value = d_variable_node(c, symbol);
	}
	if (vec_push(&state->recorded, value))
		c->arena->failed = true;
	return (uint32_t)state->recorded.count - 1;
}

static uint32_t add_site(struct compiler *c, const struct d_record *record, const struct type *arguments,
			 struct span span, bool is_frequent)
{
	const struct site site = {.kind = SITE_OF_DIALECT,
				  .call = record,
				  .span = span,
				  .arguments = arguments,
				  .is_frequent = is_frequent};

	if (vec_push(&c->sites, site))
		c->arena->failed = true;
	return (uint32_t)c->sites.count - 1;
}

/* The CPU and the place, which all records begin with. */
static void begin_record(struct compiler *c, struct node **kids)
{
	struct node *place = d_call(c, CORE_PROBE, &type_probe, (struct span){}, 0);

	kids[0] = d_call(c, CORE_CPU, &type_uint64, (struct span){}, 0);
	kids[1] = place;
}

static struct node *send(struct compiler *c, const struct d_record *record, struct node *const *values, uint32_t count,
			 struct span span, bool is_frequent)
{
	const struct type **types = arena_array(c->arena, const struct type *, count + 2);
	struct node *node = d_call(c, CORE_SEND, &type_none, span, count + 2);
	uint32_t i;

	if (c->arena->failed)
		return node;
	begin_record(c, node->kids);
	for (i = 0; i < count; i++)
		node->kids[i + 2] = values[i];
	for (i = 0; i < count + 2; i++)
		types[i] = node->kids[i]->type;
	node->site = add_site(c, record, type_tuple(c->arena, types, NULL, count + 2), span, is_frequent);
	return node;
}

static struct node *block_of(struct compiler *c, struct node *const *nodes, size_t count, struct span span)
{
	struct node *block = node_create(c->arena, NODE_BLOCK, span, (uint32_t)count);
	size_t i;

	for (i = 0; !c->arena->failed && i < count; i++)
		block->kids[i] = nodes[i];
	return block;
}

/* What runs often may be recorded often. */
static bool is_frequent(const struct compiler *c)
{
	return c->unit->provider->run == RUN_BY_KERNEL && c->unit->provider->context != CONTEXT_PERF;
}

/*
 * The end of a part of a clause without branches: what was recorded is sent; then exit(). What was done goes to
 * `output`. `always`: also when nothing was recorded.
 */
typedef VEC(struct node *) node_list;

static struct node *if_speculating(struct compiler *c, struct node *body)
{
	struct node *node = node_create(c->arena, NODE_IF, body->span, 3);

	if (c->arena->failed)
		return node;
	node->kids[0] = d_variable_node(c, d_state(c)->speculation);
	node->kids[1] = body;
	node->kids[2] = NULL;
	return node;
}

/* The statements from this one on are only for a clause that has its speculation. */
static void speculate_from(struct compiler *c, size_t first, struct span span)
{
	struct d_state *state = d_state(c);
	struct node *body = block_of(c, state->statements.at + first, state->statements.count - first, span);

	state->statements.count = first;
	d_add_statement(c, if_speculating(c, body));
}

static void close_part(struct compiler *c, node_list *output, struct span span, bool always)
{
	struct d_state *state = d_state(c);
	struct d_record *record;
	struct node *node;

	if (state->actions.count || always || state->speculation) {
		record = arena_new(c->arena, struct d_record);
		if (!record)
			return;
		record->clause = state->clause;
		record->actions = arena_array(c->arena, struct d_action, state->actions.count + 1);
		record->is_error = state->fault != NULL;
		record->action_count = (uint32_t)state->actions.count;
		if (!record->actions)
			return;
		if (state->actions.count)
			memcpy(record->actions, state->actions.at, state->actions.count * sizeof(*record->actions));
		if (state->speculation)
			record->speculation = d_record(c, d_variable_node(c, state->speculation)) + 1;
		d_add_statement(c, send(c, record, state->recorded.at, (uint32_t)state->recorded.count, span,
					is_frequent(c)));
	}
	if (state->exit_status) {
		node = d_call(c, CORE_EXIT, &type_none, span, 1);
		if (!c->arena->failed)
			node->kids[0] = state->exit_status;
		d_add_statement(c, node);
	}
	if (state->speculation)
		speculate_from(c, state->speculates_from, span);
	state->speculates_from = 0;
	if (state->statements.count &&
	    vec_push(output, block_of(c, state->statements.at, state->statements.count, span)))
		c->arena->failed = true;
	state->statements.count = state->actions.count = state->recorded.count = 0;
	state->exit_status = NULL;
}

static struct node *lower_block(struct compiler *c, const struct d_expr *expr, bool is_whole);

static void lower_if(struct compiler *c, const struct d_expr *expr, node_list *output)
{
	struct node *node = node_create(c->arena, NODE_IF, expr->span, 3), *truth, *condition;
	struct symbol *before = d_state(c)->speculation;

	if (c->arena->failed)
		return;
	condition = d_number(c, expr->kids[0]);
	truth = d_binary(c, OP_NOT_EQUAL, &type_int32,
			 d_cast(c, condition, type_is_number(condition->type) ? condition->type : &type_uint64),
			 d_int(c, 0, type_is_number(condition->type) ? condition->type : &type_uint64));
	node->kids[0] = truth;
	/* What a branch speculates with is its own. */
	node->kids[1] = lower_block(c, expr->kids[1], false);
	d_state(c)->speculation = before;
	node->kids[2] = expr->kids[2] ? lower_block(c, expr->kids[2], false) : NULL;
	d_state(c)->speculation = before;
	if (vec_push(output, before ? if_speculating(c, node) : node))
		c->arena->failed = true;
}

static void lower_into(struct compiler *c, const struct d_expr *expr, node_list *output)
{
	uint32_t i;

	if (expr->kind == D_BLOCK) {
		for (i = 0; i < expr->kid_count; i++)
			lower_into(c, expr->kids[i], output);
	} else if (expr->kind == D_IF) {
		close_part(c, output, expr->span, false);
		lower_if(c, expr, output);
	} else {
		d_statement(c, expr);
	}
}

static struct node *lower_block(struct compiler *c, const struct d_expr *expr, bool is_whole)
{
	node_list output = {};
	struct node *ret;
	bool is_empty = expr && expr->kind == D_BLOCK && !expr->kid_count;

	lower_into(c, expr, &output);
	close_part(c, &output, expr->span, is_whole && is_empty);
	ret = block_of(c, output.at, output.count, expr->span);
	vec_free(&output);
	return ret;
}

/* What the place itself asks for. */
static struct node *own_condition(struct compiler *c)
{
	const struct d_state *state = d_state(c);
	const struct d_place *place = &state->places.at[c->unit->first_attach];
	struct node *pid = d_call(c, CORE_PID, &type_int32, (struct span){}, 0), *ret, *cpu;

	ret = place->pid ? d_binary(c, OP_EQUAL, &type_int32, pid, d_int(c, place->pid, &type_int32))
			 : d_made_condition(c);
	if (!c->has_cpu)
		return ret;
	cpu = d_binary(c, OP_EQUAL, &type_int32, d_call(c, CORE_CPU, &type_uint32, (struct span){}, 0),
		       d_int(c, c->cpu, &type_uint32));
	return ret ? d_binary(c, OP_LOGICAL_AND, &type_int32, cpu, ret) : cpu;
}

/* Does the expression name a variable that there is not? */
static bool names(const struct d_expr *expr, const struct d_expr *target)
{
	uint32_t i;

	if (!expr)
		return false;
	if (expr->kind == D_VARIABLE && expr->scope == target->scope && !strcmp(expr->text, target->text))
		return true;
	for (i = 0; i < expr->kid_count; i++)
		if (names(expr->kids[i], target))
			return true;
	return false;
}

/* A variable that the predicate has before the clause makes it: it is one of the type that the clause gives it. */
static void make_early(struct compiler *c, const struct d_expr *expr, const struct d_expr *predicate)
{
	const struct d_expr *target = expr && expr->kid_count ? expr->kids[0] : NULL;
	uint32_t i;

	if (!expr || c->report->errors)
		return;
	if ((expr->kind == D_STEP || (expr->kind == D_ASSIGN && !strcmp(expr->text, "="))) &&
	    target->kind == D_VARIABLE && !target->kid_count &&
	    !d_variable_find(c, target->scope, target->text, false) && names(predicate, target) &&
	    (target->scope != D_GLOBAL || !d_builtin(c, target)))
		d_variable_create(c, target, expr->kind == D_STEP ? &type_int64 : d_type_of(c, expr->kids[1]));
	for (i = 0; i < expr->kid_count; i++)
		make_early(c, expr->kids[i], predicate);
}

static struct node *lower_clause(struct compiler *c, const struct d_clause *clause)
{
	struct node *body, *own = d_state(c)->fault ? NULL : own_condition(c), *node, *predicate = NULL;
	node_list output = {};

	d_state(c)->speculation = NULL;
	d_state(c)->before = 0;
	if (clause->predicate) {
		make_early(c, clause->body, clause->predicate);
		predicate = d_value(c, clause->predicate);
		if (!type_is_scalar(predicate->type) && !c->report->errors) {
			report_error(c->report, "D_PRED_SCALAR", clause->predicate->span,
				     "predicate result must be of scalar type");
			report_told(c->report, 0, clause->end);
		}
	}
	if (own && predicate)
		predicate = d_binary(c, OP_LOGICAL_AND, &type_int32, own, predicate);
	else if (own)
		predicate = own;
	if (clause->body) {
		body = lower_block(c, clause->body, true);
	} else {
		close_part(c, &output, clause->span, true);
		body = block_of(c, output.at, output.count, clause->span);
		vec_free(&output);
	}
	d_state(c)->speculation = NULL;
	if (!predicate || !type_is_scalar(predicate->type))
		return body;
	node = node_create(c->arena, NODE_IF, clause->span, 3);
	if (c->arena->failed)
		return node;
	node->kids[0] = predicate;
	node->kids[1] = body;
	node->kids[2] = NULL;
	return node;
}

/* --- failures --- */

static bool may_fail(const struct node *node)
{
	uint32_t i;

	if (!node)
		return false;
	if (node->kind == NODE_ASSIGN && node->kids[0]->kind != NODE_VARIABLE && node->kids[0]->kind != NODE_MAP)
		return true;
	if (node_calls(node, CORE_COPY) || node_calls(node, CORE_COPY_OUT) || node_calls(node, CORE_STR) ||
	    node_calls(node, CORE_BUF) ||
	    node_calls(node, CORE_FAULT) || node_calls(node, CORE_STRTOK) || node_calls(node, CORE_ADDRESS_TEXT) ||
	    node->kind == NODE_FIELD || node->kind == NODE_INDEX ||
	    (node->kind == NODE_UNARY && node->op == OP_DEREFERENCE) || node_calls(node, CORE_ARGUMENT))
		return true;
	for (i = 0; i < node->kid_count; i++)
		if (may_fail(node->kids[i]))
			return true;
	return false;
}

bool d_is_error_clause(const struct d_clause *clause)
{
	uint32_t i;

	for (i = 0; i < clause->probe_count; i++)
		if (!strcmp(clause->probes[i].parts[3], "ERROR") &&
		    (!*clause->probes[i].parts[0] || !strcmp(clause->probes[i].parts[0], "dtrace")))
			return true;
	return false;
}

/* Tells of the failure, and does what the ERROR clauses say. */
static struct node *handler(struct compiler *c, struct symbol *fault, struct span span, uint32_t clause)
{
	struct d_state *state = d_state(c);
	struct d_record *record = arena_new(c->arena, struct d_record);
	struct node *values[3];
	node_list output = {};
	struct node *ret;
	uint32_t i;
	size_t k;

	for (i = 0; i < 3; i++) {
		values[i] = node_create(c->arena, NODE_FIELD, span, 1);
		if (!record || c->arena->failed)
			return NULL;
		values[i]->kids[0] = d_variable_node(c, fault);
		values[i]->field = &fault->type->fields[i];
		values[i]->type = &type_uint64;
	}
	record->is_fault = true;
	record->clause = clause;
	if (vec_push(&output, send(c, record, values, 3, span, is_frequent(c))))
		c->arena->failed = true;
	state->fault = fault;
	state->fault_clause = clause;
	state->has_handler = true;
	for (k = 0; k < state->clauses.count; k++)
		if (d_is_error_clause(&state->clauses.at[k]) &&
		    vec_push(&output, lower_clause(c, &state->clauses.at[k])))
			c->arena->failed = true;
	state->fault = NULL;
	ret = block_of(c, output.at, output.count, span);
	vec_free(&output);
	return ret;
}

static struct symbol *new_fault(struct compiler *c)
{
	struct symbol *fault = d_local(c, type_fault(c->arena));

	if (c->arena->failed || !fault)
		return NULL;
	fault->name = "fault";
	return fault;
}

static struct node *guarded(struct compiler *c, struct node *body, uint32_t clause)
{
	struct node *node;
	struct symbol *fault;

	if (!may_fail(body))
		return body;
	node = node_create(c->arena, NODE_CLAUSE, body->span, 2);
	fault = new_fault(c);
	if (!fault)
		return body;
	node->symbol = fault;
	node->kids[0] = body;
	node->kids[1] = handler(c, fault, body->span, clause);
	return node;
}

static bool has_error_clause(const struct d_state *state)
{
	size_t i;

	for (i = 0; i < state->clauses.count; i++)
		if (d_is_error_clause(&state->clauses.at[i]))
			return true;
	return false;
}

/* A script of ERROR clauses alone waits. The kernel must be given a program: it is one that does nothing. */
static void add_idle(struct compiler *c)
{
	static const char *const parts[] = {"begin"};
	struct attach_text *point = arena_new(c->arena, struct attach_text);
	const struct action action = {};

	if (!point)
		return;
	*point = (struct attach_text){.parts = (const char **)parts, .part_count = 1};
	provider_expand(c, &action, point);
	while (d_state(c)->units.count < c->units.count)
		if (vec_push(&d_state(c)->units, (struct d_unit){})) {
			c->arena->failed = true;
			return;
		}
}

/* Where no clause may fail, no program has the ERROR clauses: mistakes in them are found all the same. */
static void check_error_clauses(struct compiler *c)
{
	struct d_state *state = d_state(c);
	struct symbol *fault;

	if (state->has_handler || !state->units.count || !has_error_clause(state))
		return;
	c->unit = &c->units.at[0];
	state->unit = &state->units.at[0];
	fault = new_fault(c);
	if (fault)
		handler(c, fault, c->unit->span, 0);
}

/* --- thread-locals --- */

/* When a thread ends its variables go. */
static struct node *forget(struct compiler *c)
{
	const struct d_state *state = d_state(c);
	node_list output = {};
	struct node *ret;
	size_t i;

	for (i = 0; i < state->variables.count; i++) {
		struct d_variable *variable = state->variables.at[i];
		struct node *node, *map;

		if (variable->scope != D_SELF || variable->key_count || !variable->symbol)
			continue;
		node = d_call(c, CORE_DELETE, &type_bool, (struct span){}, 1);
		map = node_create(c->arena, NODE_MAP, (struct span){}, 1);
		if (c->arena->failed)
			break;
		map->symbol = variable->symbol;
		map->type = variable->symbol->value;
		map->kids[0] = d_call(c, CORE_TID, &type_uint64, (struct span){}, 0);
		node->kids[0] = map;
		if (vec_push(&output, node))
			c->arena->failed = true;
	}
	ret = block_of(c, output.at, output.count, (struct span){});
	vec_free(&output);
	return ret;
}

static void add_forgetting(struct compiler *c)
{
	static const char *const parts[] = {"rawtracepoint", "sched_process_exit"};
	struct attach_text *point = arena_new(c->arena, struct attach_text);
	const struct action action = {};
	size_t units = c->units.count;

	if (!point || !d_state(c)->has_self)
		return;
	*point = (struct attach_text){.parts = (const char **)parts, .part_count = 2};
	provider_expand(c, &action, point);
	if (c->units.count != units + 1)
		return;
	c->units.at[units].is_everywhere = true;
	c->unit = &c->units.at[units];
	c->units.at[units].body = forget(c);
}

/* --- all --- */

/* What one clause has allocated is not there in the next one. */
static struct node *with_scratch(struct compiler *c, struct node *body)
{
	struct node *const nodes[] = {d_scratch_begin(c), body};

	return nodes[0] ? block_of(c, nodes, 2, body->span) : body;
}

static struct node *whole(struct compiler *c, struct d_unit *unit)
{
	node_list output = {};
	struct node *ret, *stamp;
	size_t i;

	/* Before the variables are made: handlers may use more of them. */
	for (i = 0; i < unit->nodes.count; i++)
		unit->nodes.at[i] = guarded(c, with_scratch(c, unit->nodes.at[i]), unit->numbers.at[i]);
	for (i = 0; i < unit->locals.count; i++)
		if (vec_push(&output, d_let(c, unit->locals.at[i], NULL)))
			c->arena->failed = true;
	if (unit->timestamp) {
		stamp = d_call(c, CORE_NSECS, &type_uint64, (struct span){}, 0);
		if (!c->arena->failed)
			stamp->flags = CORE_CLOCK_MONOTONIC;
		if (vec_push(&output, d_let(c, unit->timestamp, stamp)))
			c->arena->failed = true;
	}
	for (i = 0; i < unit->nodes.count; i++)
		if (vec_push(&output, unit->nodes.at[i]))
			c->arena->failed = true;
	ret = block_of(c, output.at, output.count, c->unit->span);
	vec_free(&output);
	return ret;
}

static bool has_clause(const struct d_unit *unit, uint32_t clause)
{
	size_t i;

	for (i = 0; i < unit->clauses.count; i++)
		if (unit->clauses.at[i] == clause)
			return true;
	return false;
}

/* As dtrace counts them: one for each description. */
static uint32_t number_of(const struct d_state *state, uint32_t clause)
{
	uint32_t ret = 0, i;

	for (i = 0; i < clause; i++)
		ret += state->clauses.at[i].probe_count;
	return ret;
}

static void lower_in(struct compiler *c, uint32_t unit, uint32_t clause)
{
	struct d_state *state = d_state(c);

	c->unit = &c->units.at[unit];
	c->types.local = compiler_attach(c)->types;
	state->unit = &state->units.at[unit];
	state->clause = number_of(state, clause);
	if (vec_push(&state->unit->numbers, state->clause) ||
	    vec_push(&state->unit->nodes, lower_clause(c, &state->clauses.at[clause])))
		c->arena->failed = true;
	c->types.local = NULL;
}

void d_lower(struct compiler *c)
{
	struct d_state *state = d_state(c);
	uint32_t i, k;

	if (!state->units.count && has_error_clause(state))
		add_idle(c);
	if (c->arena->failed)
		return;
	if (state->units.count) {
		c->unit = &c->units.at[0];
		state->unit = &state->units.at[0];
		d_translators_check(c);
	}
	/* In the order of the text: the first use of a variable gives it its type. */
	for (i = 0; i < state->clauses.count && !c->report->errors; i++)
		for (k = 0; k < state->units.count && !c->report->errors; k++)
			if (has_clause(&state->units.at[k], i))
				lower_in(c, k, i);
	for (k = 0; k < state->units.count && !c->report->errors; k++) {
		c->unit = &c->units.at[k];
		state->unit = &state->units.at[k];
		c->units.at[k].body = whole(c, state->unit);
	}
	if (!c->report->errors)
		check_error_clauses(c);
	if (!c->report->errors)
		add_forgetting(c);
	c->unit = NULL;
}
