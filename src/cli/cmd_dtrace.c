// SPDX-License-Identifier: GPL-2.0-or-later
/* DTrace's command line, when started under the name dtrace. */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/path.h"
#include "base/place.h"
#include "base/vec.h"
#include "cli/checks.h"
#include "cli/command.h"
#include "cli/dtrace_libraries.h"
#include "cli/listing.h"
#include "cli/script.h"
#include "lang/dialect/dialect.h"
#include "trace/whole_lines.h"

#define LETTERS "+3:6:aAb:Bc:CD:ef:FGhHi:I:lL:m:n:o:p:P:qs:SU:vVwx:X:Z"

static const struct option_row rows[] = {
	{'b', NULL, "SIZE", "without effect: buffers are as large as they need to be"},
	{'c', NULL, "COMMAND", "start this command, and end with it; its process is $target"},
	{'C', NULL, NULL, "run the preprocessor cpp over the programs first"},
	{'D', NULL, "NAME[=VALUE]", "define a macro of the preprocessor"},
	{'e', NULL, NULL, "compile, and do nothing else"},
	{'f', NULL, "FUNCTION",
	 "enable or list the probes of a function; as -m, -n, -P\nwith a predicate and an action"},
	{'F', NULL, NULL, "show calls by indentation"},
	{'G', NULL, NULL, "handed on to the next dtrace in PATH"},
	{'h', NULL, NULL, "handed on to the next dtrace in PATH"},
	{'I', NULL, "FOLDER", "where the preprocessor looks for headers"},
	{'l', NULL, NULL, "list the probes, and do nothing else"},
	{'L', NULL, "FOLDER", "compile its files *.d in front of the program, as libraries"},
	{'m', NULL, "MODULE", "enable or list the probes of a module"},
	{'n', NULL, "NAME", "enable or list probes: [[[PROVIDER:]MODULE:]FUNCTION:]NAME"},
	{'o', NULL, "FILE", "append the output to this file"},
	{'p', NULL, "PID", "end with this process; it is $target"},
	{'P', NULL, "PROVIDER", "enable or list the probes of a provider"},
	{'q', NULL, NULL, "print nothing but what the program prints"},
	{'s', NULL, "FILE", "a file with a program"},
	{'S', NULL, NULL, "print the program's instructions"},
	{'U', NULL, "NAME", "undefine a macro of the preprocessor"},
	{'v', NULL, NULL, "with -l: what probes of proc and sched are given"},
	{'V', NULL, NULL, "print the version"},
	{'w', NULL, NULL, "allow destructive actions"},
	{'x', NULL, "OPTION[=VALUE]", "set an option, as #pragma D option does"},
	{'Z', NULL, NULL, "allow descriptions that match no probe"},
	{},
};

struct request {
	const char *output, *command, *path; /* path: of the program that is a file; NULL: none */
	char *text;                          /* all programs, one behind the other */
	size_t size;
	const char *name; /* of the first one */
	bool list, verbose, only_compile, preprocess, errtags, quiet, debug;
	bool has_libraries; /* they are in the text */
	const char *cpp_path, *cpp_arguments; /* of the preprocessor; NULL: the one in PATH, none */
	pid_t pid;
	struct compile_dump dump;
	VEC(const char *) parameters, options, folders; /* folders: of libraries */
	struct dtrace_libraries libraries;
	VEC(char *) cpp;    /* the preprocessor's own arguments */
	VEC(char *) copies; /* that are freed at the end */
};

static int complain(const char *format, const char *what, const char *why)
{
	fputs("dtrace: ", stderr);
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
	fprintf(stderr, format, what, why);
#pragma GCC diagnostic pop
	fputc('\n', stderr);
	return CLI_FAILED;
}

/* What -x debug tells. */
static void __attribute__((format(printf, 2, 3))) tell(const struct request *request, const char *format, ...)
{
	va_list args;

	if (!request->debug)
		return;
	fprintf(stderr, "strata DEBUG %lld: ", (long long)time(NULL));
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fputc('\n', stderr);
}

