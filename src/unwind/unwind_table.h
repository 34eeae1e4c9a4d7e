/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * unwind_table: .eh_frame of one ELF file compiled to rows.
 *
 * A row says: from this vaddr up to the next row's, rule number N is in force. Rows are sorted by address, have no
 * duplicates, and adjacent rows differ in their rule. Text that no FDE covers has a row with UNWIND_NO_RULE. Rules are
 * deduplicated: real files have 255 to 800 distinct ones.
 *
 * Besides the FDEs, the compiler knows what they leave out:
 * - Stubs in .plt, .plt.sec and .plt.got; .init and .fini; the entry point _start and clone's child (UNWIND_END);
 *   signal trampolines, by the 'S' augmentation or by their bytes.
 * - Large stretches of code without FDEs that keeps frame pointers (V8's builtins in node, Chromium), recognised by
 *   how often it sets them up: UNWIND_FP_CHAIN. Where a function has just been entered or is about to
 *   return, the walk reads the instructions (arch_code_cfa()). Chromium's 225 MB of code had 3.1 million rows
 *   before, which took 0.9 s at each start and 282 MB; now 65,000, 36 ms and 60 MB.
 * - Other code without FDEs gets its rows from Go's tables (source.h), or from what it does (code_rules.h).
 *
 * Everything in .eh_frame is hostile. A damaged CIE or FDE is skipped and counted; compilation fails only when nothing
 * is left. If a part of the file cannot be read, because its file system does not answer or memory is short, there is
 * no table, and the reason is named: otherwise unread code would look like code without rules.
 */
#ifndef STRATA_UNWIND_UNWIND_TABLE_H
#define STRATA_UNWIND_UNWIND_TABLE_H

#include "abi/unwind.h"
#include "arch/arch.h"
#include "base/cache.h"
#include "elf/elf_file.h"
#include "unwind/code_rules.h"

struct unwind_row {
	uint32_t offset; /* vaddr - table.base */
	uint32_t rule;   /* index into table.rules */
};

struct unwind_table {
	uint64_t base; /* lowest vaddr of the executable segments */
	uint64_t end;  /* one past the highest */
	struct unwind_row *rows;
	size_t row_count;
	struct unwind_rule *rules;
	size_t rule_count;
	size_t fde_count, fde_skipped;
	size_t unsupported;                 /* rows whose rule is UNWIND_UNSUPPORTED */
	uint64_t text_bytes, covered_bytes; /* of the executable segments */
	uint64_t derived_bytes;             /* of those covered, by what the code itself does */
	struct code_counts derived;
	bool derived_cached; /* that came from the cache */
	uint64_t derived_ns; /* the time to find it, or to look it up */
};

/* More than any known file has; a file with more is refused. */
#define UNWIND_FDES_MAX (2u << 20) /* 40 MiB while it is compiled */
#define UNWIND_ROWS_MAX (4u << 20) /* 32 MiB */

struct unwind_options {
	struct cache *cache;          /* of ANALYSER_VERSION (mk/build.mk): keeps what machine code tells; NULL: none */
	void (*pause)(void *context); /* called every few milliseconds, for what cannot wait; NULL: nothing is */
	/*
	 * So many bytes of machine code are to be followed, at 0.25 us each. 0: here and now; or, with *bytes, another
	 * process has done it (engine/analyser.h), and this is what it gave to `found`, which may be anything.
	 * -ECANCELED: never, it has the rule UNWIND_OVER_BUDGET. Another negative errno: not now, it is what
	 * compilation fails with. NULL: here. Not called for little code, nor for that of start files.
	 */
	int (*follow)(void *context, uint64_t code, const uint8_t **bytes, size_t *size);
	/* What came of code that was followed here; NULL: nobody asks for that. */
	void (*found)(void *context, const void *bytes, size_t size);
	void *context;
};

/*
 * Compiles; *ret is to be released with unwind_table_deinit(). `options` may be NULL. -ENOENT when the file has no
 * .eh_frame at all and no other way tells of its code (the table then still covers PLT and entry point, and is
 * usable), -EBADMSG when it is damaged beyond use, -EFBIG beyond the bounds above, -E2BIG when the text spans more than
 * 4 GiB, what options->follow() says, or what elf_file_unread() says: part of the file could not be read, and its rows
 * are not known.
 */
int unwind_table_compile(const struct elf_file *elf, const struct unwind_options *options, struct unwind_table *ret,
			 struct diag *diag);
void unwind_table_deinit(struct unwind_table *table);

/* Does of that only what may take long: follows the code that has no FDE, and gives it to options->found(). */
int unwind_follow(const struct elf_file *elf, const struct unwind_options *options, struct diag *diag);

/* The rule in force at a vaddr; UNWIND_NO_RULE outside the table. */
struct unwind_rule unwind_table_lookup(const struct unwind_table *table, uint64_t vaddr);

/*
 * The range of the FDE that covers a vaddr. False if none does. Reads .eh_frame_hdr's index, or else all of .eh_frame.
 */
bool unwind_find_fde(const struct elf_file *elf, uint64_t vaddr, uint64_t *start, uint64_t *end);

/*
 * Finds the functions of code that no FDE covers, by following it (code_rules.h): visits runs of it with their
 * function's first address, in no order, until `visit` returns other than 0. Takes 0.2 us a byte of such code, of at
 * most 4 MiB. 0 or -ENOMEM, which `visit` may return, too.
 */
int unwind_code_functions(const struct elf_file *elf,
			  int (*visit)(void *context, uint64_t start, uint64_t end, uint64_t function), void *context);

/*
 * The rule of a row as "cfa=rsp+24 rbp=cfa-16 rbx=cfa-24", without rbx where it was not changed; for tests. Returns the
 * length as snprintf does.
 */
int unwind_rule_format(const struct unwind_arch *arch, const struct unwind_rule *rule, char *buffer, size_t size);

#endif
