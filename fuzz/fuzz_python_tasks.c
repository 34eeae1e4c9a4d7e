// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Tasks of an interpreter that is any bytes. Byte 0 chooses the version, from 3.6 on; the rest is the process's memory:
 * an address's low 12 bits are an offset into it, so that every pointer may hit.
 */
#include <errno.h>

#include "../tests/unit/fake_python_tasks.h"
#include "base/cursor.h"
#include "fuzz.h"
#include "profile/text.h"

#define READS_MAX 20000

struct bytes {
	const uint8_t *at;
	size_t size;
};

static int read_bytes(void *context, void *dst, size_t size, uint64_t address)
{
	const struct bytes *bytes = context;
	uint64_t offset = address & (LOCALS_BYTES - 1);

	if (offset > bytes->size || size > bytes->size - offset)
		return -EFAULT;
	memcpy(dst, bytes->at + offset, size);
	return 0;
}

static void check_text(const char *text)
{
	unsigned int length;

	for (; text && *text; text += length) {
		length = text_character(text, NULL);
		CHECK(length);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct cursor c = cursor_init(data, size);
	struct tasks_image made = tasks_image();
	struct bytes bytes;
	const struct memory memory = {.read = read_bytes, .context = &bytes};
	struct runtime_effort effort = {.until = UINT64_MAX, .reads = READS_MAX};
	struct runtime_tasks tasks;
	size_t i, k;

	made.interpreter.layout.version = 0x0306 + cursor_u8(&c) % 10;
	if (made.interpreter.layout.version != 0x030c)
		made.interpreter.objects = python_objects(&made.interpreter.layout, 0);
	made.interpreter.objects.type_flags = 0;
	made.interpreter.objects.type_dict = 40;
	made.interpreter.objects.type_qualname = 16;
	made.interpreter.objects.interp_modules = 16;
	bytes.size = cursor_left(&c);
	bytes.at = cursor_take(&c, bytes.size);
	if (!bytes.at)
		return 0;
	CHECK(!python_tasks(&memory, &made.interpreter, 0, &effort, &tasks));
	CHECK(effort.reads <= READS_MAX && tasks.list.count <= PY_TASKS_MAX);
	for (i = 0; i < tasks.list.count; i++) {
		const struct runtime_task *task = &tasks.list.at[i];

		check_text(task->name);
		check_text(task->detail);
		CHECK(task->frames.count <= PY_CHAIN_MAX + 1);
		for (k = 0; k < task->frames.count; k++) {
			check_text(task->frames.at[k].function);
			check_text(task->frames.at[k].file);
		}
	}
	runtime_tasks_deinit(&tasks);
	return 0;
}