/*
 * What cpp has written, with each line of the program on the line that it had. Its own lines, # NUMBER "FILE", say
 * where one was; lines of other files are put on one line, but for #pragma.
 */
static char *on_their_lines(char *text, size_t *size)
{
	char *out = NULL, *line, *rest = text;
	FILE *memory = open_memstream(&out, size);
	unsigned long at = 1, want = 1;
	bool is_own = true;

	while (memory && rest && (line = strsep(&rest, "\n"))) {
		char *file;

		if (*line == '#' && line[1] == ' ' && line[2] >= '0' && line[2] <= '9') {
			want = strtoul(line + 2, &file, 10);
			is_own = strstr(file, "\"/dev/stdin\"") != NULL;
			continue;
		}
		for (; is_own && at < want; at++)
			fputc('\n', memory);
		fputs(line, memory);
		if (is_own || *line == '#') {
			fputc('\n', memory);
			at++;
		} else {
			fputc(' ', memory);
		}
		want++;
	}
	if (memory)
		fclose(memory);
	free(text);
	return out;
}

/* A program through the preprocessor, as dtrace has it done: by the cpp in PATH. */
static char *preprocessed(struct request *request, const char *text, size_t size, size_t *ret)
{
	char path[] = "/tmp/strata-d-XXXXXX", *out = NULL, buffer[4096];
	int ends[2], status = 0, fd = mkstemp(path);
	FILE *memory;
	ssize_t got;
	pid_t child;

	if (fd < 0 || pipe2(ends, O_CLOEXEC))
		return NULL;
	/* The line that names the interpreter is none of the preprocessor's. */
	if (size > 2 && !strncmp(text, "#!", 2) && write(fd, "//", 2) == 2) {
		text += 2;
		size -= 2;
	}
	if (write(fd, text, size) != (ssize_t)size || lseek(fd, 0, SEEK_SET)) {
		close(fd);
		unlink(path);
		return NULL;
	}
	unlink(path);
	child = fork();
	if (!child) {
		VEC(char *) argv = {};
		char *more, *word, *save = NULL;
		size_t i;

		vec_push(&argv, (char *)(uintptr_t) "cpp");
		vec_push(&argv, (char *)(uintptr_t) "-D__DTRACE__=1");
		for (i = 0; i < request->cpp.count; i++)
			vec_push(&argv, request->cpp.at[i]);
		more = request->cpp_arguments ? strdup(request->cpp_arguments) : getenv("DTRACE_OPT_CPPARGS");
		for (word = more ? strtok_r(more, " ", &save) : NULL; word; word = strtok_r(NULL, " ", &save))
			vec_push(&argv, word);
		vec_push(&argv, (char *)(uintptr_t) "/dev/stdin");
		vec_push(&argv, NULL);
		dup2(fd, STDIN_FILENO);
		dup2(ends[1], STDOUT_FILENO);
		if (request->cpp_path)
			argv.at[0] = (char *)(uintptr_t)path_basename(request->cpp_path);
		execvp(request->cpp_path ? request->cpp_path : "cpp", argv.at);
		_exit(127);
	}
	close(fd);
	close(ends[1]);
	memory = open_memstream(&out, ret);
	while (child > 0 && ((got = read(ends[0], buffer, sizeof(buffer))) > 0 || (got < 0 && errno == EINTR)))
		if (memory && got > 0)
			fwrite(buffer, 1, (size_t)got, memory);
	close(ends[0]);
	if (child > 0)
		waitpid(child, &status, 0);
	if (memory)
		fclose(memory);
	if (child > 0 && !status && out)
		return on_their_lines(out, ret);
	free(out);
	return NULL;
}

