// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * python: Python's functions as they begin and end, in any CPython from 3.6 on, without static markers.
 *
 *   python:function-entry         of the process of -p, of the command of -c, or of all Pythons that run
 *   python:FILE:function-entry    of the Pythons that run this file, its library, now and later
 *
 * A probe is breakpoints at several places of the interpreter loop (runtime/python/probe_sites.h), each with a program
 * of its own, as each has the frame elsewhere.
 */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <linux/bpf.h>

#include "lang/provider/binary.h"
#include "lang/provider/python.h"
#include "lang/rt/python.h"

enum { ENTRY, RETURN, EVENTS };
static const char *const events[EVENTS] = {"function-entry", "function-return"};

struct python_search {
	struct compiler *c;
	const struct provider *self;
	const char *event;    /* a pattern */
	const char *shown;    /* the file as written; NULL: as found */
	unsigned int pythons; /* files that are one */
	bool is_program;      /* one file, by its path */
	const char *why;      /* the last one's: refused */
};

static const struct type *make_type(struct compiler *c)
{
	const struct type *text = type_string(c->arena, RT_PYTHON_TEXT), *kind = type_string(c->arena, 8);
	struct type_field *fields = arena_alloc(c->arena, 5 * sizeof(*fields));
	struct type *type = arena_alloc(c->arena, sizeof(*type));

	if (!fields || !type || !text || !kind)
		return NULL;
	fields[0] = (struct type_field){.name = "file", .type = text, .declaration = "string file"};
	fields[1] = (struct type_field){
		.name = "function", .type = text, .offset = RT_PYTHON_TEXT, .declaration = "string function"};
	fields[2] = (struct type_field){
		.name = "kind", .type = kind, .offset = 2 * RT_PYTHON_TEXT, .declaration = "string kind"};
	fields[3] = (struct type_field){.name = "first_line",
					.type = &type_int32,
					.offset = 2 * RT_PYTHON_TEXT + 8,
					.declaration = "int32 first_line"};
	fields[4] = (struct type_field){
		.name = "line", .type = &type_int32, .offset = 2 * RT_PYTHON_TEXT + 12, .declaration = "int32 line"};
	*type = (struct type){.kind = TYPE_RECORD,
			      .size = 2 * RT_PYTHON_TEXT + 16,
			      .align = 8,
			      .name = "python_function",
			      .fields = fields,
			      .field_count = 5};
	return type;
}

static void add_sites(struct python_search *search, const char *path, const struct elf_file *elf,
		      const struct python_sites *sites, const struct py_layout *layout, int event)
{
	const struct type *type = make_type(search->c);
	size_t i;

	for (i = 0; type && i < sites->at.count; i++) {
		const struct python_probe probe = {.site = sites->at.at[i], .layout = *layout};
		struct attach attach = {.path = path, .arguments = type};

		if (python_site_is_entry(&probe.site) != (event == ENTRY) ||
		    !binary_offset(elf, probe.site.vaddr, &attach.address))
			continue;
		attach.own = provider_own(search->c, &probe, sizeof(probe));
		attach.name = arena_printf(search->c->arena, "%s:%s:%s", search->self->name,
					   search->shown ? search->shown : path, events[event]);
		if (!attach.own || !attach.name)
			search->c->arena->failed = true;
		else
			provider_add_uprobe(search->c, attach);
	}
}

static void search_file(void *context, const char *path, const struct elf_file *elf);

/* Many programs are no more than a start of their library. */
static void search_library(struct python_search *search, const char *path, const struct elf_file *elf)
{
	char folder[PATH_MAX], library[PATH_MAX], *slash;

	if (!search->is_program)
		return;
	search->is_program = false;
	snprintf(folder, sizeof(folder), "%s", path);
	slash = strrchr(folder, '/');
	if (slash)
		*slash = '\0';
	if (elf_file_needed(elf, "libpython3", slash ? folder : "", library, sizeof(library)))
		binary_each(search->c, library, search_file, search);
}

