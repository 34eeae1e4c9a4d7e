// SPDX-License-Identifier: GPL-2.0-or-later
/* x86-64 instructions as their effect on the stack (code.h), read by Capstone. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "arch/x86_64/parts.h"
#include "arch/x86_64/registers.h"
#include "base/disassembler.h"

/* System calls that do not return (arch/x86/entry/syscalls/syscall_64.tbl). */
enum { SYS_RT_SIGRETURN = 15, SYS_EXIT = 60, SYS_EXIT_GROUP = 231 };

_Static_assert(CODE_NONE == REGISTER_NONE, "what is no register");

struct code_decoder {
	struct disassembler disassembler;
};

static bool is_register(const cs_x86_op *op, unsigned int size)
{
	return op->type == X86_OP_REG && op->size == size && x86_64_register(op->reg) != CODE_NONE;
}

/* [base + disp], base a general register. */
static bool is_plain(const cs_x86_op *op)
{
	return op->type == X86_OP_MEM && op->mem.segment == X86_REG_INVALID && op->mem.index == X86_REG_INVALID &&
	       x86_64_register(op->mem.base) != CODE_NONE;
}

/* [thread pointer + disp], or with a base that is a general register. */
static bool is_thread(const cs_x86_op *op)
{
	return op->type == X86_OP_MEM && op->mem.segment == X86_REG_FS && op->mem.index == X86_REG_INVALID &&
	       (op->mem.base == X86_REG_INVALID || x86_64_register(op->mem.base) != CODE_NONE);
}

static bool is_rip(const cs_x86_op *op)
{
	return op->type == X86_OP_MEM && op->mem.segment == X86_REG_INVALID && op->mem.index == X86_REG_INVALID &&
	       op->mem.base == X86_REG_RIP;
}

/* Instructions whose first operand is only read. Capstone does not mark all of them. */
static bool only_reads(unsigned int id)
{
	switch (id) {
	case X86_INS_CMP:
	case X86_INS_TEST:
	case X86_INS_BT:
	case X86_INS_PUSH:
	case X86_INS_JMP:
	case X86_INS_CALL:
	case X86_INS_MUL:
	case X86_INS_DIV:
	case X86_INS_IDIV:
	case X86_INS_NOP:
		return true;
	default:
		return false;
	}
}

/* Registers that change, by what Capstone says, and the first operand where it says nothing. */
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
		    (x86->operands[i].access & CS_AC_WRITE || (!i && !only_reads(insn->id))))
			registers |= x86_64_register_bit(x86->operands[i].reg);
	if (insn->id == X86_INS_XCHG || insn->id == X86_INS_XADD || insn->id == X86_INS_MULX)
		for (i = 0; i < x86->op_count; i++)
			if (x86->operands[i].type == X86_OP_REG)
				registers |= x86_64_register_bit(x86->operands[i].reg);
	return registers;
}

static uint8_t condition_of(unsigned int id)
{
	switch (id) {
	case X86_INS_JA:
		return CODE_IF_ABOVE;
	case X86_INS_JAE:
		return CODE_IF_NOT_BELOW;
	case X86_INS_JB:
		return CODE_IF_BELOW;
	case X86_INS_JBE:
		return CODE_IF_NOT_ABOVE;
	case X86_INS_JE:
		return CODE_IF_EQUAL;
	case X86_INS_JNE:
		return CODE_IF_NOT_EQUAL;
	default:
		return CODE_IF_OTHER;
	}
}

static void read_call(const cs_x86_op *op, uint64_t next, struct code_insn *ret)
{
	ret->clobbers = 0;
	if (op->type != X86_OP_IMM) {
		ret->op = CODE_CALL_INDIRECT;
		return;
	}
	ret->op = CODE_CALL;
	ret->imm = op->imm;
	/* Not a call but a way to ask for the PC. */
	if ((uint64_t)op->imm == next) {
		ret->op = CODE_PUSH;
		ret->a = CODE_NONE;
	}
}

static void read_jump(const cs_x86_op *op, struct code_insn *ret)
{
	ret->clobbers = 0;
	ret->op = CODE_JUMP_INDIRECT;
	if (op->type == X86_OP_IMM) {
		ret->op = CODE_JUMP;
		ret->imm = op->imm;
	} else if (is_register(op, 8)) {
		ret->op = CODE_JUMP_REGISTER;
		ret->a = x86_64_register(op->reg);
	} else if (op->type == X86_OP_MEM && op->mem.base == X86_REG_INVALID && op->mem.scale == 8 &&
		   op->mem.segment == X86_REG_INVALID && x86_64_register(op->mem.index) != CODE_NONE) {
		ret->op = CODE_JUMP_TABLE;
		ret->imm = op->mem.disp;
		ret->index = x86_64_register(op->mem.index);
	}
}

