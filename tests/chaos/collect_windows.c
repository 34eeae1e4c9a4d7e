// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * collect_windows PID MILLISECONDS HZ: a client of the engine. It samples a process and its later children until the
 * process ends, and collects a window every so many milliseconds. "ready" on stdout says that it samples.
 *
 * On stdout, a line for each window: its samples, of these those in the profile, complete, lost in whole, accounted for
 * in any way; CPU time for collecting it in us, own RSS in KiB; and at the end "sum" with the sums of the first five.
 * On stderr the sum of all windows' profiles in the folded format.
 */
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "export/export.h"
#include "engine/engine.h"

struct sums {
	uint64_t samples, present, complete, lost, accounted;
};

static double seconds(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static long rss_kb(void)
{
	long size = 0, resident = 0;
	FILE *file = fopen("/proc/self/statm", "re");

	if (file && fscanf(file, "%ld %ld", &size, &resident) != 2)
		resident = 0;
	if (file)
		fclose(file);
	return resident * (sysconf(_SC_PAGESIZE) / 1024);
}

static struct sums sums_of(const struct profile *profile)
{
	const struct profile_quality *quality = profile_get_quality(profile);
	struct sums ret = {.samples = quality->samples, .complete = quality->complete};
	size_t i;

	for (i = 0; i < profile_sample_count(profile); i++)
		ret.present += profile_sample_at(profile, i)->count;
	ret.lost = quality->lost[LOSS_RING_FULL] + quality->lost[LOSS_INTERNAL];
	ret.accounted = quality->complete;
	for (i = 0; i < LOSS_COUNT; i++)
		ret.accounted += loss_kind((unsigned int)i) == LOSS_KIND_NOTE ? 0 : quality->lost[i];
	return ret;
}

static void add(struct profile *to, const struct profile *from)
{
	uint32_t *frames = NULL, depth;
	size_t i;

	for (i = 0; i < profile_sample_count(from); i++) {
		struct profile_sample sample = *profile_sample_at(from, i);

		frames = realloc(frames, (sample.depth + 1ull) * sizeof(*frames));
		for (depth = 0; depth < sample.depth; depth++)
			profile_frame(to, profile_frame_at(from, sample.frames[depth]), &frames[depth]);
		sample.frames = frames;
		profile_add_sample(to, &sample, NULL);
	}
	free(frames);
}

static int collect(struct engine *engine, struct profile *sum, struct sums *total)
{
	double begun = seconds(CLOCK_THREAD_CPUTIME_ID);
	struct profile *window = profile_create();
	int err = engine_collect(engine, window);
	double cost = seconds(CLOCK_THREAD_CPUTIME_ID) - begun;
	struct sums sums = sums_of(window);

	printf("%llu %llu %llu %llu %llu %.0f %ld\n", (unsigned long long)sums.samples,
	       (unsigned long long)sums.present, (unsigned long long)sums.complete, (unsigned long long)sums.lost,
	       (unsigned long long)sums.accounted, cost * 1e6, rss_kb());
	total->samples += sums.samples;
	total->present += sums.present;
	total->complete += sums.complete;
	total->lost += sums.lost;
	total->accounted += sums.accounted;
	add(sum, window);
	profile_destroy(window);
	return err;
}

static int run(struct engine *engine, int target, double every, struct profile *sum, struct sums *total)
{
	struct pollfd polls[1 + ENGINE_DESCRIPTORS] = {{.fd = target, .events = POLLIN}};
	int descriptors[ENGINE_DESCRIPTORS], err = 0, i;
	double next = seconds(CLOCK_MONOTONIC) + every;

	engine_descriptors(engine, descriptors);
	for (i = 0; i < ENGINE_DESCRIPTORS; i++)
		polls[1 + i] = (struct pollfd){.fd = descriptors[i], .events = POLLIN};
	while (!err && !polls[0].revents) {
		double left = next - seconds(CLOCK_MONOTONIC);
		int timeout = engine_timeout_ms(engine);

		if (left * 1e3 < timeout)
			timeout = left > 0 ? (int)(left * 1e3) + 1 : 0;
		poll(polls, 1 + ENGINE_DESCRIPTORS, timeout);
		if (seconds(CLOCK_MONOTONIC) < next) {
			err = engine_poll(engine);
		} else {
			err = collect(engine, sum, total);
			next += every;
		}
	}
	return err;
}

int main(int argc, char **argv)
{
	struct engine_options options = {.max_memory = 1ull << 30, .sample_ns = 250000, .merges_threads = true};
	struct profile *sum = profile_create();
	struct sums total = {};
	struct engine *engine;
	struct diag diag = {};
	int pid, target, err;

	if (argc != 4)
		return 2;
	pid = atoi(argv[1]);
	options.frequency = (unsigned int)atoi(argv[3]);
	target = (int)syscall(SYS_pidfd_open, pid, 0);
	if (engine_open(&options, &engine, &diag) || engine_watch(engine, pid, ENGINE_CHILDREN) ||
	    engine_start(engine, &diag)) {
		fprintf(stderr, "%s\n", diag.text);
		return 1;
	}
	puts("ready");
	fflush(stdout);
	err = run(engine, target, atoi(argv[2]) / 1e3, sum, &total);
	err = engine_stop(engine) ?: err;
	err = collect(engine, sum, &total) ?: err;
	engine_close(engine);
	printf("sum %llu %llu %llu %llu %llu\n", (unsigned long long)total.samples, (unsigned long long)total.present,
	       (unsigned long long)total.complete, (unsigned long long)total.lost, (unsigned long long)total.accounted);
	export_folded.write(stderr, sum, &(struct export_options){}, &diag);
	profile_destroy(sum);
	return err ? 1 : 0;
}
