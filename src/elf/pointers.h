/* SPDX-License-Identifier: GPL-2.0-or-later */
/* pointers: the addresses that a file's data holds when it is loaded at its own vaddrs. */
#ifndef STRATA_ELF_POINTERS_H
#define STRATA_ELF_POINTERS_H

#include "elf/elf_file.h"

/* The word at `place` is `target`. Not 0: stop, and return that. */
typedef int (*elf_pointer_visit)(void *context, uint64_t place, uint64_t target);

/*
 * First those that the dynamic linker writes, by relocations of type `relative` (R_*_RELATIVE), which are sorted by
 * place; then each word of the data as it stands in the file, but 0: programs with fixed addresses have them there, and
 * so do relocations without addends (RELR). 0, or what a visit returned.
 */
int elf_pointers_each(const struct elf_file *elf, uint32_t relative, elf_pointer_visit visit, void *context);

#endif
