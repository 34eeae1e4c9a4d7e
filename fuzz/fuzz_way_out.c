// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The way out of any code. The first byte chooses: bit 0 whether it was interrupted at the address, or called; bits 1
 * and 2 which rule what lies behind the code has, if any; the second byte is how far in the code the address lies. The
 * rest is code, from 0xff0 on, so that it goes over a page. From the same address on: its exits, and what state SP
 * comes from.
 */
#include <string.h>

#include "fuzz.h"
#include "arch/arch.h"
#include "unwind/state_frame.h"
#include "unwind/way_out.h"

#define BASE 0xff0ull
/* Each step comes to two addresses at most, and looks behind one; a place is read again where a page does not have it.
 */
#define READS_MAX (60000ull * 3 * 2 + 4)

#define STEPS_MAX 200 /* of state_frame */

struct input {
	const uint8_t *code;
	size_t size;
	unsigned int behind;
	uint64_t reads;
};

static size_t read_code(void *context, uint64_t address, uint8_t *ret, size_t size)
{
	struct input *input = context;

	input->reads++;
	if (address < BASE || address - BASE >= input->size)
		return 0;
	if (size > input->size - (address - BASE))
		size = input->size - (address - BASE);
	memcpy(ret, input->code + (address - BASE), size);
	return size;
}

static bool known(void *context, uint64_t address, struct unwind_rule *ret)
{
	static const struct unwind_rule rules[] = {
		{},
		{.kind = UNWIND_SP, .cfa_offset = 16, .fp_offset = -16, .param = UNWIND_SLOT_SAME},
		{.kind = UNWIND_FP, .cfa_offset = 16, .fp_offset = UNWIND_FP_SAME, .param = 3},
		{.kind = UNWIND_END}};
	const struct input *input = context;

	*ret = rules[input->behind];
	return input->behind && address - BASE >= input->size;
}

static void check(const struct input *input, uint64_t address, bool innermost, const rule_ranges *ranges)
{
	uint64_t looked_up = innermost ? address : address - 1, end = 0;
	bool has_address = false;
	size_t i;

	for (i = 0; i < ranges->count; i++) {
		const struct rule_range *range = &ranges->at[i];

		CHECK(range->start >= end && range->start < range->end);
		CHECK(range->start >= BASE - 1 && range->end <= BASE + input->size);
		CHECK(range->rule.kind == UNWIND_SP || range->rule.kind == UNWIND_FP ||
		      range->rule.kind == UNWIND_REGISTER || range->rule.kind == UNWIND_SP_DEREF ||
		      range->rule.kind == UNWIND_FP_DEREF);
		has_address |= looked_up >= range->start && looked_up < range->end;
		end = range->end;
	}
	CHECK(has_address);
}

static void check_exits(struct input *input, const struct way_out_source *source, uint64_t address)
{
	const struct way_out_bounds bounds = {BASE, BASE + input->size};
	struct way_out_exit exits[4] = {};
	int i, k, count = way_out_exits(arch_of(EM_X86_64)->code, source, address, &bounds, exits, 4);

	CHECK(count <= 4);
	for (i = 0; i < count; i++) {
		CHECK(exits[i].to < bounds.start || exits[i].to >= bounds.end);
		for (k = 0; k < i; k++)
			CHECK(exits[k].to != exits[i].to);
	}
	CHECK(input->reads <= READS_MAX);
}

static void check_state(struct input *input, const struct way_out_source *source, uint64_t address)
{
	const struct arch *arch = arch_of(EM_X86_64);
	struct state_frame frame;

	if (!state_frame_find(arch->code, source, address, &frame))
		CHECK(frame.reg < CODE_REGISTERS && frame.behind > BASE && frame.behind <= BASE + input->size);
	CHECK(input->reads <= STEPS_MAX);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input input = {.code = data + 2};
	const struct way_out_source source = {.read = read_code, .known = known, .context = &input};
	rule_ranges ranges = {};
	uint64_t address;
	bool innermost;

	if (size < 3 || size > 1 << 16)
		return 0;
	input.size = size - 2;
	input.behind = data[0] >> 1 & 3;
	innermost = data[0] & 1;
	address = BASE + data[1];
	if (!way_out_find(arch_of(EM_X86_64)->code, &source, address, innermost, &ranges))
		check(&input, address, innermost, &ranges);
	CHECK(input.reads <= READS_MAX);
	vec_free(&ranges);
	input.reads = 0;
	check_exits(&input, &source, address);
	input.reads = 0;
	check_state(&input, &source, address);
	return 0;
}
