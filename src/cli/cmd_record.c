// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * strata record: command line → checks → record_run() → files, --stats, summary. Everything that can be known to go
 * wrong is checked before sampling; what goes wrong afterwards costs one file at most, never the others or the
 * summary.
 */
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "abi/limits.h"
#include "base/vec.h"
#include "cli/checks.h"
#include "cli/command.h"
#include "cli/file_sink.h"
#include "cli/filters.h"
#include "cli/output.h"
#include "cli/targets.h"
#include "engine/engine.h"
#include "export/export.h"
#include "profile/profile.h"
#include "record/record.h"

#define DEFAULT_FREQUENCY 99 /* not 100: does not keep step with timers */
#define OFF_CPU_RATE_MAX  1000000
#define DEFAULT_MEMORY    (1ull << 30)
#define MEMORY_LEAST      (8ull << 20)
#define DEFAULT_OUTPUT    "strata.html"

enum {
	OPTION_FUNCTION = FILTER_OPTION_END,
	OPTION_STATS,
	OPTION_STRATEGY,
	OPTION_MAX_MEMORY,
	OPTION_MAX_SAMPLE,
	OPTION_VERIFY,
	OPTION_CHILDREN,
	OPTION_OFF_CPU,
	OPTION_WALL,
	OPTION_GIL,
	OPTION_OFF_CPU_RATE,
	OPTION_WAKERS,
	OPTION_TASKS,
	OPTION_LINES,
	OPTION_NO_DEBUGINFOD,
	OPTION_SOURCE
};

static const struct option_row options[] = {
	{'p', "pid", "PID[,PID...]", "sample these processes; may be repeated"},
	{OPTION_CHILDREN, "children", NULL, "with -p: also sample all their descendants"},
	{'a', "all", NULL,
	 "sample everything that runs: the default without a target;\nwith a command, until that ends"},
	FILTER_OPTIONS,
	{'F', "frequency", "HZ", "samples per second and CPU, 1 to 10000 (99)"},
	{OPTION_OFF_CPU, "off-cpu", NULL, "record where threads wait, and for what, by time"},
	{OPTION_WALL, "wall", NULL, "record both, by time: where threads run and where they wait"},
	{OPTION_GIL, "gil", NULL, "record who holds Python's GIL and who waits for it, by time"},
	{OPTION_OFF_CPU_RATE, "off-cpu-rate", "N",
	 "of more waits than so many a second and CPU, the short\nones are sampled (1000)"},
	{OPTION_WAKERS, "wakers", NULL,
	 "with --off-cpu or --wall: also who ended each wait, and\nthe stack from which"},
	{OPTION_TASKS, "tasks", NULL,
	 "begin stacks of asyncio tasks with [task NAME], not with the\nevent loop's frames"},
	{'d', "duration", "TIME", "stop after this time: seconds, such as 10 or 0.5, or 10s,\n2m, 1h"},
	{'o', "output", "FILE",
	 "write this file; the suffix chooses the format; - means\nfolded stacks on standard output; "
	 "may be repeated (" DEFAULT_OUTPUT ")"},
	{'t', "threads", NULL, "keep threads apart in the text formats"},
	{OPTION_FUNCTION, "function", NULL, "one frame for each Python function, not for each line"},
	{OPTION_LINES, "lines", NULL,
	 "give native frames their source lines, and inlined functions\nframes of their own, by debug information"},
	{OPTION_SOURCE, "source", NULL,
	 "put source files into the .html, with samples by line: those\nthat the recorded processes' users can read"},
	{OPTION_NO_DEBUGINFOD, "no-debuginfod", NULL, "do not ask the servers of DEBUGINFOD_URLS for symbols"},
	{OPTION_STATS, "stats", "FILE", "write figures about the data's quality as JSON"},
	{OPTION_VERIFY, "verify", NULL,
	 "unwind every tenth native stack a second time, with\n"
	 "libdw, and show how many agree; -v shows differences"},
	{OPTION_MAX_MEMORY, "max-memory", "SIZE",
	 "limit the memory for what was sampled, such as 64M; the\nrarest stacks are dropped, and counted (1G)"},
	{OPTION_MAX_SAMPLE, "max-sample-time", "TIME",
	 "limit how long a sample may interrupt a CPU, such as\n100us, 2ms or 1s; a deeper stack is walked "
	 "later, or\ncut, and counted (250us)"},
	{OPTION_STRATEGY, "strategy", "NAME",
	 "how long stacks are walked in the kernel: loop or bounded;\nfor tests: strata chooses what the kernel "
	 "supports"},
	{'v', "verbose", NULL, "print what is being done"},
	{'q', "quiet", NULL, "no progress and no summary; errors only"},
	{'h', "help", NULL, "this text"},
	{},
};

