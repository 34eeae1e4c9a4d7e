// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * html: the flame graph, one file that needs nothing but a browser.
 *
 * The page (src/export/page/) is compiled into the program; {{names}} in page.html are filled in when writing. The
 * data goes into a <script type="application/json"> element: strings and facts as JSON, and two kinds of numbers
 * too many for that as base64 of LEB128 numbers:
 *
 *   frames         for each frame: layer, name, file (both indices into strings), line
 *   threads[].tree for each node of the thread's prefix tree, parents first (preorder):
 *                  levels to go up from the node before (0: its child), frame, samples that ended here, or their
 *                  microseconds if info.weighed; then, if two recordings are compared, samples that ended here before;
 *                  then, if these are times, how many waits of equal length would vary as much (EVEN_WAITS)
 *
 *   threads[].owner the text of its container, unit or cgroup, an index into strings; absent if that is not known. A
 *                  thread that was in several comes several times
 *   threads[].times  for the empty stack, then for each node that has samples, in the tree's order: how many slices of
 *                  time have some of them, and for each of these the slices to go on, and the samples or microseconds
 *
 *   sources        files with their text, if the profile has some: path, as in frames; text; changed, if it was written
 *                  after the recording began; pids
 *
 * Sorted samples give the tree without building one: what a stack shares with the one before it is there already.
 * Frames with equal texts are one frame. All strings are cleaned as in the other formats and escaped so that none can
 * end the element; the page puts them into the document as text only. Its policy allows only the scripts and styles
 * with this file's random nonce, and no request of any kind.
 */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "export/common.h"
#include "export/export.h"
#include "export/strings.h"
#include "export/web_page.h"
#include "profile/text.h"


static const char page_html[] = {
#include "page/page.html.inc"
};
static const char page_css[] = {
#include "page/page.css.inc"
};
static const char tree_js[] = {
#include "page/tree.js.inc"
};
static const char diff_js[] = {
#include "page/diff.js.inc"
};
static const char chart_js[] = {
#include "page/chart.js.inc"
};
static const char panel_js[] = {
#include "page/panel.js.inc"
};
static const char strip_js[] = {
#include "page/strip.js.inc"
};
static const char sandwich_js[] = {
#include "page/sandwich.js.inc"
};
static const char source_js[] = {
#include "page/source.js.inc"
};
static const char table_js[] = {
#include "page/table.js.inc"
};
static const char page_js[] = {
#include "page/page.js.inc"
};

#define EVEN_WAITS 1000 /* the page has thousandths of a wait */

struct page {
	FILE *out;
	struct export_times times;
	const struct profile *profile;
	const struct export_options *options;
	struct export_view view;
	struct export_strings strings;
	char nonce[WEB_PAGE_NONCE];
	int err;
};

/* Base64 of LEB128 numbers (RFC 4648, with padding), straight to the stream. */
struct packer {
	FILE *out;
	uint32_t bits;
	unsigned int bytes; /* in `bits`: 0 to 2 */
};

static void pack_flush(struct packer *to)
{
	static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	unsigned int i;

	if (!to->bytes)
		return;
	to->bits <<= 8 * (3 - to->bytes);
	for (i = 0; i < 4; i++)
		putc(i <= to->bytes ? digits[to->bits >> (18 - 6 * i) & 63] : '=', to->out);
	to->bits = to->bytes = 0;
}

static void pack(struct packer *to, uint64_t number)
{
	do {
		to->bits = to->bits << 8 | (number & 0x7f) | (number > 0x7f ? 0x80 : 0);
		number >>= 7;
		if (++to->bytes == 3)
			pack_flush(to);
	} while (number);
}

static uint64_t string_index(struct page *page, const char *string)
{
	uint64_t index = export_string(&page->strings, string);

	if (page->strings.err)
		page->err = page->strings.err;
	return index;
}

static void write_number(FILE *out, const char *key, double value)
{
	fprintf(out, "\"%s\":%.17g,", key, isfinite(value) ? value : 0);
}

static void write_text(FILE *out, const char *key, const char *value)
{
	fprintf(out, "\"%s\":", key);
	export_json_string(out, value);
	putc(',', out);
}

