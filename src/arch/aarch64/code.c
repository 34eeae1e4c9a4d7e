// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * AArch64 instructions as their effect on the stack (code.h), read by Capstone. Registers have DWARF's numbers
 * (AADWARF64, 4.1): 0 to 30 are x0 to x30, 31 is SP. Signing and checking a return address (FEAT_PAuth) leaves it what
 * it is here: whoever reads one masks the signature (ARCH_CODE_ADDRESS).
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "arch/aarch64/parts.h"
#include "base/disassembler.h"

enum { X0 = 0, X8 = 8, FP = 29, LR = 30, SP = 31 };

#define BIT(reg) (1u << (reg))
#define WORD     8

/* System calls that do not return (include/uapi/asm-generic/unistd.h). */
enum { SYS_EXIT = 93, SYS_EXIT_GROUP = 94, SYS_RT_SIGRETURN = 139 };

#define NOP 0xd503201fu

struct code_decoder {
	struct disassembler disassembler;
};

/* Width: 8 or 4; CODE_NONE for what is no general register, also for XZR. */
static uint8_t register_of(unsigned int reg, unsigned int *width)
{
	*width = 8;
	if (reg >= ARM64_REG_X0 && reg <= ARM64_REG_X28)
		return (uint8_t)(reg - ARM64_REG_X0);
	if (reg == ARM64_REG_X29)
		return FP;
	if (reg == ARM64_REG_X30)
		return LR;
	if (reg == ARM64_REG_SP)
		return SP;
	*width = 4;
	if (reg >= ARM64_REG_W0 && reg <= ARM64_REG_W30)
		return (uint8_t)(reg - ARM64_REG_W0);
	if (reg == ARM64_REG_WSP)
		return SP;
	*width = reg == ARM64_REG_XZR ? 8 : 4;
	return CODE_NONE;
}

/* All 64 bits of a general register, without a shift or an extension; else CODE_NONE. */
static uint8_t whole(const cs_arm64_op *op)
{
	unsigned int width;
	uint8_t number;

	if (op->type != ARM64_OP_REG || op->shift.value || (op->ext != ARM64_EXT_INVALID && op->ext != ARM64_EXT_UXTX))
		return CODE_NONE;
	number = register_of(op->reg, &width);
	return width == 8 ? number : CODE_NONE;
}

static uint32_t bit_of(unsigned int reg)
{
	unsigned int width;
	uint8_t number = register_of(reg, &width);

	return number == CODE_NONE ? 0 : BIT(number);
}

/*
 * Registers that change. What Capstone says is written is not complete, so it is the first operand, of loads of pairs
 * the second, and the base that is written back, unless the instruction is a store, a
 * comparison or a branch.
 */
static uint32_t written(const cs_insn *insn)
{
	const cs_arm64 *arm = &insn->detail->arm64;
	bool only_reads = false;
	uint32_t registers = 0;
	unsigned int i, count;

	switch (insn->id) {
	case ARM64_INS_STR:
	case ARM64_INS_STRB:
	case ARM64_INS_STRH:
	case ARM64_INS_STUR:
	case ARM64_INS_STURB:
	case ARM64_INS_STURH:
	case ARM64_INS_STTR:
	case ARM64_INS_STTRB:
	case ARM64_INS_STTRH:
	case ARM64_INS_STLR:
	case ARM64_INS_STLRB:
	case ARM64_INS_STLRH:
	case ARM64_INS_STP:
	case ARM64_INS_STNP:
	case ARM64_INS_CMP:
	case ARM64_INS_CMN:
	case ARM64_INS_TST:
	case ARM64_INS_CCMP:
	case ARM64_INS_CCMN:
	case ARM64_INS_PRFM:
	case ARM64_INS_PRFUM:
		only_reads = true;
		break;
	case ARM64_INS_LDP:
	case ARM64_INS_LDNP:
	case ARM64_INS_LDPSW:
	case ARM64_INS_LDXP:
	case ARM64_INS_LDAXP:
		count = arm->op_count < 2 ? arm->op_count : 2;
		for (i = 0; i < count; i++)
			if (arm->operands[i].type == ARM64_OP_REG)
				registers |= bit_of(arm->operands[i].reg);
		break;
	default:
		break;
	}
	for (i = 0; i < arm->op_count; i++) {
		const cs_arm64_op *op = &arm->operands[i];

		if (op->type == ARM64_OP_REG && ((!only_reads && !i) || op->access & CS_AC_WRITE) &&
		    !(only_reads && op->access == CS_AC_READ))
			registers |= bit_of(op->reg);
		if (op->type == ARM64_OP_MEM && arm->writeback)
			registers |= bit_of(op->mem.base);
	}
	return registers;
}

