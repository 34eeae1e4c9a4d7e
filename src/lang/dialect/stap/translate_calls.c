// SPDX-License-Identifier: GPL-2.0-or-later
/* SystemTap's functions in bpftrace's language. */
#include <stdlib.h>
#include <string.h>

#include "lang/dialect/stap/translate.h"

static const char *argument(struct stap_writer *w, const struct stap_node *call, uint32_t index)
{
	return index < call->kid_count ? stap_write(w, call->kids[index], 1) : "0";
}

/* --- values --- */

static const char *clock_of(struct stap_writer *w, const struct stap_node *call)
{
	const char *unit = strrchr(call->text, '_');

	if (!w->told_time && !strncmp(call->text, "gettimeofday", 12)) {
		translate_mark(w->t, stap_words(w, "%s()", call->text),
			       "bpftrace's clock counts from the machine's start: only differences are the same");
		w->told_time = true;
	}
	return !strcmp(unit, "_s")    ? "(nsecs / 1000000000)"
	       : !strcmp(unit, "_ms") ? "(nsecs / 1000000)"
	       : !strcmp(unit, "_us") ? "(nsecs / 1000)"
				      : "nsecs";
}

static const char *memory(struct stap_writer *w, const struct stap_node *call)
{
	bool is_kernel = !strncmp(call->text, "kernel", 6), has_size = strstr(call->text, "_n") != NULL;
	const char *address;

	if (strchr(call->text, '2') || strstr(call->text, "_quoted"))
		translate_mark(w->t, stap_words(w, "%s()", call->text),
			       "bpftrace's str() has no quotes and no default");
	address = argument(w, call, 0);
	if (!strncmp(address, "str(", 4))
		return address;
	if (is_kernel)
		address = stap_words(w, "kptr(%s)", address);
	if (!has_size)
		return stap_words(w, "str(%s)", address);
	return stap_words(w, "str(%s, %s)", address, argument(w, call, 1));
}

/* A function of the script that is one expression stands for it. */
static const char *own_function(struct stap_writer *w, const struct stap_node *call,
				const struct stap_function *function)
{
	const struct stap_node *body = function->body;
	size_t first = w->meanings.count, i;
	const char *text;

	while (body && body->kind == STAP_S_BLOCK && body->kid_count == 1)
		body = body->kids[0];
	if (!body || body->kind != STAP_S_RETURN || !body->kid_count || call->kid_count != function->parameter_count ||
	    w->depth > 50)
		return stap_unsaid(w, false, stap_words(w, "%s()", call->text),
				   "bpftrace's language has no functions: a macro is the nearest");
	for (i = 0; i < call->kid_count; i++) {
		const struct stap_meaning meaning = {.name = function->locals.at[i]->name,
						     .text = stap_write(w, call->kids[i], 21),
						     .is_text = stap_node_is_text(w, call->kids[i])};

		/* The next argument is not about this parameter yet. */
		w->c->arena->failed |= vec_push(&w->meanings, meaning) != 0;
	}
	text = stap_words(w, "(%s)", stap_write(w, body->kids[0], 0));
	w->meanings.count = first;
	return text;
}

static const struct stap_function *function_of(const struct stap_writer *w, const char *name)
{
	const struct stap_state *state = stap_state(w->c);
	size_t i;

	for (i = 0; i < state->functions.count; i++)
		if (!state->functions.at[i]->of_tapset && !strcmp(state->functions.at[i]->name, name))
			return state->functions.at[i];
	return NULL;
}

static const char *numbered(struct stap_writer *w, const struct stap_node *call)
{
	struct stap_node target = {.kind = STAP_E_TARGET, .span = call->span};

	if (call->kid_count != 1 || call->kids[0]->kind != STAP_E_NUMBER)
		return stap_unsaid(w, false, call->text, "bpftrace's arguments have their numbers in their names");
	target.text = stap_words(w, "$arg%lld", (long long)call->kids[0]->value);
	return *target.text ? stap_write_target(w, &target) : "0";
}

