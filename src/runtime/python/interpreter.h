/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * interpreter: does this ELF file contain a CPython, which version, and where are its data and its loop?
 *
 * Recognition is by content, never by the file's name: the dynamic or static symbols Py_Version, _PyRuntime and
 * PyInterpreterState_Head, the section .PyRuntime, and version strings. An interpreter can be a shared library
 * (libpython3.X.so) or an executable that contains it.
 *
 * Addresses are ELF vaddrs of this file. All that can be read from the file is read from there, so that a process is
 * known the moment it is mapped. That includes the values of _Py_DebugOffsets (3.13 and later), because the struct is
 * initialised data.
 */
#ifndef STRATA_PYTHON_INTERPRETER_H
#define STRATA_PYTHON_INTERPRETER_H

#include "runtime/python/abi.h"
#include "elf/elf_file.h"
#include "runtime/python/objects.h"

struct python_range {
	uint64_t start, end; /* vaddrs, end exclusive */
	bool cold;
	bool handler; /* the function of one instruction in the tail-call interpreter: called by the loop's function,
			 and part of the same run */
	const char *evidence; /* static: "symbol", "symbol .cold", "jump into FDE, jumps back", ... */
};

struct python_interpreter {
	uint16_t version; /* (major << 8) | minor */
	uint8_t micro;
	bool version_exact; /* false: micro is not known */
	bool free_threaded, debug_build;
	bool to_prove; /* unknown version: a live process must prove `layout` before it is used (runtime/python/proof.h)
			*/
	const char *version_source; /* static: "Py_Version", "_Py_DebugOffsets", "version string", ... */
	const char *layout_source;  /* static: "_Py_DebugOffsets", "table 3.11" */
	struct py_layout layout;
	struct py_objects objects;
	uint64_t interp_head;    /* vaddr of the pointer to the first PyInterpreterState; 0: not found */
	uint64_t current_tstate; /* vaddr of the pointer to the thread state that holds the GIL: _PyThreadState_Current
				    (3.6), gilstate.tstate_current (3.7 to 3.11); else 0 */
};

/*
 * Looks at a file quickly (hash-table lookups only: some tens of microseconds): 1 and *ret when it contains a CPython
 * that strata can walk, 0 when it contains none, a negative errno and a diag when it contains one that is not
 * understood (unknown version, no layout: -ENOTSUP; -EBADMSG: damaged).
 */
int python_interpreter_recognise(const struct elf_file *elf, struct python_interpreter *ret, struct diag *diag);

/*
 * The address ranges of the interpreter loop: _PyEval_EvalFrameDefault, its cold parts, and the _TAIL_CALL_*
 * functions of 3.14 and later; by symbols, or by what the code does. Slow (disassembles the loop, 2 to 20 ms): call it
 * once per file, when merging. *ret is malloc'd, sorted by start; the caller frees it. -ENOENT when the loop was not
 * found.
 */
int python_eval_ranges(const struct elf_file *elf, const struct python_interpreter *interpreter,
		       struct python_range **ret, size_t *count, struct diag *diag);

#endif