/* In front of the first program. */
static int add_libraries(struct request *request)
{
	struct diag diag = {};
	int err = 0;
	size_t i;

	request->has_libraries = true;
	for (i = 0; i < request->folders.count && !err; i++)
		err = dtrace_libraries_read(&request->libraries, request->folders.at[i], &diag);
	if (!err)
		err = dtrace_libraries_append(&request->libraries, &request->text, &request->size, &diag);
	for (i = 0; i < request->libraries.order.count; i++)
		tell(request, "library %s", request->libraries.of.at[request->libraries.order.at[i]].path);
	return err ? complain("%s%s", diag.text, "") : CLI_DONE;
}

static int add_program(struct request *request, const char *text, size_t size, const char *name)
{
	char *made = NULL;
	int err;

	if (!request->has_libraries && add_libraries(request))
		return CLI_FAILED;
	tell(request, "program %s, %zu bytes", name, size);
	if (request->preprocess) {
		made = preprocessed(request, text, size, &size);
		if (!made)
			return complain("failed to compile script %s: %s", name,
					"Preprocessor failed to process input program");
	}
	if (!request->name)
		request->name = name;
	err = script_append(&request->text, &request->size, made ? made : text, size);
	free(made);
	return err ? complain("%s%s", "out of memory", "") : CLI_DONE;
}

static int bad_description(const struct request *request, const char *value, const char *format, const char *part,
			   size_t size)
{
	fprintf(stderr, "dtrace: invalid probe specifier %s: %s", value, request->errtags ? "[D_PDESC_INVAL] " : "");
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
	fprintf(stderr, format, (int)size, part);
#pragma GCC diagnostic pop
	fputc('\n', stderr);
	return CLI_FAILED;
}

static int add_made(struct request *request, char *text, const char *value)
{
	return vec_push(&request->copies, text) ? CLI_FAILED : add_program(request, text, strlen(text), value);
}

/*
 * -P, -m and -f say one part of a description, and what is before it; what follows it is a predicate and an action.
 */
static int add_description(struct request *request, const char *value, char letter)
{
	static const struct {
		char letter;
		int part;
		const char *name;
	} kinds[] = {{'P', 0, "providers"}, {'m', 1, "modules"}, {'f', 2, "functions"}};
	size_t length = strcspn(value, "{/;"), end = length, sizes[4] = {}, kind = 0;
	const char *parts[4] = {"", "", "", ""};
	char *text;
	int part;

	if (letter == 'n')
		return add_program(request, value, strlen(value), value);
	while (kinds[kind].letter != letter)
		kind++;
	while (end && strchr(" \t\n", value[end - 1]))
		end--;
	if (end && strspn(value, "0123456789"))
		return bad_description(request, value,
				       kind == 2   ? "probe identifier %.*s not permitted when specifying functions"
				       : kind == 1 ? "probe identifier %.*s not permitted when specifying modules"
						   : "probe identifier %.*s not permitted when specifying providers",
				       value, strspn(value, "0123456789"));
	for (part = kinds[kind].part, length = end; part >= 0; part--) {
		size_t from = length;

		while (from && value[from - 1] != ':')
			from--;
		parts[part] = value + from;
		sizes[part] = length - from;
		length = from ? from - 1 : 0;
		if (!from)
			break;
	}
	if (length)
		return bad_description(request, value,
				       "invalid probe description \"%.*s\": Overspecified probe description", value,
				       end);
	if (asprintf(&text, "%.*s:%.*s:%.*s: %s", (int)sizes[0], parts[0], (int)sizes[1], parts[1], (int)sizes[2],
		     parts[2], value + strcspn(value, "{/;")) < 0)
		return CLI_FAILED;
	return add_made(request, text, value);
}