struct request {
	struct targets targets;
	struct filter *filter; /* NULL: none */
	VEC(const char *) outputs;
	const char *stats;
	unsigned int frequency;
	enum walk_strategy strategy;
	uint64_t max_memory, sample_ns;
	double duration_s;
	unsigned int off_cpu_rate;
	bool off_cpu, wall, gil, wakers, tasks;
	bool no_debuginfod, lines, source;
	bool threads, function, verify, verbose, quiet, help;
};

static void request_deinit(struct request *request)
{
	targets_deinit(&request->targets);
	filter_destroy(request->filter);
	vec_free(&request->outputs);
}

static int parse_off_cpu_rate(const char *text, struct request *request, struct diag *diag)
{
	unsigned long value = 0;

	if (!options_number(text, strlen(text), 1, OFF_CPU_RATE_MAX, &value))
		return diag_fail(diag, EINVAL, "cli.value", "--off-cpu-rate %s: a whole number from 1 to 1000000",
				 *text ? text : "''");
	request->off_cpu_rate = (unsigned int)value;
	return 0;
}

static int parse_memory(const char *text, struct request *request, struct diag *diag)
{
	static const char units[] = "KMGT";
	size_t digits = strspn(text, "0123456789");
	const char *unit = text[digits] ? strchr(units, text[digits]) : NULL;
	unsigned long value = 0;
	unsigned int shift = unit ? 10 * (unsigned int)(unit - units + 1) : 0;

	if (!options_number(text, digits, 1, ULONG_MAX >> 1, &value) || (text[digits] && (!unit || text[digits + 1])) ||
	    value > UINT64_MAX >> 1 >> shift || value << shift < MEMORY_LEAST)
		return diag_fail(diag, EINVAL, "cli.value", "--max-memory %s: a size from 8M on, such as 64M or 2G",
				 *text ? text : "''");
	request->max_memory = (uint64_t)value << shift;
	return 0;
}

static int parse_strategy(const char *text, struct request *request, struct diag *diag)
{
	if (!strcmp(text, "loop"))
		request->strategy = WALK_STRATEGY_LOOP;
	else if (!strcmp(text, "bounded"))
		request->strategy = WALK_STRATEGY_BOUNDED;
	else
		return diag_fail(diag, EINVAL, "cli.value", "--strategy %s: known are loop and bounded",
				 *text ? text : "''");
	return 0;
}

static int add_output(const char *path, struct request *request, struct diag *diag)
{
	size_t i;

	for (i = 0; i < request->outputs.count; i++)
		if (!strcmp(request->outputs.at[i], path))
			return options_wrong('o', path, "is named twice", diag);
	if (vec_push(&request->outputs, path))
		return diag_fail(diag, ENOMEM, "cli.memory", "%s", strerror(ENOMEM));
	return 0;
}

