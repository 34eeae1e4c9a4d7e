// SPDX-License-Identifier: GPL-2.0-or-later
/* bpftrace's language: what the folder has, put together. */
#include "lang/dialect/bpftrace/check/check.h"
#include "lang/dialect/bpftrace/parse/format.h"
#include "lang/dialect/bpftrace/parse/parser.h"
#include "lang/dialect/bpftrace/print/print.h"
#include "lang/dialect/dialect.h"
#include "lang/provider/provider.h"

static void begin(struct compiler *c)
{
	c->of_dialect = arena_new(c->arena, struct checker);
	settings_init(c);
}

static void parse(struct compiler *c)
{
	const struct compile_options *options = c->options;
	const struct parser_options parser = {.parameters = options->parameters,
					      .parameter_count = options->parameter_count,
					      .path = options->path,
					      .include_folders = options->include_folders,
					      .include_folder_count = options->include_folder_count,
					      .includes = options->includes,
					      .include_count = options->include_count,
					      .may_be_empty = options->may_be_empty};
	struct script *script;
	uint32_t j;
	size_t i;

	if (!checker(c))
		return;
	script = &checker(c)->script;
	bpftrace_parse(c->report, &parser, &c->types, script);
	for (i = 0; i < script->probes.count; i++)
		for (j = 0; j < script->probes.at[i].point_count; j++)
			if (vec_push(&c->points, &script->probes.at[i].points[j]))
				c->arena->failed = true;
}

/* A probe of which no place is there, by patterns that match nothing or because it is wanted so. */
static void tell_empty(struct compiler *c, const struct probe *probe, const char *mode)
{
	if (c->options->probe_filter || !strcmp(mode, "ignore"))
		return;
	if (!strcmp(mode, "error"))
		report_error(c->report, "probe.empty", probe->span, "Probe has no valid attach points.");
	else
		report_warning(c->report, "probe.empty", probe->span,
			       "Probe has no valid attach points. It is being removed which may cause issues with "
			       "program behavior.");
}

static void expand(struct compiler *c)
{
	const struct script *script = &checker(c)->script;
	const char *mode = c->texts[SETTING_MISSING_PROBES];
	uint32_t j;
	size_t i;

	c->allows_empty_patterns = true;
	for (i = 0; i < script->probes.count; i++) {
		const struct probe *probe = &script->probes.at[i];
		const struct action action = {.span = probe->span, .probe = (uint32_t)i, .uses = check_uses(c, probe)};
		size_t units = c->units.count;

		for (j = 0; j < probe->point_count; j++)
			provider_expand(c, &action, &probe->points[j]);
		if (c->units.count == units && !c->report->errors)
			tell_empty(c, probe, mode);
	}
	if (script->probes.count && !c->units.count && !c->report->errors)
		report_nothing(c->report, "probe.filter", "No probes to attach");
	if (!provider_expanded(c))
		return;
	for (i = 0; i < c->units.count; i++) {
		const struct probe *probe = &script->probes.at[c->units.at[i].probe];
		const struct checked checked = {.predicate = ast_copy(c->arena, probe->predicate),
						.body = ast_copy(c->arena, probe->body)};

		if (vec_push(&checker(c)->units, checked))
			c->arena->failed = true;
	}
}

static void check(struct compiler *c)
{
	if (!checker(c))
		return;
	settings_read(c);
	if (!c->report->errors)
		expand(c);
	if (!c->report->errors && !c->arena->failed)
		check_all(c);
	if (!c->report->errors && !c->arena->failed)
		check_parameters(c);
	if (!c->report->errors && !c->arena->failed)
		lower_all(c);
}

static void end(struct compiler *c)
{
	if (!checker(c))
		return;
	script_deinit(&checker(c)->script);
	vec_free(&checker(c)->units);
	vec_free(&checker(c)->parameters);
	vec_free(&checker(c)->scope);
}

static void print_tree(const struct compiler *c, FILE *out)
{
	script_print(out, &checker(c)->script);
}

const struct dialect dialect_bpftrace = {
	.name = "bpftrace",
	.begin = begin,
	.parse = parse,
	.check = check,
	.end = end,
	.print_tree = print_tree,
	.print_types = check_dump,
	.format = bpftrace_format,
	.print = &bpftrace_print,
};