static uint8_t condition_of(arm64_cc condition)
{
	switch (condition) {
	case ARM64_CC_HI:
		return CODE_IF_ABOVE;
	case ARM64_CC_HS:
		return CODE_IF_NOT_BELOW;
	case ARM64_CC_LO:
		return CODE_IF_BELOW;
	case ARM64_CC_LS:
		return CODE_IF_NOT_ABOVE;
	case ARM64_CC_EQ:
		return CODE_IF_EQUAL;
	case ARM64_CC_NE:
		return CODE_IF_NOT_EQUAL;
	default:
		return CODE_IF_OTHER;
	}
}

/* Bytes of a register that is loaded or stored. */
static unsigned int size_of(unsigned int reg)
{
	unsigned int width;

	if (register_of(reg, &width) != CODE_NONE || reg == ARM64_REG_XZR || reg == ARM64_REG_WZR)
		return width;
	if (reg >= ARM64_REG_D0 && reg <= ARM64_REG_D31)
		return 8;
	if (reg >= ARM64_REG_S0 && reg <= ARM64_REG_S31)
		return 4;
	return 16;
}

/* Loads and stores of one or two registers; by [base, #disp], [base, #disp]! or [base], #update. */
static void read_transfer(const cs_insn *insn, unsigned int count, bool is_store, struct code_insn *ret)
{
	const cs_arm64 *arm = &insn->detail->arm64;
	const cs_arm64_op *memory = &arm->operands[count], *behind = &arm->operands[count + 1];
	unsigned int width, size;
	uint8_t base;

	if (arm->op_count <= count || memory->type != ARM64_OP_MEM)
		return;
	base = register_of(memory->mem.base, &width);
	if (base == CODE_NONE || width != 8)
		return;
	if (arm->writeback) {
		bool post = arm->op_count > count + 1;

		if (post && behind->type != ARM64_OP_IMM)
			return;
		ret->update = (int16_t)(post ? behind->imm : memory->mem.disp);
		ret->clobbers &= ~BIT(base);
	}
	ret->b = base;
	ret->imm = memory->mem.disp;
	size = size_of(arm->operands[0].reg);
	if (memory->mem.index != ARM64_REG_INVALID) {
		ret->b = CODE_NONE;
		return;
	}
	if (is_store) {
		ret->op = CODE_STORE;
		ret->size = (uint8_t)(count * size);
	} else if (size == WORD) {
		ret->op = CODE_LOAD;
		ret->clobbers = 0;
	} else {
		return;
	}
	ret->a = whole(&arm->operands[0]);
	if (count > 1)
		ret->c = whole(&arm->operands[1]);
}

/* A constant, with its shift. */
static int64_t shifted(const cs_arm64_op *op)
{
	return (int64_t)((uint64_t)op->imm << (op->shift.value & 63));
}

/* ADD and SUB, of a constant or of a register to itself. */
static void read_sum(const cs_insn *insn, int sign, struct code_insn *ret)
{
	const cs_arm64 *arm = &insn->detail->arm64;
	const cs_arm64_op *op = arm->operands;
	uint8_t to, from;

	if (arm->op_count != 3 || arm->update_flags)
		return;
	to = whole(&op[0]);
	from = whole(&op[1]);
	if (to == CODE_NONE || from == CODE_NONE)
		return;
	if (op[2].type == ARM64_OP_IMM && op[2].shift.value <= 12) {
		ret->op = CODE_ADD;
		ret->b = from;
		ret->imm = sign * shifted(&op[2]);
	} else if (whole(&op[2]) != CODE_NONE && to == from) {
		ret->op = sign > 0 ? CODE_ADD_BOTH : CODE_SUB_BOTH;
		ret->b = whole(&op[2]);
	} else {
		return;
	}
	ret->a = to;
	ret->clobbers = 0;
}

