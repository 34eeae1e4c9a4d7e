// SPDX-License-Identifier: GPL-2.0-or-later
#include "calls/calls.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/time.h"
#include "calls/follow.h"
#include "calls/parts.h"
#include "calls/patterns.h"
#include "calls/text.h"
#include "kernel/features.h"
#include "lang/provider/provider.h"
#include "profile/near_names.h"

#define LOOK_EVERY_NS 50000000ull

/* --- the dialect: the same action at each place where a function begins or ends --- */

enum { SITE_CALL, SITE_CODE, SITES };

static const struct calls *of_compiler(const struct compiler *c)
{
	return (const struct calls *)((const char *)c->dialect - offsetof(struct calls, dialect));
}

static void begin(struct compiler *c)
{
	c->numbers[SETTING_MAX_MAP_KEYS] = 1;
	c->numbers[SETTING_MAX_STRLEN] = 64;
	c->numbers[SETTING_MAX_PROBES] = c->numbers[SETTING_MAX_BPF_PROGS] = 4096;
	c->texts[SETTING_MISSING_PROBES] = "error";
	c->texts[SETTING_LICENSE] = "GPL";
}

static void parse(struct compiler *c)
{
	static const char *const events[] = {"function-entry", "function-return"};
	size_t i;

	for (i = 0; i < 2; i++) {
		struct attach_text *point = arena_new(c->arena, struct attach_text);
		const char **parts = arena_array(c->arena, const char *, 2);

		if (c->arena->failed)
			return;
		parts[0] = "python";
		parts[1] = events[i];
		*point = (struct attach_text){.parts = parts, .part_count = 2};
		if (vec_push(&c->points, point))
			c->arena->failed = true;
	}
}

static void add_sites(struct compiler *c)
{
	static const uint32_t sizes[SITES] = {
		[SITE_CALL] = sizeof(struct rt_call), [SITE_CODE] = sizeof(struct rt_call_code)};
	uint32_t i;

	for (i = 0; i < SITES; i++) {
		const struct type *words = type_array(c->arena, &type_uint64, sizes[i] / 8);
		const struct site site = {.kind = SITE_OF_DIALECT,
					  .arguments = type_tuple(c->arena, &words, NULL, 1),
					  .is_frequent = i == SITE_CALL};

		if (vec_push(&c->sites, site))
			c->arena->failed = true;
	}
}

static void check(struct compiler *c)
{
	const struct calls *calls = of_compiler(c);
	size_t i;

	for (i = 0; i < c->points.count; i++) {
		const struct action action = {.probe = (uint32_t)i, .uses = USES_ARGS | USES_PLACE};

		provider_expand(c, &action, c->points.at[i]);
		if (c->report->errors)
			return;
	}
	if (!provider_expanded(c))
		return;
	add_sites(c);
	c->has_calls = true;
	c->calls_wanted = calls->wanted;
	for (i = 0; i < c->units.count; i++) {
		struct node *statement = node_create(c->arena, NODE_EXPRESSION, (struct span){}, 1);
		struct node *call = node_create(c->arena, NODE_CALL, (struct span){}, 0);

		if (c->arena->failed)
			return;
		call->builtin = CORE_PYTHON_CALL;
		call->type = &type_none;
		call->site = SITE_CALL;
		call->value = SITE_CODE;
		call->flags = (calls->options.lines ? CALLS_LINES : 0) | (c->calls_wanted ? CALLS_WANTED : 0);
		statement->type = &type_none;
		statement->kids[0] = call;
		c->units.at[i].body = statement;
	}
}

static void nothing(struct compiler *c)
{
	(void)c;
}

/* --- what the programs send --- */

static struct calls *of_printer(const struct printer *p)
{
	/* It was given as a constant because compilers do not change their dialect. */
	return (struct calls *)of_compiler(p->compiler);
}

static void record(const struct printer *p, const struct site *site, const uint8_t *bytes)
{
	struct calls *calls = of_printer(p);
	const struct rt_call *call = (const struct rt_call *)bytes;

	if (site == &p->compiler->sites.at[SITE_CODE])
		calls->lost.memory += functions_add(calls->functions, (const struct rt_call_code *)bytes) != 0;
	else
		follow_record(&calls->follow, call, functions_find(calls->functions, call->code));
}

