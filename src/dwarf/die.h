/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * die: entries of DWARF that anybody may have written: children and references are followed a bounded number of times.
 * Results live as long as the entry's file is open.
 */
#ifndef STRATA_DWARF_DIE_H
#define STRATA_DWARF_DIE_H

#include <elfutils/libdw.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Calls back for each entry right below `parent` until it gives false, or there were too many. For the children of a
 * namespace the callback may call it itself.
 */
void die_children(Dwarf_Die *parent, bool (*each)(void *context, Dwarf_Die *child), void *context);

/* --- attributes, of an entry itself or of what it is an instance or a definition of --- */

const char *die_name(Dwarf_Die *die); /* NULL: it has none */
/* A number; false when there is none, or it is not known before the program runs. */
bool die_number(Dwarf_Die *die, unsigned int attribute, uint64_t *ret);
bool die_flag(Dwarf_Die *die, unsigned int attribute);
/* The entry's type; false when it has none (void). */
bool die_type(Dwarf_Die *die, Dwarf_Die *ret);
/* What is behind typedefs and qualifiers; false where that is void, or they have no end. */
bool die_peel(Dwarf_Die *type, Dwarf_Die *ret);
/* Bytes of a value of this type; false when that is not known. At most DIE_SIZE_MAX. */
#define DIE_SIZE_MAX (1u << 28)
bool die_size(Dwarf_Die *type, uint64_t *ret);
/* Elements of an array of one or more dimensions, the inner ones multiplied; 0: not known. */
#define DIE_DIMENSIONS_MAX 8
size_t die_dimensions(Dwarf_Die *array, uint64_t ret[DIE_DIMENSIONS_MAX]);

#endif
