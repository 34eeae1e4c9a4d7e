/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * disassembler: Capstone, loaded when it is first needed, and then kept. Its 77,400 relocations take 1.7 ms at each
 * start, and most starts disassemble nothing, because results are cached.
 *
 * Not thread-safe: each thread opens its own.
 */
#ifndef STRATA_BASE_DISASSEMBLER_H
#define STRATA_BASE_DISASSEMBLER_H

#include <capstone/capstone.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct disassembler {
	cs_insn *insn; /* the last one that was read */
	csh handle;
	void *library;
	bool(CAPSTONE_API *next)(csh handle, const uint8_t **code, size_t *left, uint64_t *address, cs_insn *insn);
};

/*
 * `details`: also decode what each instruction reads and writes. 0, -ENOMEM, or -ENOTSUP: the library is missing, or
 * does not know the machine.
 */
int disassembler_open(struct disassembler *disassembler, cs_arch arch, cs_mode mode, bool details);
void disassembler_close(struct disassembler *disassembler);

/* Reads one instruction and moves to the next; false, with nothing moved, if there is none. */
static inline bool disassembler_next(struct disassembler *disassembler, const uint8_t **code, size_t *left,
				     uint64_t *address)
{
	return disassembler->next(disassembler->handle, code, left, address, disassembler->insn);
}

#endif
