// SPDX-License-Identifier: GPL-2.0-or-later
/* strata trace, and bpftrace's command line when started under that name. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/place.h"
#include "base/vec.h"
#include "cli/bpftrace_info.h"
#include "cli/checks.h"
#include "cli/command.h"
#include "cli/listing.h"
#include "cli/script.h"
#include "lang/dialect/dialect.h"
#include "trace/trace.h"

enum {
	OPTION_UNSAFE = OPTION_LONG_ONLY,
	OPTION_DRY_RUN,
	OPTION_INFO,
	OPTION_NO_WARNINGS,
	OPTION_PROBE_FILTER,
	OPTION_MODE,
	OPTION_BENCH,
	OPTION_TEST,
	OPTION_FORMAT,
	OPTION_INCLUDE,
	OPTION_DEBUGINFO,
	OPTION_NO_DEBUGINFOD,
	OPTION_NO_FEATURE,
	OPTION_SYNTHESIZE,
	OPTION_TRACEABLE,
	OPTION_DWARF_PID,
	OPTION_MAX_SAMPLE,
	OPTION_DIALECT,
	OPTION_TRANSLATE,
	OPTION_WITHOUT_VALUE
};

/* The first ones are those that bpftrace's command line alone has, for when strata is started under its name. */
#define ROWS_OF_BPFTRACE 4

#define OUTPUT_BYTES 65536

static const struct option_row rows[] = {
	{'c', "cmd", "COMMAND", "as --command"},
	{'V', "version", NULL, "print the version"},
	{OPTION_WITHOUT_VALUE, "verify-llvm-ir", NULL, "without effect"},
	{OPTION_WITHOUT_VALUE, "usdt-file-activation", NULL, "without effect"},
	/* ROWS_OF_BPFTRACE until here. */
	{'e', "execute", "PROGRAM", "run this program"},
	{'p', "pid", "PID", "trace this process only, all its threads, and end\nwith it"},
	{'c', "command", "COMMAND", "start this command, trace it and what it starts only,\nand end with it"},
	{OPTION_DIALECT, "dialect", "LANGUAGE", "what the program is written in: bpftrace, d or stap"},
	{OPTION_TRANSLATE, "translate", "LANGUAGE",
	 "print the D or SystemTap script in this language, which\nis bpftrace; a comment marks what it cannot say"},
	{'f', "format", "FORMAT", "how the output is written: text or json"},
	{'o', "output", "FILE", "write the output to this file, not to stdout"},
	{'l', "list", NULL, "list the places that match the PATTERNs"},
	{'q', "quiet", NULL, "print nothing but what the program prints"},
	{'B', "buffering", "MODE", "when the output is written: line, full or none"},
	{'I', "include-dir", "FOLDER", "also look for C headers in this folder"},
	{OPTION_INCLUDE, "include", "FILE", "include this C header before the program"},
	{OPTION_DEBUGINFO, "debuginfo", "DIR[:DIR]", "also look for separate debug files there"},
	{'d', "debug", "STAGE", "print what the compiler makes: ast, types,\ncore, instructions, or all"},
	{'v', "verbose", NULL, "argument types with -l; the verifier's log when\nit refuses a program"},
	{'k', "warnings", NULL,
	 "warn, once for each place, if a helper of the kernel\nfails: a read, or a key that is not there"},
	{OPTION_NO_DEBUGINFOD, "no-debuginfod", NULL, "do not ask the servers of DEBUGINFOD_URLS for symbols"},
	{OPTION_UNSAFE, "unsafe", NULL, "allow system() and signal()"},
	{OPTION_DRY_RUN, "dry-run", NULL, "compile and load, attach nothing"},
	{OPTION_NO_WARNINGS, "no-warnings", NULL, "print no warnings"},
	{OPTION_PROBE_FILTER, "probe-filter", "REGEX", "attach only to places whose names match this"},
	{OPTION_SYNTHESIZE, "synthesize", NULL,
	 "usdt:FILE:python:NAME of a Python without this marker\nis found in its code"},
	{OPTION_NO_FEATURE, "no-feature", "LIST",
	 "do not use these features: uprobe_multi, kprobe_multi,\nkprobe_session, python_markers"},
	{OPTION_TRACEABLE, "traceable-functions", "FILE",
	 "the functions that ftrace can be attached to, instead\nof the kernel's own list"},
	{OPTION_DWARF_PID, "dwarf-pid", "LIST", "prepare the stacks of these processes before their\nfirst event"},
	{OPTION_MAX_SAMPLE, "max-sample-time", "TIME",
	 "limit the time to walk a user stack in an interrupt,\nsuch as 100us, 2ms or 1s (250us)"},
	{OPTION_BENCH, "bench", NULL, "measure the actions of bench:NAME"},
	{OPTION_TEST, "test", NULL, "run the actions of test:NAME, and print which fail"},
	{OPTION_FORMAT, "fmt", NULL, "print the formatted script, and do nothing else"},
	{OPTION_MODE, "mode", "MODE", "bench, test or format: as --bench, --test or --fmt"},
	{OPTION_INFO, "info", NULL, "what this kernel and this build can do"},
	{'h', "help", NULL, "this text"},
	{},
};

