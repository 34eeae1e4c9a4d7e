/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * probe_parts: what the files of probe_sites share: probe_sites.c, probe_table.c and probe_fields.c (3.11 and later),
 * probe_sites_old.c, probe_lines.c and probe_lines_old.c, probe_frees.c. No other file includes it.
 */
#ifndef STRATA_PYTHON_PROBE_PARTS_H
#define STRATA_PYTHON_PROBE_PARTS_H

#include "runtime/python/probe_code.h"
#include "runtime/python/probe_sites.h"

struct sites_search {
	const struct elf_file *elf;
	const struct python_range *ranges;
	size_t range_count;
	const struct py_layout *layout;
	uint8_t minor; /* of the version */
	struct probe_code code;
	struct python_sites *sites; /* what was found */
	/* 3.11+ */
	uint64_t handlers[256];
	struct python_place frame_at, instruction_at; /* at a handler's beginning: a register, or a local variable */
	uint8_t frame, instruction;  /* their nodes, in a line that python_sites_begin() began */
	struct python_place tstate;  /* there */
	uint16_t recursion;          /* tstate->(py_)recursion_remaining */
	struct python_site versions; /* what RESUME compares: only `again` and the offsets are set */
	size_t left_out; /* index in probe_opcodes.def of the instruction that has no handler of its own; SIZE_MAX: none
			  */
};

int python_sites_refuse(const struct elf_file *elf, struct diag *diag, const char *why);

bool python_same_place(const struct python_place *a, const struct python_place *b);
bool python_sites_in_loop(const struct sites_search *search, uint64_t vaddr);

/* The table opcode_targets: fills handlers, the sites' table and jit. */
int python_sites_find_opcodes(struct sites_search *search, struct diag *diag);

/* 3.11 and later: fills handlers, frame and instruction, where they are, the sites' table, handlers and jit. */
int python_sites_find_table(struct sites_search *search, struct diag *diag);

/* 3.11 and later: a line that begins where a handler does. */
void python_sites_begin(const struct sites_search *search, struct probe_line *ret);

enum probe_writes { WRITES_NOT, WRITES_MORE, WRITES_LESS, WRITES_UNKNOWN };

/* Does this instruction add 1 to a 32-bit word, at once or by a register, or take 1 from it? *at: the word. */
enum probe_writes python_sites_counts(const struct probe_line *line, const struct spot_insn *insn,
				      struct probe_value *at);

/*
 * 3.12 and later: how RESUME or RESUME_CHECK compares the code object's version with that of what is instrumented.
 * Fills tstate and versions.
 */
bool python_sites_find_versions(struct sites_search *search, uint64_t handler);
/* Is this instruction that comparison, of nothing but the two versions? After python_sites_find_versions(). */
bool python_sites_compares_versions(const struct sites_search *search, const struct probe_line *line,
				    const struct spot_insn *insn);
/*
 * Free-threaded 3.14 and later: RESUME asks whether the frame has the copy of the bytecode that is the thread's. Fills
 * versions.copy_offset. After the versions.
 */
bool python_sites_find_copy(struct sites_search *search, uint64_t handler);
/* Where RETURN_VALUE gives its level of recursion back: fills recursion, and tstate where it is not known. */
bool python_sites_find_recursion(struct sites_search *search, uint64_t handler);

/*
 * What is known at a point of a handler's line, for a breakpoint there. `stored`: frame->instr_ptr was written on the
 * way, with what is `behind` bytes behind the instruction. False: frame or instruction are not known.
 */
bool python_sites_describe(const struct sites_search *search, const struct probe_line *line, bool stored,
			   int64_t behind, struct python_site *ret);

/* 3.11 to 3.15: the code of each instruction, for lines. Fills the sites' lines or no_lines. 0, or -ENOMEM. */
int python_sites_find_lines(struct sites_search *search);
/* The same of 3.6 to 3.10. */
int python_sites_find_lines_old(struct sites_search *search);
/* For both. The one of the sites' lines that is at this address; NULL: none. */
struct python_site *python_sites_line_at(const struct sites_search *search, uint64_t vaddr);
/* Sorts them; or, if there was an error, says that there are none. 0, or -ENOMEM, if it was that. */
int python_sites_end_lines(struct python_sites *sites, int err);

/* Where code objects are freed: fills the sites' frees, if all are freed there. */
void python_sites_find_frees(struct sites_search *search);

/* 3.6 to 3.10. */
int python_sites_find_old(struct sites_search *search, struct diag *diag);

#endif
