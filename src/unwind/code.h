/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * code: what machine code says about the stack, for code without CFI. For src/unwind/ and its tests only.
 *
 * An instruction is reduced to its effect on the stack (arch/code.h). A state says what is known before an instruction,
 * relative to the CFA of its function:
 *
 *   registers   what each one holds: CFA + n, or what a register held at the function's entry, or a constant, or a
 *               value on the way to the entries of a jump table; or unknown
 *   slots       words of the frame that hold such a value: saved registers, and the return address. A call pushes it to
 *               CFA - 8, or leaves it in a register; then it is what that register held at entry
 *
 * code_rule() turns a state into a rule. Nothing is guessed: if something is unknown there is no rule. Registers have
 * DWARF's numbers, addresses are ELF vaddrs.
 */
#ifndef STRATA_UNWIND_CODE_H
#define STRATA_UNWIND_CODE_H

#include "abi/unwind.h"
#include "arch/code.h"

#define CODE_RA        CODE_REGISTERS /* the return address, as the number of a value at entry */
#define CODE_SLOTS     12
#define CODE_JUMPS_MAX 4095 /* entries of a jump table */

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

/* At a function's first instruction. */
void code_state_entry(const struct code_arch *arch, struct code_state *ret);

/* After an instruction; of a branch, before it is decided; of a call, after it returned. */
void code_step(const struct code_arch *arch, const struct code_insn *insn, struct code_state *state);

/* Adds what is known once a branch is taken, or not taken. */
void code_branch(const struct code_arch *arch, const struct code_insn *insn, bool taken, struct code_state *state);

/*
 * Joins two states: reduces *into to what is known in both. False: they contradict each other, because SP is known in
 * both and differs, and there is no frame pointer that would allow that (a block of memory on the stack that only one
 * path allocates). *changed becomes true when *into did change.
 */
bool code_meet(const struct code_arch *arch, struct code_state *into, const struct code_state *other, bool *changed);

/* The state of a function where it returns, or jumps to another one. */
enum code_exit {
	CODE_EXIT_CLEAN,   /* SP is as at entry, and so are all callee-saved registers */
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
