// SPDX-License-Identifier: GPL-2.0-or-later
/* The comparison as a table for people. */
#include <inttypes.h>
#include <string.h>

#include "diff/compare.h"
#include "profile/text.h"

#define GREY  "\033[90m"
#define RED   "\033[31m"
#define BLUE  "\033[34m"
#define PLAIN "\033[0m"

struct table_text {
	FILE *out;
	const struct profile_compared *how;
	bool color;
};

/* Before, after and the difference, in percent; `~` and grey: it may be chance. */
static void write_values(const struct table_text *to, uint64_t before, uint64_t after)
{
	double was = 100 * (double)before * to->how->weight_before, is = 100 * (double)after * to->how->weight;
	bool differs = compare_differs(to->how, before, after);
	const char *color = !to->color ? "" : !differs ? GREY : is > was ? RED : BLUE;

	fprintf(to->out, "%7.2f %7.2f %s%+7.2f%s%s ", was, is, color, is - was, differs ? " " : "~",
		to->color ? PLAIN : "");
}

static void write_head(const struct table_text *to, const struct compare *compare)
{
	const struct profile_compared *how = to->how;
	size_t differ = 0, i;

	for (i = 0; i < compare->count; i++)
		differ += compare_differs(how, compare->rows[i].own_before, compare->rows[i].own) ||
			  compare_differs(how, compare->rows[i].total_before, compare->rows[i].total);
	fputs("before: ", to->out);
	text_print(to->out, how->name_before, strlen(how->name_before));
	fprintf(to->out, ", %" PRIu64 " samples\nafter:  ", how->samples_before);
	text_print(to->out, how->name, strlen(how->name));
	fprintf(to->out, ", %" PRIu64 " samples\n", how->samples);
	if (how->by_time)
		fprintf(to->out, "CPU time: %.1f %% of a CPU before, %.1f %% after\n",
			100 * (double)how->samples_before * how->weight_before,
			100 * (double)how->samples * how->weight);
	fprintf(to->out, "%zu of %zu functions differ by more than chance (p < 0.001); ~ marks what may be chance\n\n",
		differ, compare->count);
	fprintf(to->out, "percent of %s\n", how->by_time ? "one CPU" : "all samples");
	fprintf(to->out, "%24s  %24s\n", "own: before, after", "total: before, after");
}

void compare_write_text(FILE *out, const struct profile *profile, const struct compare *compare, size_t limit,
			bool color)
{
	const struct table_text to = {out, &profile_get_info(profile)->compared, color};
	size_t i;

	write_head(&to, compare);
	for (i = 0; i < compare->count && i < limit; i++) {
		const struct compare_row *row = &compare->rows[i];

		write_values(&to, row->own_before, row->own);
		write_values(&to, row->total_before, row->total);
		fprintf(out, " %s\n", row->name);
	}
	if (compare->count > limit)
		fprintf(out, "and %zu more\n", compare->count - limit);
}
