// SPDX-License-Identifier: GPL-2.0-or-later
/* What a script asks getopt() for, against what was given. */
#include <string.h>

#include "lang/dialect/bpftrace/check/check.h"

static bool asks_for(const struct compiler *c, const char *given)
{
	size_t length = strcspn(given, "="), i;

	for (i = 0; i < checker(c)->parameters.count; i++)
		if (strlen(checker(c)->parameters.at[i].name) == length &&
		    !strncmp(checker(c)->parameters.at[i].name, given, length))
			return true;
	return false;
}

void check_parameters(struct compiler *c)
{
	const char *known = "";
	uint32_t i;
	size_t j;

	for (j = 0; j < checker(c)->parameters.count; j++)
		known = arena_printf(c->arena, "%s%s--%s%s%s", known, checker(c)->parameters.count > 1 ? "\n    " : " ",
				     checker(c)->parameters.at[j].name, *checker(c)->parameters.at[j].words ? ": " : "",
				     checker(c)->parameters.at[j].words);
	for (i = 0; i < c->options->named_count; i++) {
		if (asks_for(c, c->options->named[i]))
			continue;
		report_error(c->report, "getopt.unknown", (struct span){},
			     "unexpected program command line options: --%s", c->options->named[i]);
		report_hint(c->report, "expected program options:%s", known);
	}
}
