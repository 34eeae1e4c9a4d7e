/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * plt: which function a PLT stub calls. The stub names a slot of the GOT, or an index into .rela.plt; the
 * relocation of that slot names the symbol. Machine code is decoded in arch/NAME/plt.c.
 */
#ifndef STRATA_ELF_PLT_H
#define STRATA_ELF_PLT_H

#include "elf/elf_file.h"

/* Called for each stub. The name has no suffix and lives as long as the elf_file. Not 0: stop. */
typedef int (*elf_plt_visit)(void *context, uint64_t vaddr, uint64_t size, const char *name);

/* Visits the stubs of .plt, .plt.sec and .plt.got. 0, -ENOMEM or what `visit` returned. */
int elf_plt_each(const struct elf_file *elf, elf_plt_visit visit, void *context);

/* The stub that a vaddr lies in, whatever it calls; false outside of the stubs' sections. */
bool elf_plt_stub(const struct elf_file *elf, uint64_t vaddr, uint64_t *ret);

#endif
