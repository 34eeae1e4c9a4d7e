// SPDX-License-Identifier: GPL-2.0-or-later
/* strata diff: recordings that are read back, damaged ones, and what is told to differ. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "diff/compare.h"
#include "diff/read.h"
#include "export/export.h"
#include "tap.h"

#define MEMORY 65536

static int read_text(struct profile *profile, enum read_side side, const char *text, struct recording *ret)
{
	struct diag diag = {};

	return read_bytes((const uint8_t *)text, strlen(text), side, profile, ret, &diag);
}

static void add(struct profile *profile, const char *comm, uint64_t count, const struct frame *frames, uint32_t depth)
{
	uint32_t ids[8], i;

	for (i = 0; i < depth; i++)
		profile_frame(profile, &frames[i], &ids[i]);
	profile_add(profile, comm, 1, 2, ids, depth, count);
}

static struct profile *made(void)
{
	static const struct frame frames[] = {
		{.layer = FRAME_NATIVE, .name = "main", .file = "app"},
		{.layer = FRAME_RUNTIME, .name = "<module>", .file = "/srv/a b.py", .line = 3, .runtime = "python"},
		{.layer = FRAME_NATIVE, .name = "operator()(int (*)(long))", .file = "libx.so.1"},
		{.layer = FRAME_NATIVE, .name = "0x1f40", .file = ""},
		{.layer = FRAME_KERNEL, .name = "do_syscall_64", .file = ""},
		{.layer = FRAME_MARK, .name = "[truncated]", .file = ""},
	};
	struct profile *profile = profile_create();

	add(profile, "worker", 7, frames, 6);
	add(profile, "worker", 5, frames, 3);
	add(profile, "other", 1, frames + 5, 1);
	*profile_info(profile) = (struct profile_info){.command = "app --all",
						       .hostname = "",
						       .kernel = "",
						       .strata_version = "",
						       .frequency = 100,
						       .start_time = 1.7e9,
						       .duration_s = 2.5};
	return profile;
}

/* A profile as a file in memory; *size is its size. */
static char *written(const struct profile *profile, const struct exporter *exporter, size_t *size)
{
	struct export_options options = {};
	struct diag diag = {};
	char *bytes = NULL;
	FILE *out = open_memstream(&bytes, size);

	exporter->write(out, profile, &options, &diag);
	fclose(out);
	return bytes;
}

static void test_formats(void)
{
	const struct exporter *formats[] = {&export_folded, &export_pprof};
	struct profile *profile = made();
	size_t size, again_size, i;
	char *folded = written(profile, &export_folded, &size), *bytes, *again;

	for (i = 0; i < 2; i++) {
		struct profile *back = profile_create();
		struct recording recording = {};
		struct diag diag = {};

		bytes = written(profile, formats[i], &size);
		is_int(read_bytes((uint8_t *)bytes, size, READ_AFTER, back, &recording, &diag), 0, "%s is read",
		       formats[i]->suffix);
		again = written(back, &export_folded, &again_size);
		is_str(again, folded, "with all its stacks");
		is_int(recording.samples, 13, "and samples");
		if (formats[i] == &export_pprof) {
			ok(fabs(recording.duration_s - 2.5) < 1e-6 && fabs(recording.period_ns - 1e7) < 1, "its times");
			is_str(recording.command, "app --all", "its command");
		}
		free(bytes);
		free(again);
		profile_destroy(back);
	}
	free(folded);
	profile_destroy(profile);
}

static void test_sides(void)
{
	struct profile *profile = profile_create();
	struct recording recording = {};
	const struct profile_sample *sample;

	read_text(profile, READ_BEFORE, "a;f (x);g (x) 3\na;f (x) 2\n", &recording);
	read_text(profile, READ_AFTER, "a;f (x);g (x) 4\n", &recording);
	is_int(profile_sample_count(profile), 2, "equal stacks of both are one");
	sample = profile_sample_at(profile, 0);
	ok(sample->before == 3 && sample->count == 4, "with both counts");
	sample = profile_sample_at(profile, 1);
	ok(sample->before == 2 && sample->count == 0, "what is gone has its count before");
	profile_destroy(profile);
}

