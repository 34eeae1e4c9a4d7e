// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The first byte chooses: bit 0 whether constants may be addresses, bit 1 whether functions outside return; the rest is
 * code, and the data that it reads, from 0x1000 on. It is followed from its first byte, from what it calls, and from
 * what it mentions.
 */
#include <string.h>

#include "fuzz.h"
#include "arch/arch.h"
#include "unwind/code_flow.h"

#define BASE 0x1000

struct input {
	struct code_span span;
	bool returns;
};

static const uint8_t *input_data(void *context, uint64_t vaddr, size_t size)
{
	const struct code_span *span = &((struct input *)context)->span;

	if (vaddr < span->start || vaddr > span->end || size > span->end - vaddr)
		return NULL;
	return span->bytes + (vaddr - span->start);
}

static bool input_returns(void *context, uint64_t vaddr)
{
	(void)vaddr;
	return ((struct input *)context)->returns;
}

/* A rule leads to a caller that is farther out, and its return address is not above its frame. */
static int check(void *context, uint64_t vaddr, const struct code_insn *insn, const struct code_state *state)
{
	const struct code_span *span = &((struct input *)context)->span;
	struct unwind_rule rule = code_rule(arch_of(EM_X86_64)->code, state, insn);

	CHECK(vaddr >= span->start && vaddr < span->end && insn->length && insn->length <= span->end - vaddr);
	if (rule.kind == UNWIND_SP)
		CHECK(rule.cfa_offset >= 8);
	if (rule.kind == UNWIND_RA_REGISTER)
		CHECK(rule.cfa_offset >= 0);
	if (rule.fp_offset != UNWIND_FP_SAME)
		CHECK(rule.fp_offset < 0 && rule.fp_offset % 8 == 0);
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input input = {};
	struct code_image image = {
		.spans = &input.span, .span_count = 1, .data = input_data, .returns = input_returns, .context = &input};
	size_t counts[CODE_REFUSALS], at = 0;
	bool plain, accepted;
	struct code_flow *flow;
	uint64_t vaddr;

	if (size < 2 || size > 1 << 16)
		return 0;
	input.span = (struct code_span){.start = BASE, .end = BASE + size - 1, .bytes = data + 1};
	image.fixed = data[0] & 1;
	input.returns = data[0] & 2;
	if (code_flow_create(arch_of(EM_X86_64)->code, &image, &flow))
		return 0;
	if (!code_flow_start(flow, BASE) && !code_flow_run(flow)) {
		while (code_flow_mentioned(flow, &at, &vaddr, &plain))
			if (code_flow_try(flow, vaddr, !plain, &accepted))
				break;
		code_flow_count(flow, counts);
		code_flow_each(flow, check, &input);
	}
	code_flow_destroy(flow);
	return 0;
}
