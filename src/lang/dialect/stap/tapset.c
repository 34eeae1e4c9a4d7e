// SPDX-License-Identifier: GPL-2.0-or-later
/* Where aliases and functions come from besides the script: our own, those of -I, and system calls. */
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lang/dialect/stap/stap.h"
#include "lang/provider/provider.h"

#define FILE_MAX ((size_t)1 << 20)

static const char own_tapsets[] = {
#include "tapset.inc"
};

static bool parse_text(struct compiler *c, const char *name, const char *text, size_t size)
{
	const struct source *source = report_add(c->report, name, text, size);

	if (!source) {
		c->arena->failed = true;
		return false;
	}
	return stap_parse_source(c, source->begin, source->end, true);
}

static bool parse_file(struct compiler *c, const char *path)
{
	FILE *file = fopen(path, "re");
	char *text = file ? malloc(FILE_MAX + 1) : NULL;
	size_t size = text ? fread(text, 1, FILE_MAX + 1, file) : 0;
	bool ok = text && size <= FILE_MAX;

	if (!ok)
		stap_complain(c, "parse.tapset", (struct span){}, "tapset %s cannot be read: %s", path,
			      file ? "it is too large" : strerror(errno));
	else
		ok = parse_text(c, path, text, size);
	free(text);
	if (file)
		fclose(file);
	return ok;
}

static int is_tapset(const struct dirent *entry)
{
	size_t length = strlen(entry->d_name);

	return length > 4 && !strcmp(entry->d_name + length - 4, ".stp");
}

static bool parse_folder(struct compiler *c, const char *folder)
{
	struct dirent **entries;
	int count = scandir(folder, &entries, is_tapset, alphasort), i;
	char path[PATH_MAX];
	bool ok = count >= 0;

	if (!ok)
		stap_complain(c, "parse.tapset", (struct span){}, "-I %s: %s", folder, strerror(errno));
	for (i = 0; i < count; i++) {
		snprintf(path, sizeof(path), "%s/%s", folder, entries[i]->d_name);
		ok = ok && parse_file(c, path);
		free(entries[i]);
	}
	if (count >= 0)
		free(entries);
	return ok;
}

/* Does the script itself have this global variable, or use this name not at all? */
static bool is_unwanted(const struct compiler *c, const char *name)
{
	const struct stap_state *state = stap_state(c);
	size_t i, begin = c->report->script.begin;

	for (i = 0; i < state->globals.count; i++)
		if (!strcmp(state->globals.at[i]->name, name))
			return true;
	return !memmem(c->report->source + begin, c->report->script.end - begin, name, strlen(name));
}

static void write_quoted(FILE *out, const char *text)
{
	for (fputc('"', out); *text; text++)
		if (*text == '"' || *text == '\\' || (unsigned char)*text < ' ')
			fprintf(out, "\\%03o", (unsigned int)(unsigned char)*text);
		else
			fputc(*text, out);
	fputc('"', out);
}

/* argc, and argv[1] and so on: the arguments of the script, set before any other probe. */
static bool add_arguments(struct compiler *c)
{
	const struct compile_options *options = c->options;
	bool has_count = !is_unwanted(c, "argc"), has_texts = !is_unwanted(c, "argv"), ok;
	char *text = NULL;
	size_t size = 0;
	FILE *out;
	uint32_t i;

	if (!has_count && !has_texts)
		return true;
	out = open_memstream(&text, &size);
	if (!out)
		return false;
	if (has_count)
		fprintf(out, "global argc = %u\n", options->parameter_count);
	if (has_texts) {
		fputs("global argv\nprobe begin(-9223372036854775807) {\nargv[0] = \"\"\n", out);
		for (i = 0; i < options->parameter_count; i++) {
			fprintf(out, "argv[%u] = ", i + 1);
			write_quoted(out, options->parameters[i]);
			fputc('\n', out);
		}
		fputs("delete argv[0]\n}\n", out);
	}
	fclose(out);
	ok = parse_text(c, "arguments", text, size);
	free(text);
	return ok;
}

bool stap_load_tapsets(struct compiler *c)
{
	uint32_t i;

	stap_state(c)->is_own = true;
	if (!parse_text(c, "tapset", own_tapsets, sizeof(own_tapsets)) || !add_arguments(c))
		return false;
	stap_state(c)->is_own = false;
	for (i = 0; i < c->options->include_folder_count; i++)
		if (!parse_folder(c, c->options->include_folders[i]))
			return false;
	return true;
}

