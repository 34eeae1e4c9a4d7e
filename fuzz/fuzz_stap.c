// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Any bytes as a SystemTap script: parsed, checked, made into instructions, and each of its bodies run on a record of
 * zeros, without a crash, in bounded time. Nothing is loaded. Only probes whose places do not depend on the machine are
 * checked.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lang/builtin/builtin.h"
#include "lang/compile.h"
#include "lang/dialect/dialect.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Aliases of the corpus begin with "own". */
static bool is_everywhere(const struct attach_text *point)
{
	static const char *const names[] = {"begin", "end", "error", "never", "timer", "own"};
	size_t i;

	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (!strcmp(names[i], point->parts[0]))
			return true;
	return false;
}

static int64_t boot_time(const struct names *names)
{
	(void)names;
	return 0;
}

static void no_stack(struct names *names, FILE *out, const struct type *type, const struct rt_stack_value *value,
		     bool json)
{
	(void)names;
	(void)type;
	(void)value;
	fputs(json ? "" : "stack\n", out);
}

static void no_symbol(struct names *names, FILE *out, uint64_t address, uint64_t pid, enum symbol_form form)
{
	(void)names;
	(void)pid;
	(void)form;
	fprintf(out, "%llx", (unsigned long long)address);
}

static void some_source(struct names *names, uint64_t address, uint64_t pid, const char **file, uint32_t *line)
{
	(void)names;
	(void)pid;
	*file = address & 1 ? "source.c" : NULL;
	*line = (uint32_t)address;
}

static void no_kernel_symbol(struct names *names, FILE *out, uint64_t address, enum symbol_form form)
{
	no_symbol(names, out, address, 0, form);
}

static void no_command(struct run *run, const char *command)
{
	(void)run;
	(void)command;
}

static void no_exit(struct run *run, int status)
{
	(void)run;
	(void)status;
}

static void run_bodies(const struct compiler *c, FILE *nowhere)
{
	static const struct print_names words = {
		.kernel_symbol = no_kernel_symbol, .user_symbol = no_symbol, .user_source = some_source,
		.boot_time = boot_time, .stack = no_stack};
	static const struct print_deeds deeds = {.system = no_command, .exit = no_exit};
	const struct printer printer = {.out = nowhere, .compiler = c, .words = &words, .deeds = &deeds};
	size_t i;

	for (i = 0; i < c->units.count && i < c->sites.count; i++) {
		const struct site *site = &c->sites.at[i];
		uint64_t place = c->units.at[i].first_attach;
		uint8_t *bytes = calloc(1, site->arguments->size + sizeof(place));

		if (!bytes)
			return;
		memcpy(bytes, &place, sizeof(place));
		c->dialect->print->record(&printer, site, bytes);
		c->dialect->print->record(&printer, site, bytes);
		free(bytes);
	}
	c->dialect->print->ended(&printer);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const parameters[] = {"5", "text"};
	static const char *const named[] = {"hide-warnings"};
	const struct compile_options options = {.dialect = &dialect_stap,
						.parameters = parameters,
						.parameter_count = 2,
						.named = named,
						.named_count = 1,
						.pid = 1};
	struct arena arena = {};
	struct report report;
	struct compiler c;
	struct gen gen;
	FILE *nowhere = fopen("/dev/null", "we");
	bool known = true;
	size_t i;

	if (size > 4096 || !nowhere) {
		if (nowhere)
			fclose(nowhere);
		return 0;
	}
	report_init(&report, &arena, "fuzz", (const char *)data, size);
	compiler_init(&c, &arena, &report, &options);
	c.dialect->parse(&c);
	for (i = 0; i < c.points.count; i++)
		known &= is_everywhere(c.points.at[i]);
	if (!report.errors && known && c.points.count < 16)
		c.dialect->check(&c);
	if (!report.errors && !arena.failed && known && c.units.count && c.units.count < 64) {
		gen_all(&gen, &c, builtin_code);
		gen_deinit(&gen);
		run_bodies(&c, nowhere);
	}
	report_print(&report, nowhere);
	fclose(nowhere);
	compiler_deinit(&c);
	report_deinit(&report);
	arena_deinit(&arena);
	return 0;
}
