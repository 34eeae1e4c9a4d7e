// SPDX-License-Identifier: GPL-2.0-or-later
#include "cli/dtrace_libraries.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/path.h"
#include "cli/listing.h"
#include "cli/script.h"

static int is_library(const struct dirent *entry)
{
	size_t length = strlen(entry->d_name);

	return length > 2 && *entry->d_name != '.' && !strcmp(entry->d_name + length - 2, ".d");
}

int dtrace_libraries_read(struct dtrace_libraries *libraries, const char *folder, struct diag *diag)
{
	struct dirent **names;
	int count = scandir(folder, &names, is_library, alphasort), i, err = 0;

	for (i = 0; i < count; i++) {
		struct dtrace_library one = {};

		if (!err && asprintf(&one.path, "%s/%s", folder, names[i]->d_name) < 0)
			err = -ENOMEM;
		free(names[i]);
		if (err)
			continue;
		one.text = source_read(one.path, &one.size, diag);
		if (!one.text)
			err = -errno;
		else if (vec_push(&libraries->of, one))
			err = diag_fail(diag, ENOMEM, "dtrace.library", "out of memory");
		if (err) {
			free(one.text);
			free(one.path);
		}
	}
	if (count >= 0)
		free(names);
	return err;
}

/* The name that a line "#pragma D depends_on library NAME" has; the line becomes blanks. NULL: it is another one. */
static char *needed(char *line, size_t length)
{
	static const char *const words[] = {"#pragma", "D", "depends_on", "library"};
	char *copy = strndup(line, length), *save = NULL, *word, *ret = NULL;
	size_t i;

	word = copy ? strtok_r(copy, " \t\r", &save) : NULL;
	for (i = 0; word && i < 4 && !strcmp(word, words[i]); i++)
		word = strtok_r(NULL, " \t\r", &save);
	if (word && i == 4) {
		ret = strdup(word);
		memset(line, ' ', length);
	}
	free(copy);
	return ret;
}

static int append(struct dtrace_libraries *libraries, size_t index, char **text, size_t *size, struct diag *diag);

static int append_named(struct dtrace_libraries *libraries, size_t index, const char *name, char **text, size_t *size,
			struct diag *diag)
{
	size_t i;

	for (i = 0; i < libraries->of.count; i++)
		if (!strcmp(path_basename(libraries->of.at[i].path), name))
			return append(libraries, i, text, size, diag);
	return diag_fail(diag, ENOENT, "dtrace.library", "library %s depends on %s, which is not there",
			 libraries->of.at[index].path, name);
}

static int append(struct dtrace_libraries *libraries, size_t index, char **text, size_t *size, struct diag *diag)
{
	struct dtrace_library *one = &libraries->of.at[index];
	size_t at, length;
	int err = 0;

	if (one->is_done)
		return 0;
	if (one->is_open)
		return diag_fail(diag, ELOOP, "dtrace.library", "library %s depends on itself", one->path);
	one->is_open = true;
	for (at = 0; at < one->size && !err; at += length + 1) {
		char *name;

		length = strcspn(one->text + at, "\n");
		name = needed(one->text + at, length);
		if (name)
			err = append_named(libraries, index, name, text, size, diag);
		free(name);
	}
	if (err)
		return err;
	one->begin = *size;
	if (script_append(text, size, one->text, one->size) || vec_push(&libraries->order, index))
		return diag_fail(diag, ENOMEM, "dtrace.library", "out of memory");
	one->end = *size;
	one->is_done = true;
	return 0;
}

int dtrace_libraries_append(struct dtrace_libraries *libraries, char **text, size_t *size, struct diag *diag)
{
	size_t i;
	int err = 0;

	for (i = 0; i < libraries->of.count && !err; i++)
		err = append(libraries, i, text, size, diag);
	return err;
}

const struct dtrace_library *dtrace_libraries_find(const struct dtrace_libraries *libraries, size_t place)
{
	size_t i;

	for (i = 0; i < libraries->of.count; i++)
		if (libraries->of.at[i].is_done && place >= libraries->of.at[i].begin &&
		    place < libraries->of.at[i].end)
			return &libraries->of.at[i];
	return NULL;
}

void dtrace_libraries_deinit(struct dtrace_libraries *libraries)
{
	size_t i;

	for (i = 0; i < libraries->of.count; i++) {
		free(libraries->of.at[i].text);
		free(libraries->of.at[i].path);
	}
	vec_free(&libraries->of);
	vec_free(&libraries->order);
}
