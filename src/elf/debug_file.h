/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * debug_file: the separate file that holds a stripped file's .symtab, found by build id or by debug link (GDB manual,
 * "Debugging information in separate files").
 */
#ifndef STRATA_ELF_DEBUG_FILE_H
#define STRATA_ELF_DEBUG_FILE_H

#include "elf/elf_file.h"

/*
 * Opens ROOT/usr/lib/debug/.build-id/xx/yyyy.debug, which must bear the same build id; else the file named by
 * .gnu_debuglink, beside the ELF file, in .debug/ there, or under ROOT/usr/lib/debug, whose CRC must agree. NULL when
 * there is none. To be closed by the caller.
 */
struct elf_file *elf_debug_file_open(const struct elf_file *elf, const char *debug_root);

#endif
