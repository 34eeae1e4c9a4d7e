// SPDX-License-Identifier: GPL-2.0-or-later
/* strata calls: command line → the programs of calls/calls.h, run as a script → lines, or a summary. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/place.h"
#include "calls/calls.h"
#include "cli/checks.h"
#include "cli/command.h"
#include "cli/listing.h"
#include "cli/output.h"
#include "cli/script.h"
#include "profile/text.h"

enum {
	OPTION_FROM = OPTION_LONG_ONLY,
	OPTION_DEPTH,
	OPTION_MATCH,
	OPTION_LINES,
	OPTION_MIN_TIME,
	OPTION_SUMMARY,
	OPTION_JSON
};

#define DEPTH_MAX 1000000

static const struct option_row options[] = {
	{'p', "pid", "PID", "the calls of this process, of all its threads"},
	{OPTION_FROM, "from", "FUNCTION",
	 "only calls of this function, and all that they call;\nFILE:FUNCTION where several are called so"},
	{OPTION_DEPTH, "depth", "N", "only N levels of calls: 1 is the outermost one, or --from's"},
	{OPTION_MATCH, "match", "GLOB", "only functions whose names match this pattern"},
	{OPTION_LINES, "lines", NULL, "print also from which line a call comes, and to which line\nit got"},
	{OPTION_MIN_TIME, "min-time", "TIME", "print only calls that take so long, such as 1ms, 50us or 2s"},
	{OPTION_SUMMARY, "summary", NULL, "print calls and times of each function, at the end"},
	{OPTION_JSON, "json", NULL, "with --summary: end with one line of JSON"},
	{'o', "output", "FILE",
	 "write to this file, not to stdout; NAME.html: a timeline\nfor a browser; NAME.json: one for Perfetto"},
	{'h', "help", NULL, "this text"},
	{},
};

struct request {
	struct calls_options calls;
	const char *output;
	pid_t pid;
	bool summary, json, help;
	int (*write)(struct calls *calls, FILE *out, struct diag *diag); /* a timeline; NULL: none is wanted */
};

static bool has_suffix(const char *path, const char *suffix)
{
	size_t size = strlen(path), more = strlen(suffix);

	return size > more && !strcmp(path + size - more, suffix);
}

static int take_time(const char *text, uint64_t *ret, struct diag *diag)
{
	static const struct {
		const char *unit;
		double ns;
	} units[] = {{"ns", 1}, {"us", 1e3}, {"ms", 1e6}, {"s", 1e9}};
	size_t digits = strspn(text, "0123456789."), i;
	char *end = NULL;
	double value = digits ? strtod(text, &end) : 0;

	for (i = 0; digits && end == text + digits && i < sizeof(units) / sizeof(units[0]); i++)
		if (!strcmp(end, units[i].unit) && value > 0 && value * units[i].ns < 1e18) {
			*ret = (uint64_t)(value * units[i].ns);
			return 0;
		}
	return diag_fail(diag, EINVAL, "cli.time", "--min-time %s: a time is a number and ns, us, ms or s", text);
}

static int take_option(void *context, int id, const char *value, struct diag *diag)
{
	struct request *request = context;
	unsigned long depth;

	switch (id) {
	case 'p':
		return take_pid(value, &request->pid, diag);
	case OPTION_FROM:
		request->calls.from = value;
		return 0;
	case OPTION_DEPTH:
		if (!options_number(value, strlen(value), 1, DEPTH_MAX, &depth))
			return diag_fail(diag, EINVAL, "cli.depth", "--depth %s: it is a whole number from 1 to %d",
					 value, DEPTH_MAX);
		request->calls.depth = (uint32_t)depth;
		return 0;
	case OPTION_MATCH:
		request->calls.match = value;
		return 0;
	case OPTION_LINES:
		request->calls.lines = true;
		return 0;
	case OPTION_MIN_TIME:
		return take_time(value, &request->calls.min_ns, diag);
	case OPTION_SUMMARY:
		request->summary = true;
		return 0;
	case OPTION_JSON:
		request->json = true;
		return 0;
	case 'o':
		request->output = strcmp(value, "-") ? value : NULL;
		request->write = has_suffix(value, ".html")   ? calls_write_html
				 : has_suffix(value, ".json") ? calls_write_chrome
							      : NULL;
		return 0;
	default:
		request->help = true;
		return 1;
	}
}

