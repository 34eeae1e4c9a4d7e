// SPDX-License-Identifier: GPL-2.0-or-later
/* What a probe point means, in the providers' words. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/path.h"
#include "lang/dialect/stap/stap.h"
#include "lang/provider/binary.h"
#include "lang/provider/provider.h"
#include "lang/provider/python.h"

static const struct stap_component *part(const struct stap_making *m, uint32_t index)
{
	static const struct stap_component none = {.name = "", .kind = STAP_END};

	return index < m->point->part_count ? &m->point->parts[index] : &none;
}

static bool names(const struct stap_making *m, uint32_t index, const char *name)
{
	return !strcmp(part(m, index)->name, name);
}

/* "A|B" must be what follows the first `index` components; else the point is complained about. */
static void refuse(struct stap_making *m, uint32_t index, const char *why)
{
	const struct stap_component *component =
		part(m, index < m->point->part_count ? index : m->point->part_count - 1);

	stap_complain(m->c, "stap.point", m->point->span,
		      "while resolving probe point: identifier '%s' is not supported", component->name);
	report_hint(m->c->report, "%s", why);
}

static void mismatch(struct stap_making *m, uint32_t index, const char *alternatives)
{
	stap_complain(m->c, "stap.point", part(m, index < m->point->part_count ? index : 0)->span,
		      "probe point mismatch (alternatives: %s)", alternatives);
}

const char *stap_point_text(struct compiler *c, const struct stap_point *point)
{
	const char *text = "";
	uint32_t i;

	for (i = 0; text && i < point->part_count; i++) {
		const struct stap_component *one = &point->parts[i];

		text = arena_printf(c->arena, "%s%s%s", text, i ? "." : "", one->name);
		if (text && one->kind == STAP_TEXT)
			text = arena_printf(c->arena, "%s(\"%s\")", text, one->text);
		else if (text && one->kind == STAP_NUMBER)
			text = arena_printf(c->arena, "%s(%lld)", text, (long long)one->value);
	}
	return text ? text : "";
}

/* --- places --- */

static const char *marker_of(const char *event)
{
	enum python_event one;

	for (one = 0; one < PYTHON_EVENTS; one++)
		if (!strcmp(python_event_name(one), event))
			return python_event_marker(one);
	return "";
}

/* How a place is named: what pp() says. */
static const char *name_of(struct stap_making *m, const struct provider *provider, const struct attach *attach)
{
	const char *last = strrchr(attach->name, ':'), *first = strchr(attach->name, ':');

	last = last ? last + 1 : attach->name;
	if (!strcmp(provider->name, "usdt"))
		return arena_printf(m->c->arena, "process(\"%s\").mark(\"%s\")", attach->path, last);
	if (!strcmp(provider->name, "python"))
		return arena_printf(m->c->arena, "process(\"%s\").mark(\"%s\")", attach->path, marker_of(last));
	if (!strcmp(provider->name, "uprobe") || !strcmp(provider->name, "uretprobe"))
		return arena_printf(m->c->arena, "process(\"%s\").function(\"%s\")%s", attach->path,
				    attach->function ? attach->function : last, provider->is_return ? ".return" : "");
	if (!strcmp(provider->name, "tracepoint") && first)
		return arena_printf(m->c->arena, "kernel.trace(\"%s\")", first + 1);
	if (provider->is_kernel)
		return arena_printf(m->c->arena, "kernel.function(\"%s\")%s",
				    attach->function ? attach->function : last, provider->is_return ? ".return" : "");
	return stap_point_text(m->c, m->point);
}

static const char *function_of(const struct attach *attach)
{
	const char *last = strrchr(attach->name, ':');

	return attach->function ? attach->function : last ? last + 1 : "";
}

