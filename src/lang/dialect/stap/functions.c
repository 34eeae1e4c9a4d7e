// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The functions that scripts can call. Parameters: l a long, s a string, a an address whose text is collected
 * (capture.c), * whatever is printed; those behind ? may be missing.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "lang/core/syscalls.h"
#include "lang/dialect/stap/functions.h"
#include "lang/dialect/stap/tasks.h"

/* --- printing --- */

static void print_string(struct stap_run *run, FILE *out, const struct stap_node *kid, const char *text, bool is_output)
{
	/* What the script itself says may be for the terminal. */
	if (is_output && kid->kind != STAP_E_TEXT)
		print_data(run->p, out, text, strlen(text));
	else
		fputs(text, out);
}

static void print_one(struct stap_run *run, FILE *out, const struct stap_node *kid, const struct stap_value *one,
		      bool is_output)
{
	if (kid->kind == STAP_E_HIST) {
		const struct stap_stat *stat = stap_run_stat(run, kid->kids[0]);

		run->at = kid;
		if (!stat || !stat->buckets)
			stap_fail(run, "empty aggregate");
		else
			stap_print_histogram(out, kid->kids[0]->variable, stat);
	} else if (kid->type == STAP_STRING) {
		print_string(run, out, kid, one->text, is_output);
	} else {
		fprintf(out, "%" PRId64, one->number);
	}
}

/* print, println, printd, printdln, printf, and what begins with s. */
static void print_to(struct stap_run *run, const struct stap_node *call, const struct stap_value *arguments, FILE *out,
		     bool is_output)
{
	const char *name = call->text + (*call->text == 's');
	bool is_line = strlen(name) > 2 && !strcmp(name + strlen(name) - 2, "ln");
	bool has_delimiter = !strncmp(name, "printd", 6);
	uint32_t i;

	if (!strcmp(name, "printf")) {
		if (call->format)
			stap_format_print(run, call->format, arguments, out, is_output);
		return;
	}
	for (i = has_delimiter; i < call->kid_count && run->flow == FLOW_ON; i++) {
		if (has_delimiter && i > 1)
			print_string(run, out, call->kids[0], arguments[0].text, is_output);
		print_one(run, out, call->kids[i], &arguments[i], is_output);
	}
	if (is_line)
		fputc('\n', out);
}

FUNCTION(print)
{
	(void)ret;
	print_to(run, call, arguments, run->p->out, true);
}

FUNCTION(sprint)
{
	char *text = NULL;
	size_t size = 0;
	FILE *memory = open_memstream(&text, &size);

	if (!memory)
		return;
	print_to(run, call, arguments, memory, false);
	fclose(memory);
	ret->text = stap_text(run, text, size);
	free(text);
}

FUNCTION(print_log)
{
	UNUSED;
	print_data(run->p, run->p->out, arguments[0].text, strlen(arguments[0].text));
	fputc('\n', run->p->out);
}

FUNCTION(print_warning)
{
	UNUSED;
	fflush(run->p->out);
	if (run->state->suppresses_warnings)
		return;
	stap_tell(run, "WARNING: ", arguments[0].text);
}

FUNCTION(print_char)
{
	char byte = (char)arguments[0].number;

	(void)ret;
	if (call->kids[0]->kind == STAP_E_NUMBER)
		fputc((int)(unsigned char)byte, run->p->out);
	else
		print_data(run->p, run->p->out, &byte, 1);
}

/* --- the end --- */

FUNCTION(leave)
{
	UNUSED;
	run->exited = true;
	/* In `end` there is nothing more to end, and what other probes say of the end is to be heard. */
	if (run->handler->when != WHEN_END && run->handler->when != WHEN_ERROR)
		run->p->deeds->exit(run->p->run, 0);
}

/* Nothing of the handler is done behind it. */
FUNCTION(leave_at_once)
{
	leave(run, call, arguments, ret);
	run->flow = FLOW_NEXT;
}

FUNCTION(fail)
{
	UNUSED;
	run->at = NULL;
	stap_fail(run, "%s", arguments[0].text);
}

FUNCTION(assert)
{
	UNUSED;
	run->at = NULL;
	if (!arguments[0].number)
		stap_fail(run, "%s", call->kid_count > 1 ? arguments[1].text : "assertion failed");
}

