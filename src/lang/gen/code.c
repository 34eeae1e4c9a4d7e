// SPDX-License-Identifier: GPL-2.0-or-later
#include "lang/gen/code.h"

void code_deinit(struct code *code)
{
	vec_free(&code->insns);
	vec_free(&code->references);
	vec_free(&code->labels);
	vec_free(&code->jumps);
	vec_free(&code->own_places);
}

void code_emit(struct code *code, struct bpf_insn insn)
{
	if (!code->dead && (code->insns.count >= CODE_INSNS_MAX || vec_push(&code->insns, insn)))
		code->failed = true;
}

#define EMIT(c, dst, src, offset, immediate)                                                                           \
	code_emit(code, (struct bpf_insn){.code = (uint8_t)(c),                                                        \
					  .dst_reg = (uint8_t)(dst)&15,                                                \
					  .src_reg = (uint8_t)(src)&15,                                                \
					  .off = (int16_t)(offset),                                                    \
					  .imm = (int32_t)(immediate)})

void code_mov(struct code *code, int to, int from)
{
	if (to != from)
		EMIT(BPF_ALU64 | BPF_MOV | BPF_X, to, from, 0, 0);
}

void code_imm(struct code *code, int to, int64_t value)
{
	if (value == (int32_t)value) {
		EMIT(BPF_ALU64 | BPF_MOV | BPF_K, to, 0, 0, value);
		return;
	}
	EMIT(BPF_LD | BPF_DW | BPF_IMM, to, 0, 0, value);
	EMIT(0, 0, 0, 0, value >> 32);
}

void code_alu(struct code *code, int op, int to, int from)
{
	EMIT(BPF_ALU64 | op | BPF_X, to, from, 0, 0);
}

void code_alu_imm(struct code *code, int op, int to, int32_t value)
{
	EMIT(BPF_ALU64 | op | BPF_K, to, 0, 0, value);
}

void code_negate(struct code *code, int reg)
{
	EMIT(BPF_ALU64 | BPF_NEG, reg, 0, 0, 0);
}

static int width(uint32_t size)
{
	return size == 1 ? BPF_B : size == 2 ? BPF_H : size == 4 ? BPF_W : BPF_DW;
}

void code_load(struct code *code, uint32_t size, int to, int base, int16_t offset)
{
	EMIT(BPF_LDX | BPF_MEM | width(size), to, base, offset, 0);
}

void code_store(struct code *code, uint32_t size, int base, int16_t offset, int from)
{
	EMIT(BPF_STX | BPF_MEM | width(size), base, from, offset, 0);
}

void code_store_imm(struct code *code, uint32_t size, int base, int16_t offset, int32_t value)
{
	EMIT(BPF_ST | BPF_MEM | width(size), base, 0, offset, value);
}

void code_extend(struct code *code, int reg, uint32_t size, bool is_signed)
{
	int bits = 64 - (int)size * 8;

	if (size >= 8)
		return;
	code_alu_imm(code, BPF_LSH, reg, bits);
	code_alu_imm(code, is_signed ? BPF_ARSH : BPF_RSH, reg, bits);
}

void code_call(struct code *code, int helper)
{
	EMIT(BPF_JMP | BPF_CALL, 0, 0, 0, helper);
}

static void refer(struct code *code, enum reference_kind kind, const char *name, uint32_t number)
{
	struct reference reference = {
		.at = (uint32_t)code->insns.count, .kind = kind, .name = name, .number = number};

	if (!code->dead && vec_push(&code->references, reference))
		code->failed = true;
}

void code_call_runtime(struct code *code, const char *name)
{
	refer(code, REFERENCE_RUNTIME, name, 0);
	EMIT(BPF_JMP | BPF_CALL, 0, BPF_PSEUDO_CALL, 0, -1);
}

void code_load_map(struct code *code, int to, const char *name)
{
	refer(code, REFERENCE_MAP, name, 0);
	EMIT(BPF_LD | BPF_DW | BPF_IMM, to, 0, 0, 0);
	EMIT(0, 0, 0, 0, 0);
}

void code_call_kernel(struct code *code, uint32_t number)
{
	EMIT(BPF_JMP | BPF_CALL, 0, BPF_PSEUDO_KFUNC_CALL, 0, (int32_t)number);
}

