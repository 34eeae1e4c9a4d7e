// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The scripts of tests/lang/golden: what they are in the core (NAME.core) and in instructions (NAME.code), without a
 * kernel. GOLDEN_UPDATE=1 writes these files anew, for review.
 */
#include <glob.h>
#include <stdlib.h>
#include <string.h>

#include "lang/builtin/builtin.h"
#include "lang/compile.h"
#include "lang/dialect/dialect.h"
#include "lang/gen/gen.h"
#include "tap.h"

#define TEXT_MAX (1u << 20)

/* A file's text into malloc'd memory; "" when it is not there. */
static char *text_of(const char *path)
{
	FILE *file = fopen(path, "re");
	char *text = calloc(1, TEXT_MAX);

	if (file && text)
		text[fread(text, 1, TEXT_MAX - 1, file)] = '\0';
	if (file)
		fclose(file);
	return text;
}

static void print_code(const struct gen *gen, FILE *out)
{
	size_t i;

	for (i = 0; i < gen->functions.count; i++) {
		if (gen->functions.at[i].name)
			fprintf(out, "program %s\n", gen->functions.at[i].name);
		else
			fprintf(out, "function %zu\n", i);
		code_print(out, &gen->functions.at[i].code);
	}
}

/* The core, and the code; complaints if there are any. */
static void compile(const char *source, const struct dialect *dialect, char *core, char *code)
{
	const struct compile_options options = {.dialect = dialect};
	FILE *core_out = fmemopen(core, TEXT_MAX, "w"), *code_out = fmemopen(code, TEXT_MAX, "w");
	struct arena arena = {};
	struct report report;
	struct compiler c;
	struct gen gen;

	report_init(&report, &arena, "golden", source, strlen(source));
	compiler_init(&c, &arena, &report, &options);
	c.dialect->parse(&c);
	if (!report.errors)
		c.dialect->check(&c);
	if (!report.errors) {
		compiler_print(&c, core_out);
		if (gen_all(&gen, &c, builtin_code))
			print_code(&gen, code_out);
		gen_deinit(&gen);
	}
	report_print(&report, core_out);
	fclose(core_out);
	fclose(code_out);
	compiler_deinit(&c);
	report_deinit(&report);
	arena_deinit(&arena);
}

static void show_difference(const char *got, const char *expected)
{
	size_t at = 0, begin, line = 1;

	for (; got[at] && got[at] == expected[at]; at++)
		line += got[at] == '\n';
	for (begin = at; begin && got[begin - 1] != '\n'; begin--)
		;
	printf("# line %zu is    %.*s\n", line, (int)strcspn(got + begin, "\n"), got + begin);
	printf("# line %zu was   %.*s\n", line, (int)strcspn(expected + begin, "\n"), expected + begin);
}

static void hold(const char *script, const char *suffix, const char *got)
{
	const char *name = strrchr(script, '/') + 1;
	char path[4096];
	char *expected;
	bool same;
	FILE *file;

	snprintf(path, sizeof(path), "%.*s%s", (int)(strrchr(script, '.') - script), script, suffix);
	file = getenv("GOLDEN_UPDATE") ? fopen(path, "we") : NULL;
	if (file) {
		fputs(got, file);
		fclose(file);
	}
	expected = text_of(path);
	same = expected && *expected && !strcmp(expected, got);
	ok(same, "%s: %s", name, suffix);
	if (!same && expected)
		show_difference(got, expected);
	free(expected);
}

static void hold_all(const char *pattern, const struct dialect *dialect, char *core, char *code)
{
	glob_t scripts;
	char *source;
	size_t i;

	if (glob(pattern, 0, NULL, &scripts)) {
		ok(false, "there are scripts: %s", pattern);
		return;
	}
	for (i = 0; i < scripts.gl_pathc; i++) {
		source = text_of(scripts.gl_pathv[i]);
		*core = *code = '\0';
		compile(source, dialect, core, code);
		hold(scripts.gl_pathv[i], ".core", core);
		hold(scripts.gl_pathv[i], ".code", code);
		free(source);
	}
	globfree(&scripts);
}

int main(void)
{
	char *core = calloc(1, TEXT_MAX), *code = calloc(1, TEXT_MAX);

	if (!core || !code)
		return 1;
	hold_all(TEST_DIR "/lang/golden/*.bt", NULL, core, code);
	hold_all(TEST_DIR "/lang/golden/*.d", &dialect_d, core, code);
	hold_all(TEST_DIR "/lang/golden/*.stp", &dialect_stap, core, code);
	free(core);
	free(code);
	return tap_done();
}
