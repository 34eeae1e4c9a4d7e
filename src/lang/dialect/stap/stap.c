// SPDX-License-Identifier: GPL-2.0-or-later
/* SystemTap's language: what the folder has, put together. */
#include <regex.h>
#include <stdlib.h>
#include <string.h>

#include "lang/core/number.h"
#include "lang/dialect/dialect.h"
#include "lang/dialect/stap/run.h"

static const struct {
	const char *name;
	int64_t value, least, most;
} limits[STAP_LIMITS] = {
	[MAXSTRINGLEN] = {"MAXSTRINGLEN", 512, 16, 16384},
	[MAXMAPENTRIES] = {"MAXMAPENTRIES", 2048, 1, 10000000},
	[MAXACTION] = {"MAXACTION", 1000, 1, INT64_MAX / 100},
	[MAXERRORS] = {"MAXERRORS", 0, 0, INT64_MAX},
	[MAXNESTING] = {"MAXNESTING", 10, 1, 100},
};

static void set_limit(struct compiler *c, size_t limit, const char *value)
{
	uint64_t number;

	if (!number_parse(value, strlen(value), &number) || number < (uint64_t)limits[limit].least ||
	    number > (uint64_t)limits[limit].most)
		stap_complain(c, "parse.option", (struct span){}, "-D %s=%s: from %lld to %lld are possible",
			      limits[limit].name, value, (long long)limits[limit].least, (long long)limits[limit].most);
	else
		stap_state(c)->limits[limit] = (int64_t)number;
}

/* NAME=VALUE of -D, and what the command line says otherwise. Unknown ones are about SystemTap's modules. */
static void set(struct compiler *c, const char *text)
{
	struct stap_state *state = stap_state(c);
	const char *value = strchr(text, '=');
	size_t length = value ? (size_t)(value - text) : strlen(text), i;

	if (!strcmp(text, "list"))
		state->lists = true;
	if (!strcmp(text, "list-variables"))
		state->lists = state->lists_variables = true;
	if (!strcmp(text, "hide-warnings"))
		state->suppresses_warnings = true;
	for (i = 0; value && i < STAP_LIMITS; i++)
		if (limits[i].name && strlen(limits[i].name) == length && !strncmp(limits[i].name, text, length))
			set_limit(c, i, value + 1);
}

/* NAME=VALUE of -G: the value of a global that the script has. */
static void set_global(struct compiler *c, const char *text)
{
	const char *value = strchr(text, '=');
	size_t length = value ? (size_t)(value - text) : 0, i;
	struct stap_variable *variable = NULL;
	uint64_t number = 0;
	bool negative;

	for (i = 0; i < stap_state(c)->globals.count; i++)
		if (strlen(stap_state(c)->globals.at[i]->name) == length &&
		    !strncmp(stap_state(c)->globals.at[i]->name, text, length))
			variable = stap_state(c)->globals.at[i];
	if (!variable || variable->is_array) {
		stap_complain(c, "stap.global", (struct span){}, "-G %s: there is no such scalar global variable",
			      text);
		return;
	}
	value++;
	negative = *value == '-';
	variable->initial = stap_node(c, STAP_E_NUMBER, variable->span, 0);
	if (variable->type != STAP_STRING && number_parse(value + negative, strlen(value + negative), &number)) {
		variable->initial->value = negative ? -(int64_t)number : (int64_t)number;
		variable->type = STAP_LONG;
	} else {
		variable->initial->kind = STAP_E_TEXT;
		variable->initial->text = value;
		variable->type = STAP_STRING;
	}
}

static void begin(struct compiler *c)
{
	size_t i;

	c->of_dialect = arena_new(c->arena, struct stap_state);
	if (!c->of_dialect)
		return;
	c->names_markers = true;
	stap_state(c)->spare = (struct stap_node){.kind = STAP_E_NUMBER, .text = ""};
	for (i = 0; i < STAP_LIMITS; i++)
		stap_state(c)->limits[i] = limits[i].value;
	c->numbers[SETTING_MAX_MAP_KEYS] = 2048;
	c->numbers[SETTING_MAX_STRLEN] = 512;
	c->numbers[SETTING_MAX_PROBES] = 8192;
	c->numbers[SETTING_MAX_BPF_PROGS] = 2048;
	c->numbers[SETTING_MAX_CAT_BYTES] = 0;
	c->numbers[SETTING_PRINT_MAPS_ON_EXIT] = 0;
	c->numbers[SETTING_SHOW_DEBUG_INFO] = 0;
	c->texts[SETTING_MISSING_PROBES] = "ignore";
	c->texts[SETTING_LICENSE] = "GPL";
	for (i = 0; i < c->options->named_count; i++)
		set(c, c->options->named[i]);
}

static void parse(struct compiler *c)
{
	if (!c->of_dialect)
		return;
	c->numbers[SETTING_MAX_STRLEN] = (uint64_t)stap_state(c)->limits[MAXSTRINGLEN];
	/* The script first, so that a mistake in it is the first thing that is said. */
	if (stap_parse_source(c, c->report->script.begin, c->report->script.end, false))
		stap_load_tapsets(c);
}

static void check(struct compiler *c)
{
	size_t i;

	for (i = 0; c->of_dialect && i < c->options->named_count; i++)
		if (!strncmp(c->options->named[i], "global=", 7))
			set_global(c, c->options->named[i] + 7);
	if (c->of_dialect && !c->arena->failed && !c->report->errors)
		stap_probes(c);
}

static void end_run(struct stap_run *run, struct stap_state *state)
{
	size_t i;

	for (i = 0; i < state->globals.count; i++) {
		struct stap_variable *variable = state->globals.at[i];

		stap_map_destroy(variable->map);
		free((void *)(uintptr_t)variable->value.text);
		if (variable->stat)
			stap_stat_clear(variable->stat);
		free(variable->stat);
	}
	stap_run_end(run);
}

static void end(struct compiler *c)
{
	struct stap_state *state = stap_state(c);
	size_t i;

	if (!state)
		return;
	if (state->run)
		end_run(state->run, state);
	for (i = 0; i < state->functions.count; i++)
		vec_free(&state->functions.at[i]->locals);
	for (i = 0; i < state->handlers.count; i++) {
		vec_free(&state->handlers.at[i]->locals);
		vec_free(&state->handlers.at[i]->targets);
		vec_free(&state->handlers.at[i]->memory);
	}
	for (i = 0; i < state->regexes.count; i++) {
		regfree(state->regexes.at[i]);
		free(state->regexes.at[i]);
	}
	vec_free(&state->probes);
	vec_free(&state->functions);
	vec_free(&state->aliases);
	vec_free(&state->globals);
	vec_free(&state->handlers);
	vec_free(&state->places);
	vec_free(&state->regexes);
}

const struct dialect dialect_stap = {
	.name = "stap",
	.begin = begin,
	.parse = parse,
	.check = check,
	.end = end,
	.list = stap_list,
	.translate = stap_translate,
	.print = &stap_print,
};
