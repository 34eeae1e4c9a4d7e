// SPDX-License-Identifier: GPL-2.0-or-later
/* The store: names decoded, locations, stacks and tallies interned, also where their hashes meet. */
#include "abi/loss.h"
#include "engine/names.h"
#include "engine/store_parts.h"
#include "tap.h"

static uint64_t next_id = 1;

static const struct code *find_code(struct store *store, uint64_t id)
{
	uint64_t value;

	return table_get(&store->code_ids, id, &value) ? store_code_at(store, ID_NUMBER(value)) : NULL;
}

/* The stored name of a code object whose qualified name is `bytes` bytes of `kind`. NULL when there is none. */
static const char *name_of(struct store *store, int kind, const void *text, uint32_t bytes, uint32_t length)
{
	static struct code_event event;

	event = (struct code_event){.id = next_id++, .runtime = RUNTIME_ID_python, .version = 0x030c};
	event.qualname = (struct code_string){.kind = (uint16_t)kind, .bytes = (uint16_t)bytes, .length = length};
	if (bytes <= CODE_STRING_MAX)
		memcpy(event.text, text, bytes);
	if (store_code(store, &event, (const uint8_t *)"", 0))
		return NULL;
	return find_code(store, event.id)->name;
}

static void test_names(void)
{
	static const uint16_t greek[] = {0x3b1, 'x', 0xd800, 0xdcff, 0xffff, 0x7ff, 0x800};
	static const uint32_t wide[] = {0x1f600, 0x110000, 0x10ffff, 0xdc80, 'y'};
	struct store store = {};
	char long_text[CODE_STRING_MAX + 8];
	const char *name;
	uint32_t i;

	is_str(name_of(&store, 1, "plain", 5, 5), "plain", "ASCII");
	is_str(name_of(&store, 1, "", 0, 0), "", "an empty name");
	is_str(name_of(&store, 1, "\xe9\x7f\x80\xff", 4, 4), "é\x7f\xc2\x80ÿ", "Latin-1");
	is_str(name_of(&store, 2, greek, 14, 7), "αx??\uffff\u07ff\u0800", "two bytes each, with surrogates");
	is_str(name_of(&store, 4, wide, 20, 5), "😀?\U0010ffff?y", "four bytes each, with what is no character");
	is_str(name_of(&store, 1, "a\0b", 3, 3), "a?b", "a NUL inside");
	is_str(name_of(&store, 1, "cut", 3, 9), "cut…", "a cut name says so");
	is_str(name_of(&store, 2, greek, 3, 2), "α…", "half a character");
	ok(!name_of(&store, 0, "x", 1, 1), "no kind");
	ok(!name_of(&store, 3, "xyz", 3, 1), "a kind that does not exist");
	ok(!name_of(&store, 1, "x", CODE_STRING_MAX + 1, 1), "more bytes than there are");
	for (i = 0; i < CODE_STRING_MAX; i++)
		long_text[i] = '\xe9';
	name = name_of(&store, 1, long_text, CODE_STRING_MAX, CODE_STRING_MAX + 1);
	ok(name && strlen(name) == CODE_STRING_MAX * 2 + 3, "the longest name grows to twice its size");
	for (i = 0; i + 4 <= CODE_STRING_MAX; i += 4)
		memcpy(long_text + i, &wide[0], 4);
	name = name_of(&store, 4, long_text, CODE_STRING_MAX, CODE_STRING_MAX);
	ok(name && strlen(name) == CODE_STRING_MAX + 3, "or stays as it is");
	store_deinit(&store);
}

