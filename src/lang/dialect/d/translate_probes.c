// SPDX-License-Identifier: GPL-2.0-or-later
/* D's probe descriptions as bpftrace's attach points. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "lang/core/number.h"
#include "lang/dialect/d/translate.h"
#include "lang/provider/provider.h"

static const char *target_path(struct d_writer *w)
{
	const struct compile_options *options = w->c->options;

	if (options->command_path)
		return options->command_path;
	return options->pid ? arena_printf(w->c->arena, "/proc/%d/exe", options->pid) : NULL;
}

/* --- timers --- */

static const char *period(struct d_writer *w, const char *text)
{
	static const struct {
		const char *from, *to;
		uint64_t factor;
	} units[] = {{"hz", "hz", 1}, {"ns", "ns", 1}, {"nsec", "ns", 1},   {"us", "us", 1},
		     {"usec", "us", 1}, {"ms", "ms", 1}, {"msec", "ms", 1},   {"s", "s", 1},
		     {"sec", "s", 1}, {"m", "s", 60}, {"min", "s", 60},    {"h", "s", 3600},
		     {"hour", "s", 3600},   {"d", "s", 86400}, {"day", "s", 86400}};
	size_t digits = strspn(text, "0123456789"), i;
	uint64_t value;

	if (!digits || !number_parse(text, digits, &value) || value > UINT32_MAX)
		return NULL;
	for (i = 0; i < sizeof(units) / sizeof(units[0]); i++)
		if (!strcasecmp(text[digits] ? text + digits : "hz", units[i].from)) {
			value *= units[i].factor;
			if (strcmp(units[i].to, "ns") != 0)
				return arena_printf(w->c->arena, "%s:%llu", units[i].to, (unsigned long long)value);
			return arena_printf(w->c->arena, "us:%llu", (unsigned long long)(value / 1000));
		}
	return NULL;
}

static bool timer(struct d_writer *w, const struct d_probe *probe, struct d_target *ret)
{
	const char *name = probe->parts[3], *text;
	bool is_tick = !strncmp(name, "tick-", 5);

	if ((*probe->parts[0] && strcmp(probe->parts[0], "profile") != 0) || *probe->parts[1] || *probe->parts[2] ||
	    (!is_tick && strncmp(name, "profile-", 8) != 0))
		return false;
	text = period(w, name + (is_tick ? 5 : 8));
	if (text)
		ret->point = arena_printf(w->c->arena, "%s:%s", is_tick ? "interval" : "profile", text);
	ret->parts[0] = "profile";
	return true;
}

/* --- the kernel --- */

static bool syscall(struct d_writer *w, const struct d_probe *probe, struct d_target *ret)
{
	const char *function = *probe->parts[2] ? probe->parts[2] : "*", *name = probe->parts[3];
	bool is_entry = !strcmp(name, "entry"), is_all = !strcmp(function, "*");

	/* write:entry is one, too. */
	if (strcmp(probe->parts[0], "syscall") != 0 && (*probe->parts[0] || *probe->parts[1] || !*probe->parts[2]))
		return false;
	if (!is_entry && strcmp(name, "return") != 0)
		return true;
	if (is_all) {
		ret->point = is_entry ? "tracepoint:raw_syscalls:sys_enter" : "tracepoint:raw_syscalls:sys_exit";
		ret->site = is_entry ? SITE_RAW_ENTRY : SITE_RAW_RETURN;
		ret->function = "syscall_name(args.id)";
	} else {
		ret->events = arena_printf(w->c->arena, "sys_%s_%s", is_entry ? "enter" : "exit", function);
		ret->point = arena_printf(w->c->arena, "tracepoint:syscalls:%s", ret->events ? ret->events : "");
		ret->site = is_entry ? SITE_ENTRY : SITE_RETURN;
	}
	ret->parts[1] = "vmlinux";
	return true;
}

const char *d_syscall_field(struct d_writer *w, uint32_t number)
{
	const struct action action = {.span = w->clause->span, .uses = USES_ARGS};
	struct attach_text *point = arena_new(w->c->arena, struct attach_text);
	const char **parts = arena_array(w->c->arena, const char *, 3);
	const char *name = NULL;
	struct report report = *w->c->report;
	size_t i;

	if (!point || !parts)
		return NULL;
	parts[0] = "tracepoint";
	parts[1] = "syscalls";
	parts[2] = w->target->events;
	*point = (struct attach_text){.span = w->clause->span, .parts = parts, .part_count = 3};
	provider_expand(w->c, &action, point);
	for (i = 0; i < w->c->attaches.count; i++) {
		const struct type *arguments = w->c->attaches.at[i].arguments;
		/* The record begins with the system call's number. */
		const char *own = arguments && number + 1 < arguments->field_count ? arguments->fields[number + 1].name
										   : NULL;

		if (!own || (name && strcmp(own, name) != 0)) {
			name = NULL;
			break;
		}
		name = own;
	}
	w->c->attaches.count = 0;
	w->c->units.count = 0;
	/* That this machine does not have it is no mistake. */
	w->c->report->errors = report.errors;
	w->c->report->complaints.count = report.complaints.count;
	return name;
}