static void read_push(const cs_x86_op *op, struct code_insn *ret)
{
	ret->clobbers = 0;
	ret->op = CODE_PUSH;
	ret->a = is_register(op, 8) ? x86_64_register(op->reg) : CODE_NONE;
	/* 16 bits: nobody does that, and what it leaves behind is not aligned. */
	if (op->size == 2 && op->type != X86_OP_IMM) {
		ret->op = CODE_OTHER;
		ret->clobbers = BIT(RSP);
	}
}

static void read_pop(const cs_x86_op *op, struct code_insn *ret)
{
	ret->clobbers = 0;
	ret->op = CODE_POP;
	ret->a = is_register(op, 8) ? x86_64_register(op->reg) : CODE_NONE;
	if (op->size == 2 || ret->a == RSP || (op->type == X86_OP_MEM && x86_64_register(op->mem.base) == RSP)) {
		ret->op = CODE_OTHER;
		ret->clobbers = BIT(RSP);
	}
}

static void read_mov(const cs_x86_op *to, const cs_x86_op *from, uint64_t next, struct code_insn *ret)
{
	if (to->type != X86_OP_REG || x86_64_register(to->reg) == CODE_NONE)
		return;
	if (from->type == X86_OP_IMM && to->size >= 4) {
		ret->op = CODE_SET;
		ret->imm = to->size == 4 ? (int64_t)(uint32_t)from->imm : from->imm;
	} else if (from->type == X86_OP_IMM && to->size == 1 && to->reg != X86_REG_AH && to->reg != X86_REG_BH &&
		   to->reg != X86_REG_CH && to->reg != X86_REG_DH) {
		ret->op = CODE_SET_BYTE;
		ret->imm = from->imm;
	} else if (is_register(from, 8) && to->size == 8) {
		ret->op = CODE_ADD;
		ret->imm = 0;
		ret->b = x86_64_register(from->reg);
	} else if (is_register(from, 4) && to->size == 4) {
		ret->op = CODE_EXTEND;
		ret->b = x86_64_register(from->reg);
	} else if (is_plain(from) && to->size == 8) {
		ret->op = CODE_LOAD;
		ret->b = x86_64_register(from->mem.base);
		ret->imm = from->mem.disp;
	} else if (is_rip(from) && to->size == 8) {
		ret->op = CODE_LOAD_FIXED;
		ret->imm = (int64_t)next + from->mem.disp;
	} else if (is_thread(from) && to->size == 8) {
		ret->op = CODE_LOAD_THREAD;
		ret->b = x86_64_register(from->mem.base);
		ret->imm = from->mem.disp;
	} else {
		return;
	}
	ret->a = x86_64_register(to->reg);
	ret->clobbers = 0;
}

static void read_lea(const cs_x86_op *to, const cs_x86_op *from, uint64_t next, struct code_insn *ret)
{
	if (!is_register(to, 8))
		return;
	if (is_plain(from)) {
		ret->op = CODE_ADD;
		ret->b = x86_64_register(from->mem.base);
		ret->imm = from->mem.disp;
	} else if (is_rip(from)) {
		ret->op = CODE_SET;
		ret->imm = (int64_t)next + from->mem.disp;
		ret->address = true;
	} else {
		return;
	}
	ret->a = x86_64_register(to->reg);
	ret->clobbers = 0;
}

/* MOVSXD of a jump table's word, and the widening of an index. */
static void read_extend(const cs_x86_op *to, const cs_x86_op *from, struct code_insn *ret)
{
	if (to->type != X86_OP_REG || to->size < 4)
		return;
	if (from->type == X86_OP_REG && x86_64_register(from->reg) != CODE_NONE) {
		ret->op = CODE_EXTEND;
		ret->b = x86_64_register(from->reg);
	} else if (from->type == X86_OP_MEM && from->size == 4 && to->size == 8 && from->mem.scale == 4 &&
		   from->mem.segment == X86_REG_INVALID && x86_64_register(from->mem.base) != CODE_NONE &&
		   x86_64_register(from->mem.index) != CODE_NONE) {
		ret->op = CODE_LOAD_OFFSET;
		ret->b = x86_64_register(from->mem.base);
		ret->index = x86_64_register(from->mem.index);
		ret->imm = from->mem.disp;
	} else {
		return;
	}
	ret->a = x86_64_register(to->reg);
	ret->clobbers = 0;
}