struct request {
	const struct command *self;
	const char *program, *file, *output, *command, *probe_filter, *buffering;
	struct trace_options trace;
	struct compile_dump dump;
	char *debug_folders;
	pid_t pid;
	const struct dialect *dialect; /* NULL: bpftrace's */
	const char *traceable_functions;
	unsigned int without; /* enum compile_without */
	uint64_t sample_ns;   /* 0: as is usual */
	bool list, format, translate, unsafe, synthesize, hide_warnings, warn_of_helpers;
	VEC(const char *) parameters, named, include_folders, includes;
	VEC(pid_t) stacks_of; /* --dwarf-pid */
	bool no_debuginfod;
};

/* The words and the one status of bpftrace's own failures, for who reads them under that name. */
static int fail(const struct request *request, enum cli_status status, const struct diag *diag)
{
	if (request->self != &command_bpftrace)
		return cli_fail(status, diag);
	fprintf(stderr, "ERROR: %s\n", diag->text);
	return CLI_FAILED;
}

static int take_stage(struct request *request, const char *value, struct diag *diag)
{
	bool all = !strcmp(value, "all");

	if (!all && strcmp(value, "ast") && strcmp(value, "types") && strcmp(value, "core") &&
	    strcmp(value, "instructions"))
		return diag_fail(diag, EINVAL, "cli.debug",
				 "-d %s: the stages are ast, types, core, instructions and all", value);
	request->dump.ast |= all || !strcmp(value, "ast");
	request->dump.types |= all || !strcmp(value, "types");
	request->dump.core |= all || !strcmp(value, "core");
	request->dump.instructions |= all || !strcmp(value, "instructions");
	return 0;
}

static int take_buffering(struct request *request, const char *value, struct diag *diag)
{
	request->buffering = value;
	if (strcmp(value, "line") && strcmp(value, "full") && strcmp(value, "none"))
		return diag_fail(diag, EINVAL, "cli.buffering", "-B %s: the modes are line, full and none", value);
	if (!strcmp(value, "line"))
		setvbuf(stdout, NULL, _IOLBF, 0);
	else if (!strcmp(value, "none"))
		setvbuf(stdout, NULL, _IONBF, 0);
	return 0;
}

static int take_mode(struct request *request, const char *value, struct diag *diag)
{
	bool bench = !strcmp(value, "bench"), format = !strcmp(value, "format");
	enum trace_mode mode = bench ? TRACE_BENCH : format ? TRACE_RUN : TRACE_TEST;

	if (!bench && !format && strcmp(value, "test") != 0)
		return diag_fail(diag, EINVAL, "cli.mode", "--mode %s: the modes are bench, test and format", value);
	if ((request->trace.mode != TRACE_RUN || request->format) &&
	    (request->trace.mode != mode || request->format != format))
		return diag_fail(diag, EINVAL, "cli.mode", "--bench, --test and --fmt exclude each other");
	request->trace.mode = mode;
	request->format = format;
	return 0;
}

/* The next word of a list with commas, which is shortened by it; NULL: there is none. */
static char *next_word(char **list)
{
	char *word;

	while ((word = strsep(list, ",")) && !*word)
		;
	return word;
}

static int take_features(struct request *request, const char *value, struct diag *diag)
{
	static const struct {
		const char *name;
		unsigned int without;
	} features[] = {
		{"uprobe_multi", COMPILE_WITHOUT_UPROBE_MULTI},
		{"kprobe_multi", COMPILE_WITHOUT_KPROBE_MULTI},
		{"kprobe_session", COMPILE_WITHOUT_KPROBE_SESSION},
		{"python_markers", COMPILE_WITHOUT_PYTHON_MARKERS},
	};
	char *text = strdup(value), *rest = text, *word;
	size_t count = sizeof(features) / sizeof(features[0]), i;
	int err = text ? 0 : diag_fail(diag, ENOMEM, "cli.memory", "out of memory");

	while (!err && (word = next_word(&rest))) {
		for (i = 0; i < count && strcmp(features[i].name, word) != 0;)
			i++;
		if (i == count)
			err = diag_fail(diag, EINVAL, "cli.feature",
					"--no-feature %s: the features are uprobe_multi, kprobe_multi, kprobe_session "
					"and python_markers",
					word);
		else
			request->without |= features[i].without;
	}
	free(text);
	return err;
}

