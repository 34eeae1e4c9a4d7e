// SPDX-License-Identifier: GPL-2.0-or-later
#include "calls/text.h"

#include <inttypes.h>
#include <string.h>

#include "profile/text.h"

#define GOES_ON_NS 50000000ull /* a call that has called nothing yet is printed then */
#define NAME_WIDTH 20
#define TIME_WIDTH 10
#define LEVEL_MAX  100 /* further in, the number of levels is printed */

#define DIM    "\033[2m"
#define RED    "\033[31m"
#define YELLOW "\033[33m"
#define CYAN   "\033[36m"
#define PLAIN  "\033[0m"

static const char *colored(const struct call_text *text, const char *color)
{
	return text->color ? color : "";
}

void call_text_function(FILE *out, const struct function *function)
{
	text_print(out, function->name, strlen(function->name));
	if (!*function->file)
		return;
	fputs(" (", out);
	text_print(out, function->file, strlen(function->file));
	fprintf(out, ":%d)", function->line);
}

void call_text_time(char *ret, size_t size, uint64_t ns)
{
	if (ns < 1000000)
		snprintf(ret, size, "%.1f us", (double)ns / 1e3);
	else if (ns < 1000000000)
		snprintf(ret, size, "%.3f ms", (double)ns / 1e6);
	else
		snprintf(ret, size, "%.3f s", (double)ns / 1e9);
}

/* What a line begins with. `duration`: NULL where there is none. */
static void begin_line(struct call_text *text, const struct calls_thread *thread, uint64_t time,
		       const uint64_t *duration, uint32_t level)
{
	char name[THREAD_NAME + 16] = "", took[32] = "";
	size_t size;

	if (!text->has_header) {
		text->start = time;
		text->has_header = true;
		fprintf(text->out, "%s%12s %-*s %*s  %s%s\n", colored(text, DIM), "seconds", NAME_WIDTH, "thread",
			TIME_WIDTH, "time", "call", colored(text, PLAIN));
	}
	snprintf(name, sizeof(name), "%s/%u", *thread->name ? thread->name : "?", thread->tid);
	if (duration)
		call_text_time(took, sizeof(took), *duration);
	fprintf(text->out, "%s%12.6f ", colored(text, DIM),
		time > text->start ? (double)(time - text->start) / 1e9 : 0.0);
	size = strlen(name);
	text_print(text->out, name, size);
	fprintf(text->out, "%*s%s %*s  %*s", size < NAME_WIDTH ? (int)(NAME_WIDTH - size) : 0, "", colored(text, PLAIN),
		TIME_WIDTH, took, 2 * (int)(level < LEVEL_MAX ? level : LEVEL_MAX), "");
	if (level > LEVEL_MAX)
		fprintf(text->out, "[%u] ", level);
}

static void write_kind(const struct call_text *text, const struct call *call)
{
	if (call->line > 0)
		fprintf(text->out, "%s from line %d%s", colored(text, DIM), call->line, colored(text, PLAIN));
	if (call->kind == RT_PYTHON_RESUME)
		fprintf(text->out, "%s, resumed%s", colored(text, YELLOW), colored(text, PLAIN));
	if (call->kind == RT_PYTHON_THROW)
		fprintf(text->out, "%s, resumed by an exception%s", colored(text, YELLOW), colored(text, PLAIN));
}

static void write_end(const struct call_text *text, int line, enum call_end how)
{
	static const struct {
		const char *color, *words;
	} ends[] = {
		[CALL_END_RETURN] = {"", ""},
		[CALL_END_YIELD] = {YELLOW, ", yields"},
		[CALL_END_UNWIND] = {RED, ", ended by an exception"},
		[CALL_END_LOST] = {RED, ", its end was not seen"},
		[CALL_END_OPEN] = {DIM, ", has not returned"},
	};

	if (line > 0)
		fprintf(text->out, "%s to line %d%s", colored(text, DIM), line, colored(text, PLAIN));
	if (*ends[how].words)
		fprintf(text->out, "%s%s%s", colored(text, ends[how].color), ends[how].words, colored(text, PLAIN));
	fputc('\n', text->out);
}

/* The beginnings of calls up to this number, of which the outer ones have been printed. */
static void tell(struct call_text *text, struct calls_thread *thread, size_t count)
{
	for (; thread->stack.told < count; thread->stack.told++) {
		const struct call *call = &thread->stack.at.at[thread->stack.told];

		if (!call->is_shown)
			continue;
		begin_line(text, thread, call->began, NULL, call->level);
		call_text_function(text->out, call->function);
		write_kind(text, call);
		fputc('\n', text->out);
	}
}

static void began(void *sink, struct calls_thread *thread, struct call *call)
{
	struct call_text *text = sink;

	(void)call;
	/* The innermost one may turn out to be a single line. */
	if (!text->min_ns)
		tell(text, thread, thread->stack.at.count - 1);
}

static void ended(void *sink, struct calls_thread *thread, const struct call *call, enum call_end how)
{
	struct call_text *text = sink;
	uint64_t total = call_total(call);

	/* The call is out of the stack already, but was counted among those that were told. */
	if (thread->stack.told > thread->stack.at.count) {
		begin_line(text, thread, call->ended, &total, call->level);
		fprintf(text->out, "%s< %s", colored(text, DIM), colored(text, PLAIN));
		text_print(text->out, call->function->name, strlen(call->function->name));
	} else if (total >= text->min_ns) {
		tell(text, thread, thread->stack.at.count);
		begin_line(text, thread, call->began, &total, call->level);
		call_text_function(text->out, call->function);
		write_kind(text, call);
	} else {
		return;
	}
	write_end(text, call->end_line, how);
}

static void paused(void *sink, struct calls_thread *thread, const struct call *call)
{
	struct call_text *text = sink;

	(void)call;
	if (!text->min_ns)
		tell(text, thread, thread->stack.at.count);
}

static void unseen(void *sink, struct calls_thread *thread, const struct function *function, uint64_t time,
		   enum call_end how, bool lost)
{
	struct call_text *text = sink;

	if (text->min_ns)
		return;
	tell(text, thread, thread->stack.at.count);
	begin_line(text, thread, time, NULL, 0);
	fprintf(text->out, "%s< %s", colored(text, DIM), colored(text, PLAIN));
	call_text_function(text->out, function);
	fputs(lost ? ", its beginning was not seen" : ", began before", text->out);
	write_end(text, 0, how);
}

static void lost(void *sink, struct calls_thread *thread, uint64_t time, uint64_t count)
{
	struct call_text *text = sink;

	tell(text, thread, thread->stack.at.count);
	begin_line(text, thread, time, NULL, 0);
	fprintf(text->out, "%s[%" PRIu64 " events lost]%s\n", colored(text, RED), count, colored(text, PLAIN));
}

const struct call_sink call_text_sink = {
	.began = began, .ended = ended, .paused = paused, .unseen = unseen, .lost = lost};

void call_text_go_on(struct call_text *text, const struct follow *follow, uint64_t now)
{
	uint64_t least = text->min_ns ? text->min_ns : GOES_ON_NS;
	size_t i, count;

	for (i = 0; i < follow->threads.count; i++) {
		struct calls_thread *thread = follow->threads.at[i];

		for (count = thread->stack.at.count; count > thread->stack.told; count--)
			if (thread->stack.at.at[count - 1].began + least <= now)
				break;
		tell(text, thread, count);
	}
}