/* -i: only dtrace's own probes have numbers that last. What is no number is a name. */
static int add_number(struct request *request, const char *value)
{
	static const char *const names[] = {"dtrace:::BEGIN", "dtrace:::END", "dtrace:::ERROR"};
	size_t digits = strspn(value, "0123456789");
	unsigned long number = strtoul(value, NULL, 10);
	char *text;

	if (!digits || (number && value[digits] == '-'))
		return add_program(request, value + digits, strlen(value + digits), value);
	if (!number || number > sizeof(names) / sizeof(names[0]))
		return bad_description(request, value, "invalid probe identifier %.*s: Unknown probe identifier", value,
				       digits);
	if (asprintf(&text, "%s %s", names[number - 1], value + digits) < 0)
		return CLI_FAILED;
	return add_made(request, text, value);
}

static int add_file(struct request *request, const char *path)
{
	struct diag diag = {};
	size_t size;
	char *text = source_read(path, &size, &diag);
	int status;

	if (!text)
		return complain("failed to open %s: %s", path, strerror(errno));
	if (!request->path && !request->name)
		request->path = path;
	status = add_program(request, text, size, path);
	free(text);
	return status;
}

/* The one whose work -h and -G are: the first in PATH that is not this program. */
static int hand_on(char **argv)
{
	char *path = getenv("PATH"), *copy = path ? strdup(path) : NULL, *folder, *save = NULL;
	char file[PATH_MAX];
	struct stat own, other;

	if (stat("/proc/self/exe", &own))
		return complain("%s%s", "-h and -G: /proc is not there", "");
	for (folder = copy ? strtok_r(copy, ":", &save) : NULL; folder; folder = strtok_r(NULL, ":", &save)) {
		snprintf(file, sizeof(file), "%s/dtrace", folder);
		if (stat(file, &other) || access(file, X_OK) ||
		    (own.st_ino == other.st_ino && own.st_dev == other.st_dev))
			continue;
		execv(file, argv);
	}
	free(copy);
	return complain("%s%s", "-h and -G need the dtrace of systemtap-sdt-dev in PATH", "");
}

static bool is_build(int argc, char **argv)
{
	int i;

	for (i = 1; i < argc; i++)
		if (argv[i][0] == '-' && argv[i][1] != '-' && strpbrk(argv[i], "hG") &&
		    strspn(argv[i] + 1, "hGCZqvw36") == strlen(argv[i] + 1))
			return true;
	return false;
}

static int add_cpp(struct request *request, char letter, const char *value)
{
	char *text;

	if (asprintf(&text, "-%c%s", letter, value) < 0)
		return CLI_FAILED;
	return vec_push(&request->copies, text) || vec_push(&request->cpp, text) ? CLI_FAILED : CLI_DONE;
}

/* Options that are about the preprocessor. */
static int add_cpp_option(struct request *request, const char *value)
{
	static const struct {
		const char *name;
		char letter;
	} rows_of_cpp[] = {{"define=", 'D'}, {"undef=", 'U'}, {"incdir=", 'I'}};
	size_t i;

	for (i = 0; i < sizeof(rows_of_cpp) / sizeof(rows_of_cpp[0]); i++)
		if (!strncmp(value, rows_of_cpp[i].name, strlen(rows_of_cpp[i].name)))
			return add_cpp(request, rows_of_cpp[i].letter, value + strlen(rows_of_cpp[i].name));
	if (!strncmp(value, "cpppath=", 8))
		request->cpp_path = value + 8;
	if (!strcmp(value, "cpphdrs"))
		return vec_push(&request->cpp, (char *)(uintptr_t) "-H") ? CLI_FAILED : CLI_DONE;
	/* Of the standards that dtrace names by letters, only that before ISO C is another one to cpp. */
	if (!strcmp(value, "stdc=s"))
		return vec_push(&request->cpp, (char *)(uintptr_t) "-traditional-cpp") ? CLI_FAILED : CLI_DONE;
	if (!strncmp(value, "cppargs=", 8))
		request->cpp_arguments = value + 8;
	return CLI_DONE;
}

static int usage(FILE *out)
{
	command_help(out, &command_dtrace);
	return CLI_USAGE;
}

