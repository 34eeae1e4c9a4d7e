// SPDX-License-Identifier: GPL-2.0-or-later
/* strata top: command line → checks → top_run(), on the terminal or as text. */
#include <errno.h>
#include <locale.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/checks.h"
#include "cli/command.h"
#include "cli/file_sink.h"
#include "cli/filters.h"
#include "cli/output.h"
#include "cli/targets.h"
#include "top/top.h"

#define DEFAULT_FREQUENCY 99 /* not 100: does not keep step with timers */
#define DEFAULT_MEMORY    (256ull << 20)
#define INTERVAL_LEAST_S  0.1
#define INTERVAL_MOST_S   3600
#define BATCH_MAX         1000000000

enum {
	OPTION_CHILDREN = FILTER_OPTION_END,
	OPTION_OFF_CPU,
	OPTION_WALL,
	OPTION_BATCH,
	OPTION_BY,
	OPTION_SORT,
	OPTION_LAYERS,
	OPTION_FILTER,
	OPTION_ROWS
};

static const struct option_row options[] = {
	{'p', "pid", "PID[,PID...]", "sample these processes; may be repeated"},
	{OPTION_CHILDREN, "children", NULL, "with -p: also sample all their descendants"},
	{'a', "all", NULL,
	 "sample everything that runs: the default without a target;\nwith a command, until that ends"},
	FILTER_OPTIONS,
	{'F', "frequency", "HZ", "samples per second and CPU, 1 to 10000 (99)"},
	{'i', "interval", "TIME", "the time of a window, from 0.1 s to 1h, such as 2 or 0.5\n(1s)"},
	{OPTION_OFF_CPU, "off-cpu", NULL, "show where threads wait, and for what, instead of where they run"},
	{OPTION_WALL, "wall", NULL, "show both: where threads run and where they wait"},
	{OPTION_BATCH, "batch", "N", "write N windows to standard output as text, and end"},
	{OPTION_ROWS, "rows", "N", "with --batch: rows of each window; 0: all (20)"},
	{OPTION_BY, "by", "KIND",
	 "rows are functions, lines, modules, threads, processes,\ncontainers or cgroups (function)"},
	{OPTION_SORT, "sort", "ORDER", "by own or total CPU time, or by name (own)"},
	{OPTION_LAYERS, "layers", "LAYER",
	 "only Python, native or kernel frames; own time is then\nthat of the innermost "
	 "Python frame (all)"},
	{OPTION_FILTER, "filter", "REGEX", "only rows whose name has this extended regular expression"},
	{'h', "help", NULL, "this text"},
	{},
};

struct request {
	struct targets targets;
	struct top_options top;
	bool off_cpu, wall, help;
};

/* The number of a word in a list of names; the plural, with s or es, and any case will do. */
static int choose(const char *option, const char *text, const char *const *names, unsigned int count, unsigned int *ret,
		  struct diag *diag)
{
	char known[128] = "";
	size_t used = 0;
	unsigned int i;

	for (i = 0; i < count; i++) {
		size_t length = strlen(names[i]);
		const char *rest = text + length;

		if (!strncasecmp(text, names[i], length) && (!*rest || !strcmp(rest, "s") || !strcmp(rest, "es"))) {
			*ret = i;
			return 0;
		}
		used += (size_t)snprintf(known + used, sizeof(known) - used, "%s%s", i ? ", " : "", names[i]);
	}
	return diag_fail(diag, EINVAL, "cli.value", "--%s %s: known are %s", option, *text ? text : "''", known);
}

static int take_number(const char *option, const char *text, unsigned long least, unsigned long *ret, struct diag *diag)
{
	if (options_number(text, strlen(text), least, BATCH_MAX, ret))
		return 0;
	return diag_fail(diag, EINVAL, "cli.value", "--%s %s: a whole number from %lu on", option, *text ? text : "''",
			 least);
}

static int take_interval(const char *text, double *ret, struct diag *diag)
{
	int err = options_duration('i', text, ret, diag);

	if (!err && (*ret < INTERVAL_LEAST_S || *ret > INTERVAL_MOST_S))
		return options_wrong('i', text, "a window is from 0.1 s to 1h long", diag);
	return err;
}

static int take_option(void *context, int id, const char *value, struct diag *diag)
{
	struct request *request = context;
	struct top_options *top = &request->top;
	unsigned int chosen = 0;
	unsigned long number;
	int err;

	if (id >= OPTION_LONG_ONLY && id < FILTER_OPTION_END)
		return filters_take(&top->filters, id, value, diag);
	switch (id) {
	case 'p':
		return targets_add_pids(&request->targets, value, diag);
	case OPTION_CHILDREN:
		request->targets.children = true;
		return 0;
	case 'a':
		request->targets.all = true;
		return 0;
	case 'F':
		return options_frequency(value, &top->frequency, diag);
	case 'i':
		return take_interval(value, &top->interval_s, diag);
	case OPTION_OFF_CPU:
		request->off_cpu = true;
		return 0;
	case OPTION_WALL:
		request->wall = true;
		return 0;
	case OPTION_BATCH:
		return take_number("batch", value, 1, &top->batch, diag);
	case OPTION_ROWS:
		err = take_number("rows", value, 0, &number, diag);
		top->rows = err ? 0 : number;
		return err;
	case OPTION_BY:
		err = choose("by", value, view_kind_names, RANKING_KINDS, &chosen, diag);
		top->kind = (enum ranking_kind)chosen;
		return err;
	case OPTION_SORT:
		err = choose("sort", value, view_sort_names, VIEW_SORTS, &chosen, diag);
		top->sort = (enum view_sort)chosen;
		return err;
	case OPTION_LAYERS:
		err = choose("layers", value, view_layer_names, VIEW_LAYERS, &chosen, diag);
		top->layers = (enum view_layers)chosen;
		return err;
	case OPTION_FILTER:
		top->filter = value;
		return 0;
	default:
		request->help = true;
		return 1;
	}
}

