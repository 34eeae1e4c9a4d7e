// SPDX-License-Identifier: GPL-2.0-or-later
/* The stacks of calls, from records as the kernel part sends them: what they are where some are missing, and with
 * greenlets; times; the room of the timeline. */
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "calls/calls.h"
#include "calls/patterns.h"
#include "calls/text.h"
#include "calls/timeline.h"
#include "lang/core/compiler.h"
#include "tap.h"

#define TID 7

/* What a test tells: functions are letters, frames numbers, each record is a microsecond after the one before. */
struct story {
	struct functions *functions;
	struct follow follow;
	uint64_t time, sequence;
	uint64_t stolen; /* CPU time that turned out to be none */
	char *text;
	size_t size;
	FILE *out;
};

static uint64_t object_of(char function)
{
	return function ? 0x1000u * (unsigned char)function : 0;
}

static void begin(struct story *story, const struct follow_options *options)
{
	const char *c;

	*story = (struct story){.functions = functions_create(NULL, NULL)};
	for (c = "abcdef"; *c; c++) {
		struct rt_call_code code = {.code = object_of(*c), .first_line = 1, .name = {*c}, .file = "x.py"};

		functions_add(story->functions, &code);
	}
	story->out = open_memstream(&story->text, &story->size);
	follow_init(&story->follow, options, NULL, story);
}

static void record(struct story *story, uint32_t kind, char function, uint64_t frame, char parent,
		   uint64_t parent_frame)
{
	const struct rt_call call = {.time = story->time += 1000,
				     .cpu = story->time / 2 - story->stolen,
				     .frame = frame,
				     .object = object_of(function),
				     .parent = parent_frame,
				     .parent_object = object_of(parent),
				     .code = object_of(function),
				     .sequence = ++story->sequence,
				     .tid = TID,
				     .tgid = TID,
				     .kind = kind};

	follow_record(&story->follow, &call, functions_find(story->functions, call.code));
}

static void enter(struct story *story, char function, uint64_t frame, char parent, uint64_t parent_frame)
{
	record(story, RT_PYTHON_START, function, frame, parent, parent_frame);
}

static void leave(struct story *story, char function, uint64_t frame)
{
	record(story, RT_PYTHON_RETURN, function, frame, 0, 0);
}

static void lose(struct story *story, uint64_t count)
{
	story->sequence += count;
	story->time += 1000 * count;
}

/* a( b( and )RETURN, *LOST, ~PUT ASIDE, ?UNSEEN, !LOST RECORDS */
static void began(void *sink, struct calls_thread *thread, struct call *call)
{
	struct story *story = sink;

	(void)thread;
	fprintf(story->out, "%s%u(", call->function->name, call->level);
}

static void ended(void *sink, struct calls_thread *thread, const struct call *call, enum call_end how)
{
	static const char letters[] = {[CALL_END_RETURN] = ')',
				       [CALL_END_YIELD] = 'y',
				       [CALL_END_UNWIND] = 'x',
				       [CALL_END_LOST] = '*',
				       [CALL_END_OPEN] = '.'};
	struct story *story = sink;

	(void)thread;
	fprintf(story->out, "%s%c", call->function->name, letters[how]);
}

static void paused(void *sink, struct calls_thread *thread, const struct call *call)
{
	(void)thread;
	fprintf(((struct story *)sink)->out, "%s~", call->function->name);
}

static void unseen(void *sink, struct calls_thread *thread, const struct function *function, uint64_t time,
		   enum call_end how, bool lost)
{
	(void)thread;
	(void)time;
	(void)how;
	fprintf(((struct story *)sink)->out, "%s?%s", function->name, lost ? "!" : "");
}

static void lost(void *sink, struct calls_thread *thread, uint64_t time, uint64_t count)
{
	(void)thread;
	(void)time;
	fprintf(((struct story *)sink)->out, "[%" PRIu64 "]", count);
}

static const struct call_sink letters = {
	.began = began, .ended = ended, .paused = paused, .unseen = unseen, .lost = lost};

