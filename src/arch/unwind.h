/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * unwind: what the compiler of unwind tables needs to know about a machine: register numbers, and the code of linkers
 * and C libraries that has no CFI.
 */
#ifndef STRATA_ARCH_UNWIND_H
#define STRATA_ARCH_UNWIND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "abi/unwind.h"
#include "arch/code.h"

/* From `start` bytes into a section on, a rule holds. */
struct unwind_arch_span {
	uint32_t start;
	struct unwind_rule rule;
};

#define UNWIND_ARCH_SPANS_MAX 4

struct unwind_arch {
	uint8_t sp, fp, carried, ra; /* DWARF register numbers; carried: see abi/unwind.h */
	uint8_t register_count;      /* the general registers: 0 to register_count - 1 */
	int8_t ra_offset;       /* offset from the CFA at which a call puts the return address; 0: it is in the carried
				   register */
	uint16_t sigcontext_sp; /* offsets in struct sigcontext */
	uint16_t sigcontext_pc;
	uint16_t sigcontext_at_return; /* offset of struct sigcontext from SP when a handler has returned */
	const char *const *register_names;

	/* The CFA expression of linker-made PLT stubs: its UNWIND_PLT rule. False when it is another expression. */
	bool (*plt_expression)(const uint8_t *bytes, size_t size, struct unwind_rule *ret);

	/*
	 * The rules of a section of code without FDEs: PLT stubs, .init and .fini. By its name and bytes; their number,
	 * 0 for other sections.
	 */
	size_t (*section_spans)(const char *section, const uint8_t *bytes, size_t size, struct unwind_arch_span *ret);

	/* The length of the entry point's code that begins at `bytes`; 0 when it does not look like an entry point. */
	size_t (*entry_size)(const uint8_t *bytes, size_t size);

	/* The offset of the first signal trampoline in code, and its length. False when there is none. */
	bool (*find_trampoline)(const uint8_t *bytes, size_t size, size_t *at, size_t *length);

	/* The number of places where a function sets up its frame pointer, or returns after restoring it. */
	size_t (*count_frame_edges)(const uint8_t *bytes, size_t size);

	/* V8's builtins are aligned to this many bytes, and padded with this byte, a breakpoint. 0: not known. */
	uint8_t v8_alignment, v8_filling;

	/* Go's code where SP is `size` bytes below its value at the function's entry. NULL: not known. */
	struct unwind_rule (*go_rule)(uint32_t size);
	const char *go_entry; /* the function that the entry point of Go's programs jumps to */

	/* For rules by the code itself. NULL: not known. */
	const struct code_arch *code;

	/* Whether code begins with a system call. */
	bool (*is_syscall)(const uint8_t *bytes, size_t size);
};

#endif