static int take_option(void *context, int id, const char *value, struct diag *diag)
{
	struct request *request = context;

	if (id >= OPTION_LONG_ONLY && id < FILTER_OPTION_END)
		return filters_take(&request->filter, id, value, diag);
	switch (id) {
	case 'p':
		return targets_add_pids(&request->targets, value, diag);
	case 'F':
		return options_frequency(value, &request->frequency, diag);
	case 'd':
		return options_duration('d', value, &request->duration_s, diag);
	case 'o':
		return add_output(value, request, diag);
	case 'a':
		request->targets.all = true;
		return 0;
	case 't':
		request->threads = true;
		return 0;
	case 'v':
		request->verbose = true;
		return 0;
	case 'q':
		request->quiet = true;
		return 0;
	case OPTION_OFF_CPU:
		request->off_cpu = true;
		return 0;
	case OPTION_WALL:
		request->wall = true;
		return 0;
	case OPTION_GIL:
		request->gil = true;
		return 0;
	case OPTION_LINES:
		request->lines = true;
		return 0;
	case OPTION_SOURCE:
		request->source = true;
		return 0;
	case OPTION_WAKERS:
		request->wakers = true;
		return 0;
	case OPTION_TASKS:
		request->tasks = true;
		return 0;
	case OPTION_OFF_CPU_RATE:
		return parse_off_cpu_rate(value, request, diag);
	case OPTION_CHILDREN:
		request->targets.children = true;
		return 0;
	case OPTION_FUNCTION:
		request->function = true;
		return 0;
	case OPTION_NO_DEBUGINFOD:
		request->no_debuginfod = true;
		return 0;
	case OPTION_STATS:
		request->stats = value;
		return 0;
	case OPTION_VERIFY:
		request->verify = true;
		return 0;
	case OPTION_MAX_MEMORY:
		return parse_memory(value, request, diag);
	case OPTION_MAX_SAMPLE:
		return options_sample_time(value, &request->sample_ns, diag);
	case OPTION_STRATEGY:
		return parse_strategy(value, request, diag);
	default:
		request->help = true;
		return 1;
	}
}

/* The format of an output: by its suffix; folded for pipes and devices without one. NULL: unknown. */
static const struct exporter *exporter_of(const char *path)
{
	const struct exporter *exporter = exporter_for(path);

	return exporter || !output_is_direct(path) ? exporter : exporter_for("-");
}

static int check_suffix(const char *path, struct diag *diag)
{
	char known[256] = "";
	const struct exporter *exporter;
	unsigned int i;
	size_t used;

	if (exporter_of(path))
		return 0;
	for (i = 0; (exporter = exporter_at(i)); i++) {
		used = strlen(known);
		snprintf(known + used, sizeof(known) - used, "%s%s", i ? ", " : "", exporter->suffix);
	}
	return diag_fail(diag, EINVAL, "cli.suffix", "-o %s: the suffix names no format: known are %s", path, known);
}

/* Does any result show source files? */
static bool shows_sources(const struct request *request)
{
	size_t i;

	for (i = 0; i < request->outputs.count; i++)
		if (exporter_of(request->outputs.at[i])->sources)
			return true;
	return false;
}

/* What the command line asks for; 0 or a negative errno and a diag. */
static int parse(struct request *request, int argc, char **argv, struct diag *diag)
{
	int err = options_parse(options, command_record.called, argc, argv, take_option, request, diag);
	size_t i;

	if (err <= 0)
		return err;
	err = targets_complete(&request->targets, argc, argv, err, diag);
	if (err)
		return err;
	if (request->off_cpu && request->wall)
		return diag_fail(diag, EINVAL, "cli.mode", "--off-cpu and --wall: give one; --wall has both");
	if (request->gil && (request->off_cpu || request->wall))
		return diag_fail(diag, EINVAL, "cli.mode",
				 "--gil goes without --off-cpu and --wall: it has the GIL's part of both");
	if (request->off_cpu_rate && !request->off_cpu && !request->wall && !request->gil)
		return diag_fail(diag, EINVAL, "cli.mode", "--off-cpu-rate: goes with --off-cpu, --wall or --gil");
	if (request->wakers && !request->off_cpu && !request->wall)
		return diag_fail(diag, EINVAL, "cli.mode", "--wakers: goes with --off-cpu or --wall");
	if (!request->outputs.count && add_output(DEFAULT_OUTPUT, request, diag))
		return -ENOMEM;
	for (i = 0; i < request->outputs.count; i++) {
		err = check_suffix(request->outputs.at[i], diag);
		if (err)
			return err;
		if (request->stats && !strcmp(request->stats, request->outputs.at[i]))
			return diag_fail(diag, EINVAL, "cli.stats", "--stats %s: is named by -o, too", request->stats);
	}
	if (request->source && !shows_sources(request))
		return diag_fail(diag, EINVAL, "cli.mode", "--source: goes with an output NAME.html");
	if (request->source && request->function)
		return diag_fail(diag, EINVAL, "cli.mode", "--source: goes without --function, which has no lines");
	return 0;
}

