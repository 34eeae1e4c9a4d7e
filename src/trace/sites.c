// SPDX-License-Identifier: GPL-2.0-or-later
/* What each call of the script that made a record asks for. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "lang/core/record.h"
#include "lang/core/value.h"
#include "trace/run.h"
#include "trace/whole_lines.h"

#define LOOK_EVERY_NS      50000000ull
#define LOOK_EVERY_RECORDS 64 /* to ask for the time costs as much as to print one */

/* What a command or a file has to say: that may be of other programs. */
static void pass_on(struct run *run, const char *kind, const char *text, size_t size)
{
	char *shown = NULL;
	size_t shown_size = 0;
	FILE *memory;

	if (!run->printer.escape) {
		run->print->message(&run->printer, kind, text, size);
		return;
	}
	memory = open_memstream(&shown, &shown_size);
	if (!memory)
		return;
	print_lines(&run->printer, memory, text, size);
	fclose(memory);
	run->print->message(&run->printer, kind, shown, shown_size);
	free(shown);
}

void run_system(struct run *run, const char *command)
{
	char buffer[4096], *text = NULL;
	size_t size = 0;
	FILE *memory;
	int ends[2];
	ssize_t got;
	pid_t child;

	fflush(run->printer.out);
	if (pipe2(ends, O_CLOEXEC))
		return;
	child = fork();
	if (!child) {
		sigprocmask(SIG_SETMASK, &run->signals.before, NULL);
		dup2(ends[1], STDOUT_FILENO);
		execl("/bin/sh", "sh", "-c", command, (char *)NULL);
		_exit(127);
	}
	close(ends[1]);
	memory = open_memstream(&text, &size);
	while (child > 0 && ((got = read(ends[0], buffer, sizeof(buffer))) > 0 || (got < 0 && errno == EINTR)))
		if (memory && got > 0)
			fwrite(buffer, 1, (size_t)got, memory);
	close(ends[0]);
	if (child > 0)
		waitpid(child, NULL, 0);
	if (memory) {
		fclose(memory);
		pass_on(run, "syscall", text, size);
	}
	free(text);
}

static void cat(struct run *run, const char *path)
{
	size_t room = run->compiler->numbers[SETTING_MAX_CAT_BYTES], size = 0;
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	char *text = malloc(room + 1);
	ssize_t got;

	if (fd < 0) {
		fprintf(stderr, "ERROR: failed to open file '%s' (%s)\n", path, strerror(errno));
	} else if (text) {
		while (size < room && (got = read(fd, text + size, room - size)) > 0)
			size += (size_t)got;
		pass_on(run, "cat", text, size);
	}
	if (fd >= 0)
		close(fd);
	free(text);
}

static void print_time(struct run *run, const char *format)
{
	time_t now = time(NULL);
	struct tm broken;
	char text[1024];
	size_t size;

	localtime_r(&now, &broken);
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
	size = strftime(text, sizeof(text), format, &broken);
#pragma GCC diagnostic pop
	run->print->message(&run->printer, "time", text, size);
}

static void join(struct run *run, const struct site *site, const uint8_t *bytes)
{
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);
	uint32_t i;

	if (!out)
		return;
	for (i = 0; i < site->arguments->field_count; i++) {
		const char *part = (const char *)bytes + site->arguments->fields[i].offset;

		if (!*part)
			break;
		fputs(i ? site->format : "", out);
		print_data(&run->printer, out, part, strnlen(part, site->arguments->fields[i].type->size));
	}
	if (!run->printer.json)
		fputc('\n', out);
	fclose(out);
	run->print->message(&run->printer, "join", text, size);
	free(text);
}

static void unwatch(struct run *run, const uint8_t *bytes)
{
	uint64_t address = scalar_load(bytes, sizeof(address), false);
	size_t i;

	for (i = 0; i < run->watchpoints.count; i++)
		if (run->watchpoints.at[i].address == address)
			attachment_drop(&run->attachment.fds, run->watchpoints.at[i].first, run->watchpoints.at[i].end);
}

/* errorf() and warnf(): where it is, and by which macros it came there. */
static void complain(const struct report *report, const struct site *site, const char *text)
{
	bool is_warning = site->is_warning;
	const struct expansion_place *place = site->expanded;

	if (is_warning && report->hide_warnings)
		return;
	report_place(report, site->span, stderr);
	fprintf(stderr, ": %s: %s\n", is_warning ? "WARNING" : "ERROR", text);
	for (; place; place = place->outer)
		report_now(report,
			   &(struct complaint){.severity = is_warning ? SEVERITY_WARNING : SEVERITY_ERROR,
					       .span = place->span,
					       .text = "expanded from"},
			   stderr);
}

static const struct print_format *format_of(struct run *run, const struct site *site)
{
	struct print_format **format = &run->formats[site - run->latest->sites.at];

	if (!*format)
		*format = run->print->format_create(site->format);
	return *format;
}

