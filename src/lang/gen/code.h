/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * code: one BPF function while it is being written: instructions, jumps to labels, and references to what only the
 * linker knows (maps, runtime functions, other functions of the same object).
 *
 * Conventions of generated functions: R6 is the program's context, R7 the frame (lang/rt/abi.h), R8 and R9 are free
 * between two expressions, R0 is an expression's result. Helper calls change R0 to R5.
 */
#ifndef STRATA_LANG_GEN_CODE_H
#define STRATA_LANG_GEN_CODE_H

#include <linux/bpf.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/vec.h"
#include "lang/core/report.h"

enum reference_kind { REFERENCE_MAP, REFERENCE_RUNTIME, REFERENCE_FUNCTION, REFERENCE_DATA };

struct reference {
	uint32_t at; /* instruction */
	enum reference_kind kind;
	const char *name;  /* of the map or the runtime function */
	uint32_t number;   /* REFERENCE_FUNCTION: index in the object; REFERENCE_DATA: offset in the object's data */
};

/* The kernel takes no larger program: include/linux/bpf.h, BPF_COMPLEXITY_LIMIT_INSNS (5.2). */
#define CODE_INSNS_MAX 1000000

struct code {
	VEC(struct bpf_insn) insns;
	VEC(struct reference) references;
	VEC(struct code_label {
		int32_t at; /* instruction, or -1 */
		bool used;
	})
	labels; /* bound after all jumps to them were written */
	VEC(struct code_jump {
		uint32_t at;
		uint32_t label;
	})
	jumps;
	VEC(uint32_t) own_places; /* instructions whose immediate is their own number */
	bool dead;   /* control cannot reach this place: instructions are dropped, since the verifier refuses them */
	bool failed; /* memory, more than CODE_INSNS_MAX, or a jump that is too long */
};

typedef uint32_t label;

void code_deinit(struct code *code);

void code_emit(struct code *code, struct bpf_insn insn);
void code_mov(struct code *code, int to, int from);
void code_imm(struct code *code, int to, int64_t value);
/* to OP= from, or OP= an immediate, by BPF_ADD and so on, on 64 bits. */
void code_alu(struct code *code, int op, int to, int from);
void code_alu_imm(struct code *code, int op, int to, int32_t value);
void code_negate(struct code *code, int reg);
/* Loads and stores of 1, 2, 4 or 8 bytes. A load fills the upper bits with zeros. */
void code_load(struct code *code, uint32_t size, int to, int base, int16_t offset);
void code_store(struct code *code, uint32_t size, int base, int16_t offset, int from);
void code_store_imm(struct code *code, uint32_t size, int base, int16_t offset, int32_t value);
/* Stores 8 bytes: the number of this instruction in the function. */
void code_store_place(struct code *code, int base, int16_t offset);
/* Extends the low `size` bytes of a register to 64 bits. */
void code_extend(struct code *code, int reg, uint32_t size, bool is_signed);
void code_call(struct code *code, int helper);
/* A function of the kernel that is no helper, by its number in the kernel's BTF. */
void code_call_kernel(struct code *code, uint32_t number);
void code_call_runtime(struct code *code, const char *name);
void code_load_map(struct code *code, int to, const char *name);
/* Something of the kernel's own, by its number in the kernel's BTF. */
void code_load_kernel(struct code *code, int to, uint32_t number);
void code_load_function(struct code *code, int to, uint32_t function);
/* The address of data that the object has for its programs (gen_data()). */
void code_load_data(struct code *code, int to, uint32_t offset);
void code_exit(struct code *code);

label code_label(struct code *code);
void code_bind(struct code *code, label label);
void code_jump(struct code *code, label to);
/* If `reg OP value`: BPF_JEQ, BPF_JNE, BPF_JGT, BPF_JSGT, ... */
void code_jump_if(struct code *code, int op, int reg, int32_t value, label to);
void code_jump_if_reg(struct code *code, int op, int reg, int other, label to);

/* Puts another function's code before this one's, whose end it falls through to. */
void code_prepend(struct code *code, const struct code *before);

/* Fills in the jumps. False when memory was short or the function is too long. */
bool code_finish(struct code *code);

/* As text, for -d instructions. */
void code_print(FILE *out, const struct code *code);

#endif
