/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * compile: a script to a BPF object and the description of what it prints. The pipeline is compile.c: a dialect parses,
 * checks and lowers the script to the core (core/core.h), the generator makes BPF instructions of it (gen/gen.h), and
 * they are linked with the runtime library (gen/object.h). Anything complicated, such as stack walks, strings and
 * histograms, is a call into that library.
 *
 * printf() and its like send bytes. The site's description, which stays in the compiler's output, says what the bytes
 * are.
 *
 * Nothing is loaded here, and only reading what attach points mean (tracefs, ELF files) needs root. Not thread-safe.
 */
#ifndef STRATA_LANG_COMPILE_H
#define STRATA_LANG_COMPILE_H

#include <stdio.h>

#include "base/diag.h"
#include "lang/core/compiler.h"

struct compile_dump {
	bool ast, types, core, instructions;
	FILE *out;
};

struct compilation {
	struct arena arena;
	struct report report;
	struct compiler compiler;
	void *object; /* malloc'd */
	size_t object_size;
};

/* The state of one compilation, which lang_compile() makes and goes through; by itself for tests and lists. */
void compiler_init(struct compiler *compiler, struct arena *arena, struct report *report,
		   const struct compile_options *options);
void compiler_deinit(struct compiler *compiler);

/*
 * Compiles `size` bytes of source called `name`. -EINVAL with the complaints in ret->report when the script is wrong;
 * other errors with a diag. compilation_deinit() follows in any case.
 */
int lang_compile(const char *name, const char *source, size_t size, const struct compile_options *options,
		 const struct compile_dump *dump, struct compilation *ret, struct diag *diag);

/* Writes what a script's probes mean, as its language lists that. The rest is as with lang_compile(). */
int lang_places(const char *name, const char *source, size_t size, const struct compile_options *options, FILE *out,
		struct compilation *ret);

/*
 * Formats a script in the style of its dialect, to `out`. -EINVAL, with the complaints on `errors`, when it does not
 * parse, or when formatting would change its meaning; then nothing was written. -ENOTSUP: its language has no style.
 */
int lang_format(const char *name, const char *source, size_t size, const struct compile_options *options, FILE *out,
		FILE *errors);

/*
 * Writes a script in bpftrace's language to `out`; comments in it mark what that cannot say: their number is in *marks.
 * Nothing is asked of the probes. -EINVAL, with the complaints on `errors`, when the script does not parse; -ENOTSUP:
 * its language is bpftrace's. Then nothing was written.
 */
int lang_translate(const char *name, const char *source, size_t size, const struct compile_options *options, FILE *out,
		   FILE *errors, unsigned int *marks);

void compilation_deinit(struct compilation *compilation);

#endif
