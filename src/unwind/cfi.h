/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * cfi: executes the call frame instructions of one FDE (DWARF 5, 6.4.2), and turns the result into unwind rules.
 *
 * Of the table that DWARF describes, strata needs five columns: the CFA, the frame pointer, the carried register, the
 * return address, and the stack pointer, which must be the CFA. So the state is small enough to copy.
 */
#ifndef STRATA_UNWIND_CFI_H
#define STRATA_UNWIND_CFI_H

#include "arch/arch.h"
#include "unwind/eh_frame.h"

enum cfi_cfa_kind {
	CFI_CFA_REGISTER, /* register + offset */
	CFI_CFA_DEREF,    /* *(register + offset) + plus */
	CFI_CFA_INDEXED,  /* *(SP + 8 * register + offset) + 8 */
	CFI_CFA_PLT,      /* the expression of PLT stubs; offset is its literal */
	CFI_CFA_OTHER,    /* no rule can express it */
};

enum cfi_saved_kind {
	CFI_SAME,
	CFI_UNDEFINED,
	CFI_AT_CFA,      /* at CFA + offset */
	CFI_AT_REGISTER, /* at register + offset */
	CFI_IN_REGISTER, /* its value is in a register */
	CFI_OTHER,
};

struct cfi_saved {
	uint8_t kind; /* enum cfi_saved_kind */
	uint8_t reg;
	int64_t offset;
};

struct cfi_state {
	struct {
		uint8_t kind; /* enum cfi_cfa_kind */
		uint8_t reg;
		uint8_t plus;
		int64_t offset;
	} cfa;
	struct cfi_saved fp, carried, sp, ra; /* if the return address is in the carried register, `ra` is not used */
};

/* Called for each range of addresses with the state that is valid there, in ascending order. */
struct cfi_sink {
	void (*range)(void *context, uint64_t start, uint64_t end, const struct cfi_state *state);
	void *context;
};

/* The state before the first instruction of any CIE, and after those of this one. False when they are damaged. */
bool cfi_run_cie(const struct unwind_arch *arch, const struct eh_frame *frame, const struct eh_cie *cie,
		 struct cfi_state *ret);

/* Runs an FDE from the state `initial` of its CIE. False when it is damaged; some ranges may have been given then. */
bool cfi_run_fde(const struct unwind_arch *arch, const struct eh_frame *frame, const struct eh_cie *cie,
		 const struct cfi_state *initial, const struct eh_fde *fde, const struct cfi_sink *sink);

/* The state as a rule; `signal` as in struct eh_cie. */
struct unwind_rule cfi_rule(const struct unwind_arch *arch, const struct cfi_state *state, bool signal);

#endif
