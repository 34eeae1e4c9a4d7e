/* SPDX-License-Identifier: GPL-2.0-or-later */
/* decode: the names of code objects, from the strings that the walk has copied. */
#ifndef STRATA_RUNTIME_PYTHON_DECODE_H
#define STRATA_RUNTIME_PYTHON_DECODE_H

#include <stdbool.h>
#include <stdint.h>

#include "abi/events.h"

/* Writes a code point, up to 0x10ffff and no surrogate, as UTF-8, and returns its end. */
char *python_put_utf8(char *at, uint32_t c);

/*
 * As runtime.decode. The name is the qualified one where there is one. Hidden is CPython's own _Py_InitCleanup (3.12
 * on, Python/specialize.c): it stands between the caller of a class and its __init__, is in no source, and no traceback
 * shows it.
 */
void python_decode(const struct code_event *event, char **name, char **file, bool *hidden);

#endif
