// SPDX-License-Identifier: GPL-2.0-or-later
#include "export/export.h"

#include <errno.h>
#include <stdlib.h>

#include "export/common.h"
#include "tap.h"

static struct profile *sample_profile(void)
{
	struct profile *profile = profile_create();
	const struct frame frames[] = {
		{FRAME_NATIVE, "_start", "python3.11", 0},
		{FRAME_RUNTIME, "main;x", "/a.py", 3, .runtime = "python"},
		{FRAME_RUNTIME, "main:x", "/a.py", 3, .runtime = "python"},
		{FRAME_KERNEL, "do_sys", "", 0},
		{FRAME_MARK, "[truncated]", "", 0},
	};
	struct profile_quality *quality = profile_quality(profile);
	uint32_t ids[5], i;

	for (i = 0; i < 5; i++)
		profile_frame(profile, &frames[i], &ids[i]);
	profile_add(profile, "worker", 5, 6, (uint32_t[]){ids[0], ids[1], ids[3]}, 3, 2);
	profile_add(profile, "app", 5, 5, (uint32_t[]){ids[0], ids[2]}, 2, 3);
	profile_add(profile, "app", 5, 5, (uint32_t[]){ids[0], ids[1]}, 2, 1);
	profile_add(profile, "app", 9, 9, (uint32_t[]){ids[0], ids[1]}, 2, 10);
	profile_add(profile, "app", 5, 5, (uint32_t[]){ids[0]}, 1, 4);
	profile_add(profile, "", 7, 7, (uint32_t[]){ids[4], ids[1]}, 2, 1);
	profile_add(profile, "idle", 8, 8, NULL, 0, 1);
	*quality = (struct profile_quality){
		.samples = 25,
		.complete = 21,
		.truncated = 1,
		.runtimes = {{.name = "python", .language = "Python", .samples = 17}},
		.unique_stacks = 5,
		.max_depth = 3,
		.bpf_run_ns = 2500,
		.bpf_worst_ns = 320,
		.bpf_task_ns = 40,
		.bpf_runs = 25,
		.bpf_frames = 50,
		.self_cpu_s = 0.25,
		.self_peak_rss_kb = 2048,
		.startup_ms = 12.5,
	};
	quality->lost[LOSS_NO_RULE] = 2;
	quality->lost[LOSS_RING_FULL] = 1;
	profile_info(profile)->command = profile_string(profile, "pid 5");
	profile_info(profile)->frequency = 99;
	profile_info(profile)->duration_s = 5;
	return profile;
}

/* What a format gives, as a string of the caller's. */
static char *written(const struct exporter *exporter, const struct profile *profile, bool threads)
{
	struct export_options options = {.threads = threads};
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);
	int err = exporter->write(out, profile, &options, NULL);

	fclose(out);
	ok(!err, "%s is written", exporter->suffix);
	return text;
}

static void test_table(void)
{
	unsigned int i;

	ok(exporter_for("-") == &export_folded, "- is folded");
	ok(exporter_for("a/b.folded") == &export_folded, ".folded");
	ok(exporter_for("x.pb.gz") == &export_pprof, ".pb.gz");
	ok(exporter_for("x.html") == &export_html, ".html");
	ok(exporter_for("x.speedscope.json") == &export_speedscope, ".speedscope.json");
	ok(exporter_for("x.firefox.json.gz") == &export_firefox, ".firefox.json.gz");
	ok(exporter_for("x.trace.json") == &export_trace, ".trace.json");
	ok(!exporter_for("x.json") && !exporter_for("x.gz") && !exporter_for(""), "other suffixes are not known");
	for (i = 0; exporter_at(i); i++)
		ok(exporter_for(exporter_at(i)->suffix) == exporter_at(i), "%s finds itself", exporter_at(i)->suffix);
	is_int(i, 6, "six formats");
}

static void test_folded(void)
{
	struct profile *profile = sample_profile();
	char *text = written(&export_folded, profile, false);

	is_str(text,
	       "?;[truncated];main:x (/a.py:3) 1\n"
	       "app;_start (python3.11) 4\n"
	       "app;_start (python3.11);main:x (/a.py:3) 14\n"
	       "idle 1\n"
	       "worker;_start (python3.11);main:x (/a.py:3);do_sys [k] 2\n",
	       "folded: sorted, equal lines merged, names escaped");
	free(text);
	text = written(&export_folded, profile, true);
	is_str(text,
	       "?;thread ? (7);[truncated];main:x (/a.py:3) 1\n"
	       "app;thread app (5);_start (python3.11) 4\n"
	       "app;thread app (5);_start (python3.11);main:x (/a.py:3) 4\n"
	       "app;thread app (9);_start (python3.11);main:x (/a.py:3) 10\n"
	       "idle;thread idle (8) 1\n"
	       "worker;thread worker (6);_start (python3.11);main:x (/a.py:3);do_sys [k] 2\n",
	       "folded by thread");
	free(text);
	profile_destroy(profile);
}

