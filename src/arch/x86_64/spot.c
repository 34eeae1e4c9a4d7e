// SPDX-License-Identifier: GPL-2.0-or-later
/* x86-64 instructions for who places breakpoints (spot.h), read by Capstone. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "arch/x86_64/parts.h"
#include "arch/x86_64/registers.h"
#include "base/disassembler.h"

_Static_assert(SPOT_NONE == REGISTER_NONE, "what is no register");

struct spot_decoder {
	struct disassembler disassembler;
};

/* Instructions whose first operand is only read. Capstone does not mark all of them. */
static bool only_reads(unsigned int id)
{
	return id == X86_INS_CMP || id == X86_INS_TEST || id == X86_INS_BT || id == X86_INS_PUSH || id == X86_INS_MUL ||
	       id == X86_INS_DIV || id == X86_INS_IDIV || id == X86_INS_NOP;
}

/* Registers that change; the first operand too, where Capstone says nothing. */
static uint32_t written(const cs_insn *insn)
{
	const cs_detail *detail = insn->detail;
	const cs_x86 *x86 = &detail->x86;
	uint32_t registers = 0;
	unsigned int i;

	for (i = 0; i < detail->regs_write_count; i++)
		registers |= x86_64_register_bit(detail->regs_write[i]);
	for (i = 0; i < x86->op_count; i++)
		if (x86->operands[i].type == X86_OP_REG &&
		    ((!i && !only_reads(insn->id)) || x86->operands[i].access & CS_AC_WRITE ||
		     insn->id == X86_INS_XCHG || insn->id == X86_INS_XADD || insn->id == X86_INS_MULX))
			registers |= x86_64_register_bit(x86->operands[i].reg);
	return registers;
}

/* [register + constant] */
static bool is_plain(const cs_x86_op *op)
{
	return op->type == X86_OP_MEM && op->mem.segment == X86_REG_INVALID && op->mem.index == X86_REG_INVALID &&
	       op->mem.base != X86_REG_RIP && x86_64_register(op->mem.base) != SPOT_NONE;
}

/* A general register as a whole, or its lower half, which clears the rest. */
static bool is_register(const cs_x86_op *op)
{
	return op->type == X86_OP_REG && op->size >= 4 && x86_64_register(op->reg) != SPOT_NONE;
}

/*
 * What the kernel emulates (arch/x86/kernel/uprobes.c: branch_setup_xol_ops, push_setup_xol_ops): call, jmp and jcc
 * with an offset, nop, and push of a register, by the first bytes. Longer nops are optimised by newer kernels only.
 */
static bool is_emulated(const uint8_t *bytes, size_t size)
{
	switch (bytes[0]) {
	case 0xe8:
	case 0xe9:
	case 0xeb:
	case 0x90:
		return true;
	case 0x0f:
		return size > 1 && (bytes[1] & 0xf0) == 0x80;
	case 0x41:
		return size > 1 && (bytes[1] & 0xf8) == 0x50;
	default:
		return (bytes[0] & 0xf0) == 0x70 || (bytes[0] & 0xf8) == 0x50;
	}
}

static void move(struct spot_insn *ret, uint8_t to, uint8_t from, int64_t imm, uint8_t size)
{
	ret->op = SPOT_MOVE;
	ret->a = to;
	ret->b = from;
	ret->imm = imm;
	ret->size = size;
	ret->clobbers &= ~BIT(to);
}

static void read_mov(const cs_x86_op *to, const cs_x86_op *from, struct spot_insn *ret)
{
	if (is_register(to) && is_register(from)) {
		move(ret, x86_64_register(to->reg), x86_64_register(from->reg), 0, to->size);
	} else if (is_register(to) && is_plain(from)) {
		ret->op = SPOT_LOAD;
		ret->a = x86_64_register(to->reg);
		ret->b = x86_64_register(from->mem.base);
		ret->imm = from->mem.disp;
		ret->size = from->size;
		ret->clobbers &= ~BIT(ret->a);
	} else if (is_register(to) && from->type == X86_OP_IMM) {
		ret->op = SPOT_NUMBER;
		ret->a = x86_64_register(to->reg);
		ret->imm = from->imm;
	} else if (is_plain(to)) {
		ret->op = SPOT_STORE;
		ret->a = is_register(from) ? x86_64_register(from->reg) : SPOT_NONE;
		ret->b = x86_64_register(to->mem.base);
		ret->imm = to->mem.disp;
		ret->size = to->size;
	}
}

