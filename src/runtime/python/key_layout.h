/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * key_layout: where a libc keeps a thread's values for pthread keys. This is private to the libc, and differs between
 * glibc's versions and musl. So it is not hard-coded: the code of pthread_getspecific() is evaluated (key_decoder.h)
 * with some keys, and the results must have the form that struct py_keys describes.
 */
#ifndef STRATA_PYTHON_KEY_LAYOUT_H
#define STRATA_PYTHON_KEY_LAYOUT_H

#include "runtime/python/abi.h"
#include "runtime/python/key_decoder.h"

#define KEY_GETTER "pthread_getspecific"

/* From the function at an address of an image. 0; -ENOENT when its code was not understood; -ENOTSUP; -ENOMEM. */
int key_layout_evaluate(uint16_t machine, const struct key_image *image, uint64_t function, struct py_keys *ret);

/*
 * Where a file defines the function: a libc, a libpthread, or, if its other symbols are to be searched as well
 * (`whole`), a program that is linked to one statically. Without that a hash-table lookup.
 */
bool key_layout_function(const struct elf_file *elf, bool whole, uint64_t *vaddr, uint64_t *size);

/* From such a file. Takes milliseconds: loads the disassembler. -ENOENT also when it does not define the function. */
int key_layout_read(const struct elf_file *elf, struct py_keys *ret);

#endif
