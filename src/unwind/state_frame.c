// SPDX-License-Identifier: GPL-2.0-or-later
#include "unwind/state_frame.h"

#include <errno.h>

#include "abi/unwind.h"

#define STEPS_MAX 200
#define INSN_MAX  15
#define FAR       (1 << 20) /* a state is not larger */

/* What a register holds, by what one held at first. */
enum held { OTHER, START, STATE, FRAME };

struct held_value {
	uint8_t held, reg;
	int32_t n;           /* START: what `reg` was, plus n */
	int32_t word, within; /* STATE: *(reg + word), FRAME: *(*(reg + word) + within) */
};

struct follow {
	const struct code_arch *arch;
	struct held_value registers[CODE_REGISTERS];
};

static struct held_value value_of(const struct follow *follow, unsigned int reg)
{
	return reg < CODE_REGISTERS ? follow->registers[reg] : (struct held_value){};
}

static struct held_value plus(struct held_value value, int64_t n)
{
	int64_t sum = value.n + n;

	if (value.held == START && sum > -FAR && sum < FAR) {
		value.n = (int32_t)sum;
		return value;
	}
	return n ? (struct held_value){} : value;
}

static struct held_value load(struct held_value from, int64_t n)
{
	int64_t sum = from.n + n;

	if (from.held == START && sum > -FAR && sum < FAR)
		return (struct held_value){.held = STATE, .reg = from.reg, .word = (int32_t)sum};
	if (from.held == STATE && n >= 0 && n < FAR) {
		from.held = FRAME;
		from.within = (int32_t)n;
		return from;
	}
	return (struct held_value){};
}

static void forget(struct follow *follow, uint32_t registers)
{
	unsigned int i;

	for (i = 0; i < CODE_REGISTERS; i++)
		if (registers >> i & 1)
			follow->registers[i] = (struct held_value){};
}

static void step(struct follow *follow, const struct code_insn *insn)
{
	struct held_value value = {};

	switch (insn->op) {
	case CODE_ADD:
		value = plus(value_of(follow, insn->b), insn->imm);
		break;
	case CODE_LOAD:
		value = load(value_of(follow, insn->b), insn->imm);
		break;
	case CODE_MASK:
		value = value_of(follow, insn->a);
		if (value.held != FRAME || (uint64_t)insn->imm != ~UNWIND_FRAME_FLAGS)
			value = (struct held_value){};
		break;
	case CODE_CALL:
	case CODE_CALL_INDIRECT:
		forget(follow, ~(follow->arch->preserved | 1u << follow->arch->sp));
		return;
	case CODE_STORE:
	case CODE_PUSH:
	case CODE_COMPARE:
	case CODE_COMPARE_SP:
	case CODE_BRANCH:
	case CODE_JUMP:
	case CODE_OTHER:
		forget(follow, insn->clobbers);
		return;
	default:
		break;
	}
	forget(follow, insn->clobbers);
	if (insn->a < CODE_REGISTERS)
		follow->registers[insn->a] = value;
}

int state_frame_find(const struct code_arch *arch, const struct way_out_source *source, uint64_t address,
		     struct state_frame *ret)
{
	struct follow follow = {.arch = arch};
	const struct held_value *sp = &follow.registers[arch->sp];
	struct code_decoder *decoder;
	struct code_insn insn;
	uint8_t bytes[INSN_MAX];
	unsigned int i;
	size_t size;
	int err = arch->create(&decoder);

	if (err)
		return err;
	for (i = 0; i < CODE_REGISTERS; i++)
		follow.registers[i] = (struct held_value){.held = START, .reg = (uint8_t)i};
	err = -ENOENT;
	for (i = 0; i < STEPS_MAX && err; i++) {
		size = source->read(source->context, address, bytes, sizeof(bytes));
		if (!size || !arch->decode(decoder, bytes, size, address, &insn) || insn.op == CODE_STOP ||
		    insn.op == CODE_RETURN || insn.op == CODE_JUMP_REGISTER || insn.op == CODE_JUMP_TABLE ||
		    insn.op == CODE_JUMP_INDIRECT)
			break;
		step(&follow, &insn);
		address = insn.op == CODE_JUMP ? (uint64_t)insn.imm : address + insn.length;
		if (sp->held == FRAME) {
			*ret = (struct state_frame){sp->reg, sp->word, sp->within, address};
			err = 0;
		}
	}
	arch->destroy(decoder);
	return err;
}