static void test_damaged(void)
{
	static const struct {
		const char *what, *text;
		int expected;
	} rows[] = {
		{"no count", "a;b;c\n", -EINVAL},
		{"a word for a count", "a;b c\n", -EINVAL},
		{"a count that is too large", "a;b 99999999999999999999\n", -EINVAL},
		{"a sum that is too large", "a;b 9007199254740991\na;c 9007199254740991\n", -EINVAL},
		{"a negative count", "a;b -3\n", -EINVAL},
		{"no newline at the end", "a;b 3", 0},
		{"Windows's ends of lines", "a;b 3\r\n", 0},
		{"empty frames", "a;;b;; 3\n", 0},
		{"nothing", "", 0},
		{"zero samples", "a;b 0\n", 0},
	};
	struct profile *pprof = made();
	struct recording recording = {};
	size_t size, i, bad = 0;
	char *bytes = written(pprof, &export_pprof, &size);
	struct diag diag = {};

	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct profile *profile = profile_create();

		is_int(read_text(profile, READ_AFTER, rows[i].text, &recording), rows[i].expected, "%s", rows[i].what);
		profile_destroy(profile);
	}
	for (i = 2; i < size; i++) {
		struct profile *profile = profile_create();

		bad += read_bytes((uint8_t *)bytes, i, READ_AFTER, profile, &recording, &diag) != -EINVAL;
		profile_destroy(profile);
	}
	is_int(bad, 0, "a pprof file that is cut off is refused, wherever");
	free(bytes);
	profile_destroy(pprof);
}

/* A stack too deep, and a file whose few bytes are more frames than memory has. */
static void test_limits(void)
{
	struct profile *profile = profile_create();
	struct recording recording = {};
	size_t depth = READ_DEPTH_MAX + 10, i;
	char *text = malloc(2 * depth + 16);
	/* Location 1 has 100 lines; a sample names it 700 times; sample types: one. */
	uint8_t *bytes = malloc(MEMORY), *at = bytes;
	struct diag diag = {};

	text[0] = 'c';
	for (i = 0; i < depth; i++)
		memcpy(text + 1 + 2 * i, ";f", 2);
	strcpy(text + 1 + 2 * depth, " 1\n");
	is_int(read_text(profile, READ_AFTER, text, &recording), -EFBIG, "a stack that is too deep is refused");
	free(text);
	at = mempcpy(at, "\x0a\x02\x08\x01", 4);
	at = mempcpy(at, "\x22\xca\x01\x08\x01", 5); /* 202 bytes: the id, and 100 empty lines */
	for (i = 0; i < 100; i++)
		at = mempcpy(at, "\x22\x00", 2);
	at = mempcpy(at, "\x12\xc2\x05\x0a\xbc\x05", 6); /* 700 ids, a value */
	memset(at, 1, 700);
	at += 700;
	at = mempcpy(at, "\x12\x01\x01", 3);
	is_int(read_bytes(bytes, (size_t)(at - bytes), READ_AFTER, profile, &recording, &diag), -EFBIG,
	       "so are few bytes that are many frames: %s", diag.text);
	free(bytes);
	profile_destroy(profile);
}

/* P(X >= k) of a binomial, and of at most k. */
static double tail(unsigned int n, double p, unsigned int k, bool upper)
{
	double sum = 0;
	unsigned int i;

	for (i = 0; i <= n; i++)
		if (upper ? i >= k : i <= k)
			sum += exp(lgamma(n + 1) - lgamma(i + 1) - lgamma(n - i + 1) + i * log(p) +
				   (n - i) * log1p(-p));
	return sum;
}

/*
 * By time, whether a count is after or before is a binomial, which can be computed. What is told to differ must be
 * rare by it, and what is rare by far must be told.
 */
static void test_significance(void)
{
	static const double exposures[][2] = {{1000, 1000}, {1000, 5000}, {40000, 1000}};
	unsigned int missed = 0, wrong = 0, told = 0, before, after, i;

	for (i = 0; i < 3; i++) {
		const struct profile_compared how = {
			.weight_before = 1 / exposures[i][0], .weight = 1 / exposures[i][1], .by_time = true};
		double p = exposures[i][1] / (exposures[i][0] + exposures[i][1]);

		for (before = 0; before < 80; before++) {
			for (after = 0; after < 80; after++) {
				double one = fmin(tail(before + after, p, after, true),
						  tail(before + after, p, after, false));

				if (compare_differs(&how, before, after, 0)) {
					told++;
					wrong += one > 0.001;
				} else {
					missed += before + after >= 10 && one < 0.0001;
				}
			}
		}
	}
	ok(told > 1000, "differences are told: %u", told);
	is_int(wrong, 0, "none with an exact one-sided p above 0.001");
	is_int(missed, 0, "none missed with one below 0.0001");
}

/* Exponentially distributed, in microseconds: the worst that independent waits are likely to be. */
static double wait_us(uint64_t *state, double mean)
{
	*state = *state * 6364136223846793005u + 1442695040888963407u;
	return -mean * log(((double)(*state >> 11) + 1) / 9007199254740993.0);
}

