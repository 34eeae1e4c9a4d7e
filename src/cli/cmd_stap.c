// SPDX-License-Identifier: GPL-2.0-or-later
/* SystemTap's command line, when started under the name stap. */
#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>
#include <wordexp.h>

#include "base/place.h"
#include "base/vec.h"
#include "cli/checks.h"
#include "cli/command.h"
#include "cli/listing.h"
#include "cli/script.h"
#include "lang/dialect/dialect.h"
#include "trace/whole_lines.h"

#define LETTERS "+hVvtp:I:e:E:x:c:o:s:S:D:G:d:L:l:T:wWugkm:r:a:B:R:qFbPjKA:"

enum { OPTION_IGNORED = 256 };

static const struct option_row rows[] = {
	{'c', NULL, "COMMAND", "start this command, and end with it; target() is its process"},
	{'D', NULL, "NAME=VALUE", "set a limit: MAXSTRINGLEN, MAXMAPENTRIES, MAXACTION,\nMAXERRORS, MAXNESTING"},
	{'e', NULL, "SCRIPT", "run this script"},
	{'E', NULL, "SCRIPT", "run this one, too"},
	{'g', NULL, NULL, "accepted; embedded C is not supported"},
	{'G', NULL, "NAME=VALUE", "set a global variable"},
	{'I', NULL, "FOLDER", "look for tapsets there, too"},
	{'l', NULL, "POINT", "list the probes that match"},
	{'L', NULL, "POINT", "list them with their variables"},
	{'o', NULL, "FILE", "write the output to this file"},
	{'p', NULL, "PASS", "end after this pass: 1 (parsed) to 4 (compiled)"},
	{'s', NULL, "SIZE", "without effect: buffers are as large as they need to be"},
	{'T', NULL, "SECONDS", "end after so many seconds"},
	{'v', NULL, NULL, "tell which passes are done"},
	{'V', NULL, NULL, "print the version"},
	{'w', NULL, NULL, "print no warnings"},
	{'W', NULL, NULL, "accepted: warnings do not end the script"},
	{'x', NULL, "PID", "target() is this process"},
	{},
};

/* Long options that are about modules and other runtimes: without effect. */
static const struct option longs[] = {
	{"runtime", required_argument, NULL, OPTION_IGNORED},
	{"compatible", required_argument, NULL, OPTION_IGNORED},
	{"suppress-time-limits", no_argument, NULL, 's' + OPTION_IGNORED},
	{"suppress-handler-errors", no_argument, NULL, 'e' + OPTION_IGNORED},
	{"skip-badvars", no_argument, NULL, OPTION_IGNORED},
	{"ldd", no_argument, NULL, OPTION_IGNORED},
	{"all-modules", no_argument, NULL, OPTION_IGNORED},
	{"disable-cache", no_argument, NULL, OPTION_IGNORED},
	{"poison-cache", no_argument, NULL, OPTION_IGNORED},
	{"monitor", optional_argument, NULL, OPTION_IGNORED},
	{"color", optional_argument, NULL, OPTION_IGNORED},
	{"version", no_argument, NULL, 'V'},
	{"help", no_argument, NULL, 'h'},
	{},
};

struct request {
	const char *output, *command, *name, *path, *point;
	char *text; /* all scripts, one behind the other */
	size_t size;
	pid_t pid;
	int pass;
	bool verbose, list, list_variables, hide_warnings, has_script;
	VEC(const char *) parameters, options, folders, globals;
	VEC(char *) copies;
};

static int complain(const char *text, const char *what)
{
	fprintf(stderr, "ERROR: %s%s\n", text, what);
	return CLI_FAILED;
}

static int add_text(struct request *request, const char *text, size_t size)
{
	return script_append(&request->text, &request->size, text, size) ? complain("out of memory", "") : -1;
}

static int add_file(struct request *request, const char *path)
{
	struct diag diag = {};
	size_t size;
	char *text = source_read(path, &size, &diag);
	int status;

	if (!text)
		return complain("", diag.text);
	request->name = !strcmp(path, "-") ? "<input>" : path;
	request->path = path;
	status = add_text(request, text, size);
	free(text);
	return status;
}

static int add_made(struct request *request, char *text)
{
	if (!text || vec_push(&request->copies, text))
		return complain("out of memory", "");
	return -1;
}

static int add_line(struct request *request, char *text)
{
	int status = add_made(request, text);

	return status < 0 ? add_text(request, text, strlen(text)) : status;
}

static int add_option(struct request *request, const char *value)
{
	return vec_push(&request->options, value) ? CLI_FAILED : -1;
}