static void test_stats(void)
{
	struct profile *profile = sample_profile();
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);

	is_int(export_stats(out, profile, NULL), 0, "stats");
	fclose(out);
	is_str(text,
	       "{\n  \"samples\": 25,\n  \"complete\": 21,\n  \"truncated\": 1,\n"
	       "  \"lost\": {\"no-rule\": 2, \"ring-full\": 1},\n"
	       "  \"notes\": {},\n"
	       "  \"python_samples\": 17,\n  \"late_samples\": 0,\n"
	       "  \"unique_stacks\": 5,\n  \"max_depth\": 3,\n"
	       "  \"remarks\": [],\n"
	       "  \"bpf\": {\"run_ns\": 2500, \"runs\": 25, \"frames\": 50, \"thread_states\": 0, \"worst_ns\": 320, "
	       "\"task_ns\": 40},\n"
	       "  \"self\": {\"cpu_s\": 0.250000, \"peak_rss_kb\": 2048},\n  \"startup_ms\": 12.500\n}\n",
	       "the stats object");
	free(text);
	profile_destroy(profile);
}

static void test_summary(void)
{
	struct profile *profile = sample_profile();
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);

	profile_info(profile)->command = profile_string(profile, "sh -c a;\033b");
	profile_add_remark(profile, "one; two");
	is_int(export_summary(out, profile, false), 0, "summary");
	fflush(out);
	ok(strstr(text, "25 samples in 5.0 s at 99 Hz (sh -c a;\\x1bb)\n"), "what was recorded, as it was given");
	ok(strstr(text, "  note       one; two\n"), "a remark, as it is");
	ok(strstr(text, "complete             21   84.00 %"), "complete, with its share");
	ok(strstr(text, "incomplete            3   12.00 %"), "incomplete");
	ok(strstr(text, "no-rule") && strstr(text, loss_meaning(LOSS_NO_RULE)) &&
		   strstr(text, loss_advice(LOSS_NO_RULE)),
	   "a reason with its meaning and what to do");
	ok(!strchr(text, '\033'), "no colour");
	ok(strstr(text, ", 0 µs the longest; strata itself"),
	   "no time in the threads' own context, where that is as good as none");
	profile_quality(profile)->bpf_task_ns = 25 * 51;
	is_int(export_summary(out, profile, true), 0, "with colour");
	fflush(out);
	ok(strstr(text, ", 0.1 µs in the threads' own time; strata itself"), "else what it takes of a sample");
	ok(strchr(text, '\033'), "colour when asked for");
	rewind(out);
	profile_quality(profile)->complete = 100000;
	profile_quality(profile)->samples = 100001;
	export_summary(out, profile, false);
	fflush(out);
	ok(strstr(text, "99.99 %"), "nearly all is not 100 %%");
	fclose(out);
	free(text);
	profile_destroy(profile);
}

static void test_verified(void)
{
	struct profile *profile = sample_profile();
	struct profile_quality *quality = profile_quality(profile);
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);

	quality->verified = true;
	quality->verify = (struct profile_verify){.chosen = 10, .samples = 6, .agree = 4, .differ = 1, .cut = 1};
	quality->verify.uncompared[LOSS_STACK_MISSING] = 3;
	quality->verify.uncompared[LOSS_NO_MAPPING] = 1;
	export_summary(out, profile, false);
	fflush(out);
	ok(strstr(text, "; 1 differ;"), "what differs");
	ok(strstr(text, "; agree to the end of the copied stack: 1;"), "what ends with the copy");
	ok(strstr(text, "; could not be compared: 4 (no-mapping 1, stack-missing 3)\n"), "what has no second opinion");
	rewind(out);
	export_stats(out, profile, NULL);
	fclose(out);
	ok(strstr(text, "\"verify\": {\"chosen\": 10, \"samples\": 6, \"agree\": 4, \"differ\": 1, "
			"\"shorter\": 0, \"longer\": 0, \"cut\": 1, \"guessed\": 0, "
			"\"uncompared\": {\"no-mapping\": 1, \"stack-missing\": 3}},\n"),
	   "and the same for scripts");
	free(text);
	profile_destroy(profile);
}

static void test_page(void)
{
	struct profile *profile = sample_profile();
	char *text, *again;

	profile_info(profile)->command = profile_string(profile, "sh -c 'a <b>'");
	text = written(&export_html, profile, true);
	ok(strstr(text, "<title>sh -c &#39;a &#60;b&#62;&#39; · strata</title>"), "the title, escaped");
	ok(strstr(text, "\"byThread\":true"), "-t groups by thread from the start");
	ok(strstr(text, "\"command\":\"sh -c 'a \\u003cb\\u003e'\""), "the command in the data, escaped");
	ok(!strstr(text, "{{"), "no blank is left");
	again = written(&export_html, profile, true);
	ok(strlen(text) == strlen(again) && strcmp(text, again), "each file has a nonce of its own");
	free(again);
	free(text);
	profile_destroy(profile);
}

