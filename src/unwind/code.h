/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * code: what machine code says about the stack, for code without CFI. For src/unwind/ and its tests only.
 *
 * An instruction is reduced to its effect on the stack (struct code_insn, made by the architecture's decoder). A state
 * says what is known before an instruction, relative to the CFA of the function that it is in:
 *
 *   registers   each holds: CFA + n, or what a register held at the function's entry, or a constant, or what leads to
 *               the entries of a jump table; or nothing known
 *   slots       words of the frame that hold such a value: the return address at CFA - 8, saved registers
 *
 * code_rule() turns a state into a rule. Nothing is guessed: what is not known gives no rule. Registers have DWARF's
 * numbers, addresses are ELF vaddrs.
 */
#ifndef STRATA_UNWIND_CODE_H
#define STRATA_UNWIND_CODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "abi/unwind.h"

#define CODE_REGISTERS 16
#define CODE_RA        16 /* the return address, as the number of a value at entry */
#define CODE_NONE      255
#define CODE_SLOTS     12
#define CODE_JUMPS_MAX 4095 /* entries of a jump table */

enum code_op {
	CODE_OTHER,       /* changes `clobbers` only, as any other instruction may besides */
	CODE_SET,         /* a = imm */
	CODE_SET_BYTE,    /* the lowest byte of a = imm */
	CODE_ADD,         /* a = b + imm */
	CODE_ADD_BOTH,    /* a = a + b */
	CODE_EXTEND,      /* a = a lower part of b, extended */
	CODE_MASK,        /* a = a & imm */
	CODE_LOAD,        /* a = the word at b + imm */
	CODE_LOAD_FIXED,  /* a = the word at imm */
	CODE_LOAD_THREAD, /* a = the word at the thread pointer + b + imm; CODE_NONE: + imm */
	CODE_SUB_LOAD,    /* a = a - the word at b + imm */
	CODE_LOAD_OFFSET, /* a = the s32 at b + 4 * index + imm, extended */
	CODE_STORE,       /* the `size` bytes at b + imm = a; CODE_NONE: something */
	CODE_PUSH,        /* a; CODE_NONE: something */
	CODE_POP,
	CODE_LEAVE,         /* SP = FP, then pop FP */
	CODE_COMPARE,       /* a with imm */
	CODE_COMPARE_SP,    /* SP with a */
	CODE_SYSCALL,       /* ends here when it is one that does not return */
	CODE_CALL,          /* imm */
	CODE_CALL_INDIRECT, /* an address that is not known */
	CODE_JUMP,          /* imm */
	CODE_JUMP_REGISTER, /* the value of a */
	CODE_JUMP_TABLE,    /* the u64 at imm + 8 * index */
	CODE_JUMP_INDIRECT, /* an address that is not known */
	CODE_BRANCH,        /* imm, on `condition` */
	CODE_RETURN,
	CODE_STOP /* nothing follows */
};

/* Unsigned comparisons, and equality; all else is CODE_IF_OTHER. */
enum code_condition {
	CODE_IF_OTHER,
	CODE_IF_ABOVE,
	CODE_IF_NOT_BELOW,
	CODE_IF_BELOW,
	CODE_IF_NOT_ABOVE,
	CODE_IF_EQUAL,
	CODE_IF_NOT_EQUAL
};

struct code_insn {
	int64_t imm;
	uint16_t clobbers; /* registers that hold something unknown afterwards, by 1 << number */
	uint8_t op;        /* enum code_op */
	uint8_t a, b, index;
	uint8_t condition;
	uint8_t length; /* bytes */
	uint8_t size;   /* of a store */
	bool keeps_flags;
	bool address; /* what is set is an address, relative to the PC */
};

enum code_kind {
	CODE_UNKNOWN,
	CODE_CFA,      /* CFA + n */
	CODE_ENTRY,    /* what register n held at entry */
	CODE_CONSTANT, /* n */
	CODE_BOUND,    /* 0 to `count` */
	CODE_OFFSET,   /* a word of the jump table of 1 + `count` offsets at n */
	CODE_TARGET    /* such a word plus n: one of the targets */
};

struct code_value {
	int64_t n : 48;
	uint64_t count : 12;
	uint64_t kind : 4; /* enum code_kind */
};

struct code_state {
	struct code_value registers[CODE_REGISTERS];
	struct code_value slots[CODE_SLOTS];
	int32_t slot_at[CODE_SLOTS]; /* from the CFA; 0: not in use */
	struct {
		uint8_t kind; /* CODE_COMPARE, CODE_COMPARE_SP, or CODE_OTHER: nothing known */
		uint8_t reg;
		uint32_t imm;
	} compared;
	bool outermost; /* FP was cleared, and not saved before: this is a thread's first function (psABI 3.4.1) */
};

struct code_decoder;

/* The architecture's part. */
struct code_arch {
	uint8_t sp, fp, bx;
	uint16_t preserved;                      /* registers that a callee gives back as they were, but for SP */
	uint16_t syscall_clobber;                /* those that a system call changes */
	uint8_t syscall_number;                  /* the register of its number */
	uint32_t relative;                       /* R_*_RELATIVE */
	uint16_t sigreturn;                      /* the number of the one that ends a signal's handler */
	bool (*is_last_syscall)(int64_t number); /* one after which nothing runs */
	bool (*is_padding)(const uint8_t *bytes, size_t size);
	bool (*ends_in_call)(const uint8_t *bytes, size_t size); /* the code before a return address */

	int (*create)(struct code_decoder **ret); /* 0, -ENOMEM, -ENOTSUP */
	void (*destroy)(struct code_decoder *decoder);
	/* The instruction at `bytes`. False when there is none, or one that is not known. */
	bool (*decode)(struct code_decoder *decoder, const uint8_t *bytes, size_t size, uint64_t vaddr,
		       struct code_insn *ret);
};

extern const struct code_arch code_arch_x86_64;

/* At a function's first instruction. */
void code_state_entry(const struct code_arch *arch, struct code_state *ret);

/* After an instruction; of a branch, before it is decided; of a call, after it returned. */
void code_step(const struct code_arch *arch, const struct code_insn *insn, struct code_state *state);

/* What the outcome of a branch tells. */
void code_branch(const struct code_arch *arch, const struct code_insn *insn, bool taken, struct code_state *state);

/*
 * Reduces *into to what both states know. False when they contradict each other: SP is known in both, and differs, and
 * there is no frame pointer that would allow it (a block of memory on the stack that only one way makes).
 * *changed becomes true when *into did change.
 */
bool code_meet(const struct code_arch *arch, struct code_state *into, const struct code_state *other, bool *changed);

/* How a function stands where it returns, or jumps to another one. */
enum code_exit {
	CODE_EXIT_CLEAN,   /* SP is back, and all registers that belong to the caller hold what they held */
	CODE_EXIT_UNKNOWN, /* where SP is, is not known; or the return address was changed */
	CODE_EXIT_UNBALANCED
};
enum code_exit code_exit_of(const struct code_arch *arch, const struct code_state *state);

/* The value of a slot; unknown where there is none. */
struct code_value code_slot(const struct code_state *state, int64_t at);

/* The rule before an instruction; UNWIND_NO_RULE when something it needs is not known. */
struct unwind_rule code_rule(const struct code_arch *arch, const struct code_state *state,
			     const struct code_insn *insn);

#endif
