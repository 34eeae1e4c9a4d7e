// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Speculations. Those in use are the keys of a map: speculation() adds the first number that is not there, commit() and
 * discard() take it away. What a clause records after speculate() is sent with its number, and kept by print.c until a
 * record says commit or discard. Records arrive in their order, so a number can be used again at once.
 */
#include <string.h>

#include "lang/dialect/d/d.h"

/* Each is a test of its own in the program. */
#define SPECULATIONS_MAX 64

static struct symbol *map(struct compiler *c)
{
	struct d_state *state = d_state(c);

	if (!state->speculations)
		state->speculations = d_map(c, "speculations", &type_uint64, &type_uint64);
	return state->speculations;
}

static uint64_t count(const struct compiler *c)
{
	uint64_t asked = d_state(c)->options[D_NSPEC];

	return asked < SPECULATIONS_MAX ? asked : SPECULATIONS_MAX;
}

/* A question about the speculation of this number, or what is done with it. */
static struct node *of(struct compiler *c, enum core_builtin builtin, struct node *number)
{
	struct node *call = d_call(c, builtin, &type_int32, number->span, 1),
		    *element = node_create(c->arena, NODE_MAP, number->span, 1);
	struct symbol *symbol = map(c);

	if (c->arena->failed || !symbol)
		return d_int(c, 0, &type_int32);
	element->symbol = symbol;
	element->type = symbol->value;
	element->kids[0] = number;
	call->kids[0] = element;
	return call;
}

/* 0, and one more of them. */
static struct node *none_free(struct compiler *c, struct span span)
{
	struct node *block = node_create(c->arena, NODE_BLOCK_VALUE, span, 2),
		    *statement = node_create(c->arena, NODE_EXPRESSION, span, 1),
		    *step = node_create(c->arena, NODE_STEP, span, 1),
		    *element = node_create(c->arena, NODE_MAP, span, 1);
	struct symbol *symbol = map(c);

	if (c->arena->failed || !symbol)
		return d_int(c, 0, &type_int32);
	element->symbol = symbol;
	element->type = symbol->value;
	element->kids[0] = d_int(c, (int64_t)D_SPECULATION_NONE, &type_uint64);
	step->kids[0] = element;
	step->op = OP_ADD;
	step->type = element->type;
	statement->kids[0] = step;
	block->kids[0] = statement;
	block->kids[1] = d_int(c, 0, &type_int32);
	block->type = &type_int32;
	return block;
}

struct node *d_speculation(struct compiler *c, const struct d_expr *call)
{
	struct node *ret = none_free(c, call->span);
	uint64_t i;

	for (i = count(c); i; i--) {
		struct node *choice = node_create(c->arena, NODE_TERNARY, call->span, 3);

		if (c->arena->failed)
			return choice;
		choice->kids[0] = of(c, CORE_CLAIM, d_int(c, (int64_t)i, &type_uint64));
		choice->kids[1] = d_int(c, (int64_t)i, &type_int32);
		choice->kids[2] = ret;
		choice->type = &type_int32;
		ret = choice;
	}
	return ret;
}

static void assign(struct compiler *c, struct symbol *symbol, struct node *value)
{
	struct node *node = node_create(c->arena, NODE_ASSIGN, value->span, 2);

	if (c->arena->failed)
		return;
	node->kids[0] = d_variable_node(c, symbol);
	node->kids[1] = value;
	d_add_statement(c, node);
}

static struct symbol *number_of(struct compiler *c, const struct d_expr *call)
{
	struct symbol *symbol = d_local(c, &type_uint64);

	if (!symbol || vec_push(&d_state(c)->unit->locals, symbol)) {
		c->arena->failed = true;
		return NULL;
	}
	symbol->name = "speculation";
	assign(c, symbol, d_cast(c, d_cast(c, d_number(c, call->kids[0]), &type_int32), &type_uint64));
	return symbol;
}

void d_speculate(struct compiler *c, const struct d_expr *call)
{
	struct symbol *symbol = number_of(c, call);
	struct node *known = node_create(c->arena, NODE_TERNARY, call->span, 3);

	if (!symbol || c->arena->failed)
		return;
	/* 0: there is no such speculation, and the clause ends (close_part()). */
	known->kids[0] = of(c, CORE_HAS_KEY, d_variable_node(c, symbol));
	known->kids[1] = d_variable_node(c, symbol);
	known->kids[2] = d_int(c, 0, &type_uint64);
	known->type = &type_uint64;
	assign(c, symbol, known);
	d_state(c)->speculation = symbol;
	d_state(c)->speculates_from = d_state(c)->statements.count;
}