FUNCTION(run_command)
{
	UNUSED;
	run->p->deeds->system(run->p->run, arguments[0].text);
}

/* --- who and where --- */

FUNCTION(need_number)
{
	(void)arguments;
	ret->number = stap_need_number(run, (enum stap_need)__builtin_ctz(call->builtin->needs));
}

FUNCTION(need_text)
{
	(void)arguments;
	ret->text = stap_need_text(run, (enum stap_need)__builtin_ctz(call->builtin->needs));
}

FUNCTION(target)
{
	UNUSED;
	ret->number = run->c->options->pid;
}

FUNCTION(stap_pid)
{
	UNUSED;
	ret->number = getpid();
}

FUNCTION(cpus)
{
	UNUSED;
	ret->number = sysconf(_SC_NPROCESSORS_ONLN);
}

FUNCTION(page_size)
{
	UNUSED;
	ret->number = sysconf(_SC_PAGESIZE);
}

/* Without -S there is one file of output, as in stap. */
FUNCTION(nothing_to_do)
{
	UNUSED;
}

/* 0: the processor was in the kernel. */
FUNCTION(user_address)
{
	int64_t address = stap_need_number(run, NEED_ADDRESS);

	(void)call;
	(void)arguments;
	ret->number = address > 0 ? address : 0;
}

FUNCTION(point_name)
{
	UNUSED;
	ret->text = run->place->name;
}

/* $$name: of process("...").mark("NAME") and kernel.trace("GROUP:NAME") the name, of others what pp() says. */
FUNCTION(mark_name)
{
	const char *end = strrchr(run->place->name, '"'), *begin = end;
	char *text;

	UNUSED;
	ret->text = run->place->name;
	if (!end)
		return;
	while (begin > run->place->name && begin[-1] != '"' && begin[-1] != ':')
		begin--;
	text = stap_room(run, (size_t)(end - begin) + 1);
	if (text)
		ret->text = stap_text(run, memcpy(text, begin, (size_t)(end - begin)), (size_t)(end - begin));
}

FUNCTION(alias_name)
{
	UNUSED;
	ret->text = run->handler->alias ? run->handler->alias : run->place->name;
}

FUNCTION(place_function)
{
	UNUSED;
	ret->text = run->place->function;
}

FUNCTION(is_return)
{
	UNUSED;
	ret->number = run->handler->is_return;
}

FUNCTION(module_name)
{
	UNUSED;
	ret->text = "stap_strata";
}

/* --- time --- */

static int64_t wall_clock(const struct stap_run *run)
{
	return stap_need_number(run, NEED_TIME) + run->p->words->boot_time(run->p->names);
}

static int64_t divisor_of(const char *name)
{
	const char *unit = strrchr(name, '_');

	if (!unit || !strcmp(unit, "_ns"))
		return 1;
	return !strcmp(unit, "_us") ? 1000 : !strcmp(unit, "_ms") ? 1000000 : !strcmp(unit, "_s") ? 1000000000 : 1;
}

FUNCTION(time_of_day)
{
	UNUSED;
	ret->number = wall_clock(run) / divisor_of(call->text);
}

FUNCTION(clock_since_start)
{
	UNUSED;
	ret->number = stap_need_number(run, NEED_TIME) / divisor_of(call->text);
}

FUNCTION(jiffies)
{
	UNUSED;
	ret->number = stap_need_number(run, NEED_TIME) / 4000000;
}

FUNCTION(hertz)
{
	UNUSED;
	ret->number = 250;
}

static void date(struct stap_run *run, int64_t seconds, bool is_local, struct stap_value *ret)
{
	time_t time = (time_t)seconds;
	struct tm broken = {};
	char text[64];

	if (is_local)
		localtime_r(&time, &broken);
	else
		gmtime_r(&time, &broken);
	ret->text = stap_text(
		run, text,
		strftime(text, sizeof(text), is_local ? "%a %b %e %H:%M:%S %Y %Z" : "%a %b %e %H:%M:%S %Y", &broken));
}

FUNCTION(print_date)
{
	date(run, call->kid_count ? arguments[0].number : wall_clock(run) / 1000000000, !strcmp(call->text, "tz_ctime"),
	     ret);
}