static struct function *named(const struct story *story, char function)
{
	return functions_find(story->functions, object_of(function));
}

static void end(struct story *story, const char *expected, const char *words)
{
	uint64_t own = 0, root = 0;
	size_t i;

	follow_end(&story->follow, story->time);
	fclose(story->out);
	is_str(story->text, expected, "%s", words);
	for (i = 0; i < functions_count(story->functions); i++)
		own += functions_at(story->functions, i)->own.wall;
	root = named(story, 'a')->total.wall;
	if (root)
		is_int(own, root, "  own times are the total of the outermost call");
	follow_deinit(&story->follow);
	functions_destroy(story->functions);
	free(story->text);
}

static void start(struct story *story)
{
	begin(story, &(struct follow_options){});
	story->follow.sink = &letters;
	story->follow.of_sink = story;
}

/* The kernel tells at a context switch that part of the time was not the thread's. */
static void corrected(void)
{
	struct story story;

	start(&story);
	enter(&story, 'a', 1, 0, 0);
	enter(&story, 'b', 2, 'a', 1);
	leave(&story, 'b', 2);
	story.stolen = 1400;
	enter(&story, 'b', 3, 'a', 1);
	leave(&story, 'b', 3);
	enter(&story, 'b', 4, 'a', 1);
	leave(&story, 'b', 4);
	leave(&story, 'a', 1);
	is_int(named(&story, 'a')->total.cpu, 3500 - 1400, "CPU time that was none is not counted twice");
	end(&story, "a0(b1(b)b1(b)b1(b)a)", "  whatever was called meanwhile");
}

static void ordinary(void)
{
	struct story story;

	start(&story);
	enter(&story, 'a', 1, 0, 0);
	enter(&story, 'b', 2, 'a', 1);
	enter(&story, 'b', 3, 'b', 2);
	leave(&story, 'b', 3);
	leave(&story, 'b', 2);
	record(&story, RT_PYTHON_START, 'c', 9, 'a', 1);
	record(&story, RT_PYTHON_YIELD, 'c', 9, 0, 0);
	record(&story, RT_PYTHON_THROW, 'c', 9, 0, 0);
	record(&story, RT_PYTHON_UNWIND, 'c', 9, 0, 0);
	leave(&story, 'a', 1);
	is_int(named(&story, 'b')->calls, 2, "calls");
	is_int(named(&story, 'b')->total.wall, 3000, "a function within itself: the outermost call's total");
	is_int(named(&story, 'b')->own.wall, 3000, "and all own times");
	is_int(named(&story, 'b')->own.cpu, 1500, "CPU time");
	is_int(named(&story, 'c')->calls, 2, "what is resumed is a call, as in cProfile");
	is_int(named(&story, 'c')->resumes, 1, "and counted");
	end(&story, "a0(b1(b2(b)b)c1(cyc1(cxa)", "calls within calls");

	start(&story);
	enter(&story, 'a', 1, 0, 0);
	enter(&story, 'a', 1, 0, 0);
	leave(&story, 'a', 1);
	is_int(named(&story, 'a')->calls, 1, "a first instruction that is executed twice is one call");
	end(&story, "a0(a)", "  and one line");
}

