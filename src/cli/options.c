// SPDX-License-Identifier: GPL-2.0-or-later
#include "cli/options.h"

#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>

#define HELP_COLUMN     30
#define FREQUENCY_MAX   10000
#define DURATION_MAX_S  (366.0 * 24 * 3600)
#define SAMPLE_NS_LEAST 20000ull
#define SAMPLE_NS_MOST  10000000000ull

static const struct option_row *find(const struct option_row *rows, int id)
{
	for (; rows->id; rows++)
		if (rows->id == id)
			return rows;
	return NULL;
}

/* `letters` starts with "+:": stop at the first argument that is no option, and tell a missing value apart. */
static void make_arrays(const struct option_row *rows, char *letters, struct option *longs)
{
	*letters++ = '+';
	*letters++ = ':';
	for (; rows->id; rows++, longs++) {
		*longs = (struct option){rows->name, rows->value ? required_argument : no_argument, NULL, rows->id};
		if (rows->id >= OPTION_LONG_ONLY)
			continue;
		*letters++ = (char)rows->id;
		if (rows->value)
			*letters++ = ':';
	}
	*letters = '\0';
	*longs = (struct option){};
}

/* getopt has returned '?' or ':' and has said in optopt, or by where it stands, what is wrong. */
static int complain(const struct option_row *rows, const char *called, int result, const char *argument,
		    struct diag *diag)
{
	const struct option_row *row = find(rows, optopt);

	if (result == ':' && row && row->id >= OPTION_LONG_ONLY)
		return diag_fail(diag, EINVAL, "cli.option", "--%s needs a value: %s", row->name, row->value);
	if (result == ':' && row)
		return diag_fail(diag, EINVAL, "cli.option", "-%c needs a value: %s", row->id, row->value);
	if (row)
		return diag_fail(diag, EINVAL, "cli.option", "--%s takes no value", row->name);
	if (optopt)
		return diag_fail(diag, EINVAL, "cli.option", "-%c: no such option: --help lists those that there are",
				 optopt);
	return diag_fail(diag, EINVAL, "cli.option", "%s: no such option: see %s --help", argument, called);
}

int options_parse(const struct option_row *rows, const char *called, int argc, char **argv, option_handler handle,
		  void *context, struct diag *diag)
{
	struct option longs[OPTIONS_MAX + 1];
	char letters[2 * OPTIONS_MAX + 3];
	int id, result;

	make_arrays(rows, letters, longs);
	optind = 0;
	opterr = 0;
	while ((id = getopt_long(argc, argv, letters, longs, NULL)) != -1) {
		if (id == '?' || id == ':')
			return complain(rows, called, id, argv[optind - 1], diag);
		result = handle(context, id, optarg, diag);
		if (result)
			return result < 0 ? result : 0;
	}
	return optind;
}

bool options_number(const char *text, size_t size, unsigned long low, unsigned long high, unsigned long *ret)
{
	unsigned long value = 0;
	size_t i;

	if (!size)
		return false;
	for (i = 0; i < size; i++) {
		if (text[i] < '0' || text[i] > '9' || value > high)
			return false;
		value = value * 10 + (unsigned long)(text[i] - '0');
	}
	if (value < low || value > high)
		return false;
	*ret = value;
	return true;
}

int options_wrong(char letter, const char *value, const char *wanted, struct diag *diag)
{
	return diag_fail(diag, EINVAL, "cli.value", "-%c %s: %s", letter, *value ? value : "''", wanted);
}

int options_frequency(const char *text, unsigned int *ret, struct diag *diag)
{
	unsigned long value = 0;

	if (!options_number(text, strlen(text), 1, FREQUENCY_MAX, &value))
		return options_wrong('F', text, "the frequency is a whole number from 1 to 10000", diag);
	*ret = (unsigned int)value;
	return 0;
}

int options_duration(char letter, const char *text, double *ret, struct diag *diag)
{
	static const char wanted[] = "the duration is a time above 0, such as 10, 0.5, 10s, 2m or 1h";
	size_t digits = strspn(text, "0123456789.");
	char *end = NULL;
	double value;

	if (!digits)
		return options_wrong(letter, text, wanted, diag);
	value = strtod(text, &end);
	if (end != text + digits)
		return options_wrong(letter, text, wanted, diag);
	if (!strcmp(end, "m"))
		value *= 60;
	else if (!strcmp(end, "h"))
		value *= 3600;
	else if (*end && strcmp(end, "s"))
		return options_wrong(letter, text, wanted, diag);
	if (!(value > 0) || value > DURATION_MAX_S)
		return options_wrong(letter, text, wanted, diag);
	*ret = value;
	return 0;
}

int options_sample_time(const char *text, uint64_t *ret, struct diag *diag)
{
	static const struct {
		const char *name;
		uint64_t ns;
	} units[] = {{"us", 1000}, {"ms", 1000000}, {"s", 1000000000}};
	size_t digits = strspn(text, "0123456789"), i;
	uint64_t value = digits && digits < 10 ? strtoull(text, NULL, 10) : 0;

	for (i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
		if (strcmp(text + digits, units[i].name) || value > SAMPLE_NS_MOST / units[i].ns ||
		    value * units[i].ns < SAMPLE_NS_LEAST)
			continue;
		*ret = value * units[i].ns;
		return 0;
	}
	return diag_fail(diag, EINVAL, "cli.value",
			 "--max-sample-time %s: a time from 20us to 10s, such as 100us or 2ms", *text ? text : "''");
}

void options_print(FILE *out, const struct option_row *rows)
{
	for (; rows->id; rows++) {
		const char *line = rows->help, *end;
		int column = !rows->name                   ? fprintf(out, "  -%c", rows->id)
			     : rows->id < OPTION_LONG_ONLY ? fprintf(out, "  -%c, --%s", rows->id, rows->name)
							   : fprintf(out, "      --%s", rows->name);

		if (rows->value)
			column += fprintf(out, " %s", rows->value);
		if (column >= HELP_COLUMN) {
			fputc('\n', out);
			column = 0;
		}
		while ((end = strchrnul(line, '\n'))) {
			fprintf(out, "%*s%.*s\n", HELP_COLUMN - column, "", (int)(end - line), line);
			column = 0;
			if (!*end)
				break;
			line = end + 1;
		}
	}
}
