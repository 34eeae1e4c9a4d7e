// SPDX-License-Identifier: GPL-2.0-or-later
#include "cli/file_sink.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "cli/output.h"

struct file_sink {
	struct sink sink;
	const char *path;
	const struct exporter *exporter; /* NULL: the figures of --stats */
	struct export_options options;
	const struct profile *profile; /* NULL: nothing was taken since the last flush */
};

static int take(struct sink *sink, const struct profile *profile, struct diag *diag)
{
	(void)diag;
	((struct file_sink *)sink)->profile = profile;
	return 0;
}

static int write_content(FILE *out, const void *context, struct diag *diag)
{
	const struct file_sink *self = context;

	if (!self->exporter)
		return export_stats(out, self->profile, diag);
	return self->exporter->write(out, self->profile, &self->options, diag);
}

/* It could not be written where it was wanted: somewhere else, then. */
static int rescue(const struct file_sink *self, int err, struct diag *diag)
{
	const struct diag why = *diag;
	char *kept = NULL;

	if (err == -EPIPE)
		return diag_fail(diag, EPIPE, "output.reader", "%s: nobody reads on", why.text);
	if (output_rescue(self->exporter ? self->exporter->suffix : ".json", write_content, self, &kept))
		return diag_fail(diag, -err, "output.lost",
				 "%.600s; there was no room in $TMPDIR or /tmp either: only the summary is kept",
				 why.text);
	diag_fail(diag, -err, "output.rescued", "%.600s; it was written to %s instead", why.text, kept);
	free(kept);
	return err;
}

static int flush(struct sink *sink, struct diag *diag)
{
	struct file_sink *self = (struct file_sink *)sink;
	int err = self->profile ? output_write(self->path, write_content, self, diag) : 0;

	if (err)
		err = rescue(self, err, diag);
	self->profile = NULL;
	return err;
}

static void close_sink(struct sink *sink)
{
	free(sink);
}

static const struct sink_type file_sink_type = {.take = take, .flush = flush, .close = close_sink};

struct sink *file_sink_open(const char *path, const struct exporter *exporter, const struct export_options *options)
{
	struct file_sink *self = malloc(sizeof(*self));

	if (!self)
		return NULL;
	*self = (struct file_sink){
		.sink.type = &file_sink_type, .path = path, .exporter = exporter, .options = *options};
	return &self->sink;
}