static void write_info(FILE *out, const struct profile_info *info)
{
	fputs("\"info\":{", out);
	write_text(out, "command", info->command);
	write_text(out, "host", info->hostname);
	write_text(out, "kernel", info->kernel);
	write_text(out, "version", info->strata_version);
	write_number(out, "start", info->start_time);
	write_number(out, "duration", info->duration_s);
	fprintf(out, "\"frequency\":%u,\"weighed\":%s,\"cpus\":%u},\n", info->frequency,
		info->weighed ? "true" : "false", info->cpus);
}

/* What this recording is compared with. */
static void write_compared(FILE *out, const struct profile_compared *compared)
{
	if (!(compared->weight > 0))
		return;
	fputs("\"compared\":{", out);
	write_text(out, "nameBefore", compared->name_before);
	write_text(out, "name", compared->name);
	write_number(out, "weightBefore", compared->weight_before);
	write_number(out, "weight", compared->weight);
	write_number(out, "spread", compared->spread);
	fprintf(out, "\"samplesBefore\":%" PRIu64 ",\"samples\":%" PRIu64 ",\"byTime\":%s,\"times\":%s},\n",
		compared->samples_before, compared->samples, compared->by_time ? "true" : "false",
		compared->times ? "true" : "false");
}

static void write_quality(FILE *out, const struct profile_quality *q)
{
	static const char *const kinds[] = {"truncated", "partial", "lost", "note"};
	const char *separator = "";
	unsigned int i;

	fprintf(out, "\"quality\":{\"samples\":%" PRIu64 ",\"complete\":%" PRIu64 ",\"truncated\":%" PRIu64 ",",
		q->samples, q->complete, q->truncated);
	fputs("\"runtimes\":[", out);
	for (i = 0; i < PROFILE_RUNTIMES_MAX && q->runtimes[i].name; i++) {
		fprintf(out, "%s{", i ? "," : "");
		write_text(out, "language", q->runtimes[i].language);
		fprintf(out, "\"samples\":%" PRIu64 "}", q->runtimes[i].samples);
	}
	fprintf(out, "],\"late\":%" PRIu64 ",\"stacks\":%" PRIu64 ",\"depth\":%" PRIu64 ",", q->late_samples,
		q->unique_stacks, q->max_depth);
	fprintf(out, "\"bpfNs\":%" PRIu64 ",\"bpfRuns\":%" PRIu64 ",\"bpfFrames\":%" PRIu64 ",",
		q->bpf_run_ns + q->bpf_task_ns, q->bpf_runs, q->bpf_frames);
	write_number(out, "cpu", q->self_cpu_s);
	write_number(out, "startup", q->startup_ms);
	fprintf(out, "\"rssKb\":%" PRIu64 ",\"losses\":[", q->self_peak_rss_kb);
	for (i = 0; i < LOSS_COUNT; i++) {
		if (!loss_key(i) || !q->lost[i])
			continue;
		fprintf(out, "%s\n{\"kind\":\"%s\",", separator, kinds[loss_kind(i)]);
		write_text(out, "key", loss_key(i));
		write_text(out, "meaning", loss_meaning(i));
		write_text(out, "advice", loss_advice(i));
		fprintf(out, "\"count\":%" PRIu64 "}", q->lost[i]);
		separator = ",";
	}
	fputs("]},\n", out);
}

/* Frames by rank: what a node of the tree names. Collects their strings. */
static void write_frames(struct page *page)
{
	const struct export_view *view = &page->view;
	struct packer packer = {.out = page->out};
	size_t i;

	fputs("\"frames\":\"", page->out);
	for (i = 0; i < view->rank_count; i++) {
		const struct frame *frame = profile_frame_at(page->profile, view->named[i]);

		pack(&packer, frame->layer);
		pack(&packer, string_index(page, frame->name));
		pack(&packer, string_index(page, frame->file));
		pack(&packer, frame->line > 0 ? (uint64_t)frame->line : 0);
		if (frame->layer == FRAME_NATIVE && frame->line > 0)
			pack(&packer, string_index(page, frame->source));
	}
	pack_flush(&packer);
	fputs("\",\n", page->out);
}

static uint32_t shared_depth(const struct export_view *view, const struct profile_sample *a,
			     const struct profile_sample *b)
{
	uint32_t depth = 0;

	while (depth < a->depth && depth < b->depth && view->ranks[a->frames[depth]] == view->ranks[b->frames[depth]])
		depth++;
	return depth;
}

static bool same_thread(const struct profile_sample *a, const struct profile_sample *b)
{
	return a->pid == b->pid && a->tid == b->tid && a->cgroup == b->cgroup && !strcmp(a->comm, b->comm);
}

