// SPDX-License-Identifier: GPL-2.0-or-later
/* bench:NAME and test:NAME: actions that nothing but this runs. */
#include <bpf/bpf.h>
#include <errno.h>
#include <linux/bpf.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/time.h"
#include "lang/rt/abi.h"
#include "trace/run.h"

#define BENCH_RUNS 10000

static const char *name_of(const struct run *run, size_t index)
{
	const char *full = run->compiler->attaches.at[run->compiler->units.at[index].first_attach].name;
	const char *colon = strchr(full, ':');

	return colon ? colon + 1 : full;
}

static int run_once(const struct run *run, size_t index, struct bpf_test_run_opts *ret, struct diag *diag)
{
	uint64_t context[8] = {};
	LIBBPF_OPTS(bpf_test_run_opts, options, .ctx_in = context, .ctx_size_in = sizeof(context));
	int err = bpf_prog_test_run_opts(run_program(run, index), &options);

	if (err)
		return diag_fail(diag, -err, "trace.measure", "%s cannot be run: %s", name_of(run, index),
				 strerror(-err));
	*ret = options;
	return 0;
}

static int bench_unit(struct run *run, size_t index, struct diag *diag)
{
	struct bpf_test_run_opts options;
	int i, err = 0;

	for (i = 0; i < BENCH_RUNS && !err; i++)
		err = run_once(run, index, &options, diag);
	ring_buffer__consume(run->ring);
	return err;
}

/* What the kernel says that the runs took: without the calls that started them. */
static void print_bench(const struct run *run, size_t index)
{
	const char *name = name_of(run, index);
	struct bpf_prog_info info = {};
	uint32_t size = sizeof(info);
	unsigned long long average, count;

	if (bpf_obj_get_info_by_fd(run_program(run, index), &info, &size))
		return;
	count = info.run_cnt;
	average = count ? info.run_time_ns / count : 0;
	if (!run->printer.json) {
		fprintf(run->printer.out, "%-41s%-15llu%llu\n", name, average, count);
		return;
	}
	fputs("{\"type\": \"benchmark_result\", \"data\": {", run->printer.out);
	print_json_string(run->printer.out, name, strlen(name));
	fprintf(run->printer.out, ": {\"average\": %llu, \"iters\": %llu}}}\n", average, count);
}

static int run_benches(struct run *run, struct diag *diag)
{
	int stats = bpf_enable_stats(BPF_STATS_RUN_TIME), err = 0;
	size_t count = run->compiler->units.count, i;

	if (stats < 0)
		return diag_fail(diag, -stats, "trace.bench", "the kernel counts no run times: %s", strerror(-stats));
	ring_buffer__consume(run->ring);
	for (i = 0; i < count && !err; i++)
		if (run->compiler->units.at[i].provider->run == RUN_TO_MEASURE)
			err = bench_unit(run, i, diag);
	close(stats);
	if (!err && !run->printer.json)
		fprintf(run->printer.out, "%-41s%-15s%s\n%.66s\n", "Benchmark", "Time(ns)", "Iterations",
			"--------------------------------------------------------------------");
	for (i = 0; i < count && !err; i++)
		if (run->compiler->units.at[i].provider->run == RUN_TO_MEASURE)
			print_bench(run, i);
	return err;
}

struct test_result {
	bool passed;
	unsigned long long ns; /* with the call that started it */
	char *output;          /* malloc'd; of a test that passed nobody sees it */
	size_t size;
};

/* A test fails by what it returns, by exit() with a status, and by errorf(). */
static int test_unit(struct run *run, size_t index, struct test_result *ret, struct diag *diag)
{
	FILE *out = run->printer.out;
	struct bpf_test_run_opts options = {};
	uint64_t begin;
	int err;

	run->printer.out = open_memstream(&ret->output, &ret->size);
	if (!run->printer.out) {
		run->printer.out = out;
		return diag_fail(diag, ENOMEM, "trace.memory", "out of memory");
	}
	run->errors = 0;
	begin = time_ns(CLOCK_MONOTONIC);
	err = run_once(run, index, &options, diag);
	ret->ns = time_ns(CLOCK_MONOTONIC) - begin;
	run_drain(run);
	fclose(run->printer.out);
	run->printer.out = out;
	ret->passed = !options.retval && !run->errors && !(run->result->has_exit && run->result->status);
	/* exit() ends a test, and not those behind it. */
	run->finished = false;
	run->result->has_exit = false;
	run->result->status = 0;
	run_set_state(run, RT_STATE_EXITED, 0);
	return err;
}

static void print_test(const struct run *run, const char *name, const struct test_result *result)
{
	FILE *out = run->printer.out;

	if (run->printer.json) {
		fputs("{\"type\": \"test_result\", \"data\": {", out);
		print_json_string(out, name, strlen(name));
		fprintf(out, ": {\"duration\": %llu, \"passed\": %s, \"output\": ", result->ns,
			result->passed ? "true" : "false");
		print_json_string(out, result->output ? result->output : "", result->size);
		fputs("}}}\n", out);
		return;
	}
	fprintf(out, "[ RUN      ] %s\n", name);
	if (!result->passed && result->output)
		fwrite(result->output, 1, result->size, out);
	fprintf(out, "%s %s (%llu ns)\n", result->passed ? "[       OK ]" : "[  FAILED  ]", name, result->ns);
}

static int run_tests(struct run *run, struct diag *diag)
{
	FILE *out = run->printer.json ? NULL : run->printer.out;
	unsigned int count = 0, failed = 0;
	int err = 0;
	size_t i;

	run_drain(run);
	for (i = 0; i < run->compiler->units.count && !err; i++) {
		struct test_result result = {};

		if (run->compiler->units.at[i].provider->run != RUN_TO_TEST)
			continue;
		err = test_unit(run, i, &result, diag);
		if (!err)
			print_test(run, name_of(run, i), &result);
		free(result.output);
		count++;
		failed += !result.passed;
	}
	if (!err && out)
		fprintf(out, "[==========] %u tests ran: %u passed, %u failed.\n", count, count - failed, failed);
	run->result->has_exit = failed;
	run->result->status = failed > 0;
	return err;
}

int run_measured(struct run *run, struct diag *diag)
{
	return run->options->mode == TRACE_BENCH ? run_benches(run, diag) : run_tests(run, diag);
}
