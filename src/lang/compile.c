// SPDX-License-Identifier: GPL-2.0-or-later
#include "lang/compile.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/foreign.h"
#include "lang/builtin/builtin.h"
#include "lang/dialect/dialect.h"
#include "lang/gen/object.h"
#include "lang/kernel/bpf_functions.h"
#include "lang/kernel/kernel_functions.h"
#include "lang/kernel/kernel_types.h"
#include "lang/provider/binary_types.h"
#include "lang/provider/python.h"
#include "lang/translate/translate.h"

static void take_over(struct compiler *c, const struct compiler *first)
{
	size_t i;

	for (i = 0; i < first->attaches.count; i++)
		if (vec_push(&c->attaches, first->attaches.at[i]))
			c->arena->failed = true;
	for (i = 0; i < first->sites.count; i++)
		if (vec_push(&c->sites, first->sites.at[i]))
			c->arena->failed = true;
}

void compiler_init(struct compiler *c, struct arena *arena, struct report *report,
		   const struct compile_options *options)
{
	*c = (struct compiler){.arena = arena,
			       .report = report,
			       .options = options,
			       .dialect = options->dialect ? options->dialect : &dialect_bpftrace};
	types_init(&c->types, arena);
	if (options->first)
		take_over(c, options->first);
	c->dialect->begin(c);
}

void compiler_deinit(struct compiler *c)
{
	binary_types_close(c);
	provider_python_close(c);
	c->dialect->end(c);
	types_deinit(&c->types);
	vec_free(&c->points);
	vec_free(&c->maps);
	vec_free(&c->sites);
	vec_free(&c->units);
	vec_free(&c->attaches);
	vec_free(&c->wanted);
	kernel_functions_destroy(c->kernel_functions);
	bpf_functions_destroy(c->bpf_functions);
	table_deinit(&c->mapped);
	foreign_files_destroy(c->files);
}

