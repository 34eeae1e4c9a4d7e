// SPDX-License-Identifier: GPL-2.0-or-later
/* D's language: what the folder has, put together. */
#include "lang/dialect/d/d.h"
#include "lang/dialect/dialect.h"

static void begin(struct compiler *c)
{
	uint32_t i;

	c->of_dialect = arena_new(c->arena, struct d_state);
	if (!c->of_dialect)
		return;
	c->names_markers = true;
	d_state(c)->spare = (struct d_expr){.kind = D_INT, .text = "", .type = &type_int32};
	d_options_init(c);
	for (i = 0; i < c->options->named_count; i++)
		d_option_set(c, c->options->named[i], (struct span){});
}

static void parse(struct compiler *c)
{
	if (c->of_dialect)
		d_parse(c);
}

static void check(struct compiler *c)
{
	if (!c->of_dialect || c->arena->failed)
		return;
	d_declare(c);
	if (!c->report->errors)
		d_probes(c);
	if (!c->report->errors)
		d_lower(c);
}

static void end(struct compiler *c)
{
	struct d_state *state = d_state(c);
	size_t i;

	if (!state)
		return;
	for (i = 0; i < state->units.count; i++) {
		vec_free(&state->units.at[i].clauses);
		vec_free(&state->units.at[i].nodes);
		vec_free(&state->units.at[i].locals);
	}
	vec_free(&state->units);
	vec_free(&state->clauses);
	vec_free(&state->declarations);
	vec_free(&state->variables);
	vec_free(&state->places);
	vec_free(&state->statements);
	vec_free(&state->actions);
	vec_free(&state->recorded);
}

static void list(const struct compiler *c, FILE *out)
{
	const struct d_state *state = d_state(c);
	size_t i;

	for (i = 0; i < state->places.count; i++) {
		const struct d_place *place = &state->places.at[i];

		fprintf(out, "%5u %10s %17s %33s %s\n", place->id, place->provider, place->module, place->function,
			place->name);
	}
}

const struct dialect dialect_d = {
	.name = "d",
	.begin = begin,
	.parse = parse,
	.check = check,
	.end = end,
	.list = list,
	.print = &d_print,
};
