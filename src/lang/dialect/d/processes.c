// SPDX-License-Identifier: GPL-2.0-or-later
/* Places in processes: functions, and markers. */
#include <ctype.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/path.h"
#include "lang/core/number.h"
#include "lang/dialect/d/probes.h"
#include "lang/provider/binary.h"
#include "lang/provider/provider.h"

/* A provider's name that ends in a process id: how long it is without. */
static size_t base_length(const char *name, int *pid)
{
	size_t length = strlen(name), base = length;
	uint64_t number;

	while (base && isdigit((unsigned char)name[base - 1]))
		base--;
	*pid = 0;
	if (base == length || !base || !number_parse(name + base, length - base, &number) || number > INT_MAX)
		return length;
	*pid = (int)number;
	return base;
}

static const char *module_of(const struct attach *attach)
{
	return attach->path ? path_basename(attach->path) : "";
}

/* The files of a process that is not that of -p, by its mappings. */
static void each_mapped(struct making *m, int pid, void (*each)(struct making *m, const char *path))
{
	char path[64], line[PATH_MAX + 128], *last = NULL;
	FILE *maps;

	snprintf(path, sizeof(path), "/proc/%d/maps", pid);
	maps = fopen(path, "re");
	while (maps && fgets(line, sizeof(line), maps)) {
		char *file = strchr(line, '/');
		size_t length = file ? strcspn(file, "\n") : 0;

		if (!file || !strstr(line, " r-xp ") || (last && !strncmp(last, file, length) && !last[length]))
			continue;
		last = arena_strdup(m->c->arena, file, length);
		if (last)
			each(m, last);
	}
	if (maps)
		fclose(maps);
}

static bool name_marker(struct making *m, const struct attach *attach, struct d_place *place)
{
	const char *name = strrchr(attach->name, ':'), *provider = name;
	char *written, *at;

	if (!name)
		return false;
	while (provider > attach->name && provider[-1] != ':')
		provider--;
	/* function__entry is function-entry. */
	written = arena_strdup(m->c->arena, name + 1, strlen(name + 1));
	for (at = written; at && (at = strstr(at, "__")); at++) {
		*at = '-';
		memmove(at + 1, at + 2, strlen(at + 1));
	}
	place->name = written ? written : "";
	place->module = module_of(attach);
	place->function = attach->function ? attach->function : "";
	place->provider = place->pid || place->provider
				  ? arena_printf(m->c->arena, "%.*s%s", (int)(name - provider), provider,
						 place->provider ? place->provider : "")
				  : arena_strdup(m->c->arena, provider, (size_t)(name - provider));
	return place->provider && d_matches(m->probe->parts[1], place->module) &&
	       d_matches(m->probe->parts[2], place->function);
}

/* A - of D's is __ in the file, and a * whatever. */
static const char *marker_pattern(struct making *m, const char *name)
{
	char *text = arena_alloc(m->c->arena, 2 * strlen(name) + 2), *to = text;

	if (!text)
		return NULL;
	for (; *name; name++) {
		if (*name == '-')
			*to++ = '_';
		*to++ = *name == '-' ? '_' : *name;
	}
	return *text ? text : "*";
}

static const char *usdt_provider(struct making *m, int *pid)
{
	size_t length = base_length(m->probe->parts[0], pid);
	char *base = arena_strdup(m->c->arena, m->probe->parts[0], length);

	return base && *base ? base : "*";
}

static void find_usdt_in(struct making *m, const char *path)
{
	struct d_place place = {};
	const char *parts[4] = {"usdt", path, usdt_provider(m, &place.pid), marker_pattern(m, m->probe->parts[3])};

	place.is_everywhere = place.pid != m->c->options->pid;
	place.provider = place.pid ? arena_printf(m->c->arena, "%d", place.pid) : NULL;
	if (!place.is_everywhere)
		place.pid = 0; /* and what it has started */
	d_search(m, parts, 4, place, name_marker);
}

void d_find_usdt(struct making *m)
{
	const struct compile_options *options = m->c->options;
	int pid;

	usdt_provider(m, &pid);
	if (pid && pid != options->pid)
		each_mapped(m, pid, find_usdt_in);
	else if (pid && options->command_path)
		find_usdt_in(m, binary_command_program(m->c));
	else
		find_usdt_in(m, "*");
}

static bool name_function(struct making *m, const struct attach *attach, struct d_place *place)
{
	const char *plus = strrchr(attach->name, '+');

	place->function = attach->function ? attach->function : strrchr(attach->name, ':') + 1;
	place->module = strcmp(m->probe->parts[1], "a.out") ? module_of(attach) : "a.out";
	if (!place->name)
		place->name = arena_printf(m->c->arena, "%llx", plus ? strtoull(plus + 1, NULL, 0) : 0);
	return place->name != NULL;
}

static bool is_offset(const char *name)
{
	return *name && strspn(name, "0123456789abcdefABCDEF") == strlen(name);
}

