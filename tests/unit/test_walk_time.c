// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * How long walks take (src/bpf/time.h), by a clock that the test sets: they end when their time is over, keep what is
 * right, and in pieces find what they find at once.
 */
#include "fake_native.h"
#include "fake_python.h"
#include "tap.h"

#define TEXT  0x400000ull
#define STACK 0x7ff000000000ull
#define DEPTH 20000
#define LIMIT 250000ull

/* A recursion of DEPTH frames of 16 bytes. */
static struct fake_native *recursion(void)
{
	struct fake_native *fake = fake_native_create();
	__u64 i;

	fake_function(fake, TEXT, 0x1000, fake_rule(fake, UNWIND_SP, 16, UNWIND_FP_SAME, 0));
	fake_function(fake, TEXT + 0x1000, 0x1000, fake_rule(fake, UNWIND_END, 0, 0, 0));
	fake_map(&fake->memory, STACK, DEPTH * 16 + 0x1000);
	for (i = 0; i < DEPTH; i++)
		fake_put64(&fake->memory, STACK + i * 16 + 8, TEXT + 0x100 + (i & 7));
	fake_put64(&fake->memory, STACK + DEPTH * 16 - 8, TEXT + 0x1100);
	fake->host.clock = fake_clock;
	return fake;
}

static void walk(struct fake_native *fake, __u64 limit)
{
	walk_time_begin(fake->s, fake->memory.now, limit, limit);
	fake_native_walk(fake, TEXT + 0x100, STACK, 0);
}

static void test_native(void)
{
	struct fake_native *fake = recursion();
	const struct native_walk *native = &fake->s->native;
	__u64 whole, cut;

	fake->memory.tick = 5000;
	walk(fake, 0);
	ok(native->loss == LOSS_NONE && native->count == DEPTH + 1, "without a limit: the whole stack");
	whole = native->hash;
	walk(fake, LIMIT * 100);
	ok(native->loss == LOSS_NONE && native->count == DEPTH + 1 && native->hash == whole, "time enough: the same");
	fake->memory.looks = 0;
	fake->memory.tick = 40000;
	walk(fake, LIMIT);
	ok(native->loss == LOSS_TIME_LIMIT && native->count && native->count < DEPTH, "time is over: %u frames",
	   native->count);
	is_int(native->count % WALK_CUT_FRAMES, 0, "a round number");
	is_int(fake->memory.looks, 7, "and no look more at the clock");
	cut = native->hash;
	fake->memory.tick = 42000;
	walk(fake, LIMIT + 10000);
	ok(native->hash == cut, "cut at the same place at another speed");
	fake->memory.tick = 300000;
	walk(fake, 1000);
	ok(native->loss == LOSS_TIME_LIMIT && native->count, "a slow machine: some frames nevertheless");
	fake_native_destroy(fake);
}

/* The hypervisor's host, another interrupt: that is not the walk's time. */
static void test_away(void)
{
	struct fake_native *fake = recursion();

	fake->memory.tick = 1000000000;
	walk(fake, 50 * LIMIT);
	ok(fake->s->native.loss == LOSS_NONE && fake->memory.looks > 10, "the CPU was elsewhere each time");
	fake_native_destroy(fake);
}

static void test_pieces(void)
{
	struct fake_native *fake = recursion();
	const struct native_walk *native = &fake->s->native;
	__u64 whole, *frames = calloc(DEPTH + 1, sizeof(*frames));
	__u32 pieces = 1;

	walk(fake, 0);
	whole = native->hash;
	memcpy(frames, fake->s->native_stack.frames, (DEPTH + 1) * sizeof(*frames));
	memset(fake->s->native_stack.frames, 0, sizeof(fake->s->native_stack.frames));
	fake->memory.tick = 5000;
	walk_time_begin(fake->s, fake->memory.now, 100 * LIMIT, 100 * LIMIT);
	walk_time_go_on(fake->s, 5000);
	fake->s->native.pc = TEXT + 0x100;
	fake->s->native.sp = STACK;
	fake->s->native.hash = 1;
	for (native_begin(fake->s, &fake->process); native_go_on(fake->s); pieces++)
		walk_time_go_on(fake->s, 5000);
	ok(pieces > 10 && native->loss == LOSS_NONE && native->count == DEPTH + 1 && native->hash == whole,
	   "in %u pieces: the same stack", pieces);
	ok(!memcmp(frames, fake->s->native_stack.frames, (DEPTH + 1) * sizeof(*frames)), "each frame");
	fake->memory.tick = 40000;
	walk_time_begin(fake->s, fake->memory.now, LIMIT, LIMIT);
	walk_time_go_on(fake->s, 5000);
	fake->s->native.pc = TEXT + 0x100;
	fake->s->native.sp = STACK;
	for (native_begin(fake->s, &fake->process), pieces = 1; native_go_on(fake->s); pieces++)
		walk_time_go_on(fake->s, 5000);
	ok(native->loss == LOSS_TIME_LIMIT && pieces > 3 && native->count, "%u pieces, and the time is over", pieces);
	free(frames);
	fake_native_destroy(fake);
}

/* Beyond the limit of frames, in pieces as well. */
static void test_depth(void)
{
	struct fake_native *fake = recursion();
	__u64 i;

	fake_map(&fake->memory, STACK + 0x10000000, (NATIVE_FRAMES_MAX + 100) * 16ull);
	for (i = 0; i < NATIVE_FRAMES_MAX + 100; i++)
		fake_put64(&fake->memory, STACK + 0x10000000 + i * 16 + 8, TEXT + 0x100);
	fake->memory.tick = 5000;
	walk_time_begin(fake->s, fake->memory.now, 1000 * LIMIT, 1000 * LIMIT);
	walk_time_go_on(fake->s, 5000);
	fake->s->native.pc = TEXT + 0x100;
	fake->s->native.sp = STACK + 0x10000000;
	for (native_begin(fake->s, &fake->process); native_go_on(fake->s);)
		walk_time_go_on(fake->s, 5000);
	ok(fake->s->native.loss == LOSS_NATIVE_DEPTH && fake->s->native.count == NATIVE_FRAMES_MAX,
	   "the deepest stack, in pieces");
	fake_native_destroy(fake);
}

