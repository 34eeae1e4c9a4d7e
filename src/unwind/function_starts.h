/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * function_starts: where the function at an address begins, in code without a symbol. Asked in this order:
 *
 *   section   a stub of the PLT; .init and .fini, each of which is one function
 *   FDE       the one that covers the address, by .eh_frame_hdr's table; where that makes no sense, by a list of all
 *             FDEs that is made once. A part that the compiler moved elsewhere has an FDE, and so a start, of its own
 *   Go        the linker's table of functions
 *   V8        its builtins keep frame pointers, and stand at aligned addresses, filled up with breakpoints. One such
 *             place in thirty is a breakpoint within a function before an aligned loop: that function has two starts
 *   code      what else no table tells is followed from where functions are known to begin (unwind_code_functions())
 *
 * Where nothing tells there is no answer. An address takes time that is logarithmic in what the file has; but the first
 * one that needs it has all FDEs listed, or up to 4 MiB of code followed (0.8 s). Not thread-safe.
 */
#ifndef STRATA_UNWIND_FUNCTION_STARTS_H
#define STRATA_UNWIND_FUNCTION_STARTS_H

#include "elf/elf_file.h"

struct function_starts;

/* `elf` is closed with it, or at once if this fails. 0 or -ENOMEM. */
int function_starts_create(struct elf_file *elf, struct function_starts **ret);
void function_starts_destroy(struct function_starts *starts);

/*
 * The start, a vaddr of the file's code. What lies before it belongs to it all the same where code was followed. 0,
 * -ENOENT when it cannot be told, -ENOMEM.
 */
int function_starts_find(struct function_starts *starts, uint64_t vaddr, uint64_t *ret);

#endif