/* -T: as a probe of its own. */
static int add_timeout(struct request *request, const char *value)
{
	char *text, *end;
	double seconds = strtod(value, &end);

	if (end == value || *end || !(seconds > 0) || seconds > 1e9)
		return complain("-T needs a number of seconds, not ", value);
	if (asprintf(&text, "probe timer.ms(%lld) { exit() }", (long long)(seconds * 1000 < 1 ? 1 : seconds * 1000)) <
	    0)
		return CLI_FAILED;
	return add_line(request, text);
}

static int usage(FILE *out)
{
	command_help(out, &command_stap);
	return CLI_USAGE;
}

static int take_pass(struct request *request, const char *value)
{
	if (strlen(value) != 1 || *value < '1' || *value > '5')
		return complain("Invalid pass number (should be 1-5): ", value);
	request->pass = *value - '0';
	return -1;
}

static int take_process(struct request *request, const char *value)
{
	struct diag diag = {};

	if (take_pid(value, &request->pid, &diag) || check_process(request->pid, &diag))
		return complain("Invalid target process ID: ", value);
	return -1;
}

static int take_list(struct request *request, const char *value, bool variables)
{
	char *text;

	request->list = true;
	request->list_variables = variables;
	request->has_script = true;
	if (asprintf(&text, "probe %s { }", value) < 0 ||
	    add_option(request, variables ? "list-variables" : "list") >= 0)
		return CLI_FAILED;
	return add_line(request, text);
}

/* -1: go on; else the exit status. */
static int take_option(struct request *request, int letter, const char *value)
{
	switch (letter) {
	case 'e':
		if (request->has_script)
			return complain("You can't specify multiple scripts with -e/-l/-L/--dump-* options.", "");
		request->has_script = true;
		return add_text(request, value, strlen(value));
	case 'E':
		return add_text(request, value, strlen(value));
	case 'c':
		request->command = value;
		return -1;
	case 'x':
		return take_process(request, value);
	case 'D':
		return add_option(request, value);
	case 'G':
		if (!strchr(value, '='))
			return complain("-G needs NAME=VALUE, not ", value);
		return vec_push(&request->globals, value) ? CLI_FAILED : -1;
	case 'I':
		return vec_push(&request->folders, value) ? CLI_FAILED : -1;
	case 'l':
	case 'L':
		return take_list(request, value, letter == 'L');
	case 'o':
		request->output = value;
		return -1;
	case 'p':
		return take_pass(request, value);
	case 'T':
		return add_timeout(request, value);
	case 'v':
		request->verbose = true;
		return -1;
	case 'w':
		request->hide_warnings = true;
		return add_option(request, "hide-warnings");
	case 's' + OPTION_IGNORED:
		return add_option(request, "MAXACTION=90000000000000000");
	case 'e' + OPTION_IGNORED:
		return add_option(request, "MAXERRORS=9000000000000000000");
	case 'V':
		puts("Systemtap translator/driver (version 5.2, strata " STRATA_VERSION ")");
		return cli_flush();
	case 'h':
		usage(stdout);
		return cli_flush();
	case '?':
	case ':':
		usage(stderr);
		return CLI_FAILED;
	default:
		return -1;
	}
}

/* --- messages --- */

static const char *kind_of(const char *text, size_t size)
{
	if (!size)
		return "end of file";
	if ((*text >= '0' && *text <= '9'))
		return "number";
	if (*text == '"')
		return "string";
	return strchr("_$@", *text) || ((*text | 32) >= 'a' && (*text | 32) <= 'z') ? "identifier" : "operator";
}

static void show_line(const struct report *report, const struct complaint *one, const char *margin)
{
	const struct source *source = report_source(report, one->span.begin);
	struct span_place place = report_where(report, one->span);
	const char *line = report->source + one->span.begin - (place.column - 1);
	size_t length = strcspn(line, "\n"), i;

	if (one->span.begin - (place.column - 1) + length > source->end)
		length = source->end - (one->span.begin - (place.column - 1));
	fprintf(stderr, "%ssource: ", margin);
	report_text(stderr, line, length);
	fprintf(stderr, "\n%s        ", margin);
	for (i = 0; i + 1 < place.column; i++)
		fputc(' ', stderr);
	fputs("^\n", stderr);
}

