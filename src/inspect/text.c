// SPDX-License-Identifier: GPL-2.0-or-later
/* text: an inspection to be read by people: a line for each layer, what is wrong in red. */
#include <inttypes.h>
#include <stdarg.h>
#include <string.h>

#include "inspect/inspect.h"

#define LABEL_WIDTH 14
#define TIME_COLUMN 96

struct page {
	FILE *out;
	bool color;
};

static const char *style(const struct page *page, const char *code)
{
	return page->color ? code : "";
}

#define BOLD(page)  style(page, "\033[1m")
#define DIM(page)   style(page, "\033[2m")
#define RED(page)   style(page, "\033[31m")
#define GREEN(page) style(page, "\033[32m")
#define PLAIN(page) style(page, "\033[0m")

/* What comes from a file may hold anything; a report is lines of text. */
static void put_text(const struct page *page, const char *text)
{
	for (; *text; text++)
		fputc((unsigned char)*text < ' ' || *text == 0x7f ? '?' : *text, page->out);
}

/* A line: label, text, and, when `ms` is not negative, what it cost. */
__attribute__((format(printf, 5, 6))) static void line(const struct page *page, const char *label, const char *color,
						       double ms, const char *fmt, ...)
{
	char text[2048];
	va_list args;
	int width;

	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	fprintf(page->out, "  %s%-*s%s%s", BOLD(page), LABEL_WIDTH, label, PLAIN(page), color);
	put_text(page, text);
	fputs(*color ? PLAIN(page) : "", page->out);
	if (ms >= 0) {
		width = TIME_COLUMN - LABEL_WIDTH - (int)strlen(text);
		fprintf(page->out, "%*s%s%6.2f ms%s", width > 0 ? width : 1, "", DIM(page), ms, PLAIN(page));
	}
	fputc('\n', page->out);
}

static void write_interpreter(const struct page *page, const struct inspection *in)
{
	const struct python_interpreter *interpreter = &in->interpreter;
	double ms = in->ms[INSPECT_INTERPRETER];
	char micro[16] = "";

	if (in->python == INSPECT_NO_PYTHON) {
		line(page, "interpreter", "", ms, "none");
		return;
	}
	if (in->python == INSPECT_PYTHON_UNKNOWN) {
		line(page, "interpreter", RED(page), ms, "%s", in->problem);
		return;
	}
	if (interpreter->version_exact)
		snprintf(micro, sizeof(micro), ".%u", interpreter->micro);
	line(page, "interpreter", "", ms, "CPython %u.%u%s, by %s%s%s%s", interpreter->version >> 8,
	     interpreter->version & 0xff, micro, interpreter->version_source,
	     interpreter->free_threaded ? "; free-threaded" : "", interpreter->debug_build ? "; debug build" : "",
	     in->tail_call ? "; tail calls" : "");
	if (!interpreter->to_prove)
		line(page, "offsets", "", -1, "%s", interpreter->layout_source);
	else if (!in->doubts)
		line(page, "offsets", "", -1, "%s; the version is not known: that they are true takes a process",
		     interpreter->layout_source);
	else
		line(page, "offsets", in->proved ? GREEN(page) : RED(page), -1,
		     "%s; the version is not known: %s by this process: %s", interpreter->layout_source,
		     in->proved ? "proved" : "not proved", in->doubts);
}

static void write_eval_loop(const struct page *page, const struct inspection *in)
{
	const char *label = "eval loop";
	double ms = in->ms[INSPECT_EVAL_LOOP];
	size_t i;

	if (in->python != INSPECT_PYTHON)
		return;
	if (in->eval.problem)
		line(page, label, RED(page), ms, "%s", in->eval.problem);
	for (i = 0; i < in->eval.count; i++) {
		const struct python_range *range = &in->eval.at[i];

		line(page, i ? "" : label, "", i ? -1 : ms, "%#" PRIx64 "-%#" PRIx64 "  %-4s %8" PRIu64 " bytes  %s%s",
		     range->start, range->end, range->cold ? "cold" : "hot", range->end - range->start, range->evidence,
		     i || !in->eval.cached ? "" : " (cached)");
	}
}

