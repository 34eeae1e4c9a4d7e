/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * package: DWARF packages (.dwp), which have the split units of a program in one file (DWARF 5, 7.3.5; before that,
 * version 2 of GNU). elfutils before 0.192 cannot read them. So the parts of one unit are put into an ELF file of its
 * own, in memory.
 */
#ifndef STRATA_DWARF_PACKAGE_H
#define STRATA_DWARF_PACKAGE_H

#include <libelf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Makes an ELF file with .dwo sections of the unit with this id, in malloc'd memory. False: the package has no such
 * unit, or contradicts itself.
 */
bool package_unit(Elf *package, uint64_t id, uint8_t **ret, size_t *size);

#endif
