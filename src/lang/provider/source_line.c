// SPDX-License-Identifier: GPL-2.0-or-later
#include "lang/provider/source_line.h"

#include <string.h>

#include "dwarf/lines.h"
#include "lang/core/number.h"
#include "lang/provider/binary.h"
#include "lang/provider/binary_types.h"

static bool number(const char *text, uint32_t *ret)
{
	uint64_t value;

	if (!number_parse(text, strlen(text), &value) || !value || value > INT32_MAX)
		return false;
	*ret = (uint32_t)value;
	return true;
}

bool source_line_parse(struct compiler *c, const struct attach_text *point, struct source_line *ret)
{
	const char *name = point->part_count > 1 ? point->parts[1] : "", *at = strrchr(name, '@');
	struct foreign_file *file;

	*ret = (struct source_line){};
	if (!at || at == name || !at[1] || point->part_count < 3 || point->part_count > 4 ||
	    !number(point->parts[2], &ret->line) || (point->part_count == 4 && !number(point->parts[3], &ret->column)))
		return false;
	if (!binary_open(c, name, &file)) {
		foreign_close(file);
		return false;
	}
	ret->binary = arena_strdup(c->arena, name, (size_t)(at - name));
	ret->file = at + 1;
	return ret->binary != NULL;
}

struct line_expansion {
	struct compiler *c;
	const struct provider *self;
	const struct attach_text *point;
	const struct source_line *at;
	bool has_binary;
};

static void complain(struct line_expansion *x, const char *path, enum line_answer answer,
		     const struct line_place *place)
{
	const struct source_line *at = x->at;
	struct report *report = x->c->report;

	switch (answer) {
	case LINE_NO_FILE:
		report_error(report, "probe.file", x->point->span, "%s has no code of a file %s", path, at->file);
		report_hint(report, "the file is named as the compiler was given it, or by the last parts of its path");
		return;
	case LINE_AMBIGUOUS:
		report_error(report, "probe.file", x->point->span, "%s means several files: %s and %s", at->file,
			     place->file, place->other);
		report_hint(report, "write more of its path");
		return;
	default:
		if (place->column)
			report_error(report, "probe.line", x->point->span,
				     "no statement of line %u begins at column %u of %s", at->line, at->column,
				     place->file);
		else
			report_error(report, "probe.line", x->point->span, "no statement begins on line %u of %s",
				     at->line, place->file);
		if (place->column)
			report_hint(report, "one begins at column %u", place->column);
		else if (place->before && place->after)
			report_hint(report, "the nearest lines with statements are %u and %u", place->before,
				    place->after);
		else
			report_hint(report, "the nearest line with statements is %u",
				    place->before ? place->before : place->after);
	}
}

static void expand_file(void *context, const char *path, const struct elf_file *elf)
{
	struct line_expansion *x = context;
	const struct source_line *at = x->at;
	struct attach attach = {.path = path, .flags = ATTACH_INSIDE};
	struct line_place place;
	enum line_answer answer;
	struct binary *binary;
	const char *why = NULL;

	x->has_binary = true;
	if (!path)
		return;
	binary = binary_debug_info(x->c, path, NULL, &why);
	if (!binary) {
		report_error(x->c->report, "probe.dwarf", x->point->span, "lines of source are not known: %s", why);
		report_hint(x->c->report,
			    "compile it with -g, install its debug symbols, or say with --debuginfo where they are");
		return;
	}
	answer = debug_info_line(binary_info(binary), at->file, at->line, at->column, &place);
	if (answer != LINE_FOUND) {
		complain(x, path, answer, &place);
		return;
	}
	if (!binary_is_code(elf, place.vaddr) || !binary_offset(elf, place.vaddr, &attach.address)) {
		report_error(
			x->c->report, "probe.line", x->point->span,
			"the debug information is not that of %s: line %u would be at 0x%llx, where it has no code",
			path, at->line, (unsigned long long)place.vaddr);
		return;
	}
	attach.types = binary_types(x->c, path, attach.address);
	attach.name = arena_printf(x->c->arena, "%s:%s@%s:%u", x->self->name,
				   strchr(at->binary, '/') && !provider_has_wildcard(at->binary) ? at->binary : path,
				   at->file, at->line);
	if (at->column)
		attach.name = arena_printf(x->c->arena, "%s:%u", attach.name, at->column);
	provider_add(x->c, attach);
}

bool source_line_expand(struct compiler *c, const struct provider *self, const struct attach_text *point,
			const struct source_line *at)
{
	struct line_expansion x = {.c = c, .self = self, .point = point, .at = at};

	if (self->is_return) {
		report_error(c->report, "probe.line", point->span,
			     "%s probes are at the ends of functions, not at lines", self->name);
		report_hint(c->report, "use uprobe:BINARY@FILE:LINE");
		return true;
	}
	binary_each(c, at->binary, expand_file, &x);
	return x.has_binary;
}
