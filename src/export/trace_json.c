// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * trace_json: Chrome's trace events as JSON, for Perfetto and whatever else reads these ("Trace Event Format", a
 * document of the Chromium project). Perfetto shows events with a duration, and ignores the format's own samples: so a
 * frame is an event that begins when it is first seen on a thread's stack, and ends when it is no longer there.
 *
 *   {"ph":"B", "ts", "pid", "tid", "name", "cat", "args":{"file", "line"}}   a frame begins; µs since the start
 *   {"ph":"E", "ts", "pid", "tid", "args":{"samples" or "us"}}               the innermost one ends; the args: what was
 *                                                                            sampled while it was the innermost one
 *   {"ph":"M", "name":"process_name" or "thread_name", …}
 *
 * The events of a thread are in the order of time. The outermost frame of each is its name: if that changes, a new one
 * begins. Two samples that follow each other share the frames that their stacks have in common; after a pause all are
 * new.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "export/common.h"
#include "export/export.h"
#include "export/tracks.h"
#include "profile/text.h"

/* A frame that has begun. */
struct open {
	uint32_t frame;
	uint64_t amount; /* of samples while it was the innermost one */
};

struct trace {
	FILE *out;
	const struct profile *profile;
	struct export_tracks tracks;
	char **names;          /* by frame: cleaned */
	VEC(struct open) open; /* outermost first; below the one of the thread's name */
	const char *comm;      /* of that one; NULL: none is open */
	uint64_t comm_amount;
	int pid, tid; /* of the thread at hand */
	bool any;     /* events were written */
	int err;
};

static char *clean(const char *text)
{
	size_t size = text_clean(text, NULL, 0) + 1;
	char *ret = malloc(size);

	if (ret)
		text_clean(text, ret, size);
	return ret;
}

static void write_clean(struct trace *to, const char *text)
{
	char *copy = clean(text ?: "");

	if (copy)
		export_json_string(to->out, copy);
	else
		to->err = -ENOMEM;
	free(copy);
}

static void begin_event(struct trace *to, char phase)
{
	fprintf(to->out, "%s{\"ph\":\"%c\",\"pid\":%d,\"tid\":%d", to->any ? ",\n" : "\n", phase, to->pid, to->tid);
	to->any = true;
}

/* ns as µs, all digits of them. */
static void write_us(FILE *out, const char *key, uint64_t ns)
{
	fprintf(out, "\"%s\":%" PRIu64 ".%03" PRIu64, key, ns / 1000, ns % 1000);
}

static const char *category(const struct frame *frame)
{
	switch (frame->layer) {
	case FRAME_KERNEL:
		return "kernel";
	case FRAME_NATIVE:
		return "native";
	case FRAME_RUNTIME:
		return frame->runtime;
	case FRAME_MARK:
		return export_frame_waits(frame) ? "waiting" : "missing";
	case FRAME_LAYER_COUNT:
		break;
	}
	return "";
}

static void write_args(struct trace *to, const struct frame *frame)
{
	const char *separator = "";

	fputs(",\"args\":{", to->out);
	if (*frame->file) {
		fputs(frame->layer == FRAME_RUNTIME ? "\"file\":" : "\"module\":", to->out);
		write_clean(to, frame->file);
		separator = ",";
	}
	if (frame->line > 0)
		fprintf(to->out, "%s\"line\":%d", separator, frame->line);
	if (frame->layer == FRAME_NATIVE && frame->line > 0) {
		fputs(",\"file\":", to->out);
		write_clean(to, frame->source);
	}
	if (frame->layer == FRAME_NATIVE && frame->address)
		fprintf(to->out, "%s\"address\":\"0x%" PRIx64 "\"", separator, frame->address);
	putc('}', to->out);
}

static void begin_frame(struct trace *to, uint32_t id, int64_t at)
{
	const struct frame *frame = profile_frame_at(to->profile, id);
	const struct open open = {.frame = id};

	if (vec_push(&to->open, open)) {
		to->err = -ENOMEM;
		return;
	}
	begin_event(to, 'B');
	putc(',', to->out);
	write_us(to->out, "ts", (uint64_t)at);
	fputs(",\"name\":", to->out);
	export_json_string(to->out, to->names[id]);
	fputs(",\"cat\":", to->out);
	export_json_string(to->out, category(frame));
	write_args(to, frame);
	putc('}', to->out);
}

static void begin_thread(struct trace *to, const char *comm, int64_t at)
{
	to->comm = comm;
	to->comm_amount = 0;
	begin_event(to, 'B');
	putc(',', to->out);
	write_us(to->out, "ts", (uint64_t)at);
	fputs(",\"cat\":\"thread\",\"name\":", to->out);
	write_clean(to, *comm ? comm : "?");
	putc('}', to->out);
}

static void end_event(struct trace *to, uint64_t amount, int64_t at)
{
	begin_event(to, 'E');
	putc(',', to->out);
	write_us(to->out, "ts", (uint64_t)at);
	if (amount && profile_get_info(to->profile)->weighed) {
		fputs(",\"args\":{", to->out);
		write_us(to->out, "us", amount);
		putc('}', to->out);
	} else if (amount) {
		fprintf(to->out, ",\"args\":{\"samples\":%" PRIu64 "}", amount);
	}
	putc('}', to->out);
}

/* Ends all frames but the `keep` outermost ones. */
static void end_frames(struct trace *to, size_t keep, int64_t at)
{
	while (to->open.count > keep)
		end_event(to, to->open.at[--to->open.count].amount, at);
}