static void test_codes(void)
{
	static struct code_event event = {.id = 7,
					  .runtime = RUNTIME_ID_python,
					  .version = 0x0309,
					  .is_named = 1,
					  .firstlineno = 12,
					  .table_size = 4,
					  .name = {.kind = 1, .bytes = 1, .length = 1},
					  .filename = {.kind = 1, .bytes = 4, .length = 4}};
	struct store store = {};
	const struct code *code;

	event.text[0] = 'f';
	event.filename.at = 8;
	memcpy(event.text + 8, "a.py", 4);
	ok(!find_code(&store, 7), "a code object that is not there");
	ok(!store_code(&store, &event, (const uint8_t *)"ab", 2), "half a line table");
	code = find_code(&store, 7);
	ok(code && !code->complete && code->table_size == 2, "is not complete");
	is_str(code->name, "f", "without a qualified name, the name");
	is_str(code->file, "a.py", "file");
	store_code(&store, &event, (const uint8_t *)"abcd", 4);
	code = find_code(&store, 7);
	ok(code && code->complete && !memcmp(code->table, "abcd", 4) && code->firstlineno == 12,
	   "a better copy replaces it");
	event.firstlineno = 99;
	store_code(&store, &event, (const uint8_t *)"", 0);
	is_int(find_code(&store, 7)->firstlineno, 12, "a complete one stays");
	event.id = 8;
	event.filename.kind = event.is_named = 0;
	store_code(&store, &event, (const uint8_t *)"abcd", 4);
	code = find_code(&store, 8);
	ok(!code->complete && !code->file, "without a file it is not complete");
	event.id = 9;
	event.version = 0x030b;
	event.filename.kind = 1;
	store_code(&store, &event, (const uint8_t *)"abcd", 4);
	code = find_code(&store, 9);
	ok(!code->complete && code->name, "nor where the walk could not read all of its name");
	event.qualname = event.name;
	event.is_named = 1;
	memcpy(event.text, "f", 2);
	store_code(&store, &event, (const uint8_t *)"abcd", 4);
	ok(find_code(&store, 9)->complete, "with it, it is");
	store_deinit(&store);
}

/* A whole code object of a name. */
static void name_at(struct store *store, uint64_t id, const char *name)
{
	static struct code_event event;
	uint16_t size = (uint16_t)strlen(name);

	event = (struct code_event){
		.id = id, .runtime = RUNTIME_ID_python, .version = 0x030b, .is_named = 1, .table_size = 2};
	event.qualname = event.filename = (struct code_string){.kind = 1, .bytes = size, .length = size};
	memcpy(event.text, name, size);
	store_code(store, &event, (const uint8_t *)"ab", 2);
}

static uint32_t location(struct store *store, uint32_t object, bool is_return, uint64_t address)
{
	const struct location l = {.object = object, .is_return = is_return, .address = address};
	uint32_t index = UINT32_MAX;

	if (store_location(store, &l, &index) || store->locations.at[index].object != object ||
	    store->locations.at[index].is_return != is_return || store->locations.at[index].address != address)
		return UINT32_MAX; /* the number of something else */
	return index;
}

static void test_locations(void)
{
	struct store store = {};
	uint32_t first = location(&store, LOCATION_FILES, false, 0x1000), index, i, wrong = 0;

	is_int(first, 0, "the first location");
	is_int(location(&store, LOCATION_FILES, false, 0x1000), 0, "again");
	is_int(location(&store, LOCATION_FILES, true, 0x1000), 1, "as a return address");
	is_int(location(&store, LOCATION_FILES + 1, false, 0x1000), 2, "in another file");
	is_int(location(&store, LOCATION_KERNEL, false, 0), 3, "kernel address 0");
	is_int(location(&store, LOCATION_KERNEL, false, 0xffffffff81000000), 4, "a kernel address");
	is_int(location(&store, LOCATION_UNKNOWN, false, 0x0000123456789abc), 5, "an address in no file");
	is_int(location(&store, LOCATION_UNKNOWN, false, 0x4000123456789abc), 6, "one that differs in its upper bits");
	is_int(location(&store, 0xffff, true, (1ull << 47) - 1), 7, "all bits set");
	is_int(location(&store, LOCATION_KERNEL, false, 0), 3, "is not kernel address 0");
	is_int(location(&store, LOCATION_FILES + 65536, false, 0x1000), 8, "more than 65,536 files");
	for (i = 0; i < 100000; i++)
		wrong += location(&store, LOCATION_FILES + i % 7, i & 1, i / 14 * 16) == UINT32_MAX;
	is_int(wrong, 0, "a hundred thousand");
	is_int(store_second_location(&store, 77, 0, &index), 0, "a Python location, before its code object");
	is_int(index, 0, "is the first");
	store_second_location(&store, 77, 2, &index);
	is_int(index, 1, "another instruction is another");
	store_second_location(&store, 77, 0, &index);
	is_int(index, 0, "and the first is found again");
	store_second_location(&store, 0, 0, &index);
	is_int(index, 2, "no code object");
	store_second_location(&store, 5, -2, &index);
	is_int(store.second_locations.at[index].position, -2, "before the first instruction");
	ok(!store_code_at(&store, store.second_locations.at[0].code), "the code object has not come");
	name_at(&store, 77, "late");
	is_str(store_code_at(&store, store.second_locations.at[0].code)->name, "late", "it comes later");
	store_deinit(&store);
}

