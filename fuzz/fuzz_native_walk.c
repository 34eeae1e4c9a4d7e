// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The native walk over tables and a stack that are any bytes. The input is a header, the tables and the rest as the
 * watched process's memory: an address's low 16 bits are an offset into it, so that every pointer may hit.
 */
#include "../tests/unit/fake_native.h"
#include "base/cursor.h"
#include "fuzz.h"

#define MANY      8u
#define READS_MAX (NATIVE_FRAMES_MAX * 8ull)

struct memory {
	const uint8_t *bytes;
	size_t size;
	uint64_t reads;
};

static int read_memory(void *context, void *dst, __u32 size, __u64 address)
{
	struct memory *memory = context;
	uint64_t at = address & 0xffff;

	memory->reads++;
	CHECK(size <= PAGE_BYTES + WINDOW_SLACK);
	if (at > memory->size || size > memory->size - at)
		return -EFAULT;
	memcpy(dst, memory->bytes + at, size);
	return 0;
}

static void read_tables(struct fake_native *fake, struct cursor *c)
{
	uint32_t i;

	fake->process.mapping_first = cursor_u8(c) & 15 ? 0 : cursor_u32(c);
	fake->process.mapping_count = cursor_u8(c) % (MANY + 2);
	for (i = 0; i < MANY; i++) {
		struct mapping_entry *mapping = &fake->mappings[i];

		mapping->start = cursor_u16(c);
		mapping->end = mapping->start + cursor_u16(c);
		mapping->bias = mapping->start - cursor_u16(c);
		mapping->page_first = cursor_u8(c) == 255 ? UINT32_MAX : i;
		mapping->page_count = cursor_u8(c);
		mapping->kind = cursor_u8(c) & 3;
		fake->rules[RULE_FIRST_FREE + i] = (struct unwind_rule){.cfa_offset = cursor_s32(c),
									.fp_offset = cursor_s16(c),
									.kind = cursor_u8(c) % (GO_SCHEDULE + 1),
									.param = cursor_u8(c)};
		fake->pages[i] = cursor_u64(c);
		fake->slab[i] = cursor_u32(c);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct fake_native *fake; /* its arrays are large: made once */
	struct cursor c = cursor_init(data, size);
	struct memory memory = {};
	struct native_walk *walk;
	uint64_t pc, sp, fp;
	uint32_t i;

	if (!fake)
		fake = fake_native_create();
	fake->host.context = &memory;
	fake->host.read = read_memory;
	fake->process.generation++; /* nothing is remembered from the input before */
	read_tables(fake, &c);
	walk = &fake->s->native;
	for (i = 0; i < 16; i++)
		walk->registers[i] = cursor_u16(&c);
	pc = cursor_u16(&c);
	sp = cursor_u64(&c);
	fp = cursor_u64(&c);
	memory.size = cursor_left(&c);
	memory.bytes = cursor_take(&c, memory.size);
	if (!memory.bytes)
		return 0;
	memset(walk->window, 0, sizeof(walk->window));
	fake_native_walk(fake, pc, sp, fp);
	CHECK(walk->count && walk->count <= NATIVE_FRAMES_MAX);
	CHECK(walk->loss < LOSS_COUNT && (walk->done || walk->loss == LOSS_NATIVE_DEPTH));
	CHECK(memory.reads <= READS_MAX);
	CHECK((fake->s->native_stack.frames[0]) == pc);
	CHECK(native_stack_id(fake->s));
	return 0;
}
