/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * debug_info: the DWARF of one ELF file, by elfutils' libdw: which function begins at an address, where its parameters
 * are, what a type looks like, where a line's statement is.
 *
 * Whoever wrote the file chose every byte of it. So entries are looked through only by the functions here, which bound
 * how many and how deep; references from entry to entry are followed a bounded number of times. libdw's own searches
 * (dwarf_getfuncs(), dwarf_peel_type(), ...) have no bounds and are not used. The file is read, never mapped. Sizes
 * that contradict each other, and records that contain themselves, become types without a value.
 *
 * Addresses are ELF virtual addresses of the file, which are also those of a separate debug file. Entries (Dwarf_Die)
 * and the texts they give live as long as the debug_info. Not thread-safe.
 */
#ifndef STRATA_DWARF_DEBUG_INFO_H
#define STRATA_DWARF_DEBUG_INFO_H

#include <elfutils/libdw.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/diag.h"
#include "dwarf/die.h"
#include "elf/elf_file.h"

struct debug_info;

struct debug_info_options {
	const char *root, *folders; /* where a separate debug file is looked for: elf_debug_info_open() */
	uint64_t bytes_max;         /* uncompressed, since all of it is read; 0: any number */
	/*
	 * The file may be anybody's, and the user did not name it. So .dwo files, which libdw would open wherever the
	 * file says, and packages are not opened. Split units have lines, and no functions.
	 */
	bool is_strange;
	/* This process cannot open files (base/confine.h): the file's own descriptor is used, and no other file. */
	bool is_confined;
};

/*
 * Opens the DWARF of `elf`, which must outlive it, or of its separate debug file. -ENOENT with a diag when there is
 * none, or when it lacks the file that it has common parts in (dwz), -E2BIG when it is too large.
 */
int debug_info_open(const struct elf_file *elf, const struct debug_info_options *options, struct debug_info **ret,
		    struct diag *diag);
/* The same of an image in memory, which must outlive it. */
int debug_info_open_memory(void *bytes, size_t size, struct debug_info **ret, struct diag *diag);
void debug_info_close(struct debug_info *info); /* may be NULL */

/* A compile unit. `die` is where its entries are: of split DWARF in the other file. */
struct debug_unit {
	Dwarf_Die die, skeleton; /* the same but in split DWARF */
	bool is_split_away;      /* its entries are in a file that was not found */
	const char *split_name;  /* of that file */
	/*
	 * Its entries are those of a DWARF package: they do not know the addresses of their functions, which are found
	 * by their names.
	 */
	bool is_packed;
	/* Of debug_info_unit_of(): which one it is, and that it does not say which addresses are its. */
	uint32_t number;
	bool is_everywhere;
};

/* The unit after the one at *at, 0 for the first. False after the last. */
bool debug_info_unit(struct debug_info *info, uint64_t *at, struct debug_unit *ret);

/* The next unit that may have code at this address; *next is 0 for the first. False after the last. */
bool debug_info_unit_of(struct debug_info *info, uint64_t vaddr, size_t *next, struct debug_unit *ret);

/*
 * The unit that has code at this address, and the function that begins there. False when there is none; the unit is
 * filled in all the same if there is one.
 */
bool debug_info_function(struct debug_info *info, uint64_t vaddr, struct debug_unit *unit, Dwarf_Die *ret);

/* The function with code at this address, of a unit of debug_info_unit_of(). False when there is none. */
bool debug_info_function_around(struct debug_info *info, const struct debug_unit *unit, uint64_t vaddr, Dwarf_Die *ret);

/*
 * A function of the unit that other units can call, by its name: for one whose code the compiler made of another's, so
 * that no entry tells where it is. False when there is none.
 */
bool debug_info_function_named(struct debug_unit *unit, const char *name, Dwarf_Die *ret);

/*
 * The definition of a type by its name: "struct NAME" (also a class), "union NAME", "enum NAME", else a typedef or, in
 * C++, a class. First in `unit` (may be NULL), then in all others.
 */
bool debug_info_type(struct debug_info *info, struct debug_unit *unit, const char *name, Dwarf_Die *ret);

/* The enumeration that has a constant of this name, and its value: in this unit. */
bool debug_info_constant(struct debug_unit *unit, const char *name, Dwarf_Die *ret, int64_t *value);

#endif
