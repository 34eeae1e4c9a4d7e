// SPDX-License-Identifier: GPL-2.0-or-later
/* SystemTap's probe points as bpftrace's attach points. */
#include <stdlib.h>
#include <string.h>

#include "base/path.h"
#include "lang/dialect/stap/translate.h"
#include "lang/provider/provider.h"

static bool is_part(const struct stap_point *point, uint32_t index, const char *name)
{
	return index < point->part_count && !strcmp(point->parts[index].name, name);
}

static const char *text_of(const struct stap_point *point, uint32_t index)
{
	return index < point->part_count && point->parts[index].kind == STAP_TEXT ? point->parts[index].text : NULL;
}

static bool special(const struct stap_point *point, struct stap_target *ret)
{
	const char *name = point->parts[0].name;

	ret->is_begin = !strcmp(name, "begin") || !strcmp(name, "oneshot");
	ret->is_end = !strcmp(name, "end");
	if (ret->is_begin || ret->is_end)
		ret->point = ret->is_begin ? "BEGIN" : "END";
	return ret->is_begin || ret->is_end || !strcmp(name, "error") || !strcmp(name, "never");
}

static bool timer(struct stap_writer *w, const struct stap_point *point, struct stap_target *ret)
{
	static const struct {
		const char *from, *to;
		int64_t factor, divisor;
	} units[] = {{"s", "s", 1, 1},    {"sec", "s", 1, 1},      {"ms", "ms", 1, 1},    {"msec", "ms", 1, 1},
		     {"us", "us", 1, 1},  {"usec", "us", 1, 1},    {"ns", "us", 1, 1000}, {"nsec", "us", 1, 1000},
		     {"hz", "hz", 1, 1},  {"jiffies", "ms", 4, 1}};
	size_t i;

	if (strcmp(point->parts[0].name, "timer") != 0)
		return !strcmp(point->parts[0].name, "perf");
	if (is_part(point, 1, "profile"))
		ret->point = "profile:hz:250";
	for (i = 0; i < sizeof(units) / sizeof(units[0]) && point->part_count > 1; i++)
		if (is_part(point, 1, units[i].from) && point->parts[1].kind == STAP_NUMBER &&
		    point->parts[1].value > 0 && point->parts[1].value < INT32_MAX)
			ret->point = stap_words(w, "interval:%s:%lld", units[i].to,
						(long long)(point->parts[1].value * units[i].factor /
							    units[i].divisor));
	return true;
}

static bool syscall(struct stap_writer *w, const struct stap_point *point, struct stap_target *ret)
{
	const char *first = point->parts[0].name, *name;
	bool is_any = !strcmp(first, "syscall_any"), is_return = is_part(point, is_any ? 1 : 2, "return");

	if (!is_any && strcmp(first, "syscall") && strcmp(first, "nd_syscall") && strcmp(first, "tp_syscall"))
		return false;
	if (is_any || point->part_count < 2 || !strcmp(point->parts[1].name, "*")) {
		ret->site = is_return ? SITE_RAW_RETURN : SITE_RAW_ENTRY;
		ret->point = is_return ? "tracepoint:raw_syscalls:sys_exit" : "tracepoint:raw_syscalls:sys_enter";
		return true;
	}
	name = point->parts[1].name;
	ret->site = is_return ? SITE_RETURN : SITE_ENTRY;
	ret->events = stap_words(w, "sys_%s_%s", is_return ? "exit" : "enter", name);
	ret->point = stap_words(w, "tracepoint:syscalls:%s", ret->events);
	ret->name = strpbrk(name, "*?[") ? NULL : translate_quoted(w->t, name);
	return true;
}

static bool kernel(struct stap_writer *w, const struct stap_point *point, struct stap_target *ret)
{
	const char *name = text_of(point, 1);
	bool is_return = is_part(point, 2, "return");

	if (strcmp(point->parts[0].name, "kernel") != 0)
		return false;
	if (is_part(point, 1, "trace") && name) {
		ret->site = SITE_EVENT;
		ret->point = stap_words(w, "%s:%s", strchr(name, ':') ? "tracepoint" : "rawtracepoint", name);
	} else if (is_part(point, 1, "function") && name) {
		ret->site = is_return ? SITE_FUNCTION_RETURN : SITE_FUNCTION;
		ret->point = stap_words(w, "%s:%.*s", is_return ? "kretprobe" : "kprobe", (int)strcspn(name, "@"),
					name);
	}
	return true;
}