static void search(struct stap_making *m, const char *const *parts, uint32_t count)
{
	struct compiler *c = m->c;
	struct attach_text *point = arena_new(c->arena, struct attach_text);
	const char **copy = arena_array(c->arena, const char *, count);
	const struct action action = {.span = m->point->span, .uses = USES_ARGUMENTS};
	const struct provider *provider = provider_find(parts[0]);
	size_t first = c->attaches.count, units = c->units.count, i;
	uint32_t k;

	if (!point || !copy || !provider)
		return;
	for (k = 0; k < count; k++) {
		if (!parts[k])
			return;
		copy[k] = parts[k];
	}
	*point = (struct attach_text){.span = m->point->span, .parts = copy, .part_count = count};
	provider_expand(c, &action, point);
	c->units.count = units;
	if (c->attaches.count > first && c->attaches.at[first].flags & ATTACH_SYNTHESIZED)
		provider = provider_find("python");
	for (i = first; i < c->attaches.count && !c->arena->failed; i++) {
		const struct stap_place place = {.handler = m->handler,
						 .name = name_of(m, provider, &c->attaches.at[i]),
						 .function = function_of(&c->attaches.at[i])};

		provider_add_unit(c, &action, point, provider, (uint32_t)i, 1);
		if (vec_push(&stap_state(c)->places, place) || !place.name)
			c->arena->failed = true;
		m->found++;
	}
}

/* --- begin and its like --- */

static void find_special(struct stap_making *m)
{
	static const char *const begin[] = {"begin"}, *const end[] = {"end"};
	bool is_begin = names(m, 0, "begin");

	if (m->point->part_count > 1) {
		mismatch(m, 1, "none");
		return;
	}
	m->handler->is_everywhere = true;
	m->handler->sequence = part(m, 0)->kind == STAP_NUMBER ? part(m, 0)->value : 0;
	m->handler->when = is_begin ? WHEN_BEGIN : names(m, 0, "end") ? WHEN_END : WHEN_ERROR;
	search(m, is_begin ? begin : end, 1);
}

/* It has a place where it could run, so that all of it is looked at. */
static void find_never(struct stap_making *m)
{
	static const char *const end[] = {"end"};

	m->handler->is_everywhere = true;
	m->handler->when = WHEN_NEVER;
	search(m, end, 1);
}

/* --- timers --- */

static void find_timer(struct stap_making *m)
{
	static const struct {
		const char *name;
		uint64_t nanoseconds;
	} units[] = {{"s", 1000000000}, {"sec", 1000000000}, {"ms", 1000000}, {"msec", 1000000},   {"us", 1000},
		     {"usec", 1000},    {"ns", 1},           {"nsec", 1},     {"jiffies", 4000000}};
	const char *parts[3] = {"interval", "ns"};
	uint64_t value = (uint64_t)part(m, 1)->value, period = 0;
	size_t i;

	m->handler->when = WHEN_TIMER;
	m->handler->is_everywhere = true;
	if (names(m, 1, "profile")) {
		static const char *const profile[] = {"profile", "hz", "250"};

		search(m, profile, 3);
		return;
	}
	if (part(m, 1)->kind != STAP_NUMBER) {
		mismatch(m, 1, "hz jiffies ms msec ns nsec profile s sec us usec");
		return;
	}
	if (m->point->part_count > 2 && !names(m, 2, "randomize")) {
		mismatch(m, 2, "randomize");
		return;
	}
	for (i = 0; i < sizeof(units) / sizeof(units[0]); i++)
		if (names(m, 1, units[i].name) && __builtin_mul_overflow(value, units[i].nanoseconds, &period))
			period = 0;
	if (names(m, 1, "hz") && value)
		period = 1000000000 / value;
	if (period < 1000 || period > INT64_MAX || part(m, 1)->value <= 0) {
		stap_complain(m->c, "stap.timer", part(m, 1)->span, "invalid timer interval");
		report_hint(m->c->report, "a period is 1 us at least");
		return;
	}
	parts[2] = arena_printf(m->c->arena, "%llu", (unsigned long long)period);
	search(m, parts, 3);
}

static void find_perf(struct stap_making *m)
{
	static const char *const parts[] = {"profile", "hz", "1000"};

	m->handler->when = WHEN_TIMER;
	m->handler->is_everywhere = true;
	if (names(m, 1, "sw") && (names(m, 2, "cpu_clock") || names(m, 2, "task_clock")) && m->point->part_count == 3)
		search(m, parts, 3);
	else
		refuse(m, m->point->part_count > 2 ? 2 : 1,
		       "perf.sw.cpu_clock is there; strata record counts the others");
}

/* --- the kernel --- */