static const char *known(struct stap_writer *w, const struct stap_node *call)
{
	static const struct {
		const char *name, *text;
		uint32_t count;
	} table[] = {{"pid", "pid", 0},
		     {"tid", "tid", 0},
		     {"uid", "uid", 0},
		     {"gid", "gid", 0},
		     {"cpu", "cpu", 0},
		     {"ppid", "ppid", 0},
		     {"execname", "comm", 0},
		     {"pexecname", "pcomm", 0},
		     {"jiffies", "jiffies", 0},
		     {"user_mode", "usermode", 0},
		     {"ppfunc", "func", 0},
		     {"probefunc", "func", 0},
		     {"pp", "probe", 0},
		     {"num_online_cpus", "ncpus", 0},
		     {"ubacktrace", "ustack", 0},
		     {"sprint_ubacktrace", "ustack", 0},
		     {"backtrace", "kstack", 0},
		     {"sprint_backtrace", "kstack", 0},
		     {"get_cycles", "nsecs", 0},
		     {"strlen", "strlen", 1},
		     {"isinstr", "strcontains", 2},
		     {"usymname", "usym", 1},
		     {"usymdata", "usym", 1},
		     {"symname", "ksym", 1},
		     {"symdata", "ksym", 1},
		     {"signal_name", "signal_name", 1},
		     {"syscall_name", "syscall_name", 1},
		     {"ip_ntop", "ntop", 1}};
	size_t i;

	for (i = 0; i < sizeof(table) / sizeof(table[0]); i++)
		if (!strcmp(table[i].name, call->text) && call->kid_count == table[i].count) {
			if (!table[i].count)
				return table[i].text;
			if (table[i].count == 1)
				return stap_words(w, "%s(%s)", table[i].text, argument(w, call, 0));
			return stap_words(w, "%s(%s, %s)", table[i].text, argument(w, call, 0), argument(w, call, 1));
		}
	return NULL;
}

const char *stap_write_call(struct stap_writer *w, const struct stap_node *call)
{
	const struct stap_function *function = function_of(w, call->text);
	const char *name = call->text, *text;
	size_t length = strlen(name);

	if (function)
		return own_function(w, call, function);
	text = known(w, call);
	if (text)
		return text;
	if (!strncmp(name, "gettimeofday_", 13) || !strncmp(name, "local_clock_", 12) ||
	    !strncmp(name, "cpu_clock_", 10) || !strcmp(name, "ktime_get_ns"))
		return clock_of(w, call);
	if (!strncmp(name, "user_string", 11) || !strncmp(name, "kernel_string", 13))
		return memory(w, call);
	if (!strcmp(name, "target"))
		return w->c->options->pid ? stap_words(w, "%d", w->c->options->pid) : "cpid";
	if (!strcmp(name, "pn") && w->alias)
		return translate_quoted(w->t, w->alias);
	if (length > 4 && !strcmp(name + length - 4, "_arg"))
		return numbered(w, call);
	if (!strcmp(name, "returnval"))
		return w->target && w->target->site == SITE_FUNCTION_RETURN ? "retval" : "args.ret";
	if (!strcmp(name, "randint"))
		return stap_words(w, "(rand %% %s)", call->kid_count ? stap_write(w, call->kids[0], 21) : "1");
	if (!strcmp(name, "substr") && call->kid_count == 3 && call->kids[1]->kind == STAP_E_NUMBER &&
	    !call->kids[1]->value)
		return stap_words(w, "str(%s, %s + 1)", argument(w, call, 0), stap_write(w, call->kids[2], 11));
	if ((!strcmp(name, "ctime") || !strcmp(name, "tz_ctime")) && call->kid_count == 1 &&
	    call->kids[0]->kind == STAP_E_CALL && !strcmp(call->kids[0]->text, "gettimeofday_s"))
		return "strftime(\"%a %b %e %H:%M:%S %Y\", nsecs)";
	return stap_unsaid(w, stap_node_is_text(w, call), stap_words(w, "%s()", name), "bpftrace has no such function");
}

/* --- statements --- */

/* The conversions of a printf() that bpftrace has, and the arguments. */
static void formatted(struct stap_writer *w, const struct stap_node *call)
{
	const char *at = call->kid_count && call->kids[0]->kind == STAP_E_TEXT ? call->kids[0]->text : NULL;
	const char *format = "", *arguments = "";
	uint32_t next = 1;

	if (!at) {
		translate_mark(w->t, call->text, "its format is no text");
		translate_line(w->t, "%s", "");
		return;
	}
	while (*at) {
		size_t length = strcspn(at, "%"), flags;
		const struct stap_node *value;

		format = stap_words(w, "%s%.*s", format, (int)length, at);
		at += length;
		if (!*at)
			break;
		if (at[1] == '%') {
			format = stap_words(w, "%s%%%%", format);
			at += 2;
			continue;
		}
		flags = strspn(at + 1, "-+ #0123456789.");
		value = next < call->kid_count ? call->kids[next] : NULL;
		if (at[1 + flags] == '*') {
			translate_mark(w->t, "%*", "bpftrace's printf() has no widths that are arguments");
			value = ++next < call->kid_count ? call->kids[next] : NULL;
			format = stap_words(w, "%s%%", format);
			at += flags + 2;
			at += strspn(at, "0123456789.*");
		} else {
			format = stap_words(w, "%s%%%.*s", format, (int)flags, at + 1);
			at += flags + 1;
		}
		at += strspn(at, "lh");
		if (!*at)
			break;
		if (strchr("bmMn", *at))
			translate_mark(w->t, stap_words(w, "%%%c", *at), "bpftrace's printf() has no such conversion");
		format = stap_words(w, "%s%c", format, *at == 'i' || strchr("bmMn", *at) ? 'd' : *at);
		at++;
		arguments = stap_words(w, "%s, %s", arguments, value ? stap_write(w, value, 1) : "0");
		next++;
	}
	translate_line(w->t, "printf(%s%s);", translate_quoted(w->t, format), arguments);
}