/* What comes from other processes under other ids, and is the same. */
static void test_contents(void)
{
	const uint32_t frames[] = {3, 2, 1};
	struct sample_event sample = {.native_stack = 5, .comm = "x"};
	struct store store = {};
	uint32_t a = 0, b = 0;

	name_at(&store, 100, "same");
	name_at(&store, 101, "same");
	name_at(&store, 102, "other");
	ok(find_code(&store, 100) == find_code(&store, 101), "equal code objects are kept once");
	ok(find_code(&store, 100) != find_code(&store, 102), "others are not");
	store_second_location(&store, 100, 8, &a);
	store_second_location(&store, 103, 8, &b);
	name_at(&store, 103, "same");
	ok(a != b && find_code(&store, 103) == find_code(&store, 100), "nor is one that frames named before");
	store_stack(&store, 5, false, frames, 3);
	store_stack(&store, 6, false, frames, 3);
	store_stack(&store, 7, true, frames, 3);
	is_int(store.stacks.count, 2, "equal stacks are kept once, native and Python ones apart");
	store_sample(&store, &sample);
	sample.native_stack = 6;
	store_sample(&store, &sample);
	is_int(store.tallies.list.count, 1, "and are one tally");
	sample.native_stack = 99;
	store_sample(&store, &sample);
	ok(store.missing.count == 1 && store.missing.at[0] == 99 &&
		   store.tallies.list.at[1].native_stack == STACK_MISSING,
	   "a stack that did not arrive is told");
	store_deinit(&store);
}

static void note(void *context, uint64_t id)
{
	uint64_t *sum = context;

	*sum += id;
}

static void test_age(void)
{
	const uint32_t frames[] = {1};
	struct store store = {};
	uint64_t sum = 0;
	uint32_t i;

	store_stack(&store, 5, false, frames, 1);
	store_stack(&store, 600, false, frames, 1);
	name_at(&store, 70000, "f");
	for (i = 0; i < STORE_TURNS - 1; i++)
		store_age(&store, note, &sum);
	ok(!sum && store_has_stack(&store, 5), "ids stay for some turns");
	for (i = 0; i < STORE_TURNS - 1; i++)
		store_age(&store, note, &sum);
	is_int(sum, 70600, "those that were not named meanwhile are to be sent again");
	ok(store_has_stack(&store, 5), "the one that was stays");
	ok(!table_get(&store.stack_ids, 600, NULL) && !table_get(&store.code_ids, 70000, NULL),
	   "the others are forgotten a turn later");
	is_int(store.stacks.count, 1, "their content is not");
	store_deinit(&store);
}