static const char *program_of(struct stap_writer *w, const struct stap_point *point)
{
	const struct compile_options *options = w->c->options;

	if (text_of(point, 0))
		return text_of(point, 0);
	if (point->parts[0].kind == STAP_NUMBER)
		return stap_words(w, "/proc/%lld/exe", (long long)point->parts[0].value);
	if (options->command_path)
		return options->command_path;
	if (options->pid)
		return stap_words(w, "/proc/%d/exe", options->pid);
	translate_mark(w->t, "process",
		       "bpftrace looks in a file: put its path for PROGRAM, or translate with -c or -p");
	return "PROGRAM";
}

static void lifetime(struct stap_writer *w, const struct stap_point *point, struct stap_target *ret)
{
	bool of_thread = is_part(point, 1, "thread"), is_begin = is_part(point, of_thread ? 2 : 1, "begin");
	const char *path = text_of(point, 0);

	if (of_thread && is_begin)
		return;
	ret->site = SITE_EVENT;
	ret->point = is_begin ? "tracepoint:sched:sched_process_exec" : "tracepoint:sched:sched_process_exit";
	ret->condition = is_begin ? NULL : of_thread ? "pid != tid" : "pid == tid";
	if (path)
		ret->condition = stap_words(w, "%s%scomm == %s", ret->condition ? ret->condition : "",
					    ret->condition ? " && " : "", translate_quoted(w->t, path_basename(path)));
}

static bool process(struct stap_writer *w, const struct stap_point *point, struct stap_target *ret)
{
	const char *path, *provider = "*", *name;
	uint32_t at = 1;
	bool is_return;

	if (strcmp(point->parts[0].name, "process") != 0)
		return false;
	if (is_part(point, 1, "begin") || is_part(point, 1, "end") || is_part(point, 1, "thread")) {
		lifetime(w, point, ret);
		return true;
	}
	if (is_part(point, 1, "syscall")) {
		is_return = is_part(point, 2, "return");
		ret->site = is_return ? SITE_RAW_RETURN : SITE_RAW_ENTRY;
		ret->point = is_return ? "tracepoint:raw_syscalls:sys_exit" : "tracepoint:raw_syscalls:sys_enter";
		return true;
	}
	path = is_part(point, 1, "library") && text_of(point, 1) ? text_of(point, at++) : program_of(w, point);
	if (is_part(point, at, "provider") && text_of(point, at))
		provider = text_of(point, at++);
	name = text_of(point, at);
	is_return = is_part(point, at + 1, "return");
	if (name && is_part(point, at, "mark")) {
		ret->site = SITE_MARK;
		ret->point = stap_words(w, "usdt:%s:%s:%s", path, provider, name);
	} else if (name && is_part(point, at, "function")) {
		ret->site = is_return ? SITE_FUNCTION_RETURN : SITE_FUNCTION;
		ret->point = stap_words(w, "%s:%s:%.*s", is_return ? "uretprobe" : "uprobe", path,
					(int)strcspn(name, "@"), name);
	}
	return true;
}

bool stap_is_given(const struct stap_point *point)
{
	const char *name = point->parts[0].name;

	return !strcmp(name, "syscall_any") || (!strcmp(name, "python") && is_part(point, 1, "function"));
}

static bool python(struct stap_writer *w, const struct stap_point *point, struct stap_target *ret)
{
	const char *file = w->c->options->command_path ? w->c->options->command_path : "*";

	if (strcmp(point->parts[0].name, "__python_mark") == 0 && text_of(point, 0)) {
		ret->site = SITE_MARK;
		ret->point = stap_words(w, "usdt:%s:python:%s", file, text_of(point, 0));
		return true;
	}
	if (!stap_is_given(point) || point->part_count < 3)
		return false;
	ret->site = SITE_PYTHON;
	ret->point = stap_words(w, "usdt:%s:python:function__%s", file,
				is_part(point, 2, "entry") ? "entry" : "return");
	return true;
}

struct stap_target stap_target_of(struct stap_writer *w, const struct stap_point *point)
{
	struct stap_target ret = {};

	if (!special(point, &ret) && !timer(w, point, &ret) && !syscall(w, point, &ret) && !kernel(w, point, &ret) &&
	    !process(w, point, &ret))
		python(w, point, &ret);
	if (!ret.point)
		translate_mark(w->t, stap_point_text(w->c, point), "bpftrace has no such probe");
	return ret;
}

/* --- what the place gives --- */

