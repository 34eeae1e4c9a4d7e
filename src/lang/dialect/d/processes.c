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
#include "lang/provider/python.h"

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

/* function__entry is function-entry. */
static const char *written_marker(struct making *m, const char *marker)
{
	char *ret = arena_strdup(m->c->arena, marker, strlen(marker)), *at;

	for (at = ret; at && (at = strstr(at, "__")); at++) {
		*at = '-';
		memmove(at + 1, at + 2, strlen(at + 1));
	}
	return ret ? ret : "";
}

/*
 * Has the description found this probe already? path: in this file; NULL: in any. address: of the places that are
 * made for Python, only this one counts; 0: any.
 */
static bool is_found(const struct making *m, const struct d_place *place, const char *path, uint64_t address)
{
	size_t i;

	for (i = 0; i < m->spots.count; i++) {
		const struct spot *spot = &m->spots.at[i];

		if (spot->asked == m->asked && spot->place.pid == place->pid &&
		    !strcmp(spot->place.name, place->name) && (!path || !strcmp(spot->attach.path, path)) &&
		    (!address || !spot->provider->computes_args || spot->attach.address == address))
			return true;
	}
	return false;
}

static bool is_meant(const struct making *m, const struct d_place *place)
{
	return d_matches(m->probe->parts[1], place->module) && d_matches(m->probe->parts[2], place->function);
}

static bool name_marker(struct making *m, const struct attach *attach, struct d_place *place)
{
	const char *name = strrchr(attach->name, ':'), *provider = name;
	bool is_wrong;

	if (!name || attach->flags & ATTACH_SYNTHESIZED)
		return false;
	while (provider > attach->name && provider[-1] != ':')
		provider--;
	is_wrong = name - provider == 6 && !strncmp(provider, "python", 6) &&
		   !provider_python_marker_is_right(m->c, attach->path, name + 1);
	m->has_wrong = m->has_wrong || is_wrong;
	if (is_wrong != m->takes_wrong)
		return false;
	place->name = written_marker(m, name + 1);
	place->module = module_of(attach);
	place->function = attach->function ? attach->function : "";
	if (is_wrong && is_found(m, place, attach->path, 0))
		return false;
	place->provider = place->pid || place->provider
				  ? arena_printf(m->c->arena, "%.*s%s", (int)(name - provider), provider,
						 place->provider ? place->provider : "")
				  : arena_strdup(m->c->arena, provider, (size_t)(name - provider));
	return place->provider && is_meant(m, place);
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

static void find_markers_in(struct making *m, const char *path)
{
	struct d_place place = {};
	const char *parts[4] = {"usdt", path, usdt_provider(m, &place.pid), marker_pattern(m, m->probe->parts[3])};

	place.is_everywhere = place.pid != m->c->options->pid;
	place.provider = place.pid ? arena_printf(m->c->arena, "%d", place.pid) : NULL;
	if (!place.is_everywhere)
		place.pid = 0; /* and what it has started */
	d_search(m, parts, 4, place, name_marker);
}

/* --- markers of Python's, in those that have none: the provider `python` makes them --- */

static bool name_python(struct making *m, const struct attach *attach, struct d_place *place)
{
	place->module = module_of(attach);
	place->function = attach->function ? attach->function : "";
	return is_meant(m, place) && !is_found(m, place, attach->path, attach->address);
}

/* That a file is no Python is no mistake. Why one has no such probe is worth telling if nothing else is found. */
static void forget_complaints(struct making *m, size_t before, unsigned int errors, bool is_told)
{
	struct report *report = m->c->report;
	size_t i, kept = before;

	for (i = before; i < report->complaints.count; i++)
		if (is_told && !strcmp(report->complaints.at[i].tag, "python.refused"))
			report->complaints.at[kept++] = report->complaints.at[i];
	report->complaints.count = kept;
	report->errors = errors;
}

static void find_python_event(struct making *m, const char *path, enum python_event event, bool is_named)
{
	struct compiler *c = m->c;
	const char *parts[3] = {"python", path, python_event_name(event)};
	size_t complaints = c->report->complaints.count;
	unsigned int errors = c->report->errors;
	struct d_place place = {.name = written_marker(m, python_event_marker(event))};
	bool is_one;

	usdt_provider(m, &place.pid);
	is_one = place.pid != 0;
	place.is_everywhere = place.pid != c->options->pid;
	place.provider = place.pid ? arena_printf(c->arena, "python%d", place.pid) : "python";
	if (!place.is_everywhere)
		place.pid = 0;
	/* One process has one Python. */
	if (!place.provider || (is_one && is_found(m, &place, NULL, 0)))
		return;
	d_search(m, parts, 3, place, name_python);
	forget_complaints(m, complaints, errors, is_named && !m->found);
}

static void find_usdt_in(struct making *m, const char *path)
{
	const char *pattern = marker_pattern(m, m->probe->parts[3]);
	bool is_named = pattern && !provider_has_wildcard(pattern);
	enum python_event event;
	int pid;

	m->has_wrong = false;
	find_markers_in(m, path);
	if (!path || !pattern || !provider_matches(usdt_provider(m, &pid), "python"))
		return;
	for (event = 0; event < PYTHON_EVENTS; event++)
		if (*python_event_marker(event) && provider_matches(pattern, python_event_marker(event)))
			find_python_event(m, path, event, is_named);
	if (!m->has_wrong)
		return;
	/* Better than none, where the code of this Python is not understood. */
	m->takes_wrong = true;
	find_markers_in(m, path);
	m->takes_wrong = false;
}

/* The command has not mapped its program yet. */
static void find_usdt_everywhere(struct making *m)
{
	if (m->c->options->command_path)
		find_usdt_in(m, binary_command_program(m->c));
	find_usdt_in(m, "*");
}

void d_find_usdt(struct making *m)
{
	const struct compile_options *options = m->c->options;
	bool is_target; /* python$target while the command is only listed: no process has it */
	int pid;

	is_target = base_length(m->probe->parts[0], &pid) < strlen(m->probe->parts[0]) && !pid;
	if (pid && pid != options->pid)
		each_mapped(m, pid, find_usdt_in);
	else if ((pid || is_target) && options->command_path)
		find_usdt_in(m, binary_command_program(m->c));
	else if (is_target)
		find_markers_in(m, "*");
	else
		find_usdt_everywhere(m);
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