/* Thousands of samples of which few are frequent, in a bound. */
static void test_rebuild(void)
{
	const struct store_drop nothing = {.what = STORE_DROP_NOTHING},
				rare = {.what = STORE_DROP_STACKS, .threshold = 2};
	struct sample_event sample = {.comm = "x"};
	struct store store = {};
	uint64_t evicted = 0, sum = 0, bytes;
	uint32_t i, k, frames[20], samples = 0, named = 0;

	for (i = 0; i < 5000; i++) {
		for (k = 0; k < 20; k++) {
			const struct location l = {.object = LOCATION_FILES + i % 3, .address = i * 20 + k};

			store_location(&store, &l, &frames[k]);
		}
		store_stack(&store, 1000 + i, false, frames, 20);
		sample.native_stack = 1000 + i;
		for (k = 0; k < (i < 10 ? 100 : 1 + i % 3); k++, samples++)
			store_sample(&store, &sample);
	}
	bytes = store_bytes(&store);
	ok(!store_rebuild(&store, &nothing, note, &sum, &evicted) && !evicted && !sum && store_bytes(&store) <= bytes,
	   "without a threshold nothing is lost");
	ok(store.tallies.samples == samples && store.stacks.count == 5000 && store.locations.count == 100000,
	   "all is there");
	/* As when all files were forgotten: what they had become the same frames. */
	for (i = 0; i < store.locations.count; i++)
		store.locations.at[i].named = store.locations.at[i].address % 40 | LOCATION_HAS_NAME;
	store_rebuild(&store, &nothing, note, &sum, &evicted);
	is_int(store.locations.count, 40, "equal names are one location");
	is_int(store.stacks.count, 2, "equal stacks are one");
	is_int(store.tallies.list.count, 2, "and equal tallies");
	is_int(store.tallies.samples, samples, "of all samples");
	ok(store_has_stack(&store, 1000) && store_has_stack(&store, 5999), "every id is known still");
	store_deinit(&store);

	store = (struct store){};
	for (i = 0; i < 3000; i++) {
		const struct location l = {.object = LOCATION_FILES, .address = i};

		store_location(&store, &l, &frames[0]);
		store_stack(&store, 1 + i, false, frames, 1);
		sample.native_stack = 1 + i;
		for (k = 0; k < (i < 10 ? 100 : 2); k++)
			store_sample(&store, &sample);
	}
	for (i = 0; i < 3; i++)
		store_age(&store, note, &sum);
	sum = 0;
	is_int(store_rebuild(&store, &rare, note, &sum, &evicted), 0, "rare stacks are evicted");
	is_int(evicted, 2 * 2990, "and counted");
	is_int(sum, 3000 * 3001 / 2 - 55, "their ids are to be sent again");
	for (i = 0; i < store.tallies.list.count; i++)
		named += store.tallies.list.at[i].native_loss == LOSS_EVICTED;
	ok(store.tallies.list.count == 11 && named == 1 && store.stacks.count == 10 && store.locations.count == 10,
	   "what is frequent stays");
	is_int(store.tallies.samples, 1000 + 2 * 2990, "no sample is lost");
	store_rebuild(&store, &rare, note, &sum, &evicted);
	is_int(evicted, 2 * 2990, "what is evicted is so once");
	store_deinit(&store);
}

/* Files that are gone: each function has one sample and a name, ten have many. */
static void test_forgotten_names(void)
{
	const struct store_drop rare = {.what = STORE_DROP_STACKS, .threshold = 1};
	struct store store = {};
	struct names names = {.store = &store, .frames = frames_create()};
	struct sample_event sample = {.comm = "x"};
	uint64_t evicted = 0, sum = 0;
	uint32_t i, k, frame, number, right = 0;
	char name[64];
	size_t bytes;

	for (i = 0; i < 3000; i++) {
		struct location l = {.object = LOCATION_NAMED};

		snprintf(name, sizeof(name), "function %u", i);
		frames_add(names.frames, &(struct frame){FRAME_NATIVE, name, "gone.so", 0}, &frame);
		l.address = l.named = frame | LOCATION_HAS_NAME;
		store_location(&store, &l, &number);
		store_stack(&store, 1 + i, false, &number, 1);
		sample.native_stack = 1 + i;
		for (k = 0; k < (i % 300 == 299 ? 5 : 1); k++)
			store_sample(&store, &sample);
	}
	bytes = frames_bytes(names.frames);
	is_int(names_forget(&names), 0, "all names are needed");
	is_int(frames_bytes(names.frames), bytes, "and stay");
	store_rebuild(&store, &rare, note, &sum, &evicted);
	is_int(names_forget(&names), 0, "what is evicted takes its names along");
	ok(evicted == 2990 && frames_bytes(names.frames) < bytes / 4, "their memory is free: %zu of %zu bytes",
	   frames_bytes(names.frames), bytes);
	for (i = 0; i < store.locations.count; i++) {
		const struct frame *named = frames_at(names.frames, LOCATION_FRAME(store.locations.at[i].named));

		snprintf(name, sizeof(name), "function %u", 300 * i + 299);
		right += named && !strcmp(named->name, name);
	}
	is_int(right, 10, "what is left has its names");
	store_seal(&store);
	store_drop_stack(&store, 1);
	store_drop_stack(&store, STACK_MISSING);
	ok(!store_stack_at(&store, 1) && store_stack_at(&store, 2), "a stack that was dropped is none");
	frames_destroy(names.frames);
	store_deinit(&store);
}

