// SPDX-License-Identifier: GPL-2.0-or-later
#include "lang/list.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lang/dialect/dialect.h"
#include "lang/kernel/kernel_types.h"
#include "lang/provider/binary_arguments.h"
#include "lang/provider/provider.h"
#include "profile/text.h"

#define PARTS_MAX 16

/* Names and declarations are what files say. */
static void print_line(FILE *out, const char *before, const char *text)
{
	fputs(before, out);
	text_print(out, text, strlen(text));
	fputc('\n', out);
}

/* The type of a parameter, which its declaration begins with, and `argN` for its name. */
static void print_numbered(const struct type_field *field, uint32_t number, FILE *out)
{
	size_t size = field->declaration ? strlen(field->declaration) - strlen(field->name) : 0;

	fputs("    ", out);
	text_print(out, field->declaration, size);
	fprintf(out, "arg%u\n", number);
}

/* What kprobes have by number. */
static void print_registers(struct compiler *c, const struct attach *attach, FILE *out)
{
	struct type_field result = {};
	const struct type *arguments = kernel_types_function(&c->types, "vmlinux", attach->function, &result);
	uint32_t i;

	if (!arguments)
		return;
	if (strncmp(attach->name, "kretprobe:", 10) != 0)
		for (i = 0; i < arguments->field_count; i++)
			print_numbered(&arguments->fields[i], i, out);
	else if (result.type->kind == TYPE_NONE)
		fputs("    void\n", out);
	else
		print_line(out, "    ", result.declaration ? result.declaration : "");
}

static void print_place(struct compiler *c, struct attach *attach, bool verbose, FILE *out)
{
	const struct type *record = attach->arguments;
	const struct binary_arguments *parameters;
	const struct type_field *field;
	uint32_t i;

	print_line(out, "", attach->name);
	parameters = verbose && (attach->flags & ATTACH_PARAMETERS) ? binary_arguments(c, attach) : NULL;
	for (i = 0; parameters && i < parameters->count; i++)
		print_line(out, "    ", parameters->at[i].declaration);
	if (verbose && (attach->flags & ATTACH_OF_KERNEL))
		print_registers(c, attach, out);
	for (i = 0; verbose && record && i < record->field_count; i++) {
		field = &record->fields[i];
		if (field->declaration)
			print_line(out, "    ", field->declaration);
		else
			fprintf(out, "    %s %s\n", type_describe(c->arena, field->type), field->name);
	}
}

static int print_places(struct compiler *c, bool verbose, FILE *out)
{
	size_t i;
	int count = 0;

	for (i = 0; i < c->attaches.count; i++) {
		/* A marker may have several places of one name. */
		if (i && !strcmp(c->attaches.at[i].name, c->attaches.at[i - 1].name))
			continue;
		print_place(c, &c->attaches.at[i], verbose, out);
		count++;
	}
	return count;
}

static bool is_type(const char *pattern)
{
	return !strncmp(pattern, "struct ", 7) || !strncmp(pattern, "union ", 6) || !strncmp(pattern, "enum ", 5);
}

static int print_type(struct compiler *c, const char *name, bool verbose, FILE *out)
{
	const struct type *type = types_find(&c->types, name);
	uint32_t i;

	if (!type)
		return 0;
	if (type->kind == TYPE_RECORD)
		types_complete(&c->types, type);
	fprintf(out, "vmlinux: %s%s\n", name, verbose ? " {" : "");
	if (!verbose)
		return 1;
	for (i = 0; i < type->field_count; i++)
		fprintf(out, "    %s %s;\n", type_describe(c->arena, type->fields[i].type),
			type->fields[i].name ? type->fields[i].name : "");
	for (i = 0; i < type->value_count; i++)
		fprintf(out, "    %s = %lld,\n", type->values[i].name, (long long)type->values[i].value);
	fputs("};\n", out);
	return 1;
}

static void list_point(struct compiler *c, const struct attach_text *point)
{
	const struct provider *named = provider_find(point->parts[0]), *provider;
	unsigned int i;

	for (i = 0; (provider = provider_at(i)); i++)
		if (provider->list && (named ? named == provider : provider_matches(point->parts[0], provider->name)))
			provider->list(c, provider, point);
}

static int list_pattern(struct compiler *c, char *pattern, bool verbose, FILE *out)
{
	const char *parts[PARTS_MAX];
	struct attach_text point = {.parts = parts};
	char *rest = pattern, *part;

	if (is_type(pattern))
		return print_type(c, pattern, verbose, out);
	while (point.part_count < PARTS_MAX && (part = strsep(&rest, ":")))
		parts[point.part_count++] = part;
	/* "*switch*" means events of any group. */
	if (point.part_count == 1 && !provider_find(parts[0]) && provider_has_wildcard(parts[0]) &&
	    strcmp(parts[0], "*")) {
		parts[2] = parts[0];
		parts[0] = parts[1] = "*";
		point.part_count = 3;
	}
	list_point(c, &point);
	return 0;
}

static void begin(struct compilation *compilation, const char *name, const char *source, size_t size,
		  const struct compile_options *options)
{
	struct compiler *c = &compilation->compiler;

	report_init(&compilation->report, &compilation->arena, name, source, size);
	compiler_init(c, &compilation->arena, &compilation->report, options);
	kernel_types_attach(&c->types);
	c->types.declares = true;
}

int lang_list(const char *patterns, const struct compile_options *options, bool verbose, FILE *out, FILE *errors)
{
	struct compilation compilation = {};
	char *text = strdup(patterns), *rest = text, *pattern;
	int count = 0;

	begin(&compilation, "pattern", patterns, strlen(patterns), options);
	while (text && (pattern = strsep(&rest, ",")))
		count += list_pattern(&compilation.compiler, pattern, verbose, out);
	count += print_places(&compilation.compiler, verbose, out);
	report_print(&compilation.report, errors);
	compilation_deinit(&compilation);
	free(text);
	return count;
}

int lang_list_script(const char *name, const char *source, size_t size, const struct compile_options *options,
		     bool verbose, FILE *out, FILE *errors)
{
	struct compilation compilation = {};
	struct compiler *c = &compilation.compiler;
	int count = -EINVAL;
	size_t i;

	begin(&compilation, name, source, size, options);
	c->dialect->parse(c);
	for (i = 0; !compilation.report.errors && i < c->points.count; i++)
		list_point(c, c->points.at[i]);
	if (!compilation.report.errors)
		count = print_places(c, verbose, out);
	report_print(&compilation.report, errors);
	compilation_deinit(&compilation);
	return count;
}
