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

static void print_lost(const struct printer *p, enum rt_counter what, uint64_t count)
{
	static const char *const texts[RT_COUNTER_COUNT] = {
		[RT_COUNTER_LOST] = "events were lost: the ring buffer was full",
		[RT_COUNTER_NO_FRAME] = "runs of probes were lost: too many were interrupted at the same time",
		[RT_COUNTER_MAP_FULL] = "Map full; can't update element: raise max_map_keys in the config block",
		[RT_COUNTER_LOOP_LIMIT] = "loops were cut short after 8 million turns",
		[RT_COUNTER_PYTHON_JIT] = "Python's JIT is on, and functions in what it has compiled were not told; "
					  "PYTHON_JIT=0 switches it off",
		[RT_COUNTER_DESCENDANTS] = "processes of the command were not followed: it had too many at a time",
	};

	if (!texts[what])
		return;
	if (p->json && what == RT_COUNTER_LOST)
		fprintf(p->out, "{\"type\": \"lost_events\", \"data\": {\"events\": %llu}}\n",
			(unsigned long long)count);
	fprintf(stderr, "WARNING: %s (%llu)\n", texts[what], (unsigned long long)count);
}

const struct dialect_print bpftrace_print = {
	.attached = print_attached,
	.ready = print_ready,
	.ended = print_ended,
	.lost = print_lost,
	.value_line = print_value_line,
	.map = print_map,
	.message = print_message,
	.format_create = print_format_create,
	.format_destroy = print_format_destroy,
	.formatted = print_formatted,
};