static void from(void)
{
	struct story story;

	begin(&story, &(struct follow_options){.has_from = true});
	story.follow.sink = &letters;
	story.follow.of_sink = &story;
	named(&story, 'c')->is_from = true;
	enter(&story, 'a', 1, 0, 0);
	enter(&story, 'b', 2, 'a', 1);
	enter(&story, 'f', 11, 0, 0); /* another greenlet, and back */
	leave(&story, 'f', 11);
	enter(&story, 'c', 3, 'b', 2);
	enter(&story, 'b', 4, 'c', 3);
	leave(&story, 'b', 4);
	leave(&story, 'c', 3);
	leave(&story, 'b', 2);
	leave(&story, 'a', 1);
	is_int(named(&story, 'b')->total.wall, 1000, "--from: a call around it that is not shown is not the outermost");
	end(&story, "c0(b1(b)c)", "  nor in the lines");

	begin(&story, &(struct follow_options){.depth = 2});
	story.follow.sink = &letters;
	story.follow.of_sink = &story;
	enter(&story, 'a', 1, 0, 0);
	enter(&story, 'b', 2, 'a', 1);
	enter(&story, 'a', 3, 'b', 2); /* not shown */
	enter(&story, 'a', 11, 0, 0);  /* another greenlet, and back */
	leave(&story, 'a', 11);
	leave(&story, 'a', 3);
	leave(&story, 'b', 2);
	enter(&story, 'a', 4, 'a', 1);
	leave(&story, 'a', 4);
	leave(&story, 'a', 1);
	is_int(named(&story, 'a')->total.wall, 9000, "--depth: nor does one that is too deep count when it ends");
	end(&story, "a0(b1(b~a~a0(a)b)a1(a)a)", "  or is put aside");
}

static void losses(void)
{
	struct story story;

	start(&story);
	enter(&story, 'a', 1, 0, 0);
	enter(&story, 'b', 2, 'a', 1);
	enter(&story, 'c', 3, 'b', 2);
	lose(&story, 2);
	enter(&story, 'd', 2, 'a', 1);
	leave(&story, 'd', 2);
	leave(&story, 'a', 1);
	is_int(story.follow.lost, 2, "records that are missing are counted");
	is_int(story.follow.repaired, 2, "and calls whose ends were among them");
	end(&story, "a0(b1(c2([2]c*b*d1(d)a)", "the next call goes below its caller");

	start(&story);
	enter(&story, 'a', 1, 0, 0);
	lose(&story, 1);
	leave(&story, 'b', 2);
	leave(&story, 'a', 1);
	end(&story, "a0([1]b?!a)", "an end whose beginning was lost");

	start(&story);
	enter(&story, 'a', 1, 0, 0);
	lose(&story, 1);
	enter(&story, 'c', 3, 'b', 2);
	leave(&story, 'c', 3);
	leave(&story, 'b', 2);
	leave(&story, 'a', 1);
	named(&story, 'a')->total.wall = 0; /* two outermost calls */
	end(&story, "a0([1]a~c0(c)b?!a)", "a call whose caller is not known is below nobody");

	start(&story);
	enter(&story, 'a', 1, 0, 0);
	enter(&story, 'b', 2, 'a', 1);
	lose(&story, 1);
	leave(&story, 'a', 1);
	end(&story, "a0(b1([1]b*a)", "the end of a call ends those within it");

	start(&story);
	enter(&story, 'a', 1, 0, 0);
	enter(&story, 'b', 2, 'a', 1);
	lose(&story, 2);
	enter(&story, 'c', 3, 'e', 2);
	end(&story, "a0(b1([2]b~a~c0(c.b.a.", "another function's frame at the same address is another frame");

	start(&story);
	leave(&story, 'c', 3);
	enter(&story, 'b', 2, 'a', 1);
	leave(&story, 'b', 2);
	leave(&story, 'a', 1);
	is_int(story.follow.unseen, 2, "ends of calls that began before");
	end(&story, "c?b0(b)a?", "in the middle of a stack");

	start(&story);
	enter(&story, 'a', 1, 0, 0);
	story.sequence = 0;
	enter(&story, 'b', 2, 0, 0);
	end(&story, "a0(a.b0(b.", "another thread with the number of an earlier one");

	start(&story);
	enter(&story, 'a', 1, 0, 0);
	enter(&story, 'b', 2, 'a', 1);
	enter(&story, 'c', 3, 'b', 2);
	story.sequence = 1;
	enter(&story, 'd', 2, 0, 0);
	is_int(story.follow.lost, 1, "of another thread with the number of an earlier one the first record is lost");
	named(&story, 'a')->total.wall = 0; /* two outermost calls */
	end(&story, "a0(b1(c2(c.b.a.[1]d0(d.", "  and it has a stack of its own");
}

