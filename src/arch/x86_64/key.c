// SPDX-License-Identifier: GPL-2.0-or-later
/* What x86-64 instructions do to the key decoder's machine. Registers by their number in the instruction encoding. */

#include "arch/x86_64/parts.h"

enum { RAX = 0, RCX, RDX, RBX, RSP, RBP, RSI, RDI, R8, R9, R10, R11 };

#define NO_REGISTER UINT32_MAX

static unsigned int register_of(x86_reg reg, unsigned int *width)
{
	static const uint16_t names[16][4] = {
		{X86_REG_RAX, X86_REG_EAX, X86_REG_AX, X86_REG_AL},
		{X86_REG_RCX, X86_REG_ECX, X86_REG_CX, X86_REG_CL},
		{X86_REG_RDX, X86_REG_EDX, X86_REG_DX, X86_REG_DL},
		{X86_REG_RBX, X86_REG_EBX, X86_REG_BX, X86_REG_BL},
		{X86_REG_RSP, X86_REG_ESP, X86_REG_SP, X86_REG_SPL},
		{X86_REG_RBP, X86_REG_EBP, X86_REG_BP, X86_REG_BPL},
		{X86_REG_RSI, X86_REG_ESI, X86_REG_SI, X86_REG_SIL},
		{X86_REG_RDI, X86_REG_EDI, X86_REG_DI, X86_REG_DIL},
		{X86_REG_R8, X86_REG_R8D, X86_REG_R8W, X86_REG_R8B},
		{X86_REG_R9, X86_REG_R9D, X86_REG_R9W, X86_REG_R9B},
		{X86_REG_R10, X86_REG_R10D, X86_REG_R10W, X86_REG_R10B},
		{X86_REG_R11, X86_REG_R11D, X86_REG_R11W, X86_REG_R11B},
		{X86_REG_R12, X86_REG_R12D, X86_REG_R12W, X86_REG_R12B},
		{X86_REG_R13, X86_REG_R13D, X86_REG_R13W, X86_REG_R13B},
		{X86_REG_R14, X86_REG_R14D, X86_REG_R14W, X86_REG_R14B},
		{X86_REG_R15, X86_REG_R15D, X86_REG_R15W, X86_REG_R15B},
	};
	static const uint16_t high[4] = {X86_REG_AH, X86_REG_CH, X86_REG_DH, X86_REG_BH};
	unsigned int i, j;

	for (i = 0; i < 16; i++)
		for (j = 0; j < 4; j++)
			if (names[i][j] == reg) {
				*width = 8u >> j;
				return i;
			}
	for (i = 0; i < 4; i++)
		if (high[i] == reg) {
			*width = 0; /* bits 8 to 15: never known */
			return i;
		}
	return NO_REGISTER;
}

static struct key_value get_register(const struct key_state *state, x86_reg reg)
{
	unsigned int width, index = register_of(reg, &width);

	if (index == NO_REGISTER || !width)
		return (struct key_value){};
	return key_truncate(state->registers[index], width);
}

static void set_register(struct key_state *state, x86_reg reg, struct key_value value)
{
	unsigned int width, index = register_of(reg, &width);

	if (index == NO_REGISTER)
		return;
	/* Writing 32 bits clears the upper half; writing 8 or 16 keeps what is above. */
	state->registers[index] = width >= 4 ? key_truncate(value, width) : (struct key_value){};
}

static struct key_value address_of(const struct key_state *state, const cs_x86_op *op)
{
	const x86_op_mem *mem = &op->mem;
	struct key_value address = key_constant((uint64_t)mem->disp), index;
	uint64_t constant;

	if (mem->segment == X86_REG_FS)
		address = key_thread_pointer(mem->disp);
	else if (mem->segment == X86_REG_GS)
		return (struct key_value){};
	if (mem->base == X86_REG_RIP)
		address = key_add(address, key_constant(state->next));
	else if (mem->base != X86_REG_INVALID)
		address = key_add(address, get_register(state, mem->base));
	if (mem->index == X86_REG_INVALID || mem->index == X86_REG_RIZ)
		return address;
	index = get_register(state, mem->index);
	if (mem->scale != 1)
		index = key_is_constant(&index, &constant) ? key_constant(constant * (uint64_t)mem->scale)
							   : (struct key_value){};
	return key_add(address, index);
}

/* fs:[0] is the thread pointer itself (psABI: the first word of the thread control block points to it). */
static bool is_thread_pointer(const struct key_value *address)
{
	return address->known && address->base == KEY_BASE_NONE && !address->loads && address->pointer[0] == 1 &&
	       !address->offset[0];
}

static struct key_value get(struct key_machine *machine, struct key_state *state, const cs_x86_op *op)
{
	struct key_value address;