/* Options that say what the programs are, when all others are known. */
static int take_program(struct request *request, int letter, const char *value)
{
	int status;

	switch (letter) {
	case 's':
		return add_file(request, value);
	case 'n':
	case 'P':
	case 'm':
	case 'f':
	case 'i':
		status = letter == 'i' ? add_number(request, value) : add_description(request, value, (char)letter);
		/* The next one is another program. */
		return status ? status : script_append(&request->text, &request->size, ";", 1) ? CLI_FAILED : CLI_DONE;
	default:
		return CLI_DONE;
	}
}

static int add_option(struct request *request, const char *value)
{
	return vec_push(&request->options, value) ? CLI_FAILED : CLI_DONE;
}

/* -1: go on; else the exit status. */
static int take_option(struct request *request, int letter, const char *value)
{
	struct diag diag = {};
	int status = CLI_DONE;
	char *text;

	switch (letter) {
	case 'b':
		if (asprintf(&text, "bufsize=%s", value) < 0 || vec_push(&request->copies, text))
			return CLI_FAILED;
		status = add_option(request, text);
		break;
	case 'c':
		if (request->command)
			return complain("%s%s", "only one -c is supported", "");
		request->command = value;
		break;
	case 'C':
		request->preprocess = true;
		break;
	case 'D':
	case 'U':
	case 'I':
		status = add_cpp(request, (char)letter, value);
		break;
	case 'e':
		request->only_compile = true;
		break;
	case 'F':
		status = add_option(request, "flowindent");
		break;
	case 'L':
		status = vec_push(&request->folders, value) ? CLI_FAILED : CLI_DONE;
		break;
	case 'l':
		request->list = true;
		status = add_option(request, "zdefs");
		break;
	case 'o':
		request->output = value;
		break;
	case 'p':
		if (take_pid(value, &request->pid, &diag))
			return strspn(value, "0123456789") == strlen(value)
				       ? complain("%s%s", "No such process", "")
				       : complain("invalid pid: %s%s", value, "");
		if (kill(request->pid, 0) && errno == ESRCH)
			return complain("%s%s", "No such process", "");
		if (check_process(request->pid, &diag))
			return complain("failed to grab process %s: %s", value, diag.text);
		break;
	case 'q':
		request->quiet = true;
		status = add_option(request, "quiet");
		break;
	case 'S':
		request->dump.instructions = true;
		break;
	case 'v':
		request->verbose = true;
		break;
	case 'V':
		fputs("dtrace: Oracle D 2.0", stdout);
		puts(getenv("_DTRACE_TESTING") ? "" : " (strata " STRATA_VERSION ")");
		return cli_flush();
	case 'w':
		status = add_option(request, "destructive");
		break;
	case 'x':
		request->errtags |= !strcmp(value, "errtags") || !strcmp(value, "tagerrs");
		status = add_cpp_option(request, value);
		request->preprocess |= !strcmp(value, "cpp");
		request->debug |= !strcmp(value, "debug");
		if (!status && !strncmp(value, "libdir=", 7) && vec_push(&request->folders, value + 7))
			status = CLI_FAILED;
		status = status ? status : add_option(request, value);
		break;
	case 'Z':
		status = add_option(request, "zdefs");
		break;
	case 'a':
	case 'A':
		return complain("%s%s", "anonymous tracing (-a, -A) is not supported", "");
	case '?':
	case ':':
		usage(stderr);
		return CLI_USAGE;
	default: /* those without effect, and programs */
		break;
	}
	return status ? status : -1;
}

/* dtrace takes arguments of the programs between options, too. */
static int each_option(struct request *request, int argc, char **argv, bool programs)
{
	int letter, status = -1;
	bool is_end = false;

	for (optind = 1; optind < argc && status < 0; optind++) {
		/* Behind -- are no options. */
		while (status < 0 && !is_end && (letter = getopt(argc, argv, LETTERS)) != -1) {
			if (programs)
				status = take_program(request, letter, optarg) ? CLI_FAILED : -1;
			else
				status = take_option(request, letter, optarg);
		}
		is_end |= optind > 1 && optind <= argc && !strcmp(argv[optind - 1], "--");
		if (status < 0 && !programs && optind < argc && vec_push(&request->parameters, argv[optind]))
			status = CLI_FAILED;
	}
	return status;
}

