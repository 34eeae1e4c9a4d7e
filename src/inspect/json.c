// SPDX-License-Identifier: GPL-2.0-or-later
/* json: an inspection for scripts; docs/OUTPUT.md has the keys. Addresses are numbers: they stay below 2^53. */
#include <inttypes.h>

#include "export/common.h"
#include "export/export.h"
#include "inspect/inspect.h"

static void put_string(FILE *out, const char *key, const char *value)
{
	fprintf(out, "\"%s\": ", key);
	if (value)
		export_json_string(out, value);
	else
		fputs("null", out);
}

static const char *truth(bool value)
{
	return value ? "true" : "false";
}

static void write_interpreter(FILE *out, const struct inspection *in)
{
	const struct python_interpreter *interpreter = &in->interpreter;
	char version[32];

	snprintf(version, sizeof(version), interpreter->version_exact ? "%u.%u.%u" : "%u.%u", interpreter->version >> 8,
		 interpreter->version & 0xff, interpreter->micro);
	fputs("  \"interpreter\": {", out);
	put_string(out, "kind", in->python == INSPECT_NO_PYTHON ? NULL : "cpython");
	fputs(", ", out);
	put_string(out, "version", in->python == INSPECT_PYTHON ? version : NULL);
	fputs(", ", out);
	put_string(out, "build_id", in->build_id);
	fprintf(out, ", \"free_threaded\": %s, \"tail_call\": %s", truth(interpreter->free_threaded),
		truth(in->tail_call));
	fputs("},\n", out);
}

static void write_eval_loop(FILE *out, const struct inspection *in)
{
	size_t i;

	fputs("  \"eval_loop\": [", out);
	for (i = 0; i < in->eval.count; i++) {
		const struct python_range *range = &in->eval.at[i];

		fprintf(out, "%s{\"start\": %" PRIu64 ", \"end\": %" PRIu64 ", \"part\": \"%s\", ",
			i ? ",\n    " : "\n    ", range->start, range->end, range->cold ? "cold" : "hot");
		put_string(out, "evidence", range->evidence);
		fputc('}', out);
	}
	fputs(i ? "\n  ],\n" : "],\n", out);
}

static void write_thread_state(FILE *out, const struct inspection *in)
{
	size_t i;

	fputs("  \"thread_state\": {", out);
	put_string(out, "source", in->thread_state.source);
	fprintf(out, ", \"verified\": %s, \"tried\": [", truth(in->thread_state.verified));
	for (i = 0; i < in->thread_state.tried.count; i++) {
		const struct inspect_tried *tried = &in->thread_state.tried.at[i];
		char result[512];

		snprintf(result, sizeof(result), "%s%s%s", tried->result, tried->verdict ? "; " : "",
			 tried->verdict ? tried->verdict : "");
		fputs(i ? ",\n    {" : "\n    {", out);
		put_string(out, "source", tried->source);
		fputs(", ", out);
		put_string(out, "result", result);
		fputc('}', out);
	}
	fputs(i ? "\n  ]},\n" : "]},\n", out);
	fputs("  \"offsets\": {", out);
	put_string(out, "source", in->interpreter.layout_source);
	if (in->interpreter.layout_source)
		fprintf(out, ", \"known\": %s", truth(!in->interpreter.to_prove));
	if (in->doubts) {
		fprintf(out, ", \"proved\": %s, ", truth(in->proved));
		put_string(out, "proof", in->doubts);
	}
	fputs("},\n", out);
}

static void write_markers(FILE *out, const struct inspection *in)
{
	size_t i;

	fputs("  \"markers\": [", out);
	for (i = 0; i < in->markers.count; i++) {
		fputs(i ? ",\n    {" : "\n    {", out);
		put_string(out, "provider", in->markers.at[i].provider);
		fputs(", ", out);
		put_string(out, "name", in->markers.at[i].name);
		fprintf(out, ", \"sites\": %zu}", in->markers.at[i].sites);
	}
	fputs(i ? "\n  ],\n" : "],\n", out);
}

/* What the layers that found nothing have to say. */
static void write_problems(FILE *out, const struct inspection *in)
{
	const char *const problems[] = {in->unanswered ? INSPECT_UNANSWERED : NULL, in->problem, in->eval.problem,
					in->unwind.problem};
	const char *separator = "";
	size_t i;

	fputs("  \"problems\": [", out);
	for (i = 0; i < sizeof(problems) / sizeof(*problems); i++) {
		if (!problems[i])
			continue;
		fputs(separator, out);
		export_json_string(out, problems[i]);
		separator = ", ";
	}
	fputs("],\n", out);
}

static void write_timings(FILE *out, const struct inspection *in)
{
	static const char *const names[INSPECT_STEPS] = {
		[INSPECT_INTERPRETER] = "interpreter",   [INSPECT_EVAL_LOOP] = "eval_loop",
		[INSPECT_THREAD_STATE] = "thread_state", [INSPECT_VERIFICATION] = "verification",
		[INSPECT_MARKERS] = "markers",           [INSPECT_UNWIND] = "unwind",
		[INSPECT_SYMBOLS] = "symbols",
	};
	int i;

	fprintf(out, "  \"timings\": {\"cached\": %s", truth(in->eval.cached && in->thread_state.cached));
	for (i = 0; i < INSPECT_STEPS; i++)
		fprintf(out, ", \"%s_ms\": %.3f", names[i], in->ms[i]);
	fprintf(out, ", \"derived_cached\": %s, \"derived_ms\": %.3f, \"analysis_ms\": %.3f}\n",
		truth(in->unwind.cached), in->unwind.derived_ms, inspection_analysis_ms(in));
}

void inspection_write_json(FILE *out, const struct inspection *in)
{
	double text = (double)in->unwind.text;

	fputs("{\n  ", out);
	put_string(out, "file", in->file);
	fputs(",\n", out);
	if (in->pid)
		fprintf(out, "  \"pid\": %d,\n  \"bias\": %" PRIu64 ",\n", in->pid, in->bias);
	write_interpreter(out, in);
	write_eval_loop(out, in);
	write_thread_state(out, in);
	write_markers(out, in);
	fprintf(out,
		"  \"unwind\": {\"rows\": %" PRIu64 ", \"bytes\": %" PRIu64 ", \"text_covered\": %.6f, "
		"\"text_derived\": %.6f, \"derived_functions\": %" PRIu64 ", \"refused_functions\": %" PRIu64 "},\n",
		in->unwind.rows, in->unwind.bytes, text ? (double)in->unwind.covered / text : 0.0,
		text ? (double)in->unwind.derived / text : 0.0, in->unwind.functions, in->unwind.refused);
	fputs("  \"symbols\": {", out);
	put_string(out, "source", in->symbols);
	fputs("},\n", out);
	write_problems(out, in);
	write_timings(out, in);
	fputs("}\n", out);
}