/* ADD and SUB. */
static void read_sum(const cs_x86_op *to, const cs_x86_op *from, int sign, struct code_insn *ret)
{
	if (!is_register(to, 8))
		return;
	if (from->type == X86_OP_IMM) {
		ret->op = CODE_ADD;
		ret->b = x86_64_register(to->reg);
		ret->imm = sign * from->imm;
	} else if (is_register(from, 8) && sign > 0) {
		ret->op = CODE_ADD_BOTH;
		ret->b = x86_64_register(from->reg);
	} else if (is_plain(from) && from->size == 8 && sign < 0) {
		ret->op = CODE_SUB_LOAD;
		ret->b = x86_64_register(from->mem.base);
		ret->imm = from->mem.disp;
	} else {
		return;
	}
	ret->a = x86_64_register(to->reg);
	ret->clobbers = 0;
}

static void read_compare(const cs_x86_op *a, const cs_x86_op *b, struct code_insn *ret)
{
	if (is_register(a, 8) && is_register(b, 8) &&
	    (x86_64_register(a->reg) == RSP || x86_64_register(b->reg) == RSP)) {
		ret->op = CODE_COMPARE_SP;
		ret->a = x86_64_register(a->reg) == RSP ? x86_64_register(b->reg) : x86_64_register(a->reg);
	} else if (a->type == X86_OP_REG && b->type == X86_OP_IMM && x86_64_register(a->reg) != CODE_NONE) {
		ret->op = CODE_COMPARE;
		ret->a = x86_64_register(a->reg);
		ret->imm = b->imm;
	}
}

static void read_logic(const cs_insn *insn, const cs_x86_op *a, const cs_x86_op *b, struct code_insn *ret)
{
	if (a->type != X86_OP_REG || a->size < 4 || x86_64_register(a->reg) == CODE_NONE)
		return;
	if (insn->id == X86_INS_XOR && b->type == X86_OP_REG && b->reg == a->reg) {
		ret->op = CODE_SET;
		ret->imm = 0;
	} else if (insn->id == X86_INS_AND && b->type == X86_OP_IMM) {
		ret->op = CODE_MASK;
		ret->imm = b->imm;
	} else {
		return;
	}
	ret->a = x86_64_register(a->reg);
	ret->clobbers = 0;
}

/* What is written to memory. */
static void read_store(const cs_insn *insn, struct code_insn *ret)
{
	const cs_x86 *x86 = &insn->detail->x86;
	const cs_x86_op *to = &x86->operands[0];

	if (ret->op != CODE_OTHER || !x86->op_count || !is_plain(to) || only_reads(insn->id))
		return;
	ret->op = CODE_STORE;
	ret->b = x86_64_register(to->mem.base);
	ret->imm = to->mem.disp;
	ret->size = to->size ? to->size : 64;
	ret->a = insn->id == X86_INS_MOV && x86->op_count == 2 && is_register(&x86->operands[1], 8)
			 ? x86_64_register(x86->operands[1].reg)
			 : CODE_NONE;
}

static void read_operands(const cs_insn *insn, uint64_t next, struct code_insn *ret)
{
	const cs_x86 *x86 = &insn->detail->x86;
	const cs_x86_op *a = &x86->operands[0], *b = &x86->operands[1];

	switch (insn->id) {
	case X86_INS_MOV:
	case X86_INS_MOVABS:
		read_mov(a, b, next, ret);
		break;
	case X86_INS_LEA:
		read_lea(a, b, next, ret);
		break;
	case X86_INS_MOVSXD:
	case X86_INS_MOVZX:
		read_extend(a, b, ret);
		break;
	case X86_INS_ADD:
		read_sum(a, b, 1, ret);
		break;
	case X86_INS_SUB:
		read_sum(a, b, -1, ret);
		break;
	case X86_INS_XOR:
	case X86_INS_AND:
		read_logic(insn, a, b, ret);
		break;
	case X86_INS_CMP:
		read_compare(a, b, ret);
		break;
	default:
		break;
	}
}

