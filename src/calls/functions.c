// SPDX-License-Identifier: GPL-2.0-or-later
#include "calls/functions.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "base/strings.h"
#include "base/table.h"
#include "base/vec.h"

struct functions {
	const char *from, *match;
	struct string_pool *names;
	struct table by_code, by_name; /* ─► index + 1 */
	VEC(struct function *) at;     /* the first one stands for what is not known */
	struct function *others;       /* when there are too many; NULL: there are not */
	uint64_t refused;
};

static struct function *add(struct functions *functions, const char *name, const char *file, int line)
{
	struct function *function = calloc(1, sizeof(*function));

	if (!function || vec_push(&functions->at, function)) {
		free(function);
		return NULL;
	}
	*function =
		(struct function){.name = name, .file = file, .line = line, .index = (uint32_t)functions->at.count - 1};
	function->is_from = functions->from && function_is_named(function, functions->from);
	function->is_matched = !functions->match || !fnmatch(functions->match, name, 0) ||
			       (strchr(functions->match, '/') && !fnmatch(functions->match, file, 0));
	return function;
}

struct functions *functions_create(const char *from, const char *match)
{
	struct functions *functions = calloc(1, sizeof(*functions));

	if (!functions)
		return NULL;
	*functions = (struct functions){.from = from, .match = match, .names = string_pool_create()};
	if (functions->names && add(functions, "[unknown function]", "", 0))
		return functions;
	functions_destroy(functions);
	return NULL;
}

void functions_destroy(struct functions *functions)
{
	size_t i;

	for (i = 0; functions && i < functions->at.count; i++)
		free(functions->at.at[i]);
	if (functions) {
		vec_free(&functions->at);
		table_deinit(&functions->by_code);
		table_deinit(&functions->by_name);
		string_pool_destroy(functions->names);
	}
	free(functions);
}

static uint64_t mix(uint64_t hash, uint64_t value)
{
	hash = (hash ^ value) * 0x9e3779b97f4a7c15ull;
	return hash ^ hash >> 32;
}

static struct function *find_or_add(struct functions *functions, const char *name, const char *file, int line)
{
	/* Equal strings of the pool have equal addresses. */
	uint64_t key = mix(mix(mix(1, (uintptr_t)name), (uintptr_t)file), (uint32_t)line), index;
	struct function *function;

	key |= !key;
	if (table_get(&functions->by_name, key, &index))
		return functions->at.at[index];
	if (functions->at.count >= FUNCTIONS_MAX) {
		functions->refused++;
		if (!functions->others)
			functions->others = add(functions, "[other functions]", "", 0);
		return functions->others;
	}
	function = add(functions, name, file, line);
	return function && !table_set(&functions->by_name, key, function->index) ? function : NULL;
}

int functions_add(struct functions *functions, const struct rt_call_code *code)
{
	const char *name = string_intern_bytes(functions->names, code->name, strnlen(code->name, sizeof(code->name)));
	const char *file = string_intern_bytes(functions->names, code->file, strnlen(code->file, sizeof(code->file)));
	struct function *function;

	if (!name || !file || !code->code)
		return -ENOMEM;
	if (!*name)
		return 0;
	function = find_or_add(functions, name, file, code->first_line);
	return function && !table_set(&functions->by_code, code->code, function->index) ? 0 : -ENOMEM;
}

struct function *functions_find(const struct functions *functions, uint64_t code)
{
	uint64_t index = 0;

	if (code)
		table_get(&functions->by_code, code, &index);
	return functions->at.at[index];
}

size_t functions_count(const struct functions *functions)
{
	return functions->at.count;
}

struct function *functions_at(const struct functions *functions, size_t index)
{
	return functions->at.at[index];
}

uint64_t functions_refused(const struct functions *functions)
{
	return functions->refused;
}

/* Is the file this one, or does its path end with that? */
static bool is_in(const char *path, const char *file, size_t size)
{
	size_t length = strlen(path);

	return length >= size && !memcmp(path + length - size, file, size) &&
	       (length == size || path[length - size - 1] == '/');
}

bool function_is_named(const struct function *function, const char *name)
{
	const char *last = strrchr(function->name, '.'), *colon = strrchr(name, ':');

	if (colon && !is_in(function->file, name, (size_t)(colon - name)))
		return false;
	name = colon ? colon + 1 : name;
	return !strcmp(function->name, name) || (last && !strcmp(last + 1, name));
}