/* Does the body name what the event's record does not have? Then it means the parameters of the kernel's own event. */
static bool names_more(const struct stap_node *node, const struct type *record)
{
	size_t length;
	uint32_t i;

	if (node->kind == STAP_E_TARGET && node->text[1] != '$') {
		length = strcspn(node->text + 1, STAP_STEPS);
		for (i = 0; i < record->field_count; i++)
			if (record->fields[i].name && strlen(record->fields[i].name) == length &&
			    !strncmp(record->fields[i].name, node->text + 1, length))
				return false;
		return true;
	}
	/* Of @choose_defined(a, b) only a counts, if the record has it. */
	if (node->kind == STAP_E_CHOOSE && !names_more(node->kids[0], record))
		return names_more(node->kids[1], record);
	for (i = 0; i < node->kid_count; i++)
		if (node->kids[i] && node->kids[i]->kind != STAP_E_DEFINED && names_more(node->kids[i], record))
			return true;
	return false;
}

static void find_raw_trace(struct stap_making *m, const char *event)
{
	const char *const parts[2] = {"rawtracepoint", event};
	struct stap_state *state = stap_state(m->c);
	size_t complaints = m->c->report->complaints.count, first = m->c->attaches.count, i;
	unsigned int errors = m->c->report->errors;

	search(m, parts, 2);
	m->c->report->complaints.count = complaints;
	m->c->report->errors = errors;
	if (m->c->attaches.count == first)
		return;
	/* These take the place of what was found before. */
	for (i = 0; i < first && state->places.at[i].handler != m->handler;)
		i++;
	memmove(&m->c->attaches.at[i], &m->c->attaches.at[first],
		(m->c->attaches.count - first) * sizeof(struct attach));
	memmove(&m->c->units.at[i], &m->c->units.at[first], (m->c->units.count - first) * sizeof(struct unit));
	memmove(&state->places.at[i], &state->places.at[first],
		(state->places.count - first) * sizeof(struct stap_place));
	m->found = m->c->attaches.count - first;
	m->c->attaches.count = m->c->units.count = state->places.count = i + m->found;
}

static void find_trace(struct stap_making *m, const char *text)
{
	const char *colon = strchr(text, ':');
	size_t first = m->c->attaches.count;
	const char *parts[3] = {"tracepoint", "*", colon ? colon + 1 : text};

	if (colon)
		parts[1] = arena_strdup(m->c->arena, text, (size_t)(colon - text));
	m->handler->is_everywhere = true;
	search(m, parts, 3);
	if (m->found && m->c->attaches.at[first].arguments &&
	    names_more(m->handler->body, m->c->attaches.at[first].arguments) &&
	    !strstr(m->c->attaches.at[first].name, ":syscalls:sys_"))
		find_raw_trace(m, parts[2]);
}

/* NAME@FILE:LINE without what is behind the name. */
static const char *function_name(struct stap_making *m, const struct stap_component *component)
{
	return arena_strdup(m->c->arena, component->text, strcspn(component->text, "@"));
}

static bool take_suffix(struct stap_making *m, uint32_t index, bool *is_return)
{
	*is_return = names(m, index, "return");
	if (index + 1 < m->point->part_count ||
	    (index < m->point->part_count && !*is_return && !names(m, index, "call") && !names(m, index, "exported"))) {
		if (names(m, index, "inline"))
			refuse(m, index, "inlined calls have no place of their own");
		else
			mismatch(m, index, "call exported return");
		return false;
	}
	m->handler->is_return = *is_return;
	return true;
}

static void find_kernel(struct stap_making *m)
{
	const char *parts[2];
	bool is_return;

	m->handler->is_everywhere = true;
	if (names(m, 1, "trace") && part(m, 1)->kind == STAP_TEXT && m->point->part_count == 2) {
		find_trace(m, part(m, 1)->text);
	} else if (names(m, 1, "function") && part(m, 1)->kind == STAP_TEXT) {
		if (!take_suffix(m, 2, &is_return))
			return;
		parts[0] = is_return ? "kretprobe" : "kprobe";
		parts[1] = function_name(m, part(m, 1));
		search(m, parts, 2);
	} else if (names(m, 1, "statement") || names(m, 1, "data") || names(m, 1, "mark")) {
		refuse(m, 1, "kernel.trace(\"GROUP:EVENT\") and kernel.function(\"NAME\") are there");
	} else {
		mismatch(m, 1, "function trace");
	}
}

/* --- processes --- */