static void python(struct fake_python *fake, __u64 limit)
{
	walk_time_begin(fake->s, fake->memory.now, limit, limit);
	fake_python_walk(fake, 0);
}

static void test_python(int version)
{
	struct fake_python *fake = fake_python_create_sized(fake_layout(version), 0x80ull * DEPTH);
	const struct python_walk *walk = &fake->s->python;
	__u64 code = fake_code(fake, "f", 1, 1), at = FAKE_DATA_STACK, back = fake_root(fake), whole, cut;
	int i, minor = version & 0xff;
	__u32 pieces = 1;

	for (i = 0; i < DEPTH; i++, back = at, at += 0x80)
		fake_frame(fake, at, code, back, i & 0xfff, i == 0);
	fake_running(fake, back);
	fake->host.clock = fake_clock;
	fake->memory.tick = 5000;
	python(fake, 0);
	ok(walk->loss == LOSS_NONE && walk->count == DEPTH, "3.%d without a limit: the whole stack", minor);
	whole = walk->hash;
	fake->memory.tick = 40000;
	python(fake, LIMIT);
	ok(walk->loss == LOSS_TIME_LIMIT && walk->count && walk->count < DEPTH && walk->thread,
	   "3.%d, time is over: %u frames", minor, walk->count);
	is_int(walk->count % WALK_CUT_FRAMES, 0, "3.%d: a round number", minor);
	cut = walk->hash;
	fake->memory.tick = 42000;
	python(fake, LIMIT + 10000);
	ok(walk->hash == cut, "3.%d: cut at the same place at another speed", minor);
	fake->memory.tick = 5000;
	walk_time_begin(fake->s, fake->memory.now, 1000 * LIMIT, 1000 * LIMIT);
	walk_time_go_on(fake->s, 5000);
	fake->s->python.hash = fake->s->python.hash_seed;
	fake->s->python.sequence = ++fake->sequence;
	for (python_begin(fake->s, &fake->process, 0); python_go_on(fake->s); pieces++)
		walk_time_go_on(fake->s, 5000);
	ok(pieces > 10 && walk->loss == LOSS_NONE && walk->count == DEPTH && walk->hash == whole,
	   "3.%d, in %u pieces: the same stack", minor, pieces);
	fake_python_destroy(fake);
}

/* Of few frames it is not known yet whether they are the thread's: see python_unlinked(). */
static void test_doubtful_frames(void)
{
	struct fake_python *fake = fake_python_create(fake_layout(0x030c));
	__u64 at = FAKE_DATA_STACK, back = fake_root(fake);
	int i;

	for (i = 0; i < 200; i++, back = at, at += 0x80)
		fake_frame(fake, at, fake_code(fake, "f", i, 1), back, i, i == 0);
	fake_running(fake, back);
	fake->host.clock = fake_clock;
	fake->memory.tick = 40000;
	python(fake, 30000);
	ok(fake->s->python.loss == LOSS_TIME_LIMIT && !fake->s->python.count,
	   "a loop's frames whose first was not met");
	fake_python_destroy(fake);
}

/* A thread that is not found in time: where its frames are is not known. */
static void test_search(void)
{
	struct fake_python *fake = fake_python_create(fake_layout(0x030d));
	__u64 interp = fake_interpreter(fake);
	int i;

	fake_tstate(fake, interp, FAKE_THREAD, 0);
	for (i = 0; i < 4000; i++)
		fake_tstate(fake, interp, 1000 + (__u64)i, 0);
	fake->host.clock = fake_clock;
	fake->memory.tick = 5000;
	python(fake, 0);
	ok(fake->s->python.thread && fake->memory.reads > 8000, "the last one of the list");
	fake->memory.tick = 40000;
	python(fake, LIMIT);
	ok(fake->s->python.loss == LOSS_TIME_LIMIT && !fake->s->python.count && fake->memory.reads < 4000,
	   "time is over: read %" PRIu64 " times", fake->memory.reads);
	fake_python_destroy(fake);
}

/* Code objects that are all new. */
static void test_codes(void)
{
	struct fake_python *fake = fake_python_create(fake_layout(0x030d));
	__u64 at = FAKE_DATA_STACK, back = fake_root(fake);
	__u32 i;

	for (i = 0; i < 3 * WALK_CODES_MAX; i++, back = at, at += 0x80)
		fake_frame(fake, at, fake_code(fake, "f", (int)i, 1), back, 0, i == 0);
	fake_running(fake, back);
	python(fake, LIMIT);
	ok(fake->s->python.loss == LOSS_TIME_LIMIT && fake->s->python.count == WALK_CODES_MAX,
	   "%u code objects, and no more", fake->s->python.count);
	ok(fake->sent_count <= WALK_CODES_MAX + 1, "%u were sent", fake->sent_count);
	fake_python_destroy(fake);
}

int main(void)
{
	test_native();
	test_away();
	test_pieces();
	test_depth();
	test_python(0x0309);
	test_python(0x030a);
	test_python(0x030b);
	test_python(0x030e);
	test_doubtful_frames();
	test_search();
	test_codes();
	return tap_done();
}
