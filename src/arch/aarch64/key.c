// SPDX-License-Identifier: GPL-2.0-or-later
/* What AArch64 instructions do to the key decoder's machine. Registers 0 to 30 are x0 to x30, 31 is sp. */
#include <string.h>

#include "arch/aarch64/parts.h"

enum { STACK_POINTER = 31 };

#define NO_REGISTER      UINT32_MAX
#define SYSTEM_TPIDR_EL0 0xde82 /* op0 3, op1 3, CRn 13, CRm 0, op2 2 (Arm ARM, D19.2) */
#define PAGE_SIZE_MASK   0xfffull

static unsigned int register_of(unsigned int reg, unsigned int *width)
{
	*width = 8;
	if (reg >= ARM64_REG_X0 && reg <= ARM64_REG_X28)
		return reg - ARM64_REG_X0;
	if (reg == ARM64_REG_X29)
		return 29;
	if (reg == ARM64_REG_X30)
		return 30;
	if (reg == ARM64_REG_SP)
		return STACK_POINTER;
	*width = 4;
	if (reg >= ARM64_REG_W0 && reg <= ARM64_REG_W30)
		return reg - ARM64_REG_W0;
	if (reg == ARM64_REG_WSP)
		return STACK_POINTER;
	return NO_REGISTER;
}

static unsigned int width_of(unsigned int reg)
{
	unsigned int width, index = register_of(reg, &width);

	if (index != NO_REGISTER)
		return width;
	return reg == ARM64_REG_XZR ? 8 : reg == ARM64_REG_WZR ? 4 : 0;
}

static struct key_value get_register(const struct key_state *state, unsigned int reg)
{
	unsigned int width, index = register_of(reg, &width);

	if (reg == ARM64_REG_XZR || reg == ARM64_REG_WZR)
		return key_constant(0);
	if (index == NO_REGISTER)
		return (struct key_value){};
	return key_truncate(state->registers[index], width);
}

static void set_register(struct key_state *state, unsigned int reg, struct key_value value)
{
	unsigned int width, index = register_of(reg, &width);

	if (index != NO_REGISTER)
		state->registers[index] = key_truncate(value, width);
}

static struct key_value shifted_left(struct key_value value, unsigned int by)
{
	uint64_t constant;

	if (!by)
		return value;
	return key_is_constant(&value, &constant) && by < 64 ? key_constant(constant << by) : (struct key_value){};
}

/* The extension that an operand names, then its shift. Other kinds than these are not known. */
static struct key_value extended(struct key_value value, const cs_arm64_op *op)
{
	uint64_t constant;

	switch (op->ext) {
	case ARM64_EXT_INVALID:
	case ARM64_EXT_UXTX:
	case ARM64_EXT_SXTX:
		break;
	case ARM64_EXT_UXTW:
		value = key_truncate(value, 4);
		break;
	case ARM64_EXT_SXTW:
		if (!key_is_constant(&value, &constant))
			return (struct key_value){};
		value = key_constant((uint64_t)(int64_t)(int32_t)constant);
		break;
	default:
		return (struct key_value){};
	}
	if (op->shift.type != ARM64_SFT_INVALID && op->shift.type != ARM64_SFT_LSL && op->shift.value)
		return (struct key_value){};
	return shifted_left(value, op->shift.value);
}

static struct key_value get(const struct key_state *state, const cs_arm64_op *op)
{
	if (op->type == ARM64_OP_REG)
		return extended(get_register(state, op->reg), op);
	if (op->type == ARM64_OP_IMM)
		return shifted_left(key_constant((uint64_t)op->imm), op->shift.value);
	return (struct key_value){};
}

static struct key_value address_of(const struct key_state *state, const cs_arm64_op *op)
{
	struct key_value address = get_register(state, op->mem.base);

	if (op->mem.index != ARM64_REG_INVALID)
		address = key_add(address, extended(get_register(state, op->mem.index), op));
	return key_add(address, key_constant((uint64_t)(int64_t)op->mem.disp));
}

