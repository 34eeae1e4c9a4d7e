// SPDX-License-Identifier: GPL-2.0-or-later
#include "symbol/demangle.h"

#include <libiberty/demangle.h>
#include <setjmp.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"

#define NAME_MAX_SIZE     (64 * 1024)
#define READABLE_MAX_SIZE (1024 * 1024)

struct output {
	VEC(char) text;
	jmp_buf stop;
};

/*
 * libiberty's printers go on for as long as the name tells them to, whatever the callback does: leaving by longjmp is
 * the only way to end them. The printers with callbacks allocate nothing for C++; a Rust name in Punycode may leak.
 */
static void append(const char *bytes, size_t size, void *context)
{
	struct output *output = context;

	if (output->text.count + size > READABLE_MAX_SIZE || vec_reserve(&output->text, size + 1))
		longjmp(output->stop, 1);
	memcpy(output->text.at + output->text.count, bytes, size);
	output->text.count += size;
	output->text.at[output->text.count] = '\0';
}

/* Its own function, so that no local of the caller lives across the setjmp. */
static bool print(const char *name, struct output *output)
{
	if (setjmp(output->stop))
		return false;
	/* Rust first: a legacy Rust name is a valid C++ one. */
	if (rust_demangle_callback(name, DMGL_NO_OPTS, append, output))
		return true;
	output->text.count = 0;
	return cplus_demangle_v3_callback(name, DMGL_PARAMS | DMGL_ANSI, append, output);
}

static bool looks_mangled(const char *name)
{
	return !strncmp(name, "_Z", 2) || !strncmp(name, "_R", 2) || !strncmp(name, "_GLOBAL_", 8);
}

char *demangle(const char *name)
{
	struct output output = {};
	const char *at;
	char *stem;
	bool done;

	if (!looks_mangled(name) || strnlen(name, NAME_MAX_SIZE + 1) > NAME_MAX_SIZE)
		return NULL;
	at = strchr(name, '@');
	if (!at)
		at = name + strlen(name);
	stem = strndup(name, (size_t)(at - name));
	if (!stem)
		return NULL;
	done = print(stem, &output) && output.text.count;
	free(stem);
	if (done && *at) {
		done = !vec_reserve(&output.text, strlen(at) + 1);
		if (done)
			strcpy(output.text.at + output.text.count, at);
	}
	if (!done) {
		free(output.text.at);
		return NULL;
	}
	return output.text.at;
}