static int parse(struct request *request, int argc, char **argv, struct diag *diag)
{
	int err = options_parse(options, command_top.called, argc, argv, take_option, request, diag);

	if (err <= 0)
		return err;
	err = targets_complete(&request->targets, argc, argv, err, diag);
	if (!err && request->off_cpu && request->wall)
		return diag_fail(diag, EINVAL, "cli.mode", "--off-cpu and --wall: give one; --wall has both");
	request->top.mode = request->off_cpu ? VIEW_OFF_CPU : request->wall ? VIEW_WALL : VIEW_CPU;
	if (!err && request->targets.command && !request->top.batch)
		return diag_fail(
			diag, EINVAL, "cli.target",
			"%s would write to the terminal that is drawn on: start it elsewhere and give -p PID, or "
			"use --batch N",
			*request->targets.command);
	return err;
}

static int check(const struct request *request, struct diag *diag)
{
	int err = targets_check(&request->targets, diag);

	if (!err && request->top.filters)
		err = filter_find(request->top.filters, diag);
	if (!err && !request->top.batch && (!isatty(STDOUT_FILENO) || !isatty(STDIN_FILENO)))
		return diag_fail(diag, ENOTTY, "cli.terminal",
				 "standard input and output are no terminal: use --batch N for text");
	if (!err)
		err = check_frequency(request->top.frequency, diag);
	if (!err)
		err = check_namespace(diag);
	return err ? err : check_capabilities(diag);
}

/* As `strata record -o PATH` writes it, but only where it was wanted: nothing is printed over the screen. */
static int save(const char *path, const struct profile *profile, struct diag *diag)
{
	const struct export_options how = {};
	const struct exporter *exporter = exporter_for(path);
	struct sink *sink;
	int err;

	if (!exporter || !strcmp(path, "-"))
		return diag_fail(diag, EINVAL, "cli.suffix",
				 "%s: the suffix names no format: .html, .pb.gz, .folded or others", path);
	err = output_check(path, diag);
	if (err)
		return err;
	sink = file_sink_open(path, exporter, &how);
	if (!sink)
		return diag_fail(diag, ENOMEM, "cli.memory", "out of memory");
	err = sink_take(sink, profile, diag) ?: sink_flush(sink, diag);
	sink_close(sink);
	return err;
}

static int top(struct request *request)
{
	const char *no_color = getenv("NO_COLOR");
	struct top_options *how = &request->top;
	struct top_result result = {};
	struct diag diag = {};
	char text[512];
	int err;

	targets_text(&request->targets, how->filters, text, sizeof(text));
	how->targets = (struct engine_targets){.pids = request->targets.pids.at,
					       .pid_count = request->targets.pids.count,
					       .children = request->targets.children,
					       .command = request->targets.command,
					       .all = request->targets.all};
	how->target_text = text;
	how->out = stdout;
	how->color = !(no_color && *no_color);
	how->save = save;
	setlocale(LC_CTYPE, "");
	signal(SIGPIPE, SIG_IGN);
	err = top_run(how, &result, &diag);
	if (err)
		return cli_fail(CLI_FAILED, &diag);
	warn_left(stderr, result.command_left);
	return cli_flush() == CLI_DONE ? result.command_status : CLI_FAILED;
}

static int run(const struct command *self, int argc, char **argv)
{
	struct request request = {
		.top = {.frequency = DEFAULT_FREQUENCY,
			.off_cpu_rate = ENGINE_OFF_CPU_RATE,
			.interval_s = 1,
			.max_memory = DEFAULT_MEMORY,
			.rows = 20}};
	struct diag diag = {};
	int status;

	if (parse(&request, argc, argv, &diag))
		status = cli_fail(CLI_USAGE, &diag);
	else if (request.help)
		status = cli_help(self);
	else if (check(&request, &diag))
		status = cli_fail(CLI_FAILED, &diag);
	else
		status = top(&request);
	targets_deinit(&request.targets);
	filter_destroy(request.top.filters);
	return status;
}

static void more_help(FILE *out)
{
	fputs("\nKeys, on the terminal: ? shows them, q ends it.\n"
	      "Figures are CPU time, or with --off-cpu and --wall the time of threads; 100 % is one CPU that is busy,\n"
	      "or one thread that waits, all the time.\n",
	      out);
}

const struct command command_top = {
	.name = "top",
	.called = "strata top",
	.summary = "shows what uses CPU time now: functions, lines, threads, processes",
	.usage = "[-p PID,... [--children] | -a] [--batch N [[--] COMMAND...]] [-i TIME] [--by KIND]",
	.options = options,
	.more_help = more_help,
	.run = run,
};
