/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * spot: instructions as needed to choose places for breakpoints: what moves between registers and memory, where control
 * goes, and which instructions the kernel emulates. At an emulated one a uprobe costs half a microsecond; at any other
 * the thread executes a copy of the instruction and traps again, for some ten microseconds.
 *
 * Registers have DWARF's numbers, addresses are ELF vaddrs.
 */
#ifndef STRATA_ARCH_SPOT_H
#define STRATA_ARCH_SPOT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SPOT_REGISTERS 16
#define SPOT_NONE      255

enum spot_op {
	SPOT_OTHER,
	SPOT_MOVE,     /* a = b + imm, but for a pointer's tag, its lowest bits */
	SPOT_LOAD,     /* a = the `size` bytes at b + imm, extended by zeros */
	SPOT_STORE,    /* the `size` bytes at b + imm = a; SPOT_NONE: something else */
	SPOT_ADD,      /* the `size` bytes at b + imm += addend, which is not 0 */
	SPOT_COMPARE,  /* a, or something else (SPOT_NONE), with the `size` bytes at b + imm */
	SPOT_DIFFER,   /* a compared with b, `size` bytes */
	SPOT_NUMBER,   /* a = imm */
	SPOT_SUM,      /* a = b + c, of 8 bytes; SPOT_NONE for c: a = a + the word at b + imm */
	SPOT_CALL,     /* target; 0: not known */
	SPOT_JUMP,     /* target */
	SPOT_BRANCH,   /* target, or on */
	SPOT_INDIRECT, /* a jump to what is computed */
	SPOT_END       /* a return, or nothing that goes on */
};

struct spot_insn {
	uint64_t vaddr;
	uint64_t target;
	uint64_t mentioned; /* an address in it that is no target: RIP-relative, or a number that may be one; 0: none */
	int64_t imm;
	int32_t addend;
	uint32_t
		clobbers; /* registers that hold something else afterwards, by 1 << number; not `a` of a move or load */
	uint8_t op;       /* enum spot_op */
	uint8_t length, size;
	uint8_t a, b, c;
	bool emulated;
	bool returns; /* SPOT_END: a return */
};

struct spot_decoder;

struct spot_arch {
	uint8_t sp;
	uint8_t result;       /* the register that a function returns its value in */
	uint8_t arguments[3]; /* the registers that a function's first arguments come in */
	uint32_t call_clobbers;
	/* Where a BPF program's context has the flags, and which is set if the last two compared were equal. */
	uint16_t context_flags;
	uint32_t flag_equal;

	int (*create)(struct spot_decoder **ret); /* 0, -ENOMEM, -ENOTSUP */
	void (*destroy)(struct spot_decoder *decoder);
	/* The instruction at `bytes`. False when there is none, or one that is not known. */
	bool (*decode)(struct spot_decoder *decoder, const uint8_t *bytes, size_t size, uint64_t vaddr,
		       struct spot_insn *ret);
};

#endif
