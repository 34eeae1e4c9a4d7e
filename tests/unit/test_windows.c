// SPDX-License-Identifier: GPL-2.0-or-later
/* Windows of a recording: their profiles and losses sum up to those of one recording of the same records. No kernel. */
#include <string.h>
#include <unistd.h>

#include "engine/balance.h"
#include "engine/report.h"
#include "engine/watch_parts.h"
#include "tap.h"

#define S         1000000000ull
#define SAMPLES   6000u
#define STACKS    200u
#define FUNCTIONS 40u

/* A watch that only takes records: without processes every address is unknown, and named by itself. */
static void begin(struct watch *watch)
{
	*watch = (struct watch){.naming.names = frames_create()};
	watch->store.keeps_moments = watch->store.keeps_cgroups = true;
	watch->store.tick_ns = 1000;
}

static void end(struct watch *watch)
{
	store_deinit(&watch->store);
	frames_destroy(watch->naming.names);
	table_deinit(&watch->arriving.late);
	vec_free(&watch->arriving.waiting);
	vec_free(&watch->arriving.frames);
}

static struct perf_map *no_map(void *context, const struct mapped_file *file)
{
	(void)context, (void)file;
	return NULL;
}

/* The frames of two addresses of one function of this program. */
static void name_two(enum frame_detail detail, struct objects *objects, struct object *object, uint64_t vaddr,
		     struct frames *frames, const struct frame *ret[2])
{
	struct store store = {};
	const struct names names = {
		.store = &store, .objects = objects, .frames = frames, .perf_map = no_map, .detail = detail};
	uint32_t i, number;

	for (i = 0; i < 2; i++)
		store_location(&store,
			       &(struct location){.object = LOCATION_FILES + object->file->index, .address = vaddr + i},
			       &number);
	is_int(names_give_all(&names), 0, "two addresses are named");
	for (i = 0; i < 2; i++)
		ret[i] = frames_at(frames, LOCATION_FRAME(store.locations.at[i].named));
	store_deinit(&store);
}

/* Who asks has the file, its build id, and the address in it. */
static void test_places(void)
{
	struct processes *processes = processes_create();
	struct objects *objects = objects_create(NULL);
	struct frames *frames = frames_create();
	const struct process_mapping *mapping = NULL;
	const struct frame *two[2];
	struct object *object = NULL;
	struct process *process;
	char build_id[2 * ELF_BUILD_ID_MAX + 1];
	uint64_t vaddr = 0;

	if (!processes_scan(processes, getpid(), 1, &process))
		mapping = process_find_mapping(process, (uintptr_t)name_two, UINT64_MAX - 1);
	object = mapping ? objects_get(objects, mapping->file, process, mapping) : NULL;
	if (ok(object && object_vaddr(object, mapping, (uintptr_t)name_two, &vaddr), "this program's own file")) {
		name_two(FRAME_NAMES, objects, object, vaddr, frames, two);
		ok(two[0] == two[1] && !two[0]->address && !*two[0]->path, "by name they are one frame");
		name_two(FRAME_ADDRESSES, objects, object, vaddr, frames, two);
		object_build_id(object, build_id, sizeof(build_id));
		ok(two[0] == two[1] && !two[0]->address && !strcmp(two[0]->path, mapping->file->path) &&
			   !strcmp(two[0]->build_id, build_id),
		   "of which the file and its build id are known");
		name_two(FRAME_PLACES, objects, object, vaddr, frames, two);
		ok(two[0] != two[1] && two[0]->address == vaddr && two[1]->address == vaddr + 1 &&
			   two[0]->name == two[1]->name,
		   "or each its own, with its address");
	}
	frames_destroy(frames);
	objects_destroy(objects);
	processes_destroy(processes, NULL);
}

static void let_go(void *context, uint64_t id)
{
	(void)id;
	++*(uint32_t *)context;
}

static uint32_t random_below(uint64_t *state, uint32_t limit)
{
	*state = *state * 6364136223846793005ull + 1442695040888963407ull;
	return (uint32_t)(*state >> 33) % limit;
}

static void give_stack(struct watch *watch, uint64_t id)
{
	uint32_t frames[8], i;

	if (store_has_stack(&watch->store, id))
		return;
	for (i = 0; i < 8; i++)
		store_location(&watch->store,
			       &(struct location){.object = LOCATION_UNKNOWN, .address = (id * 7 + i * i) % FUNCTIONS},
			       &frames[i]);
	store_stack(&watch->store, id, false, frames, 8);
}

