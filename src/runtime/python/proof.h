/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * proof: does a layout fit a live process? Follows a thread's chain of frames to its end, and checks for every frame
 * what is true of a frame and hardly of anything else:
 *
 * - its code is a code object, with a name, a file, and a qualified name that ends in the name;
 * - its line table is a bytes object that covers exactly as many code units as the code says it has;
 * - its instruction lies in that code, and its line in the file.
 *
 * The chain must end as a thread's does: with one run of the interpreter loop, and below it nothing, or the thread
 * state's base frame.
 *
 * For layouts with PY_LASTI_POINTER and PY_ENTRY_SHIM: those of versions that publish their offsets. All that is read
 * is bounded. The process goes on running: a failed check may come from a torn read, so the caller asks again.
 */
#ifndef STRATA_PYTHON_PROOF_H
#define STRATA_PYTHON_PROOF_H

#include <stdbool.h>

#include "runtime/python/abi.h"
#include "proc/memory.h"

/*
 * True if the chain of the thread state proves the layout. *frames: how many frames were checked. Otherwise false, and
 * *why (static) says what is wrong; NULL if the thread has no frames.
 */
bool python_proof(const struct memory *memory, const struct py_layout *layout, uint64_t tstate, size_t *frames,
		  const char **why);

#endif