/* What transfers control, or moves SP by itself. */
static void read_insn(const cs_insn *insn, uint64_t next, struct code_insn *ret)
{
	const cs_x86 *x86 = &insn->detail->x86;
	const cs_x86_op *a = &x86->operands[0];
	unsigned int i;

	switch (insn->id) {
	case X86_INS_CALL:
		read_call(a, next, ret);
		return;
	case X86_INS_JMP:
		read_jump(a, ret);
		return;
	case X86_INS_RET:
		ret->op = CODE_RETURN;
		return;
	case X86_INS_HLT:
	case X86_INS_UD2:
	case X86_INS_INT3:
	case X86_INS_INT1:
	case X86_INS_IRETQ:
	case X86_INS_RETF:
	case X86_INS_RETFQ:
	case X86_INS_LJMP:
		ret->op = CODE_STOP;
		return;
	case X86_INS_SYSCALL:
		ret->op = CODE_SYSCALL;
		ret->clobbers = 0;
		return;
	case X86_INS_PUSH:
		read_push(a, ret);
		return;
	case X86_INS_POP:
		read_pop(a, ret);
		return;
	case X86_INS_PUSHFQ:
	case X86_INS_POPFQ:
		ret->op = insn->id == X86_INS_PUSHFQ ? CODE_PUSH : CODE_POP;
		ret->a = CODE_NONE;
		ret->clobbers = 0;
		return;
	case X86_INS_LEAVE:
		ret->op = CODE_LEAVE;
		ret->clobbers = 0;
		return;
	case X86_INS_ENTER:
		ret->clobbers = BIT(RSP) | BIT(RBP);
		return;
	case X86_INS_CDQE:
		ret->op = CODE_EXTEND;
		ret->a = ret->b = RAX;
		ret->clobbers = 0;
		return;
	default:
		break;
	}
	for (i = 0; i < insn->detail->groups_count; i++)
		if (insn->detail->groups[i] == X86_GRP_JUMP && a->type == X86_OP_IMM) {
			ret->op = CODE_BRANCH;
			ret->imm = a->imm;
			ret->condition = condition_of(insn->id);
			ret->keeps_flags = true;
			return;
		}
	read_operands(insn, next, ret);
	read_store(insn, ret);
}

/*
 * The length of an instruction with a VEX or EVEX prefix (Intel SDM 2, 2.3 and 2.7) that Capstone does not know: of
 * mask registers, or a newer one of vectors. They leave the general registers alone, but for those whose results go
 * there; *clobbers: what KMOV writes. 0: it is another instruction.
 */
static size_t vector_length(const uint8_t *bytes, size_t size, uint32_t *clobbers)
{
	static const uint8_t by_encoding[] = {RAX, RCX, RDX, RBX, RSP, RBP, RSI, RDI};
	static const uint8_t with_byte[] = {0x70, 0x71, 0x72, 0x73, 0xc2, 0xc4, 0xc5, 0xc6};
	/* With F3 or F2, such as VCVTSS2USI. */
	static const uint8_t to_general[] = {0x2c, 0x2d, 0x78, 0x79};
	size_t at, map;
	uint8_t opcode, modrm, mode, base, prefix;

	*clobbers = 0;
	if (size > 6 && bytes[0] == 0x62 && !(bytes[1] & 8)) {
		map = bytes[1] & 7;
		prefix = bytes[2] & 3;
		at = 4;
	} else if (size > 5 && bytes[0] == 0xc4) {
		map = bytes[1] & 31;
		prefix = bytes[2] & 3;
		at = 3;
	} else if (size > 3 && bytes[0] == 0xc5) {
		map = 1;
		prefix = bytes[1] & 3;
		at = 2;
	} else {
		return 0;
	}
	opcode = bytes[at];
	modrm = bytes[at + 1];
	mode = modrm >> 6;
	base = modrm & 7;
	/* Numbers go to a general register by some of map 5; maps 2 and 3 have BMI's instructions from 0xf0 on. */
	if (!map || map == 4 || map > 6 || opcode == 0x77 || ((map == 2 || map == 3) && opcode >= 0xf0) ||
	    (map == 5 && (memchr(to_general, opcode, sizeof(to_general)) || opcode == 0x7e)) ||
	    (map == 1 && prefix > 1 && memchr(to_general, opcode, sizeof(to_general))))
		return 0;
	if (map == 1 && opcode == 0x93 && bytes[0] != 0x62) /* KMOV from a mask register; R is inverted */
		*clobbers = BIT(bytes[1] & 0x80 ? by_encoding[modrm >> 3 & 7] : R8 + (modrm >> 3 & 7));
	at += 2;
	if (mode != 3 && base == 4)
		base = at < size ? bytes[at++] & 7 : 0;
	if (mode == 1)
		at += 1;
	else if (mode == 2 || (!mode && base == 5))
		at += 4;
	at += map == 3 || (map == 1 && memchr(with_byte, opcode, sizeof(with_byte)));
	return at <= size ? at : 0;
}