static void search_file(void *context, const char *path, const struct elf_file *elf)
{
	struct python_search *search = context;
	struct python_interpreter interpreter;
	struct python_range *ranges = NULL;
	struct python_sites sites = {};
	struct diag diag = {};
	size_t count;
	int found, event;

	if (!path)
		return;
	found = python_interpreter_recognise(elf, &interpreter, &diag);
	if (!found) {
		search_library(search, path, elf);
		return;
	}
	search->pythons++;
	if (found < 0 || python_eval_ranges(elf, &interpreter, &ranges, &count, &diag) ||
	    python_sites_find(elf, &interpreter, ranges, count, &sites, &diag)) {
		search->why = arena_strdup(search->c->arena, diag.text, strlen(diag.text));
	} else {
		search->c->has_python = true;
		for (event = 0; event < EVENTS; event++)
			if (provider_matches(search->event, events[event]))
				add_sites(search, path, elf, &sites, &interpreter.layout, event);
		python_sites_deinit(&sites);
	}
	free(ranges);
}

static void find(struct compiler *c, const struct attach_text *point, struct python_search *search)
{
	const char *file = point->part_count > 2 ? point->parts[1] : NULL;

	if (!file && c->options->command_path)
		file = c->options->command_path;
	else if (point->part_count > 2)
		search->shown = strchr(file, '/') && !provider_has_wildcard(file) ? file : NULL;
	search->is_program = file && strchr(file, '/') && !provider_has_wildcard(file);
	if (file && strcmp(file, "*") != 0)
		binary_each(c, file, search_file, search);
	else if (c->options->pid)
		binary_each(c, "*", search_file, search);
	else
		binary_each_mapped(c, search_file, search);
}

static bool is_known(const char *pattern)
{
	return provider_matches(pattern, events[ENTRY]) || provider_matches(pattern, events[RETURN]);
}

static void expand_python(struct compiler *c, const struct provider *self, const struct attach_text *point)
{
	struct python_search search = {.c = c, .self = self};
	size_t before = c->attaches.count;

	if (!provider_parts(c, self, point, 1, 2))
		return;
	search.event = point->parts[point->part_count - 1];
	if (!is_known(search.event)) {
		report_error(c->report, "python.event", point->span, "Python has no probe '%s'", search.event);
		report_hint(c->report, "its probes are: %s, %s", events[ENTRY], events[RETURN]);
		return;
	}
	find(c, point, &search);
	if (search.why)
		report_warning(c->report, "python.refused", point->span, "Python's functions cannot be traced in %s",
			       search.why);
	if (c->attaches.count > before)
		return;
	if (!search.pythons)
		report_error(c->report, "python.none", point->span, "no Python %s",
			     point->part_count > 2 || c->options->command_path ? "is in this file"
			     : c->options->pid                                 ? "is in the process"
									       : "runs");
	else
		report_error(c->report, "python.none", point->span, "there is no Python whose functions can be traced");
	report_hint(c->report, "usage: %s", self->usage);
}

static void list_python(struct compiler *c, const struct provider *self, const struct attach_text *point)
{
	struct python_search search = {.c = c, .self = self, .event = "*"};

	if (point->part_count > 1 && (point->part_count > 2 || is_known(point->parts[1])))
		search.event = point->parts[point->part_count - 1];
	find(c, point, &search);
}

const struct provider provider_python = {
	.name = "python",
	.context = CONTEXT_REGISTERS,
	.computes_args = true,
	.in_task = true,
	.program_type = BPF_PROG_TYPE_KPROBE,
	.obeys_target = true,
	.runs_last_first = true,
	.expand = expand_python,
	.list = list_python,
	.configure = provider_configure_uprobe,
	.attach = provider_attach_uprobe,
	.usage = "python:[FILE:]function-entry or python:[FILE:]function-return",
};
