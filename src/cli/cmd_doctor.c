// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/command.h"
#include "doctor/doctor.h"
#include "export/export.h"

enum { OPTION_JSON = OPTION_LONG_ONLY };

#define NAME_COLUMN 22

static const struct option_row options[] = {
	{OPTION_JSON, "json", NULL, "one JSON object, for scripts"},
	{'v', "verbose", NULL, "for everything, why it matters and how to get it"},
	{'h', "help", NULL, "this text"},
	{},
};

struct request {
	bool json, verbose, help;
};

static int take_option(void *context, int id, const char *value, struct diag *diag)
{
	struct request *request = context;

	(void)value;
	(void)diag;
	switch (id) {
	case OPTION_JSON:
		request->json = true;
		return 0;
	case 'v':
		request->verbose = true;
		return 0;
	default:
		request->help = true;
		return 1;
	}
}

/* `*how` is what was advised last: what helps several findings is said once. */
static void print_finding(const struct doctor_finding *finding, bool verbose, bool color, const char **how)
{
	static const char *const colors[DOCTOR_MARKS] = {
		[DOCTOR_OK] = "32",        [DOCTOR_INFO] = "0",    [DOCTOR_LIMITED] = "33",
		[DOCTOR_MISSING] = "1;31", [DOCTOR_UNTRIED] = "2",
	};
	const char *mark = doctor_mark_name(finding->mark);

	if (color)
		printf("  \033[%sm%-7s\033[0m", colors[finding->mark], mark);
	else
		printf("  %-7s", mark);
	printf("  %-*s%s\n", NAME_COLUMN, finding->name, finding->found);
	if (!verbose && finding->mark != DOCTOR_MISSING && finding->mark != DOCTOR_LIMITED)
		return;
	printf("%11swhy: %s", "", finding->why);
	if (finding->how)
		printf("; how to get it: %s", *how && !strcmp(*how, finding->how) ? "as above" : finding->how);
	*how = finding->how;
	putchar('\n');
}

static void print_text(const struct doctor_report *report, bool verbose)
{
	const char *no_color = getenv("NO_COLOR");
	bool color = isatty(STDOUT_FILENO) && !(no_color && *no_color);
	const char *group = "", *how = NULL;
	size_t i;

	for (i = 0; i < report->count; i++) {
		const struct doctor_finding *finding = &report->findings[i];

		if (strcmp(group, finding->group))
			printf("%s%s\n", i ? "\n" : "", finding->group);
		group = finding->group;
		print_finding(finding, verbose, color, &how);
	}
	if (report->marks[DOCTOR_MISSING])
		printf("\nstrata record cannot do all of its work here: %zu missing\n", report->marks[DOCTOR_MISSING]);
	else
		printf("\nstrata record can do all of its work here\n");
}

static void print_member(const char *before, const char *key, const char *value)
{
	printf("%s\"%s\": ", before, key);
	if (value)
		export_json_string(stdout, value);
	else
		fputs("null", stdout);
}

static void print_json(const struct doctor_report *report)
{
	size_t i;

	printf("{\n  \"complete\": %s,\n  \"findings\": [", report->marks[DOCTOR_MISSING] ? "false" : "true");
	for (i = 0; i < report->count; i++) {
		const struct doctor_finding *finding = &report->findings[i];

		print_member(i ? ",\n    {" : "\n    {", "group", finding->group);
		print_member(", ", "name", finding->name);
		print_member(", ", "mark", doctor_mark_name(finding->mark));
		print_member(", ", "found", finding->found);
		print_member(", ", "why", finding->why);
		print_member(", ", "how", finding->how);
		putchar('}');
	}
	printf("\n  ]\n}\n");
}

static int examine(const struct request *request)
{
	const struct doctor_options doctor_options = {.root = ""};
	struct doctor_report report;
	struct diag diag = {};
	int status, flushed;

	if (doctor_examine(&doctor_options, &report, &diag))
		return cli_fail(CLI_FAILED, &diag);
	if (request->json)
		print_json(&report);
	else
		print_text(&report, request->verbose);
	status = report.marks[DOCTOR_MISSING] ? CLI_FAILED : CLI_DONE;
	doctor_report_deinit(&report);
	flushed = cli_flush();
	return flushed == CLI_DONE ? status : flushed;
}

static int run(const struct command *self, int argc, char **argv)
{
	struct request request = {};
	struct diag diag = {};
	int at = options_parse(options, command_doctor.called, argc, argv, take_option, &request, &diag);

	if (at < 0)
		return cli_fail(CLI_USAGE, &diag);
	if (request.help)
		return cli_help(self);
	if (at < argc) {
		diag_fail(&diag, EINVAL, "cli.argument", "%s: strata doctor takes no arguments", argv[at]);
		return cli_fail(CLI_USAGE, &diag);
	}
	return examine(&request);
}

static void more_help(FILE *out)
{
	fputs("\nok: it is there. limited: less than there could be; recordings work anyway. missing: record does not "
	      "work,\n"
	      "or not for everything. untried: cannot be found out without what is missing. Nothing is changed.\n"
	      "The exit status is 0 when nothing is missing, 1 when something is missing, 2 for wrong usage.\n",
	      out);
}

const struct command command_doctor = {
	.name = "doctor",
	.called = "strata doctor",
	.summary = "shows what this machine allows, and how to get what is missing",
	.usage = "[--json] [-v]",
	.options = options,
	.more_help = more_help,
	.run = run,
};