/* The n-th record of a recording, every seventh a wait; every twentieth waits for a second part, which comes 30 records
 * later. */
static void give(struct watch *watch, uint32_t n, uint64_t *state)
{
	struct sample_event sample = {.header = {.type = EVENT_SAMPLE},
				      .time = (n + 1) * S / 1000,
				      .sequence = n + 1,
				      .native_stack = 1 + random_below(state, STACKS),
				      .tgid = 1 + n % 3,
				      .tid = 1 + n % 5,
				      .cpu = n % 2,
				      .cgroup = n % 3,
				      .comm = "x",
				      .flags = n % 20 ? 0 : SAMPLE_RESUMES};

	sample.native_loss = n % 50 == 7 ? LOSS_NO_RULE : LOSS_NONE;
	if (n % 7 == 0) {
		sample.waits = WAIT_OFF_CPU | n % 14;
		sample.weight = n + 1;
	}
	give_stack(watch, sample.native_stack);
	watch_take_record(watch, &sample.header, sizeof(sample));
	if (n % 20 == 10 && n > 30) {
		sample.header.type = EVENT_RESUMED;
		sample.sequence = n - 30 + 1;
		sample.flags = 0;
		watch_take_record(watch, &sample.header, sizeof(sample));
	}
}

static void collect(struct watch *watch, struct report *report, bool last, struct profile *ret)
{
	struct tallies tallies;

	if (last)
		watch_release_stale(watch, UINT64_MAX, LOSS_STACK_MISSING);
	watch_take(watch, !last, &tallies);
	report_window(report, &tallies, last, ret);
	profile_quality(ret)->samples += tallies.samples;
	tallies_deinit(&tallies);
}

static void add_sample(struct profile *to, const struct profile *from, const struct profile_sample *sample)
{
	struct profile_sample copy = *sample;
	uint32_t frames[64], i;

	for (i = 0; i < sample->depth; i++)
		profile_frame(to, profile_frame_at(from, sample->frames[i]), &frames[i]);
	copy.frames = frames;
	profile_add_sample(to, &copy, NULL);
}

static void add(struct profile *to, const struct profile *from)
{
	const struct profile_quality *quality = profile_get_quality(from);
	size_t i;

	for (i = 0; i < profile_sample_count(from); i++)
		add_sample(to, from, profile_sample_at(from, i));
	profile_quality(to)->samples += quality->samples;
	profile_quality(to)->complete += quality->complete;
	for (i = 0; i < LOSS_COUNT; i++)
		profile_quality(to)->lost[i] += quality->lost[i];
}

static uint64_t accounted(const struct profile *profile)
{
	const struct profile_quality *quality = profile_get_quality(profile);
	uint64_t sum = quality->complete;
	size_t i;

	for (i = 0; i < LOSS_COUNT; i++)
		sum += loss_kind((unsigned int)i) == LOSS_KIND_NOTE ? 0 : quality->lost[i];
	return sum;
}

/* Samples of `b` that `a` does not have as often. */
static size_t missing(const struct profile *a, const struct profile *b)
{
	struct profile *sum = profile_create();
	size_t i, before, different = 0;

	add(sum, a);
	before = profile_sample_count(sum);
	add(sum, b);
	different += profile_sample_count(sum) - before;
	for (i = 0; i < before; i++)
		different += profile_sample_at(sum, i)->count != 2 * profile_sample_at(a, i)->count ||
			     profile_sample_at(sum, i)->weight != 2 * profile_sample_at(a, i)->weight;
	profile_destroy(sum);
	return different;
}

/* One recording in windows of `every` records; the store is made anew in between, or ages. */
static struct profile *in_windows(uint32_t every, bool tidies)
{
	const struct store_drop nothing = {.what = STORE_DROP_NOTHING};
	struct profile *sum = profile_create();
	struct watch watch;
	struct report *report;
	uint64_t state = 1, dropped = 0;
	uint32_t n, unbalanced = 0, windows = 0, unsent = 0;
	size_t moments = 0, wrong = 0, i;

