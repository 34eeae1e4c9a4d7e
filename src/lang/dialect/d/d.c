// SPDX-License-Identifier: GPL-2.0-or-later
/* D's language: what the folder has, put together. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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

/* A program on the command line is named by what comes before its predicate or action. */
const char *d_matched(const struct compiler *c)
{
	const char *path = c->options->path, *name = c->report->script.name;
	size_t matches = d_state(c)->matches;
	const char *text = arena_printf(c->arena, "%s '%.*s' matched %zu probe%s", path ? "script" : "description",
					(int)(path ? strlen(path) : strcspn(name, "{/;")), path ? path : name, matches,
					matches == 1 ? "" : "s");

	return text ? text : "";
}

/* What is wrong with a program that is right by itself. It is told after how many probes matched, as dtrace does. */
static void refuse(struct compiler *c, const char *why, const char *hint)
{
	if (d_state(c)->options[D_QUIET])
		report_error(c->report, D_NOT_ENABLED, (struct span){}, "%s", why);
	else
		report_error(c->report, D_NOT_ENABLED, (struct span){}, "%s\n%s", d_matched(c), why);
	report_hint(c->report, "%s", hint);
}

/* What dtrace needs for a record of the least size. */
#define BUFFER_MIN 64

/* Are aggsize and dynvarsize large enough for one element of each aggregation and variable? */
static bool all_fit(const struct d_state *state)
{
	size_t i;
	uint32_t k;

	for (i = 0; i < state->variables.count; i++) {
		const struct d_variable *one = state->variables.at[i];
		const struct d_limit *limit = one->is_aggregation ? &state->aggregation_size : &state->variable_size;
		uint64_t bytes = one->is_aggregation ? 16 : one->type->size + 8 * one->is_array;

		for (k = 0; k < one->key_count; k++)
			bytes += one->keys[k]->size < 8 ? 8 : one->keys[k]->size;
		if ((one->is_aggregation || one->is_array || one->scope == D_SELF) && limit->is_given &&
		    limit->bytes < bytes)
			return false;
	}
	return true;
}

static void check_whole(struct compiler *c)
{
	const struct d_state *state = d_state(c);
	uint32_t i = c->options->parameter_count < 64 ? c->options->parameter_count : 64;

	while (i--)
		if (!state->options[D_ARGREF] && !(state->used_parameters >> i & 1)) {
			report_error(c->report, "D_MACRO_UNUSED", (struct span){},
				     "extraneous argument '%s' ($%u is not referenced)", c->options->parameters[i],
				     i + 1);
			return;
		}
	if ((!c->units.count || !state->matches) && !c->options->may_be_empty)
		refuse(c, "no probes matched", "-Z allows descriptions without a probe, but one must have one");
	else if (state->buffer_size.is_given && state->buffer_size.bytes < BUFFER_MIN)
		refuse(c, "could not enable tracing: Enabling exceeds size of buffer", "bufsize must be 64 at least");
	else if (!all_fit(state))
		refuse(c, "could not enable tracing: Enabling exceeds size of buffer",
		       "aggsize and dynvarsize must have room for one element");
	else if (state->is_destructive && !state->options[D_DESTRUCTIVE] && !c->options->unsafe &&
		 !c->options->may_be_empty)
		refuse(c, "could not enable tracing: Destructive actions not allowed",
		       "-w or #pragma D option destructive allows them");
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
	if (!c->report->errors)
		check_whole(c);
}

static void end(struct compiler *c)
{
	struct d_state *state = d_state(c);
	size_t i;

	if (!state)
		return;
	if (state->has_first_out)
		close(state->first_out);
	for (i = 0; i < state->units.count; i++) {
		vec_free(&state->units.at[i].clauses);
		vec_free(&state->units.at[i].nodes);
		vec_free(&state->units.at[i].numbers);
		vec_free(&state->units.at[i].locals);
	}
	vec_free(&state->units);
	vec_free(&state->clauses);
	vec_free(&state->declarations);
	vec_free(&state->translators);
	vec_free(&state->attributes);
	vec_free(&state->variables);
	vec_free(&state->places);
	vec_free(&state->statements);
	vec_free(&state->actions);
	vec_free(&state->recorded);
	for (i = 0; i < state->held.count; i++)
		free(state->held.at[i].bytes);
	vec_free(&state->held);
}

static void list_place(const struct d_place *place, FILE *out)
{
	fprintf(out, "%5u %10s %17s %33s %s\n", place->id, place->provider, place->module, place->function,
		place->name);
}

/* Several places can be one probe. */
static bool is_listed(const struct d_state *state, size_t index)
{
	size_t i = 0;

	while (i < index && state->places.at[i].id != state->places.at[index].id)
		i++;
	return i < index;
}

static void list(const struct compiler *c, FILE *out)
{
	static const struct d_place error = {
		.id = D_ERROR_ID, .provider = "dtrace", .module = "", .function = "", .name = "ERROR"};
	const struct d_state *state = d_state(c);
	size_t i;

	for (i = 0; i <= state->places.count; i++) {
		const struct d_place *place = &state->places.at[i];

		if (state->has_error && i == state->error_at)
			list_place(&error, out);
		if (i == state->places.count)
			break;
		if (is_listed(state, i))
			continue;
		list_place(place, out);
		if (c->options->tells_arguments && place->made)
			d_made_tell(place->made, out);
	}
}

const struct dialect dialect_d = {
	.name = "d",
	.begin = begin,
	.parse = parse,
	.check = check,
	.end = end,
	.list = list,
	.translate = d_translate,
	.print = &d_print,
};
