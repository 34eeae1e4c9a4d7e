// SPDX-License-Identifier: GPL-2.0-or-later
/* Python stacks of threads that do not run (src/kernel/live_second.h), on interpreters of every layout made by hand. */
#include "engine/store.h"
#include "kernel/live_second.h"

#include "fake_python.h"
#include "tap.h"

struct taken {
	unsigned int codes;
	uint64_t last;
};

static void take(void *context, const struct code_event *event, size_t size)
{
	struct taken *taken = context;

	if (!code_event_fits(event, size) || event->header.type != EVENT_CODE || event->tgid != 4711)
		abort();
	taken->codes++;
	taken->last = event->id;
}

static int read_fake(void *context, void *dst, size_t size, uint64_t address)
{
	return fake_read(context, dst, (__u32)size, address);
}

static struct live_second_stack walk_live(struct live_second *walker, struct fake_python *fake,
					  const struct task_event *task, process_cookie cookie,
					  const struct memory *memory)
{
	struct runtime_layout layout;

	memcpy(&layout, &fake->layout, sizeof(layout));
	fake->process.runtime = RUNTIME_ID_python;
	return live_second_walk(walker, &layout, (const struct runtime_process *)&fake->process, task, cookie, memory);
}

static void test_layout(const struct py_layout *layout)
{
	struct fake_python *fake = fake_python_create(layout);
	struct taken taken = {};
	struct live_second *walker = live_second_create(take, &taken);
	const struct memory memory = {read_fake, fake};
	struct task_event task = {.tgid = 4711, .thread_pointer = FAKE_THREAD};
	__u64 at = FAKE_DATA_STACK + 0x800, outer = FAKE_DATA_STACK + 0x400, current = FAKE_HEAP + FAKE_HEAP_SIZE - 8,
	      tstate;
	bool every = layout->entry == PY_ENTRY_EVERY;
	struct live_second_stack stack;
	uint64_t id;

	fake_frame(fake, outer, fake_code(fake, "outer", 1, 1), fake_root(fake), 2, true);
	fake_frame(fake, at, fake_code(fake, "inner", 5, 2), outer, 4, every);
	tstate = fake_running(fake, at);
	stack = walk_live(walker, fake, &task, 0x5eed, &memory);
	ok(stack.count == 2 && stack.loss == LOSS_NONE && stack.id && !stack.current && taken.codes == 2 &&
		   stack.frames[1].code == taken.last && stack.frames[0].position == 4,
	   "%x: two frames, two code objects", layout->version);
	ok(stack.places[0] == at && stack.places[1] == outer, "%x: where they are", layout->version);
	id = stack.id;
	stack = walk_live(walker, fake, &task, 0x5eed, &memory);
	ok(stack.id == id && taken.codes == 2, "%x: the same again, without them", layout->version);
	fake->process.current_tstate = current;
	fake_put64(&fake->memory, current, tstate);
	stack = walk_live(walker, fake, &task, 0x5eed, &memory);
	ok(stack.current && stack.id == id, "%x: it is the current thread", layout->version);
	task.thread_pointer = FAKE_THREAD + 64;
	stack = walk_live(walker, fake, &task, 0x5eed, &memory);
	ok(!stack.count && !stack.id && !stack.current && stack.loss == LOSS_SECOND_NO_THREAD,
	   "%x: another thread has no stack, and is not", layout->version);
	live_second_destroy(walker);
	fake_python_destroy(fake);
}

int main(void)
{
	size_t i;

	for (i = 0; i < FAKE_LAYOUTS; i++)
		test_layout(&fake_layouts[i]);
	return tap_done();
}