/* ADD, SUB, INC and DEC: of a register, or of memory, by a constant. */
static void read_sum(const cs_x86_op *to, int64_t addend, struct spot_insn *ret)
{
	if (is_register(to)) {
		move(ret, x86_64_register(to->reg), x86_64_register(to->reg), addend, to->size);
	} else if (is_plain(to) && addend && addend == (int32_t)addend) {
		ret->op = SPOT_ADD;
		ret->b = x86_64_register(to->mem.base);
		ret->imm = to->mem.disp;
		ret->size = to->size;
		ret->addend = (int32_t)addend;
	}
}

/* ADD of a register, or of a word of memory, to a register. */
static void read_total(const cs_x86_op *to, const cs_x86_op *from, struct spot_insn *ret)
{
	if (!is_register(to) || to->size != 8 || (!is_register(from) && !is_plain(from)))
		return;
	ret->op = SPOT_SUM;
	ret->a = x86_64_register(to->reg);
	ret->b = is_register(from) ? ret->a : x86_64_register(from->mem.base);
	ret->c = is_register(from) ? x86_64_register(from->reg) : SPOT_NONE;
	ret->imm = is_register(from) ? 0 : from->mem.disp;
	ret->size = 8;
}

/* LEA of the sum of two registers. */
static void read_total_of(const cs_x86_op *to, const x86_op_mem *from, struct spot_insn *ret)
{
	if (from->disp || from->scale != 1 || x86_64_register(from->base) == SPOT_NONE ||
	    x86_64_register(from->index) == SPOT_NONE)
		return;
	ret->op = SPOT_SUM;
	ret->a = x86_64_register(to->reg);
	ret->b = x86_64_register(from->base);
	ret->c = x86_64_register(from->index);
	ret->size = 8;
}

static void read_compare(const cs_x86_op *a, const cs_x86_op *b, struct spot_insn *ret)
{
	const cs_x86_op *memory = is_plain(a) ? a : b, *other = is_plain(a) ? b : a;

	ret->clobbers = 0;
	if (is_register(a) && is_register(b)) {
		ret->op = SPOT_DIFFER;
		ret->a = x86_64_register(a->reg);
		ret->b = x86_64_register(b->reg);
		ret->size = a->size;
	}
	if (!is_plain(memory))
		return;
	ret->op = SPOT_COMPARE;
	ret->a = is_register(other) ? x86_64_register(other->reg) : SPOT_NONE;
	ret->b = x86_64_register(memory->mem.base);
	ret->imm = memory->mem.disp;
	ret->size = memory->size;
}

/* Memory that is changed in some way. */
static void read_change(const cs_x86_op *to, struct spot_insn *ret)
{
	if (!is_plain(to) || !(to->access & CS_AC_WRITE))
		return;
	ret->op = SPOT_STORE;
	ret->b = x86_64_register(to->mem.base);
	ret->imm = to->mem.disp;
	ret->size = to->size ? to->size : 64;
}

static void read_operands(const cs_insn *insn, struct spot_insn *ret)
{
	const cs_x86 *x86 = &insn->detail->x86;
	const cs_x86_op *a = &x86->operands[0], *b = &x86->operands[1];
	bool constant = x86->op_count == 2 && b->type == X86_OP_IMM;

	switch (insn->id) {
	case X86_INS_MOV:
		read_mov(a, b, ret);
		break;
	case X86_INS_MOVZX:
		if (is_register(a) && is_plain(b))
			read_mov(a, b, ret);
		break;
	case X86_INS_LEA:
		if (is_register(a) && a->size == 8 && is_plain(b))
			move(ret, x86_64_register(a->reg), x86_64_register(b->mem.base), b->mem.disp, 8);
		else if (is_register(a) && a->size == 4 && is_plain(b))
			move(ret, x86_64_register(a->reg), x86_64_register(b->mem.base), b->mem.disp, 4);
		else if (is_register(a) && a->size == 8 && b->type == X86_OP_MEM)
			read_total_of(a, &b->mem, ret);
		break;
	case X86_INS_ADD:
	case X86_INS_SUB:
		if (constant)
			read_sum(a, insn->id == X86_INS_ADD ? b->imm : -b->imm, ret);
		else if (insn->id == X86_INS_ADD && x86->op_count == 2)
			read_total(a, b, ret);
		break;
	case X86_INS_INC:
	case X86_INS_DEC:
		read_sum(a, insn->id == X86_INS_INC ? 1 : -1, ret);
		break;
	case X86_INS_AND:
		/* The tag of a pointer goes. */
		if (constant && is_register(a) && a->size == 8 && b->imm < 0 && b->imm >= -8)
			move(ret, x86_64_register(a->reg), x86_64_register(a->reg), 0, 8);
		else
			read_change(a, ret);
		break;
	case X86_INS_CMP:
		read_compare(a, b, ret);
		break;
	case X86_INS_PUSH:
		move(ret, RSP, RSP, -8, 8);
		break;
	default:
		if (x86->op_count && !only_reads(insn->id))
			read_change(a, ret);
		break;
	}
}