	switch (op->type) {
	case X86_OP_REG:
		return get_register(state, op->reg);
	case X86_OP_IMM:
		return key_truncate(key_constant((uint64_t)op->imm), op->size);
	case X86_OP_MEM:
		address = address_of(state, op);
		if (op->size == 8 && is_thread_pointer(&address))
			return key_thread_pointer(0);
		return key_load(machine, state, address, op->size);
	default:
		return (struct key_value){};
	}
}

static void set(struct key_state *state, const cs_x86_op *op, struct key_value value)
{
	if (op->type == X86_OP_REG)
		set_register(state, op->reg, value);
	else if (op->type == X86_OP_MEM)
		key_store(state, address_of(state, op), op->size, value);
}

static void set_flags(struct key_state *state, enum key_flags_kind kind, unsigned int width, struct key_value a,
		      struct key_value b)
{
	state->flags = (struct key_flags){.kind = kind, .width = width, .a = a, .b = b};
}

static struct key_value sign_extended(struct key_value value, unsigned int from, unsigned int to)
{
	uint64_t constant;
	unsigned int shift;

	if (!from || from > 8 || !key_is_constant(&value, &constant))
		return (struct key_value){};
	shift = 64 - from * 8;
	return key_truncate(key_constant((uint64_t)((int64_t)(constant << shift) >> shift)), to);
}

/* Arithmetic on two operands, the first of which is changed. */
static void arithmetic(struct key_machine *machine, struct key_state *state, const cs_insn *insn)
{
	const cs_x86_op *op = insn->detail->x86.operands;
	struct key_value a = get(machine, state, &op[0]), b = get(machine, state, &op[1]), result = {};
	bool same = op[0].type == X86_OP_REG && op[1].type == X86_OP_REG && op[0].reg == op[1].reg, constant;
	unsigned int width = op[0].size;
	uint64_t x = 0, y = 0;

	constant = key_is_constant(&a, &x) && key_is_constant(&b, &y);
	switch (insn->id) {
	case X86_INS_ADD:
		/* In 32 bits a sum may wrap. */
		result = width == 8 || constant ? key_add(a, b) : (struct key_value){};
		break;
	case X86_INS_SUB:
		result = width == 8 || constant ? key_subtract(a, b) : (struct key_value){};
		if (same)
			result = key_constant(0);
		break;
	case X86_INS_XOR:
		if (same)
			result = key_constant(0);
		else if (constant)
			result = key_constant(x ^ y);
		break;
	case X86_INS_AND:
		if (constant)
			result = key_constant(x & y);
		break;
	case X86_INS_OR:
		if (constant)
			result = key_constant(x | y);
		break;
	case X86_INS_SHL:
	case X86_INS_SAL:
		if (constant)
			result = key_constant(x << (y & (width == 8 ? 63 : 31)));
		break;
	case X86_INS_SHR:
		if (constant)
			result = key_constant(x >> (y & (width == 8 ? 63 : 31)));
		break;
	default:
		break;
	}
	result = key_truncate(result, width);
	set(state, &op[0], result);
	if (insn->id == X86_INS_SUB)
		set_flags(state, KEY_FLAGS_COMPARE, width, a, b);
	else if (insn->id == X86_INS_AND)
		set_flags(state, KEY_FLAGS_TEST, width, a, b);
	else
		state->flags.kind = KEY_FLAGS_UNKNOWN;
}

static enum key_condition condition_of(unsigned int id)
{
	switch (id) {
	case X86_INS_JE:
		return KEY_EQUAL;
	case X86_INS_JNE:
		return KEY_NOT_EQUAL;
	case X86_INS_JA:
		return KEY_ABOVE;
	case X86_INS_JAE:
		return KEY_ABOVE_EQUAL;
	case X86_INS_JB:
		return KEY_BELOW;
	case X86_INS_JBE:
		return KEY_BELOW_EQUAL;
	case X86_INS_JS:
		return KEY_NEGATIVE;
	case X86_INS_JNS:
		return KEY_NOT_NEGATIVE;
	case X86_INS_JG:
		return KEY_GREATER;
	case X86_INS_JGE:
		return KEY_GREATER_EQUAL;
	case X86_INS_JL:
		return KEY_LESS;
	case X86_INS_JLE:
		return KEY_LESS_EQUAL;
	default:
		return KEY_OTHER_CONDITION;
	}
}

static void push(struct key_state *state, struct key_value value)
{
	state->registers[RSP] = key_subtract(state->registers[RSP], key_constant(8));
	key_store(state, state->registers[RSP], 8, value);
}

static struct key_value pop(struct key_machine *machine, struct key_state *state)
{
	struct key_value value = key_load(machine, state, state->registers[RSP], 8);

	state->registers[RSP] = key_add(state->registers[RSP], key_constant(8));
	return value;
}

