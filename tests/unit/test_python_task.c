// SPDX-License-Identifier: GPL-2.0-or-later
/* The task that a thread runs (src/runtime/python/bpf/task.h), on the host, in memory made by hand. */
#include "fake_python.h"
#include "tap.h"

#define CORO  96
#define NAME  104
#define FRAME 64 /* of a coroutine */
#define STR   0x1234560ull

struct tasks {
	struct fake_python *fake;
	__u64 code, outer, root, inner; /* frames: the event loop's, the task's outermost, the youngest */
	__u64 coroutine, task, current; /* `current`: where the current task, or the dict, is */
};

static void name_task(const struct tasks *tasks, __u64 name, __u64 type)
{
	fake_put64(&tasks->fake->memory, tasks->task + NAME, name);
	fake_put64(&tasks->fake->memory, name + tasks->fake->layout.ob_type, type);
}

/* The dict { event loop: task }, with items that were deleted before: `before`. */
static __u64 make_dict(struct fake_python *fake, __u64 task, __u32 before, bool has_log)
{
	__u64 dict = fake_alloc(fake, 64), keys = fake_alloc(fake, 4096);

	fake_put64(&fake->memory, dict + 32, keys);
	fake_put64(&fake->memory, keys + 8, has_log ? 6 | 6 << 8 : 64);
	fake_put64(&fake->memory, keys + 24, before + 1);
	fake_put64(&fake->memory, keys + 40 + 64 + 24ull * before + 16, task);
	return dict;
}

/* Three frames: a loop's, a coroutine's, and that of a function it calls. The thread runs the coroutine's task. */
static struct tasks begin(int version, __u32 before)
{
	struct fake_python *fake = fake_python_create(fake_layout(version));
	struct tasks tasks = {.fake = fake};
	bool apart = version < 0x030b, is_dict = version < 0x030e;
	__u64 tstate;

	tasks.code = fake_code(fake, "f", 1, 1);
	tasks.coroutine = fake_alloc(fake, 512);
	tasks.task = fake_alloc(fake, 256);
	tasks.outer = fake_alloc(fake, 512);
	tasks.inner = fake_alloc(fake, 512);
	tasks.root = apart ? fake_alloc(fake, 512) : tasks.coroutine + FRAME;
	if (apart)
		fake_put64(&fake->memory, tasks.coroutine + FRAME, tasks.root);
	fake_frame(fake, tasks.outer, tasks.code, fake_root(fake), 2, true);
	fake_frame(fake, tasks.root, tasks.code, tasks.outer, 4, apart);
	fake_frame(fake, tasks.inner, tasks.code, tasks.root, 6, apart);
	fake_put64(&fake->memory, tasks.task + CORO, tasks.coroutine);
	name_task(&tasks, fake_ascii(fake, "first"), STR);
	tstate = fake_running(fake, tasks.inner);
	fake_alloc(fake, 2048); /* it is longer than the fake one */
	tasks.current = is_dict ? make_dict(fake, tasks.task, before, version >= 0x030b) : 1600;
	if (!is_dict)
		fake_put64(&fake->memory, tstate + tasks.current, tasks.task);
	fake->process.tasks = (struct py_task_facts){.current = tasks.current,
						     .str_type = STR,
						     .coro = CORO,
						     .name = NAME,
						     .gen_frame = FRAME,
						     .frame_is_apart = apart,
						     .dict_keys = is_dict ? 32 : 0,
						     .keys_entries = 24,
						     .keys_indices = 40,
						     .keys_log = version >= 0x030b,
						     .long_digits = 24};
	return tasks;
}

static const struct second_frame *frames_of(const struct fake_python *fake)
{
	return fake->s->second_stack.frames;
}

/* The walk's result: the task in front of its outermost frame; its id, or 0. */
static __u64 walked(const struct tasks *tasks)
{
	struct fake_python *fake = tasks->fake;

	fake_python_walk(fake, 0);
	if (fake->s->python.loss || fake->s->python.count != 4 || !(frames_of(fake)[1].flags & SECOND_FRAME_TASK))
		return 0;
	return frames_of(fake)[2].position == 4 ? frames_of(fake)[1].code : 0;
}

