/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * symbols_parts: gathering the symbols of a file; shared by symbols.c (all symbols) and symbols_wanted.c (those of some
 * addresses). Nobody else includes it.
 */
#ifndef STRATA_ELF_SYMBOLS_PARTS_H
#define STRATA_ELF_SYMBOLS_PARTS_H

#include <elf.h>

#include "base/vec.h"
#include "elf/symbols.h"

/* Better is less. */
enum binding { BIND_GLOBAL, BIND_WEAK, BIND_LOCAL, BIND_STUB };

struct candidate {
	uint32_t offset, size;
	const char *name;
	uint32_t length;
	uint8_t binding;
	uint8_t underscores;
	bool guessed; /* elf_symbol.guessed */
};

/* Where an unsized symbol can reach at most. */
struct extent {
	uint64_t start, end;
};

struct gathering {
	const struct elf_file *elf;
	uint64_t base, end;
	VEC(struct extent) text; /* executable sections, or segments when there are no sections */
	VEC(struct candidate) candidates;
	size_t too_long; /* functions left out for their names: ELF_NAME_MAX, elf_names_budget() */
	char sources[64];
};

/* The base, the end, and where executable sections are. 0 or -ENOMEM. */
int symbols_find_text(struct gathering *g);

/* Adds a name of the text that is not empty; it must live until symbols_finish(). 0 or -ENOMEM. */
int symbols_add(struct gathering *g, uint64_t vaddr, uint64_t size, const char *name, size_t length,
		enum binding binding);
void symbols_add_source(struct gathering *g, const char *name);

/* Can a symbol be a function, if its name does not mark it as a label? `elf` is the file it comes from. */
bool symbols_is_function(const struct elf_file *elf, const Elf64_Sym *symbol);
/* $x, $d: mapping symbols of AArch64; .L: labels an assembler left. Looks at the name's first two letters. */
bool symbols_is_label(const Elf64_Sym *symbol, const char *name);
enum binding symbols_binding(const Elf64_Sym *symbol);

/* Makes the symbols of what was gathered, unless that failed with `err`; what g holds is given back. */
int symbols_finish(struct gathering *g, struct diag *diag, int err, struct elf_symbols **ret);

#endif
