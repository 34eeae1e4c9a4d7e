// SPDX-License-Identifier: GPL-2.0-or-later
/* What watch counts of the kernel part's records, and how far it takes the ring to be read. No process, no kernel. */
#include "engine/watch_parts.h"
#include "tap.h"

#define S 1000000000ull

static void take(struct watch *watch, uint64_t sequence, uint64_t time, uint32_t flags)
{
	const struct sample_event sample = {.header = {.type = EVENT_SAMPLE},
					    .time = time,
					    .sequence = sequence,
					    .tgid = 1,
					    .tid = (uint32_t)sequence,
					    .native_loss = flags & SAMPLE_LATE ? LOSS_LATE : LOSS_NONE,
					    .flags = flags};

	is_int(watch_take_record(watch, &sample.header, sizeof(sample)), 0, "a sample of %llu s",
	       (unsigned long long)(time / S));
}

/* How many samples were tallied with a loss. */
static uint64_t tallied(const struct watch *watch, enum loss loss)
{
	uint64_t count = 0;
	size_t i;

	for (i = 0; i < watch->store.tallies.list.count; i++)
		if (watch->store.tallies.list.at[i].native_loss == loss)
			count += watch->store.tallies.list.at[i].count;
	return count;
}

static void forget(struct watch *watch)
{
	store_deinit(&watch->store);
	table_deinit(&watch->arriving.late);
	vec_free(&watch->arriving.waiting);
}

/* How often a process that never rests publishes its mappings, each time others: in one second, and in the next. */
static void count_publications(uint32_t mappings, unsigned int ret[2])
{
	struct watched watched = {.entry = {.mapping_count = mappings}};
	uint64_t now = 100 * S;

	for (ret[0] = ret[1] = 0; now < 102 * S; now += S / 10000) {
		if (watch_published_lately(&watched, now))
			continue;
		watched.published_at = now;
		watch_count_published(&watched, mappings, now);
		ret[now >= 101 * S]++;
	}
}

static void test_published_lately(void)
{
	static const uint32_t sizes[] = {10, 200, 256, 300, 5000, 60000};
	unsigned int counts[2];
	size_t i;

	for (i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		uint64_t most = MAPPINGS_MAX / 16 > sizes[i] ? MAPPINGS_MAX / 16 : sizes[i];

		count_publications(sizes[i], counts);
		ok(counts[0] && (uint64_t)counts[0] * sizes[i] <= 2 * most + sizes[i],
		   "%u mappings: published %u times in the first second", sizes[i], counts[0]);
		ok(counts[1] <= counts[0] && (uint64_t)counts[1] * sizes[i] <= most + sizes[i],
		   "%u mappings: %u times in the next one", sizes[i], counts[1]);
	}
}

static void test_missing_parts(void)
{
	struct watch watch = {};

	take(&watch, 1, 10 * S, 0);
	take(&watch, 2, 11 * S, SAMPLE_LATE);
	take(&watch, 3, 12 * S, SAMPLE_RESUMES);
	take(&watch, 4, 15 * S, SAMPLE_LATE);
	take(&watch, 5, 16 * S, SAMPLE_LATE | SAMPLE_RESUMES);
	is_int(watch.store.tallies.samples, 1, "what waits for its other part is not tallied");
	is_int(watch_release_stale(&watch, 12 * S, LOSS_STACK_MISSING), 0, "released");
	is_int(tallied(&watch, LOSS_STACK_MISSING), 1, "a copy of the stack that did not come is missing");
	is_int(watch_release_stale(&watch, 15 * S, LOSS_STACK_MISSING), 0, "and later");
	is_int(tallied(&watch, LOSS_NONE), 2, "one that was not resumed is as it was");
	is_int(watch_release_stale(&watch, UINT64_MAX, LOSS_LATE), 0, "at the end");
	is_int(tallied(&watch, LOSS_LATE), 2, "by the reason that is true then");
	is_int(watch.store.tallies.samples, 5, "all are tallied");
	forget(&watch);
}

/* Whether a thread holds its runtime's lock is what either of the two walks saw. */
static void test_lock(void)
{
	struct sample_event resumed = {.header = {.type = EVENT_RESUMED}, .sequence = 7, .flags = SAMPLE_CURRENT};
	struct watch watch = {.store.keeps_locks = true};

	take(&watch, 7, 10 * S, SAMPLE_RESUMES | SAMPLE_HAS_LOCK);
	is_int(watch_take_record(&watch, &resumed.header, sizeof(resumed)), 0, "walked again");
	is_int(watch.store.tallies.list.at[0].flags, SAMPLE_HAS_LOCK | SAMPLE_CURRENT, "the second walk could tell");
	forget(&watch);
}

