// SPDX-License-Identifier: GPL-2.0-or-later
#include "calls/timeline.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "export/export.h"
#include "export/web_page.h"

static const char page_html[] = {
#include "page/calls.html.inc"
};
static const char page_css[] = {
#include "page/calls.css.inc"
};
static const char page_js[] = {
#include "page/calls.js.inc"
};

void timeline_deinit(struct timeline *timeline)
{
	vec_free(&timeline->pieces);
	vec_free(&timeline->lanes);
}

/* --- keeping --- */

static unsigned int order_of(uint64_t took)
{
	return took ? 64 - (unsigned int)__builtin_clzll(took) : 0;
}

/* Of all that is kept at least a quarter goes: the shortest ones, by powers of two. */
static void drop_shortest(struct timeline *timeline)
{
	size_t counts[65] = {}, gone = 0, kept = 0, i;
	unsigned int order = 0;

	for (i = 0; i < timeline->pieces.count; i++)
		counts[order_of(timeline->pieces.at[i].took)]++;
	while (order < 64 && gone < timeline->pieces.count / 4)
		gone += counts[order++];
	timeline->least = order ? 1ull << (order - 1) : 1;
	for (i = 0; i < timeline->pieces.count; i++)
		if (timeline->pieces.at[i].took >= timeline->least)
			timeline->pieces.at[kept++] = timeline->pieces.at[i];
	timeline->dropped += timeline->pieces.count - kept;
	timeline->pieces.count = kept;
}

static void add(struct timeline *timeline, struct calls_thread *thread, const struct call *call, uint64_t end,
		uint8_t how)
{
	struct timeline_piece piece = {.began = call->slice,
				       .took = end - call->slice,
				       .function = call->function->index,
				       .level = call->level,
				       .kind = call->kind,
				       .how = how};
	struct timeline_lane lane = {.tid = thread->tid, .tgid = thread->tgid};

	if (!call->slice)
		return;
	if (piece.took < timeline->least) {
		timeline->dropped++;
		return;
	}
	if (thread->lane == UINT32_MAX) {
		memcpy(lane.name, thread->name, sizeof(lane.name));
		if (vec_push(&timeline->lanes, lane)) {
			timeline->memory++;
			return;
		}
		thread->lane = (uint32_t)timeline->lanes.count - 1;
	}
	piece.lane = thread->lane;
	if (timeline->pieces.count >= timeline->room)
		drop_shortest(timeline);
	if (piece.took < timeline->least)
		timeline->dropped++;
	else if (vec_push(&timeline->pieces, piece))
		timeline->memory++;
}

static void began(void *sink, struct calls_thread *thread, struct call *call)
{
	(void)sink;
	(void)thread;
	(void)call;
}

static void ended(void *sink, struct calls_thread *thread, const struct call *call, enum call_end how)
{
	add(sink, thread, call, call->ended, (uint8_t)how);
}

static void paused(void *sink, struct calls_thread *thread, const struct call *call)
{
	add(sink, thread, call, thread->wall, TIMELINE_GOES_ON);
}

const struct call_sink timeline_sink = {.began = began, .ended = ended, .paused = paused};

/* --- writing --- */

/* By lane and time; of two that began together the longer one, which is around the other, first. */
static int compare(const void *a, const void *b)
{
	const struct timeline_piece *left = a, *right = b;

	if (left->lane != right->lane)
		return left->lane < right->lane ? -1 : 1;
	if (left->began != right->began)
		return left->began < right->began ? -1 : 1;
	return left->level < right->level ? -1 : left->level > right->level;
}

static uint64_t sort(struct timeline *timeline)
{
	uint64_t first = UINT64_MAX;
	size_t i;

	if (timeline->pieces.count)
		qsort(timeline->pieces.at, timeline->pieces.count, sizeof(*timeline->pieces.at), compare);
	for (i = 0; i < timeline->pieces.count; i++)
		if (timeline->pieces.at[i].began < first)
			first = timeline->pieces.at[i].began;
	return first;
}

static const char *end_of(uint8_t how)
{
	static const char *const words[] = {[CALL_END_RETURN] = "return",
					    [CALL_END_YIELD] = "yield",
					    [CALL_END_UNWIND] = "exception",
					    [CALL_END_LOST] = "not seen",
					    [CALL_END_OPEN] = "has not returned"};

	return how == TIMELINE_GOES_ON ? "goes on later" : words[how];
}

/* Of the functions that are there: their numbers in the file. NULL when memory is short. */
static uint32_t *number(const struct timeline *timeline, const struct functions *functions)
{
	uint32_t *numbers = calloc(functions_count(functions) + 1, sizeof(*numbers)), next = 0;
	size_t i;

	for (i = 0; numbers && i < timeline->pieces.count; i++)
		numbers[timeline->pieces.at[i].function] = 1;
	for (i = 0; numbers && i < functions_count(functions); i++)
		if (numbers[i])
			numbers[i] = ++next;
	return numbers;
}

static void write_functions(const struct functions *functions, const uint32_t *numbers, FILE *out)
{
	bool any = false;
	size_t i;

	fputs("\"functions\":[", out);
	for (i = 0; i < functions_count(functions); i++) {
		const struct function *function = functions_at(functions, i);

		if (!numbers[i])
			continue;
		fputs(any ? ",\n[" : "\n[", out);
		export_json_string(out, function->name);
		fputc(',', out);
		export_json_string(out, function->file);
		fprintf(out, ",%d]", function->line);
		any = true;
	}
	fputs("],\n", out);
}