void code_load_kernel(struct code *code, int to, uint32_t number)
{
	EMIT(BPF_LD | BPF_DW | BPF_IMM, to, BPF_PSEUDO_BTF_ID, 0, number);
	EMIT(0, 0, 0, 0, 0);
}

void code_load_function(struct code *code, int to, uint32_t function)
{
	refer(code, REFERENCE_FUNCTION, NULL, function);
	EMIT(BPF_LD | BPF_DW | BPF_IMM, to, BPF_PSEUDO_FUNC, 0, 0);
	EMIT(0, 0, 0, 0, 0);
}

void code_load_data(struct code *code, int to, uint32_t offset)
{
	refer(code, REFERENCE_DATA, NULL, offset);
	EMIT(BPF_LD | BPF_DW | BPF_IMM, to, 0, 0, 0);
	EMIT(0, 0, 0, 0, 0);
}

void code_exit(struct code *code)
{
	EMIT(BPF_JMP | BPF_EXIT, 0, 0, 0, 0);
	code->dead = true;
}

label code_label(struct code *code)
{
	if (vec_push(&code->labels, (struct code_label){.at = -1}))
		code->failed = true;
	return (label)code->labels.count - 1;
}

void code_bind(struct code *code, label to)
{
	if (to >= code->labels.count)
		return;
	code->labels.at[to].at = (int32_t)code->insns.count;
	if (code->labels.at[to].used)
		code->dead = false;
}

static void jump(struct code *code, label to)
{
	if (code->dead)
		return;
	if (to < code->labels.count)
		code->labels.at[to].used = true;
	if (vec_push(&code->jumps, (struct code_jump){(uint32_t)code->insns.count, to}))
		code->failed = true;
}

void code_jump(struct code *code, label to)
{
	jump(code, to);
	EMIT(BPF_JMP | BPF_JA, 0, 0, 0, 0);
	code->dead = true;
}

void code_jump_if(struct code *code, int op, int reg, int32_t value, label to)
{
	jump(code, to);
	EMIT(BPF_JMP | op | BPF_K, reg, 0, 0, value);
}

void code_jump_if_reg(struct code *code, int op, int reg, int other, label to)
{
	jump(code, to);
	EMIT(BPF_JMP | op | BPF_X, reg, other, 0, 0);
}

void code_store_place(struct code *code, int base, int16_t offset)
{
	if (!code->dead && vec_push(&code->own_places, (uint32_t)code->insns.count))
		code->failed = true;
	code_store_imm(code, 8, base, offset, 0);
}

/* The same code, its numbers counted from others on. */
static void append(struct code *code, const struct code *tail)
{
	uint32_t insns = (uint32_t)code->insns.count, labels = (uint32_t)code->labels.count;
	bool failed = tail->failed;
	size_t i;

	for (i = 0; i < tail->insns.count && !failed; i++)
		failed = vec_push(&code->insns, tail->insns.at[i]);
	for (i = 0; i < tail->references.count && !failed; i++) {
		struct reference reference = tail->references.at[i];

		reference.at += insns;
		failed = vec_push(&code->references, reference);
	}
	for (i = 0; i < tail->labels.count && !failed; i++) {
		struct code_label place = tail->labels.at[i];

		if (place.at >= 0)
			place.at += (int32_t)insns;
		failed = vec_push(&code->labels, place);
	}
	for (i = 0; i < tail->jumps.count && !failed; i++) {
		const struct code_jump *jump = &tail->jumps.at[i];

		failed = vec_push(&code->jumps, (struct code_jump){jump->at + insns, jump->label + labels});
	}
	for (i = 0; i < tail->own_places.count && !failed; i++)
		failed = vec_push(&code->own_places, tail->own_places.at[i] + insns);
	code->dead = tail->dead;
	code->failed |= failed;
}

void code_prepend(struct code *code, const struct code *before)
{
	struct code whole = {};

	append(&whole, before);
	append(&whole, code);
	code_deinit(code);
	*code = whole;
}

bool code_finish(struct code *code)
{
	size_t i;

	for (i = 0; i < code->jumps.count && !code->failed; i++) {
		const struct code_jump *from = &code->jumps.at[i];
		int32_t target = from->label < code->labels.count ? code->labels.at[from->label].at : -1;
		int32_t distance = target - (int32_t)from->at - 1;

		if (target < 0 || distance != (int16_t)distance)
			code->failed = true;
		else
			code->insns.at[from->at].off = (int16_t)distance;
	}
	for (i = 0; i < code->own_places.count; i++)
		code->insns.at[code->own_places.at[i]].imm = (int32_t)code->own_places.at[i];
	return !code->failed;
}

