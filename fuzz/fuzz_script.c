// SPDX-License-Identifier: GPL-2.0-or-later
/* Any bytes as a script: parsed, checked and made into instructions without a crash, in bounded time. Nothing is
 * loaded. */
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "lang/builtin/builtin.h"
#include "lang/compile.h"
#include "lang/dialect/dialect.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const parameters[] = {"5", "text"};
	const struct compile_options options = {
		.parameters = parameters, .parameter_count = 2, .unsafe = true, .pid = 1};
	struct arena arena = {};
	struct report report;
	struct compiler c;
	struct gen gen;
	FILE *nowhere;

	if (size > 4096 || memchr(data, '/', size)) /* no paths: what they name differs from machine to machine */
		return 0;
	report_init(&report, &arena, "fuzz", (const char *)data, size);
	compiler_init(&c, &arena, &report, &options);
	c.dialect->parse(&c);
	if (!report.errors && c.points.count < 16)
		c.dialect->check(&c);
	if (!report.errors && !arena.failed && c.units.count < 64) {
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