struct node *d_end_speculation(struct compiler *c, const struct d_expr *call)
{
	struct symbol *symbol = number_of(c, call);
	struct node *test = node_create(c->arena, NODE_IF, call->span, 3),
		    *fault = d_call(c, CORE_FAULT, &type_none, call->span, 1),
		    *statement = node_create(c->arena, NODE_EXPRESSION, call->span, 1);

	if (!symbol || c->arena->failed)
		return d_int(c, 0, &type_uint64);
	fault->value = CORE_FAULT_OPERATION;
	fault->kids[0] = d_variable_node(c, symbol);
	test->kids[0] = d_binary(c, OP_GREATER, &type_int32, d_variable_node(c, symbol),
				 d_int(c, (int64_t)count(c), &type_uint64));
	test->kids[1] = fault;
	test->kids[2] = NULL;
	d_add_statement(c, test);
	statement->kids[0] = of(c, CORE_DELETE, d_variable_node(c, symbol));
	d_add_statement(c, statement);
	return d_variable_node(c, symbol);
}

/* --- what may follow what --- */

static bool refuse(struct compiler *c, struct span span, const char *tag, const char *text)
{
	if (!c->report->errors)
		report_error(c->report, tag, span, "%s", text);
	return false;
}

bool d_may_aggregate(struct compiler *c, struct span span)
{
	unsigned int before = d_state(c)->before;

	if (before & D_BEFORE_COMMIT)
		return refuse(c, span, "D_AGG_COMM", "aggregating actions may not follow commit( )");
	if (before & D_BEFORE_SPECULATE)
		return refuse(c, span, "D_AGG_SPEC", "aggregating actions may not follow speculate( )");
	d_state(c)->before |= D_BEFORE_RECORD;
	return true;
}

static bool may_speculate(struct compiler *c, struct span span)
{
	unsigned int before = d_state(c)->before;

	if (before & D_BEFORE_SPECULATE)
		return refuse(c, span, "D_SPEC_SPEC", "speculate( ) may not follow speculate( )");
	if (before & D_BEFORE_COMMIT)
		return refuse(c, span, "D_SPEC_COMM", "speculate( ) may not follow commit( )");
	if (before & D_BEFORE_RECORD)
		return refuse(c, span, "D_SPEC_DREC", "speculate( ) may not follow data-recording action(s)");
	d_state(c)->before |= D_BEFORE_SPECULATE;
	return true;
}

bool d_may_act(struct compiler *c, const struct d_expr *call, bool is_destructive)
{
	struct d_state *state = d_state(c);
	unsigned int before = state->before;

	if (!strcmp(call->text, "discard"))
		return true;
	if (!strcmp(call->text, "speculate"))
		return may_speculate(c, call->span);
	if (!strcmp(call->text, "commit")) {
		if (before & D_BEFORE_RECORD)
			return refuse(c, call->span, "D_COMM_DREC",
				      "commit( ) may not follow data-recording action(s)");
		state->before |= D_BEFORE_COMMIT;
		return true;
	}
	if ((before & D_BEFORE_SPECULATE) && is_destructive && strcmp(call->text, "system") != 0 &&
	    strcmp(call->text, "freopen") != 0 && strcmp(call->text, "ftruncate") != 0)
		return refuse(c, call->span, "D_ACT_SPEC", "destructive actions may not follow speculate( )");
	if ((before & D_BEFORE_SPECULATE) && !strcmp(call->text, "exit"))
		return refuse(c, call->span, "D_EXIT_SPEC", "exit( ) may not follow speculate( )");
	if (is_destructive && strcmp(call->text, "system") != 0 && strcmp(call->text, "freopen") != 0)
		return true;
	if (before & D_BEFORE_COMMIT)
		return refuse(c, call->span, "D_DREC_COMM", "data-recording actions may not follow commit( )");
	state->before |= D_BEFORE_RECORD;
	return true;
}
