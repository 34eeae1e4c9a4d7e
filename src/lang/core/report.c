// SPDX-License-Identifier: GPL-2.0-or-later
#include "lang/core/report.h"

#include <string.h>

#define EXCERPT_MAX    400 /* bytes of a line */
#define EXCERPT_BEFORE 60

void report_init(struct report *report, struct arena *arena, const char *name, const char *source, size_t size)
{
	*report = (struct report){
		.arena = arena, .source = source, .size = size, .script = {.name = name, .end = (uint32_t)size}};
}

void report_deinit(struct report *report)
{
	vec_free(&report->complaints);
	vec_free(&report->others);
}

/* A line's end is between two files, so that the end of one is no place of the next. */
const struct source *report_add(struct report *report, const char *name, const char *text, size_t size)
{
	struct source source = {name, (uint32_t)report->size + 1, (uint32_t)(report->size + 1 + size)};
	char *grown = (char *)report->source;

	if (source.end > report->room) {
		grown = arena_alloc(report->arena, source.end * 2ul);
		if (!grown)
			return NULL;
		memcpy(grown, report->source, report->size);
		report->room = source.end * 2ul;
	}
	if (vec_push(&report->others, source)) {
		report->arena->failed = true;
		return NULL;
	}
	grown[report->size] = '\n';
	memcpy(grown + source.begin, text, size);
	report->source = grown;
	report->size = source.end;
	return &report->others.at[report->others.count - 1];
}

const struct source *report_source(const struct report *report, uint32_t at)
{
	size_t i = report->others.count;

	while (i > 0 && report->others.at[i - 1].begin > at)
		i--;
	return i ? &report->others.at[i - 1] : &report->script;
}

static void complain(struct report *report, enum severity severity, const char *tag, struct span span, const char *fmt,
		     va_list args)
{
	struct complaint complaint = {.severity = severity, .tag = tag, .span = span};
	char text[512];
	size_t i;

	vsnprintf(text, sizeof(text), fmt, args);
	/* The checker goes over the source several times. */
	for (i = 0; i < report->complaints.count; i++)
		if (report->complaints.at[i].span.begin == span.begin && !strcmp(report->complaints.at[i].text, text))
			return;
	report->errors += severity != SEVERITY_WARNING;
	if (report->complaints.count >= REPORTS_MAX)
		return;
	complaint.text = arena_printf(report->arena, "%s", text);
	if (complaint.text && vec_push(&report->complaints, complaint))
		report->arena->failed = true;
}

void report_error(struct report *report, const char *tag, struct span span, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	complain(report, SEVERITY_ERROR, tag, span, fmt, args);
	va_end(args);
}

void report_warning(struct report *report, const char *tag, struct span span, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	complain(report, SEVERITY_WARNING, tag, span, fmt, args);
	va_end(args);
}

void report_nothing(struct report *report, const char *tag, const char *text)
{
	const struct complaint complaint = {.severity = SEVERITY_NONE, .tag = tag, .text = text};

	report->errors++;
	if (vec_push(&report->complaints, complaint))
		report->arena->failed = true;
}

void report_hint(struct report *report, const char *fmt, ...)
{
	struct complaint *last = report->complaints.count ? &report->complaints.at[report->complaints.count - 1] : NULL;
	char text[512];
	va_list args;

	if (!last || last->hint)
		return;
	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	last->hint = arena_printf(report->arena, "%s", text);
}

void report_told(struct report *report, size_t first, uint32_t place)
{
	size_t i;

	for (i = first; i < report->complaints.count; i++)
		if (!report->complaints.at[i].told)
			report->complaints.at[i].told = place ? place : report->complaints.at[i].span.begin;
}

void report_text(FILE *out, const char *text, size_t size)
{
	size_t i;

	for (i = 0; i < size; i++) {
		unsigned char c = (unsigned char)text[i];

		fputc(c == '\t' ? ' ' : c < 32 || c == 127 ? '?' : c, out);
	}
}

static const char *severity_text(const struct complaint *complaint)
{
	return complaint->severity == SEVERITY_ERROR ? "ERROR" : "WARNING";
}

