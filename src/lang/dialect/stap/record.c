// SPDX-License-Identifier: GPL-2.0-or-later
/* The running script: records, errors, the end. */
#include "lang/dialect/stap/run.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lang/core/value.h"

#define WRITE_EVERY 200000000ull /* nanoseconds */
#define CHUNK       65536

/* --- memory of a record --- */

char *stap_room(struct stap_run *run, size_t size)
{
	struct stap_chunk *chunk = run->chunks;
	char *room;

	size = (size + 15) & ~(size_t)15;
	if (!chunk || chunk->size - chunk->used < size) {
		size_t whole = size > CHUNK ? size : CHUNK;

		chunk = malloc(sizeof(*chunk) + whole);
		if (!chunk) {
			stap_fail(run, "out of memory");
			return NULL;
		}
		*chunk = (struct stap_chunk){.next = run->chunks, .size = whole};
		run->chunks = chunk;
	}
	room = chunk->bytes + chunk->used;
	chunk->used += size;
	return room;
}

static void give_back(struct stap_run *run, bool all)
{
	struct stap_chunk *chunk = run->chunks;
	size_t i;

	while (chunk && (chunk->next || all)) {
		run->chunks = chunk->next;
		free(chunk);
		chunk = run->chunks;
	}
	if (chunk)
		chunk->used = 0;
	for (i = 0; i < run->old.count; i++)
		free(run->old.at[i]);
	run->old.count = 0;
}

const char *stap_text(struct stap_run *run, const char *text, size_t size)
{
	size_t most = (size_t)run->state->limits[MAXSTRINGLEN] - 1;
	char *copy;

	size = size < most ? size : most;
	copy = stap_room(run, size + 1);
	if (!copy)
		return "";
	memcpy(copy, text, size);
	copy[size] = '\0';
	return copy;
}

/* --- errors --- */

static const char *kind_of(const char *text)
{
	static const char *const keywords[] = {"foreach", "for", "while", "if", "return", "delete", "try", "next"};
	size_t i;

	if ((*text >= '0' && *text <= '9'))
		return "number";
	if (*text == '"')
		return "string";
	for (i = 0; i < sizeof(keywords) / sizeof(keywords[0]); i++)
		if (!strncmp(text, keywords[i], strlen(keywords[i])))
			return "keyword";
	return strchr("_$@", *text) || ((*text | 32) >= 'a' && (*text | 32) <= 'z') ? "identifier" : "operator";
}

void stap_fail(struct stap_run *run, const char *format, ...)
{
	const struct report *report = run->c->report;
	const struct stap_node *node = run->at;
	char text[700];
	va_list list;

	va_start(list, format);
	vsnprintf(text, sizeof(text), format, list);
	va_end(list);
	if (node && node->span.end > node->span.begin && node->span.end <= report->size) {
		const char *source = report->source + node->span.begin;
		struct span_place place = report_where(report, node->span);

		snprintf(run->error, sizeof(run->error), "%s near %s '%.*s' at %.200s:%zu:%zu", text, kind_of(source),
			 (int)(node->span.end - node->span.begin < 64 ? node->span.end - node->span.begin : 64), source,
			 report_source(report, node->span.begin)->name, place.line, place.column);
	} else {
		snprintf(run->error, sizeof(run->error), "%s", text);
	}
	run->flow = FLOW_ERROR;
}

void stap_tell(struct stap_run *run, const char *before, const char *text)
{
	struct printer plain = *run->p;
	size_t size = strlen(text);

	plain.escape = isatty(STDERR_FILENO);
	fputs(before, stderr);
	print_data(&plain, stderr, text, size && text[size - 1] == '\n' ? size - 1 : size);
	fputc('\n', stderr);
}

static void stop(struct stap_run *run, int status)
{
	run->exited = true;
	run->p->deeds->exit(run->p->run, status);
}

/* One that nothing caught. */
static void tell_error(struct stap_run *run)
{
	fflush(run->p->out);
	stap_tell(run, "ERROR: ", run->error);
	if (++run->errors <= run->state->limits[MAXERRORS])
		return;
	run->failed = true;
	stop(run, 1);
}

/* --- what the record has --- */

const struct type_field *stap_slot_field(const struct stap_run *run, uint32_t slot)
{
	return slot && run->arguments && slot < run->arguments->field_count ? &run->arguments->fields[slot] : NULL;
}

int64_t stap_slot_number(const struct stap_run *run, uint32_t slot)
{
	const struct type_field *field = stap_slot_field(run, slot);

	return field && type_is_scalar(field->type)
		       ? (int64_t)scalar_load(run->bytes + field->offset, field->type->size, field->type->is_signed)
		       : 0;
}

const char *stap_slot_text(struct stap_run *run, uint32_t slot)
{
	const struct type_field *field = stap_slot_field(run, slot);
	const char *text = field ? (const char *)run->bytes + field->offset : NULL;

	if (!field || field->type->kind != TYPE_STRING)
		return "";
	return stap_text(run, text, strnlen(text, field->type->size));
}

uint32_t stap_slot_bytes(const struct stap_run *run, uint32_t slot, const uint8_t **ret)
{
	const struct type_field *field = stap_slot_field(run, slot);
	uint32_t size;

	if (!field || field->type->kind != TYPE_BUFFER)
		return 0;
	memcpy(&size, run->bytes + field->offset, sizeof(size));
	*ret = run->bytes + field->offset + sizeof(size);
	return size < field->type->size - sizeof(size) ? size : (uint32_t)(field->type->size - sizeof(size));
}