static void test_version(int version)
{
	struct tasks tasks = begin(version, 3);
	struct fake_python *fake = tasks.fake;
	struct code_event *event = &fake->s->code.header;
	int v = version & 0xff;
	__u64 first = walked(&tasks), second, number, name;
	__u32 sent = fake->sent_count;

	ok(first && sent == 2, "3.%d: the task is in front of its outermost frame, and was sent", v);
	ok(event->is_task == CODE_TASK && event->is_named && event->name.bytes == 5 &&
		   !memcmp(event->text, "first", 5) && event->id == first,
	   "3.%d: with its name", v);
	ok(walked(&tasks) == first && fake->sent_count == sent, "3.%d: once", v);
	name_task(&tasks, fake_ascii(fake, "other"), STR);
	second = walked(&tasks);
	ok(second && second != first && fake->sent_count == sent + 1, "3.%d: with another name it is another", v);

	number = fake_alloc(fake, 64);
	fake_put64(&fake->memory, number + 16, 1 << 3);
	fake_put64(&fake->memory, number + 24, 0xffffffff00000000 | 17);
	name_task(&tasks, number, STR + 8);
	ok(walked(&tasks) && event->is_task == CODE_TASK_NUMBER && event->is_named && *(__u64 *)event->text == 17,
	   "3.%d: a number as its name", v);

	name = fake_string(fake, memset(alloca(2000), 'x', 2000), 2000, 1, true);
	name_task(&tasks, name, STR);
	ok(walked(&tasks) && event->name.bytes == PYTHON_TASK_NAME && event->name.length == 2000,
	   "3.%d: a long name is cut", v);
	fake_put64(&fake->memory, tasks.task + NAME, 0xdead0000);
	ok(walked(&tasks) && !event->is_named, "3.%d: a name that cannot be read", v);
	fake->process.tasks.name = PY_NO_OFFSET;
	ok(walked(&tasks) && event->is_named && event->is_task == CODE_TASK_NAMELESS, "3.%d: no names", v);

	/* The proof is the frame. */
	fake_put64(&fake->memory, tasks.task + CORO, fake_alloc(fake, 512));
	fake_python_walk(fake, 0);
	ok(!fake->s->python.loss && fake->s->python.count == 3, "3.%d: a current task whose frame is not here", v);
	fake_put64(&fake->memory, tasks.task + CORO, 0xdead0000);
	fake_python_walk(fake, 0);
	ok(!fake->s->python.loss && fake->s->python.count == 3, "3.%d: whose coroutine is none", v);
	fake->process.tasks.current = version < 0x030e ? 0xdead0000 : 1592;
	fake_python_walk(fake, 0);
	ok(!fake->s->python.loss && fake->s->python.count == 3, "3.%d: no current task", v);
	fake->process.tasks.current = 0;
	fake_python_walk(fake, 0);
	ok(!fake->s->python.loss && fake->s->python.count == 3, "3.%d: nobody knows where they are", v);
	fake_python_destroy(fake);
}

/* Deleted items stay in a dict's table until it is made anew; the newest are at its end. */
static void test_many_items(__u32 before, bool found)
{
	struct tasks tasks = begin(0x030c, before);
	__u32 i;

	ok(walked(&tasks) != 0, "%u deleted items", before);
	for (i = 0; i < before; i++)
		fake_put64(&tasks.fake->memory,
			   fake_get64(tasks.fake, tasks.current + 32) + 40 + 64 + 24ull * i + 16, FAKE_HEAP);
	is_int(walked(&tasks) != 0, found, "%u other items", before);
	fake_python_destroy(tasks.fake);
}

int main(void)
{
	static const int versions[] = {0x0306, 0x0308, 0x030a, 0x030b, 0x030c, 0x030d, 0x030e, 0x030f};
	size_t i;

	for (i = 0; i < sizeof(versions) / sizeof(*versions); i++)
		test_version(versions[i]);
	test_many_items(7, true);
	test_many_items(40, false);
	return tap_done();
}