FUNCTION(offset_of_zone)
{
	time_t now = time(NULL);
	struct tm broken = {};

	UNUSED;
	localtime_r(&now, &broken);
	ret->number = -broken.tm_gmtoff;
}

/* --- indentation --- */

static const struct stap_variable by_thread = {.name = "indent", .key_count = 1, .keys = {STAP_LONG}};

static struct stap_entry *indentation(struct stap_run *run, int64_t of)
{
	const struct stap_value key = {.number = of};
	struct stap_entry *entry;

	if (!run->indent)
		run->indent = stap_map_create(&by_thread);
	entry = run->indent ? stap_map_find(run->indent, &key) : NULL;
	if (entry || !run->indent)
		return entry;
	/* Threads that ended while they were deep stay: the oldest goes. */
	if (run->indent->count >= (uint64_t)run->state->limits[MAXMAPENTRIES])
		stap_map_remove(run, run->indent, run->indent->first);
	return stap_map_add(run->indent, &key);
}

/* Deeper before it is printed, less deep after it. One that is back where it began is forgotten. */
static int64_t indent_by(struct stap_run *run, struct stap_entry *entry, int64_t delta)
{
	uint64_t depth = (uint64_t)entry->value.number + (delta > 0 ? (uint64_t)delta : 0);

	entry->value.number = (int64_t)((uint64_t)entry->value.number + (uint64_t)delta);
	if (!entry->value.number)
		stap_map_remove(run, run->indent, entry);
	return (int64_t)depth;
}

static void indent(struct stap_run *run, int64_t of, const char *who, int64_t delta, struct stap_value *ret)
{
	struct stap_entry *entry = indentation(run, of);
	int64_t now = stap_need_number(run, NEED_TIME) / 1000, depth;
	char text[512];

	if (!entry)
		return;
	if (!entry->value.number)
		entry->stat.sum = now;
	depth = indent_by(run, entry, delta);
	depth = depth < 0 ? 0 : depth > 256 ? 256 : depth;
	snprintf(text, sizeof(text), "%6" PRId64 " %s%s%*s", now - entry->stat.sum, who, ":", (int)depth, "");
	ret->text = stap_text(run, text, strlen(text));
}

FUNCTION(thread_indent)
{
	char who[64];
	int64_t tid = stap_need_number(run, NEED_TID);

	(void)call;
	snprintf(who, sizeof(who), "%s(%" PRId64 ")", stap_need_text(run, NEED_NAME), tid);
	indent(run, tid, who, arguments[0].number, ret);
}

FUNCTION(thread_depth)
{
	struct stap_entry *entry = indentation(run, stap_need_number(run, NEED_TID));

	(void)call;
	ret->number = entry ? indent_by(run, entry, arguments[0].number) : 0;
}

FUNCTION(indent_all)
{
	(void)call;
	indent(run, -1, "", arguments[0].number, ret);
}

/* --- stacks and symbols --- */

static enum stap_need side_of(const struct stap_node *call)
{
	return call->builtin->needs & 1u << NEED_KSTACK ? NEED_KSTACK : NEED_USTACK;
}

FUNCTION(print_stack_now)
{
	bool is_brief = strstr(call->text, "_brief");
	const char *text = stap_stack_text(run, side_of(call), is_brief ? STAP_STACK_BRIEF : STAP_STACK_FULL);

	(void)arguments;
	(void)ret;
	print_data(run->p, run->p->out, text, strlen(text));
}

FUNCTION(stack_text)
{
	(void)arguments;
	ret->text = stap_stack_text(run, side_of(call), *call->text == 's' ? STAP_STACK_SIMPLE : STAP_STACK_FULL);
}

FUNCTION(print_stack_text)
{
	UNUSED;
	print_data(run->p, run->p->out, arguments[0].text, strlen(arguments[0].text));
}

FUNCTION(same_text)
{
	UNUSED;
	ret->text = arguments[0].text;
}

/* --- numbers --- */

FUNCTION(random_number)
{
	(void)call;
	run->random = run->random * 6364136223846793005ull + 1442695040888963407ull + (uint64_t)getpid();
	ret->number = arguments[0].number > 0 ? (int64_t)((run->random >> 33) % (uint64_t)arguments[0].number) : 0;
}

