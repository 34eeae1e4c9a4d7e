// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * import "PATH": a script, a header, or all of them in a folder. Their text is added to the report's text, and parsed
 * as if it stood here, so later stages know nothing of it. A file is imported once, by device and inode.
 *
 * Files that others may write to are refused: a script runs as root, and so does what it imports.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lang/dialect/bpftrace/parse/parts.h"

#define IMPORT_DEPTH_MAX 32 /* of files that import files */

struct import {
	struct parser *p;
	struct span span; /* of the path in the statement */
};

static bool ends_with(const char *text, const char *end)
{
	size_t length = strlen(text);

	return length > strlen(end) && !strcmp(text + length - strlen(end), end);
}

static bool is_script(const char *name)
{
	return ends_with(name, ".bt");
}

static bool is_header(const char *name)
{
	return ends_with(name, ".h");
}

static bool is_program(const char *name)
{
	return ends_with(name, ".bpf.c") || ends_with(name, ".bpf.o");
}

static void cannot(const struct import *import, const char *path, int error)
{
	report_error(import->p->report, "import.file", import->span, "cannot import %s: %s", path, strerror(error));
	if (error == ENOENT)
		report_hint(import->p->report, "the path is relative to the folder of the script that imports it");
}

static bool is_trusted(const struct import *import, const char *path, const struct stat *stat)
{
	if (!(stat->st_mode & S_IWOTH))
		return true;
	report_error(import->p->report, "import.writable", import->span,
		     "refused to import %s: everybody may write to %s", path,
		     S_ISDIR(stat->st_mode) ? "the folder" : "it");
	report_hint(import->p->report, "take that right away with chmod o-w, or keep the file elsewhere");
	return false;
}

static bool is_same(struct file_id a, struct file_id b)
{
	return a.device == b.device && a.inode == b.inode;
}

/* Is it a file that was not imported yet? Then it is one from now on. */
static bool note_file(const struct import *import, const char *path, struct file_id id)
{
	struct imported_files *imported = import->p->imported;
	const struct parser *importer;
	unsigned int depth = 0;
	size_t i;

	for (importer = import->p; importer; importer = importer->importer, depth++) {
		if (!is_same(importer->id, id))
			continue;
		report_error(import->p->report, "import.cycle", import->span, "%s is imported by what it imports",
			     path);
		report_hint(import->p->report, "move what both need into a file of its own");
		return false;
	}
	for (i = 0; i < imported->ids.count; i++)
		if (is_same(imported->ids.at[i], id))
			return false;
	if (depth > IMPORT_DEPTH_MAX) {
		report_error(import->p->report, "import.depth", import->span, "more than %d files import each other",
			     IMPORT_DEPTH_MAX);
		return false;
	}
	if (vec_push(&imported->ids, id))
		import->p->arena->failed = true;
	return true;
}

/* The file's text, malloc'd; NULL with a complaint. */
static char *read_text(const struct import *import, int fd, const char *path, size_t *ret)
{
	size_t used = import->p->report->size, room = used < SOURCE_MAX ? SOURCE_MAX - used : 0, size = 0;
	char *text = malloc(room + 1);
	ssize_t got = -1;

	if (text)
		while (size <= room && (got = read(fd, text + size, room + 1 - size)) > 0)
			size += (size_t)got;
	if (!text || got < 0)
		cannot(import, path, text ? errno : ENOMEM);
	else if (size > room)
		report_error(import->p->report, "import.size", import->span,
			     "the script and what it imports are longer than 1 MiB");
	if (text && got >= 0 && size <= room) {
		*ret = size;
		return text;
	}
	free(text);
	return NULL;
}

static void import_text(const struct import *import, const char *path, struct file_id id, const char *text, size_t size)
{
	struct parser *p = import->p;
	const struct source *file = report_add(p->report, path, text, size);
	struct parser inner = {.arena = p->arena,
			       .report = p->report,
			       .types = p->types,
			       .options = p->options,
			       .script = p->script,
			       .path = path,
			       .id = id,
			       .importer = p,
			       .imported = p->imported,
			       .defines = p->defines};

	if (!file)
		return;
	lexer_init(&inner.lexer, p->report, file);
	if (is_header(path))
		parse_header(&inner);
	else
		parse_file(&inner);
	if (inner.stop)
		p->stop = true;
}