static void read_move(const cs_insn *insn, struct code_insn *ret)
{
	const cs_arm64_op *op = insn->detail->arm64.operands;
	unsigned int width;
	uint8_t to = op[0].type == ARM64_OP_REG ? register_of(op[0].reg, &width) : CODE_NONE;

	if (to == CODE_NONE)
		return;
	if (op[1].type == ARM64_OP_IMM) {
		ret->op = CODE_SET;
		ret->imm = shifted(&op[1]);
		if (insn->id == ARM64_INS_MOVN)
			ret->imm = ~ret->imm;
		if (width == 4)
			ret->imm = (uint32_t)ret->imm;
		ret->address = insn->id == ARM64_INS_ADR;
	} else if (op[1].type == ARM64_OP_REG && (op[1].reg == ARM64_REG_XZR || op[1].reg == ARM64_REG_WZR)) {
		ret->op = CODE_SET;
		ret->imm = 0;
	} else if (width == 8 && whole(&op[1]) != CODE_NONE) {
		ret->op = CODE_ADD;
		ret->b = whole(&op[1]);
		ret->imm = 0;
	} else {
		return;
	}
	ret->a = to;
	ret->clobbers = 0;
}

static void read_compare(const cs_insn *insn, struct code_insn *ret)
{
	const cs_arm64_op *op = insn->detail->arm64.operands;
	unsigned int width;
	uint8_t a = op[0].type == ARM64_OP_REG ? register_of(op[0].reg, &width) : CODE_NONE;

	ret->clobbers = 0;
	if (a == SP && whole(&op[1]) != CODE_NONE) {
		ret->op = CODE_COMPARE_SP;
		ret->a = whole(&op[1]);
	} else if (a != CODE_NONE && a != SP && op[1].type == ARM64_OP_IMM) {
		ret->op = CODE_COMPARE;
		ret->a = a;
		ret->imm = shifted(&op[1]);
	}
}

/* What transfers control; false when the instruction does not. */
static bool read_control(const cs_insn *insn, struct code_insn *ret)
{
	const cs_arm64 *arm = &insn->detail->arm64;
	const cs_arm64_op *op = arm->operands;

	switch (insn->id) {
	case ARM64_INS_B:
		ret->op = arm->cc != ARM64_CC_INVALID && arm->cc != ARM64_CC_AL && arm->cc != ARM64_CC_NV ? CODE_BRANCH
													  : CODE_JUMP;
		ret->condition = condition_of(arm->cc);
		ret->imm = op[0].imm;
		break;
	case ARM64_INS_CBZ:
	case ARM64_INS_CBNZ:
	case ARM64_INS_TBZ:
	case ARM64_INS_TBNZ:
		ret->op = CODE_BRANCH;
		ret->condition = CODE_IF_OTHER;
		ret->imm = op[arm->op_count - 1].imm;
		break;
	case ARM64_INS_BL:
		ret->op = CODE_CALL;
		ret->imm = op[0].imm;
		break;
	case ARM64_INS_BLR:
		ret->op = CODE_CALL_INDIRECT;
		break;
	case ARM64_INS_BR:
		ret->op = CODE_JUMP_REGISTER;
		ret->a = whole(&op[0]);
		break;
	case ARM64_INS_RET:
		ret->op = !arm->op_count || whole(&op[0]) == LR ? CODE_RETURN : CODE_JUMP_INDIRECT;
		break;
	case ARM64_INS_SVC:
		ret->op = CODE_SYSCALL;
		break;
	case ARM64_INS_BRK:
	case ARM64_INS_HLT:
	case ARM64_INS_ERET:
		ret->op = CODE_STOP;
		break;
	default:
		return false;
	}
	ret->clobbers = 0;
	ret->keeps_flags = true;
	return true;
}

static void read_insn(const cs_insn *insn, struct code_insn *ret)
{
	if (read_control(insn, ret))
		return;
	switch (insn->id) {
	case ARM64_INS_NOP:
	case ARM64_INS_HINT:
		ret->clobbers = 0;
		break;
	case ARM64_INS_STR:
	case ARM64_INS_STUR:
		read_transfer(insn, 1, true, ret);
		break;
	case ARM64_INS_STRB:
	case ARM64_INS_STRH:
	case ARM64_INS_STURB:
	case ARM64_INS_STURH:
		read_transfer(insn, 1, true, ret);
		ret->a = CODE_NONE;
		break;
	case ARM64_INS_STP:
	case ARM64_INS_STNP:
		read_transfer(insn, 2, true, ret);
		break;
	case ARM64_INS_LDR:
	case ARM64_INS_LDUR:
		read_transfer(insn, 1, false, ret);
		break;
	case ARM64_INS_LDP:
	case ARM64_INS_LDNP:
		read_transfer(insn, 2, false, ret);
		break;
	case ARM64_INS_ADD:
		read_sum(insn, 1, ret);
		break;
	case ARM64_INS_SUB:
		read_sum(insn, -1, ret);
		break;
	case ARM64_INS_MOV:
	case ARM64_INS_MOVZ:
	case ARM64_INS_MOVN:
	case ARM64_INS_ADR:
	case ARM64_INS_ADRP:
		read_move(insn, ret);
		break;
	case ARM64_INS_CMP:
		read_compare(insn, ret);
		break;
	default:
		break;
	}
}