static bool decode(struct code_decoder *decoder, const uint8_t *bytes, size_t size, uint64_t vaddr,
		   struct code_insn *ret)
{
	const cs_insn *insn = decoder->disassembler.insn;
	uint64_t address = vaddr;
	uint32_t clobbers;
	size_t length;

	if (!disassembler_next(&decoder->disassembler, &bytes, &size, &address)) {
		length = vector_length(bytes, size, &clobbers);
		*ret = (struct code_insn){.op = CODE_OTHER,
					  .a = CODE_NONE,
					  .b = CODE_NONE,
					  .c = CODE_NONE,
					  .index = CODE_NONE,
					  .clobbers = clobbers,
					  .length = (uint8_t)length};
		return length;
	}
	*ret = (struct code_insn){.op = CODE_OTHER,
				  .a = CODE_NONE,
				  .b = CODE_NONE,
				  .c = CODE_NONE,
				  .index = CODE_NONE,
				  .clobbers = written(insn),
				  .length = (uint8_t)insn->size,
				  .keeps_flags = !insn->detail->x86.eflags};
	read_insn(insn, address, ret);
	return true;
}

static int create(struct code_decoder **ret)
{
	struct code_decoder *decoder = calloc(1, sizeof(*decoder));
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

/* What assemblers and linkers put between functions: NOPs of any length (0x66..., 0x90, 0f 1f), INT3, zeros. */
static bool is_padding(const uint8_t *bytes, size_t size)
{
	size_t at = 0;

	while (at < size) {
		if (bytes[at] == 0x90 || bytes[at] == 0xcc || !bytes[at]) {
			at++;
			continue;
		}
		while (at < size && (bytes[at] == 0x66 || bytes[at] == 0x2e))
			at++;
		if (at < size && bytes[at] == 0x90) {
			at++;
		} else if (at + 3 <= size && bytes[at] == 0x0f && bytes[at + 1] == 0x1f) {
			uint8_t modrm = bytes[at + 2], mode = modrm >> 6;

			at += 3 + ((modrm & 7) == 4) + (mode == 1 ? 1 : mode == 2 ? 4 : 0);
		} else {
			return false;
		}
	}
	return true;
}

/* The length of `ff /2` with its operand, in `size` bytes; 0: it is another instruction. */
static size_t indirect_call_length(const uint8_t *bytes, size_t size)
{
	uint8_t mode = bytes[1] >> 6, base = bytes[1] & 7;
	size_t length = 2;

	if (bytes[0] != 0xff || (bytes[1] >> 3 & 7) != 2)
		return 0;
	if (mode != 3 && base == 4) {
		base = size > 2 ? bytes[2] & 7 : 0;
		length++;
	}
	return length + (mode == 1 ? 1 : mode == 2 || (!mode && base == 5) ? 4 : 0);
}

/* `call`, direct or by a register or a word of memory. */
static bool ends_in_call(const uint8_t *bytes, size_t size)
{
	size_t length;

	if (size >= 5 && bytes[size - 5] == 0xe8)
		return true;
	for (length = 2; length <= 7 && length <= size; length++)
		if (indirect_call_length(bytes + size - length, length) == length)
			return true;
	return false;
}

const struct code_arch x86_64_code = {
	.registers = 16,
	.sp = RSP,
	.fp = RBP,
	.carried = RBX,
	.preserved = BIT(RBX) | BIT(RBP) | BIT(R12) | BIT(R13) | BIT(R14) | BIT(R15),
	.syscall_clobber = BIT(RAX) | BIT(RCX) | BIT(R11),
	.syscall_number = RAX,
	.sigreturn = SYS_RT_SIGRETURN,
	.is_last_syscall = is_last_syscall,
	.is_padding = is_padding,
	.ends_in_call = ends_in_call,
	.create = create,
	.destroy = destroy,
	.decode = decode,
};