/* The kernel part leaves out the waker of a sample that has none: what is behind it in the ring is not the sample's. */
static void test_brief(void)
{
	struct sample_event sample = {.header = {.type = EVENT_SAMPLE},
				      .waits = WAIT_OFF_CPU | 7,
				      .weight = 5,
				      .waker = {.flags = WAKER_KNOWN, .comm = "other"}};
	uint8_t *exact = malloc(SAMPLE_EVENT_BRIEF);
	struct watch watch = {};

	is_int(watch_take_record(&watch, &sample.header, sizeof(sample)), 0, "a sample with its waker");
	is_int(watch_take_record(&watch, &sample.header, SAMPLE_EVENT_BRIEF), 0, "one without");
	memcpy(exact, &sample, SAMPLE_EVENT_BRIEF);
	is_int(watch_take_record(&watch, (void *)exact, SAMPLE_EVENT_BRIEF), 0, "and another");
	is_int(watch.store.tallies.list.count, 2, "two kinds");
	is_str(watch.store.tallies.list.at[0].waker.comm, "other", "a waker");
	is_int(watch.store.tallies.list.at[1].waker.flags, 0, "none");
	is_int(watch.store.tallies.list.at[1].count, 2, "twice");
	free(exact);
	forget(&watch);
}

/* Samples that have joined another one's walk have its sequence, and its result. */
static void test_joined(void)
{
	struct sample_event resumed = {.header = {.type = EVENT_RESUMED}, .native_loss = LOSS_NO_RULE};
	struct watch watch = {};
	uint64_t i;

	for (i = 0; i < 6; i++) {
		take(&watch, 7, (10 + i) * S, SAMPLE_RESUMES);
		take(&watch, 8, (10 + i) * S, SAMPLE_RESUMES);
	}
	is_int(watch_release_stale(&watch, 12 * S, LOSS_STACK_MISSING), 0, "the oldest have waited long enough");
	is_int(tallied(&watch, LOSS_NONE), 4, "and are as they were");
	resumed.sequence = 8;
	is_int(watch_take_record(&watch, &resumed.header, sizeof(resumed)), 0, "the walk of one kind is done");
	is_int(tallied(&watch, LOSS_NO_RULE), 4, "and is that of all who wait");
	is_int(watch_take_record(&watch, &resumed.header, sizeof(resumed)), 0, "a second result");
	is_int(watch.store.tallies.samples, 8, "is nobody's");
	resumed.sequence = 7;
	is_int(watch_take_record(&watch, &resumed.header, sizeof(resumed)), 0, "the other kind's");
	is_int(tallied(&watch, LOSS_NO_RULE), 8, "too");
	is_int(watch.store.tallies.samples, 12, "each is tallied once");
	forget(&watch);
}

static void test_watermark(void)
{
	struct watch watch = {};

	watch_advance_watermark(&watch, 100 * S, false);
	is_int(watch.arriving.watermark, 0, "nothing was read: nothing is known");
	take(&watch, 1, 90 * S, 0);
	watch_advance_watermark(&watch, 100 * S, false);
	is_int(watch.arriving.watermark, 90 * S, "the ring was not emptied: what was read last tells");
	watch_advance_watermark(&watch, 101 * S, true);
	is_int(watch.arriving.watermark, 101 * S, "it was: all from before is read");
	take(&watch, 2, 95 * S, 0);
	watch_advance_watermark(&watch, 102 * S, false);
	is_int(watch.arriving.watermark, 101 * S, "it does not go back");
	take(&watch, 3, 200 * S, 0);
	watch_advance_watermark(&watch, 110 * S, false);
	is_int(watch.arriving.watermark, 110 * S, "nor further than the time at which it was begun");
	forget(&watch);
}

static void test_verified(void)
{
	struct watch watch = {};
	uint64_t i;

	for (i = 1; i <= 5; i++)
		take(&watch, i, S, SAMPLE_VERIFY);
	take(&watch, 6, S, 0);
	is_int(watch.counts.verify.chosen, 5, "the kernel part has chosen 5");
	watch.counts.verify.samples = 2;
	watch.counts.verify.uncompared[LOSS_EXITED] = 1;
	watch_count_unverified(&watch, LOSS_STACK_MISSING);
	is_int(watch.counts.verify.uncompared[LOSS_STACK_MISSING], 2, "of 2 no copy came");
	watch_count_unverified(&watch, LOSS_STACK_MISSING);
	is_int(watch.counts.verify.uncompared[LOSS_STACK_MISSING], 2, "which is counted once");
	forget(&watch);
}

int main(void)
{
	test_missing_parts();
	test_published_lately();
	test_lock();
	test_joined();
	test_brief();
	test_watermark();
	test_verified();
	return tap_done();
}