/* --- messages --- */

/* Lines of a message; those that go on begin with a tab. */
static void write_message(const char *text)
{
	size_t length;

	for (;; text += length + 1) {
		length = strcspn(text, "\n\t");
		report_text(stderr, text, length);
		if (!text[length])
			break;
		fputc(text[length], stderr);
	}
	fputc('\n', stderr);
}

/* What only strata tells: tests of dtrace's own compare what is printed with what dtrace prints. */
static void write_excerpt(const struct report *report, const struct complaint *one)
{
	if (!getenv("_DTRACE_TESTING"))
		report_excerpt(report, one, stderr);
}

/* About the whole program: each line is a message. */
static void write_refusal(const struct report *report, const struct complaint *one)
{
	const char *text = one->text, *end;

	for (; text; text = end ? end + 1 : NULL) {
		end = strchr(text, '\n');
		fputs("dtrace: ", stderr);
		report_text(stderr, text, end ? (size_t)(end - text) : strlen(text));
		fputc('\n', stderr);
	}
	write_excerpt(report, one);
}

/* Its line, in the program or in a library, whose path comes first. */
static void write_line(const struct request *request, const struct report *report, const struct complaint *one)
{
	const struct dtrace_libraries *libraries = &request->libraries;
	struct span place = one->told ? (struct span){one->told, one->told} : one->span;
	const struct dtrace_library *library = dtrace_libraries_find(libraries, place.begin);
	size_t before = 0, begin = library ? library->begin : 0, i;

	for (i = 0; !library && i < libraries->order.count; i++)
		begin = libraries->of.at[libraries->order.at[i]].end;
	before = report_where(report, (struct span){(uint32_t)begin, (uint32_t)begin}).line - 1;
	if (library)
		fprintf(stderr, "\"%s\", ", library->path);
	fprintf(stderr, "line %zu: ", report_where(report, place).line - before);
}

/* As dtrace does, this tells of the first mistake only. */
static void report(const struct script *script, const struct report *report)
{
	const struct request *request = script->context;
	size_t i;

	for (i = 0; i < report->complaints.count; i++) {
		const struct complaint *one = &report->complaints.at[i];

		if (one->severity == SEVERITY_WARNING && !strncmp(one->tag, "EDT_", 4)) {
			write_refusal(report, one);
			continue;
		}
		if (one->severity == SEVERITY_WARNING) {
			fputs("dtrace: warning: ", stderr);
			write_message(one->text);
			continue;
		}
		if (!strncmp(one->tag, "EDT_", 4)) {
			write_refusal(report, one);
			break;
		}
		if (request->path)
			fprintf(stderr, "dtrace: failed to compile script %s: ", request->path);
		else
			fprintf(stderr, "dtrace: invalid probe specifier %s: ", request->name);
		if (request->errtags)
			fprintf(stderr, "[%s] ", one->tag);
		if (one->span.end && (request->path || dtrace_libraries_find(&request->libraries, one->span.begin)))
			write_line(request, report, one);
		write_message(one->text);
		write_excerpt(report, one);
		break;
	}
}

static int failed(const struct script *script, enum cli_status status, const struct diag *diag)
{
	(void)script;
	(void)status;
	return complain("%s%s", diag->text, "");
}

/* --- running --- */

static bool has_mistake(const struct report *report)
{
	size_t i;

	for (i = 0; i < report->complaints.count; i++)
		if (report->complaints.at[i].severity == SEVERITY_ERROR &&
		    strncmp(report->complaints.at[i].tag, "EDT_", 4) != 0)
			return true;
	return false;
}

