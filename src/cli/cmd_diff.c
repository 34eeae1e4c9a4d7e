// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/vec.h"
#include "cli/command.h"
#include "cli/output.h"
#include "diff/compare.h"
#include "diff/read.h"
#include "export/export.h"

#define DEFAULT_OUTPUT "strata-diff.html"
#define DEFAULT_ROWS   30
#define ROWS_MAX       1000000

enum { OPTION_BY = OPTION_LONG_ONLY, OPTION_TEXT };

static const struct option_row options[] = {
	{'o', "output", "FILE",
	 "write this file, .html; - means a table as text on\nstandard output; may be repeated (" DEFAULT_OUTPUT ")"},
	{OPTION_BY, "by", "WHAT",
	 "compare shares of all samples, or time for each second\nof the recordings: "
	 "samples or time (samples)"},
	{OPTION_TEXT, "text", "ROWS", "write a table with this many rows on standard output (30)"},
	{'h', "help", NULL, "this text"},
	{},
};

struct request {
	VEC(const char *) outputs;
	const char *names[2];
	unsigned int name_count;
	unsigned long rows; /* 0: no text */
	bool by_time, help;
};

static int take_output(struct request *request, const char *path, struct diag *diag)
{
	if (!strcmp(path, "-")) {
		request->rows = request->rows ? request->rows : DEFAULT_ROWS;
		return 0;
	}
	if (exporter_for(path) != &export_html)
		return diag_fail(diag, EINVAL, "cli.suffix", "-o %s: a comparison is a .html file, or - for text",
				 path);
	return vec_push(&request->outputs, path) ? diag_fail(diag, ENOMEM, "cli.memory", "%s", strerror(ENOMEM)) : 0;
}

static int take_option(void *context, int id, const char *value, struct diag *diag)
{
	struct request *request = context;

	switch (id) {
	case 'o':
		return take_output(request, value, diag);
	case OPTION_BY:
		request->by_time = !strcmp(value, "time");
		if (!request->by_time && strcmp(value, "samples"))
			return diag_fail(diag, EINVAL, "cli.value", "--by %s: known are samples and time",
					 *value ? value : "''");
		return 0;
	case OPTION_TEXT:
		if (!options_number(value, strlen(value), 1, ROWS_MAX, &request->rows))
			return diag_fail(diag, EINVAL, "cli.value", "--text %s: a number of rows, 1 to %d",
					 *value ? value : "''", ROWS_MAX);
		return 0;
	default:
		request->help = true;
		return 1;
	}
}

/* Options may stand behind the files as well. */
static int parse(struct request *request, int argc, char **argv, struct diag *diag)
{
	int at = 0, err;

	while (at < argc) {
		argv[at] = argv[0];
		err = options_parse(options, command_diff.called, argc - at, argv + at, take_option, request, diag);
		if (err <= 0)
			return err;
		at += err;
		if (at == argc)
			break;
		if (request->name_count == 2)
			return diag_fail(diag, EINVAL, "cli.target", "%s: two recordings are compared, not more",
					 argv[at]);
		request->names[request->name_count++] = argv[at];
	}
	if (request->name_count < 2)
		return diag_fail(diag, EINVAL, "cli.target", "which recordings? Give two files, before and after");
	if (!request->rows && !request->outputs.count)
		return take_output(request, DEFAULT_OUTPUT, diag);
	return 0;
}

static int write_page(FILE *out, const void *context, struct diag *diag)
{
	const struct export_options plain = {};

	return export_html.write(out, context, &plain, diag);
}

static int write_text(const struct request *request, const struct profile *profile, struct diag *diag)
{
	const char *no_color = getenv("NO_COLOR");
	bool color = isatty(STDOUT_FILENO) && !(no_color && *no_color);
	struct compare compare = {};
	int err = compare_functions(profile, &compare, diag);

	if (!err)
		compare_write_text(stdout, profile, &compare, request->rows, color);
	compare_deinit(&compare);
	return err;
}

static int compare(const struct request *request, struct profile *profile, struct diag *diag)
{
	struct recording recordings[2] = {};
	struct profile_info *info = profile_info(profile);
	char title[600];
	size_t i;
	int err = 0;

	for (i = 0; i < request->outputs.count && !err; i++)
		err = output_check(request->outputs.at[i], diag);
	for (i = 0; i < 2 && !err; i++)
		err = read_file(request->names[i], i ? READ_AFTER : READ_BEFORE, profile, &recordings[i], diag);
	if (!err)
		err = compare_prepare(profile, recordings, request->names, request->by_time, diag);
	if (err)
		return err;
	snprintf(title, sizeof(title), "%.290s → %.290s", request->names[0], request->names[1]);
	info->command = profile_string(profile, title) ?: "";
	info->strata_version = STRATA_VERSION;
	for (i = 0; i < request->outputs.count && !err; i++)
		err = output_write(request->outputs.at[i], write_page, profile, diag);
	for (i = 0; i < request->outputs.count && !err; i++)
		if (!output_is_direct(request->outputs.at[i]))
			fprintf(stderr, "wrote %s: what differs, to explore in a browser\n", request->outputs.at[i]);
	return err || !request->rows ? err : write_text(request, profile, diag);
}

static int run(const struct command *self, int argc, char **argv)
{
	struct request request = {};
	struct profile *profile = NULL;
	struct diag diag = {};
	int status;

	if (parse(&request, argc, argv, &diag) < 0) {
		status = cli_fail(CLI_USAGE, &diag);
	} else if (request.help) {
		status = cli_help(self);
	} else if (!(profile = profile_create())) {
		diag_fail(&diag, ENOMEM, "cli.memory", "%s", strerror(ENOMEM));
		status = cli_fail(CLI_FAILED, &diag);
	} else {
		status = compare(&request, profile, &diag) ? cli_fail(CLI_FAILED, &diag) : cli_flush();
	}
	profile_destroy(profile);
	vec_free(&request.outputs);
	return status;
}

const struct command command_diff = {
	.name = "diff",
	.called = "strata diff",
	.summary = "shows what changed between two recordings",
	.usage = "BEFORE AFTER [-o FILE]... [--by samples|time] [--text ROWS]",
	.options = options,
	.run = run,
};