static void greenlets(void)
{
	struct story story;

	start(&story);
	enter(&story, 'a', 1, 0, 0);
	enter(&story, 'b', 2, 'a', 1);
	enter(&story, 'c', 11, 0, 0); /* b switches to a new greenlet */
	enter(&story, 'd', 12, 'c', 11);
	enter(&story, 'e', 3, 'b', 2); /* d switches back */
	leave(&story, 'e', 3);
	leave(&story, 'd', 12); /* and b again */
	leave(&story, 'b', 2);
	leave(&story, 'c', 11);
	leave(&story, 'a', 1);
	is_int(story.follow.repaired + story.follow.unseen + story.follow.lost, 0, "greenlets lose nothing");
	is_int(named(&story, 'b')->total.wall, 3000, "what passes in another greenlet is not in the total");
	is_int(named(&story, 'a')->calls, 1, "calls");
	named(&story, 'a')->total.wall = 0; /* two outermost calls */
	end(&story, "a0(b1(b~a~c0(d1(d~c~e2(e)b~a~d)c~b)a~c)a)", "greenlets go on where they were");
}

static void pieces(void)
{
	struct timeline timeline = {.room = 1000};
	struct calls_thread thread = {.tid = 1, .tgid = 1, .lane = UINT32_MAX};
	struct functions *functions = functions_create(NULL, NULL);
	struct function *function = functions_at(functions, 0);
	struct diag diag = {};
	char *text = NULL;
	size_t size;
	FILE *out;
	int i;

	for (i = 1; i <= 5000; i++) {
		const struct call call = {.slice = 10 * (uint64_t)i, .ended = 11 * (uint64_t)i, .function = function};

		timeline_sink.ended(&timeline, &thread, &call, CALL_END_RETURN);
	}
	ok(timeline.pieces.count && timeline.pieces.count <= 1000, "a timeline has room for so many");
	is_int(timeline.pieces.count + timeline.dropped, 5000, "what it has not is counted");
	ok(timeline.least > 1 && timeline.pieces.at[0].took >= timeline.least, "the shortest go");
	out = open_memstream(&text, &size);
	ok(!timeline_write_html(&timeline, functions, "<notes>", out, &diag), "it is written as a page");
	fclose(out);
	ok(strstr(text, "\\u003cnotes\\u003e") && !strstr(text, "{{"), "in which text is no markup");
	free(text);
	timeline_deinit(&timeline);
	functions_destroy(functions);
}

static void counters(void)
{
	const struct calls_options options = {};
	struct diag diag = {};
	struct calls *calls = NULL;
	struct compiler compiler = {};
	const struct printer printer = {.compiler = &compiler};
	char *text = NULL;
	size_t size;
	FILE *out;

	ok(!calls_create(&options, &calls, &diag), "calls");
	compiler.dialect = calls_dialect(calls);
	compiler.dialect->print->lost(&printer, RT_COUNTER_PYTHON_JIT, 1000);
	compiler.dialect->print->lost(&printer, RT_COUNTER_DESCENDANTS, 3);
	out = open_memstream(&text, &size);
	calls_write_lost(calls, out);
	fclose(out);
	is_str(text,
	       "strata: 3 processes of the command were not followed: it had too many at a time\n"
	       "strata: 1000 signs of a Python's JIT: functions in what it has compiled are not told; "
	       "PYTHON_JIT=0 switches it off\n",
	       "each of the kernel part's counters has its own words");
	free(text);
	out = open_memstream(&text, &size);
	calls_write_summary_json(calls, out);
	fclose(out);
	ok(strstr(text, "{\"events\": 0, \"interrupted\": 0, \"processes\": 3, \"python_jit\": 1000,"),
	   "  and its own key: %s", text);
	free(text);
	calls_destroy(calls);
}

/* A random text of these letters. */
static void make_text(const char *of, size_t most, char *ret)
{
	size_t count = (size_t)rand() % most, i;

	for (i = 0; i < count; i++)
		ret[i] = of[(size_t)rand() % strlen(of)];
	ret[i] = '\0';
}

