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

/* The unit of a probe that has one place in the script, these functions, and no need of its name; or 0. */
static uint32_t sole_unit(struct compiler *c, uint32_t probe, const struct provider *provider, const char *functions)
{
	const struct probe *of = &checker(c)->script.probes.at[probe];
	uint32_t found = 0, i;

	if (of->point_count != 1 || of->points[0].part_count != 2 || strcmp(of->points[0].parts[1], functions) != 0 ||
	    provider_find(of->points[0].parts[0]) != provider)
		return 0;
	for (i = 0; i < c->units.count; i++) {
		if (c->units.at[i].probe != probe)
			continue;
		if (found)
			return 0;
		found = i + 1;
	}
	return check_uses(c, of) & USES_NAME ? 0 : found;
}

static bool is_paired(const struct compiler *c, uint32_t unit)
{
	size_t i;

	for (i = 0; i < c->units.count; i++)
		if (c->units.at[i].back == unit)
			return true;
	return false;
}

/* As in bpftrace, a kprobe and the only kretprobe of the same functions are one, where the kernel has sessions. */
static void pair(struct compiler *c, uint32_t probe)
{
	const struct script *script = &checker(c)->script;
	const struct attach_text *point = script->probes.at[probe].points;
	const char *functions = point->part_count == 2 ? point->parts[1] : "";
	uint32_t call = sole_unit(c, probe, &provider_kprobe, functions), back = 0, found, i;

	for (i = 0; call && i < script->probes.count; i++) {
		found = sole_unit(c, i, &provider_kretprobe, functions);
		if (!found || is_paired(c, found))
			continue;
		if (back)
			return;
		back = found;
	}
	if (call)
		c->units.at[call - 1].back = back;
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
	for (i = 0; !(c->options->without & COMPILE_WITHOUT_KPROBE_SESSION) && i < script->probes.count; i++)
		pair(c, (uint32_t)i);
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
