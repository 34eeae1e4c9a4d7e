// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * firefox: the processed profile format of the Firefox Profiler, version 66: JSON, compressed with gzip. Its source
 * describes it: src/types/profile.ts and docs-developer/CHANGELOG-formats.md of github.com/firefox-devtools/profiler
 * (v66, 2026); readers upgrade older versions themselves.
 *
 * Everything is in tables, which are stored by column. Rows refer to each other by index:
 *
 *   threads[].samples ─► stackTable ─► frameTable ─► funcTable ─► resourceTable ─► libs
 *                        (a tree: each row names                └─► sources
 *                        its caller's row)
 *
 * The frames have the numbers that they have in the profile. A sample stands for the time before it (export/tracks.h),
 * and is written at the time where that begins. Viewers show a stack until the next sample. So where the next sample
 * does not follow at once, one without a stack and without weight is put in between. Samples have threadCPUDelta, so
 * that the activity of a thread is drawn as the share of time that it ran.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/table.h"
#include "base/vec.h"
#include "export/common.h"
#include "export/export.h"
#include "export/gzip.h"
#include "export/strings.h"
#include "export/tracks.h"

#define VERSION       66
#define GECKO_VERSION 31           /* of the format before processing; nobody reads it here */
#define SAFE_INTEGER  (1ull << 53) /* JavaScript's numbers are exact below */
#define NO_ID         UINT32_MAX

enum category { CATEGORY_OTHER, CATEGORY_KERNEL, CATEGORY_NATIVE, CATEGORY_WAITING, CATEGORY_RUNTIMES };

struct function {
	uint32_t name;
	uint32_t resource, source; /* or NO_ID */
};

struct resource {
	uint32_t name, lib; /* lib or NO_ID */
};

struct stack {
	uint32_t frame, offset;
};

struct firefox {
	FILE *out; /* compresses */
	const struct profile *profile;
	struct export_strings strings;
	struct export_tracks tracks;
	struct table function_of;         /* name << 32 | resource's or source's number × 2, + 1 → index; or place: */
	struct table place_of;            /* resource << 32 | source, + 1 → index, with PLACE_BOTH */
	struct table resource_of, lib_of; /* name's index << 32 | build id's, + 1 → index */
	struct table source_of;           /* name's index + 1 → index */
	struct table stack_of;            /* caller + 1 << 32 | frame, + 1 → index */
	VEC(struct function) functions;
	VEC(struct resource) resources;
	VEC(uint32_t) libs;    /* frame that is in it */
	VEC(uint32_t) sources; /* name */
	VEC(struct stack) stacks;
	uint32_t *frame_function; /* by frame */
	uint32_t *sample_stack;   /* by sample; NO_ID: it has none */
	int err;
};

/* The index of a key in a table, which becomes `next` if the key is new: true. */
static bool is_new(struct firefox *to, struct table *table, uint64_t key, uint32_t next, uint32_t *ret)
{
	uint64_t index = next;
	bool known = table_get(table, key + 1, &index);

	if (!known && table_set(table, key + 1, index))
		to->err = -ENOMEM;
	*ret = (uint32_t)index;
	return !known;
}

static uint64_t pair(uint32_t high, uint32_t low)
{
	return (uint64_t)high << 32 | low;
}

static uint32_t lib_id(struct firefox *to, uint32_t id)
{
	const struct frame *frame = profile_frame_at(to->profile, id);
	uint64_t key = pair(export_string(&to->strings, frame->path), export_string(&to->strings, frame->build_id));
	uint32_t index;

	if (!frame->path || !*frame->path)
		return NO_ID;
	if (is_new(to, &to->lib_of, key, (uint32_t)to->libs.count, &index) && vec_push(&to->libs, id))
		to->err = -ENOMEM;
	return index;
}

static uint32_t resource_id(struct firefox *to, const char *name, uint32_t lib)
{
	const struct resource resource = {.name = export_string(&to->strings, name), .lib = lib};
	uint32_t index;

	if (is_new(to, &to->resource_of, pair(resource.name, lib), (uint32_t)to->resources.count, &index) &&
	    vec_push(&to->resources, resource))
		to->err = -ENOMEM;
	return index;
}

static uint32_t source_id(struct firefox *to, const char *file)
{
	uint32_t name = export_string(&to->strings, file), index;

	if (is_new(to, &to->source_of, name, (uint32_t)to->sources.count, &index) && vec_push(&to->sources, name))
		to->err = -ENOMEM;
	return index;
}

#define PLACE_BOTH 0x80000000u /* of code whose file and module are known */

static uint32_t function_id(struct firefox *to, uint32_t id)
{
	const struct frame *frame = profile_frame_at(to->profile, id);
	struct function function = {
		.name = export_string(&to->strings, frame->name), .resource = NO_ID, .source = NO_ID};
	const char *file = *frame->file ? frame->file : "?"; /* as in frame_format() */
	uint32_t index, place = NO_ID;

	if (frame->layer == FRAME_KERNEL)
		function.resource = resource_id(to, "kernel", NO_ID);
	else if (frame->layer == FRAME_NATIVE)
		function.resource = resource_id(to, file, lib_id(to, id));
	else if (frame->layer == FRAME_RUNTIME)
		function.source = source_id(to, file);
	if (frame->layer == FRAME_NATIVE && frame->line > 0)
		function.source = source_id(to, frame->source);
	if (function.resource != NO_ID)
		place = 2 * function.resource;
	else if (function.source != NO_ID)
		place = 2 * function.source + 1;
	/* A function of the same name may be in several files of one module. */
	if (function.resource != NO_ID && function.source != NO_ID) {
		is_new(to, &to->place_of, pair(function.resource, function.source), (uint32_t)to->place_of.count,
		       &index);
		place = PLACE_BOTH | index;
	}
	if (is_new(to, &to->function_of, pair(function.name, place), (uint32_t)to->functions.count, &index) &&
	    vec_push(&to->functions, function))
		to->err = -ENOMEM;
	return index;
}

static uint32_t stack_id(struct firefox *to, const struct profile_sample *sample)
{
	uint32_t caller = NO_ID, index = NO_ID, i;

	for (i = 0; i < sample->depth && !to->err; i++, caller = index) {
		const struct stack stack = {sample->frames[i],
					    caller == NO_ID ? 0 : (uint32_t)to->stacks.count - caller};

		if (is_new(to, &to->stack_of, pair(caller + 1, stack.frame), (uint32_t)to->stacks.count, &index) &&
		    vec_push(&to->stacks, stack))
			to->err = -ENOMEM;
	}
	return index;
}

/* All tables, before anything is written. */
static void fill_tables(struct firefox *to)
{
	size_t frames = profile_frame_count(to->profile), samples = profile_sample_count(to->profile), i;

	to->frame_function = calloc(frames + 1, sizeof(*to->frame_function));
	to->sample_stack = calloc(samples + 1, sizeof(*to->sample_stack));
	if (!to->frame_function || !to->sample_stack)
		to->err = -ENOMEM;
	for (i = 0; i < frames && !to->err; i++)
		to->frame_function[i] = function_id(to, (uint32_t)i);
	for (i = 0; i < samples && !to->err; i++)
		to->sample_stack[i] = stack_id(to, profile_sample_at(to->profile, i));
	if (to->strings.err)
		to->err = to->strings.err;
}

static unsigned int runtime_number(const struct firefox *to, const char *name)
{
	const struct profile_runtime *runtimes = profile_get_quality(to->profile)->runtimes;
	unsigned int i;

	for (i = 0; i < PROFILE_RUNTIMES_MAX && runtimes[i].name; i++)
		if (!strcmp(runtimes[i].name, name))
			return CATEGORY_RUNTIMES + i;
	return CATEGORY_OTHER;
}

static unsigned int category_of(const struct firefox *to, const struct frame *frame)
{
	switch (frame->layer) {
	case FRAME_KERNEL:
		return CATEGORY_KERNEL;
	case FRAME_NATIVE:
		return CATEGORY_NATIVE;
	case FRAME_RUNTIME:
		return runtime_number(to, frame->runtime);
	case FRAME_MARK:
		return export_frame_waits(frame) ? CATEGORY_WAITING : CATEGORY_OTHER;
	case FRAME_LAYER_COUNT:
		break;
	}
	return CATEGORY_OTHER;
}

static void write_category(FILE *out, const char *name, const char *color)
{
	fputs("{\"name\":", out);
	export_json_string(out, name);
	fprintf(out, ",\"color\":\"%s\",\"subcategories\":[\"Other\"]}", color);
}

/* In the order of enum category; the first grey one is the reader's default. */
static void write_categories(FILE *out, const struct profile_quality *quality)
{
	static const char *const colors[] = {"yellow", "green", "brown", "magenta", "lightblue"};
	unsigned int i;

	fputs("\"categories\":[", out);
	write_category(out, "Other", "grey");
	putc(',', out);
	write_category(out, "Kernel", "orange");
	putc(',', out);
	write_category(out, "Native", "blue");
	putc(',', out);
	write_category(out, "Waiting", "purple");
	for (i = 0; i < PROFILE_RUNTIMES_MAX && quality->runtimes[i].name; i++) {
		putc(',', out);
		write_category(out, quality->runtimes[i].language, colors[i % (sizeof(colors) / sizeof(colors[0]))]);
	}
	fputs("],\n", out);
}

static void write_entry(FILE *out, const char *label, const char *value)
{
	fputs("{\"label\":", out);
	export_json_string(out, label);
	fputs(",\"format\":\"string\",\"value\":", out);
	export_json_string(out, value);
	putc('}', out);
}

/* How good the data is: what the summary says, a line each. */
static void write_extra(struct firefox *to)
{
	char times[160], *text = NULL, *line, *rest = NULL;

	if (export_summary_text(to->profile, &text))
		to->err = -ENOMEM;
	export_tracks_clock(&to->tracks, times);
	fputs("\"extra\":[{\"label\":\"Quality of the data\",\"entries\":[\n", to->out);
	write_entry(to->out, "times", times);
	for (line = to->err ? NULL : strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
		fputs(",\n", to->out);
		write_entry(to->out, "", line + strspn(line, " "));
	}
	fputs("]}]},\n", to->out);
	free(text);
}

static void write_meta(struct firefox *to)
{
	const struct profile_info *info = profile_get_info(to->profile);
	char version[64], system[128];

	fprintf(to->out, "\"meta\":{\"version\":%d,\"preprocessedProfileVersion\":%d,", GECKO_VERSION, VERSION);
	fprintf(to->out, "\"interval\":%.6f,\"startTime\":%.3f,", to->tracks.tick_ns / 1e6, info->start_time * 1e3);
	fprintf(to->out, "\"profilingStartTime\":0,\"profilingEndTime\":%.3f,", info->duration_s * 1e3);
	fprintf(to->out, "\"logicalCPUs\":%u,\"processType\":0,\"stackwalk\":1,\"debug\":false,", info->cpus);
	fputs("\"sampleUnits\":{\"time\":\"ms\",\"eventDelay\":\"ms\",\"threadCPUDelta\":\"ns\"},", to->out);
	fputs("\"symbolicated\":true,\"usesOnlyOneStackType\":true,\"sourceCodeIsNotOnSearchfox\":true,", to->out);
	fputs("\"markerSchema\":[],\"product\":", to->out);
	export_json_string(to->out, info->command ?: "");
	fputs(",\"oscpu\":", to->out);
	snprintf(system, sizeof(system), "Linux %.100s", info->kernel ?: "");
	export_json_string(to->out, system);
	fputs(",\"platform\":\"Linux\",\"importedFrom\":", to->out);
	snprintf(version, sizeof(version), "strata %.40s", info->strata_version ?: "");
	export_json_string(to->out, version);
	fputs(",\n", to->out);
	write_categories(to->out, profile_get_quality(to->profile));
	write_extra(to);
}

/*
 * Breakpad's form of a build id: its first 16 bytes, the first three fields of which are little-endian, and an age of
 * 0 (google_breakpad: src/common/linux/file_id.cc). "" for a shorter one.
 */
static void breakpad_id(const char *build_id, char ret[static 34])
{
	static const int order[] = {3, 2, 1, 0, 5, 4, 7, 6, 8, 9, 10, 11, 12, 13, 14, 15};
	size_t i;

	*ret = '\0';
	if (!build_id || strlen(build_id) < 32)
		return;
	for (i = 0; i < 32; i++) {
		char c = build_id[2 * order[i / 2] + (int)(i % 2)];

		ret[i] = c >= 'a' && c <= 'f' ? (char)(c - 'a' + 'A') : c;
	}
	memcpy(ret + 32, "0", 2);
}

static void write_libs(struct firefox *to)
{
	char id[34];
	size_t i;

	fputs("\"libs\":[", to->out);
	for (i = 0; i < to->libs.count; i++) {
		const struct frame *frame = profile_frame_at(to->profile, to->libs.at[i]);

		breakpad_id(frame->build_id, id);
		fputs(i ? ",\n{\"arch\":\"\",\"name\":" : "\n{\"arch\":\"\",\"name\":", to->out);
		export_json_string(to->out, frame->file);
		fputs(",\"debugName\":", to->out);
		export_json_string(to->out, frame->file);
		fputs(",\"path\":", to->out);
		export_json_string(to->out, frame->path);
		fputs(",\"debugPath\":", to->out);
		export_json_string(to->out, frame->path);
		fprintf(to->out, ",\"breakpadId\":\"%s\",\"codeId\":", id);
		if (frame->build_id && *frame->build_id)
			export_json_string(to->out, frame->build_id);
		else
			fputs("null", to->out);
		putc('}', to->out);
	}
	fputs("],\n", to->out);
}

/* A column of a table: what cell() writes for each row. `first`: of the table. */
typedef void cell(const struct firefox *to, size_t row);

static void write_column(const struct firefox *to, const char *name, size_t count, cell *write)
{
	size_t i;

	fprintf(to->out, ",\n\"%s\":[", name);
	for (i = 0; i < count; i++) {
		if (i)
			putc(',', to->out);
		write(to, i);
	}
	putc(']', to->out);
}

static void put_number(const struct firefox *to, uint32_t number, const char *none)
{
	if (number == NO_ID)
		fputs(none, to->out);
	else
		fprintf(to->out, "%" PRIu32, number);
}

static void cell_null(const struct firefox *to, size_t row)
{
	(void)row;
	fputs("null", to->out);
}

static void cell_false(const struct firefox *to, size_t row)
{
	(void)row;
	fputs("false", to->out);
}

static void cell_zero(const struct firefox *to, size_t row)
{
	(void)row;
	putc('0', to->out);
}

static void cell_one(const struct firefox *to, size_t row)
{
	(void)row;
	putc('1', to->out);
}

static void cell_stack_frame(const struct firefox *to, size_t row)
{
	put_number(to, to->stacks.at[row].frame, "");
}

static void cell_stack_offset(const struct firefox *to, size_t row)
{
	put_number(to, to->stacks.at[row].offset, "");
}

static void cell_frame_address(const struct firefox *to, size_t row)
{
	const struct frame *frame = profile_frame_at(to->profile, (uint32_t)row);

	if (frame->layer == FRAME_NATIVE && frame->address && frame->address < SAFE_INTEGER)
		fprintf(to->out, "%" PRIu64, frame->address);
	else
		fputs("-1", to->out);
}

static void cell_frame_category(const struct firefox *to, size_t row)
{
	fprintf(to->out, "%u", category_of(to, profile_frame_at(to->profile, (uint32_t)row)));
}

static void cell_frame_function(const struct firefox *to, size_t row)
{
	put_number(to, to->frame_function[row], "");
}

static void cell_frame_line(const struct firefox *to, size_t row)
{
	const struct frame *frame = profile_frame_at(to->profile, (uint32_t)row);

	put_number(to, frame->line > 0 ? (uint32_t)frame->line : NO_ID, "null");
}

static void cell_function_name(const struct firefox *to, size_t row)
{
	put_number(to, to->functions.at[row].name, "");
}

static void cell_function_resource(const struct firefox *to, size_t row)
{
	put_number(to, to->functions.at[row].resource, "-1");
}

static void cell_function_source(const struct firefox *to, size_t row)
{
	put_number(to, to->functions.at[row].source, "null");
}

static void cell_resource_name(const struct firefox *to, size_t row)
{
	put_number(to, to->resources.at[row].name, "");
}

static void cell_resource_lib(const struct firefox *to, size_t row)
{
	put_number(to, to->resources.at[row].lib, "null");
}

static void cell_source_name(const struct firefox *to, size_t row)
{
	put_number(to, to->sources.at[row], "");
}

struct column {
	const char *name;
	cell *write;
};

static void write_table(const struct firefox *to, const char *name, size_t count, const struct column *columns)
{
	fprintf(to->out, "\"%s\":{\"length\":%zu", name, count);
	for (; columns->name; columns++)
		write_column(to, columns->name, count, columns->write);
	fputs("},\n", to->out);
}

static void write_shared(struct firefox *to)
{
	static const struct column stacks[] = {{"frame", cell_stack_frame}, {"prefixOffset", cell_stack_offset}, {}};
	static const struct column frames[] = {{"address", cell_frame_address},
					       {"inlineDepth", cell_zero},
					       {"category", cell_frame_category},
					       {"subcategory", cell_zero},
					       {"func", cell_frame_function},
					       {"nativeSymbol", cell_null},
					       {"innerWindowID", cell_null},
					       {"line", cell_frame_line},
					       {"column", cell_null},
					       {"originalLocation", cell_null},
					       {}};
	static const struct column functions[] = {{"name", cell_function_name},
						  {"isJS", cell_false},
						  {"relevantForJS", cell_false},
						  {"resource", cell_function_resource},
						  {"source", cell_function_source},
						  {"lineNumber", cell_null},
						  {"columnNumber", cell_null},
						  {"originalLocation", cell_null},
						  {}};
	static const struct column resources[] = {{"name", cell_resource_name},
						  {"lib", cell_resource_lib},
						  {"host", cell_null},
						  {"type", cell_one}, /* a library */
						  {}};
	static const struct column symbols[] = {
		{"libIndex", cell_null}, {"address", cell_null}, {"name", cell_null}, {"functionSize", cell_null}, {}};
	static const struct column sources[] = {{"id", cell_null},
						{"filename", cell_source_name},
						{"startLine", cell_one},
						{"startColumn", cell_one},
						{"sourceMapURL", cell_null},
						{"content", cell_null},
						{}};
	static const struct column locations[] = {
		{"source", cell_null}, {"line", cell_null}, {"column", cell_null}, {}};

	fputs("\"shared\":{", to->out);
	write_table(to, "stackTable", to->stacks.count, stacks);
	write_table(to, "frameTable", profile_frame_count(to->profile), frames);
	write_table(to, "funcTable", to->functions.count, functions);
	write_table(to, "resourceTable", to->resources.count, resources);
	write_table(to, "nativeSymbols", 0, symbols);
	write_table(to, "sources", to->sources.count, sources);
	write_table(to, "sourceLocationTable", 0, locations);
	fputs("\"stringArray\":[", to->out);
	export_strings_json(to->out, &to->strings);
	fputs("]},\n", to->out);
}

/* One row of a thread's samples. Without `row`, the thread did nothing from `at` on. */
struct point {
	const struct export_row *row;
	int64_t at;
};

/* The next point of a thread; *next: the row to look at, *gap: whether the one before has been ended. */
static bool next_point(const struct export_tracks *tracks, const struct export_track *track, size_t *next, bool *ended,
		       struct point *ret)
{
	const struct export_row *rows = tracks->rows.at + track->first;
	const struct export_row *before = *next ? &rows[*next - 1] : NULL;
	bool last = *next == track->count;

	if (before && !*ended && (last || (double)(rows[*next].begin - before->end) > tracks->tick_ns / 2)) {
		*ended = true;
		*ret = (struct point){.at = before->end};
		return true;
	}
	if (last)
		return false;
	*ended = false;
	*ret = (struct point){.row = &rows[*next], .at = rows[*next].begin};
	(*next)++;
	return true;
}

static void put_time(const struct firefox *to, const struct point *point)
{
	fprintf(to->out, "%.3f", (double)point->at / 1e6);
}

static void put_stack(const struct firefox *to, const struct point *point)
{
	put_number(to, point->row ? to->sample_stack[point->row->sample] : NO_ID, "null");
}

/* Milliseconds of weighed samples, to the nanosecond: their sum is that of the profile. */
static void put_weight(const struct firefox *to, const struct point *point)
{
	uint64_t amount = point->row ? point->row->amount : 0;

	if (!profile_get_info(to->profile)->weighed || !amount)
		fprintf(to->out, "%" PRIu64, amount);
	else
		fprintf(to->out, "%" PRIu64 ".%06" PRIu64, amount / 1000000, amount % 1000000);
}

/* What the thread ran since the point before: a reader draws it as a share of that time. */
static void put_cpu(const struct firefox *to, const struct point *point, const struct export_row *before)
{
	const struct profile_sample *sample = before ? profile_sample_at(to->profile, before->sample) : NULL;
	bool waited = sample && sample->depth &&
		      export_frame_waits(profile_frame_at(to->profile, sample->frames[sample->depth - 1]));

	(void)point;
	fprintf(to->out, "%" PRId64, before && !waited ? before->end - before->begin : 0);
}

enum sample_column { SAMPLE_STACK, SAMPLE_TIME, SAMPLE_WEIGHT, SAMPLE_CPU };

/* Returns how many there are. */
static size_t write_samples(const struct firefox *to, const struct export_track *track, const char *name,
			    enum sample_column column)
{
	const struct export_row *before = NULL;
	size_t next = 0, count = 0;
	bool ended = false;
	struct point point;

	fprintf(to->out, "\"%s\":[", name);
	for (; next_point(&to->tracks, track, &next, &ended, &point); count++, before = point.row) {
		if (count)
			putc(',', to->out);
		if (column == SAMPLE_STACK)
			put_stack(to, &point);
		else if (column == SAMPLE_TIME)
			put_time(to, &point);
		else if (column == SAMPLE_WEIGHT)
			put_weight(to, &point);
		else
			put_cpu(to, &point, before);
	}
	fputs("],\n", to->out);
	return count;
}

static void write_thread(const struct firefox *to, const struct export_track *track)
{
	size_t count;

	fputs("{\"processType\":\"default\",\"processStartupTime\":0,\"processShutdownTime\":null,", to->out);
	fputs("\"registerTime\":0,\"unregisterTime\":null,\"pausedRanges\":[],\"name\":", to->out);
	export_json_string(to->out, *track->comm ? track->comm : "?");
	fputs(",\"processName\":", to->out);
	export_json_string(to->out, track->count ? export_tracks_process(&to->tracks, track) : track->comm);
	fprintf(to->out, ",\"isMainThread\":%s,\"pid\":\"%d\",", track->pid == track->tid ? "true" : "false",
		track->pid);
	if (track->earlier)
		fprintf(to->out, "\"tid\":\"%d.%" PRIu32 "\",\n", track->tid, track->earlier);
	else
		fprintf(to->out, "\"tid\":%d,\n", track->tid);
	fputs("\"samples\":{", to->out);
	write_samples(to, track, "stack", SAMPLE_STACK);
	write_samples(to, track, "time", SAMPLE_TIME);
	write_samples(to, track, "weight", SAMPLE_WEIGHT);
	count = write_samples(to, track, "threadCPUDelta", SAMPLE_CPU);
	fprintf(to->out, "\"weightType\":\"%s\",\"length\":%zu},\n",
		profile_get_info(to->profile)->weighed ? "tracing-ms" : "samples", count);
	fputs("\"markers\":{\"data\":[],\"name\":[],\"startTime\":[],\"endTime\":[],\"phase\":[],\"category\":[],"
	      "\"length\":0}}",
	      to->out);
}

static void write_all(struct firefox *to)
{
	/* Readers want a thread. */
	static const struct export_track nothing = {.comm = "nothing was sampled"};
	size_t i, count = to->tracks.tracks.count;

	putc('{', to->out);
	write_meta(to);
	write_libs(to);
	write_shared(to);
	fputs("\"threads\":[", to->out);
	for (i = 0; i < count || !i; i++) {
		fputs(i ? ",\n" : "\n", to->out);
		write_thread(to, count ? &to->tracks.tracks.at[i] : &nothing);
	}
	fputs("]}\n", to->out);
}

static void firefox_deinit(struct firefox *to)
{
	if (to->out)
		fclose(to->out);
	export_strings_deinit(&to->strings);
	export_tracks_deinit(&to->tracks);
	table_deinit(&to->function_of);
	table_deinit(&to->place_of);
	table_deinit(&to->resource_of);
	table_deinit(&to->lib_of);
	table_deinit(&to->source_of);
	table_deinit(&to->stack_of);
	vec_free(&to->functions);
	vec_free(&to->resources);
	vec_free(&to->libs);
	vec_free(&to->sources);
	vec_free(&to->stacks);
	free(to->frame_function);
	free(to->sample_stack);
}

static int firefox_write(FILE *out, const struct profile *profile, const struct export_options *options,
			 struct diag *diag)
{
	struct firefox to = {.out = export_gzip(out), .profile = profile};

	(void)options; /* threads are always apart in this format */
	if (!to.out || export_strings_init(&to.strings) || export_tracks_init(&to.tracks, profile))
		to.err = -ENOMEM;
	if (!to.err)
		fill_tables(&to);
	if (!to.err)
		write_all(&to);
	firefox_deinit(&to);
	return to.err ? export_no_memory(diag) : export_finish(out, diag);
}

const struct exporter export_firefox = {
	.suffix = ".firefox.json.gz",
	.description = "for the Firefox Profiler: threads over time",
	.threads = true,
	.times = true,
	.moments = true,
	.addresses = true,
	.write = firefox_write,
};