int64_t stap_need_number(const struct stap_run *run, enum stap_need need)
{
	return stap_slot_number(run, run->layout->needs[need]);
}

const char *stap_need_text(struct stap_run *run, enum stap_need need)
{
	return stap_slot_text(run, run->layout->needs[need]);
}

/* --- running --- */

void stap_run_end(struct stap_run *run)
{
	give_back(run, true);
	vec_free(&run->old);
	stap_map_destroy(run->indent);
	stap_map_destroy(run->family);
	free(run->tokens);
	free(run);
}

static void set_globals(struct stap_run *run)
{
	size_t i;

	for (i = 0; i < run->state->globals.count; i++) {
		struct stap_variable *variable = run->state->globals.at[i];

		if (!variable->initial)
			continue;
		variable->value.number = variable->initial->value;
		if (variable->type == STAP_STRING)
			variable->value.text = strdup(variable->initial->text);
	}
}

static struct stap_run *run_of(const struct printer *p)
{
	struct stap_state *state = stap_state(p->compiler);
	struct stap_run *run = state->run;

	if (!run) {
		run = calloc(1, sizeof(*run));
		if (!run)
			return NULL;
		run->state = state;
		run->c = (struct compiler *)(uintptr_t)p->compiler;
		state->run = run;
		set_globals(run);
	}
	run->p = p;
	return run;
}

static void run_handler(struct stap_run *run)
{
	const struct stap_handler *handler = run->handler;
	struct stap_frame frame = {};
	size_t i;

	run->flow = FLOW_ON;
	run->at = NULL;
	run->actions = 0;
	run->nesting = 0;
	frame.locals = (void *)stap_room(run, (handler->locals.count + 1) * sizeof(*frame.locals));
	for (i = 0; frame.locals && i < handler->locals.count; i++)
		frame.locals[i] = (struct stap_value){.text = ""};
	run->frame = &frame;
	if (frame.locals && (!handler->condition || stap_run_value(run, handler->condition).number))
		stap_run_statement(run, handler->body);
	if (run->flow == FLOW_ERROR)
		tell_error(run);
	run->frame = NULL;
	give_back(run, false);
}

static bool is_due(const struct stap_run *run)
{
	switch (run->handler->when) {
	case WHEN_END:
		return !run->failed;
	case WHEN_ERROR:
		return run->failed;
	case WHEN_NEVER:
		return false;
	default:
		return !run->exited;
	}
}

static void take_record(const struct printer *p, const struct site *site, const uint8_t *bytes)
{
	struct stap_run *run = run_of(p);
	uint64_t place = word_at(bytes);

	if (!run || place >= run->state->places.count)
		return;
	run->place = &run->state->places.at[place];
	run->handler = run->place->handler;
	run->layout = site->call;
	run->arguments = site->arguments;
	run->bytes = bytes;
	if (is_due(run))
		run_handler(run);
	run->arguments = NULL;
}

static void ended(const struct printer *p)
{
	struct stap_run *run = run_of(p);

	if (!run)
		return;
	stap_print_unread(run);
	if (!run->errors && !run->skipped)
		return;
	fflush(p->out);
	fprintf(stderr, "WARNING: Number of errors: %" PRId64 ", skipped probes: %" PRIu64 "\n", run->errors,
		run->skipped);
}

static void attached(const struct printer *p, size_t count, bool quiet)
{
	(void)p;
	(void)count;
	(void)quiet;
}

static void ready(const struct printer *p)
{
	(void)p;
}

static uint64_t write_every(const struct printer *p)
{
	(void)p;
	return WRITE_EVERY;
}

static void message(const struct printer *p, const char *type, const char *text, size_t size)
{
	(void)type;
	fwrite(text, 1, size, p->out);
}

static void lost(const struct printer *p, enum rt_counter what, uint64_t count)
{
	static const char *const texts[RT_COUNTER_COUNT] = {
		[RT_COUNTER_MAP_FULL] = "Array overflow, check MAXMAPENTRIES",
		[RT_COUNTER_LOOP_LIMIT] = "Loops that were cut short",
		[RT_COUNTER_PYTHON_JIT] = "Signs of a Python's JIT: functions in what it has compiled are not told",
		[RT_COUNTER_DESCENDANTS] = "Processes of the command that were not followed: it had too many at a time",
	};

	(void)p;
	if (what == RT_COUNTER_LOST)
		fprintf(stderr,
			"WARNING: There were %" PRIu64
			" transport failures: events came faster than they were handled\n",
			count);
	else if (what == RT_COUNTER_NO_FRAME)
		fprintf(stderr, "WARNING: Skipped probes: %" PRIu64 ": too many were interrupted at the same time\n",
			count);
	else if (texts[what])
		fprintf(stderr, "WARNING: %s: %" PRIu64 "\n", texts[what], count);
}

const struct dialect_print stap_print = {
	.attached = attached,
	.ready = ready,
	.ended = ended,
	.message = message,
	.write_every = write_every,
	.record = take_record,
	.lost = lost,
	.acts = true,
};