	begin(&watch);
	report = report_create(&watch, &(struct report_options){});
	for (n = 0; n < SAMPLES; n++) {
		struct profile *window;

		give(&watch, n, &state);
		if (tidies && n % 700 == 699)
			store_rebuild(&watch.store, &nothing, let_go, &unsent, &dropped);
		if ((n + 1) % every && n + 1 < SAMPLES)
			continue;
		window = profile_create();
		collect(&watch, report, n + 1 == SAMPLES, window);
		unbalanced += accounted(window) != profile_get_quality(window)->samples;
		moments += profile_moment_count(window);
		for (i = 0; i < profile_moment_count(window); i++) {
			const struct profile_moment *moment = profile_moment_at(window, i);
			uint64_t number = moment->time * 1000 / S - 1;

			wrong += moment->cpu != number % 2 ||
				 profile_sample_at(window, moment->sample)->cgroup != number % 3;
		}
		add(sum, window);
		profile_destroy(window);
		windows++;
	}
	is_int(unbalanced, 0, "each of %u windows accounts for all of its samples", windows);
	is_int(moments, SAMPLES, "each sample has its moment");
	is_int(wrong, 0, "which is of its own sample");
	is_int(profile_get_quality(sum)->samples, SAMPLES, "no sample is in two windows, or in none");
	report_destroy(report);
	end(&watch);
	return sum;
}

static void test_sum(void)
{
	struct profile *whole = in_windows(SAMPLES, false), *windows = in_windows(100, false),
		       *tidied = in_windows(90, true);

	ok(profile_sample_count(whole) > 100, "one recording has %zu distinct samples", profile_sample_count(whole));
	is_int(missing(whole, windows) + missing(windows, whole), 0, "the windows' sum is one recording");
	is_int(missing(whole, tidied) + missing(tidied, whole), 0, "also when the store is made anew in between");
	ok(!memcmp(profile_get_quality(whole)->lost, profile_get_quality(windows)->lost,
		   sizeof(profile_get_quality(whole)->lost)),
	   "and so are the losses");
	profile_destroy(whole);
	profile_destroy(windows);
	profile_destroy(tidied);
}

/* What was named stays named: a window without anything new adds no location and no frame. */
static void test_names_stay(void)
{
	struct watch watch;
	struct report *report;
	struct profile *first = profile_create(), *second = profile_create();
	size_t locations, frames;
	uint64_t state = 5;
	uint32_t n;

	begin(&watch);
	report = report_create(&watch, &(struct report_options){});
	for (n = 0; n < 2000; n++)
		give(&watch, n, &state);
	collect(&watch, report, false, first);
	locations = watch.store.locations.count;
	frames = frames_count(watch.naming.names);
	is_int(watch.store.unnamed.count, 0, "all is named");
	for (n = 2000; n < 4000; n++)
		give(&watch, n, &state);
	is_int(watch.store.unnamed.count, 0, "what is met again needs no name");
	collect(&watch, report, false, second);
	ok(watch.store.locations.count == locations && frames_count(watch.naming.names) == frames, "and no room");
	profile_destroy(first);
	profile_destroy(second);
	report_destroy(report);
	end(&watch);
}

/* What no window has named for a while is let go. */
static void test_let_go(void)
{
	const struct store_drop nothing = {.what = STORE_DROP_NOTHING};
	uint64_t state = 9, dropped = 0, bytes;
	struct profile *window = profile_create();
	uint32_t unsent = 0, n;
	struct report *report;
	struct watch watch;

	begin(&watch);
	report = report_create(&watch, &(struct report_options){});
	for (n = 0; n < 2000; n++)
		give(&watch, n, &state);
	bytes = store_bytes(&watch.store);
	collect(&watch, report, false, window);
	for (n = 0; n < STORE_TURNS + 2; n++)
		store_age(&watch.store, let_go, &unsent);
	store_rebuild(&watch.store, &nothing, let_go, &unsent, &dropped);
	is_int(watch.store.stacks.count + watch.store.locations.count, 0, "nothing is left of it");
	is_int(dropped, 0, "nothing of a result was dropped for that");
	is_int(unsent, STACKS, "and the kernel part sends it again when it comes back");
	ok(store_bytes(&watch.store) < bytes / 10, "its memory is free: %llu of %llu bytes",
	   (unsigned long long)store_bytes(&watch.store), (unsigned long long)bytes);
	profile_destroy(window);
	report_destroy(report);
	end(&watch);
}

/* A window with so many samples of the kernel's count, of which `seen` arrived. */
static uint64_t window_of(struct balance *balance, uint64_t runs, uint64_t seen, uint64_t waiting, bool emptied,
			  bool last, uint64_t *internal)
{
	const struct balance_totals now = {.kernel = {.runs = runs + 1, .sent = runs}};
	const struct balance_window window = {.seen = seen, .waiting = waiting, .emptied = emptied, .last = last};
	struct profile_quality quality = {};

	balance_add(balance, &now, &window, &quality);
	*internal += quality.lost[LOSS_INTERNAL];
	return quality.samples - seen - quality.lost[LOSS_INTERNAL];
}