/* Of samples that are one line; their number. */
static size_t write_line_times(struct page *page, struct packer *packer, const struct profile_sample *const *samples,
			       size_t count)
{
	const struct export_times *times = &page->times;
	uint64_t amount = 0, until, written = 0;
	size_t lines = 0, i;
	uint32_t before = 0;

	while (lines < count && export_view_same(&page->view, samples[0], samples[lines]))
		amount += export_amount(page->profile, samples[lines++]);
	if (samples[0]->depth && !export_number(page->profile, amount))
		return lines; /* in the tree it has none */
	if (export_times_of(&page->times, samples, lines))
		page->err = -ENOMEM;
	pack(packer, times->list.count);
	/* The sum is rounded, not each: so all of them are what the tree has. */
	for (i = 0, amount = 0; i < times->list.count; i++) {
		amount += times->list.at[i].count;
		until = export_number(page->profile, amount);
		pack(packer, times->list.at[i].slice - before);
		pack(packer, until - written);
		before = times->list.at[i].slice;
		written = until;
	}
	return lines;
}

/* When a thread's samples were. */
static void write_times(struct page *page, const struct profile_sample *const *samples, size_t count)
{
	struct packer packer = {.out = page->out};
	size_t at = 0;

	if (!export_times_kept(&page->times))
		return;
	fputs("\",\"times\":\"", page->out);
	if (samples[0]->depth)
		pack(&packer, 0);
	while (at < count && !page->err)
		at += write_line_times(page, &packer, samples + at, count - at);
	pack_flush(&packer);
}

/* Of the samples of one stack and thread. */
struct sums {
	uint64_t count, before;
	double squares, squares_before;
};

/*
 * How many waits of equal length would vary as much, times EVEN_WAITS: (value)² / variance; 0: none. A whole number is
 * short, and exact enough.
 */
static uint64_t even_waits(const struct profile_compared *compared, const struct sums *sums)
{
	double value = (double)sums->before * compared->weight_before + (double)sums->count * compared->weight;
	double spread = compared->weight_before * compared->weight_before * sums->squares_before +
			compared->weight * compared->weight * sums->squares;
	double waits = spread > 0 ? EVEN_WAITS * value * value / spread : 0;

	return waits < 1e15 ? (uint64_t)(waits + 0.5) : 1000000000000000;
}

/* One thread's tree: the samples from `at`; returns where the next thread starts. */
static size_t write_thread(struct page *page, size_t at)
{
	const struct export_view *view = &page->view;
	const struct profile_sample *first = view->samples[at], *before = NULL;
	const struct profile_owner *owner = profile_owner(page->profile, first->cgroup);
	struct packer packer = {.out = page->out};
	const size_t from = at;
	const struct profile_compared *compared = &profile_get_info(page->profile)->compared;
	struct sums sums = {};
	uint64_t empty = 0, empty_before = 0;
	uint32_t level, shared;

	fprintf(page->out, "{\"comm\":%" PRIu64 ",\"pid\":%d,\"tid\":%d,", string_index(page, first->comm), first->pid,
		first->tid);
	if (owner)
		fprintf(page->out, "\"owner\":%" PRIu64 ",", string_index(page, owner->text));
	fputs("\"tree\":\"", page->out);
	for (; at < view->sample_count && same_thread(first, view->samples[at]); at++) {
		const struct profile_sample *sample = view->samples[at];

		sums.count += export_amount(page->profile, sample);
		sums.before += sample->before;
		sums.squares += sample->squares;
		sums.squares_before += sample->squares_before;
		if (at + 1 < view->sample_count && export_view_same(view, sample, view->samples[at + 1]))
			continue;
		if (!sample->depth) {
			empty = export_number(page->profile, sums.count);
			empty_before = sums.before;
		}
		shared = before ? shared_depth(view, before, sample) : 0;
		for (level = shared; level < sample->depth; level++) {
			pack(&packer, level == shared && before ? before->depth - shared : 0);
			pack(&packer, view->ranks[sample->frames[level]]);
			pack(&packer, level + 1 == sample->depth ? export_number(page->profile, sums.count) : 0);
			if (compared->weight > 0)
				pack(&packer, level + 1 == sample->depth ? sums.before : 0);
			if (compared->times)
				pack(&packer, level + 1 == sample->depth ? even_waits(compared, &sums) : 0);
		}
		before = sample;
		sums = (struct sums){};
	}
	pack_flush(&packer);
	write_times(page, page->view.samples + from, at - from);
	fprintf(page->out, "\",\"empty\":%" PRIu64 ",\"emptyBefore\":%" PRIu64 "}", empty, empty_before);
	return at;
}

