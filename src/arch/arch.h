/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * arch: what strata knows about a machine. Each machine has its own folder, arch/NAME/. User space uses it through
 * `struct arch`, either for an ELF file's machine or for the machine on which strata runs. BPF uses the headers
 * target.h, walk.h and kernel.h, which include the files of the target machine. Nothing else includes a file of
 * arch/NAME/ (tests/style/arrows.t).
 *
 *   NAME/machine.c      registers, where a probe's context has them, arguments, relocations: struct arch
 *   NAME/unwind.c       linkers' and C libraries' code without CFI        arch/unwind.h
 *   NAME/code.c         instructions as their effect on the stack         arch/code.h
 *   NAME/references.c   what code jumps to and refers to                  arch/references.h
 *   NAME/key.c          instructions for the thread-key decoder           arch/key.h
 *   NAME/spot.c         instructions for who places breakpoints         arch/spot.h
 *   NAME/plt.c          PLT stubs                                         arch/plt.h
 *   NAME/usdt.c         operands of static markers                        here
 *   NAME/ptrace.c       breakpoints; compiled on that machine only        arch/ptrace.h
 *   NAME/walk.h         the native walk's constants and code patterns     arch/walk.h, for BPF and the host
 *   NAME/kernel.h       registers as the kernel keeps them                arch/kernel.h, for BPF
 */
#ifndef STRATA_ARCH_ARCH_H
#define STRATA_ARCH_ARCH_H

#include <elf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "arch/code.h"
#include "arch/key.h"
#include "arch/plt.h"
#include "arch/references.h"
#include "arch/spot.h"
#include "arch/unwind.h"

#define ARCH_NO_NUMBER 255

/* A register of a probe's context, which is a struct pt_regs (on AArch64 struct user_pt_regs). */
struct arch_register {
	const char *name, *alias; /* as scripts call it; or NULL */
	uint16_t context;         /* its offset there */
	uint8_t number;           /* DWARF's; ARCH_NO_NUMBER: none */
};

/* A register of a thread's as D numbers it: by its place among the kernel's saved words, or in thread_struct. */
struct arch_saved {
	const char *name;
	uint8_t number;
	const char *member; /* of struct thread_struct; NULL: it is a word of struct pt_regs */
};

/*
 * A libc's thread descriptor, to which pthread_self() points: the offsets of its own address, and of the thread's id.
 */
struct arch_descriptor {
	uint16_t self, tid;
};

/* An operand of a static marker. Registers by their offset in the context. */
struct arch_operand {
	enum { ARCH_CONSTANT, ARCH_REGISTER, ARCH_MEMORY } kind;
	int64_t value;  /* the constant, or what is added to the address */
	uint16_t base;  /* the register, or that of the address */
	uint16_t index; /* has_index: a register that is added, times `scale` */
	uint16_t shift; /* bits of the register below the value */
	uint32_t scale;
	bool has_index;
};

struct arch {
	uint16_t machine;                                 /* EM_* */
	const char *name;                                 /* as in messages */
	const char *triplet;                              /* of Debian's folders of libraries */
	const char *macro;                                /* that compilers define */
	int capstone, capstone_mode;                      /* cs_arch, cs_mode */
	uint32_t audit;                                   /* AUDIT_ARCH_*: as seccomp calls it */
	uint32_t relative, jump_slot, glob_dat, absolute; /* R_* */
	uint32_t tls_offset, tls_module, tls_descriptor;  /* the same, for thread-local storage */

	/*
	 * Where a program's thread-local storage is ("TLS variants" of the ABI). 0: it ends at the thread pointer;
	 * otherwise it begins this many bytes behind it, aligned.
	 */
	uint16_t tls_after;

	/* Where a libc's thread descriptor has itself and the thread's id; the last one has no id. */
	const struct arch_descriptor *descriptors;

	/* The member of the kernel's struct thread_struct that has the thread pointer; NULL: it is not one by itself.
	 */
	const char *kernel_thread_pointer;

	const struct arch_register *registers; /* the last one has no name */
	const struct arch_saved *saved;        /* uregs[] of D; the last one has no name */
	uint16_t context_pc, context_sp, context_result;
	uint16_t context_mode; /* its `mode_mask` bits are `mode_user` in a program, something else in the kernel */
	uint8_t mode_mask, mode_user;
	const uint16_t *arguments; /* offsets in the context of the registers that integer arguments come in */
	uint8_t argument_count;
	uint8_t stack_arguments; /* where the others begin, by words, from SP at a function's first instruction */

	/* Reads an operand, up to the blank or the end behind it. */
	bool (*usdt_operand)(const char *text, struct arch_operand *ret);

	const struct unwind_arch *unwind; /* NULL: no rows are made for it */
	const struct code_arch *code;     /* NULL: the same */
	const struct plt_arch *plt;
	const struct key_arch *key;
	const struct reference_arch *references;
	const struct spot_arch *spot; /* NULL: no places are looked for */
};

/* NULL for a machine that is not known. Those that elf_file_open() takes are. */
const struct arch *arch_of(uint16_t machine);

/* The machine that strata runs on. */
const struct arch *arch_here(void);

/* The register with a name used in scripts, or with a DWARF number; NULL: none. */
const struct arch_register *arch_register_named(const struct arch *arch, const char *name);
const struct arch_register *arch_register_numbered(const struct arch *arch, unsigned int number);

#endif
