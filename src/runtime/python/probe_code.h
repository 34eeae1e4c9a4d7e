/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * probe_code: the machine code of the interpreter loop as a list of instructions, and what registers hold along a
 * straight line of it. For src/runtime/python/ only (probe_sites.h).
 *
 * A value is a node plus a number. A node is what a register held at the beginning of the line, or a word of memory
 * whose address is such a value:
 *
 *   node 0 to 15     the registers at the beginning of the line
 *   node 16 and up   loads[node - 16]: the word at (its node + offset)
 *
 * A load from an unknown address is a new node, equal to no other. Words of the stack that the line itself wrote are
 * followed; they are found by the stack pointer or, where the loop finds none so, by its frame pointer. After a write
 * to other memory, or a call, every other word is loaded as a new node. What is not known has no value
 * (PROBE_NOTHING); nothing is guessed.
 *
 * All addresses are vaddrs of the file. Not thread-safe.
 */
#ifndef STRATA_PYTHON_PROBE_CODE_H
#define STRATA_PYTHON_PROBE_CODE_H

#include "arch/arch.h"
#include "base/vec.h"
#include "runtime/python/interpreter.h"
#include "runtime/python/probe_sites.h"

#define PROBE_LOADS   200
#define PROBE_SLOTS   32
#define PROBE_NODE    SPOT_REGISTERS /* the first one of a load */
#define PROBE_NOTHING 255

struct probe_code {
	const struct spot_arch *arch;
	VEC(struct spot_insn) insns; /* by address */
	VEC(uint64_t) targets;       /* of direct jumps and branches, sorted */
	uint8_t base;                /* the register that the loop's local variables are found by */
};

/* Disassembles the parts of the loop. 0, -ENOMEM, or -ENOTSUP, with a diag. */
int probe_code_init(struct probe_code *code, const struct elf_file *elf, const struct python_range *ranges,
		    size_t count, struct diag *diag);
void probe_code_deinit(struct probe_code *code);

/* The instruction at an address; NULL: none begins there. */
const struct spot_insn *probe_code_at(const struct probe_code *code, uint64_t vaddr);
/* The instruction that is executed after it, if it does not jump; NULL: there is none. */
const struct spot_insn *probe_code_next(const struct probe_code *code, const struct spot_insn *insn);
/* Does a direct jump lead here? */
bool probe_code_is_target(const struct probe_code *code, uint64_t vaddr);
/* The first instruction of its basic block. */
const struct spot_insn *probe_code_block(const struct probe_code *code, const struct spot_insn *insn);
/*
 * Marks the instructions that can be reached from `from` by direct jumps, and direct calls if `calls`, without going
 * through a stop: a byte for each of code->insns, malloc'd. *leaves: there is an indirect jump among them. NULL: out of
 * memory.
 */
uint8_t *probe_code_reach(const struct probe_code *code, const struct spot_insn *from, const uint64_t *stops,
			  size_t stop_count, bool calls, bool *leaves);

/*
 * Have the registers a and b the same value whenever the loop jumps to what is computed? Every way that leads to such a
 * jump from the loop's beginning has to make them so, on a straight line; a way that begins at one of the `starts`, to
 * which these jumps lead, has them so if all others do. False also when memory is short.
 */
bool probe_code_same_at_jumps(const struct probe_code *code, uint8_t a, uint8_t b, const uint64_t *starts,
			      size_t start_count);

struct probe_value {
	uint8_t node; /* PROBE_NOTHING: not known */
	bool narrow;  /* the lower 32 bits of it */
	int64_t add;
};

struct probe_load {
	struct probe_value at; /* of the word */
	uint8_t size;
	uint16_t epoch;
};

struct probe_line {
	const struct spot_arch *arch;
	struct probe_value registers[SPOT_REGISTERS];
	struct probe_load loads[PROBE_LOADS];
	struct {
		int64_t at; /* relative to the stack pointer at the beginning of the line */
		struct probe_value value;
	} slots[PROBE_SLOTS];
	uint8_t base; /* the stack is what is found by this register; the stack pointer, unless it is set otherwise */
	uint8_t load_count, slot_count;
	uint16_t epoch;
};

void probe_line_begin(const struct spot_arch *arch, struct probe_line *ret);
void probe_line_step(struct probe_line *line, const struct spot_insn *insn);
/*
 * The same of a call of a function that does no more than to return the word at its argument, as a compiler makes one
 * of an atomic load that it does not inline. False: it is another function, or not known; the line has not gone on.
 */
bool probe_line_step_reader(struct probe_line *line, const struct elf_file *elf, const struct spot_insn *call);

/* The address of an instruction's memory operand, and the value of a register, at this point of the line. */
struct probe_value probe_line_address(const struct probe_line *line, const struct spot_insn *insn);
struct probe_value probe_line_register(const struct probe_line *line, uint8_t reg);
/*
 * The value that a register or a word of the stack has where the line begins. For the same places in the same order,
 * first of all of a line, the nodes are the same in every line.
 */
struct probe_value probe_line_known(struct probe_line *line, const struct python_place *place);
/* The other way: where a node is when the line begins. False: neither in a register nor on the stack. */
bool probe_line_origin(const struct probe_line *line, uint8_t node, struct python_place *ret);
/* Is the value the word of memory at (a node + offset)? Then *base is that node. */
bool probe_line_is_load(const struct probe_line *line, struct probe_value value, int64_t offset, uint8_t *base);

/*
 * Where the value of a node can be found at this point of the line: in a register or on the stack. `narrow`: its lower
 * 32 bits are enough.
 */
struct python_place probe_line_place(const struct probe_line *line, uint8_t node, bool narrow);

#endif