/* Of each piece: nanoseconds since the one before began, nanoseconds, function, level, kind and how it ended. */
static void write_lanes(const struct timeline *timeline, const uint32_t *numbers, uint64_t first, FILE *out)
{
	const struct timeline_piece *piece = timeline->pieces.at, *end = piece + timeline->pieces.count;
	uint64_t before;
	uint32_t i;
	bool any;

	fputs("\"lanes\":[", out);
	for (i = 0; i < timeline->lanes.count; i++) {
		const struct timeline_lane *lane = &timeline->lanes.at[i];

		fputs(i ? ",\n{\"name\":" : "\n{\"name\":", out);
		export_json_string(out, lane->name);
		fprintf(out, ",\"pid\":%" PRIu32 ",\"tid\":%" PRIu32 ",\"calls\":[", lane->tgid, lane->tid);
		for (before = first, any = false; piece < end && piece->lane == i; piece++, any = true) {
			fprintf(out, "%s%" PRIu64 ",%" PRIu64 ",%" PRIu32 ",%" PRIu32 ",%u,%u", any ? "," : "",
				piece->began - before, piece->took, numbers[piece->function] - 1, piece->level,
				piece->kind, piece->how);
			before = piece->began;
		}
		fputs("]}", out);
	}
	fputs("]", out);
}

static int finish(FILE *out, struct diag *diag)
{
	return fflush(out) || ferror(out) ? diag_fail(diag, errno ? errno : EIO, "calls.write", "writing failed: %m")
					  : 0;
}

struct page {
	const struct timeline *timeline;
	const struct functions *functions;
	const uint32_t *numbers;
	const char *notes;
	uint64_t first;
	char nonce[WEB_PAGE_NONCE];
};

static void write_data(FILE *out, void *context)
{
	const struct page *page = context;

	fputs("{\"format\":1,\"notes\":", out);
	export_json_string(out, page->notes);
	fputs(",\n", out);
	write_functions(page->functions, page->numbers, out);
	write_lanes(page->timeline, page->numbers, page->first, out);
	fputc('}', out);
}

static void write_nonce(FILE *out, void *context)
{
	fputs(((const struct page *)context)->nonce, out);
}

static void write_style(FILE *out, void *context)
{
	(void)context;
	fwrite(page_css, 1, sizeof(page_css), out);
}

static void write_script(FILE *out, void *context)
{
	(void)context;
	fwrite(page_js, 1, sizeof(page_js), out);
}

static const struct web_page_blank blanks[] = {
	{"nonce", write_nonce}, {"style", write_style}, {"script", write_script}, {"data", write_data}};

int timeline_write_html(struct timeline *timeline, const struct functions *functions, const char *notes, FILE *out,
			struct diag *diag)
{
	struct page page = {.timeline = timeline, .functions = functions, .notes = notes};
	uint32_t *numbers = number(timeline, functions);
	int err = web_page_nonce(page.nonce);

	if (err || !numbers) {
		free(numbers);
		return err ? diag_fail(diag, -err, "calls.random", "the system gave no random numbers")
			   : diag_fail(diag, ENOMEM, "calls.memory", "out of memory");
	}
	page.numbers = numbers;
	page.first = sort(timeline);
	web_page_write(out, page_html, sizeof(page_html), blanks, sizeof(blanks) / sizeof(blanks[0]), &page);
	free(numbers);
	return finish(out, diag);
}

/* Microseconds, to the nanosecond. */
static void write_us(FILE *out, const char *key, uint64_t ns)
{
	fprintf(out, "\"%s\":%" PRIu64 ".%03u,", key, ns / 1000, (unsigned int)(ns % 1000));
}

int timeline_write_chrome(struct timeline *timeline, const struct functions *functions, const char *notes, FILE *out,
			  struct diag *diag)
{
	uint64_t first = sort(timeline);
	size_t i;

	fputs("{\"displayTimeUnit\":\"ns\",\"otherData\":{\"notes\":", out);
	export_json_string(out, notes);
	fputs("},\n\"traceEvents\":[\n{\"ph\":\"M\",\"name\":\"strata\",\"pid\":0,\"args\":{}}", out);
	for (i = 0; i < timeline->lanes.count; i++) {
		const struct timeline_lane *lane = &timeline->lanes.at[i];

		fprintf(out,
			",\n{\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":%" PRIu32 ",\"tid\":%" PRIu32
			",\"args\":{\"name\":",
			lane->tgid, lane->tid);
		export_json_string(out, lane->name);
		fputs("}}", out);
	}
	for (i = 0; i < timeline->pieces.count; i++) {
		const struct timeline_piece *piece = &timeline->pieces.at[i];
		const struct timeline_lane *lane = &timeline->lanes.at[piece->lane];
		const struct function *function = functions_at(functions, piece->function);

		fputs(",\n{\"ph\":\"X\",\"cat\":\"python\",\"name\":", out);
		export_json_string(out, function->name);
		fputc(',', out);
		write_us(out, "ts", piece->began - first);
		write_us(out, "dur", piece->took);
		fprintf(out, "\"pid\":%" PRIu32 ",\"tid\":%" PRIu32 ",\"args\":{\"file\":", lane->tgid, lane->tid);
		export_json_string(out, function->file);
		fprintf(out, ",\"line\":%d,\"end\":\"%s\"}}", function->line, end_of(piece->how));
	}
	fputs("\n]}\n", out);
	return finish(out, diag);
}