static bool event(struct d_writer *w, const struct d_probe *probe, struct d_target *ret)
{
	static const struct {
		const char *provider, *name, *event, *condition;
	} table[] = {{"proc", "exec-success", "sched:sched_process_exec", NULL},
		     {"proc", "exit", "sched:sched_process_exit", "pid == tid"},
		     {"proc", "lwp-exit", "sched:sched_process_exit", NULL},
		     {"proc", "create", "sched:sched_process_fork", NULL},
		     {"proc", "signal-send", "signal:signal_generate", NULL},
		     {"proc", "signal-handle", "signal:signal_deliver", NULL},
		     {"sched", "off-cpu", "sched:sched_switch", NULL},
		     {"sched", "wakeup", "sched:sched_wakeup", NULL},
		     {"io", "start", "block:block_bio_queue", NULL},
		     {"io", "done", "block:block_bio_complete", NULL}};
	const char *provider = probe->parts[0];
	size_t i;

	if (!strcmp(provider, "sdt") || !strcmp(provider, "rawtp")) {
		ret->site = SITE_FUNCTION;
		if (!strcmp(provider, "sdt"))
			ret->site = SITE_EVENT;
		ret->point = *provider == 's' ? arena_printf(w->c->arena, "tracepoint:%s:%s",
							     *probe->parts[1] ? probe->parts[1] : "*", probe->parts[3])
					      : arena_printf(w->c->arena, "rawtracepoint:%s", probe->parts[3]);
		return true;
	}
	if (strcmp(provider, "proc") && strcmp(provider, "sched") && strcmp(provider, "io"))
		return false;
	ret->site = SITE_EVENT;
	for (i = 0; i < sizeof(table) / sizeof(table[0]); i++)
		if (!strcmp(table[i].provider, provider) && !strcmp(table[i].name, probe->parts[3])) {
			ret->point = arena_printf(w->c->arena, "tracepoint:%s", table[i].event);
			ret->condition = table[i].condition;
		}
	return true;
}

static bool kernel_function(struct d_writer *w, const struct d_probe *probe, struct d_target *ret)
{
	bool is_entry = !strcmp(probe->parts[3], "entry");

	if (strcmp(probe->parts[0], "fbt") != 0)
		return false;
	if (is_entry || !strcmp(probe->parts[3], "return"))
		ret->point = arena_printf(w->c->arena, "%s:%s", is_entry ? "kprobe" : "kretprobe",
					  *probe->parts[2] ? probe->parts[2] : "*");
	ret->site = is_entry ? SITE_FUNCTION : SITE_FUNCTION_RETURN;
	ret->function = "func";
	return true;
}

/* --- processes --- */

static bool is_of(const char *provider, const char *name)
{
	size_t length = strlen(name);

	return !strncmp(provider, name, length) &&
	       (provider[length] == '$' || isdigit((unsigned char)provider[length]));
}

/* The file of pid$target:MODULE, and what a probe of a process that is named by its number needs. */
static const char *module(struct d_writer *w, const struct d_probe *probe, struct d_target *ret)
{
	const char *provider = probe->parts[0], *name = probe->parts[1], *path = target_path(w);
	size_t digits;

	for (digits = strlen(provider); digits && isdigit((unsigned char)provider[digits - 1]);)
		digits--;
	if (provider[digits]) {
		path = arena_printf(w->c->arena, "/proc/%s/exe", provider + digits);
		ret->condition = arena_printf(w->c->arena, "pid == %s", provider + digits);
	}
	if (*name && strcmp(name, "a.out") != 0)
		return name;
	if (!path)
		translate_mark(w->t, translate_source(w->t, probe->span),
			       "bpftrace looks in a file: put its path for PROGRAM, or translate with -c or -p");
	return path ? path : "PROGRAM";
}