/* --- system calls --- */

static bool has_alias(const struct compiler *c, const char *name, bool is_return)
{
	const struct stap_state *state = stap_state(c);
	size_t i;

	for (i = 0; i < state->aliases.count; i++) {
		const struct stap_point *point = &state->aliases.at[i]->name;

		if (point->part_count == (is_return ? 3u : 2u) && !strcmp(point->parts[0].name, "syscall") &&
		    !strcmp(point->parts[1].name, name))
			return true;
	}
	return false;
}

/* Words that cannot be variables, and what the alias itself has. */
static bool is_taken(const char *name)
{
	static const char *const words[] = {"name",     "argc", "argv",     "argstr", "in",   "next", "global", "probe",
					    "function", "if",     "else", "for",  "long",   "string",
					    "return",   "delete", "try",  "catch"};
	size_t i;

	for (i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (!strcmp(words[i], name))
			return true;
	return false;
}

static bool is_text(const struct type_field *field)
{
	return field->type->kind == TYPE_POINTER && field->type->to && field->type->to->is_char &&
	       (strstr(field->name, "name") || strstr(field->name, "path"));
}

/* Is it an int, of which the record has the low half? Descriptors and ids are negative for what is none. */
static bool is_id(const struct type_field *field)
{
	static const char *const names[] = {"fd",   "dfd",  "olddfd", "newdfd", "oldfd", "newfd", "dirfd", "fd_in",
					    "fd_out", "in_fd", "out_fd", "pid",    "tgid",  "pgid",  "which", "upid"};
	size_t i;

	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (!strcmp(names[i], field->name))
			return field->type->kind == TYPE_INT;
	return false;
}

static bool is_folder(const struct type_field *field)
{
	return is_id(field) && strstr(field->name, "dfd");
}

/* The function of syscalls.stp that writes this argument of the call; NULL: it is written by its type. */
static const char *shown_by(const char *call, const struct type_field *field)
{
	static const struct {
		const char *call, *field, *function;
	} table[] = {
		{"access", "mode", "__access_mode"},
		{"accept4", "flags", "__socket_flags"},
		{"chmod", "mode", "__mode"},
		{"clone", "clone_flags", "__clone_flags"},
		{"creat", "mode", "__mode"},
		{"dup3", "flags", "__fd_flags"},
		{"epoll_create1", "flags", "__fd_flags"},
		{"eventfd2", "flags", "__fd_flags"},
		{"faccessat", "mode", "__access_mode"},
		{"faccessat2", "mode", "__access_mode"},
		{"fchmod", "mode", "__mode"},
		{"fchmodat", "mode", "__mode"},
		{"fcntl", "cmd", "__fcntl_cmd"},
		{"futex", "op", "__futex_op"},
		{"kill", "sig", "__signal"},
		{"lseek", "whence", "__whence"},
		{"madvise", "behavior", "__madvise"},
		{"mkdir", "mode", "__mode"},
		{"mkdirat", "mode", "__mode"},
		{"mmap", "flags", "__mmap_flags"},
		{"mmap", "prot", "__prot_flags"},
		{"mprotect", "prot", "__prot_flags"},
		{"pipe2", "flags", "__fd_flags"},
		{"pkey_mprotect", "prot", "__prot_flags"},
		{"rt_sigaction", "sig", "__signal"},
		{"rt_sigprocmask", "how", "__sigmask_how"},
		{"socket", "family", "__socket_family"},
		{"socket", "type", "__socket_type"},
		{"socketpair", "family", "__socket_family"},
		{"socketpair", "type", "__socket_type"},
		{"tgkill", "sig", "__signal"},
		{"tkill", "sig", "__signal"},
		{"umask", "mask", "__mode"},
		{"unshare", "unshare_flags", "__clone_flags"},
		{"wait4", "options", "__wait_options"},
	};
	size_t i;

	for (i = 0; i < sizeof(table) / sizeof(table[0]); i++)
		if (!strcmp(table[i].field, field->name) && !strcmp(table[i].call, call))
			return table[i].function;
	return NULL;
}

/* probe syscall.read = kernel.trace("syscalls:sys_enter_read") { name = "read" fd = $fd ... argstr = sprintf(...) } */
static void write_entry(FILE *out, const char *name, const struct type *record)
{
	uint32_t i;

	fprintf(out, "probe syscall.%s = kernel.trace(\"syscalls:sys_enter_%s\") {\nname = \"%s\"\n", name, name, name);
	for (i = 1; record && i < record->field_count; i++) {
		const struct type_field *field = &record->fields[i];

		if (is_text(field))
			fprintf(out, "%s_uaddr = $%s\n", field->name, field->name);
		if (!is_taken(field->name))
			fprintf(out,
				is_text(field) ? "%s = user_string_unquoted($%s)\n"
				: is_id(field) ? "%s = $%s << 32 >> 32\n"
					       : "%s = $%s\n",
				field->name, field->name);
		if (is_folder(field))
			fprintf(out, "%s_str = __dfd_str($%s << 32 >> 32)\n", field->name, field->name);
		if (field->type->kind == TYPE_POINTER && !is_text(field))
			fprintf(out, "%s_uaddr = $%s\n", field->name, field->name);
	}
	fputs("argstr = sprintf(\"", out);
	for (i = 1; record && i < record->field_count; i++)
		fprintf(out, "%s%s", i > 1 ? ", " : "",
			is_text(&record->fields[i]) || is_folder(&record->fields[i]) ||
					shown_by(name, &record->fields[i])
				? "%s"
			: record->fields[i].type->kind == TYPE_POINTER ? "%#x"
								       : "%d");
	fputc('"', out);
	for (i = 1; record && i < record->field_count; i++) {
		const char *function = shown_by(name, &record->fields[i]);

		if (function)
			fprintf(out, ", %s($%s)", function, record->fields[i].name);
		else
			fprintf(out,
				is_text(&record->fields[i])     ? ", user_string_quoted($%s)"
				: is_folder(&record->fields[i]) ? ", __dfd_str($%s << 32 >> 32)"
				: is_id(&record->fields[i])     ? ", $%s << 32 >> 32"
								: ", $%s",
				record->fields[i].name);
	}
	fputs(")\n}\n", out);
}

static void write_return(FILE *out, const char *name)
{
	fprintf(out,
		"probe syscall.%s.return = kernel.trace(\"syscalls:sys_exit_%s\") {\n"
		"name = \"%s\"\nretval = $ret\nret = $ret\nretstr = __retstr($ret)\n}\n",
		name, name, name);
}

/* What the kernel has of it: the attaches from `first` on. */
static void write_aliases(struct compiler *c, size_t first, bool is_return, FILE *out)
{
	const char *mark = is_return ? ":sys_exit_" : ":sys_enter_";
	size_t i;

	for (i = first; i < c->attaches.count; i++) {
		const char *name = strstr(c->attaches.at[i].name, mark);

		if (!name || has_alias(c, name + strlen(mark), is_return))
			continue;
		if (is_return)
			write_return(out, name + strlen(mark));
		else
			write_entry(out, name + strlen(mark), c->attaches.at[i].arguments);
	}
}

void stap_make_syscalls(struct compiler *c, const char *pattern, bool is_return, struct span span)
{
	const char *parts[3] = {"tracepoint", "syscalls",
				arena_printf(c->arena, is_return ? "sys_exit_%s" : "sys_enter_%s", pattern)};
	const struct action action = {.span = span, .uses = USES_ARGS};
	struct attach_text point = {.span = span, .parts = parts, .part_count = 3};
	size_t first = c->attaches.count, units = c->units.count, complaints = c->report->complaints.count, size = 0;
	unsigned int errors = c->report->errors;
	char *text = NULL;
	FILE *out;

	if (!parts[2])
		return;
	provider_expand(c, &action, &point);
	out = open_memstream(&text, &size);
	if (out) {
		write_aliases(c, first, is_return, out);
		fclose(out);
		stap_state(c)->is_own = true;
		if (size)
			parse_text(c, "syscalls", text, size);
		stap_state(c)->is_own = false;
	}
	free(text);
	c->attaches.count = first;
	c->units.count = units;
	if (c->report->errors > errors && !size) {
		c->report->complaints.count = complaints;
		c->report->errors = errors;
	}
}
