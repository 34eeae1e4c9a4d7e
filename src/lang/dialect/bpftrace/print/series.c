// SPDX-License-Identifier: GPL-2.0-or-later
/* Time series: a row for each interval, and a mark where its value is between the least and the greatest. */
#include <inttypes.h>
#include <string.h>
#include <time.h>

#include "lang/dialect/bpftrace/print/print.h"
#include "lang/rt/abi.h"

#define COLUMNS   53 /* borders included */
#define SECOND_NS UINT64_C(1000000000)

/* What an interval has come to. */
static int64_t interval_value(const struct type *type, const struct rt_series_interval *interval)
{
	if (type->variant != RT_SERIES_AVERAGE || !interval->more)
		return (int64_t)interval->value;
	return type->is_signed ? (int64_t)interval->value / (int64_t)interval->more
			       : (int64_t)(interval->value / interval->more);
}

uint64_t series_last(const struct type *type, const uint8_t *bytes)
{
	struct rt_series_interval interval;
	uint64_t last = 0;
	size_t at;

	for (at = 0; at < type->size; at += sizeof(interval)) {
		memcpy(&interval, bytes + at, sizeof(interval));
		last = interval.number > last ? interval.number : last;
	}
	return last;
}

/* The interval of this number; false when nothing was recorded in it. */
static bool find(const struct type *type, const uint8_t *bytes, uint64_t number, struct rt_series_interval *ret)
{
	memcpy(ret, bytes + (number - 1) % (uint64_t)type->high * sizeof(*ret), sizeof(*ret));
	return ret->number == number;
}

/* The first interval that is still there of those that end with `last`; `last` + 1 when there is none. */
static uint64_t first_of(const struct type *type, const uint8_t *bytes, uint64_t last)
{
	uint64_t count = (uint64_t)type->high, number = last > count ? last - count + 1 : 1;
	struct rt_series_interval interval;

	while (number <= last && !find(type, bytes, number, &interval))
		number++;
	return number;
}

/* Nanoseconds since 1970 at which an interval begins. */
static uint64_t begin_of(const struct printer *p, const struct type *type, uint64_t number)
{
	uint64_t since = (number - 1) * (uint64_t)type->low;

	return *p->compiler->texts[SETTING_DUMMY_TS_MAP] ? since : since + (uint64_t)p->words->boot_time(p->names);
}

static void series_json(const struct printer *p, const struct type *type, const uint8_t *bytes, uint64_t last)
{
	struct rt_series_interval interval;
	uint64_t number;
	bool more = false;

	fputc('[', p->out);
	for (number = first_of(type, bytes, last); last && number <= last; number++) {
		uint64_t begin = begin_of(p, type, number);
		time_t seconds = (time_t)(begin / SECOND_NS);
		struct tm broken;
		char text[64];

		if (!find(type, bytes, number, &interval))
			continue;
		gmtime_r(&seconds, &broken);
		strftime(text, sizeof(text), "%Y-%m-%d %H:%M:%S", &broken);
		fprintf(p->out, "%s{\"interval_start\": \"%s.%09" PRIu64 "\", \"value\": %" PRId64 "}",
			more ? ", " : "", text, begin % SECOND_NS, interval_value(type, &interval));
		more = true;
	}
	fputc(']', p->out);
}

struct scale {
	int64_t low, high;
	unsigned int digits; /* of the seconds' fraction */
	int margin;
};

static int column(const struct scale *scale, int64_t value)
{
	return (int)((double)(COLUMNS - 1) * (double)(value - scale->low) / (double)(scale->high - scale->low));
}

static struct scale scale_of(const struct type *type, const uint8_t *bytes, uint64_t first, uint64_t last)
{
	struct scale scale = {.low = INT64_MAX, .high = INT64_MIN};
	uint64_t number, interval_ns = (uint64_t)type->low;
	struct rt_series_interval interval;

	for (number = first; number <= last; number++) {
		int64_t value;

		if (!find(type, bytes, number, &interval))
			continue;
		value = interval_value(type, &interval);
		scale.low = value < scale.low ? value : scale.low;
		scale.high = value > scale.high ? value : scale.high;
	}
	if (scale.low == scale.high) {
		scale.low -= scale.low != 0;
		scale.high++;
	}
	scale.digits = interval_ns % SECOND_NS == 0 ? 0
		       : interval_ns % 1000000 == 0 ? 3
		       : interval_ns % 1000 == 0    ? 6
						    : 9;
	scale.margin = 9 + (scale.digits ? (int)scale.digits + 1 : 0);
	return scale;
}

static void print_ends(FILE *out, const struct scale *scale)
{
	char low[24];
	int width = snprintf(low, sizeof(low), "%" PRId64, scale->low);

	fprintf(out, "%*s%s%*" PRId64 "\n", scale->margin, "", low, COLUMNS - width, scale->high);
}

static void print_rule(FILE *out, char corner)
{
	int i;

	fputc(corner, out);
	for (i = 0; i < COLUMNS - 2; i++)
		fputc('_', out);
	fputc(corner, out);
	fputc('\n', out);
}

static void print_row(const struct printer *p, const struct type *type, const uint8_t *bytes, const struct scale *scale,
		      uint64_t number)
{
	uint64_t begin = begin_of(p, type, number), fraction = begin % SECOND_NS;
	time_t seconds = (time_t)(begin / SECOND_NS);
	struct rt_series_interval interval;
	char row[COLUMNS + 1], text[16];
	bool there = find(type, bytes, number, &interval);
	struct tm broken;
	unsigned int i;

	localtime_r(&seconds, &broken);
	strftime(text, sizeof(text), "%H:%M:%S", &broken);
	fputs(text, p->out);
	for (i = scale->digits; i < 9; i++)
		fraction /= 10;
	if (scale->digits)
		fprintf(p->out, ".%0*" PRIu64, (int)scale->digits, fraction);
	memset(row, ' ', COLUMNS);
	row[0] = row[COLUMNS - 1] = '|';
	row[COLUMNS] = '\0';
	if (scale->low < 0 && scale->high > 0)
		row[column(scale, 0)] = '.';
	if (there)
		row[column(scale, interval_value(type, &interval))] = '*';
	fprintf(p->out, " %s ", row);
	if (there)
		fprintf(p->out, "%" PRId64 "\n", interval_value(type, &interval));
	else
		fputs("-\n", p->out);
}

void print_series(const struct printer *p, const struct type *type, const uint8_t *bytes, uint64_t last)
{
	static const char *const units[] = {"", ".ms", ".us", ".ns"};
	uint64_t first, number;
	struct scale scale;

	if (p->json) {
		series_json(p, type, bytes, last);
		return;
	}
	first = last ? first_of(type, bytes, last) : 1;
	if (first > last)
		return;
	scale = scale_of(type, bytes, first, last);
	print_ends(p->out, &scale);
	fprintf(p->out, "hh:mm:ss%-*s", scale.margin - 8, units[scale.digits / 3]);
	print_rule(p->out, '|');
	for (number = first; number <= last; number++)
		print_row(p, type, bytes, &scale, number);
	fprintf(p->out, "%*s", scale.margin, "");
	print_rule(p->out, 'v');
	print_ends(p->out, &scale);
}