static uint64_t mentioned(const cs_insn *insn)
{
	const cs_x86 *x86 = &insn->detail->x86;
	unsigned int i;

	for (i = 0; i < x86->op_count; i++) {
		const cs_x86_op *op = &x86->operands[i];

		if (op->type == X86_OP_MEM && op->mem.base == X86_REG_RIP)
			return insn->address + insn->size + (uint64_t)op->mem.disp;
		if (op->type == X86_OP_MEM && op->mem.disp > 0xffff)
			return (uint64_t)op->mem.disp;
		if (op->type == X86_OP_IMM && op->imm > 0xffff)
			return (uint64_t)op->imm;
	}
	return 0;
}

static bool is_jump(const cs_insn *insn)
{
	unsigned int i;

	for (i = 0; i < insn->detail->groups_count; i++)
		if (insn->detail->groups[i] == X86_GRP_JUMP)
			return true;
	return false;
}

static void read_insn(const cs_insn *insn, struct spot_insn *ret)
{
	const cs_x86_op *a = &insn->detail->x86.operands[0];

	switch (insn->id) {
	case X86_INS_CALL:
		ret->op = SPOT_CALL;
		ret->target = a->type == X86_OP_IMM ? (uint64_t)a->imm : 0;
		ret->clobbers = x86_64_spot.call_clobbers;
		return;
	case X86_INS_JMP:
		ret->op = a->type == X86_OP_IMM ? SPOT_JUMP : SPOT_INDIRECT;
		ret->target = a->type == X86_OP_IMM ? (uint64_t)a->imm : 0;
		ret->mentioned = mentioned(insn);
		if (ret->op == SPOT_JUMP)
			ret->mentioned = 0;
		return;
	case X86_INS_RET:
	case X86_INS_HLT:
	case X86_INS_UD2:
	case X86_INS_INT3:
		ret->op = SPOT_END;
		ret->returns = insn->id == X86_INS_RET;
		return;
	default:
		break;
	}
	if (is_jump(insn) && a->type == X86_OP_IMM) {
		ret->op = SPOT_BRANCH;
		ret->target = (uint64_t)a->imm;
		return;
	}
	ret->clobbers = written(insn);
	ret->mentioned = mentioned(insn);
	read_operands(insn, ret);
}

static bool decode(struct spot_decoder *decoder, const uint8_t *bytes, size_t size, uint64_t vaddr,
		   struct spot_insn *ret)
{
	const cs_insn *insn = decoder->disassembler.insn;
	const uint8_t *at = bytes;
	uint64_t address = vaddr;
	size_t left = size;

	*ret = (struct spot_insn){.vaddr = vaddr, .a = SPOT_NONE, .b = SPOT_NONE, .c = SPOT_NONE};
	if (!size || !disassembler_next(&decoder->disassembler, &at, &left, &address))
		return false;
	ret->length = (uint8_t)insn->size;
	ret->emulated = is_emulated(bytes, insn->size);
	read_insn(insn, ret);
	return true;
}

static int create(struct spot_decoder **ret)
{
	struct spot_decoder *decoder = calloc(1, sizeof(*decoder));
	int err;

	if (!decoder)
		return -ENOMEM;
	err = disassembler_open(&decoder->disassembler, CS_ARCH_X86, CS_MODE_64, true);
	if (err)
		free(decoder);
	else
		*ret = decoder;
	return err;
}

static void destroy(struct spot_decoder *decoder)
{
	if (!decoder)
		return;
	disassembler_close(&decoder->disassembler);
	free(decoder);
}

const struct spot_arch x86_64_spot = {
	.sp = RSP,
	.result = RAX,
	.arguments = {RDI, RSI, RDX},
	.call_clobbers = BIT(RAX) | BIT(RCX) | BIT(RDX) | BIT(RSI) | BIT(RDI) | BIT(R8) | BIT(R9) | BIT(R10) | BIT(R11),
	.context_flags = 18 * 8, /* struct pt_regs */
	.flag_equal = 0x40,	 /* ZF */
	.create = create,
	.destroy = destroy,
	.decode = decode,
};
