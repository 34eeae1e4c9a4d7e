/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * elf_symbols: address → function name for one ELF file.
 *
 * Sources, all merged: .symtab, .dynsym, MiniDebugInfo (.gnu_debugdata, xz), and, where installed, the separate debug
 * file (/usr/lib/debug/.build-id/xx/yyyy.debug, then .gnu_debuglink beside the file, in .debug/ and under
 * /usr/lib/debug, CRC checked). PLT slots are named `symbol@plt`. Only STT_FUNC, STT_GNU_IFUNC and, in executable
 * sections, STT_NOTYPE are taken. Of several symbols at one address the best is kept: global over weak over local,
 * sized over unsized, fewer leading underscores, then shorter. A symbol of size 0 reaches to the next symbol or the end
 * of its section; where only exported symbols are known, that is a guess. Without .symtab only, MiniDebugInfo and then
 * the debug file are asked. An unsized symbol inside a sized one is a label and is dropped; of sized symbols that nest,
 * the innermost covers. Names are as in the file
 * (mangled), less their version ("@@GLIBC_2.2.5"); src/symbol/ demangles. Immutable after creation, so reads are
 * thread-safe.
 */
#ifndef STRATA_ELF_SYMBOLS_H
#define STRATA_ELF_SYMBOLS_H

#include "elf/elf_file.h"

struct elf_symbols;

struct elf_symbol {
	uint64_t vaddr, size;
	const char *name; /* lives as long as the elf_symbols */
	bool local;
	bool guessed; /* has no size, and the next function may have no symbol: it may end before */
};

/* `debug_root` is put before /usr/lib/debug ("" for this machine, "/proc/PID/root" for a container). The elf_file may
 * be closed afterwards. */
int elf_symbols_create(const struct elf_file *elf, const char *debug_root, struct elf_symbols **ret, struct diag *diag);

/*
 * Only the symbols that these addresses need, which may be in any order. Looking up one of them gives the same result
 * as with all symbols; other addresses may not. Memory depends on the number of these names, not on the file.
 */
int elf_symbols_create_for(const struct elf_file *elf, const char *debug_root, const uint64_t *vaddrs, size_t count,
			   struct elf_symbols **ret, struct diag *diag);

/*
 * The same of a file whose debug file, if there is one, is open already, by somebody else. `debug_file` is used only if
 * elf_symbols_create_for() would accept it; NULL: none.
 */
int elf_symbols_create_with(const struct elf_file *elf, struct foreign_file *debug_file, const uint64_t *vaddrs,
			    size_t count, struct elf_symbols **ret, struct diag *diag);
void elf_symbols_destroy(struct elf_symbols *symbols);

/* The symbol that covers a vaddr. False when none does. */
bool elf_symbols_lookup(const struct elf_symbols *symbols, uint64_t vaddr, struct elf_symbol *ret);

/* All symbols by address, for listings and for the search of eval-loop parts. */
size_t elf_symbols_count(const struct elf_symbols *symbols);
bool elf_symbols_at(const struct elf_symbols *symbols, size_t index, struct elf_symbol *ret);

/*
 * How many functions (of those that were asked for) are left out because their names are over 64 KiB, or all names of
 * the table too long together; at least that many.
 */
size_t elf_symbols_too_long(const struct elf_symbols *symbols);

/* Which sources gave anything: for inspect, such as "symtab+dynsym+plt"; "none". Lives as long as the elf_symbols. */
const char *elf_symbols_sources(const struct elf_symbols *symbols);

/* Bytes of memory held. */
size_t elf_symbols_bytes(const struct elf_symbols *symbols);

#endif