static int check(const struct request *request, char *const *command, struct diag *diag)
{
	if (!request->pid == !*command)
		return diag_fail(diag, EINVAL, "cli.target",
				 request->pid ? "-p and a command exclude each other"
					      : "whose calls? Give -p PID, or -- and a command");
	if (request->json && !request->summary)
		return diag_fail(diag, EINVAL, "cli.json", "--json is for --summary");
	if (request->calls.lines && (request->summary || request->write))
		return diag_fail(diag, EINVAL, "cli.lines", "--lines is for calls that are printed as text");
	if (request->calls.min_ns && (request->summary || request->write))
		return diag_fail(diag, EINVAL, "cli.time", "--min-time is for calls that are printed as text");
	return 0;
}

/*
 * One line for what went wrong, without the script that there is none of. A refused Python is why there is none; where
 * there are others it may be none of those that the command runs.
 */
static void complain(const struct script *script, const struct report *report)
{
	const struct complaint *error = NULL, *at;
	size_t i;

	(void)script;
	for (i = 0; i < report->complaints.count && report->errors; i++) {
		at = &report->complaints.at[i];
		if (!error || (at->severity == SEVERITY_WARNING && error->severity == SEVERITY_ERROR))
			error = at;
	}
	if (error) {
		fputs("strata: ", stderr);
		text_print(stderr, error->text, strlen(error->text));
		fputc('\n', stderr);
	}
}

struct timeline_output {
	const struct request *request;
	struct calls *calls;
};

static int write_output(FILE *out, const void *context, struct diag *diag)
{
	const struct timeline_output *output = context;

	return output->request->write(output->calls, out, diag);
}

static void finish(const struct request *request, struct calls *calls, FILE *out)
{
	char *missed;

	calls_end(calls);
	if (request->summary)
		calls_write_summary(calls, out);
	if (request->json)
		calls_write_summary_json(calls, out);
	calls_write_lost(calls, stderr);
	missed = calls_missed(calls);
	if (missed)
		fprintf(stderr, "strata: %s\n", missed);
	free(missed);
}

static int run_calls(struct request *request, char **command, FILE *out)
{
	const char *no_color = getenv("NO_COLOR");
	struct calls *calls = NULL;
	struct diag diag = {};
	int status;

	request->calls.color = !request->output && isatty(STDOUT_FILENO) && !(no_color && *no_color);
	request->calls.text = request->summary || request->write ? NULL : out;
	request->calls.timeline = request->write != NULL;
	if (calls_create(&request->calls, &calls, &diag))
		return cli_fail(CLI_FAILED, &diag);

	struct script script = {.name = "calls",
				.source = "",
				.options = {.dialect = calls_dialect(calls), .pid = request->pid},
				.trace = {.out = out, .quiet = true},
				.argv = *command ? command : NULL,
				.complain = complain};

	status = script_run(&script, &diag);
	if (script.has_run) {
		const struct timeline_output output = {request, calls};

		finish(request, calls, out);
		if (request->write && output_write(request->output, write_output, &output, &diag))
			status = cli_fail(CLI_FAILED, &diag);
	}
	calls_destroy(calls);
	return status;
}

static int start(struct request *request, char **command)
{
	FILE *out = stdout;
	struct diag diag = {};
	int status;

	if (check(request, command, &diag))
		return cli_fail(CLI_USAGE, &diag);
	if (check_capabilities(&diag) || (request->pid && check_process(request->pid, &diag)))
		return cli_fail(CLI_FAILED, &diag);
	if (request->write && output_check(request->output, &diag))
		return cli_fail(CLI_FAILED, &diag);
	if (request->output && !request->write)
		out = place_open(request->output);
	if (!out) {
		diag_fail(&diag, errno, "cli.output", "%s: %m", request->output);
		return cli_fail(CLI_FAILED, &diag);
	}
	status = run_calls(request, command, out);
	if (out == stdout)
		return cli_flush() == CLI_DONE ? status : CLI_FAILED;
	if (fclose(out)) {
		diag_fail(&diag, errno, "cli.output", "%s: %m", request->output);
		return cli_fail(CLI_FAILED, &diag);
	}
	return status;
}

static int run(const struct command *self, int argc, char **argv)
{
	struct request request = {};
	struct diag diag = {};
	int at = options_parse(options, self->called, argc, argv, take_option, &request, &diag);

	if (at < 0)
		return cli_fail(CLI_USAGE, &diag);
	if (request.help) {
		command_help(stdout, self);
		return cli_flush();
	}
	return start(&request, argv + at);
}

const struct command command_calls = {
	.name = "calls",
	.called = "strata calls",
	.summary = "shows Python's call hierarchy, or calls and times per function",
	.usage = "[OPTIONS] -p PID | -- COMMAND...",
	.options = options,
	.run = run,
};