static void test_balance(void)
{
	struct balance balance = {};
	uint64_t internal = 0, odd = 0, runs = 0;
	int i;

	for (i = 0; i < 20; i++) /* some more arrive while the ring is emptied; once one is held up */
		odd += window_of(&balance, runs += 10,
				 i == 0   ? 12
				 : i == 7 ? 5
				 : i == 8 ? 15
					  : 10,
				 0, true, false, &internal);
	ok(!odd && !internal, "what is on its way is not lost");

	balance = (struct balance){};
	internal = runs = 0;
	for (i = 0; i < 10; i++) /* five wait for their other part */
		window_of(&balance, runs += 10, i ? 10 : 5, 5, true, false, &internal);
	is_int(internal, 0, "nor is what waits");
	for (i = 0; i < 10; i++) /* the ring is never emptied */
		window_of(&balance, runs += 10, 1, 5, false, false, &internal);
	is_int(internal, 0, "nor what lies in the ring");
	window_of(&balance, runs, 96, 0, true, true, &internal);
	is_int(internal, 0, "which comes at the end");

	balance = (struct balance){};
	internal = runs = 0;
	window_of(&balance, runs += 10, 7, 0, true, false, &internal);
	is_int(internal, 0, "three do not come");
	window_of(&balance, runs += 10, 10, 0, true, false, &internal);
	is_int(internal, 3, "and are lost when they have not by the next window");
	for (i = 0; i < 10; i++)
		window_of(&balance, runs += 10, 10, 0, true, false, &internal);
	is_int(internal, 3, "which is told once");
	window_of(&balance, runs += 10, 6, 0, true, true, &internal);
	is_int(internal, 8, "what has not come at the end is lost, begun or sent");
}

/* Waits that had not ended are samples that the kernel part did not begin. */
static void test_waits(void)
{
	struct balance balance = {};
	struct balance_totals now = {
		.kernel = {.runs = 10,
			   .sent = 10,
			   .off_cpu = {.waits = 40, .waits_ns = 900, .measured = 10, .measured_ns = 500}}};
	struct balance_window window = {.seen = 10, .emptied = true};
	struct profile_quality quality = {};

	balance_add(&balance, &now, &window, &quality);
	is_int(quality.off_cpu.waits, 40, "a window's waits");
	now.watch.unfinished = 3;
	now.watch.unfinished_ns = 70;
	window = (struct balance_window){.seen = 3, .emptied = true, .last = true};
	quality = (struct profile_quality){};
	balance_add(&balance, &now, &window, &quality);
	ok(quality.samples == 3 && !quality.lost[LOSS_INTERNAL], "those that end with the recording are no loss");
	ok(quality.off_cpu.waits == 3 && quality.off_cpu.measured_ns == 70, "and are measured");
}

static void test_counters(void)
{
	struct balance balance = {};
	struct balance_totals now = {
		.kernel = {.ring_full = 4, .missed_ticks = 10, .worst_ns = 500}, .watch = {.late = 3}, .self_cpu_s = 2};
	struct balance_window window = {.emptied = true};
	struct profile_quality first = {}, second = {}, third = {};

	balance_add(&balance, &now, &window, &first);
	now.kernel.ring_full = 9;
	now.kernel.missed_ticks = 8; /* an estimate */
	now.kernel.worst_ns = 100;
	now.watch.late = 5;
	now.self_cpu_s = 2.5;
	balance_add(&balance, &now, &window, &second);
	now.kernel.missed_ticks = 12;
	balance_add(&balance, &now, &window, &third);
	ok(first.lost[LOSS_RING_FULL] == 4 && second.lost[LOSS_RING_FULL] == 5 && !third.lost[LOSS_RING_FULL],
	   "what did not fit is lost in its own window");
	ok(first.samples == 4 && second.samples == 5, "and is one of its samples");
	ok(first.lost[LOSS_TICKS] == 10 && !second.lost[LOSS_TICKS] && third.lost[LOSS_TICKS] == 2,
	   "an estimate that goes back is not told twice");
	ok(first.late_samples == 3 && second.late_samples == 2 && !third.late_samples, "late ones");
	ok(first.bpf_worst_ns == 500 && second.bpf_worst_ns == 100, "the longest of each window");
	ok(second.self_cpu_s > 0.49 && second.self_cpu_s < 0.51, "own CPU time");
}

int main(void)
{
	test_sum();
	test_names_stay();
	test_let_go();
	test_balance();
	test_waits();
	test_counters();
	test_places();
	return tap_done();
}
