// SPDX-License-Identifier: GPL-2.0-or-later
/* What is said beside values and maps, and what the dialect prints by. */
#include <stdlib.h>

#include "lang/dialect/bpftrace/print/print.h"

static void print_message(const struct printer *p, const char *type, const char *text, size_t size)
{
	if (!p->json) {
		fwrite(text, 1, size, p->out);
		return;
	}
	fprintf(p->out, "{\"type\": \"%s\", \"data\": ", type);
	print_json_string(p->out, text, size);
	fputs("}\n", p->out);
}

static void print_attached(const struct printer *p, size_t count, bool quiet)
{
	if (!quiet && p->json)
		fprintf(p->out, "{\"type\": \"attached_probes\", \"count\": %zu, \"data\": {\"probes\": %zu}}\n", count,
			count);
	else if (!quiet)
		fprintf(stderr, "Attached %zu probe%s\n", count, count == 1 ? "" : "s");
}

/* The sign to who started it that events may come now. */
static void print_ready(const struct printer *p)
{
	fflush(p->out);
	if (getenv("__BPFTRACE_NOTIFY_PROBES_ATTACHED")) {
		puts("__BPFTRACE_NOTIFY_PROBES_ATTACHED");
		fflush(stdout);
	}
}

static void print_ended(const struct printer *p)
{
	if (!p->json)
		fputs("\n\n", p->out);
}

const struct dialect_print bpftrace_print = {
	.attached = print_attached,
	.ready = print_ready,
	.ended = print_ended,
	.value_line = print_value_line,
	.map = print_map,
	.message = print_message,
	.format_create = print_format_create,
	.format_destroy = print_format_destroy,
	.formatted = print_formatted,
};