static void drained(const struct printer *p)
{
	struct calls *calls = of_printer(p);
	uint64_t now = time_ns(CLOCK_MONOTONIC);

	if (!calls->options.text || now < calls->looked + LOOK_EVERY_NS)
		return;
	calls->looked = now;
	call_text_go_on(&calls->text, &calls->follow, now);
	fflush(calls->options.text);
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

static void lost(const struct printer *p, enum rt_counter what, uint64_t count)
{
	struct calls *calls = of_printer(p);

	if (what == RT_COUNTER_LOST)
		calls->no_room = count;
	else
		calls->lost.counters[what] = count;
}

static const struct dialect_print print = {
	.attached = attached, .ready = ready, .ended = ready, .record = record, .drained = drained, .lost = lost};

/* --- the whole --- */

/*
 * By the kernel part, if it can: with --depth calls of all functions count, and from a call that is sent the caller
 * that is sent has to be found, for which old kernels have no loop.
 */
static int decide_early(struct calls *calls)
{
	const struct calls_options *options = &calls->options;
	struct rt_calls_wanted *wanted;

	if (!options->match || options->depth || !feature_probe(FEATURE_BPF_LOOP))
		return 0;
	wanted = calloc(1, sizeof(*wanted));
	if (!wanted)
		return -ENOMEM;
	if (patterns_of_calls(options->match, options->from, wanted))
		calls->wanted = wanted;
	else
		free(wanted);
	return 0;
}

int calls_create(const struct calls_options *options, struct calls **ret, struct diag *diag)
{
	const struct follow_options how = {.has_from = options->from != NULL, .depth = options->depth};
	struct calls *calls = calloc(1, sizeof(*calls));

	if (calls)
		calls->functions = functions_create(options->from, options->match);
	if (calls)
		calls->options = *options;
	if (!calls || !calls->functions || decide_early(calls)) {
		functions_destroy(calls ? calls->functions : NULL);
		free(calls);
		return diag_fail(diag, ENOMEM, "calls.memory", "out of memory");
	}
	calls->dialect = (struct dialect){
		.name = "calls", .begin = begin, .parse = parse, .check = check, .end = nothing, .print = &print};
	calls->text = (struct call_text){.out = options->text, .color = options->color, .min_ns = options->min_ns};
	calls->timeline.room = TIMELINE_MAX;
	if (options->timeline)
		follow_init(&calls->follow, &how, &timeline_sink, &calls->timeline);
	else
		follow_init(&calls->follow, &how, options->text ? &call_text_sink : NULL, &calls->text);
	*ret = calls;
	return 0;
}

void calls_destroy(struct calls *calls)
{
	if (!calls)
		return;
	follow_deinit(&calls->follow);
	functions_destroy(calls->functions);
	timeline_deinit(&calls->timeline);
	free(calls->wanted);
	free(calls);
}

const struct dialect *calls_dialect(const struct calls *calls)
{
	return &calls->dialect;
}

void calls_end(struct calls *calls)
{
	follow_end(&calls->follow, time_ns(CLOCK_MONOTONIC));
}

struct calls_lost calls_lost(const struct calls *calls)
{
	struct calls_lost ret = calls->lost;

	/* The last ones of a thread are missing without another one that shows it. */
	ret.events += calls->no_room > calls->follow.lost ? calls->no_room : calls->follow.lost;
	ret.repaired = calls->follow.repaired;
	ret.unseen = calls->follow.unseen;
	ret.memory += calls->follow.memory + calls->timeline.memory;
	ret.short_calls = calls->timeline.dropped;
	ret.shorter_ns = calls->timeline.least;
	ret.functions = functions_refused(calls->functions);
	return ret;
}

void calls_lost_lines(const struct calls_lost *lost, struct lost_line lines[static LOST_LINES])
{
	const uint64_t *counters = lost->counters;
	const struct lost_line all[LOST_LINES] = {
		{lost->events, "events", "events were lost: there was no room for them"},
		{counters[RT_COUNTER_NO_FRAME], "interrupted",
		 "runs of probes were lost: too many were interrupted at the same time"},
		{counters[RT_COUNTER_DESCENDANTS], "processes",
		 "processes of the command were not followed: it had too many at a time"},
		{counters[RT_COUNTER_PYTHON_JIT], "python_jit",
		 "signs of a Python's JIT: functions in what it has compiled are not told; PYTHON_JIT=0 switches it "
		 "off"},
		{counters[RT_COUNTER_MAP_FULL], "map_full", "updates were refused: a map was full"},
		{counters[RT_COUNTER_LOOP_LIMIT], "loops", "loops were cut short"},
		{lost->repaired, "repaired", "calls ended without being seen"},
		{lost->unseen, "unseen", "calls ended whose beginning was not seen: most of them began before"},
		{lost->functions, "functions", "functions were too many to be told apart: [other functions]"},
		{lost->memory, "memory", "events could not be kept: out of memory"},
		{lost->short_calls, "short_calls",
		 "calls are not in the timeline, which was full: the shortest ones, shorter than "},
	};

	memcpy(lines, all, sizeof(all));
}

static void write_lost(const struct calls *calls, const char *before, FILE *out)
{
	const struct calls_lost lost = calls_lost(calls);
	struct lost_line lines[LOST_LINES];
	char shorter[32];
	size_t i;

	calls_lost_lines(&lost, lines);
	call_text_time(shorter, sizeof(shorter), lost.shorter_ns);
	for (i = 0; i < LOST_LINES; i++)
		if (lines[i].count)
			fprintf(out, "%s%" PRIu64 " %s%s\n", before, lines[i].count, lines[i].words,
				i + 1 == LOST_LINES ? shorter : "");
}

void calls_write_lost(const struct calls *calls, FILE *out)
{
	write_lost(calls, "strata: ", out);
}

typedef int timeline_writer(struct timeline *timeline, const struct functions *functions, const char *notes, FILE *out,
			    struct diag *diag);

static int write_timeline(struct calls *calls, timeline_writer *write, FILE *out, struct diag *diag)
{
	char *notes = NULL;
	size_t size;
	FILE *lines = open_memstream(&notes, &size);
	int err;

	if (!lines)
		return diag_fail(diag, ENOMEM, "calls.memory", "out of memory");
	write_lost(calls, "", lines);
	err = fclose(lines) ? diag_fail(diag, ENOMEM, "calls.memory", "out of memory")
			    : write(&calls->timeline, calls->functions, notes, out, diag);
	free(notes);
	return err;
}

int calls_write_html(struct calls *calls, FILE *out, struct diag *diag)
{
	return write_timeline(calls, timeline_write_html, out, diag);
}

int calls_write_chrome(struct calls *calls, FILE *out, struct diag *diag)
{
	return write_timeline(calls, timeline_write_chrome, out, diag);
}

/* --- what was never called --- */

char *calls_missed(const struct calls *calls)
{
	const char *from = calls->options.from, *match = calls->options.match;
	bool found_from = !from, found_match = !match, none;
	struct near_names near = {.separator = '.'};
	char *text = NULL;
	size_t size, i;
	FILE *out;

	for (i = 1; i < functions_count(calls->functions); i++) {
		found_from |= functions_at(calls->functions, i)->is_from;
		found_match |= functions_at(calls->functions, i)->is_matched;
	}
	none = functions_count(calls->functions) == 1;
	out = found_from && found_match && !none ? NULL : open_memstream(&text, &size);
	if (!out)
		return NULL;
	if (none)
		fputs("no function was called in the Pythons that were traced; of a command that starts another "
		      "program, those are the ones that run already or are in PATH: give the Python's own path",
		      out);
	else
		fprintf(out, "%s %s: no function of this name was called", found_from ? "--match" : "--from",
			found_from ? match : from);
	near.wanted = found_from ? match : from;
	for (i = 1; near.wanted && i < functions_count(calls->functions); i++)
		near_names_offer(&near, functions_at(calls->functions, i)->name);
	near_names_write(&near, out);
	fclose(out);
	return text;
}