/* A storm: 2,990 threads that are seen once, and one that is seen ten times, at one of three places. */
static void sample_threads(struct store *store)
{
	struct sample_event sample = {.comm = "x"};
	uint32_t i, frame;

	for (i = 0; i < 3000; i++) {
		store_location(store, &(struct location){.object = LOCATION_FILES, .address = i % 3}, &frame);
		sample.native_stack = frame + 1;
		sample.tgid = sample.tid = i < 2990 ? i + 1 : 5000;
		store_stack(store, sample.native_stack, false, &frame, 1);
		store_sample(store, &sample);
	}
}

static void test_threads(void)
{
	const struct store_drop threads = {.what = STORE_DROP_THREADS, .threshold = 1};
	struct store store = {};
	uint64_t dropped = 0, sum = 0;

	sample_threads(&store);
	is_int(store.tallies.list.count, 2993, "threads are told apart");
	is_int(store_rebuild(&store, &threads, note, &sum, &dropped), 0, "unless they are dropped");
	is_int(dropped, 2990, "which is counted");
	is_int(store.tallies.list.count, 6, "then the rare ones are one for each stack");
	ok(store.tallies.samples == 3000 && store.stacks.count == 3 && store_has_stack(&store, 1),
	   "of which none is lost");
	store_rebuild(&store, &threads, note, &sum, &dropped);
	is_int(dropped, 2990, "what is dropped is so once");
	store_deinit(&store);

	store = (struct store){.merges_threads = true};
	sample_threads(&store);
	is_int(store.tallies.list.count, 3, "threads that nobody wants to know are not told apart");
	store_deinit(&store);
}

static void test_stacks(void)
{
	const uint32_t frames[] = {0, 1, 2};
	struct store store = {};
	const struct stack *stack;

	ok(!store_has_stack(&store, 5), "a stack that is not there");
	is_int(store_stack(&store, 5, false, frames, 3), 0, "a new stack");
	is_int(store_stack(&store, 5, false, frames, 2), 0, "the same id again is none");
	stack = store_stack_at(&store, 1);
	ok(store_has_stack(&store, 5) && stack->count == 3 && !memcmp(stack->frames, frames, sizeof(frames)),
	   "and is found");
	ok(!store_stack(&store, 6, false, NULL, 0) && !store_stack_at(&store, 2)->count, "an empty stack");
	ok(!store_stack_at(&store, STACK_NONE) && !store_stack_at(&store, STACK_MISSING),
	   "none, and one that is missing");
	store_deinit(&store);
}

static void test_tallies(void)
{
	struct sample_event sample = {.native_stack = 5, .tgid = 1, .tid = 2, .comm = "name\0rubbish"};
	struct store store = {};
	uint32_t i;

	for (i = 0; i < 10; i++) {
		sample.time = i;
		sample.sequence = i;
		memset(sample.comm + 5, (int)i, 10);
		store_sample(&store, &sample);
	}
	is_int(store.tallies.list.count, 1, "samples that differ in time, and behind the name's end, are one tally");
	is_int(store.tallies.list.at[0].count, 10, "of ten");
	sample.flags = SAMPLE_IN_KERNEL;
	store_sample(&store, &sample);
	is_int(store.tallies.list.count, 1, "where it was taken does not matter");
	sample.flags = SAMPLE_LATE;
	store_sample(&store, &sample);
	sample.tid++;
	store_sample(&store, &sample);
	sample.native_loss = 3;
	store_sample(&store, &sample);
	sample.second_stack = 9;
	store_sample(&store, &sample);
	memset(sample.comm, 'x', sizeof(sample.comm));
	store_sample(&store, &sample);
	is_int(store.tallies.list.count, 6, "lateness, thread, loss, stack and name do");
	is_str(store.tallies.list.at[5].comm, "xxxxxxxxxxxxxxx", "a name without an end");
	is_int(store.tallies.samples, 16, "all samples");
	store_deinit(&store);
}

