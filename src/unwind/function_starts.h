/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * function_starts: where the function at an address begins, in code without a symbol. Tried in this order:
 *
 *   section   a stub of the PLT; .init and .fini, each of which is one function
 *   FDE       the one that covers the address, by .eh_frame_hdr's table; if that makes no sense, by a list of all
 *             FDEs, made once. A part that the compiler moved elsewhere has an FDE, and so a start, of its own
 *   Go        the linker's table of functions
 *   V8        its builtins keep frame pointers and are at aligned addresses, with breakpoints as padding. One such
 *             place in thirty is a breakpoint within a function before an aligned loop: that function has two starts
 *   code      other code is followed from known starts of functions (unwind_code_functions())
 *
 * If none of these helps, there is no answer. An address takes time that is logarithmic in the file's size; but the
 * first address that needs it makes the list of all FDEs, or follows up to 4 MiB of code (0.8 s). Not thread-safe.
 */
#ifndef STRATA_UNWIND_FUNCTION_STARTS_H
#define STRATA_UNWIND_FUNCTION_STARTS_H

#include "elf/elf_file.h"

struct function_starts;

/* `elf` is closed with it, or at once if this fails. 0 or -ENOMEM. */
int function_starts_create(struct elf_file *elf, struct function_starts **ret);
void function_starts_destroy(struct function_starts *starts);

/*
 * The start, a vaddr of the file's code. If code was followed, a part of a function may lie before its start. 0,
 * -ENOENT if it is not known, -ENOMEM.
 */
int function_starts_find(struct function_starts *starts, uint64_t vaddr, uint64_t *ret);

#endif