static int check(const struct request *request, struct diag *diag)
{
	size_t i;
	int err = targets_check(&request->targets, diag);

	if (!err && request->filter)
		err = filter_find(request->filter, diag);
	for (i = 0; !err && i < request->outputs.count; i++)
		err = output_check(request->outputs.at[i], diag);
	if (!err && request->stats)
		err = output_check(request->stats, diag);
	if (!err)
		err = check_frequency(request->frequency, diag);
	if (!err)
		err = check_namespace(diag);
	return err ? err : check_capabilities(diag);
}

/* Where the recording goes, and what to call it. */
struct output {
	const char *path;
	const char *description;
	struct sink *sink;
	bool there; /* it was written where it was wanted */
};

/* How many outputs there are. */
static size_t output_count(const struct request *request)
{
	return request->outputs.count + (request->stats ? 1 : 0);
}

static void close_outputs(struct output *outputs, size_t count)
{
	size_t i;

	for (i = 0; outputs && i < count; i++)
		sink_close(outputs[i].sink);
	free(outputs);
}

/* All of them; NULL when memory is short. */
static struct output *open_outputs(const struct request *request)
{
	const struct export_options how = {.threads = request->threads};
	size_t count = output_count(request), i;
	struct output *outputs = calloc(count + 1, sizeof(*outputs));

	for (i = 0; outputs && i < count; i++) {
		bool is_stats = i == request->outputs.count;
		const char *path = is_stats ? request->stats : request->outputs.at[i];
		const struct exporter *exporter = is_stats ? NULL : exporter_of(path);

		outputs[i] = (struct output){.path = path,
					     .description =
						     exporter ? exporter->description : "figures of the data's quality",
					     .sink = file_sink_open(path, exporter, &how)};
		if (!outputs[i].sink) {
			close_outputs(outputs, count);
			return NULL;
		}
	}
	return outputs;
}

/* Writes one result where it was wanted, or somewhere else and says so. */
static void deliver(struct output *output, const struct profile *profile)
{
	struct diag diag = {};

	output->there = !sink_take(output->sink, profile, &diag) && !sink_flush(output->sink, &diag);
	if (!output->there)
		fprintf(stderr, "strata: %s\n", diag.text);
}

/* Every file, then the summary, then where the files are. */
static int report(const struct request *request, const struct profile *profile, struct output *outputs)
{
	const char *no_color = getenv("NO_COLOR");
	bool color = isatty(STDERR_FILENO) && !(no_color && *no_color);
	size_t count = output_count(request), i;
	int status = CLI_DONE;

	/* A reader of standard output who leaves must not cost the other files. */
	signal(SIGPIPE, SIG_IGN);
	for (i = 0; i < count; i++) {
		deliver(&outputs[i], profile);
		if (!outputs[i].there)
			status = CLI_FAILED;
	}
	if (!request->quiet || status != CLI_DONE)
		export_summary(stderr, profile, color);
	for (i = 0; !request->quiet && i < count; i++)
		if (outputs[i].there && !output_is_direct(outputs[i].path))
			fprintf(stderr, "wrote %s: %s\n", outputs[i].path, outputs[i].description);
	return status;
}

/* Does any result tell threads apart? */
static bool wants_threads(const struct request *request)
{
	size_t i;

	for (i = 0; i < request->outputs.count; i++)
		if (request->threads || exporter_of(request->outputs.at[i])->threads)
			return true;
	return false;
}

/* Does any result tell containers? */
static bool wants_owners(const struct request *request)
{
	size_t i;

	for (i = 0; i < request->outputs.count; i++)
		if (exporter_of(request->outputs.at[i])->owners)
			return true;
	return false;
}

/* Does any result tell addresses? */
static bool wants_addresses(const struct request *request)
{
	size_t i;

	for (i = 0; i < request->outputs.count; i++)
		if (exporter_of(request->outputs.at[i])->addresses)
			return true;
	return false;
}

/* Does any result tell when samples were taken? */
static bool wants_times(const struct request *request)
{
	size_t i;

	for (i = 0; i < request->outputs.count; i++)
		if (exporter_of(request->outputs.at[i])->times)
			return true;
	return false;
}

/* Of each single one? */
static bool wants_moments(const struct request *request)
{
	size_t i;

	for (i = 0; i < request->outputs.count; i++)
		if (exporter_of(request->outputs.at[i])->moments)
			return true;
	return false;
}

