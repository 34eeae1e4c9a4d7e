// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Any bytes as a D program: parsed, checked and made into instructions without a crash, in bounded time. Nothing is
 * loaded. Only probes whose places do not depend on the machine are checked.
 */
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "lang/builtin/builtin.h"
#include "lang/compile.h"
#include "lang/dialect/dialect.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool is_everywhere(const struct attach_text *point)
{
	static const char *const names[] = {"BEGIN", "END", "ERROR"};
	const char *name = point->parts[3];
	size_t i;

	if (*point->parts[0] && strcmp(point->parts[0], "dtrace") && strcmp(point->parts[0], "profile"))
		return false;
	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (!strcmp(names[i], name))
			return true;
	return !strncmp(name, "tick-", 5) || !strncmp(name, "profile-", 8);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const parameters[] = {"5", "text"};
	const struct compile_options options = {
		.dialect = &dialect_d, .parameters = parameters, .parameter_count = 2, .unsafe = true, .pid = 1};
	struct arena arena = {};
	struct report report;
	struct compiler c;
	struct gen gen;
	FILE *nowhere;
	bool known = true;
	size_t i;

	if (size > 4096)
		return 0;
	report_init(&report, &arena, "fuzz", (const char *)data, size);
	compiler_init(&c, &arena, &report, &options);
	c.dialect->parse(&c);
	for (i = 0; i < c.points.count; i++)
		known &= is_everywhere(c.points.at[i]);
	if (!report.errors && known && c.points.count < 16)
		c.dialect->check(&c);
	if (!report.errors && !arena.failed && known && c.units.count < 64) {
		gen_all(&gen, &c, builtin_code);
		gen_deinit(&gen);
	}
	nowhere = fopen("/dev/null", "we");
	if (nowhere) {
		report_print(&report, nowhere);
		fclose(nowhere);
	}
	compiler_deinit(&c);
	report_deinit(&report);
	arena_deinit(&arena);
	return 0;
}