static const char *syscall_field(struct stap_writer *w, const char *name, uint32_t number, bool *is_text)
{
	const struct action action = {.uses = USES_ARGS};
	const char *parts[3] = {"tracepoint", "syscalls", w->target->events};
	struct attach_text *point = arena_new(w->c->arena, struct attach_text);
	const char *found = NULL;
	struct report report = *w->c->report;
	size_t i;
	uint32_t k;

	if (!point)
		return NULL;
	*point = (struct attach_text){.parts = parts, .part_count = 3};
	provider_expand(w->c, &action, point);
	for (i = 0; i < w->c->attaches.count; i++) {
		const struct type *record = w->c->attaches.at[i].arguments;
		const char *own = NULL;

		for (k = 1; record && k < record->field_count; k++)
			if (name ? !strcmp(record->fields[k].name, name) : k == number) {
				own = record->fields[k].name;
				*is_text = record->fields[k].type->kind == TYPE_POINTER && record->fields[k].type->to &&
					   record->fields[k].type->to->is_char &&
					   (strstr(own, "name") || strstr(own, "path"));
			}
		if (!own || (found && strcmp(own, found) != 0)) {
			found = NULL;
			break;
		}
		found = own;
	}
	w->c->attaches.count = 0;
	w->c->units.count = 0;
	w->c->report->errors = report.errors;
	w->c->report->complaints.count = report.complaints.count;
	return found;
}

const char *stap_given(struct stap_writer *w, const char *name, bool *is_text)
{
	enum stap_site site = w->target ? w->target->site : SITE_NOTHING;
	bool is_return = site == SITE_RETURN || site == SITE_RAW_RETURN;
	bool is_raw = site == SITE_RAW_ENTRY || site == SITE_RAW_RETURN, points = false;
	const char *field;

	*is_text = false;
	if (!strcmp(name, "name") && (site == SITE_ENTRY || site == SITE_RETURN || is_raw)) {
		*is_text = true;
		if (is_raw)
			return "syscall_name(args.id)";
		if (!w->target->name)
			translate_mark(w->t, name, "it differs between the places: `probe` has bpftrace's own words");
		return w->target->name ? w->target->name : "probe";
	}
	if (is_raw && !strcmp(name, "syscall_nr"))
		return "args.id";
	if (is_return && (!strcmp(name, "retval") || !strcmp(name, "ret")))
		return "args.ret";
	if (!strcmp(name, "argstr") || !strcmp(name, "retstr")) {
		*is_text = true;
		return stap_unsaid(w, true, name, "bpftrace has the arguments one by one, and what was returned");
	}
	if (site == SITE_PYTHON && (!strcmp(name, "filename") || !strcmp(name, "funcname"))) {
		*is_text = true;
		return !strcmp(name, "filename") ? "str(arg0)" : "str(arg1)";
	}
	if (site == SITE_PYTHON && !strcmp(name, "lineno"))
		return "arg2";
	if (site != SITE_ENTRY)
		return NULL;
	field = syscall_field(w, name, 0, &points);
	*is_text = field && points;
	return field ? stap_words(w, points ? "str(args.%s)" : "args.%s", field) : NULL;
}

const char *stap_write_target(struct stap_writer *w, const struct stap_node *node)
{
	enum stap_site site = w->target ? w->target->site : SITE_NOTHING;
	const char *name = node->text + 1, *field;
	size_t length = strcspn(name, STAP_STEPS);
	uint32_t number = !strncmp(name, "arg", 3) ? (uint32_t)strtoul(name + 3, NULL, 10) : 0;
	bool is_text;

	if (*name == '$' || (node->flags & STAP_ADDRESS))
		return stap_unsaid(w, *name == '$', node->text, "bpftrace has variables one by one: args.NAME");
	if (strpbrk(name, "{&"))
		return stap_unsaid(w, false, "@cast", "bpftrace casts as C does: ((struct NAME *)VALUE)->MEMBER");
	if (!strcmp(name, "return") && (site == SITE_RETURN || site == SITE_RAW_RETURN))
		return "args.ret";
	if (!strcmp(name, "return") && site == SITE_FUNCTION_RETURN)
		return "retval";
	if (number && name[3 + strspn(name + 3, "0123456789")] == '\0') {
		if (site == SITE_RAW_ENTRY)
			return stap_words(w, "args.args[%u]", number - 1);
		field = site == SITE_ENTRY ? syscall_field(w, NULL, number, &is_text) : NULL;
		if (field)
			return stap_words(w, "args.%s", field);
		if (site == SITE_FUNCTION || site == SITE_MARK || site == SITE_PYTHON)
			return stap_words(w, "arg%u", number - 1);
	}
	if (!strcmp(name, "syscall") && (site == SITE_RAW_ENTRY || site == SITE_RAW_RETURN))
		return "args.id";
	if (site == SITE_NOTHING || site == SITE_FUNCTION_RETURN || site == SITE_MARK || site == SITE_PYTHON)
		return stap_unsaid(w, false, node->text, "bpftrace does not know it at this place");
	return stap_words(w, "args.%.*s%s", (int)length, name, name + length);
}
