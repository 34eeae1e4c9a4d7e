// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The Python walk over an interpreter that is any bytes. Byte 0 chooses a layout, byte 1 how the thread is found; the
 * rest is the process's memory: an address's low 16 bits are an offset into it, so that every pointer may hit.
 */
#include <stdlib.h>

#include "../tests/unit/fake_python.h"
#include "base/cursor.h"
#include "fuzz.h"

/* Of a frame: window, bytecode, code object, line table and all the strings. */
#define READS_MAX (PYTHON_THREADS_MAX * 2ull + SECOND_FRAMES_MAX * 2ull * 24)

struct memory {
	struct fake_python fake; /* first: code_known() and code_send() find it by the context */
	const uint8_t *bytes;
	size_t size;
	uint64_t reads;
};

static int read_memory(void *context, void *dst, __u32 size, __u64 address)
{
	struct memory *memory = context;
	uint64_t at = address & 0xffff;

	memory->reads++;
	CHECK(size <= CODE_TABLE_MAX);
	if (at > memory->size || size > memory->size - at)
		return -EFAULT;
	memcpy(dst, memory->bytes + at, size);
	return 0;
}

static void check(const struct scratch *s)
{
	const struct code_event *event = &s->code.header;
	const struct python_walk *walk = &s->python;
	uint32_t i;

	CHECK(walk->count <= SECOND_FRAMES_MAX && walk->loss < LOSS_COUNT);
	for (i = 0; i < walk->count; i++) {
		const struct second_frame *frame = &s->second_stack.frames[i];

		CHECK(frame->flags <= (SECOND_FRAME_ENTRY | SECOND_FRAME_EMPTY));
		CHECK(!frame->code == (frame->flags == (SECOND_FRAME_ENTRY | SECOND_FRAME_EMPTY)));
	}
	CHECK(event->name.bytes <= CODE_STRING_MAX && event->qualname.bytes <= CODE_STRING_MAX &&
	      event->filename.bytes <= CODE_STRING_MAX);
	CHECK(event->text_bytes <= sizeof(event->text));
	CHECK(event->table_copied <= CODE_TABLE_MAX && event->table_copied <= event->table_size);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct scratch *s; /* large: made once */
	struct cursor c = cursor_init(data, size);
	struct memory memory = {};
	uint8_t layout = cursor_u8(&c), how = cursor_u8(&c);
	struct python_process process = {.interp_head = how & 1 ? 0 : 8, .current_tstate = 8};

	if (!cursor_ok(&c))
		return 0;
	if (!s)
		s = calloc(1, sizeof(*s));
	memory.size = cursor_left(&c);
	memory.bytes = cursor_take(&c, memory.size);
	memory.fake.host = (struct walk_host){.context = &memory, .read = read_memory};
	s->host = &memory.fake.host;
	memset(&s->python, 0, sizeof(s->python));
	memset(&s->code.header, 0, sizeof(s->code.header));
	s->python.layout = fake_layouts[layout % FAKE_LAYOUTS];
	s->python.sequence = 1;
	s->python.thread_id = FAKE_THREAD;
	python_walk(s, &process, how & 2 ? 0x200 : 0);
	CHECK(memory.reads <= READS_MAX);
	check(s);
	return 0;
}