static int list(struct request *request, struct script *script)
{
	static const char everything[] = "dtrace:::,syscall:::,proc:::,sched:::,io:::,sdt::: {}";
	struct compilation compilation;
	char *text = NULL;
	size_t size;
	FILE *rows_out = open_memstream(&text, &size);
	char **command;
	int err;

	if (!rows_out)
		return complain("%s%s", "out of memory", "");
	/* It is not started: its file says what it has. */
	command = request->command ? script_split_command(request->command) : NULL;
	script->options.command_path = command ? command[0] : NULL;
	script->options.may_be_empty = true;
	script->options.tells_arguments = request->verbose;
	err = request->name ? lang_places(script->name, script->source, script->size, &script->options, rows_out,
					  &compilation)
			    : lang_places("all", everything, sizeof(everything) - 1, &script->options, rows_out,
					  &compilation);
	fclose(rows_out);
	if (!has_mistake(&compilation.report))
		fprintf(script->trace.out, "%5s %10s %17s %33s %s\n%s", "ID", "PROVIDER", "MODULE", "FUNCTION", "NAME",
			text ? text : "");
	free(text);
	report(script, &compilation.report);
	compilation_deinit(&compilation);
	script_free_command(command);
	return err ? CLI_FAILED : CLI_DONE;
}

static int run(struct request *request)
{
	struct diag diag = {};
	struct script script = {.name = request->name ? request->name : "",
				.source = request->text ? request->text : "",
				.size = request->size,
				.trace = {.out = stdout, .quiet = request->quiet, .dry_run = request->only_compile},
				.dump = request->dump,
				.command = request->list ? NULL : request->command,
				.always_starts = true,
				.ignores_status = true,
				.complain = report,
				.fail = failed,
				.context = request};
	bool is_file;
	int status;

	script.dump.out = stdout;
	script.options = (struct compile_options){.dialect = &dialect_d,
						  .path = request->path,
						  .parameters = request->parameters.at,
						  .parameter_count = (uint32_t)request->parameters.count,
						  .named = request->options.at,
						  .named_count = (uint32_t)request->options.count,
						  .pid = request->pid};
	if (request->output) {
		script.trace.out = place_append(request->output);
		if (!script.trace.out)
			return complain("failed to open output file '%s': %s", request->output, strerror(errno));
	}
	script.trace.out_buffer = whole_lines_begin(script.trace.out);
	status = request->list ? list(request, &script) : script_run(&script, &diag);
	is_file = script.trace.out != stdout;
	status = cli_close(script.trace.out, request->output, status);
	if (is_file)
		free(script.trace.out_buffer);
	return status;
}

static int run_dtrace(const struct command *self, int argc, char **argv)
{
	struct request request = {.debug = getenv("DTRACE_DEBUG") != NULL};
	size_t i;
	int status;

	(void)self;
	if (argc == 2 && !strcmp(argv[1], "--help")) {
		usage(stdout);
		return cli_flush();
	}
	if (is_build(argc, argv))
		return hand_on(argv);
	opterr = 1;
	status = each_option(&request, argc, argv, false);
	if (status < 0)
		status = each_option(&request, argc, argv, true);
	if (status < 0 && !request.name && !request.list)
		status = argc == 1              ? usage(stderr)
			 : request.only_compile ? CLI_DONE
						: complain("%s%s", "no probes specified", "");
	if (status < 0)
		status = run(&request);
	for (i = 0; i < request.copies.count; i++)
		free(request.copies.at[i]);
	vec_free(&request.copies);
	vec_free(&request.cpp);
	vec_free(&request.parameters);
	vec_free(&request.options);
	vec_free(&request.folders);
	dtrace_libraries_deinit(&request.libraries);
	free(request.text);
	return status;
}

const struct command command_dtrace = {
	.name = "dtrace",
	.called = "dtrace",
	.summary = "runs D programs when things happen",
	.usage = "[OPTIONS] [ARGUMENTS]",
	.options = rows,
	.run = run_dtrace,
};