FUNCTION(swap_long)
{
	UNUSED;
	ret->number = htonl((uint32_t)arguments[0].number);
}

FUNCTION(swap_short)
{
	UNUSED;
	ret->number = htons((uint16_t)arguments[0].number);
}

FUNCTION(address_text)
{
	struct in_addr address = {.s_addr = (in_addr_t)arguments[0].number};
	char text[INET_ADDRSTRLEN] = "";

	(void)call;
	inet_ntop(AF_INET, &address, text, sizeof(text));
	ret->text = stap_text(run, text, strlen(text));
}

FUNCTION(error_name)
{
	int64_t number = arguments[0].number;
	const char *name = number > -4096 && number < 4096 && number ? strerrorname_np(abs((int)number)) : NULL;
	char text[32];

	(void)call;
	snprintf(text, sizeof(text), "%" PRId64, arguments[0].number);
	ret->text = stap_text(run, name ? name : text, strlen(name ? name : text));
}

/* Would a system call have failed with this? */
FUNCTION(is_error)
{
	UNUSED;
	ret->number = arguments[0].number < 0 && arguments[0].number > -4096 ? -arguments[0].number : 0;
}

/* What a system call returned: the number, and the error's name. */
FUNCTION(return_text)
{
	int64_t number = arguments[call->kid_count > 1 ? 1 : 0].number,
		format = call->kid_count > 1 ? arguments[0].number : 1;
	const char *name = number < 0 && number > -4096 ? strerrorname_np((int)-number) : NULL;
	char text[64];

	snprintf(text, sizeof(text), format == 2 ? "0x%" PRIx64 : "%" PRId64, number);
	if (name)
		snprintf(text, sizeof(text), "%" PRId64 " (%s)", number, name);
	ret->text = stap_text(run, text, strlen(text));
}

FUNCTION(system_call_name)
{
	const char *name = syscall_name((uint64_t)arguments[0].number);
	char text[32];

	(void)call;
	snprintf(text, sizeof(text), "%" PRId64, arguments[0].number);
	ret->text = stap_text(run, name ? name : text, strlen(name ? name : text));
}

FUNCTION(system_call_number)
{
	UNUSED;
	ret->number = syscall_number(arguments[0].text);
}

FUNCTION(signal_name)
{
	const char *name =
		arguments[0].number > 0 && arguments[0].number < 65 ? sigabbrev_np((int)arguments[0].number) : NULL;
	char text[32];

	(void)call;
	if (name)
		snprintf(text, sizeof(text), "SIG%s", name);
	else
		snprintf(text, sizeof(text), "%" PRId64, arguments[0].number);
	ret->text = stap_text(run, text, strlen(text));
}

/* --- the terminal --- */

FUNCTION(terminal)
{
	static const struct {
		const char *name, *format;
	} table[] = {{"ansi_clear_screen", "\033[1;1H\033[J"},
		     {"ansi_reset_color", "\033[m"},
		     {"ansi_new_line", "\n"},
		     {"ansi_cursor_move", "\033[%lld;%lldH"},
		     {"ansi_cursor_hide", "\033[?25l"},
		     {"ansi_cursor_show", "\033[?25h"},
		     {"ansi_cursor_save", "\033[s"},
		     {"ansi_cursor_restore", "\033[u"}};
	long long a = call->kid_count > 0 ? arguments[0].number : 0, b = call->kid_count > 1 ? arguments[1].number : 0;
	size_t i;

	(void)ret;
	/* x comes first here, and second in what the terminal reads. */
	if (!strcmp(call->text, "ansi_cursor_move")) {
		long long x = a;

		a = b;
		b = x;
	}
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
	for (i = 0; i < sizeof(table) / sizeof(table[0]); i++)
		if (!strcmp(table[i].name, call->text))
			fprintf(run->p->out, table[i].format, a, b);
#pragma GCC diagnostic pop
}

/* Foreground, background, attribute. The background is said first, and an attribute of 0 is not said. */
FUNCTION(color)
{
	(void)ret;
	fputs("\033[", run->p->out);
	if (call->kid_count > 1)
		fprintf(run->p->out, "%lld;", (long long)arguments[1].number);
	fprintf(run->p->out, "%lld", (long long)arguments[0].number);
	if (call->kid_count > 2 && arguments[2].number)
		fprintf(run->p->out, ";%lld", (long long)arguments[2].number);
	fputc('m', run->p->out);
}