/* Loads and stores of one or two registers, with pre- and post-indexing. */
static void transfer(struct key_machine *machine, struct key_state *state, const cs_insn *insn, unsigned int count,
		     bool store)
{
	const cs_arm64 *arm = &insn->detail->arm64;
	const cs_arm64_op *memory = &arm->operands[count];
	struct key_value address, values[2] = {};
	unsigned int i, width = width_of(arm->operands[0].reg);

	if (arm->op_count > count && memory->type == ARM64_OP_IMM) /* PC-relative */
		address = key_constant((uint64_t)memory->imm);
	else if (arm->op_count > count && memory->type == ARM64_OP_MEM)
		address = address_of(state, memory);
	else
		address = (struct key_value){};
	for (i = 0; i < count; i++) {
		struct key_value at = key_add(address, key_constant((uint64_t)i * width));

		if (store)
			key_store(state, at, width ? width : 16, get_register(state, arm->operands[i].reg));
		else if (width)
			values[i] = key_load(machine, state, at, width);
	}
	for (i = 0; i < count && !store; i++)
		set_register(state, arm->operands[i].reg, values[i]);
	if (!arm->writeback || memory->type != ARM64_OP_MEM)
		return;
	if (arm->op_count > count + 1 && arm->operands[count + 1].type == ARM64_OP_IMM)
		address = key_add(address, key_constant((uint64_t)arm->operands[count + 1].imm));
	set_register(state, memory->mem.base, address);
}

static void forget(struct key_state *state, const cs_insn *insn)
{
	const cs_arm64 *arm = &insn->detail->arm64;
	unsigned int i;

	/* Capstone's notes on what is written are not complete; a register in any place may have been. */
	for (i = 0; i < arm->op_count; i++) {
		if (arm->operands[i].type == ARM64_OP_REG)
			set_register(state, arm->operands[i].reg, (struct key_value){});
		if (arm->operands[i].type == ARM64_OP_MEM && arm->writeback)
			set_register(state, arm->operands[i].mem.base, (struct key_value){});
		if (arm->operands[i].type == ARM64_OP_MEM && !strncmp(insn->mnemonic, "st", 2))
			key_store(state, address_of(state, &arm->operands[i]), 16, (struct key_value){});
	}
	state->flags.kind = KEY_FLAGS_UNKNOWN;
}

static enum key_condition condition_of(arm64_cc condition)
{
	switch (condition) {
	case ARM64_CC_EQ:
		return KEY_EQUAL;
	case ARM64_CC_NE:
		return KEY_NOT_EQUAL;
	case ARM64_CC_HI:
		return KEY_ABOVE;
	case ARM64_CC_HS:
		return KEY_ABOVE_EQUAL;
	case ARM64_CC_LO:
		return KEY_BELOW;
	case ARM64_CC_LS:
		return KEY_BELOW_EQUAL;
	case ARM64_CC_GT:
		return KEY_GREATER;
	case ARM64_CC_GE:
		return KEY_GREATER_EQUAL;
	case ARM64_CC_LT:
		return KEY_LESS;
	case ARM64_CC_LE:
		return KEY_LESS_EQUAL;
	default:
		return KEY_OTHER_CONDITION;
	}
}

static bool branch_on_register(struct key_machine *machine, struct key_state *state, const cs_insn *insn)
{
	const cs_arm64_op *op = insn->detail->arm64.operands;
	bool bit = insn->id == ARM64_INS_TBZ || insn->id == ARM64_INS_TBNZ;
	bool zero = insn->id == ARM64_INS_CBZ || insn->id == ARM64_INS_TBZ;
	struct key_flags flags = {.kind = bit ? KEY_FLAGS_TEST : KEY_FLAGS_COMPARE,
				  .width = width_of(op[0].reg),
				  .a = get_register(state, op[0].reg),
				  .b = key_constant(bit ? 1ull << (op[1].imm & 63) : 0)};

	return key_branch(machine, state, &flags, zero ? KEY_EQUAL : KEY_NOT_EQUAL, (uint64_t)op[bit ? 2 : 1].imm);
}