static void print_hint(const struct complaint *complaint, FILE *out)
{
	const char *at, *end;

	if (!complaint->hint)
		return;
	fputs("HINT: ", out);
	/* What is indented after the end of a line is a list, and ours; no name of somebody else's makes lines. */
	for (at = complaint->hint; (end = strstr(at, "\n    ")); at = end + 1) {
		report_text(out, at, (size_t)(end - at));
		fputc('\n', out);
	}
	report_text(out, at, strlen(at));
	fputc('\n', out);
}

/*
 * The line from `start` to `stop`, with what is meant from `begin` to `end` marked below it. Of a line too long to be
 * read, the part about the mark's begin.
 */
static void print_excerpt(const struct report *report, size_t start, size_t stop, size_t begin, size_t end, FILE *out)
{
	size_t i;

	if (stop - start > EXCERPT_MAX) {
		if (begin - start > EXCERPT_BEFORE)
			start = begin - EXCERPT_BEFORE;
		if (stop - start > EXCERPT_MAX)
			stop = start + EXCERPT_MAX;
	}
	report_text(out, report->source + start, stop - start);
	fprintf(out, "\n%*s", (int)(begin - start), "");
	for (i = begin; i < end && (i == begin || i < stop); i++)
		fputc('~', out);
	fputc('\n', out);
}

/* The line, and what of it is marked: at least one byte. */
struct marked {
	size_t start, stop, begin, end;
};

static struct marked marked(const struct report *report, const struct complaint *complaint)
{
	size_t begin = complaint->span.begin < report->size ? complaint->span.begin : report->size;
	size_t end = complaint->span.end < begin ? begin : complaint->span.end;
	struct span_place place = report_where(report, complaint->span);
	size_t start = begin + 1 - place.column, stop;

	for (stop = begin; stop < report->size && report->source[stop] != '\n'; stop++)
		;
	if (end > stop)
		end = stop;
	if (end <= begin)
		end = begin + 1;
	return (struct marked){start, stop, begin, end};
}

void report_excerpt(const struct report *report, const struct complaint *complaint, FILE *out)
{
	struct marked at = marked(report, complaint);

	if (complaint->span.end)
		print_excerpt(report, at.start, at.stop, at.begin, at.end, out);
	print_hint(complaint, out);
}

static void print_one(const struct report *report, const struct complaint *complaint, FILE *out)
{
	struct marked at = marked(report, complaint);

	report_place(report, (struct span){(uint32_t)at.begin, (uint32_t)at.end}, out);
	fprintf(out, ": %s: ", severity_text(complaint));
	report_text(out, complaint->text, strlen(complaint->text));
	fputc('\n', out);
	if (complaint->more) {
		report_text(out, complaint->more, strlen(complaint->more));
		fputc('\n', out);
	}
	print_excerpt(report, at.start, at.stop, at.begin, at.end, out);
	print_hint(complaint, out);
}

/* About what is not in the source: the command line, the environment. */
static void print_without_place(const struct complaint *complaint, FILE *out)
{
	if (complaint->severity != SEVERITY_NONE)
		fprintf(out, "%s: ", severity_text(complaint));
	report_text(out, complaint->text, strlen(complaint->text));
	fputc('\n', out);
	print_hint(complaint, out);
}

void report_now(const struct report *report, const struct complaint *complaint, FILE *out)
{
	print_one(report, complaint, out);
}

struct span_place report_where(const struct report *report, struct span span)
{
	size_t begin = span.begin < report->size ? span.begin : report->size;
	size_t line = 1, start = report_source(report, span.begin)->begin, i;

	for (i = start; i < begin; i++) {
		if (report->source[i] == '\n') {
			line++;
			start = i + 1;
		}
	}
	return (struct span_place){line, begin - start + 1};
}

void report_place(const struct report *report, struct span span, FILE *out)
{
	struct span_place place = report_where(report, span);
	const char *name = report_source(report, span.begin)->name;

	report_text(out, name, strlen(name));
	fprintf(out, ":%zu:%zu-%zu", place.line, place.column, place.column + span.end - span.begin);
}

void report_print(const struct report *report, FILE *out)
{
	size_t i;

	for (i = 0; i < report->complaints.count; i++) {
		const struct complaint *complaint = &report->complaints.at[i];

		if (report->hide_warnings && complaint->severity == SEVERITY_WARNING)
			continue;
		if (complaint->span.end)
			print_one(report, complaint, out);
		else
			print_without_place(complaint, out);
	}
	if (report->errors >= REPORTS_MAX)
		fprintf(out, "%u errors in all\n", report->errors);
}