static void test_failures(void)
{
	struct profile *profile = sample_profile();
	struct export_options options = {};
	struct diag diag;
	unsigned int i;

	for (i = 0; exporter_at(i); i++) {
		FILE *full = fopen("/dev/full", "w");

		diag_clear(&diag);
		is_int(exporter_at(i)->write(full, profile, &options, &diag), -ENOSPC, "%s: a full disk is an error",
		       exporter_at(i)->suffix);
		is_str(diag.tag, "export.write", "%s: and told", exporter_at(i)->suffix);
		fclose(full);
	}
	profile_destroy(profile);
}

static void test_strings(void)
{
	char *text = NULL, number[32];
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);

	export_json_string(out, "a\"\\\n</script>&\xe2\x80\xa8\xffü");
	fclose(out);
	is_str(text, "\"a\\\"\\\\\\u000a\\u003c/script\\u003e\\u0026\\u2028\\ufffdü\"", "JSON that is safe in HTML");
	free(text);
	is_str(export_grouped(0, number), "0", "grouped: 0");
	is_str(export_grouped(999, number), "999", "grouped: 999");
	is_str(export_grouped(1000, number), "1,000", "grouped: 1,000");
	is_str(export_grouped(UINT64_MAX, number), "18,446,744,073,709,551,615", "grouped: the largest");
}

/* docs/OUTPUT.md has a row for each reason, as in abi/loss.def. */
static void test_documentation(void)
{
	static const char *const kinds[] = {"truncated", "partial", "lost", "note"};
	static char text[1 << 20];
	FILE *file = fopen(TEST_DIR "/../docs/OUTPUT.md", "r");
	char row[1024];
	unsigned int i;

	text[file ? fread(text, 1, sizeof(text) - 1, file) : 0] = '\0';
	if (file)
		fclose(file);
	for (i = 0; i < LOSS_COUNT; i++) {
		if (!loss_key(i))
			continue;
		snprintf(row, sizeof(row), "| `%s` | %s | %s | %s |\n", loss_key(i), kinds[loss_kind(i)],
			 loss_meaning(i), loss_advice(i));
		if (!ok(strstr(text, row), "docs/OUTPUT.md has %s", loss_key(i)))
			printf("# %s", row);
	}
}

/* Times: microseconds in the text format, rounded once for a line; seconds for speedscope. */
static void test_weighed(void)
{
	struct profile *profile = profile_create();
	const struct frame frame = {.layer = FRAME_MARK, .name = "[waiting: read]", .file = ""};
	struct profile_quality *quality = profile_quality(profile);
	struct profile_sample sample = {.comm = "a", .pid = 1, .tid = 1, .count = 3, .weight = 1400, .depth = 1};
	uint32_t id;
	char *text;
	size_t size;
	FILE *out;

	profile_frame(profile, &frame, &id);
	sample.frames = &id;
	profile_add_sample(profile, &sample, NULL);
	sample.tid = 2;
	profile_add_sample(profile, &sample, NULL);
	profile_info(profile)->weighed = true;
	profile_info(profile)->command = "c";
	text = written(&export_folded, profile, false);
	is_str(text, "a;[waiting: read] 3\n", "folded: microseconds, of both threads together");
	free(text);
	text = written(&export_speedscope, profile, false);
	ok(strstr(text, "\"unit\":\"seconds\"") && strstr(text, "\"weights\":[1.4e-06]"), "speedscope: seconds");
	free(text);
	text = written(&export_html, profile, false);
	ok(strstr(text, "\"weighed\":true"), "the page is told");
	free(text);
	quality->samples = quality->complete = 6;
	quality->off_cpu = (struct profile_off_cpu){.waits = 100, .waits_ns = 4000, .measured = 6, .measured_ns = 1000};
	out = open_memstream(&text, &size);
	export_stats(out, profile, NULL);
	fclose(out);
	ok(strstr(text, "\"off_cpu\": {\"waits\": 100, \"ns\": 4000, \"measured\": 6, \"measured_ns\": 1000, "
			"\"share\": 0.25"),
	   "stats: the share that was measured");
	free(text);
	out = open_memstream(&text, &size);
	export_summary(out, profile, false);
	fclose(out);
	ok(strstr(text, "100  waits") && strstr(text, "6 of them, 25.00 % of that time, were measured"),
	   "the summary, too");
	free(text);
	profile_destroy(profile);
}

int main(void)
{
	test_table();
	test_folded();
	test_weighed();
	test_stats();
	test_summary();
	test_verified();
	test_page();
	test_failures();
	test_strings();
	test_documentation();
	return tap_done();
}
