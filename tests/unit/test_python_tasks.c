// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Tasks of an interpreter that is made of bytes: what they are, what happens when they change between two readings or
 * the effort is spent, and that no byte, whatever it is changed to, makes the reading go astray. That the shapes are
 * those of real interpreters, tests/stack/tasks.t shows.
 *
 * With a file given it writes the image there: a seed for fuzz_python_tasks.
 */
#include <errno.h>
#include <stdlib.h>

#include "fake_python_tasks.h"
#include "tap.h"

/* Memory that may change after some reads. */
struct changing {
	struct locals_image *image;
	uint64_t reads, change_at, address, value;
};

static int read_image(void *context, void *dst, size_t size, uint64_t address)
{
	struct changing *changing = context;
	uint64_t offset = address - LOCALS_BASE;

	if (changing->change_at && ++changing->reads >= changing->change_at) {
		locals_put(changing->image, changing->address, changing->value++);
		changing->reads = 0;
	}
	if (offset > sizeof(changing->image->bytes) || size > sizeof(changing->image->bytes) - offset)
		return -EFAULT;
	memcpy(dst, changing->image->bytes + offset, size);
	return 0;
}

static struct runtime_tasks read_tasks(struct tasks_image *made, struct changing *changing, uint64_t reads)
{
	const struct memory memory = {.read = read_image, .context = changing};
	struct runtime_effort effort = {.until = UINT64_MAX, .reads = reads};
	struct runtime_tasks tasks;

	changing->image = &made->image;
	if (python_tasks(&memory, &made->interpreter, 0, &effort, &tasks))
		abort();
	return tasks;
}

static void test_tasks(void)
{
	struct tasks_image made = tasks_image();
	struct runtime_tasks tasks = read_tasks(&made, &(struct changing){}, 100000);

	ok(tasks.known && tasks.list.count == 2 && !tasks.limits.count, "both, and no limit was met");
	if (tasks.list.count == 2) {
		const struct runtime_task *inner = &tasks.list.at[0], *outer = &tasks.list.at[1];

		is_str(inner->name, "inner", "by name");
		ok(inner->consistent && outer->consistent, "consistent");
		ok(inner->state == RUNTIME_TASK_READY && !inner->waits_for, "one is ready");
		ok(outer->state == RUNTIME_TASK_WAITING && outer->awaits == inner->id, "the other waits for it");
		is_str(outer->waits_for, "task", "which is a task");
		ok(inner->awaited_by.count == 1 && inner->awaited_by.at[0] == outer->id && !outer->awaited_by.count,
		   "and it says so");
		ok(outer->frames.count == 1 && outer->frames.at[0].line == 42, "one function");
		is_str(outer->frames.at[0].function, "waits", "its name");
	}
	runtime_tasks_deinit(&tasks);
}

/* The future that the outer task waits for is another one each time. */
static void test_changes(void)
{
	struct tasks_image made = tasks_image();
	struct changing changing = {.change_at = 1, .address = made.tasks[1] + 104, .value = LOCALS_BASE};
	struct runtime_tasks tasks = read_tasks(&made, &changing, 100000);

	ok(tasks.list.count == 2 && tasks.list.at[1].consistent, "a field that is not read may change");
	runtime_tasks_deinit(&tasks);
	changing = (struct changing){.change_at = 1, .address = made.tasks[1] + 128, .value = LOCALS_BASE};
	tasks = read_tasks(&made, &changing, 100000);
	ok(tasks.list.count == 2 && tasks.list.at[0].consistent && !tasks.list.at[1].consistent,
	   "a task that changes all the time is not consistent, the other one is");
	ok(tasks.limits.count == 1 && !tasks.list.at[0].awaited_by.count, "a limit says so, and it awaits nobody");
	runtime_tasks_deinit(&tasks);
}

static void test_effort(void)
{
	uint64_t reads, whole = 0, told = 0, needed = 2000;

	for (reads = 0; reads < needed; reads++) {
		struct tasks_image made = tasks_image();
		struct runtime_tasks tasks = read_tasks(&made, &(struct changing){}, reads);
		bool all = tasks.known && tasks.list.count == 2 && !tasks.limits.count;

		whole += all;
		told += !all && (!tasks.known || tasks.limits.count);
		runtime_tasks_deinit(&tasks);
	}
	ok(whole && told && whole + told == needed, "with fewer reads some are missing, and that is told");
}

static bool bounded(const struct runtime_tasks *tasks)
{
	size_t i;

	for (i = 0; i < tasks->list.count; i++)
		if (tasks->list.at[i].frames.count > PY_CHAIN_MAX + 1 || tasks->list.at[i].fd < -1)
			return false;
	return tasks->list.count <= PY_TASKS_MAX;
}

static void test_mutated(void)
{
	static const uint64_t values[] = {0,          1,          UINT64_MAX,  1ull << 63,
					  1ull << 47, 0xffffffff, LOCALS_BASE, LOCALS_BASE + LOCALS_BYTES - 8};
	const struct tasks_image whole = tasks_image();
	size_t at, i, runs = 0;
	bool good = true;

	for (at = 0; at < whole.image.used; at += 8)
		for (i = 0; i < sizeof(values) / sizeof(*values) + 4; i++, runs++) {
			struct tasks_image made = whole;
			struct runtime_tasks tasks;

			if (i < sizeof(values) / sizeof(*values))
				memcpy(made.image.bytes + at, &values[i], 8);
			else
				made.image.bytes[at + i % 8] ^= (uint8_t)(1 << i % 7);
			tasks = read_tasks(&made, &(struct changing){}, 20000);
			good = good && bounded(&tasks);
			runtime_tasks_deinit(&tasks);
		}
	ok(good, "%zu images with a word or byte changed: bounded", runs);
}

int main(int argc, char **argv)
{
	if (argc > 1) {
		struct tasks_image made = tasks_image();
		FILE *file = fopen(argv[1], "we");

		if (!file)
			return 1;
		fputc(6, file); /* 3.12 */
		fwrite(made.image.bytes, 1, sizeof(made.image.bytes), file);
		return fclose(file) ? 1 : 0;
	}
	test_tasks();
	test_changes();
	test_effort();
	test_mutated();
	return tap_done();
}
