/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * eh_frame: the entries of .eh_frame (LSB Core 5.0, 10.6 "Exception Frames"; DWARF 5, 6.4.1).
 *
 *   entry   length u32 (0xffffffff: then a u64), and in that length:
 *   CIE     0 u32 · version · augmentation string · code and data alignment · return address column ·
 *           [augmentation data] · initial instructions
 *   FDE     distance back to its CIE u32 · start · length · [augmentation data] · instructions
 *
 * Only what unwinding needs is kept. A struct eh_frame borrows the section's bytes. An entry that makes no sense is
 * treated as absent, and its readers count it.
 */
#ifndef STRATA_UNWIND_EH_FRAME_H
#define STRATA_UNWIND_EH_FRAME_H

#include <stdbool.h>
#include <stdint.h>

#include "base/cursor.h"
#include "elf/elf_file.h"

struct eh_frame {
	struct elf_section section;
	uint64_t hdr_vaddr; /* the base of DW_EH_PE_datarel; 0 if there is none */
};

struct eh_cie {
	uint64_t code_align;
	int64_t data_align;
	uint32_t at; /* offset in the section */
	uint32_t instructions, instructions_size;
	uint32_t ra;              /* the return address' register */
	uint8_t pointer_encoding; /* DW_EH_PE_*, of the FDEs */
	bool has_data;            /* the augmentation begins with 'z' */
	bool signal;              /* 'S': a signal trampoline */
};

struct eh_fde {
	uint64_t start, size;
	uint32_t instructions, instructions_size;
};

enum eh_kind { EH_END, EH_TERMINATOR, EH_CIE, EH_FDE };

struct eh_entry {
	enum eh_kind kind;
	uint32_t at;   /* offset of the entry */
	uint32_t cie;  /* of an FDE: its CIE's offset */
	uint32_t body; /* offset behind the CIE id */
	uint32_t next; /* offset of the next entry */
};

/* Reads the entry at an offset. EH_END if there is none or its length makes no sense. */
struct eh_entry eh_entry_at(const struct eh_frame *frame, uint32_t at);

/* False if the entry is damaged or of an unknown kind. */
bool eh_cie_parse(const struct eh_frame *frame, uint32_t at, struct eh_cie *ret);
bool eh_fde_parse(const struct eh_frame *frame, const struct eh_entry *entry, const struct eh_cie *cie,
		  struct eh_fde *ret);

/*
 * Reads a pointer in an encoding DW_EH_PE_* (LSB Core 5.0, 10.5.1). `base_vaddr` is the vaddr of the cursor's first
 * byte. For an indirect pointer, returns the address of the pointer. Fails the cursor if the encoding is not known.
 */
uint64_t eh_pointer(struct cursor *c, uint8_t encoding, uint64_t base_vaddr, uint64_t data_base);

#endif
