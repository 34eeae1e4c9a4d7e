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
static void write_values(const struct table_text *to, uint64_t before, uint64_t after, double spread)
{
	double was = 100 * (double)before * to->how->weight_before, is = 100 * (double)after * to->how->weight;
	bool differs = compare_differs(to->how, before, after, spread);
	const char *color = !to->color ? "" : !differs ? GREY : is > was ? RED : BLUE;

	fprintf(to->out, "%7.2f %7.2f %s%+7.2f%s%s ", was, is, color, is - was, differs ? " " : "~",
		to->color ? PLAIN : "");
}

/* How much there is, behind the file's name. */
static void write_amount(const struct table_text *to, uint64_t samples)
{
	if (to->how->times)
		fprintf(to->out, ", %.2f s\n", (double)samples / 1e6);
	else
		fprintf(to->out, ", %" PRIu64 " samples\n", samples);
}

static void write_head(const struct table_text *to, const struct compare *compare)
{
	const struct profile_compared *how = to->how;
	size_t differ = 0, i;

	for (i = 0; i < compare->count; i++)
		differ += compare_differs(how, compare->rows[i].own_before, compare->rows[i].own,
					  compare->rows[i].own_spread) ||
			  compare_differs(how, compare->rows[i].total_before, compare->rows[i].total,
					  compare->rows[i].total_spread);
	fputs("before: ", to->out);
	text_print(to->out, how->name_before, strlen(how->name_before));
	write_amount(to, how->samples_before);
	fputs("after:  ", to->out);
	text_print(to->out, how->name, strlen(how->name));
	write_amount(to, how->samples);
	if (how->by_time)
		fprintf(to->out,
			how->times ? "time: %.1f %% of a thread before, %.1f %% after\n"
				   : "CPU time: %.1f %% of a CPU before, %.1f %% after\n",
			100 * (double)how->samples_before * how->weight_before,
			100 * (double)how->samples * how->weight);
	fprintf(to->out, "%zu of %zu functions differ by more than chance (p < 0.001); ~ marks what may be chance\n\n",
		differ, compare->count);
	fprintf(to->out, "percent of %s\n", !how->by_time ? how->times ? "all time" : "all samples"
						 : how->times ? "one thread"
							      : "one CPU");
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

		write_values(&to, row->own_before, row->own, row->own_spread);
		write_values(&to, row->total_before, row->total, row->total_spread);
		fprintf(out, " %s\n", row->name);
	}
	if (compare->count > limit)
		fprintf(out, "and %zu more\n", compare->count - limit);
}