/* Whatever an instruction that is not modelled may have changed is not known any more. */
static void forget(struct key_state *state, const cs_insn *insn)
{
	const cs_x86 *x86 = &insn->detail->x86;
	unsigned int i;

	for (i = 0; i < x86->op_count; i++)
		if (x86->operands[i].type == X86_OP_REG || (x86->operands[i].access & CS_AC_WRITE))
			set(state, &x86->operands[i], (struct key_value){});
	for (i = 0; i < insn->detail->regs_write_count; i++)
		set_register(state, insn->detail->regs_write[i], (struct key_value){});
	state->flags.kind = KEY_FLAGS_UNKNOWN;
}

/* The operand of a jump or a call: Capstone gives the whole address, whatever it says of the operand's size. */
static struct key_value target_of(struct key_machine *machine, struct key_state *state, const cs_x86_op *op)
{
	return op->type == X86_OP_IMM ? key_constant((uint64_t)op->imm) : get(machine, state, op);
}

static bool is_jump(const cs_insn *insn)
{
	unsigned int i;

	for (i = 0; i < insn->detail->groups_count; i++)
		if (insn->detail->groups[i] == CS_GRP_JUMP)
			return true;
	return false;
}

/* Instructions that change where to go on. */
static bool transfer(struct key_machine *machine, struct key_state *state, const cs_insn *insn, bool *handled)
{
	const cs_x86 *x86 = &insn->detail->x86;
	const cs_x86_op *op = x86->operands;

	*handled = true;
	switch (insn->id) {
	case X86_INS_CALL:
		return key_call(machine, state, target_of(machine, state, &op[0]));
	case X86_INS_JMP:
		return key_jump(machine, state, target_of(machine, state, &op[0]));
	case X86_INS_RET:
		return key_return(machine, state);
	case X86_INS_HLT:
	case X86_INS_UD2:
	case X86_INS_INT3:
	case X86_INS_LJMP:
	case X86_INS_LCALL:
	case X86_INS_SYSRET:
		return false;
	default:
		break;
	}
	if (is_jump(insn) && op[0].type == X86_OP_IMM)
		return key_branch(machine, state, &state->flags, condition_of(insn->id), (uint64_t)op[0].imm);
	*handled = false;
	return true;
}

static bool execute(struct key_machine *machine, struct key_state *state, const cs_insn *insn)
{
	const cs_x86_op *op = insn->detail->x86.operands;
	bool handled, going = transfer(machine, state, insn, &handled);

	if (handled)
		return going;
	switch (insn->id) {
	case X86_INS_NOP:
	case X86_INS_ENDBR64:
		break;
	case X86_INS_MOV:
	case X86_INS_MOVABS:
	case X86_INS_MOVZX:
		set(state, &op[0], get(machine, state, &op[1]));
		break;
	case X86_INS_MOVSX:
	case X86_INS_MOVSXD:
		set(state, &op[0], sign_extended(get(machine, state, &op[1]), op[1].size, op[0].size));
		break;
	case X86_INS_CDQE:
		set_register(state, X86_REG_RAX, sign_extended(get_register(state, X86_REG_EAX), 4, 8));
		break;
	case X86_INS_LEA:
		set(state, &op[0], key_truncate(address_of(state, &op[1]), op[0].size));
		break;
	case X86_INS_ADD:
	case X86_INS_SUB:
	case X86_INS_XOR:
	case X86_INS_AND:
	case X86_INS_OR:
	case X86_INS_SHL:
	case X86_INS_SAL:
	case X86_INS_SHR:
		if (insn->detail->x86.op_count == 2)
			arithmetic(machine, state, insn);
		else
			forget(state, insn);
		break;
	case X86_INS_CMP:
		set_flags(state, KEY_FLAGS_COMPARE, op[0].size, get(machine, state, &op[0]),
			  key_truncate(get(machine, state, &op[1]), op[0].size));
		break;
	case X86_INS_TEST:
		set_flags(state, KEY_FLAGS_TEST, op[0].size, get(machine, state, &op[0]), get(machine, state, &op[1]));
		break;
	case X86_INS_PUSH:
		push(state, get(machine, state, &op[0]));
		break;
	case X86_INS_POP:
		set(state, &op[0], pop(machine, state));
		break;
	case X86_INS_LEAVE:
		state->registers[RSP] = state->registers[RBP];
		state->registers[RBP] = pop(machine, state);
		break;
	default:
		forget(state, insn);
		break;
	}
	return true;
}

/* psABI, 3.2.1: rbx, rbp, r12 to r15 and rsp outlive a call. */
const struct key_arch x86_64_key = {
	.execute = execute,
	.argument = RDI,
	.result = RAX,
	.descriptor = RAX,
	.stack_pointer = RSP,
	.clobbered = 1 << RAX | 1 << RCX | 1 << RDX | 1 << RSI | 1 << RDI | 1 << R8 | 1 << R9 | 1 << R10 | 1 << R11,
	.return_size = 8,
};
