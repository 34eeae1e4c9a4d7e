/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * disassembler: Capstone, loaded when it is first needed, and then kept. It has 77,400 relocations, 1.7 ms at each
 * start, and most starts disassemble nothing, since what is known of a file is cached.
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
 * `details`: with what each instruction reads and writes. 0, -ENOMEM, or -ENOTSUP: the library is not there, or does
 * not know the machine.
 */
int disassembler_open(struct disassembler *disassembler, cs_arch arch, cs_mode mode, bool details);
void disassembler_close(struct disassembler *disassembler);

/* Reads one instruction and moves behind it; false, with nothing moved, when there is none. */
static inline bool disassembler_next(struct disassembler *disassembler, const uint8_t **code, size_t *left,
				     uint64_t *address)
{
	return disassembler->next(disassembler->handle, code, left, address, disassembler->insn);
}

#endif
