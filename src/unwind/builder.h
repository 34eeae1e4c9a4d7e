/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * builder: the state of one compilation, shared by unwind_table.c (FDEs to rows), gaps.c (rows for what no FDE covers)
 * and unwind_parts.c (a part of a file at a time). For src/unwind/ only. Offsets are from the table's base; rows are
 * added in ascending order.
 */
#ifndef STRATA_UNWIND_BUILDER_H
#define STRATA_UNWIND_BUILDER_H

#include "base/table.h"
#include "base/vec.h"
#include "arch/arch.h"
#include "unwind/cfi.h"
#include "unwind/eh_frame.h"
#include "unwind/rule_ranges.h"
#include "unwind/source.h"
#include "unwind/unwind_table.h"

struct fde_ref {
	uint32_t start; /* from the table's base */
	uint32_t size;
	uint32_t instructions, instructions_size;
	uint32_t cie; /* index */
};

struct cie_entry {
	struct eh_cie cie;
	struct cfi_state initial;
	bool usable;
};

#define RECENT_RULES 64 /* a power of two */

/* A rule interned lately: what prologues and epilogues do comes again and again. */
struct recent_rule {
	uint64_t key; /* the rule's bytes as a number, + 1; 0: none */
	uint32_t index;
};

struct builder {
	const struct elf_file *elf;
	const struct unwind_options *options;
	const struct unwind_arch *arch;
	struct unwind_table *table;
	struct eh_frame frame;
	VEC(struct unwind_row) rows;
	VEC(struct unwind_rule) rules;
	VEC(struct fde_ref) fdes;
	VEC(struct cie_entry) cies;
	/* For addresses that no FDE covers; each sorted by start, and without overlaps. */
	rule_ranges fixed;                   /* PLT stubs, start files, the entry point */
	rule_ranges told;                    /* by runtimes' own tables */
	rule_ranges derived;                 /* by the code itself */
	const struct unwind_source *telling; /* whose ranges are being taken */
	struct table rule_index;             /* the rule's bytes as a number, + 1 -> index */
	struct table cie_index;              /* offset + 1 -> index */
	struct recent_rule recent[RECENT_RULES];
	bool has_entry;
	uint32_t entry;  /* where the entry point begins */
	uint32_t done;   /* addresses below this one have their rows */
	bool signal;     /* of the FDE that is running */
	size_t searched; /* bytes of gaps */
	size_t looked;   /* the same, for frame pointers */
	/* Only rows in [window, window_end) are wanted; gaps are cut to this range. */
	uint32_t window, window_end;
	bool is_part;    /* only some FDEs are known, so code without FDEs is not analysed */
	bool lacks_code; /* there is such code in the part */
	int err;
};

/* Begins the compilation into `table`. *b must be released whether this fails or not. */
int builder_init(struct builder *b, const struct elf_file *elf, const struct unwind_options *options,
		 struct unwind_table *table, struct diag *diag);
void builder_deinit(struct builder *b);

/* Collects an FDE when it is sound and lies in the text. 0, -ENOMEM, or -EFBIG when there are too many. */
int builder_collect_fde(struct builder *b, const struct eh_entry *entry);

int builder_sort_fdes(struct builder *b);
/* All FDEs of the file, sorted. 0, -ENOMEM or -EFBIG. */
int builder_collect_fdes(struct builder *b);

/* The rows of an FDE, and of the gap between b->done and it. */
void builder_compile_fde(struct builder *b, const struct fde_ref *ref);

/* Hands the rows and rules over to the table. */
void builder_finish(struct builder *b);

/* The rule from `offset` on. Errors stay in b->err. */
void builder_add_row(struct builder *b, uint32_t offset, struct unwind_rule rule);

/* Finds what is known of code without FDEs; the FDEs are collected and sorted. 0, -ENOMEM or what options->follow()
 * said. */
int builder_find_fillers(struct builder *b);
/* The part of it that takes no FDEs: PLT, start files, the entry point. */
int builder_find_fixed(struct builder *b);

/* The functions in what no FDE covers and Go's tables do not tell: unwind_code_functions(). The FDEs are sorted. */
int builder_find_functions(struct builder *b,
			   int (*visit)(void *context, uint64_t start, uint64_t end, uint64_t function), void *context);

/*
 * Whether code that no FDE covers keeps frame pointers, as a program's own compiler makes it: its first bytes are
 * looked at.
 */
bool gap_keeps_frames(const struct elf_file *elf, const struct unwind_arch *arch, uint64_t start, uint64_t size);

/* Rows for [b->done, end), which no FDE covers. */
void builder_fill_gap(struct builder *b, uint32_t end);

#endif