static const char *executable_of(struct stap_making *m, int64_t pid)
{
	char path[64], target[4096];
	ssize_t length;

	snprintf(path, sizeof(path), "/proc/%lld/exe", (long long)pid);
	length = readlink(path, target, sizeof(target) - 1);
	return length > 0 ? arena_strdup(m->c->arena, target, (size_t)length) : NULL;
}

/* The file that process, process("NAME") or process(PID) means; NULL with a complaint. */
static const char *program_of(struct stap_making *m)
{
	const struct compile_options *options = m->c->options;
	const struct stap_component *first = part(m, 0);
	const char *path = NULL;

	if (first->kind == STAP_TEXT) {
		if (options->command_path &&
		    (!strcmp(options->command_path, first->text) ||
		     (!strchr(first->text, '/') && !strcmp(path_basename(options->command_path), first->text))))
			return binary_command_program(m->c);
		return first->text;
	}
	if (first->kind == STAP_NUMBER) {
		m->handler->pid = (int)first->value;
		path = executable_of(m, first->value);
	} else if (options->command_path) {
		return binary_command_program(m->c);
	} else if (options->pid) {
		path = executable_of(m, options->pid);
	} else {
		stap_complain(m->c, "stap.process", first->span,
			      "unresolved process: no -c COMMAND or -x PID is given");
		report_hint(m->c->report, "process(\"PATH\") names a program");
		return NULL;
	}
	if (!path)
		stap_complain(m->c, "stap.process", first->span, "the process does not exist, or may not be looked at");
	return path;
}

static const struct lifetime {
	const char *name, *more; /* components behind process */
	const char *group, *event;
	bool is_leader, is_no_leader;
} lifetimes[] = {
	{"begin", "", "sched", "sched_process_exec", false, false},
	{"end", "", "sched", "sched_process_exit", true, false},
	{"thread", "end", "sched", "sched_process_exit", false, true},
	{"syscall", "", "raw_syscalls", "sys_enter", false, false},
	{"syscall", "return", "raw_syscalls", "sys_exit", false, false},
};

/* By the name of the process, which is the file's, cut to 15 characters. */
static void limit_to_program(struct stap_making *m)
{
	const struct stap_component *first = part(m, 0);

	if (first->kind == STAP_NUMBER)
		m->handler->pid = (int)first->value;
	else if (first->kind == STAP_TEXT)
		m->handler->process = arena_printf(m->c->arena, "%.15s", path_basename(first->text));
	m->handler->is_everywhere = !m->c->options->pid || first->kind == STAP_NUMBER;
}

static bool find_lifetime(struct stap_making *m)
{
	size_t i;

	for (i = 0; i < sizeof(lifetimes) / sizeof(lifetimes[0]); i++) {
		const struct lifetime *one = &lifetimes[i];
		const char *const parts[3] = {"tracepoint", one->group, one->event};

		if (!names(m, 1, one->name) || !names(m, 2, one->more) || part(m, 1)->kind != STAP_END)
			continue;
		limit_to_program(m);
		m->handler->is_leader = one->is_leader;
		m->handler->is_no_leader = one->is_no_leader;
		m->handler->is_raw_syscall = !strcmp(one->name, "syscall");
		m->handler->is_return = *one->more == 'r';
		search(m, parts, 3);
		return true;
	}
	if (!names(m, 1, "thread"))
		return false;
	refuse(m, 2, "the kernel tells of a new thread in the one that starts it: kernel.trace(\"task:task_newtask\")");
	return true;
}

/* What markers of Python's tell happens in interpreters without markers, too. */
static bool find_python(struct stap_making *m, const char *path, const char *mark)
{
	const char *parts[3] = {"python", path, NULL};
	size_t complaints = m->c->report->complaints.count;
	unsigned int errors = m->c->report->errors;
	enum python_event event = 0;

	while (event < PYTHON_EVENTS && strcmp(python_event_marker(event), mark) != 0)
		event++;
	if (event == PYTHON_EVENTS || !*mark)
		return false;
	parts[2] = python_event_name(event);
	if (!path) {
		parts[1] = parts[2];
		search(m, parts, 2);
	} else {
		search(m, parts, 3);
	}
	if (m->found)
		return true;
	m->c->report->complaints.count = complaints;
	m->c->report->errors = errors;
	return false;
}

