// SPDX-License-Identifier: GPL-2.0-or-later
/* Calls and times of each function. */
#include <inttypes.h>
#include <stdlib.h>

#include "calls/parts.h"
#include "export/export.h"

static int compare(const void *a, const void *b)
{
	const struct function *left = *(const struct function *const *)a, *right = *(const struct function *const *)b;

	if (left->own.wall != right->own.wall)
		return left->own.wall < right->own.wall ? 1 : -1;
	return left->index < right->index ? -1 : left->index > right->index;
}

/* Those that were called, in order: NULL when memory is short, or there are none. */
static const struct function **sorted(const struct calls *calls, size_t *ret)
{
	size_t count = functions_count(calls->functions), i, n = 0;
	const struct function **list = calloc(count + 1, sizeof(const struct function *));

	for (i = 0; list && i < count; i++)
		if (functions_at(calls->functions, i)->calls)
			list[n++] = functions_at(calls->functions, i);
	if (list)
		qsort(list, n, sizeof(const struct function *), compare);
	*ret = list ? n : 0;
	return list;
}

static double seconds(uint64_t ns)
{
	return (double)ns / 1e9;
}

void calls_write_summary(const struct calls *calls, FILE *out)
{
	const struct function **list, *function;
	size_t count, i;

	list = sorted(calls, &count);
	fprintf(out, "%12s %12s %12s %12s %12s  %s\n", "calls", "own s", "total s", "own CPU s", "total CPU s",
		"function");
	for (i = 0; i < count; i++) {
		function = list[i];
		fprintf(out, "%12" PRIu64 " %12.6f %12.6f %12.6f %12.6f  ", function->calls,
			seconds(function->own.wall), seconds(function->total.wall), seconds(function->own.cpu),
			seconds(function->total.cpu));
		call_text_function(out, function);
		fputc('\n', out);
	}
	free(list);
}

void calls_write_summary_json(const struct calls *calls, FILE *out)
{
	const struct calls_lost lost = calls_lost(calls);
	const struct function **list, *function;
	struct lost_line lines[LOST_LINES];
	size_t count, i;

	list = sorted(calls, &count);
	fputs("{\"functions\": [", out);
	for (i = 0; i < count; i++) {
		function = list[i];
		fputs(i ? ", {" : "{", out);
		fputs("\"name\": ", out);
		export_json_string(out, function->name);
		fputs(", \"file\": ", out);
		export_json_string(out, function->file);
		fprintf(out,
			", \"line\": %d, \"calls\": %" PRIu64 ", \"resumes\": %" PRIu64 ", \"exceptions\": %" PRIu64
			", \"own_s\": %.9f, \"total_s\": %.9f, \"own_cpu_s\": %.9f, \"total_cpu_s\": %.9f}",
			function->line, function->calls, function->resumes, function->unwinds,
			seconds(function->own.wall), seconds(function->total.wall), seconds(function->own.cpu),
			seconds(function->total.cpu));
	}
	fputs("], \"lost\": {", out);
	calls_lost_lines(&lost, lines);
	for (i = 0; i < LOST_LINES; i++)
		fprintf(out, "%s\"%s\": %" PRIu64, i ? ", " : "", lines[i].key, lines[i].count);
	fputs("}}\n", out);
	free(list);
}