static void write_thread_state(const struct page *page, const struct inspection *in)
{
	size_t i;

	if (in->python != INSPECT_PYTHON)
		return;
	if (in->thread_state.source)
		line(page, "thread state", in->thread_state.verified ? GREEN(page) : "",
		     in->ms[INSPECT_THREAD_STATE] + in->ms[INSPECT_VERIFICATION], "%s%s%s", in->thread_state.source,
		     in->thread_state.verified ? ", verified"
		     : in->pid                 ? ", not verified"
					       : ", not verified: that takes a process",
		     in->thread_state.cached ? " (cached)" : "");
	else
		line(page, "thread state", RED(page), in->ms[INSPECT_THREAD_STATE], "not found");
	for (i = 0; i < in->thread_state.tried.count; i++) {
		const struct inspect_tried *tried = &in->thread_state.tried.at[i];

		line(page, "", tried->found ? "" : DIM(page), -1, "%s %s: %s", tried->found ? "+" : "-", tried->source,
		     tried->result);
		if (tried->verdict)
			line(page, "", tried->verified ? GREEN(page) : RED(page), -1, "  %s", tried->verdict);
	}
}

/* Where functions of Python begin and end, and what is read there. */
static void write_probes(const struct page *page, const struct inspection *in)
{
	const struct python_sites *sites = &in->probes.sites;
	double ms = in->ms[INSPECT_PROBES];
	bool marked = in->events[PYTHON_FUNCTION_ENTRY].source == PYTHON_SOURCE_MARKER;
	size_t i;

	if (in->probes.problem)
		line(page, "probes", marked ? "" : RED(page), ms, "of Python's functions: %s: %s",
		     marked ? "by markers, without their kinds" : "none", in->probes.problem);
	if (!sites->at.count)
		return;
	if (sites->table)
		line(page, "probes", "", ms,
		     "python:function-entry, -return: table at %#" PRIx64 ", %u handlers agree%s", sites->table,
		     sites->handlers, sites->jit ? "; right while the JIT is off" : "");
	else
		line(page, "probes", "", ms, "python:function-entry, -return: writes of tstate->frame");
	for (i = 0; i < sites->at.count; i++) {
		const struct python_site *site = &sites->at.at[i];
		char frame[32], instruction[32];

		python_place_describe(in->machine_number, &site->frame, frame, sizeof(frame));
		python_place_describe(in->machine_number, &site->instruction, instruction, sizeof(instruction));
		line(page, "", "", -1, "%-6s  %-6s at %#" PRIx64 ", %s; frame %s%s%s",
		     python_site_is_entry(site) ? "entry" : "return", python_site_name(site), site->vaddr,
		     site->emulated ? "emulated" : "single-stepped", frame, *instruction ? ", instruction " : "",
		     instruction);
	}
	if (sites->frees.vaddr)
		line(page, "", "", -1, "names are kept until their code object is freed, at %#" PRIx64,
		     sites->frees.vaddr);
}

static void write_lines(const struct page *page, const struct python_sites *loop)
{
	size_t emulated = 0, checked = 0, i;

	for (i = 0; i < loop->lines.count; i++) {
		emulated += loop->lines.at[i].emulated;
		checked += loop->lines.at[i].again;
	}
	line(page, "", "", -1,
	     "python:line: by the code of all instructions: %zu places, %zu of them emulated, %zu single-stepped; at "
	     "%zu the opcode is checked",
	     loop->lines.count, emulated, loop->lines.count - emulated, checked);
}

/* What else of Python can be traced, and by what. */
static void write_events(const struct page *page, const struct inspection *in)
{
	const struct python_sites *loop = &in->probes.sites;
	enum python_event event;
	char value[32];

	if (in->python != INSPECT_PYTHON)
		return;
	for (event = 0; event < PYTHON_EVENTS; event++) {
		const python_event_sites *sites = &in->events[event].sites;
		const char *name = python_event_name(event);

		/* Of functions the probes have told: but not where markers are. */
		if (event <= PYTHON_FUNCTION_RETURN && in->events[event].source != PYTHON_SOURCE_MARKER)
			continue;

		switch (in->events[event].source) {
		case PYTHON_SOURCE_MARKER:
			line(page, "", "", -1, "python:%s: by its marker, at %#" PRIx64 "%s", name, sites->at[0].vaddr,
			     sites->count > 1 ? " and elsewhere" : "");
			break;
		case PYTHON_SOURCE_LOOP:
			if (event == PYTHON_LINE) {
				write_lines(page, loop);
				break;
			}
			line(page, "", "", -1,
			     event == PYTHON_EXCEPTION
				     ? "python:%s: by the loop's call of PyTraceBack_Here(), at %#" PRIx64 "%s"
				     : "python:%s: by the function _find_and_load",
			     name, loop->raises.count ? loop->raises.at[0].vaddr : 0,
			     loop->raises.count > 1 ? " and elsewhere" : "");
			break;
		case PYTHON_SOURCE_CODE:
			python_event_describe(in->machine_number, &sites->at[0], value, sizeof(value));
			line(page, "", "", -1, "python:%s: by its code, at %#" PRIx64 "%s; value %s", name,
			     sites->at[0].vaddr, sites->count > 1 ? " and elsewhere" : "", value);
			break;
		default:
			line(page, "", RED(page), -1, "python:%s: none: %s", name, in->events[event].problem);
		}
	}
}