static void print_alu(FILE *out, const struct bpf_insn *insn)
{
	static const char *const ops[16] = {
		"+=", "-=", "*=", "/=", "|=", "&=", "<<=", ">>=", "neg", "%=", "^=", "=", "s>>=", "swap", "?", "?"};

	fprintf(out, "r%u %s ", insn->dst_reg, ops[insn->code >> 4]);
	if (insn->code & BPF_X)
		fprintf(out, "r%u", insn->src_reg);
	else
		fprintf(out, "%d", insn->imm);
}

static void print_jump(FILE *out, const struct bpf_insn *insn, uint32_t at)
{
	static const char *const ops[16] = {
		"goto", "==", ">", ">=", "&", "!=", "s>", "s>=", "call", "exit", "<", "<=", "s<", "s<=", "?", "?"};
	unsigned int op = insn->code >> 4;

	if (op == 8)
		fprintf(out, insn->src_reg ? "call function" : "call helper %d", insn->imm);
	else if (op == 9)
		fputs("exit", out);
	else if (op == 0)
		fprintf(out, "goto %d", (int)at + 1 + insn->off);
	else if (insn->code & BPF_X)
		fprintf(out, "if r%u %s r%u goto %d", insn->dst_reg, ops[op], insn->src_reg, (int)at + 1 + insn->off);
	else
		fprintf(out, "if r%u %s %d goto %d", insn->dst_reg, ops[op], insn->imm, (int)at + 1 + insn->off);
}

static void print_memory(FILE *out, const struct bpf_insn *insn)
{
	static const char *const sizes[4] = {"u32", "u16", "u8", "u64"};
	const char *size = sizes[insn->code >> 3 & 3];

	switch (insn->code & 7) {
	case BPF_LDX:
		fprintf(out, "r%u = *(%s *)(r%u + %d)", insn->dst_reg, size, insn->src_reg, insn->off);
		break;
	case BPF_STX:
		if ((insn->code & 0xe0) == BPF_ATOMIC)
			fprintf(out, "lock *(%s *)(r%u + %d) += r%u", size, insn->dst_reg, insn->off, insn->src_reg);
		else
			fprintf(out, "*(%s *)(r%u + %d) = r%u", size, insn->dst_reg, insn->off, insn->src_reg);
		break;
	default:
		fprintf(out, "*(%s *)(r%u + %d) = %d", size, insn->dst_reg, insn->off, insn->imm);
	}
}

void code_print(FILE *out, const struct code *code)
{
	uint32_t i;
	size_t next = 0;

	for (i = 0; i < code->insns.count; i++) {
		const struct bpf_insn *insn = &code->insns.at[i];
		bool refers = next < code->references.count && code->references.at[next].at == i;

		fprintf(out, "%5u: ", i);
		if (insn->code == (BPF_LD | BPF_DW | BPF_IMM) && i + 1 < code->insns.count) {
			if (refers && code->references.at[next].kind == REFERENCE_MAP)
				fprintf(out, "r%u = map %s", insn->dst_reg, code->references.at[next].name);
			else if (refers)
				fprintf(out, "r%u = %s %u", insn->dst_reg,
					code->references.at[next].kind == REFERENCE_DATA ? "data" : "function",
					code->references.at[next].number);
			else if (insn->src_reg == BPF_PSEUDO_BTF_ID)
				fprintf(out, "r%u = kernel %d", insn->dst_reg, insn->imm);
			else
				fprintf(out, "r%u = 0x%llx", insn->dst_reg,
					(unsigned long long)(uint32_t)insn[1].imm << 32 | (uint32_t)insn->imm);
			i++;
		} else if (refers) {
			fprintf(out, "call %s", code->references.at[next].name);
		} else if ((insn->code & 7) == BPF_ALU64 || (insn->code & 7) == BPF_ALU) {
			print_alu(out, insn);
		} else if ((insn->code & 7) == BPF_JMP || (insn->code & 7) == BPF_JMP32) {
			print_jump(out, insn, i);
		} else {
			print_memory(out, insn);
		}
		next += refers;
		fputc('\n', out);
	}
}