static void write_sources(FILE *out, const struct profile *profile)
{
	const struct profile_source *source;
	size_t i, j;

	fputs("\"sources\":[", out);
	for (i = 0; (source = profile_source_at(profile, i)); i++) {
		fputs(i ? ",\n{" : "\n{", out);
		write_text(out, "path", source->path);
		write_text(out, "text", source->text);
		fprintf(out, "\"changed\":%s,\"pids\":[", source->is_changed ? "true" : "false");
		for (j = 0; j < source->pid_count; j++)
			fprintf(out, "%s%d", j ? "," : "", source->pids[j]);
		fputs("]}", out);
	}
	fputs("],\n", out);
}

static void write_data(FILE *out, void *context)
{
	struct page *page = context;
	size_t at = 0;

	fputs("{\"format\":1,\n", out);
	write_info(out, profile_get_info(page->profile));
	write_compared(out, &profile_get_info(page->profile)->compared);
	write_quality(out, profile_get_quality(page->profile));
	fprintf(out, "\"byThread\":%s,\n", page->options->threads ? "true" : "false");
	if (export_times_kept(&page->times)) {
		const struct profile_times *times = &profile_get_info(page->profile)->times;

		fputs("\"times\":{", out);
		write_number(out, "start", times->start_s);
		write_number(out, "width", times->width_s);
		fprintf(out, "\"count\":%" PRIu32 "},\n", times->count);
	}
	write_frames(page);
	fputs("\"threads\":[", out);
	while (at < page->view.sample_count && !page->err) {
		fputs(at ? ",\n" : "\n", out);
		at = write_thread(page, at);
	}
	fputs("],\n", out);
	write_sources(out, page->profile);
	fputs("\"strings\":[", out);
	export_strings_json(out, &page->strings);
	fputs("]}", out);
}

static void write_escaped(FILE *out, const char *text)
{
	for (; *text; text++) {
		if (strchr("<>&\"'", *text))
			fprintf(out, "&#%d;", *text);
		else
			putc(*text, out);
	}
}

static void write_title(FILE *out, void *context)
{
	const struct page *page = context;
	char title[200];

	text_clean(profile_get_info(page->profile)->command, title, sizeof(title));
	write_escaped(out, *title ? title : "profile");
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
	fwrite(tree_js, 1, sizeof(tree_js), out);
	fwrite(diff_js, 1, sizeof(diff_js), out);
	fwrite(chart_js, 1, sizeof(chart_js), out);
	fwrite(panel_js, 1, sizeof(panel_js), out);
	fwrite(sandwich_js, 1, sizeof(sandwich_js), out);
	fwrite(strip_js, 1, sizeof(strip_js), out);
	fwrite(source_js, 1, sizeof(source_js), out);
	fwrite(table_js, 1, sizeof(table_js), out);
	fwrite(page_js, 1, sizeof(page_js), out);
}

static const struct web_page_blank blanks[] = {
	{"nonce", write_nonce},   {"title", write_title}, {"style", write_style},
	{"script", write_script}, {"data", write_data},
};

static int html_write(FILE *out, const struct profile *profile, const struct export_options *options, struct diag *diag)
{
	struct page page = {.out = out, .profile = profile, .options = options};
	int err = web_page_nonce(page.nonce);

	if (err)
		return diag_fail(diag, -err, "export.random", "the system gave no random numbers");
	page.err = export_strings_init(&page.strings);
	if (!page.err)
		page.err = export_view_init(&page.view, profile, EXPORT_OWNERS, diag);
	if (!page.err)
		page.err = export_times_init(&page.times, profile);
	if (!page.err)
		web_page_write(out, page_html, sizeof(page_html), blanks, sizeof(blanks) / sizeof(blanks[0]), &page);
	export_times_deinit(&page.times);
	export_view_deinit(&page.view);
	export_strings_deinit(&page.strings);
	return page.err ? export_no_memory(diag) : export_finish(out, diag);
}

const struct exporter export_html = {
	.suffix = ".html",
	.description = "a flame graph to explore in a browser, one offline file",
	.threads = true,
	.owners = true,
	.times = true,
	.sources = true,
	.write = html_write,
};