/*
 * Atomic operations (FEAT_LSE), which older releases of Capstone do not know: LDADD and its like, SWP; CAS, CASP (Arm
 * ARM, C4.1.94). Memory at n changes, and what was there comes into t; that of a comparison into s.
 */
static bool read_atomic(uint32_t insn, struct code_insn *ret)
{
	unsigned int s = insn >> 16 & 31, t = insn & 31, changes;
	bool operation = (insn & 0x3f200c00) == 0x38200000, swaps = (insn & 0x3fa07c00) == 0x08a07c00,
	     swaps_pair = (insn & 0xbfa07c00) == 0x08207c00;

	if (!operation && !swaps && !swaps_pair)
		return false;
	ret->op = CODE_STORE;
	ret->b = insn >> 5 & 31;
	ret->size = swaps_pair ? 16 : 8;
	ret->keeps_flags = true;
	changes = operation ? t : s;
	ret->clobbers = changes < SP ? BIT(changes) : 0;
	if (swaps_pair && s + 1 < SP)
		ret->clobbers |= BIT(s + 1);
	return true;
}

static bool decode(struct code_decoder *decoder, const uint8_t *bytes, size_t size, uint64_t vaddr,
		   struct code_insn *ret)
{
	const cs_insn *insn = decoder->disassembler.insn;
	uint64_t address = vaddr;
	uint32_t word;

	*ret = (struct code_insn){
		.op = CODE_OTHER, .a = CODE_NONE, .b = CODE_NONE, .c = CODE_NONE, .index = CODE_NONE, .length = 4};
	if (vaddr % 4 || size < sizeof(word))
		return false;
	memcpy(&word, bytes, sizeof(word));
	if (read_atomic(word, ret))
		return true;
	if (!disassembler_next(&decoder->disassembler, &bytes, &size, &address))
		return false;
	ret->clobbers = written(insn);
	ret->keeps_flags = !insn->detail->arm64.update_flags;
	read_insn(insn, ret);
	return true;
}

static int create(struct code_decoder **ret)
{
	struct code_decoder *decoder = calloc(1, sizeof(*decoder));
	int err;

	if (!decoder)
		return -ENOMEM;
	err = disassembler_open(&decoder->disassembler, CS_ARCH_ARM64, CS_MODE_ARM, true);
	if (err)
		free(decoder);
	else
		*ret = decoder;
	return err;
}

static void destroy(struct code_decoder *decoder)
{
	if (!decoder)
		return;
	disassembler_close(&decoder->disassembler);
	free(decoder);
}

static bool is_last_syscall(int64_t number)
{
	return number == SYS_EXIT || number == SYS_EXIT_GROUP;
}

/* NOPs and zeros. Of less than an instruction zeros only. */
static bool is_padding(const uint8_t *bytes, size_t size)
{
	uint32_t insn;
	size_t at;

	for (at = 0; at + sizeof(insn) <= size; at += sizeof(insn)) {
		memcpy(&insn, bytes + at, sizeof(insn));
		if (insn && insn != NOP)
			return false;
	}
	for (; at < size; at++)
		if (bytes[at])
			return false;
	return true;
}

/* BL, BLR and its signed forms (BLRAA, ...). */
static bool ends_in_call(const uint8_t *bytes, size_t size)
{
	uint32_t insn;

	if (size < sizeof(insn))
		return false;
	memcpy(&insn, bytes + size - sizeof(insn), sizeof(insn));
	return (insn & 0xfc000000) == 0x94000000 || (insn & 0xfefff000) == 0xd63f0000;
}

const struct code_arch aarch64_code = {
	.registers = 32,
	.sp = SP,
	.fp = FP,
	.carried = LR,
	.links = true,
	.preserved = 0x1ff80000 | BIT(FP), /* x19 to x28: AAPCS64, 6.1.1 */
	.syscall_clobber = BIT(X0),
	.syscall_number = X8,
	.sigreturn = SYS_RT_SIGRETURN,
	.is_last_syscall = is_last_syscall,
	.is_padding = is_padding,
	.ends_in_call = ends_in_call,
	.create = create,
	.destroy = destroy,
	.decode = decode,
};