static int take_processes(struct request *request, const char *value, struct diag *diag)
{
	char *text = strdup(value), *rest = text, *word;
	int err = text ? 0 : diag_fail(diag, ENOMEM, "cli.memory", "out of memory");
	pid_t pid;

	while (!err && (word = next_word(&rest))) {
		err = take_pid(word, &pid, diag);
		if (!err)
			err = check_process(pid, diag);
		if (!err && vec_push(&request->stacks_of, pid))
			err = diag_fail(diag, ENOMEM, "cli.memory", "out of memory");
	}
	free(text);
	return err;
}

static int take_option(void *context, int id, const char *value, struct diag *diag)
{
	struct request *request = context;

	switch (id) {
	case 'e':
		request->program = value;
		return 0;
	case 'p':
		return take_pid(value, &request->pid, diag);
	case 'c':
		request->command = value;
		return 0;
	case 'f':
		if (strcmp(value, "json") && strcmp(value, "text"))
			return diag_fail(diag, EINVAL, "cli.format", "Invalid output format \"%s\"", value);
		request->trace.json = !strcmp(value, "json");
		return 0;
	case 'o':
		request->output = value;
		return 0;
	case 'l':
		request->list = true;
		return 0;
	case 'q':
		request->trace.quiet = true;
		return 0;
	case 'B':
		return take_buffering(request, value, diag);
	case 'd':
		return take_stage(request, value, diag);
	case 'v':
		request->trace.verbose = true;
		return 0;
	case 'k':
		request->warn_of_helpers = true;
		return 0;
	case 'I':
		return vec_push(&request->include_folders, value);
	case OPTION_INCLUDE:
		return vec_push(&request->includes, value);
	case OPTION_DEBUGINFO:
		return add_folders(&request->debug_folders, value, diag);
	case OPTION_NO_DEBUGINFOD:
		request->no_debuginfod = true;
		return 0;
	case OPTION_UNSAFE:
		request->unsafe = true;
		return 0;
	case OPTION_DRY_RUN:
		request->trace.dry_run = true;
		return 0;
	case OPTION_NO_WARNINGS:
		request->hide_warnings = true;
		return 0;
	case OPTION_SYNTHESIZE:
		request->synthesize = true;
		return 0;
	case OPTION_NO_FEATURE:
		return take_features(request, value, diag);
	case OPTION_TRACEABLE:
		request->traceable_functions = value;
		return access(value, R_OK)
			       ? diag_fail(diag, errno, "cli.traceable", "--traceable-functions %s: %m", value)
			       : 0;
	case OPTION_DWARF_PID:
		return take_processes(request, value, diag);
	case OPTION_DIALECT:
		request->dialect = dialect_find(value);
		return request->dialect ? 0
					: diag_fail(diag, EINVAL, "cli.dialect",
						    "--dialect %s: the languages are bpftrace, d and stap", value);
	case OPTION_TRANSLATE:
		request->translate = true;
		return !strcmp(value, "bpftrace") ? 0
						  : diag_fail(diag, EINVAL, "cli.translate",
							      "--translate %s: the language is bpftrace", value);
	case OPTION_MAX_SAMPLE:
		return options_sample_time(value, &request->sample_ns, diag);
	case OPTION_MODE:
		return take_mode(request, value, diag);
	case OPTION_BENCH:
		return take_mode(request, "bench", diag);
	case OPTION_TEST:
		return take_mode(request, "test", diag);
	case OPTION_FORMAT:
		return take_mode(request, "format", diag);
	case OPTION_PROBE_FILTER:
		request->probe_filter = value;
		return 0;
	case OPTION_INFO:
		bpftrace_info(stdout);
		return 1;
	case 'h':
		if (request->self == &command_bpftrace)
			puts("USAGE:");
		command_help(stdout, request->self);
		return 1;
	case 'V':
		puts("bpftrace v0.27.0 (strata " STRATA_VERSION ")");
		return 1;
	default:
		return 0;
	}
}

/* --- the program's text --- */