static bool branch(struct key_machine *machine, struct key_state *state, const cs_insn *insn, bool *handled)
{
	const cs_arm64 *arm = &insn->detail->arm64;
	const cs_arm64_op *op = arm->operands;

	*handled = true;
	switch (insn->id) {
	case ARM64_INS_B:
		if (arm->cc != ARM64_CC_INVALID && arm->cc != ARM64_CC_AL)
			return key_branch(machine, state, &state->flags, condition_of(arm->cc), (uint64_t)op[0].imm);
		return key_jump(machine, state, get(state, &op[0]));
	case ARM64_INS_BR:
		return key_jump(machine, state, get(state, &op[0]));
	case ARM64_INS_BL:
	case ARM64_INS_BLR:
		return key_call(machine, state, get(state, &op[0]));
	case ARM64_INS_RET:
		return key_return(machine, state);
	case ARM64_INS_CBZ:
	case ARM64_INS_CBNZ:
	case ARM64_INS_TBZ:
	case ARM64_INS_TBNZ:
		return branch_on_register(machine, state, insn);
	case ARM64_INS_BRK:
	case ARM64_INS_HLT:
	case ARM64_INS_ERET:
		return false;
	default:
		*handled = false;
		return true;
	}
}

/* ubfiz rd, rn, #lsb, #width and ubfx: a field of a register, moved up or down. */
static struct key_value bit_field(const struct key_state *state, const cs_insn *insn)
{
	const cs_arm64_op *op = insn->detail->arm64.operands;
	struct key_value value = get_register(state, op[1].reg);
	uint64_t constant, mask = op[3].imm >= 64 ? ~0ull : (1ull << (op[3].imm & 63)) - 1;

	if (!key_is_constant(&value, &constant))
		return (struct key_value){};
	if (insn->id == ARM64_INS_UBFIZ)
		return key_constant((constant & mask) << (op[2].imm & 63));
	return key_constant(constant >> (op[2].imm & 63) & mask);
}

/* Three operands, the last two of which are constants. */
static struct key_value logic(const struct key_state *state, const cs_insn *insn)
{
	const cs_arm64_op *op = insn->detail->arm64.operands;
	struct key_value a = get(state, &op[1]), b = get(state, &op[2]);
	unsigned int bits = width_of(op[0].reg) * 8;
	uint64_t x, y;

	if (!key_is_constant(&a, &x) || !key_is_constant(&b, &y) || !bits)
		return (struct key_value){};
	switch (insn->id) {
	case ARM64_INS_AND:
		return key_constant(x & y);
	case ARM64_INS_ORR:
		return key_constant(x | y);
	case ARM64_INS_EOR:
		return key_constant(x ^ y);
	case ARM64_INS_LSL:
		return key_constant(x << y % bits);
	default:
		return key_constant(x >> y % bits);
	}
}

static struct key_value sum(const struct key_state *state, const cs_insn *insn)
{
	const cs_arm64_op *op = insn->detail->arm64.operands;
	struct key_value a = get(state, &op[1]), b = get(state, &op[2]);
	bool add = insn->id == ARM64_INS_ADD;
	uint64_t x;

	if (width_of(op[0].reg) != 8 && !(key_is_constant(&a, &x) && key_is_constant(&b, &x)))
		return (struct key_value){};
	return add ? key_add(a, b) : key_subtract(a, b);
}

static void move_wide(struct key_state *state, const cs_insn *insn)
{
	const cs_arm64_op *op = insn->detail->arm64.operands;
	unsigned int shift = op[1].shift.value & 63;
	uint64_t part = (uint64_t)op[1].imm << shift, old;
	struct key_value value = get_register(state, op[0].reg);

	if (insn->id == ARM64_INS_MOVZ)
		value = key_constant(part);
	else if (insn->id == ARM64_INS_MOVN)
		value = key_constant(~part);
	else if (key_is_constant(&value, &old))
		value = key_constant((old & ~(0xffffull << shift)) | part);
	else
		value = (struct key_value){};
	set_register(state, op[0].reg, value);
}