static void import_file(const struct import *import, int fd, const char *path, const struct stat *stat)
{
	struct file_id id = {stat->st_dev, stat->st_ino};
	size_t size;
	char *text;

	if (!S_ISREG(stat->st_mode)) {
		report_error(import->p->report, "import.file", import->span, "cannot import %s: it is no regular file",
			     path);
		return;
	}
	if (is_program(path)) {
		report_error(import->p->report, "import.program", import->span,
			     "cannot import %s: strata has no compiler for C", path);
		report_hint(import->p->report, "write what it does as macros, in a file that ends with .bt");
		return;
	}
	if (!is_script(path) && !is_header(path)) {
		report_error(import->p->report, "import.kind", import->span,
			     "cannot import %s: only files that end with .bt or .h, and folders of them", path);
		return;
	}
	if (!is_trusted(import, path, stat) || !note_file(import, path, id))
		return;
	text = read_text(import, fd, path, &size);
	if (text)
		import_text(import, path, id, text, size);
	free(text);
}

static int is_importable(const struct dirent *entry)
{
	return is_script(entry->d_name) || is_header(entry->d_name) || is_program(entry->d_name);
}

/* Headers first, whose types the scripts may name. */
static int by_kind(const struct dirent **a, const struct dirent **b)
{
	int kinds = is_header((*b)->d_name) - is_header((*a)->d_name);

	return kinds ? kinds : strcmp((*a)->d_name, (*b)->d_name);
}

static void import_folder(const struct import *import, int folder, const char *path)
{
	struct dirent **entries;
	int count = scandirat(folder, ".", &entries, is_importable, by_kind), i;

	if (count < 0)
		cannot(import, path, errno);
	for (i = 0; i < count; i++) {
		const char *name = arena_printf(import->p->arena, "%s/%s", path, entries[i]->d_name);
		int fd = openat(folder, entries[i]->d_name, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
		struct stat stat;

		if (!name || import->p->stop)
			;
		else if (fd < 0 || fstat(fd, &stat))
			cannot(import, name, errno);
		else if (!S_ISDIR(stat.st_mode))
			import_file(import, fd, name, &stat);
		if (fd >= 0)
			close(fd);
		free(entries[i]);
	}
	if (count >= 0)
		free(entries);
}

/* Names are looked up in folders that are open, so that what was checked is what is read. */
static void import_path(const struct import *import, const char *full)
{
	const char *slash = strrchr(full, '/');
	const char *folder_path = slash ? arena_strdup(import->p->arena, full, (size_t)(slash + 1 - full)) : ".";
	int folder = folder_path ? open(folder_path, O_PATH | O_DIRECTORY | O_CLOEXEC) : -1, fd = -1;
	struct stat stat;

	if (folder < 0 || fstat(folder, &stat)) {
		cannot(import, full, errno);
	} else if (is_trusted(import, full, &stat)) {
		fd = openat(folder, slash ? slash + 1 : full, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
		if (fd < 0 || fstat(fd, &stat))
			cannot(import, full, errno);
		else if (!S_ISDIR(stat.st_mode))
			import_file(import, fd, full, &stat);
		else if (is_trusted(import, full, &stat))
			import_folder(import, fd, full);
	}
	if (fd >= 0)
		close(fd);
	if (folder >= 0)
		close(folder);
}

void parse_import(struct parser *p)
{
	const char *slash = p->path ? strrchr(p->path, '/') : NULL;
	struct import import = {.p = p};
	struct token word = parser_take(p), path = p->token;
	size_t length;
	char *full;

	if (path.kind != TOKEN_STRING || !*path.text) {
		parser_unexpected(p, "a path in quotation marks");
		return;
	}
	parser_take(p);
	if (p->in_body) {
		report_error(p->report, "import.place", span_from(p, word.span.begin),
			     "imports stand before probes, macros and maps");
		return;
	}
	import.span = path.span;
	full = arena_printf(p->arena, "%.*s%s", slash && path.text[0] != '/' ? (int)(slash + 1 - p->path) : 0,
			    p->path ? p->path : "", path.text);
	for (length = full ? strlen(full) : 0; length > 1 && full[length - 1] == '/'; length--)
		full[length - 1] = '\0';
	if (full)
		import_path(&import, full);
	parser_expect(p, ";");
}
