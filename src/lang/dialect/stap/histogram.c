// SPDX-License-Identifier: GPL-2.0-or-later
/* Histograms and unread globals, in SystemTap's shapes. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lang/dialect/stap/run.h"

#define WIDTH  50u /* of the bars */
#define MARGIN 2u  /* empty rows that are shown beside others */

static int digits(int64_t value)
{
	char text[32];

	return snprintf(text, sizeof(text), "%" PRId64, value);
}

static int larger(int a, int b)
{
	return a > b ? a : b;
}

/* Has any row within the margin of this one something? */
static bool is_near(const uint64_t *buckets, uint32_t at, uint32_t low, uint32_t high)
{
	uint32_t i = at > low + MARGIN ? at - MARGIN : low;

	for (; i <= high && i <= at + MARGIN; i++)
		if (buckets[i])
			return true;
	return false;
}

void stap_print_histogram(FILE *out, const struct stap_variable *variable, const struct stap_stat *stat)
{
	uint32_t count = stap_bucket_count(variable), low = count, high = 0, i;
	bool is_linear = variable->histogram == STAP_LINEAR, elided = false;
	uint64_t most = 0, scale, bar;
	int values, counts;

	for (i = 0; i < count; i++) {
		if (!stat->buckets[i])
			continue;
		low = low == count ? i : low;
		high = i;
		most = stat->buckets[i] > most ? stat->buckets[i] : most;
	}
	for (i = 0; i < MARGIN; i++) {
		low -= low > 0 && (is_linear || stap_bucket_value(variable, low) != 0);
		high += high < count - 1;
	}
	if (is_linear && !low && !stat->buckets[0])
		low++;
	if (is_linear && high == count - 1 && !stat->buckets[high])
		high--;
	scale = most <= WIDTH ? 1 : (most + WIDTH - 1) / WIDTH;
	counts = digits((int64_t)most);
	values = is_linear
			 ? larger(digits(variable->low) + !low,
				  digits((int64_t)((uint64_t)variable->low + (uint64_t)variable->step * high)) +
					  (high == count - 1))
			 : larger(digits(stap_bucket_value(variable, high)), digits(stap_bucket_value(variable, low)));
	values = larger(values, 5);
	fprintf(out, "%*s |", values, "value");
	for (i = 0; i < WIDTH; i++)
		fputc('-', out);
	fputs(" count\n", out);
	for (i = low; i <= high; i++) {
		int64_t value = stap_bucket_value(variable, i);
		const char *sign = !is_linear ? "" : !i ? "<" : i == count - 1 ? ">" : "";

		if (!is_near(stat->buckets, i, low, high)) {
			elided = true;
			continue;
		}
		if (elided)
			fprintf(out, "%*s ~\n", values, "");
		elided = false;
		fprintf(out, "%*s%" PRId64 " |", values - digits(value), sign, value);
		for (bar = 0; bar < stat->buckets[i] / scale; bar++)
			fputc('@', out);
		fprintf(out, "%*" PRIu64 "\n", (int)(WIDTH - stat->buckets[i] / scale) + 1 + counts, stat->buckets[i]);
	}
	fputc('\n', out);
}

/* --- globals that nothing reads --- */

static void print_text(const struct printer *p, const char *text)
{
	const char *at = text ? text : "";
	size_t plain;

	fputc('"', p->out);
	while (*at) {
		plain = strcspn(at, "\n\"\\");
		print_data(p, p->out, at, plain);
		at += plain;
		if (*at)
			fprintf(p->out, "\\%c", *at == '\n' ? 'n' : *at);
		at += *at != '\0';
	}
	fputc('"', p->out);
}

static void print_stat(FILE *out, const struct stap_stat *stat)
{
	if (!stat || !stat->count) {
		fputs(" @count=0x0\n", out);
		return;
	}
	fprintf(out, " @count=%" PRId64 " @min=%" PRId64 " @max=%" PRId64 " @sum=%" PRId64 " @avg=%" PRId64 "\n",
		stat->count, stat->minimum, stat->maximum, stat->sum, stat->sum / stat->count);
}

static void print_value(const struct printer *p, const struct stap_variable *variable, const struct stap_value *value,
			const struct stap_stat *stat)
{
	FILE *out = p->out;

	if (variable->type == STAP_STATS) {
		print_stat(out, stat);
		return;
	}
	fputc('=', out);
	if (variable->type == STAP_STRING)
		print_text(p, value->text);
	else
		fprintf(out, "0x%" PRIx64, (uint64_t)value->number);
	fputc('\n', out);
}

static int by_size(const void *a, const void *b)
{
	const struct stap_entry *one = *(const struct stap_entry *const *)a,
				*other = *(const struct stap_entry *const *)b;
	int64_t x = one->stat.count ? one->stat.count : one->value.number;
	int64_t y = other->stat.count ? other->stat.count : other->value.number;

	return x < y ? 1 : x > y ? -1 : 0;
}

static void print_array(const struct printer *p, const struct stap_variable *variable)
{
	struct stap_entry **all = calloc(variable->map->count + 1, sizeof(*all)), *entry;
	size_t count = 0, i;
	FILE *out = p->out;
	uint32_t k;

	for (entry = variable->map->first; all && entry; entry = entry->behind)
		all[count++] = entry;
	/* The largest first. */
	if (all && variable->type != STAP_STRING)
		qsort(all, count, sizeof(*all), by_size);
	for (i = 0; all && i < count; i++) {
		fprintf(out, "%s[", variable->name);
		for (k = 0; k < variable->key_count; k++) {
			fputs(k ? "," : "", out);
			if (variable->keys[k] == STAP_STRING)
				print_text(p, all[i]->keys[k].text);
			else
				fprintf(out, "%" PRId64, all[i]->keys[k].number);
		}
		fputc(']', out);
		print_value(p, variable, &all[i]->value, &all[i]->stat);
	}
	free(all);
}

void stap_print_unread(struct stap_run *run)
{
	const struct stap_state *state = run->state;
	size_t i;

	for (i = 0; i < state->globals.count; i++) {
		const struct stap_variable *variable = state->globals.at[i];

		if (!variable->is_written || variable->is_read || variable->of_tapset)
			continue;
		if (variable->map) {
			print_array(run->p, variable);
		} else if (!variable->is_array) {
			fputs(variable->name, run->p->out);
			print_value(run->p, variable, &variable->value, variable->stat);
		}
	}
}
