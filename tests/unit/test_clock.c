// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The sampling clock: it does not tick before it is started nor after it was stopped, and ticks that are missing are
 * counted. And the list of CPUs that it follows. Without the rights to sample (not root), the clock's part is skipped.
 */
#include <bpf/bpf.h>
#include <errno.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "kernel/cpus.h"
#include "kernel/sampler.h"
#include "tap.h"

static int ignore(void *context, const struct event_header *event, size_t size)
{
	(void)event;
	(void)size;
	++*(uint64_t *)context;
	return 0;
}

static double cpu_time(void)
{
	struct timespec at;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &at);
	return (double)at.tv_sec + (double)at.tv_nsec / 1e9;
}

static void be_busy(double seconds)
{
	double end = cpu_time() + seconds;

	while (cpu_time() < end)
		;
}

/* Runs of the program and records since the last call. */
static uint64_t seen(struct sampler *sampler, uint64_t *records)
{
	struct sampler_counters counters;

	*records = 0;
	sampler_drain(sampler, ignore, records);
	sampler_counters(sampler, &counters);
	return counters.bpf_runs + counters.runs;
}

static void test_start(void)
{
	struct sampler_options options = {.watch_all = true, .frequency = 9999};
	struct sampler *sampler;
	struct diag diag = {};
	uint64_t records, runs;

	if (sampler_create(&options, &sampler, &diag)) {
		ok(true, "the clock # SKIP %s", diag.text);
		return;
	}
	be_busy(0.05);
	is_int(seen(sampler, &records), 0, "no tick before the start");
	is_int(records, 0, "and no record");
	ok(!sampler_start(sampler, &diag), "started");
	be_busy(0.05);
	sampler_stop(sampler);
	runs = seen(sampler, &records);
	ok(runs > 20 && records > 20, "then it ticks: %" PRIu64 " records", records);
	be_busy(0.05);
	is_int(seen(sampler, &records), (int64_t)runs, "no tick after the end");
	is_int(sampler_follow_cpus(sampler), 0, "the CPUs have not changed");
	sampler_destroy(sampler);
}

/* While a process changes a BPF map, the kernel runs no program of an event on its CPU, and does not say so. */
static void test_missed(void)
{
	struct sampler_options options = {.watch_all = true, .frequency = 4999};
	struct sampler_counters counters = {};
	int map = bpf_map_create(BPF_MAP_TYPE_ARRAY, "test", sizeof(uint32_t), 4 << 20, 1, NULL);
	void *value = calloc(1, 4 << 20);
	struct sampler *sampler;
	struct diag diag = {};
	uint32_t key = 0;
	double end;

	if (!value || sampler_create(&options, &sampler, &diag)) {
		ok(true, "missed ticks # SKIP %s", diag.text);
		return;
	}
	sampler_start(sampler, &diag);
	for (end = cpu_time() + 0.3; cpu_time() < end;)
		bpf_map_update_elem(map, &key, value, BPF_ANY);
	sampler_stop(sampler);
	sampler_counters(sampler, &counters);
	ok(counters.missed_ticks > 100,
	   "ticks that ran no program are counted: %" PRIu64 " beside %" PRIu64 " that did", counters.missed_ticks,
	   counters.bpf_runs);
	sampler_destroy(sampler);
	close(map);
	free(value);
}

static void test_list(const char *text, const char *expected)
{
	char path[] = "/tmp/strata-cpus-XXXXXX", got[10] = "";
	int fd = mkstemp(path), i;
	bool online[9];

	if (fd < 0 || write(fd, text, strlen(text)) < 0)
		printf("# %s: %s\n", path, strerror(errno));
	close(fd);
	cpus_online(path, online, sizeof(online));
	for (i = 0; i < 9; i++)
		got[i] = online[i] ? 'x' : '.';
	is_str(got, expected, "CPUs online: %.*s", (int)strcspn(text, "\n"), text);
	unlink(path);
}

/* "x" for each CPU of a list that somebody has typed, of ten; or what is wrong with it. */
static void test_typed(const char *text, const char *expected)
{
	bool cpus[10] = {};
	unsigned long beyond = 0;
	char got[32];
	int err = cpus_parse(text, cpus, sizeof(cpus), &beyond), i;

	for (i = 0; i < 10; i++)
		got[i] = cpus[i] ? 'x' : '.';
	got[10] = '\0';
	if (err == -ERANGE)
		snprintf(got, sizeof(got), "beyond: %lu", beyond);
	is_str(err == -EINVAL ? "wrong" : got, expected, "CPUs typed: '%s'", text);
}

int main(void)
{
	bool online[1] = {};

	test_list("0-1\n", "xx.......");
	test_list("0,2-3,7\n", "x.xx...x.");
	test_list("4", "....x....");
	test_list("0-4096\n", "xxxxxxxxx");
	test_list("", "xxxxxxxxx");
	test_list("0-\n", "xxxxxxxxx");
	test_list("\n", "xxxxxxxxx");
	ok(!cpus_online("/nowhere", online, 1) && online[0], "no file: all are tried");
	test_typed("0", "x.........");
	test_typed("9,0-2,1", "xxx......x");
	test_typed("10", "beyond: 10");
	test_typed("8-12,99", "beyond: 10");
	test_typed("999999", "beyond: 999999");
	test_typed("9999999", "wrong");
	test_typed("", "wrong");
	test_typed(",1", "wrong");
	test_typed("1,", "wrong");
	test_typed("1-", "wrong");
	test_typed("1--2", "wrong");
	test_typed("2-1", "wrong");
	test_typed(" 1", "wrong");
	test_typed("1\n", "wrong");
	test_typed("0x1", "wrong");
	test_start();
	test_missed();
	return tap_done();
}