static void report_one(const struct report *report, const struct complaint *one)
{
	bool is_parse = !strncmp(one->tag, "parse.", 6), has_place = one->span.end || one->span.begin;
	const char *text = report->source + one->span.begin;
	size_t size = one->span.end > one->span.begin ? one->span.end - one->span.begin : 0;
	struct span_place place;

	if (one->severity == SEVERITY_WARNING) {
		fputs("WARNING: ", stderr);
		report_text(stderr, one->text, strlen(one->text));
		fputc('\n', stderr);
		return;
	}
	fprintf(stderr, "%s error: ", is_parse ? "parse" : "semantic");
	report_text(stderr, one->text, strlen(one->text));
	if (has_place) {
		place = report_where(report, one->span);
		if (!size && is_parse) {
			fprintf(stderr, "\n\tsaw: %s EOF\n", report_source(report, one->span.begin)->name);
			return;
		}
		fprintf(stderr, is_parse ? "\n\tsaw: %s" : ": %s", kind_of(text, size));
		if (size) {
			fputs(" '", stderr);
			report_text(stderr, text, size < 60 ? size : 60);
			fputc('\'', stderr);
		}
		fprintf(stderr, " at %s:%zu:%zu\n", report_source(report, one->span.begin)->name, place.line,
			place.column);
		show_line(report, one, is_parse ? "     " : "        ");
	} else {
		fputc('\n', stderr);
	}
	if (one->hint) {
		fputs("        hint: ", stderr);
		report_text(stderr, one->hint, strlen(one->hint));
		fputc('\n', stderr);
	}
}

static void report(const struct script *script, const struct report *report)
{
	const struct request *request = script->context;
	bool parse = false, semantic = false;
	size_t i;

	for (i = 0; i < report->complaints.count; i++) {
		const struct complaint *one = &report->complaints.at[i];

		if (one->severity == SEVERITY_WARNING && request->hide_warnings)
			continue;
		report_one(report, one);
		parse |= one->severity == SEVERITY_ERROR && !strncmp(one->tag, "parse.", 6);
		semantic |= one->severity == SEVERITY_ERROR;
	}
	if (request->verbose && !semantic)
		fputs("Pass 1: parsed the script and the tapsets.\nPass 2: analyzed the script.\n"
		      "Pass 3: translated to BPF.\nPass 4: compiled.\n",
		      stderr);
	if (request->verbose && !semantic && (!request->pass || request->pass == 5))
		fputs("Pass 5: starting run.\n", stderr);
	if (parse)
		fputs("\nPass 1: parse failed.  [man error::pass1]\n", stderr);
	else if (semantic)
		fputs("\nPass 2: analysis failed.  [man error::pass2]\n", stderr);
}

static int failed(const struct script *script, enum cli_status status, const struct diag *diag)
{
	(void)script;
	(void)status;
	return complain(diag->text, "");
}

/* --- running --- */

static int list(struct request *request, struct script *script)
{
	struct compilation compilation;
	int err = lang_places(script->name, script->source, script->size, &script->options, script->trace.out,
			      &compilation);

	/* As stap has it: nothing found is no message. */
	if (err && request->verbose)
		report(script, &compilation.report);
	compilation_deinit(&compilation);
	return err ? CLI_FAILED : CLI_DONE;
}

/* -p1 to -p3, and what -v tells: whatever pass, the whole script is looked at. */
static int compile_only(struct request *request, struct script *script)
{
	struct compilation compilation;
	struct diag diag = {};
	const struct compile_dump dump = {.core = request->pass == 3, .out = script->trace.out};
	int err;

	own_namespace(&script->options.namespace_device, &script->options.namespace_inode);
	err = lang_compile(script->name, script->source, script->size, &script->options, &dump, &compilation, &diag);
	report(script, &compilation.report);
	if (err && diag.tag)
		complain(diag.text, "");
	compilation_deinit(&compilation);
	return err ? CLI_FAILED : CLI_DONE;
}

static int run_script(struct request *request, struct script *script)
{
	struct diag diag = {};
	int status = script_run(script, &diag);

	if (script->command_status) {
		fflush(script->trace.out);
		fprintf(stderr, "WARNING: Child process exited with status %d\n", script->command_status);
		status = CLI_FAILED;
	}
	if (status && !script->command_status && script->reached_run)
		fputs("WARNING: /usr/bin/staprun exited with status: 1\nPass 5: run failed.  [man error::pass5]\n",
		      stderr);
	(void)request;
	return status ? CLI_FAILED : CLI_DONE;
}

/*
 * The command as stap has it: its words are expanded, as by a shell, and it is executed itself. Only what needs a shell
 * (|, &, ;, <, >) is left to one. `words` is to be freed.
 */