static bool user_function(struct d_writer *w, const struct d_probe *probe, struct d_target *ret)
{
	const char *name = probe->parts[3], *function = *probe->parts[2] ? probe->parts[2] : "*", *path;
	bool is_return = !strcmp(name, "return");

	if (!is_of(probe->parts[0], "pid"))
		return false;
	path = module(w, probe, ret);
	ret->function = "func";
	ret->site = is_return ? SITE_FUNCTION_RETURN : SITE_FUNCTION;
	if (is_return || !strcmp(name, "entry"))
		ret->point = arena_printf(w->c->arena, "%s:%s:%s", is_return ? "uretprobe" : "uprobe", path, function);
	else if (*name && strspn(name, "0123456789abcdefABCDEF") == strlen(name))
		ret->point = arena_printf(w->c->arena, "uprobe:%s:%s+0x%s", path, function, name);
	return true;
}

static void marker(struct d_writer *w, const struct d_probe *probe, struct d_target *ret)
{
	const char *provider = probe->parts[0], *from;
	const char *path = target_path(w);
	char *name = arena_alloc(w->c->arena, 2 * strlen(probe->parts[3]) + 2), *to = name;
	size_t length = strcspn(provider, "$*");

	while (length && isdigit((unsigned char)provider[length - 1]))
		length--;
	if (!name || !length)
		return;
	for (from = probe->parts[3]; *from; from++) {
		if (*from == '-')
			*to++ = '_';
		*to++ = *from == '-' ? '_' : *from;
	}
	*to = '\0';
	if (!*name)
		memcpy(name, "*", 2);
	if (isdigit((unsigned char)provider[length])) {
		path = arena_printf(w->c->arena, "/proc/%s/exe", provider + length);
		ret->condition = arena_printf(w->c->arena, "pid == %s", provider + length);
	}
	ret->site = SITE_FUNCTION;
	ret->point = arena_printf(w->c->arena, "usdt:%s:%.*s:%s", path ? path : "*", (int)length, provider, name);
	if (*probe->parts[1] || *probe->parts[2])
		translate_mark(w->t, translate_source(w->t, probe->span),
			       "the module and the function of a marker are not told apart");
}

/* --- all --- */

/* The description as the source has it: $target is still there. */
static void take_parts(struct d_writer *w, const struct d_probe *probe, struct d_probe *ret)
{
	const char *source = translate_source(w->t, probe->span);
	char *copy = arena_strdup(w->c->arena, source, strlen(source));
	const char *parts[4] = {}, *part;
	uint32_t count = 0, i;

	*ret = *probe;
	if (!copy || !strchr(copy, '$'))
		return;
	while (count < 4 && (part = strsep(&copy, ":")))
		parts[count++] = part;
	for (i = 0; i < count; i++)
		ret->parts[4 - count + i] = parts[i];
}

struct d_target d_target_of(struct d_writer *w, const struct d_probe *probe)
{
	static const struct {
		const char *provider, *why;
	} missing[] = {{"lockstat", "bpftrace has no probes of locks"}, {"cpc", "bpftrace has hardware:EVENT for this"},
		       {"ip", "bpftrace has the kernel's tracepoints of the network"},
		       {"tcp", "bpftrace has the kernel's tracepoints of the network"},
		       {"udp", "bpftrace has the kernel's tracepoints of the network"}};
	struct d_target ret = {};
	struct d_probe own;
	const char *name = probe->parts[3], *text;
	bool is_own;
	uint32_t i;

	take_parts(w, probe, &own);
	probe = &own;
	for (i = 0; i < 4; i++)
		ret.parts[i] = strpbrk(probe->parts[i], "*?[$") || !*probe->parts[i] ? NULL : probe->parts[i];
	text = translate_source(w->t, probe->span);
	is_own = !*probe->parts[0] || !strcmp(probe->parts[0], "dtrace");
	if (is_own && (!strcmp(name, "BEGIN") || !strcmp(name, "END"))) {
		ret.point = name;
		ret.is_end = !strcmp(name, "END");
		ret.parts[0] = "dtrace";
		ret.parts[1] = ret.parts[2] = "";
	} else if (is_own && !strcmp(name, "ERROR")) {
		translate_mark(w->t, text, "bpftrace has no probe for what fails: it warns, and goes on");
	} else if (!timer(w, probe, &ret) && !syscall(w, probe, &ret) && !event(w, probe, &ret) &&
		   !kernel_function(w, probe, &ret) && !user_function(w, probe, &ret)) {
		for (i = 0; i < sizeof(missing) / sizeof(missing[0]); i++)
			if (!strcmp(missing[i].provider, probe->parts[0])) {
				translate_mark(w->t, text, "%s", missing[i].why);
				return ret;
			}
		if (*probe->parts[0])
			marker(w, probe, &ret);
	}
	if (!ret.point && !w->t->marks.count)
		translate_mark(w->t, text, "bpftrace has no such probe");
	return ret;
}