static const char *setting(void *context, const char *name)
{
	char variable[64] = "BPFTRACE_";
	size_t i;

	(void)context;
	for (i = 9; *name && i < sizeof(variable) - 1; i++, name++)
		variable[i] = (char)(*name >= 'a' && *name <= 'z' ? *name - 'a' + 'A' : *name);
	variable[i] = '\0';
	return getenv(variable);
}

/* --- running --- */

static int open_output(struct request *request, struct diag *diag)
{
	request->trace.out = request->output ? place_open(request->output) : stdout;
	if (!request->trace.out)
		return diag_fail(diag, errno, "cli.output", "%s: %m", request->output);
	/* It is flushed whenever all that came is written, on a terminal as well. */
	if (request->output || !request->buffering)
		setvbuf(request->trace.out, NULL, _IOFBF, OUTPUT_BYTES);
	return 0;
}

static struct compile_options options_of(const struct request *request)
{
	return (struct compile_options){.dialect = request->dialect,
					.path = request->file,
					.include_folders = request->include_folders.at,
					.include_folder_count = (uint32_t)request->include_folders.count,
					.includes = request->includes.at,
					.include_count = (uint32_t)request->includes.count,
					.parameters = request->parameters.at,
					.parameter_count = (uint32_t)request->parameters.count,
					.named = request->named.at,
					.named_count = (uint32_t)request->named.count,
					.unsafe = request->unsafe,
					.synthesize = request->synthesize,
					.debug_folders = request->debug_folders,
					.hide_warnings = request->hide_warnings,
					.warn_of_helpers = request->warn_of_helpers,
					.probe_filter = request->probe_filter,
					.traceable_functions = request->traceable_functions,
					.without = request->without,
					.sample_ns = request->sample_ns,
					.source_lines = request->trace.verbose,
					.pid = request->pid,
					.setting = setting};
}

static int list(const struct request *request, struct diag *diag)
{
	const struct listing listing = {.options = options_of(request),
					.program = request->program,
					.arguments = request->parameters.at,
					.count = request->parameters.count,
					.verbose = request->trace.verbose};
	int found = listing_print(&listing, diag);

	if (diag->tag)
		return fail(request, CLI_FAILED, diag);
	/* bpftrace's own status does not tell whether something was found. */
	return found > 0 || (request->self == &command_bpftrace && found == 0) ? cli_flush() : CLI_FAILED;
}

static int format_source(const struct request *request, const char *name, const char *source, size_t size,
			 struct diag *diag)
{
	struct compile_options options = options_of(request);
	int err = lang_format(name, source, size, &options, request->trace.out, stderr);

	if (err == -ENOTSUP)
		diag_fail(diag, ENOTSUP, "cli.format", "--fmt: there is no formatter for this language");
	else if (err != -ENOMEM)
		return err ? CLI_FAILED : cli_flush();
	else
		diag_fail(diag, ENOMEM, "cli.memory", "out of memory");
	return fail(request, CLI_FAILED, diag);
}

/* What a file is written in, by its name. */
static const struct dialect *dialect_of(const char *file)
{
	const char *suffix = file ? strrchr(file, '.') : NULL;

	return !suffix ? NULL : dialect_find(!strcmp(suffix, ".d") ? "d" : !strcmp(suffix, ".stp") ? "stap" : "");
}

static int translate(struct request *request, const char *name, const char *source, size_t size, struct diag *diag)
{
	size_t length = request->command ? strcspn(request->command, " \t") : 0;
	char *program = length ? strndup(request->command, length) : NULL;
	struct compile_options options;
	unsigned int marks = 0;
	int err;

	if (!request->dialect)
		request->dialect = dialect_of(request->file);
	options = options_of(request);
	options.command_path = program;
	err = lang_translate(name, source, size, &options, request->trace.out, stderr, &marks);
	free(program);
	if (err == -ENOTSUP)
		diag_fail(diag, ENOTSUP, "cli.translate",
			  "--translate: the script must be D or SystemTap's: FILE.d, FILE.stp, or say --dialect d");
	else if (err == -ENOMEM)
		diag_fail(diag, ENOMEM, "cli.memory", "out of memory");
	else if (err)
		return CLI_USAGE;
	if (err)
		return fail(request, err == -ENOTSUP ? CLI_USAGE : CLI_FAILED, diag);
	err = cli_flush();
	return err ? err : marks ? CLI_FAILED : CLI_DONE;
}

static int script_failed(const struct script *script, enum cli_status status, const struct diag *diag)
{
	return fail(script->context, status, diag);
}

