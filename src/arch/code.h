/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * code: an instruction as its effect on the stack, and a machine's decoder for that. unwind/code.h, which is
 * independent of the machine, draws the conclusions. Registers have DWARF numbers, addresses are ELF vaddrs.
 */
#ifndef STRATA_ARCH_CODE_H
#define STRATA_ARCH_CODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CODE_REGISTERS 32
#define CODE_NONE      255

enum code_op {
	CODE_OTHER,       /* changes `clobbers` only, as any other instruction may besides */
	CODE_SET,         /* a = imm */
	CODE_SET_BYTE,    /* the lowest byte of a = imm */
	CODE_ADD,         /* a = b + imm */
	CODE_ADD_BOTH,    /* a = a + b */
	CODE_SUB_BOTH,    /* a = a - b */
	CODE_EXTEND,      /* a = a lower part of b, extended */
	CODE_MASK,        /* a = a & imm */
	CODE_LOAD,        /* a = the word at b + imm; c, if there is one, the word behind it */
	CODE_LOAD_FIXED,  /* a = the word at imm */
	CODE_LOAD_THREAD, /* a = the word at the thread pointer + b + imm; CODE_NONE: + imm */
	CODE_SUB_LOAD,    /* a = a - the word at b + imm */
	CODE_LOAD_OFFSET, /* a = the s32 at b + 4 * index + imm, extended */
	CODE_STORE,       /* the `size` bytes at b + imm = a, then c if there is one; CODE_NONE: something */
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
	uint32_t clobbers; /* registers that hold something unknown afterwards, by 1 << number */
	int16_t update;    /* added to b afterwards (pre- and post-indexed addresses) */
	uint8_t op;        /* enum code_op */
	uint8_t a, b, c, index;
	uint8_t condition;
	uint8_t length; /* bytes */
	uint8_t size;   /* of a store */
	bool keeps_flags;
	bool address; /* what is set is an address, relative to the PC */
};

struct code_decoder;

/* The architecture's part. */
struct code_arch {
	uint8_t registers; /* how many general ones there are, with SP */
	uint8_t sp, fp, carried;
	bool links;                              /* a call leaves the return address in `carried`; else it pushes it */
	uint32_t preserved;                      /* callee-saved registers, except SP */
	uint32_t syscall_clobber;                /* those that a system call changes */
	uint8_t syscall_number;                  /* the register of its number */
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

#endif
