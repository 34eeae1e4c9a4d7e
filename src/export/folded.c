// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * folded: one line a stack, `comm;outermost;…;innermost COUNT`, sorted, each line once. Where samples are weighed the
 * count is microseconds.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "export/common.h"
#include "export/export.h"
#include "profile/text.h"

/* Comms are short (TASK_COMM_LEN is 16), but one read from elsewhere may be of any length: it is cut. */
#define COMM_TEXT_MAX 256

static void write_line(FILE *out, const struct export_view *view, const struct profile_sample *sample, uint64_t count)
{
	char comm[COMM_TEXT_MAX];
	uint32_t i;

	text_clean(*sample->comm ? sample->comm : "?", comm, sizeof(comm));
	fputs(comm, out);
	if (view->apart) {
		text_clean(*sample->thread ? sample->thread : "?", comm, sizeof(comm));
		fprintf(out, ";thread %s (%d)", comm, sample->tid);
	}
	for (i = 0; i < sample->depth; i++) {
		putc(';', out);
		fputs(view->texts[sample->frames[i]], out);
	}
	fprintf(out, " %" PRIu64 "\n", export_number(view->profile, count));
}

static int folded_write(FILE *out, const struct profile *profile, const struct export_options *options,
			struct diag *diag)
{
	struct export_view view;
	uint64_t count = 0;
	size_t i;
	int err = export_view_init(&view, profile, options->threads ? EXPORT_THREADS : EXPORT_TOGETHER, diag);

	for (i = 0; !err && i < view.sample_count; i++) {
		count += export_amount(profile, view.samples[i]);
		if (i + 1 < view.sample_count && export_view_same(&view, view.samples[i], view.samples[i + 1]))
			continue;
		write_line(out, &view, view.samples[i], count);
		count = 0;
	}
	export_view_deinit(&view);
	return err ? err : export_finish(out, diag);
}

const struct exporter export_folded = {
	.suffix = ".folded",
	.description = "one line a stack with its count, for scripts and other flame-graph tools",
	.write = folded_write,
};