/* A map that is printed as a whole: print(@hist_log(x)). */
static bool distribution(struct stap_writer *w, const struct stap_node *node)
{
	const struct stap_use *use;
	enum stap_stat_kind kind;

	if (node->kind != STAP_E_HIST)
		return false;
	use = stap_use_of(w, node->kids[0]->text);
	kind = !strcmp(node->text, "@hist_log") ? STAT_LOG : STAT_LINEAR;
	if (use && use->is_written)
		translate_line(w->t, "print(%s);", stap_write_place(w, node->kids[0], stap_stat_names[kind]));
	return true;
}

/* print, println, printd, printdln: delimiter and end. */
static void printed(struct stap_writer *w, const struct stap_node *call)
{
	bool delimits = !strncmp(call->text, "printd", 6), ends = strstr(call->text, "ln") != NULL;
	bool has_delimiter = delimits && call->kid_count && call->kids[0]->kind == STAP_E_TEXT;
	const char *delimiter = has_delimiter ? call->kids[0]->text : "";
	const char *format = "", *arguments = "", *at;
	uint32_t i;

	for (i = delimits; i < call->kid_count; i++) {
		if (distribution(w, call->kids[i]))
			continue;
		if (i > delimits)
			for (at = delimiter; *at; at++)
				format = stap_words(w, *at == '%' ? "%s%%%c" : "%s%c", format, *at);
		if (call->kids[i]->kind == STAP_E_TEXT) {
			for (at = call->kids[i]->text; *at; at++)
				format = stap_words(w, *at == '%' ? "%s%%%c" : "%s%c", format, *at);
			continue;
		}
		format = stap_words(w, "%s%%%c", format, stap_node_is_text(w, call->kids[i]) ? 's' : 'd');
		arguments = stap_words(w, "%s, %s", arguments, stap_write(w, call->kids[i], 1));
	}
	if (*format || ends)
		translate_line(w->t, "printf(%s%s);",
			       translate_quoted(w->t, ends ? stap_words(w, "%s\n", format) : format), arguments);
}

static bool terminal(struct stap_writer *w, const struct stap_node *call)
{
	static const struct {
		const char *name, *text;
	} table[] = {{"ansi_clear_screen", "\\033[1;1H\\033[J"}, {"ansi_reset_color", "\\033[m"},
		     {"ansi_new_line", "\\n"},			 {"ansi_cursor_hide", "\\033[?25l"},
		     {"ansi_cursor_show", "\\033[?25h"}};
	size_t i;

	for (i = 0; i < sizeof(table) / sizeof(table[0]); i++)
		if (!strcmp(table[i].name, call->text)) {
			translate_line(w->t, "printf(\"%s\");", table[i].text);
			return true;
		}
	return false;
}

void stap_write_action(struct stap_writer *w, const struct stap_node *call)
{
	const char *name = call->text;

	if (!strcmp(name, "printf"))
		formatted(w, call);
	else if (!strncmp(name, "print_ubacktrace", 16) || !strcmp(name, "print_backtrace"))
		translate_line(w->t, "print(%s);", name[6] == 'u' ? "ustack" : "kstack");
	else if (!strcmp(name, "print") || !strcmp(name, "println") || !strcmp(name, "printd") ||
		 !strcmp(name, "printdln"))
		printed(w, call);
	else if (!strcmp(name, "log") && call->kid_count == 1)
		translate_line(w->t, "printf(\"%%s\\n\", %s);", argument(w, call, 0));
	else if (!strcmp(name, "warn") && call->kid_count == 1)
		translate_line(w->t, "warnf(\"%%s\", %s);", argument(w, call, 0));
	else if (!strcmp(name, "exit") || !strcmp(name, "abort"))
		translate_line(w->t, "exit();");
	else if (!strcmp(name, "system") && call->kid_count == 1)
		translate_line(w->t, "system(\"%%s\", %s);", argument(w, call, 0));
	else if (!terminal(w, call)) {
		translate_mark(w->t, stap_words(w, "%s()", name),
			       function_of(w, name) ? "bpftrace's language has no functions: a macro is the nearest"
						    : "bpftrace has no such function");
		translate_line(w->t, "%s", "");
	}
}