#define NEEDS(what) (1u << NEED_##what)

static const char late[] = "memory is read when the event happens: use $name->member of the probe's own variables";
static const char task[] = "the tasks that there are come from the probe: task_current(), and variables of its own";

static const struct stap_builtin builtins[] = {
	{"printf", STAP_UNKNOWN, "*", 0, print, NULL},
	{"print", STAP_UNKNOWN, "*", 0, print, NULL},
	{"println", STAP_UNKNOWN, "*", 0, print, NULL},
	{"printd", STAP_UNKNOWN, "*", 0, print, NULL},
	{"printdln", STAP_UNKNOWN, "*", 0, print, NULL},
	{"sprintf", STAP_STRING, "*", 0, sprint, NULL},
	{"sprint", STAP_STRING, "*", 0, sprint, NULL},
	{"sprintln", STAP_STRING, "*", 0, sprint, NULL},
	{"sprintd", STAP_STRING, "*", 0, sprint, NULL},
	{"sprintdln", STAP_STRING, "*", 0, sprint, NULL},
	{"log", STAP_UNKNOWN, "s", 0, print_log, NULL},
	{"warn", STAP_UNKNOWN, "s", 0, print_warning, NULL},
	{"print_char", STAP_UNKNOWN, "l", 0, print_char, NULL},
	{"exit", STAP_UNKNOWN, "", 0, leave, NULL},
	{"error", STAP_UNKNOWN, "s", 0, fail, NULL},
	{"abort", STAP_UNKNOWN, "", 0, leave_at_once, NULL},
	{"assert", STAP_UNKNOWN, "l?s", 0, assert, NULL},
	{"system", STAP_UNKNOWN, "s", 0, run_command, NULL},
	{"pid", STAP_LONG, "", NEEDS(PID), need_number, NULL},
	{"tid", STAP_LONG, "", NEEDS(TID), need_number, NULL},
	{"uid", STAP_LONG, "", NEEDS(UID), need_number, NULL},
	{"gid", STAP_LONG, "", NEEDS(GID), need_number, NULL},
	{"euid", STAP_LONG, "", NEEDS(EUID), need_number, NULL},
	{"egid", STAP_LONG, "", NEEDS(EGID), need_number, NULL},
	{"ppid", STAP_LONG, "", NEEDS(PPID), need_number, NULL},
	{"cpu", STAP_LONG, "", NEEDS(CPU), need_number, NULL},
	{"user_mode", STAP_LONG, "", NEEDS(USERMODE), need_number, NULL},
	{"execname", STAP_STRING, "", NEEDS(NAME), need_text, NULL},
	{"pexecname", STAP_STRING, "", NEEDS(PNAME), need_text, NULL},
	{"target", STAP_LONG, "", 0, target, NULL},
	{"stp_pid", STAP_LONG, "", 0, stap_pid, NULL},
	{"num_online_cpus", STAP_LONG, "", 0, cpus, NULL},
	{"pp", STAP_STRING, "", 0, point_name, NULL},
	{"pn", STAP_STRING, "", 0, alias_name, NULL},
	{"__mark_name", STAP_STRING, "", 0, mark_name, NULL},
	{"ppfunc", STAP_STRING, "", 0, place_function, NULL},
	{"probefunc", STAP_STRING, "", 0, place_function, NULL},
	{"is_return", STAP_LONG, "", 0, is_return, NULL},
	{"module_name", STAP_STRING, "", 0, module_name, NULL},
	{"gettimeofday_s", STAP_LONG, "", NEEDS(TIME), time_of_day, NULL},
	{"gettimeofday_ms", STAP_LONG, "", NEEDS(TIME), time_of_day, NULL},
	{"gettimeofday_us", STAP_LONG, "", NEEDS(TIME), time_of_day, NULL},
	{"gettimeofday_ns", STAP_LONG, "", NEEDS(TIME), time_of_day, NULL},
	{"get_cycles", STAP_LONG, "", NEEDS(TIME), clock_since_start, NULL},
	{"local_clock_s", STAP_LONG, "", NEEDS(TIME), clock_since_start, NULL},
	{"local_clock_ms", STAP_LONG, "", NEEDS(TIME), clock_since_start, NULL},
	{"local_clock_us", STAP_LONG, "", NEEDS(TIME), clock_since_start, NULL},
	{"local_clock_ns", STAP_LONG, "", NEEDS(TIME), clock_since_start, NULL},
	{"cpu_clock_s", STAP_LONG, "l", NEEDS(TIME), clock_since_start, NULL},
	{"cpu_clock_ms", STAP_LONG, "l", NEEDS(TIME), clock_since_start, NULL},
	{"cpu_clock_us", STAP_LONG, "l", NEEDS(TIME), clock_since_start, NULL},
	{"cpu_clock_ns", STAP_LONG, "l", NEEDS(TIME), clock_since_start, NULL},
	{"ktime_get_ns", STAP_LONG, "", NEEDS(TIME), clock_since_start, NULL},
	{"jiffies", STAP_LONG, "", NEEDS(TIME), jiffies, NULL},
	{"HZ", STAP_LONG, "", 0, hertz, NULL},
	{"ctime", STAP_STRING, "?l", NEEDS(TIME), print_date, NULL},
	{"tz_ctime", STAP_STRING, "?l", NEEDS(TIME), print_date, NULL},
	{"tz_gmtoff", STAP_LONG, "", 0, offset_of_zone, NULL},
	{"thread_indent", STAP_STRING, "l", NEEDS(TIME) | NEEDS(TID) | NEEDS(NAME), thread_indent, NULL},
	{"thread_indent_depth", STAP_LONG, "l", NEEDS(TID), thread_depth, NULL},
	{"indent", STAP_STRING, "l", NEEDS(TIME), indent_all, NULL},
	{"strlen", STAP_LONG, "s", 0, stap_length, NULL},
	{"substr", STAP_STRING, "sll", 0, stap_substring, NULL},
	{"isinstr", STAP_LONG, "ss", 0, stap_is_in_text, NULL},
	{"stringat", STAP_LONG, "sl", 0, stap_character, NULL},
	{"strtol", STAP_LONG, "s?l", 0, stap_to_number, NULL},
	{"tokenize", STAP_STRING, "ss", 0, stap_tokenize, NULL},
	{"str_replace", STAP_STRING, "sss", 0, stap_replace, NULL},
	{"text_str", STAP_STRING, "s", 0, stap_escape, NULL},
	{"text_strn", STAP_STRING, "sll", 0, stap_escape, NULL},
	{"syscall_name", STAP_STRING, "l", 0, system_call_name, NULL},
	{"syscall_num", STAP_LONG, "s", 0, system_call_number, NULL},
	{"user_string", STAP_STRING, "a", 0, stap_memory_text, NULL},
	{"user_string2", STAP_STRING, "as", 0, stap_memory_text, NULL},
	{"user_string_warn", STAP_STRING, "a", 0, stap_memory_text, NULL},
	{"user_string_quoted", STAP_STRING, "a", 0, stap_memory_text, NULL},
	{"user_string_unquoted", STAP_STRING, "a", 0, stap_memory_text, NULL},
	{"user_string_n", STAP_STRING, "al", 0, stap_memory_text, NULL},
	{"user_string_n_warn", STAP_STRING, "al", 0, stap_memory_text, NULL},
	{"user_string_n_quoted", STAP_STRING, "al", 0, stap_memory_text, NULL},
	{"kernel_string", STAP_STRING, "a", 0, stap_memory_text, NULL},
	{"kernel_string2", STAP_STRING, "as", 0, stap_memory_text, NULL},
	{"kernel_string_quoted", STAP_STRING, "a", 0, stap_memory_text, NULL},
	{"kernel_string_n", STAP_STRING, "al", 0, stap_memory_text, NULL},
	{"print_ubacktrace", STAP_UNKNOWN, "", NEEDS(USTACK), print_stack_now, NULL},
	{"print_ubacktrace_brief", STAP_UNKNOWN, "", NEEDS(USTACK), print_stack_now, NULL},
	{"print_backtrace", STAP_UNKNOWN, "", NEEDS(KSTACK), print_stack_now, NULL},
	{"ubacktrace", STAP_STRING, "", NEEDS(USTACK), stack_text, NULL},
	{"sprint_ubacktrace", STAP_STRING, "", NEEDS(USTACK), stack_text, NULL},
	{"backtrace", STAP_STRING, "", NEEDS(KSTACK), stack_text, NULL},
	{"sprint_backtrace", STAP_STRING, "", NEEDS(KSTACK), stack_text, NULL},
	{"print_stack", STAP_UNKNOWN, "s", 0, print_stack_text, NULL},
	{"print_ustack", STAP_UNKNOWN, "s", 0, print_stack_text, NULL},
	{"print_syms", STAP_UNKNOWN, "s", 0, print_stack_text, NULL},
	{"print_usyms", STAP_UNKNOWN, "s", 0, print_stack_text, NULL},
	{"sprint_stack", STAP_STRING, "s", 0, same_text, NULL},
	{"sprint_ustack", STAP_STRING, "s", 0, same_text, NULL},
	{"usymname", STAP_STRING, "l", NEEDS(PID), stap_symbol_name, NULL},
	{"usymdata", STAP_STRING, "l", NEEDS(PID), stap_symbol_name, NULL},
	{"symname", STAP_STRING, "l", 0, stap_symbol_name, NULL},
	{"symdata", STAP_STRING, "l", 0, stap_symbol_name, NULL},
	{"usymfile", STAP_STRING, "l", NEEDS(PID), stap_source_name, NULL},
	{"usymline", STAP_STRING, "l", NEEDS(PID), stap_source_name, NULL},
	{"usymfileline", STAP_STRING, "l", NEEDS(PID), stap_source_name, NULL},
	{"symfile", STAP_STRING, "l", 0, stap_source_name, NULL},
	{"symline", STAP_STRING, "l", 0, stap_source_name, NULL},
	{"symfileline", STAP_STRING, "l", 0, stap_source_name, NULL},
	{"addr_to_node", STAP_LONG, "l", 0, stap_node_of, NULL},
	{"randint", STAP_LONG, "l", 0, random_number, NULL},
	{"htonl", STAP_LONG, "l", 0, swap_long, NULL},
	{"ntohl", STAP_LONG, "l", 0, swap_long, NULL},
	{"htons", STAP_LONG, "l", 0, swap_short, NULL},
	{"ntohs", STAP_LONG, "l", 0, swap_short, NULL},
	{"ip_ntop", STAP_STRING, "l", 0, address_text, NULL},
	{"errno_str", STAP_STRING, "l", 0, error_name, NULL},
	{"errno_p", STAP_LONG, "l", 0, is_error, NULL},
	{"returnstr", STAP_STRING, "l", 0, error_name, "retstr and retval are there in syscall.NAME.return"},
	{"return_str", STAP_STRING, "ll", 0, return_text, NULL},
	{"__retstr", STAP_STRING, "l", 0, return_text, NULL},
	{"signal_name", STAP_STRING, "l", 0, signal_name, NULL},
	{"ansi_clear_screen", STAP_UNKNOWN, "", 0, terminal, NULL},
	{"ansi_reset_color", STAP_UNKNOWN, "", 0, terminal, NULL},
	{"ansi_new_line", STAP_UNKNOWN, "", 0, terminal, NULL},
	{"ansi_cursor_move", STAP_UNKNOWN, "ll", 0, terminal, NULL},
	{"ansi_cursor_hide", STAP_UNKNOWN, "", 0, terminal, NULL},
	{"ansi_cursor_show", STAP_UNKNOWN, "", 0, terminal, NULL},
	{"ansi_cursor_save", STAP_UNKNOWN, "", 0, terminal, NULL},
	{"ansi_cursor_restore", STAP_UNKNOWN, "", 0, terminal, NULL},
	{"ansi_set_color", STAP_UNKNOWN, "l?ll", 0, color, NULL},
	{"ansi_set_color2", STAP_UNKNOWN, "ll", 0, color, NULL},
	{"ansi_set_color3", STAP_UNKNOWN, "lll", 0, color, NULL},
	{"user_long", STAP_LONG, "l", 0, stap_length, late},
	{"user_int", STAP_LONG, "l", 0, stap_length, late},
	{"user_short", STAP_LONG, "l", 0, stap_length, late},
	{"user_char", STAP_LONG, "l", 0, stap_length, late},
	{"user_uint32", STAP_LONG, "l", 0, stap_length, late},
	{"user_uint64", STAP_LONG, "l", 0, stap_length, late},
	{"kernel_long", STAP_LONG, "l", 0, stap_length, late},
	{"kernel_int", STAP_LONG, "l", 0, stap_length, late},
	{"kernel_short", STAP_LONG, "l", 0, stap_length, late},
	{"kernel_char", STAP_LONG, "l", 0, stap_length, late},
	{"kernel_pointer", STAP_LONG, "l", 0, stap_length, late},
	{"kernel_uint32", STAP_LONG, "l", 0, stap_length, late},
	{"pid2task", STAP_LONG, "l", 0, stap_length, task},
	{"task_pid", STAP_LONG, "t", 0, stap_task_value, NULL},
	{"task_tid", STAP_LONG, "t", 0, stap_task_value, NULL},
	{"task_execname", STAP_STRING, "t", 0, stap_task_value, NULL},
	{"task_state", STAP_LONG, "t", 0, stap_task_value, NULL},
	{"task_parent", STAP_LONG, "t", 0, stap_task_value, NULL},
	{"task_cpu", STAP_LONG, "t", 0, stap_task_value, NULL},
	{"task_uid", STAP_LONG, "t", 0, stap_task_value, NULL},
	{"task_gid", STAP_LONG, "t", 0, stap_task_value, NULL},
	{"task_euid", STAP_LONG, "t", 0, stap_task_value, NULL},
	{"task_egid", STAP_LONG, "t", 0, stap_task_value, NULL},
	{"__task_prio", STAP_LONG, "t", 0, stap_task_value, NULL},
	{"__task_static_prio", STAP_LONG, "t", 0, stap_task_value, NULL},
	{"__task_utime", STAP_LONG, "t", 0, stap_task_value, NULL},
	{"__task_stime", STAP_LONG, "t", 0, stap_task_value, NULL},
	{"target_set_pid", STAP_LONG, "l", NEEDS(PID) | NEEDS(PPID), stap_is_in_target, NULL},
	{"cmdline_str", STAP_STRING, "", NEEDS(COMMAND), stap_command_line, NULL},
	{"addr", STAP_LONG, "", NEEDS(ADDRESS), need_number, NULL},
	{"uaddr", STAP_LONG, "", NEEDS(ADDRESS), user_address, NULL},
	{"modname", STAP_STRING, "l", 0, stap_module_of, NULL},
	{"umodname", STAP_STRING, "l", NEEDS(PID), stap_module_of, NULL},
	{"switch_file", STAP_UNKNOWN, "", 0, nothing_to_do, NULL},
	{"proc_mem_size", STAP_LONG, "?l", NEEDS(PID), stap_pages_of, NULL},
	{"proc_mem_rss", STAP_LONG, "?l", NEEDS(PID), stap_pages_of, NULL},
	{"proc_mem_shr", STAP_LONG, "?l", NEEDS(PID), stap_pages_of, NULL},
	{"proc_mem_txt", STAP_LONG, "?l", NEEDS(PID), stap_pages_of, NULL},
	{"proc_mem_data", STAP_LONG, "?l", NEEDS(PID), stap_pages_of, NULL},
	{"mem_page_size", STAP_LONG, "", 0, page_size, NULL},
	{"caller", STAP_STRING, "", 0, stap_length, "print_ubacktrace() and print_backtrace() show who called"},
	{"register", STAP_LONG, "s", 0, stap_length, "$name and $argN are a function's parameters"},
	{"u_register", STAP_LONG, "s", 0, stap_length, "$name and $argN are a function's parameters"},
	{"matched", STAP_STRING, "l", 0, stap_length,
	 "=~ tells whether a text matches; substr() and isinstr() take it apart"},
};

const struct stap_builtin *stap_builtin_find(const char *name)
{
	size_t i;

	for (i = 0; i < sizeof(builtins) / sizeof(builtins[0]); i++)
		if (!strcmp(builtins[i].name, name))
			return &builtins[i];
	return NULL;
}