/*
 * In 3.11 the function markers fire only while that for lines is in use, too. So strata's own probes come first for
 * functions. Other markers come first where they are.
 */
static void find_mark(struct stap_making *m, const char *path, const char *provider, const char *mark)
{
	const char *parts[4] = {"usdt", path, provider, mark};

	bool is_python = provider_matches(provider, "python");
	size_t complaints = m->c->report->complaints.count;
	unsigned int errors = m->c->report->errors;

	if (is_python && !strncmp(mark, "function__", 10) && find_python(m, path, mark))
		return;
	search(m, parts, 4);
	if (!is_python || m->found || !find_python(m, path, mark))
		return;
	m->c->report->complaints.count = complaints;
	m->c->report->errors = errors;
}

static void find_functions(struct stap_making *m, const char *path, uint32_t index)
{
	const char *parts[3] = {"uprobe", path};
	bool is_return;

	if (!take_suffix(m, index + 1, &is_return))
		return;
	parts[0] = is_return ? "uretprobe" : "uprobe";
	parts[2] = function_name(m, part(m, index));
	search(m, parts, 3);
}

static void find_process(struct stap_making *m)
{
	const char *path, *provider = "*";
	uint32_t index = 1;

	m->handler->is_everywhere = !m->c->options->pid || part(m, 0)->kind == STAP_NUMBER;
	if (find_lifetime(m))
		return;
	path = program_of(m);
	if (!path)
		return;
	if (names(m, 1, "library") && part(m, 1)->kind == STAP_TEXT) {
		path = part(m, 1)->text;
		index = 2;
	}
	if (names(m, index, "provider") && part(m, index)->kind == STAP_TEXT)
		provider = part(m, index++)->text;
	if (names(m, index, "mark") && part(m, index)->kind == STAP_TEXT && index + 1 == m->point->part_count)
		find_mark(m, path, provider, part(m, index)->text);
	else if (names(m, index, "function") && part(m, index)->kind == STAP_TEXT)
		find_functions(m, path, index);
	else if (names(m, index, "statement") || names(m, index, "plt") || names(m, index, "insn") ||
		 names(m, index, "function"))
		refuse(m, index, "process(...).function(\"NAME\") and .mark(\"NAME\") are there");
	else
		mismatch(m, index, "begin end function library mark provider syscall thread");
}

/* Of our own tapsets: python's functions, in the processes that the options mean. */
static void find_python_functions(struct stap_making *m)
{
	m->handler->is_everywhere = !m->c->options->pid;
	if (!find_python(m, m->c->options->command_path ? binary_command_program(m->c) : NULL,
			 names(m, 1, "entry") ? "function__entry" : "function__return"))
		stap_complain(m->c, "stap.python", m->point->span, "no Python runs whose functions can be probed");
}

static void find_python_mark(struct stap_making *m)
{
	const char *path = m->c->options->command_path ? binary_command_program(m->c) : "*";

	m->handler->is_everywhere = !m->c->options->pid;
	find_mark(m, path, "python", part(m, 0)->kind == STAP_TEXT ? part(m, 0)->text : "");
}

void stap_find(struct stap_making *m)
{
	static const struct {
		const char *name;
		void (*find)(struct stap_making *m);
	} table[] = {
		{"begin", find_special},
		{"end", find_special},
		{"error", find_special},
		{"never", find_never},
		{"timer", find_timer},
		{"perf", find_perf},
		{"kernel", find_kernel},
		{"process", find_process},
		{"__python", find_python_functions},
		{"__python_mark", find_python_mark},
	};
	static const char *const missing[] = {"module", "procfs", "netfilter", "java", "debuginfod", "input", "vfs"};
	size_t i;

	for (i = 0; i < sizeof(table) / sizeof(table[0]); i++)
		if (names(m, 0, table[i].name)) {
			table[i].find(m);
			return;
		}
	for (i = 0; i < sizeof(missing) / sizeof(missing[0]); i++)
		if (names(m, 0, missing[i])) {
			refuse(m, 0, "docs/SYSTEMTAP.md lists the probe points that there are");
			return;
		}
	stap_complain(m->c, "stap.point", m->point->span, "while resolving probe point: identifier '%s': no match",
		      part(m, 0)->name);
	report_hint(m->c->report, "docs/SYSTEMTAP.md lists the probe points that there are, -I DIR adds tapsets");
}