static void end_thread(struct trace *to, int64_t at)
{
	end_frames(to, 0, at);
	if (to->comm)
		end_event(to, to->comm_amount, at);
	to->comm = NULL;
}

/* Rows of different names of a thread may overlap: when the one before ended is certain. */
static void write_row(struct trace *to, const struct export_row *row, const struct export_row *before)
{
	const struct profile_sample *sample = profile_sample_at(to->profile, row->sample);
	int64_t begin = before && row->begin < before->end ? before->end : row->begin;
	size_t depth = 0;

	if (before && (double)(begin - before->end) > to->tracks.tick_ns / 2)
		end_thread(to, before->end);
	if (to->comm && strcmp(to->comm, sample->comm))
		end_thread(to, before->end);
	if (!to->comm)
		begin_thread(to, sample->comm, begin);
	while (depth < to->open.count && depth < sample->depth && to->open.at[depth].frame == sample->frames[depth])
		depth++;
	end_frames(to, depth, begin);
	for (; depth < sample->depth && !to->err; depth++)
		begin_frame(to, sample->frames[depth], begin);
	if (to->open.count)
		to->open.at[to->open.count - 1].amount += row->amount;
	else
		to->comm_amount += row->amount;
}

static int by_end(const void *a, const void *b)
{
	const struct export_row *x = *(const struct export_row *const *)a, *y = *(const struct export_row *const *)b;

	if (x->end != y->end)
		return x->end < y->end ? -1 : 1;
	return x < y ? -1 : x > y;
}

static void write_name(struct trace *to, const char *what, const char *name)
{
	begin_event(to, 'M');
	fprintf(to->out, ",\"name\":\"%s\",\"args\":{\"name\":", what);
	write_clean(to, *name ? name : "?");
	fputs("}}", to->out);
}

/* The tracks of one thread, which has had several names, from `first` to before `end`. */
static void write_thread(struct trace *to, const struct export_track *first, const struct export_track *end)
{
	const struct export_row *before = NULL;
	const struct export_track *track;
	VEC(const struct export_row *) rows = {};
	size_t i;

	for (track = first; track < end && !to->err; track++)
		for (i = 0; i < track->count && !to->err; i++)
			if (vec_push(&rows, &to->tracks.rows.at[track->first + i]))
				to->err = -ENOMEM;
	if (first + 1 < end && !to->err)
		qsort(rows.at, rows.count, sizeof(*rows.at), by_end);
	to->pid = first->pid;
	to->tid = first->tid;
	write_name(to, "process_name", export_tracks_process(&to->tracks, first));
	write_name(to, "thread_name", end[-1].comm);
	for (i = 0; i < rows.count && !to->err; before = rows.at[i++])
		write_row(to, rows.at[i], before);
	if (before)
		end_thread(to, before->end);
	vec_free(&rows);
}

static void write_threads(struct trace *to)
{
	const struct export_track *from = to->tracks.tracks.at, *end = from + to->tracks.tracks.count, *next;

	for (; from < end && !to->err; from = next) {
		for (next = from + 1; next < end && next->earlier; next++)
			;
		write_thread(to, from, next);
	}
}

static void write_other(struct trace *to)
{
	const struct profile_info *info = profile_get_info(to->profile);
	char times[160], *text = NULL;

	if (export_summary_text(to->profile, &text))
		to->err = -ENOMEM;
	export_tracks_clock(&to->tracks, times);
	fputs("\"otherData\":{\"command\":", to->out);
	write_clean(to, info->command);
	fputs(",\"strata\":", to->out);
	write_clean(to, info->strata_version);
	fprintf(to->out, ",\"start\":\"%.6f\",\"times\":", info->start_time);
	export_json_string(to->out, times);
	fputs(",\"summary\":", to->out);
	if (text)
		export_json_string(to->out, text);
	else
		fputs("\"\"", to->out);
	fputs("},\n", to->out);
	free(text);
}

static void name_frames(struct trace *to)
{
	size_t count = profile_frame_count(to->profile), i;

	to->names = calloc(count + 1, sizeof(*to->names));
	if (!to->names)
		to->err = -ENOMEM;
	for (i = 0; i < count && !to->err; i++) {
		to->names[i] = clean(profile_frame_at(to->profile, (uint32_t)i)->name);
		if (!to->names[i])
			to->err = -ENOMEM;
	}
}

static int trace_write(FILE *out, const struct profile *profile, const struct export_options *options,
		       struct diag *diag)
{
	struct trace to = {.out = out, .profile = profile};
	size_t i;

	(void)options; /* threads are always apart in this format */
	to.err = export_tracks_init(&to.tracks, profile);
	if (!to.err)
		name_frames(&to);
	if (!to.err) {
		fputs("{\"displayTimeUnit\":\"ms\",\n", out);
		write_other(&to);
		fputs("\"traceEvents\":[", out);
		write_threads(&to);
		fputs("\n]}\n", out);
	}
	for (i = 0; to.names && i < profile_frame_count(profile); i++)
		free(to.names[i]);
	free(to.names);
	vec_free(&to.open);
	export_tracks_deinit(&to.tracks);
	return to.err ? export_no_memory(diag) : export_finish(out, diag);
}

const struct exporter export_trace = {
	.suffix = ".trace.json",
	.description = "for Perfetto: threads over time, as trace events",
	.threads = true,
	.times = true,
	.moments = true,
	.addresses = true,
	.write = trace_write,
};