const struct dialect *dialect_find(const char *name)
{
	static const struct dialect *const all[] = {&dialect_bpftrace, &dialect_d, &dialect_stap};
	size_t i;

	for (i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		if (!strcmp(all[i]->name, name))
			return all[i];
	return NULL;
}

static int generate(struct compilation *ret, const struct compile_dump *dump, struct diag *diag)
{
	struct compiler *c = &ret->compiler;
	struct gen gen;
	int err = 0;
	size_t i;

	if (!gen_all(&gen, c, builtin_code))
		err = -EINVAL;
	for (i = 0; !err && dump->instructions && i < gen.functions.count; i++) {
		if (gen.functions.at[i].name)
			fprintf(dump->out, "program %s\n", gen.functions.at[i].name);
		else
			fprintf(dump->out, "function %zu\n", i);
		code_print(dump->out, &gen.functions.at[i].code);
	}
	if (!err)
		err = object_build(&gen, &ret->object, &ret->object_size, diag);
	gen_deinit(&gen);
	binary_types_close(c);
	return err;
}

int lang_compile(const char *name, const char *source, size_t size, const struct compile_options *options,
		 const struct compile_dump *dump, struct compilation *ret, struct diag *diag)
{
	struct compiler *c = &ret->compiler;
	int err = 0;

	*ret = (struct compilation){};
	report_init(&ret->report, &ret->arena, name, source, size);
	ret->report.hide_warnings = options->hide_warnings;
	compiler_init(c, &ret->arena, &ret->report, options);
	kernel_types_attach(&c->types);
	c->dialect->parse(c);
	if (dump->ast && !ret->report.errors && !ret->arena.failed && c->dialect->print_tree)
		c->dialect->print_tree(c, dump->out);
	if (!ret->report.errors)
		c->dialect->check(c);
	if (dump->types && !ret->report.errors && !ret->arena.failed && c->dialect->print_types)
		c->dialect->print_types(c, dump->out);
	if (!ret->report.errors && !ret->arena.failed)
		python_want_names(c);
	if (dump->core && !ret->report.errors && !ret->arena.failed)
		compiler_print(c, dump->out);
	if (!ret->report.errors && !ret->arena.failed && c->units.count)
		err = generate(ret, dump, diag);
	if (ret->arena.failed)
		return diag_fail(diag, ENOMEM, "compile.memory", "out of memory while compiling");
	return ret->report.errors ? -EINVAL : err;
}

int lang_places(const char *name, const char *source, size_t size, const struct compile_options *options, FILE *out,
		struct compilation *ret)
{
	struct compiler *c = &ret->compiler;

	*ret = (struct compilation){};
	report_init(&ret->report, &ret->arena, name, source, size);
	compiler_init(c, &ret->arena, &ret->report, options);
	kernel_types_attach(&c->types);
	c->dialect->parse(c);
	if (!ret->report.errors)
		c->dialect->check(c);
	if (!ret->report.errors && !ret->arena.failed)
		c->dialect->list(c, out);
	return ret->arena.failed ? -ENOMEM : ret->report.errors ? -EINVAL : 0;
}

/* What $1 and its like are does not matter here, but that they are there. */
static const char *const any_parameters[] = {"1", "1", "1", "1", "1", "1", "1", "1", "1", "1",
					     "1", "1", "1", "1", "1", "1", "1", "1", "1", "1"};

/* The text is for free(). */
static int format_once(const char *name, const char *source, size_t size, const struct compile_options *options,
		       char **ret, size_t *ret_size, FILE *errors)
{
	struct compilation compilation = {};
	struct report *report = &compilation.report;
	FILE *out = open_memstream(ret, ret_size);
	int err;

	if (!out)
		return -ENOMEM;
	report_init(report, &compilation.arena, name, source, size);
	compiler_init(&compilation.compiler, &compilation.arena, report, options);
	kernel_types_attach(&compilation.compiler.types);
	compilation.compiler.dialect->parse(&compilation.compiler);
	if (!report->errors)
		compilation.compiler.dialect->format(report, out);
	err = compilation.arena.failed ? -ENOMEM : report->errors ? -EINVAL : 0;
	if (fclose(out))
		err = -ENOMEM;
	if (err && errors)
		report_print(report, errors);
	compilation_deinit(&compilation);
	return err;
}

int lang_format(const char *name, const char *source, size_t size, const struct compile_options *options, FILE *out,
		FILE *errors)
{
	struct compile_options any = *options;
	char *once = NULL, *twice = NULL;
	size_t once_size = 0, twice_size = 0;
	int err;

	if (options->dialect && !options->dialect->format)
		return -ENOTSUP;
	any.may_be_empty = true;
	any.parameters = any_parameters;
	any.parameter_count = sizeof(any_parameters) / sizeof(any_parameters[0]);
	err = format_once(name, source, size, &any, &once, &once_size, errors);
	/* Where blank space has a meaning that the formatter does not know of, the script stays as it is. */
	if (!err && (format_once(name, once, once_size, &any, &twice, &twice_size, NULL) || once_size != twice_size ||
		     memcmp(once, twice, once_size) != 0)) {
		fprintf(errors, "%s: ERROR: this script cannot be formatted: it would not stay the same script\n",
			name);
		err = -EINVAL;
	}
	if (!err)
		fwrite(once, 1, once_size, out);
	free(once);
	free(twice);
	return err;
}

int lang_translate(const char *name, const char *source, size_t size, const struct compile_options *options, FILE *out,
		   FILE *errors, unsigned int *marks)
{
	struct compilation compilation = {};
	struct compiler *c = &compilation.compiler;
	struct compile_options any = *options;
	struct translation translation;
	int err;

	if (!options->dialect || !options->dialect->translate)
		return -ENOTSUP;
	if (!any.parameter_count) {
		any.parameters = any_parameters;
		any.parameter_count = sizeof(any_parameters) / sizeof(any_parameters[0]);
	}
	report_init(&compilation.report, &compilation.arena, name, source, size);
	compiler_init(c, &compilation.arena, &compilation.report, &any);
	kernel_types_attach(&c->types);
	translation_init(&translation, c);
	c->dialect->parse(c);
	if (!compilation.report.errors && !compilation.arena.failed)
		c->dialect->translate(c, &translation);
	err = compilation.arena.failed ? -ENOMEM : compilation.report.errors ? -EINVAL : 0;
	if (!err) {
		translation_write(&translation, out);
		*marks = translation.marked;
	} else {
		report_print(&compilation.report, errors);
	}
	translation_deinit(&translation);
	compilation_deinit(&compilation);
	return err;
}

void compilation_deinit(struct compilation *compilation)
{
	kernel_types_detach(&compilation->compiler.types);
	compiler_deinit(&compilation->compiler);
	report_deinit(&compilation->report);
	free(compilation->object);
	arena_deinit(&compilation->arena);
}
