/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The inside of switch.h: flow.c follows a function's code, switch.c makes rules of what was found.
 *
 *   forwards from its first instruction along all paths, tracking what each register holds. Where SP or another
 *            register is the CFA plus a number, that gives the rule.
 *   onwards from one place straight to the return. SP at the return, as an expression of SP at the start or of the
 *           thread pointer, gives the rule at that place.
 */
#ifndef STRATA_RUNTIME_GO_SWITCH_PARTS_H
#define STRATA_RUNTIME_GO_SWITCH_PARTS_H

#include "unwind/code.h"
#include "runtime/go/switch.h"

#define DEREFS_MAX 4

enum value_kind {
	VALUE_UNKNOWN,
	VALUE_CFA,      /* CFA + n */
	VALUE_CONSTANT, /* n */
	VALUE_RETURN,   /* the return address */
	VALUE_WORD,     /* the word at n, which the loader writes */
	VALUE_PATH,     /* [[base + at[0]] + at[1]] ... + n */
	VALUE_DEPTH     /* [[base + at[0]] + at[1]] - [base + at[2]] + n */
};

enum value_base {
	BASE_THREAD,  /* the thread pointer */
	BASE_G,       /* G_REGISTER at the function's entry */
	BASE_SP,      /* SP at the place where following the code began */
	BASE_REGISTER /* the first of the registers there, by number */
};

struct value {
	uint8_t kind; /* enum value_kind */
	uint8_t base; /* enum value_base */
	uint8_t count;
	int32_t at[DEREFS_MAX];
	int64_t n;
	int64_t got; /* BASE_THREAD: not 0: the word there is added to the thread pointer */
};

struct state {
	struct value registers[CODE_REGISTERS];
	bool fp_saved; /* at CFA - 16 */
	bool popped;   /* the return address is not, or may not be, in its place */
	bool forked;   /* clone() has returned, in the parent or in the child */
	bool child;    /* in the child */
	int32_t vdso;  /* offset in m of a word that was set to the CFA + vdso_n; 0: none */
	int32_t vdso_n;
};

struct insn {
	struct code_insn code;
	uint32_t offset;
	bool reached;
	struct state state; /* before it */
};

/* Where is what, in words. */
struct layout {
	int16_t thread;
	int64_t got;
	uint8_t m, curg, g0, sp;
	bool known;
};

#define INSNS_MAX 256

struct go_switch {
	const struct elf_file *elf;
	const struct unwind_arch *arch;
	struct code_decoder *decoder;
	struct layout layout;
	struct go_function save;
	uint32_t save_clobbers;
	bool schedules;
	bool clones; /* the function is clone() */
	/* The function at hand. */
	uint64_t start;
	size_t count;
	struct insn insns[INSNS_MAX];
};

/* Reads the function's instructions, up to one that is not known. */
void go_flow_read(struct go_switch *go, const struct go_function *function);

/* Forwards: all paths from the first instruction on. False when one of them cannot be followed. */
bool go_flow_follow(struct go_switch *go);

/*
 * Onwards: the CFA, which is SP after the return that the code at `first` reaches, as an expression of SP, the
 * callee-saved registers and the thread pointer at `first`. Branches are assumed not to be taken: on either path the
 * function returns with the same SP. A direct call may be one that does not return.
 */
struct value go_flow_onwards(const struct go_switch *go, size_t first);

/* Is the instruction followed by the next one? */
bool go_flow_goes_on(const struct code_insn *code);

/* SP's value in a state. */
struct value *go_flow_sp(const struct go_switch *go, struct state *state);

#endif