/* Samples of the clock weigh a tick, waits what they say; what a thread waits for tells tallies apart. */
static void test_weights(void)
{
	struct sample_event ran = {.comm = "x"}, waited = {.comm = "x", .waits = WAIT_OFF_CPU | 7, .weight = 3000000};
	struct store store = {.tick_ns = 1000, .keeps_moments = true}, plain = {};

	store_sample(&store, &ran);
	store_sample(&store, &ran);
	store_sample(&store, &waited);
	waited.weight = 500;
	store_sample(&store, &waited);
	waited.waits = WAIT_OFF_CPU | WAIT_PREEMPTED | 7;
	store_sample(&store, &waited);
	is_int(store.tallies.list.count, 3, "one that ran, and one for each reason to wait");
	is_int(store.tallies.list.at[0].weight, 2000, "two ticks");
	is_int(store.tallies.list.at[1].weight, 3000500, "two waits");
	is_int(store.tallies.list.at[1].count, 2, "and their number");
	is_int(store.tallies.moments.at[2].weight, 3000000, "a moment has the weight of its sample");
	is_int(tally_worth(&store.tallies.list.at[1]), 4, "what is weighed is dropped by milliseconds");
	store_deinit(&store);
	store_sample(&plain, &ran);
	is_int(plain.tallies.list.at[0].weight, 0, "without a tick samples are only counted");
	is_int(tally_worth(&plain.tallies.list.at[0]), 1, "and dropped by their number");
	store_deinit(&plain);
}

/* Who holds the lock of a runtime tells tallies apart, where that is wanted and known. */
static void test_locks(void)
{
	struct sample_event held = {.comm = "x", .flags = SAMPLE_SECOND | SAMPLE_HAS_LOCK | SAMPLE_CURRENT},
			    other = held;
	struct sample_event unknown = held;
	struct store store = {.keeps_locks = true}, plain = {};

	other.flags &= ~(uint32_t)SAMPLE_CURRENT;
	unknown.flags &= ~(uint32_t)SAMPLE_HAS_LOCK;
	store_sample(&store, &held);
	store_sample(&store, &other);
	store_sample(&store, &unknown);
	is_int(store.tallies.list.count, 3, "with the lock, without it, and where there is none");
	is_int(store.tallies.list.at[0].flags, held.flags, "held");
	is_int(store.tallies.list.at[1].flags, other.flags, "not held");
	is_int(store.tallies.list.at[2].flags, SAMPLE_SECOND, "without a lock nobody holds it");
	store_deinit(&store);
	store_sample(&plain, &held);
	store_sample(&plain, &other);
	is_int(plain.tallies.list.count, 1, "not wanted: one");
	plain.keeps_locks = true;
	held.flags |= SAMPLE_VFORK;
	store_sample(&plain, &held);
	is_int(plain.tallies.list.at[1].flags, SAMPLE_SECOND | SAMPLE_VFORK, "what is in a parent's memory is its own");
	store_deinit(&plain);
}