static void write_markers(const struct page *page, const struct inspection *in)
{
	const char *label = "markers";
	size_t i;

	if (!in->markers.count)
		line(page, label, "", in->ms[INSPECT_MARKERS], "none");
	for (i = 0; i < in->markers.count; i++) {
		const struct inspect_marker *marker = &in->markers.at[i];

		line(page, i ? "" : label, "", i ? -1 : in->ms[INSPECT_MARKERS], "%s:%s at %#" PRIx64 "%s%.0zu%s",
		     marker->provider, marker->name, marker->first, marker->sites > 1 ? " and " : "", marker->sites - 1,
		     marker->sites > 1 ? " more" : "");
	}
}

/* Code without FDEs whose rules were read from itself: how much, and which functions were left out and why. */
static void write_derived(const struct page *page, const struct inspection *in)
{
	static const char *const reasons[CODE_REFUSALS] = {
		[CODE_REFUSED_JOIN] = "whose paths disagree on the stack",
		[CODE_REFUSED_EXIT] = "that leave the stack changed",
		[CODE_REFUSED_BYTES] = "with bytes that are no known instruction",
		[CODE_REFUSED_TABLE] = "with a jump table that leads elsewhere",
		[CODE_REFUSED_TRIAL] = "not shown to be functions",
	};
	size_t i;

	if (!in->unwind.functions && !in->unwind.refused)
		return;
	line(page, "", "", in->unwind.derived_ms,
	     "%.1f %% of the text by its machine code: %" PRIu64 " functions without FDE%s",
	     in->unwind.text ? 100.0 * (double)in->unwind.derived / (double)in->unwind.text : 0.0, in->unwind.functions,
	     in->unwind.cached ? " (cached)" : "");
	for (i = CODE_ACCEPTED + 1; i < CODE_REFUSALS; i++)
		if (in->unwind.refusals[i])
			line(page, "", "", -1, "without rules: %" PRIu64 " %s", in->unwind.refusals[i], reasons[i]);
}

static void write_unwind(const struct page *page, const struct inspection *in)
{
	double share = in->unwind.text ? 100.0 * (double)in->unwind.covered / (double)in->unwind.text : 0;

	if (in->unwind.problem)
		line(page, "unwind", RED(page), in->ms[INSPECT_UNWIND], "%s", in->unwind.problem);
	if (!in->unwind.rows)
		return;
	line(page, in->unwind.problem ? "" : "unwind", "", in->unwind.problem ? -1 : in->ms[INSPECT_UNWIND],
	     "%.1f %% of the text; %" PRIu64 " rows, %" PRIu64 " rules, %" PRIu64 " bytes", share, in->unwind.rows,
	     in->unwind.rules, in->unwind.bytes);
	line(page, "", "", -1,
	     "%" PRIu64 " FDEs, %" PRIu64 " skipped; %" PRIu64 " rows of a kind that is not evaluated", in->unwind.fdes,
	     in->unwind.skipped, in->unwind.unsupported);
	write_derived(page, in);
}

void inspection_write_text(FILE *out, const struct inspection *in, bool color)
{
	const struct page page = {.out = out, .color = color};

	fputs(BOLD(&page), out);
	put_text(&page, in->file);
	fprintf(out, "%s\n", PLAIN(&page));
	if (in->pid)
		line(&page, "process", "", -1, "%d, which runs %s; the file is mapped at vaddr + %#" PRIx64, in->pid,
		     in->program, in->bias);
	if (in->unanswered)
		line(&page, "files", RED(&page), -1, "%s", INSPECT_UNANSWERED);
	line(&page, "build id", "", -1, "%s; %s", in->build_id ? in->build_id : "none", in->machine);
	write_interpreter(&page, in);
	write_eval_loop(&page, in);
	write_thread_state(&page, in);
	write_probes(&page, in);
	write_events(&page, in);
	write_markers(&page, in);
	write_unwind(&page, in);
	line(&page, "symbols", "", in->ms[INSPECT_SYMBOLS], "%s", in->symbols);
	line(&page, "analysis", "", inspection_analysis_ms(in), "interpreter, loop, thread state and machine code");
}
