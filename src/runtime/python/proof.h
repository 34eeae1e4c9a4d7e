/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * proof: is a layout true of a live process? Follows a thread's chain of frames to its end, and asks of every one what
 * must hold of a frame and hardly can of anything else: its code is a code object, with a name, a qualified name that
 * ends in it and a file; its line table is a bytes object that covers just as many code units as the code says it has;
 * its instruction lies in that code, and its line in the file. The chain must end as a thread's does: one run of the
 * interpreter loop, below it nothing, or the thread state's base frame.
 *
 * For layouts with PY_LASTI_POINTER and PY_ENTRY_SHIM: those of versions that publish their offsets. All that is read
 * is bounded. The process runs meanwhile: what does not hold may have been torn, and is to be asked again.
 */
#ifndef STRATA_PYTHON_PROOF_H
#define STRATA_PYTHON_PROOF_H

#include <stdbool.h>

#include "runtime/python/abi.h"
#include "proc/memory.h"

/*
 * True when the thread state's chain proves the layout; *frames are those that were looked at. Else false, and *why
 * (static) says what does not hold; NULL when the thread has no frames.
 */
bool python_proof(const struct memory *memory, const struct py_layout *layout, uint64_t tstate, size_t *frames,
		  const char **why);

#endif
