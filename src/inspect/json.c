// SPDX-License-Identifier: GPL-2.0-or-later
/* json: an inspection for scripts; docs/OUTPUT.md has the keys. Addresses are numbers: they stay below 2^53. */
#include <inttypes.h>
#include <string.h>

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

static void write_site(FILE *out, const struct inspection *in, const struct python_site *site)
{
	const struct python_place *const places[] = {&site->frame, &site->instruction, &site->tstate, &site->flag};
	static const char *const names[] = {"frame", "instruction", "tstate", "flag"};
	char text[32];
	size_t i;

	fprintf(out, "{\"kind\": \"%s\", \"address\": %" PRIu64 ", \"handler\": %" PRIu64 ", \"emulated\": %s",
		python_site_name(site), site->vaddr, site->handler, truth(site->emulated));
	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		python_place_describe(in->machine_number, places[i], text, sizeof(text));
		fputs(", ", out);
		put_string(out, names[i], *text ? text : NULL);
	}
	fputs(", \"opcodes\": [", out);
	for (i = 0; i < site->opcode_count; i++)
		fprintf(out, "%s%u", i ? ", " : "", site->opcodes[i]);
	fputs("]}", out);
}

static bool has_marker(const struct inspection *in, const char *name)
{
	size_t i;

	for (i = 0; i < in->markers.count; i++)
		if (!strcmp(in->markers.at[i].provider, "python") && !strcmp(in->markers.at[i].name, name))
			return true;
	return false;
}

static void write_probe(FILE *out, const struct inspection *in, const char *name, const char *marker, bool entry)
{
	const struct python_sites *sites = &in->probes.sites;
	enum python_event event = entry ? PYTHON_FUNCTION_ENTRY : PYTHON_FUNCTION_RETURN;
	bool marked = in->events[event].source == PYTHON_SOURCE_MARKER;
	const char *separator = "\n      ";
	size_t i;

	fprintf(out, "\n    {\"name\": \"python:%s\", ", name);
	put_string(out, "source", sites->at.count ? "synthesised" : marked ? "markers" : NULL);
	fprintf(out, ", \"marker\": %s, \"table\": %" PRIu64 ", \"handlers\": %u, \"jit\": %s, ",
		truth(has_marker(in, marker)), sites->table, sites->handlers, truth(sites->jit));
	fprintf(out, "\"frees\": %" PRIu64 ", ", sites->frees.vaddr);
	put_string(out, "problem", in->eval.problem ? in->eval.problem : in->probes.problem);
	fputs(", \"sites\": [", out);
	for (i = 0; i < sites->at.count; i++) {
		if (python_site_is_entry(&sites->at.at[i]) != entry)
			continue;
		fputs(separator, out);
		separator = ",\n      ";
		write_site(out, in, &sites->at.at[i]);
	}
	for (i = 0; marked && i < in->events[event].sites.count; i++)
		fprintf(out, "%s{\"address\": %" PRIu64 "}", i ? ", " : "", in->events[event].sites.at[i].vaddr);
	fputs("]}", out);
}

/* The others: where they are, and what is read there. */
static void write_event(FILE *out, const struct inspection *in, enum python_event event)
{
	static const char *const sources[] = {NULL, "loop", "markers", "code"};
	const python_event_sites *sites = &in->events[event].sites;
	const struct python_sites *loop = &in->probes.sites;
	char text[32];
	bool is_line;
	size_t i;

	fprintf(out, ",\n    {\"name\": \"python:%s\", ", python_event_name(event));
	put_string(out, "source", sources[in->events[event].source]);
	fputs(", ", out);
	put_string(out, "problem", in->events[event].problem);
	fputs(", \"sites\": [", out);
	for (i = 0; event == PYTHON_EXCEPTION && i < loop->raises.count; i++) {
		fputs(i ? ", " : "", out);
		write_site(out, in, &loop->raises.at[i]);
	}
	is_line = event == PYTHON_LINE && in->events[event].source == PYTHON_SOURCE_LOOP;
	for (i = 0; is_line && i < loop->lines.count; i++) {
		fputs(i ? ",\n      " : "", out);
		write_site(out, in, &loop->lines.at[i]);
	}
	for (i = 0; i < sites->count; i++) {
		python_event_describe(in->machine_number, &sites->at[i], text, sizeof(text));
		fprintf(out, "%s{\"address\": %" PRIu64 ", ", i ? ", " : "", sites->at[i].vaddr);
		put_string(out, "value", in->events[event].source == PYTHON_SOURCE_CODE ? text : NULL);
		fputc('}', out);
	}
	fputs("]}", out);
}

static void write_probes(FILE *out, const struct inspection *in)
{
	enum python_event event;

	fputs("  \"probes\": [", out);
	if (in->python == INSPECT_PYTHON) {
		write_probe(out, in, "function-entry", "function__entry", true);
		fputc(',', out);
		write_probe(out, in, "function-return", "function__return", false);
		for (event = PYTHON_FUNCTION_RETURN + 1; event < PYTHON_EVENTS; event++)
			write_event(out, in, event);
	}
	fputs("],\n", out);
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
		[INSPECT_INTERPRETER] = "interpreter",
		[INSPECT_EVAL_LOOP] = "eval_loop",
		[INSPECT_THREAD_STATE] = "thread_state",
		[INSPECT_VERIFICATION] = "verification",
		[INSPECT_PROBES] = "probes",
		[INSPECT_MARKERS] = "markers",
		[INSPECT_UNWIND] = "unwind",
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
	write_probes(out, in);
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