static int record(const struct request *request, double started_at)
{
	const char *terminal = getenv("TERM");
	char targets[1024];
	struct record_options record_options = {
		.pids = request->targets.pids.at,
		.pid_count = request->targets.pids.count,
		.command = request->targets.command,
		.all = request->targets.all,
		.children = request->targets.children,
		.filter = request->filter,
		.frequency = request->off_cpu ? 0 : request->frequency,
		.off_cpu_rate =
			!request->off_cpu && !request->wall && !request->gil ? 0
			: request->off_cpu_rate ? request->off_cpu_rate
						: ENGINE_OFF_CPU_RATE,
		.gil = request->gil,
		.wakers = request->wakers,
		.tasks = request->tasks,
		.lines = request->lines,
		.sources = request->source,
		.strategy = request->strategy,
		.sample_ns = request->sample_ns,
		.verify = request->verify,
		.max_memory = request->max_memory,
		.merges_threads = !wants_threads(request),
		.owners = wants_owners(request),
		.times = wants_times(request),
		.moments = wants_moments(request),
		.detail = wants_addresses(request) ? FRAME_ADDRESSES : FRAME_NAMES,
		.duration_s = request->duration_s,
		.no_debuginfod = request->no_debuginfod,
		.function = request->function,
		.verbose = request->verbose,
		.progress = !request->quiet && isatty(STDERR_FILENO) && terminal && strcmp(terminal, "dumb"),
		.started_at = started_at,
		.target_text = targets,
	};
	struct profile *profile = profile_create();
	/* Before: when memory runs out while it records, what was recorded is still written. */
	struct output *outputs = open_outputs(request);
	struct record_result result = {};
	struct diag diag = {};
	int status, err;

	if (!profile || !outputs) {
		profile_destroy(profile);
		close_outputs(outputs, output_count(request));
		diag_fail(&diag, ENOMEM, "cli.memory", "%s", strerror(ENOMEM));
		return cli_fail(CLI_FAILED, &diag);
	}
	targets_text(&request->targets, request->filter, targets, sizeof(targets));
	if (!request->quiet)
		warn_capabilities(stderr);
	err = record_run(&record_options, profile, &result, &diag);
	status = result.kept ? report(request, profile, outputs) : CLI_FAILED;
	close_outputs(outputs, output_count(request));
	profile_destroy(profile);
	if (err)
		return cli_fail(CLI_FAILED, &diag);
	warn_left(stderr, result.command_left);
	return status == CLI_DONE && request->targets.command ? result.command_status : status;
}

static int run(const struct command *self, int argc, char **argv)
{
	struct request request = {
		.frequency = DEFAULT_FREQUENCY, .max_memory = DEFAULT_MEMORY, .sample_ns = SAMPLE_TIME_NS};
	struct diag diag = {};
	struct timespec now;
	int status;

	clock_gettime(CLOCK_MONOTONIC, &now);
	if (parse(&request, argc, argv, &diag))
		status = cli_fail(CLI_USAGE, &diag);
	else if (request.help)
		status = cli_help(self);
	else if (check(&request, &diag))
		status = cli_fail(CLI_FAILED, &diag);
	else
		status = record(&request, (double)now.tv_sec + (double)now.tv_nsec / 1e9);
	request_deinit(&request);
	return status;
}

static void more_help(FILE *out)
{
	const struct exporter *exporter;
	unsigned int i;

	fputs("\nFormats, by suffix:\n", out);
	for (i = 0; (exporter = exporter_at(i)); i++)
		fprintf(out, "  %-20s %s\n", exporter->suffix, exporter->description);
	fputs("\nCtrl-C ends the recording and writes the files; a second one leaves at once.\n"
	      "The exit status is the command's own when a command was given; 1: failed; 2: wrong usage.\n",
	      out);
}

const struct command command_record = {
	.name = "record",
	.called = "strata record",
	.summary = "samples what runs and writes a flame graph, pprof, folded stacks, speedscope, Firefox or Perfetto",
	.usage = "[-p PID,... [--children] | -a | [--] COMMAND...] [-F HZ] [-d TIME] [-o FILE]...",
	.options = options,
	.more_help = more_help,
	.run = run,
};