static int run_source(struct request *request, const char *name, const char *source, size_t size, struct diag *diag)
{
	struct script script = {.name = name,
				.source = source,
				.size = size,
				.options = options_of(request),
				.trace = request->trace,
				.dump = request->dump,
				.command = request->command,
				.fail = script_failed,
				.context = request};

	if (request->translate)
		return translate(request, name, source, size, diag);
	if (request->format)
		return format_source(request, name, source, size, diag);
	script.trace.no_debuginfod = request->no_debuginfod;
	script.trace.stacks_of = request->stacks_of.at;
	script.trace.stacks_of_count = (uint32_t)request->stacks_of.count;
	return script_run(&script, diag);
}

static int run_file(struct request *request, struct diag *diag)
{
	size_t size;
	char *source = source_read(request->file, &size, diag);
	int status;

	if (!source)
		return fail(request, CLI_FAILED, diag);
	status = run_source(request, source_name(request->file), source, size, diag);
	free(source);
	return status;
}

static int sort_arguments(struct request *request, int argc, char **argv, int at)
{
	int err = 0;

	for (; at < argc && !err; at++) {
		if (!strcmp(argv[at], "--"))
			continue;
		if (!strncmp(argv[at], "--", 2))
			err = vec_push(&request->named, argv[at] + 2);
		else if (!request->program && !request->file && !request->list)
			request->file = argv[at];
		else
			err = vec_push(&request->parameters, argv[at]);
	}
	return err;
}

/* Options may stand behind the file as well, up to "--": as bpftrace has it. Gives where the arguments behind that
 * begin. */
static int parse_all(struct request *request, int argc, char **argv, struct diag *diag)
{
	int at = options_parse(request->self->options, request->self->called, argc, argv, take_option, request, diag);

	while (at > 0 && at < argc && strcmp(argv[at - 1], "--") && strcmp(argv[at], "--")) {
		/* One argument; it is where the name is for the next round. */
		int more;

		if (sort_arguments(request, at + 1, argv, at))
			return diag_fail(diag, ENOMEM, "cli.memory", "out of memory");
		more = options_parse(request->self->options, request->self->called, argc - at, argv + at, take_option,
				     request, diag);
		if (more <= 0)
			return more;
		at += more;
	}
	return at;
}

static int run_trace(const struct command *self, int argc, char **argv)
{
	struct request request = {.self = self, .dump.out = stdout};
	struct diag diag = {};
	int at = parse_all(&request, argc, argv, &diag), status;

	if (at < 0 && self == &command_bpftrace) {
		fputs("USAGE:\n", stderr);
		command_help(stderr, self);
	}
	if (at < 0)
		return fail(&request, CLI_USAGE, &diag);
	if (!at)
		return cli_flush();
	if (sort_arguments(&request, argc, argv, at) || open_output(&request, &diag)) {
		status = fail(&request, CLI_FAILED, &diag);
	} else if (request.pid && request.command) {
		diag_fail(&diag, EINVAL, "cli.target", "-p and -c exclude each other");
		status = fail(&request, CLI_USAGE, &diag);
	} else if (request.pid && check_process(request.pid, &diag)) {
		status = fail(&request, CLI_FAILED, &diag);
	} else if (request.list) {
		status = list(&request, &diag);
	} else if (request.program) {
		status = run_source(&request, "stdin", request.program, strlen(request.program), &diag);
	} else if (request.file) {
		status = run_file(&request, &diag);
	} else {
		diag_fail(&diag, EINVAL, "cli.program", "no program: give one with -e, or a file");
		status = fail(&request, CLI_USAGE, &diag);
	}
	if (request.trace.out)
		status = cli_close(request.trace.out, request.output, status);
	vec_free(&request.parameters);
	vec_free(&request.named);
	vec_free(&request.include_folders);
	vec_free(&request.includes);
	free(request.debug_folders);
	vec_free(&request.stacks_of);
	return status;
}

const struct command command_trace = {
	.name = "trace",
	.called = "strata trace",
	.summary = "runs programs in bpftrace's language when things happen",
	.usage = "[OPTIONS] [-e PROGRAM | FILE] [ARGUMENTS]",
	.options = rows + ROWS_OF_BPFTRACE,
	.run = run_trace,
};

const struct command command_bpftrace = {
	.name = "bpftrace",
	.called = "bpftrace",
	.summary = "runs programs in bpftrace's language when things happen",
	.usage = "[OPTIONS] [-e PROGRAM | FILE] [ARGUMENTS]",
	.options = rows,
	.run = run_trace,
};