/* Two programs' waits of a function and of all the others, as often as told; whether they are said to differ. */
static bool waits_differ(uint64_t *state, bool by_time, unsigned int waits, double mean, double changed)
{
	double sums[2] = {}, squares[2] = {}, others[2] = {}, all_squares = 0, weights[2];
	struct profile_compared how = {.times = true, .by_time = by_time};
	unsigned int i, j;

	for (i = 0; i < 2; i++) {
		unsigned int other = 3 * waits;

		for (j = 0; j < waits; j++) {
			double one = wait_us(state, i ? changed : mean);

			sums[i] += one;
			squares[i] += one * one;
		}
		all_squares = squares[i];
		for (j = 0; j < other; j++) {
			double one = wait_us(state, mean);

			others[i] += one;
			all_squares += one * one;
		}
		weights[i] = by_time ? 1e-6 : 1 / (sums[i] + others[i]);
		how.spread += all_squares * weights[i] * weights[i];
	}
	how.weight_before = weights[0];
	how.weight = weights[1];
	return compare_differs(&how, (uint64_t)sums[0], (uint64_t)sums[1],
			       squares[0] * weights[0] * weights[0] + squares[1] * weights[1] * weights[1]);
}

static void test_times(void)
{
	unsigned int by_time, i;

	for (by_time = 0; by_time < 2; by_time++) {
		unsigned int wrong = 0, missed = 0, few = 0;
		uint64_t state = 1;

		for (i = 0; i < 3000; i++) {
			wrong += waits_differ(&state, by_time, 200, 5000, 5000);
			missed += !waits_differ(&state, by_time, 1000, 5000, 8000);
			few += waits_differ(&state, by_time, 4, 5000, 500000);
		}
		ok(wrong <= 9, "%s: equal waits are hardly ever said to differ: %u of 3000",
		   by_time ? "time" : "share", wrong);
		is_int(missed, 0, "longer ones always");
		is_int(few, 0, "of too few nothing is said");
	}
}

/* The outermost function is in all stacks, of both recordings: its share is 1, whatever rounding makes of it. */
static void test_whole(void)
{
	unsigned int wrong = 0, i;

	for (i = 1; i <= 3000; i++) {
		uint64_t before = 17 * i + 100, after = 29 * i + 200, each = i;
		double weights[] = {1 / (double)before, 1 / (double)after};
		double spread = weights[0] * weights[0] * (double)(before * each) +
				weights[1] * weights[1] * (double)(after * each);
		struct profile_compared how = {
			.times = true, .weight_before = weights[0], .weight = weights[1], .spread = spread};

		/* Summed up in another order, as for a function. */
		wrong += compare_differs(&how, before, after, spread * (1 + 2e-16 * (i % 5)));
	}
	is_int(wrong, 0, "what is in all stacks never differs");
}

static void test_kinds(void)
{
	static const char *const names[] = {"before.folded", "after.folded"};
	struct profile *profile = profile_create();
	struct recording recordings[2] = {};
	struct diag diag = {};

	read_text(profile, READ_BEFORE, "c;main (x);[waiting: read] 2000000\n", &recordings[0]);
	read_text(profile, READ_AFTER, "c;main (x) 900\n", &recordings[1]);
	ok(recordings[0].kind == READ_TIMES && recordings[1].kind == READ_SAMPLES,
	   "waits are known by their frames");
	is_int(compare_prepare(profile, recordings, names, false, &diag), -EINVAL,
	       "times and samples are not compared");
	recordings[1] = recordings[0];
	is_int(compare_prepare(profile, recordings, names, false, &diag), 0, "times are");
	ok(profile_get_info(profile)->compared.times, "as such");
	ok(!compare_differs(&profile_get_info(profile)->compared, 0, 1000000, 0.25),
	   "one wait is not more than chance");
	profile_destroy(profile);
}

static void test_functions(void)
{
	static const char *const names[] = {"before.folded", "after.folded"};
	struct profile *profile = profile_create();
	struct recording recordings[2] = {};
	struct compare compare = {};
	struct diag diag = {};

	read_text(profile, READ_BEFORE, "c;main (x);f (a.py:1);f (a.py:2) 300\nc;main (x);g (x) 700\n", &recordings[0]);
	read_text(profile, READ_AFTER, "c;main (x);f (a.py:7) 900\nc;main (x);g (x) 1100\n", &recordings[1]);
	is_int(compare_prepare(profile, recordings, names, true, &diag), -EINVAL, "folded stacks have no time");
	is_int(compare_prepare(profile, recordings, names, false, &diag), 0, "but samples");
	is_int(compare_functions(profile, &compare, &diag), 0, "compared by function");
	is_int(compare.count, 3, "lines of a function are one row");
	is_str(compare.rows[0].name, "f (a.py)", "the largest difference first");
	ok(compare.rows[0].own_before == 300 && compare.rows[0].total_before == 300 && compare.rows[0].total == 900,
	   "recursion counts once");
	is_str(compare.rows[2].name, "main (x)", "what did not change last");
	compare_deinit(&compare);
	recordings[0].samples = 0;
	is_int(compare_prepare(profile, recordings, names, false, &diag), -EINVAL, "no samples: nothing to compare");
	profile_destroy(profile);
}

int main(void)
{
	test_formats();
	test_sides();
	test_damaged();
	test_limits();
	test_significance();
	test_times();
	test_whole();
	test_kinds();
	test_functions();
	return tap_done();
}