/* The stacks of wakers move with those of the samples, and are dropped with them. */
static void test_wakers(void)
{
	const struct store_drop nothing = {.what = STORE_DROP_NOTHING},
				rare = {.what = STORE_DROP_STACKS, .threshold = 1};
	const uint32_t frames[] = {2, 1, 0};
	struct sample_event sample = {
		.comm = "x",
		.waits = WAIT_OFF_CPU | 7,
		.weight = 5000000,
		.kernel_stack = 10,
		.native_stack = 11,
		.waker = {.kernel_stack = 12,
			  .native_stack = 13,
			  .second_stack = 14,
			  .native_loss = LOSS_NO_RULE,
			  .flags = WAKER_KNOWN | SAMPLE_SECOND,
			  .comm = "waker"},
	};
	struct store store = {.keeps_locks = true};
	const struct tally *tally;
	const struct stack *stack;
	uint64_t dropped = 0, sum = 0;
	uint32_t i, second, number;

	for (i = 0; i < 3; i++)
		store_location(&store, &(struct location){.object = LOCATION_FILES, .address = 100 + i}, &number);
	store_second_location(&store, 77, 4, &second);
	second = second << SECOND_FLAG_BITS | SECOND_FRAME_ENTRY;
	store_stack(&store, 9, false, frames, 1); /* nobody's: others get its number */
	store_stack(&store, 14, true, &second, 1);
	store_stack(&store, 13, false, frames, 2);
	store_stack(&store, 12, false, frames + 1, 1);
	store_stack(&store, 11, false, frames, 3);
	store_stack(&store, 10, false, frames + 1, 2);
	store_sample(&store, &sample);
	sample.waker.native_stack = 99;
	store_sample(&store, &sample);
	sample.waker.flags = 0;
	sample.weight = 1;
	store_sample(&store, &sample);
	for (i = 0; i < 3; i++)
		store_age(&store, note, &sum);
	is_int(store_rebuild(&store, &nothing, note, &sum, &dropped), 0, "rebuilt");
	ok(store.tallies.list.count == 3 && !dropped, "nothing is dropped");
	tally = &store.tallies.list.at[0];
	is_str(tally->waker.comm, "waker", "the waker's name");
	is_int(tally->waker.native_loss, LOSS_NO_RULE, "what its stack has lost");
	stack = store_stack_at(&store, tally->waker.kernel_stack);
	ok(stack && stack->count == 1 && store.locations.at[stack->frames[0]].address == 101, "its kernel stack");
	stack = store_stack_at(&store, tally->waker.native_stack);
	ok(stack && stack->count == 2 && store.locations.at[stack->frames[0]].address == 102 &&
		   store.locations.at[stack->frames[1]].address == 101,
	   "its native stack");
	stack = store_stack_at(&store, tally->waker.second_stack);
	ok(stack && stack->runtime && stack->count == 1 && stack->frames[0] & SECOND_FRAME_ENTRY &&
		   store.second_locations.at[stack->frames[0] >> SECOND_FLAG_BITS].position == 4,
	   "its second stack");
	stack = store_stack_at(&store, tally->native_stack);
	ok(stack && stack->count == 3, "beside the sample's own");
	is_int(store.tallies.list.at[1].waker.native_stack, STACK_MISSING, "one that did not arrive");
	is_int(store.tallies.list.at[2].waker.flags, 0, "a sample without a waker");
	ok(store.keeps_locks, "what is kept of samples to come stays");
	is_int(store_rebuild(&store, &rare, note, &sum, &dropped), 0, "rebuilt without what is rare");
	ok(dropped == 1 && store.tallies.list.at[0].waker.flags, "a long wait keeps its waker");
	sum = 0;
	is_int(store_rebuild(&store, &(struct store_drop){.what = STORE_DROP_STACKS, .threshold = 100}, note, &sum,
			     &dropped),
	       0, "and without all");
	ok(!store.stacks.count && sum, "its stacks go with the sample's, and are to be sent again");
	for (i = 0; i < store.tallies.list.count; i++)
		ok(!store.tallies.list.at[i].waker.flags && store.tallies.list.at[i].native_loss == LOSS_EVICTED,
		   "evicted");
	store_deinit(&store);
}

/* Of a window's samples all have their moments, or none. */
static void test_moments_max(void)
{
	struct store store = {.keeps_moments = true, .moments_max = 3};
	const struct store_drop nothing = {};
	struct sample_event ran = {.comm = "x"};
	struct tallies taken;
	uint64_t dropped = 0;
	int i;

	for (i = 0; i < 3; i++)
		store_sample(&store, &ran);
	is_int(store.tallies.moments.count, 3, "as many moments as may be");
	store_sample(&store, &ran);
	store_rebuild(&store, &nothing, NULL, NULL, &dropped);
	store_sample(&store, &ran);
	ok(!store.tallies.moments.count && store.tallies.moments_given_up, "one more: none is kept");
	is_int(store.tallies.samples, 5, "the samples are");
	store_take(&store, true, &taken);
	tallies_deinit(&taken);
	store_sample(&store, &ran);
	is_int(store.tallies.moments.count, 1, "the next window has its own");
	store_deinit(&store);
}

int main(void)
{
	test_names();
	test_codes();
	test_locations();
	test_stacks();
	test_contents();
	test_tallies();
	test_weights();
	test_locks();
	test_wakers();
	test_moments_max();
	test_age();
	test_rebuild();
	test_forgotten_names();
	test_threads();
	return tap_done();
}
