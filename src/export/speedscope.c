// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * speedscope: speedscope's own file format, published as file-format-schema.json and
 * src/lib/file-format-spec.ts in its repository. One "sampled" profile for each thread; a sample is a stack of
 * frame indices, outermost first, and its weight in seconds (what it weighs, or 1/Hz for each time that it was seen).
 * Frames with equal texts are one frame.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "export/common.h"
#include "export/export.h"

#define SCHEMA "https://www.speedscope.app/file-format-schema.json"

static bool same_thread(const struct profile_sample *a, const struct profile_sample *b)
{
	return a->pid == b->pid && a->tid == b->tid && a->comm == b->comm;
}

static void write_frames(FILE *out, const struct export_view *view)
{
	size_t i;

	fputs("\"shared\":{\"frames\":[", out);
	for (i = 0; i < view->rank_count; i++) {
		const struct frame *frame = profile_frame_at(view->profile, view->named[i]);

		fprintf(out, "%s\n{\"name\":", i ? "," : "");
		export_json_string(out, view->texts[view->named[i]]);
		if (*frame->file) {
			fputs(",\"file\":", out);
			export_json_string(out, frame->layer == FRAME_NATIVE && frame->line > 0 ? frame->source
												: frame->file);
		}
		if (frame->line > 0)
			fprintf(out, ",\"line\":%d", frame->line);
		putc('}', out);
	}
	fputs("\n]}", out);
}

/* One profile: the samples [from, to) of the view, all of one thread. */
static void write_thread(FILE *out, const struct export_view *view, size_t from, size_t to, double seconds)
{
	const struct profile_sample *first = view->samples[from];
	char name[64];
	uint64_t total = 0;
	size_t i;
	uint32_t k;

	for (i = from; i < to; i++)
		total += export_amount(view->profile, view->samples[i]);
	snprintf(name, sizeof(name), "%.32s (pid %d, tid %d)", first->comm, first->pid, first->tid);
	fputs("{\"type\":\"sampled\",\"name\":", out);
	export_json_string(out, name);
	fprintf(out, ",\"unit\":\"%s\",\"startValue\":0,\"endValue\":%.9g,\"samples\":[",
		seconds > 0 ? "seconds" : "none", (double)total * (seconds > 0 ? seconds : 1));
	for (i = from; i < to; i++) {
		fputs(i > from ? ",\n[" : "\n[", out);
		for (k = 0; k < view->samples[i]->depth; k++)
			fprintf(out, "%s%" PRIu32, k ? "," : "", view->ranks[view->samples[i]->frames[k]]);
		putc(']', out);
	}
	fputs("],\"weights\":[", out);
	for (i = from; i < to; i++)
		fprintf(out, "%s%.9g", i > from ? "," : "",
			(double)export_amount(view->profile, view->samples[i]) * (seconds > 0 ? seconds : 1));
	fputs("]}", out);
}

static void write_profiles(FILE *out, const struct export_view *view)
{
	const struct profile_info *info = profile_get_info(view->profile);
	double seconds = info->weighed ? 1e-9 : info->frequency ? 1.0 / info->frequency : 0;
	size_t from, to;

	fputs("\"profiles\":[", out);
	for (from = 0; from < view->sample_count; from = to) {
		for (to = from + 1; to < view->sample_count; to++)
			if (!same_thread(view->samples[from], view->samples[to]))
				break;
		fputs(from ? ",\n" : "\n", out);
		write_thread(out, view, from, to, seconds);
	}
	fputs("\n]", out);
}

static int speedscope_write(FILE *out, const struct profile *profile, const struct export_options *options,
			    struct diag *diag)
{
	const struct profile_info *info = profile_get_info(profile);
	struct export_view view;
	char exporter[64];
	int err = export_view_init(&view, profile, EXPORT_THREADS, diag);

	(void)options; /* threads are always apart in this format */
	if (!err) {
		fputs("{\"$schema\":\"" SCHEMA "\",\"exporter\":", out);
		snprintf(exporter, sizeof(exporter), "strata %s", info->strata_version);
		export_json_string(out, exporter);
		fputs(",\"name\":", out);
		export_json_string(out, info->command);
		fputs(",\"activeProfileIndex\":0,\n", out);
		write_frames(out, &view);
		fputs(",\n", out);
		write_profiles(out, &view);
		fputs("}\n", out);
	}
	export_view_deinit(&view);
	return err ? err : export_finish(out, diag);
}

const struct exporter export_speedscope = {
	.suffix = ".speedscope.json",
	.description = "for speedscope: one profile a thread",
	.threads = true,
	.write = speedscope_write,
};