static void find_functions_in(struct making *m, const char *path)
{
	const char *function = *m->probe->parts[2] ? m->probe->parts[2] : "*", *name = m->probe->parts[3];
	struct d_place place = {};
	const char *parts[3] = {"uprobe", path, function};
	char *end;

	base_length(m->probe->parts[0], &place.pid);
	place.provider = provider_has_wildcard(m->probe->parts[0]) ? arena_printf(m->c->arena, "pid%d", place.pid)
								   : m->probe->parts[0];
	place.is_everywhere = place.pid != m->c->options->pid;
	if (!place.is_everywhere)
		place.pid = 0;
	if (d_matches(name, "entry")) {
		place.name = "entry";
		d_search(m, parts, 3, place, name_function);
	}
	if (d_matches(name, "return")) {
		place.name = "return";
		parts[0] = "uretprobe";
		d_search(m, parts, 3, place, name_function);
	}
	if (is_offset(name)) {
		unsigned long long offset = strtoull(name, &end, 16);

		place.name = NULL;
		parts[2] = arena_printf(m->c->arena, "%s+%llu", function, offset);
		d_search(m, parts, 3, place, name_function);
	}
}

static const char *executable_of(struct making *m, int pid)
{
	char path[64], target[PATH_MAX];
	ssize_t length;

	snprintf(path, sizeof(path), "/proc/%d/exe", pid);
	length = readlink(path, target, sizeof(target) - 1);
	return length > 0 ? arena_strdup(m->c->arena, target, (size_t)length) : NULL;
}

/* libc, libc.so and libc.so.6 name the same. */
static bool is_module(const char *pattern, const char *path)
{
	const char *name = path_basename(path);
	size_t length = strlen(pattern);

	return provider_matches(pattern, name) ||
	       (!strncmp(name, pattern, length) && (name[length] == '.' || name[length] == '-'));
}

static void find_functions_in_module(struct making *m, const char *path)
{
	if (is_module(m->probe->parts[1], path))
		find_functions_in(m, path);
}

/* What is wrong whatever the process has. The function `-` means addresses. */
static bool refuse_names(struct making *m)
{
	const char *const *parts = m->probe->parts;
	bool is_glob = !*parts[3] || provider_has_wildcard(parts[3]);

	if (!strcmp(parts[2], "-") && *parts[1] && strcmp(parts[1], "a.out") != 0 &&
	    !provider_has_wildcard(parts[1])) {
		report_error(m->c->report, "D_PROC_LIB", m->probe->span,
			     "only the a.out module is valid with the '-' function");
		return true;
	}
	if (!strcmp(parts[2], "-") && is_glob) {
		report_error(m->c->report, "D_PROC_NAME", m->probe->span,
			     "only individual addresses may be specified with the '-' function");
		return true;
	}
	if (is_glob || is_offset(parts[3]) || !strcmp(parts[3], "entry") || !strcmp(parts[3], "return"))
		return false;
	report_error(m->c->report, "D_PROC_NAME", m->probe->span, "'%s' is an invalid probe name", parts[3]);
	return true;
}

/* What -c executes first: of a script, its interpreter. */
static const char *command_of(struct compiler *c)
{
	const char *interpreter = binary_command_interpreter(c);

	return interpreter ? interpreter : binary_command_program(c);
}

/* libc.so is a library of any version. */
static const char *library_named(struct making *m, const char *name)
{
	size_t length = strlen(name);
	char *bare = NULL;

	if (length > 3 && !strcmp(name + length - 3, ".so"))
		bare = arena_strdup(m->c->arena, name, length - 3);
	return bare ? bare : name;
}

void d_find_functions(struct making *m)
{
	const struct compile_options *options = m->c->options;
	const char *module = m->probe->parts[1], *program;
	int pid;

	base_length(m->probe->parts[0], &pid);
	if (!strcmp(m->probe->parts[0], "pid0")) {
		report_error(m->c->report, "D_PROC_BADPID", m->probe->span, "pid0 does not contain a valid pid");
		return;
	}
	if (refuse_names(m))
		return;
	if (!pid) {
		report_error(m->c->report, "D_PDESC_INVAL", m->probe->span, "invalid probe specifier %s: no process id",
			     m->probe->parts[0]);
		report_hint(m->c->report, "pid1234 names a process, and pid$target that of -p or -c");
		return;
	}
	program = pid == options->pid && options->command_path ? command_of(m->c) : executable_of(m, pid);
	if (!program) {
		report_error(m->c->report, "D_PROC_GRAB", m->probe->span, "failed to grab process %d: no such process",
			     pid);
		return;
	}
	if (!strcmp(module, "a.out") || (!*module && options->command_path && pid == options->pid)) {
		find_functions_in(m, program);
		/* A function that is named, and not the program's own. */
		if (!m->found && !*module && *m->probe->parts[2] && !provider_has_wildcard(m->probe->parts[2]))
			find_functions_in(m, "libc.so.6");
	} else if (options->command_path && pid == options->pid) {
		find_functions_in(m, is_module(module, program) ? program : library_named(m, module));
	} else if (!*module) {
		each_mapped(m, pid, find_functions_in);
	} else {
		each_mapped(m, pid, find_functions_in_module);
	}
	if (!m->found && !strcmp(module, "a.out") && *m->probe->parts[2] && !d_state(m->c)->options[D_ZDEFS] &&
	    !provider_has_wildcard(m->probe->parts[2]) && !is_offset(m->probe->parts[3]))
		report_error(m->c->report, "D_PROC_FUNC", m->probe->span, "failed to lookup '%s' in module '%s'",
			     m->probe->parts[2], module);
}

bool d_is_pid_pattern(struct making *m)
{
	int pid;
	const char *provider = m->probe->parts[0];
	size_t length = base_length(provider, &pid);
	char *base = arena_strdup(m->c->arena, provider, length);

	return pid && base && provider_has_wildcard(base) && provider_matches(base, "pid");
}
