// SPDX-License-Identifier: GPL-2.0-or-later
#include "cli/options.h"

#include <errno.h>
#include <getopt.h>
#include <string.h>

#define HELP_COLUMN 30

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

void options_print(FILE *out, const struct option_row *rows)
{
	for (; rows->id; rows++) {
		const char *line = rows->help, *end;
		int column = rows->id < OPTION_LONG_ONLY ? fprintf(out, "  -%c, --%s", rows->id, rows->name)
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
