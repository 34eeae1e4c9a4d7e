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

#define MANY      2000
#define MANY_BASE 0x10000000ull /* that many tasks, each with the bytes of the second, */
#define MANY_SIZE 256
#define SET_BASE  0x20000000ull /* and the table of a set that has them */
#define SET_MASK  4095

/* Memory that may change after some reads. */
struct changing {
	struct locals_image *image;
	uint64_t reads, change_at, address, value;
	uint64_t many; /* the task that there are many of */
};

static uint8_t byte_at(const struct changing *changing, uint64_t address)
{
	uint64_t number, key;

	if (address - locals_base < LOCALS_BYTES)
		return changing->image->bytes[address - locals_base];
	if (address >= SET_BASE) {
		number = (address - SET_BASE) / 16;
		key = number < MANY && !((address - SET_BASE) & 8) ? MANY_BASE + number * MANY_SIZE : 0;
		return (uint8_t)(key >> address % 8 * 8);
	}
	address = (address - MANY_BASE) % MANY_SIZE;
	return address < 176 ? changing->image->bytes[changing->many + address - locals_base] : 0;
}

static bool is_many(const struct changing *changing, uint64_t address)
{
	return changing->many && (address - locals_base < LOCALS_BYTES || address - MANY_BASE < MANY * MANY_SIZE ||
				  address - SET_BASE < 16 * (SET_MASK + 1));
}

static int read_many(const struct changing *changing, uint8_t *dst, size_t size, uint64_t address)
{
	size_t i;

	for (i = 0; i < size && is_many(changing, address + i); i++)
		dst[i] = byte_at(changing, address + i);
	return i == size ? 0 : -EFAULT;
}

static int read_image(void *context, void *dst, size_t size, uint64_t address)
{
	struct changing *changing = context;
	uint64_t offset = address - locals_base;

	if (changing->change_at && ++changing->reads >= changing->change_at) {
		locals_put(changing->image, changing->address, changing->value++);
		changing->reads = 0;
	}
	if (changing->many)
		return read_many(changing, dst, size, address);
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
	struct changing changing = {.change_at = 1, .address = made.tasks[1] + 104, .value = locals_base};
	struct runtime_tasks tasks = read_tasks(&made, &changing, 100000);

	ok(tasks.list.count == 2 && tasks.list.at[1].consistent, "a field that is not read may change");
	runtime_tasks_deinit(&tasks);
	changing = (struct changing){.change_at = 1, .address = made.tasks[1] + 128, .value = locals_base};
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

/* What is not compared for want of time has not changed for that. */
static void test_time(void)
{
	uint64_t reads, wrong = 0, out_of_time = 0;
	size_t i;

	for (reads = 0; reads < 2000; reads++) {
		struct tasks_image made = tasks_image();
		struct runtime_tasks tasks = read_tasks(&made, &(struct changing){}, reads);

		for (i = 0; i < tasks.limits.count; i++) {
			out_of_time += !strcmp(tasks.limits.at[i], "there was no time for all tasks");
			wrong += strstr(tasks.limits.at[i], "while they were read") != NULL;
		}
		runtime_tasks_deinit(&tasks);
	}
	ok(out_of_time && !wrong, "no task is said to have changed when time has ended");
}

/* Each of many tasks waits for the same future, and has a callback that sets it. */
static void test_many(void)
{
	struct tasks_image made = tasks_image();
	struct changing changing = {.many = made.tasks[1]};
	struct locals_image *image = &made.image;
	uint64_t str, code, function, future, partial, tuple, set = 0, at;
	struct runtime_tasks tasks;
	size_t i, most = 0;
	bool told = false;

	str = locals_type(image, "str", 0);
	future = locals_object(image, locals_type(image, "_asyncio.Future", 0), 96);
	code = locals_object(image, locals_type(image, "code", 0), 48);
	locals_put(image, code + image->layout.code_name, locals_text(image, str, "_done_callback"));
	locals_put(image, code + image->layout.code_filename, locals_text(image, str, "/asyncio/tasks.py"));
	function = locals_object(image, locals_type(image, "function", 0), 56);
	locals_put(image, function + 48, code);
	tuple = locals_tuple(image, locals_type(image, "tuple", 0), &future, 1);
	partial = locals_object(image, locals_type(image, "functools.partial", 0), 32);
	locals_put(image, partial + 16, function);
	locals_put(image, partial + 24, tuple);
	locals_put(image, changing.many + 24, partial); /* its callback */
	locals_put(image, changing.many + 128, future); /* it waits */
	/* The set is the one with the mask that tasks_image() gave it. */
	for (at = locals_base; at < locals_base + image->used && !set; at += 8)
		if (!memcmp(image->bytes + (at + image->objects.set_used - locals_base), (uint64_t[]){2, 3}, 16))
			set = at;
	locals_put(image, set + image->objects.set_used, MANY);
	locals_put(image, set + image->objects.set_mask, SET_MASK);
	locals_put(image, set + image->objects.set_table, SET_BASE);
	tasks = read_tasks(&made, &changing, 10000000);
	for (i = 0; i < tasks.limits.count; i++)
		told |= !strcmp(tasks.limits.at[i], "tasks wait for each other in more ways than are followed");
	for (i = 0; i < tasks.list.count; i++)
		most = tasks.list.at[i].awaited_by.count > most ? tasks.list.at[i].awaited_by.count : most;
	is_int(tasks.list.count, MANY, "many tasks on one future");
	ok(told && most > 100, "who waits for whom is followed so far, and that is told");
	runtime_tasks_deinit(&tasks);
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
	const uint64_t values[] = {0,          1,          UINT64_MAX,  1ull << 63,
					  1ull << 47, 0xffffffff, locals_base, locals_base + LOCALS_BYTES - 8};
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
	test_time();
	test_many();
	test_mutated();
	return tap_done();
}