static int split_command(const char *command, wordexp_t *words, char *shell[4], char ***ret)
{
	switch (wordexp(command, words, WRDE_NOCMD | WRDE_UNDEF)) {
	case 0:
		break;
	case WRDE_BADCHAR:
		shell[0] = "sh";
		shell[1] = "-c";
		shell[2] = (char *)command;
		*words = (wordexp_t){};
		*ret = shell;
		return -1;
	case WRDE_BADVAL:
		*words = (wordexp_t){};
		return complain("-c: the command has a variable that is not set: ", command);
	case WRDE_CMDSUB:
		*words = (wordexp_t){};
		return complain("-c: commands within the command are not executed: ", command);
	case WRDE_SYNTAX:
		*words = (wordexp_t){};
		return complain("-c: the quotes of the command do not match: ", command);
	default:
		return complain("out of memory", "");
	}
	*ret = words->we_wordv;
	return words->we_wordc ? -1 : complain("-c: the command is empty", "");
}

static int run(struct request *request)
{
	struct script script = {.name = request->name ? request->name : "<input>",
				.source = request->text ? request->text : "",
				.size = request->size,
				.trace = {.out = stdout, .quiet = true},
				.complain = report,
				.fail = failed,
				.context = request};
	char *shell[4] = {};
	wordexp_t words = {};
	bool is_file;
	int status = request->command ? split_command(request->command, &words, shell, &script.argv) : -1;

	if (status >= 0) {
		wordfree(&words);
		return status;
	}

	script.options = (struct compile_options){.dialect = &dialect_stap,
						  .path = request->path,
						  .parameters = request->parameters.at,
						  .parameter_count = (uint32_t)request->parameters.count,
						  .named = request->options.at,
						  .named_count = (uint32_t)request->options.count,
						  .include_folders = request->folders.at,
						  .include_folder_count = (uint32_t)request->folders.count,
						  .hide_warnings = request->hide_warnings,
						  .pid = request->pid};
	if (request->output) {
		script.trace.out = place_open(request->output);
		if (!script.trace.out) {
			wordfree(&words);
			return complain("could not open output file: ", strerror(errno));
		}
	}
	script.trace.out_buffer = whole_lines_begin(script.trace.out);
	if (script.argv)
		script.options.command_path = script.argv[0];
	if (request->list)
		status = list(request, &script);
	else if (request->pass && request->pass < 5)
		status = compile_only(request, &script);
	else
		status = run_script(request, &script);
	is_file = script.trace.out != stdout;
	status = cli_close(script.trace.out, request->output, status);
	if (is_file)
		free(script.trace.out_buffer);
	wordfree(&words);
	return status;
}

/* SystemTap takes options behind the script's name, too, up to --. */
static int each_option(struct request *request, int argc, char **argv)
{
	int letter, status = -1;

	for (optind = 1; optind < argc && status < 0; optind++) {
		while (status < 0 && (letter = getopt_long(argc, argv, LETTERS, longs, NULL)) != -1)
			status = take_option(request, letter, optarg);
		if (status >= 0 || optind >= argc)
			break;
		if (vec_push(&request->parameters, argv[optind]))
			status = CLI_FAILED;
	}
	return status;
}

/* The first argument is the script, unless -e or -l gave one. */
static int take_script(struct request *request)
{
	size_t i;
	int status = -1;

	if (!request->has_script && request->parameters.count) {
		const char *path = request->parameters.at[0];

		for (i = 1; i < request->parameters.count; i++)
			request->parameters.at[i - 1] = request->parameters.at[i];
		request->parameters.count--;
		status = add_file(request, path);
		request->has_script = true;
	}
	/* Behind all else: the globals are there by then. */
	for (i = 0; status < 0 && i < request->globals.count; i++) {
		char *text;

		if (asprintf(&text, "global=%s", request->globals.at[i]) < 0)
			return CLI_FAILED;
		status = add_made(request, text);
		if (status < 0)
			status = add_option(request, text);
	}
	if (status < 0 && !request->has_script) {
		complain("A script must be specified.", "");
		usage(stderr);
		return CLI_FAILED;
	}
	return status;
}

static int run_stap(const struct command *self, int argc, char **argv)
{
	struct request request = {};
	size_t i;
	int status;

	(void)self;
	status = argc == 1 ? (usage(stderr), CLI_FAILED) : each_option(&request, argc, argv);
	if (status < 0)
		status = take_script(&request);
	if (status < 0)
		status = run(&request);
	for (i = 0; i < request.copies.count; i++)
		free(request.copies.at[i]);
	vec_free(&request.copies);
	vec_free(&request.parameters);
	vec_free(&request.options);
	vec_free(&request.folders);
	vec_free(&request.globals);
	free(request.text);
	return status;
}

const struct command command_stap = {
	.name = "stap",
	.called = "stap",
	.summary = "runs SystemTap's scripts when things happen",
	.usage = "[OPTIONS] FILE [ARGUMENTS]",
	.options = rows,
	.run = run_stap,
};
