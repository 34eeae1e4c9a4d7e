/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * package: a DWARF package (.dwp), which has the split units of a program in one file (DWARF 5, 7.3.5; before it GNU's
 * version 2). elfutils before 0.192 does not read them: here one unit's parts are made an ELF file of its own in
 * memory.
 */
#ifndef STRATA_DWARF_PACKAGE_H
#define STRATA_DWARF_PACKAGE_H

#include <libelf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * The unit with this id as an ELF file with .dwo sections, in malloc'd memory. False when the package has none, or
 * contradicts itself.
 */
bool package_unit(Elf *package, uint64_t id, uint8_t **ret, size_t *size);

#endif