static void compare(struct key_state *state, const cs_insn *insn)
{
	const cs_arm64_op *op = insn->detail->arm64.operands;
	struct key_value b = get(state, &op[1]);

	if (insn->id == ARM64_INS_CMN)
		b = key_subtract(key_constant(0), b);
	state->flags = (struct key_flags){.kind = insn->id == ARM64_INS_TST ? KEY_FLAGS_TEST : KEY_FLAGS_COMPARE,
					  .width = width_of(op[0].reg),
					  .a = get(state, &op[0]),
					  .b = key_truncate(b, width_of(op[0].reg))};
}

static void move(struct key_state *state, const cs_insn *insn)
{
	const cs_arm64_op *op = insn->detail->arm64.operands;

	if (insn->id == ARM64_INS_MRS) {
		if (op[1].type == ARM64_OP_REG_MRS && op[1].reg == SYSTEM_TPIDR_EL0)
			set_register(state, op[0].reg, key_thread_pointer(0));
		else
			set_register(state, op[0].reg, (struct key_value){});
		return;
	}
	set_register(state, op[0].reg, get(state, &op[1]));
}

static void execute_arithmetic(struct key_state *state, const cs_insn *insn)
{
	const cs_arm64 *arm = &insn->detail->arm64;

	switch (insn->id) {
	case ARM64_INS_ADD:
	case ARM64_INS_SUB:
		if (arm->op_count != 3 || arm->update_flags)
			break;
		set_register(state, arm->operands[0].reg, sum(state, insn));
		return;
	case ARM64_INS_AND:
	case ARM64_INS_ORR:
	case ARM64_INS_EOR:
	case ARM64_INS_LSL:
	case ARM64_INS_LSR:
		if (arm->op_count != 3 || arm->update_flags)
			break;
		set_register(state, arm->operands[0].reg, logic(state, insn));
		return;
	case ARM64_INS_UBFIZ:
	case ARM64_INS_UBFX:
		if (arm->op_count != 4)
			break;
		set_register(state, arm->operands[0].reg, bit_field(state, insn));
		return;
	default:
		break;
	}
	forget(state, insn);
}

static bool execute(struct key_machine *machine, struct key_state *state, const cs_insn *insn)
{
	bool handled, going = branch(machine, state, insn, &handled);

	if (handled)
		return going;
	switch (insn->id) {
	case ARM64_INS_NOP:
	case ARM64_INS_HINT: /* bti, paciasp, autiasp: addresses are kept plain */
		break;
	case ARM64_INS_MOV:
	case ARM64_INS_MRS:
	case ARM64_INS_ADR:
	case ARM64_INS_ADRP: /* Capstone gives the address itself */
		move(state, insn);
		break;
	case ARM64_INS_MOVZ:
	case ARM64_INS_MOVN:
	case ARM64_INS_MOVK:
		move_wide(state, insn);
		break;
	case ARM64_INS_LDR:
	case ARM64_INS_LDUR:
		transfer(machine, state, insn, 1, false);
		break;
	case ARM64_INS_LDAR: /* may appear without an offset only */
		transfer(machine, state, insn, 1, false);
		break;
	case ARM64_INS_LDP:
		transfer(machine, state, insn, 2, false);
		break;
	case ARM64_INS_STR:
	case ARM64_INS_STUR:
		transfer(machine, state, insn, 1, true);
		break;
	case ARM64_INS_STP:
		transfer(machine, state, insn, 2, true);
		break;
	case ARM64_INS_CMP:
	case ARM64_INS_CMN:
	case ARM64_INS_TST:
		compare(state, insn);
		break;
	default:
		execute_arithmetic(state, insn);
		break;
	}
	return true;
}

/* AAPCS64, 6.1.1: x19 to x28, x29 and sp outlive a call; so does nothing else. */
const struct key_arch aarch64_key = {
	.execute = execute,
	.argument = 0,
	.result = 0,
	.descriptor = 0,
	.stack_pointer = STACK_POINTER,
	.clobbered = 0x4007ffff,
	.return_size = 0,
};