static void check_patterns(void)
{
	static const char *const odd[] = {"", "*", "**", "a*b*c", "[!a]b", "[]a]*", "[^]a]*", "[a-c]?", "\\*a",
					  "\\[b]", "[[:lower:]]*", "x[", "[[.a.]]", "a\\", "[a\\]]", "*.b"};
	struct rt_calls_patterns *patterns = calloc(1, sizeof(*patterns));
	unsigned int handled = 0, wrong = 0, round;
	char glob[16], text[16], longest[80];

	srand(1);
	for (round = 0; round < 40000; round++) {
		if (round % 10 == 0)
			make_text("aab.*?[]!-", sizeof(glob), glob);
		if (round % 100 == 0)
			snprintf(glob, sizeof(glob), "%s", odd[round / 100 % (sizeof(odd) / sizeof(*odd))]);
		make_text("aabc.*[]\\", sizeof(text), text);
		if (!pattern_add(patterns, round % RT_CALLS_PATTERNS, glob))
			continue;
		handled++;
		if (pattern_matches(patterns, round % RT_CALLS_PATTERNS, text) == !fnmatch(glob, text, 0))
			continue;
		wrong++;
		printf("# %s and %s\n", glob, text);
	}
	ok(handled > 20000 && !wrong, "patterns as the kernel part has them match what fnmatch() does");
	memset(longest, 'a', sizeof(longest));
	longest[63] = '\0';
	ok(pattern_add(patterns, 0, longest) && pattern_matches(patterns, 0, longest) &&
		       !pattern_matches(patterns, 0, longest + 1),
	       "a pattern of 63 parts");
	longest[63] = 'a';
	longest[64] = '\0';
	ok(!pattern_add(patterns, 0, longest), "one that is longer is not handled");
	free(patterns);
}

/* What rt_calls.bpf.c's are_wanted() says. */
static bool is_wanted(const struct rt_calls_wanted *wanted, const char *name, const char *file)
{
	return pattern_matches(&wanted->name, 0, name) || pattern_matches(&wanted->file, 0, file) ||
	       ((pattern_matches(&wanted->name, 1, name) || pattern_matches(&wanted->name, 2, name)) &&
		(!wanted->from_has_file || pattern_matches(&wanted->file, 1, file) ||
		 pattern_matches(&wanted->file, 2, file)));
}

static void check_wanted(void)
{
	static const char *const names[] = {"f", "A.f", "A.B.f", "Af", "g", "A.g", "f.g", "*"};
	static const char *const files[] = {"x.py", "/a/x.py", "/a/yx.py", "/a/x.pyc"};
	static const char *const from[] = {NULL, "f", "A.f", "x.py:f", "a/x.py:A.f", "*", "/a/x.py:g"};
	static const char *const match[] = {"f", "*g", "*/x.py", "nothing"};
	unsigned int wrong = 0, i, j, k, l;

	for (i = 0; i < sizeof(from) / sizeof(*from); i++)
		for (j = 0; j < sizeof(match) / sizeof(*match); j++) {
			struct rt_calls_wanted *wanted = calloc(1, sizeof(*wanted));
			bool handled = patterns_of_calls(match[j], from[i], wanted);

			for (k = 0; k < sizeof(names) / sizeof(*names); k++)
				for (l = 0; l < sizeof(files) / sizeof(*files); l++) {
					const struct function function = {.name = names[k], .file = files[l]};
					bool is = !fnmatch(match[j], names[k], 0) ||
						  (strchr(match[j], '/') && !fnmatch(match[j], files[l], 0)) ||
						  (from[i] && function_is_named(&function, from[i]));

					wrong += !handled || is != is_wanted(wanted, names[k], files[l]);
				}
			free(wanted);
		}
	ok(!wrong, "--match's functions and --from's are wanted, and no others");
}

int main(void)
{
	check_patterns();
	check_wanted();
	ordinary();
	corrected();
	from();
	losses();
	greenlets();
	pieces();
	counters();
	return tap_done();
}