static void formatted(struct run *run, const struct site *site, const uint8_t *bytes)
{
	const struct print_format *format = format_of(run, site);
	struct printer plain = run->printer;
	size_t size = 0;
	char *text = NULL;
	FILE *memory;

	if (format && site->kind == SITE_PRINTF && !run->printer.json) {
		run->print->formatted(&run->printer, run->printer.out, format, site->arguments, bytes);
		return;
	}
	memory = format ? open_memstream(&text, &size) : NULL;
	if (!memory)
		return;
	/* The others are commands and paths, or JSON. */
	plain.escape = site->kind == SITE_ERRORF && isatty(STDERR_FILENO);
	run->print->formatted(&plain, memory, format, site->arguments, bytes);
	fclose(memory);
	switch (site->kind) {
	case SITE_SYSTEM:
		run_system(run, text);
		break;
	case SITE_CAT:
		cat(run, text);
		break;
	case SITE_ERRORF:
		fflush(run->printer.out);
		run->errors += !site->is_warning;
		complain(&run->compilation->report, site, text);
		break;
	default:
		run->print->message(&run->printer, "printf", text, size);
	}
	free(text);
}

static void print_map_site(struct run *run, const struct site *site, const uint8_t *bytes)
{
	uint64_t numbers[3];

	memcpy(numbers, bytes, sizeof(numbers));
	run_print_map(run, site->map, true, numbers[0], numbers[1],
		      numbers[2] ? bytes + site->arguments->fields[3].offset : NULL);
}

static void warn(const struct run *run, const struct site *site)
{
	const struct report *report = &run->compilation->report;
	const char *name = report_source(report, site->span.begin)->name;
	struct span_place place = report_where(report, site->span);
	struct complaint complaint = {.severity = SEVERITY_WARNING, .span = site->span, .text = site->format};
	char more[128];

	fflush(run->printer.out);
	if (!site->helper || !run->printer.json) {
		snprintf(more, sizeof(more), "Additional Info - helper: %s, retcode: %d", site->helper, site->code);
		complaint.more = site->helper ? more : NULL;
		report_now(report, &complaint, stderr);
		return;
	}
	fputs("{\"type\": \"helper_error\", \"msg\": ", run->printer.out);
	print_json_string(run->printer.out, site->format, strlen(site->format));
	fprintf(run->printer.out, ", \"helper\": \"%s\", \"retcode\": %d, \"filename\": ", site->helper, site->code);
	print_json_string(run->printer.out, name, strlen(name));
	fprintf(run->printer.out, ", \"line\": %zu, \"col\": %zu}\n", place.line, place.column);
}

static void handle_site(struct run *run, const struct site *site, const uint8_t *bytes)
{
	switch (site->kind) {
	case SITE_PRINT:
		run->print->value_line(&run->printer, site->arguments->fields[0].type, bytes);
		break;
	case SITE_PRINT_MAP:
		print_map_site(run, site, bytes);
		break;
	case SITE_CLEAR:
		run_clear_map(run, site->map);
		break;
	case SITE_ZERO:
		run_zero_map(run, site->map);
		break;
	case SITE_TIME:
		print_time(run, site->format);
		break;
	case SITE_UNWATCH:
		unwatch(run, bytes);
		break;
	case SITE_WARNING:
		warn(run, site);
		break;
	case SITE_OF_DIALECT:
		run->print->record(&run->printer, site, bytes);
		break;
	case SITE_JOIN:
		join(run, site, bytes);
		break;
	default:
		formatted(run, site, bytes);
	}
}

/* What the script prints may come faster than it can be printed: signals, and the end, must have their turn. */
static int interrupted(struct run *run, enum site_kind kind)
{
	struct pollfd signals = {.fd = run->signals.fd, .events = POLLIN};
	struct timespec time;
	uint64_t now;

	/* What runs a command, or prints a map, may take long by itself. */
	if (run->taken++ % LOOK_EVERY_RECORDS && kind == SITE_PRINTF && !run->ending)
		return 0;
	clock_gettime(CLOCK_MONOTONIC, &time);
	now = (uint64_t)time.tv_sec * 1000000000ull + (uint64_t)time.tv_nsec;
	if (run->ending)
		return now > run->deadline ? -EINTR : 0;
	if (now < run->looked + LOOK_EVERY_NS)
		return 0;
	run->looked = now;
	return run->signals.fd >= 0 && poll(&signals, 1, 0) > 0 ? -EINTR : 0;
}

int run_record(void *context, void *data, size_t size)
{
	struct run *run = context;
	const struct rt_event *event = data;
	const uint8_t *bytes = (const uint8_t *)(event + 1);
	const struct site *site;
	uint64_t status;

	if (size < sizeof(*event))
		return 0;
	if (run->draining && event->type == RT_EVENT_SITE) {
		run->thrown++;
		return 0;
	}
	if (event->type < RT_EVENT_SITE)
		return run->stacks ? stacks_record(run->stacks, data, size) : 0;
	if (event->type == RT_EVENT_EXIT && size >= sizeof(*event) + 8) {
		memcpy(&status, event + 1, sizeof(status));
		if (!run->finished)
			run->result->status = (int)status;
		run->result->has_exit = true;
		run->finished = true;
		return 0;
	}
	/* After exit() only what `end` says is of interest. */
	if (run->finished || event->type != RT_EVENT_SITE || event->site >= run->latest->sites.count)
		return 0;
	site = &run->latest->sites.at[event->site];
	if (site->arguments)
		bytes = record_read(site->arguments, bytes, size - sizeof(*event), run->room);
	if (!bytes)
		return 0;
	handle_site(run, site, bytes);
	whole_lines_make_room(run->printer.out, run->options->out_buffer);
	return interrupted(run, site->kind);
}
