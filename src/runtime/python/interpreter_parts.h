/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * interpreter_parts: what the files of `interpreter` share: interpreter.c, interpreter_version.c,
 * interpreter_offsets.c. For src/runtime/python/ only.
 */
#ifndef STRATA_PYTHON_INTERPRETER_PARTS_H
#define STRATA_PYTHON_INTERPRETER_PARTS_H

#include "runtime/python/interpreter.h"

/* A version and where it was read. */
struct python_version {
	uint16_t version; /* (major << 8) | minor */
	uint8_t micro;
	bool exact; /* micro is known */
	const char *source;
};

/* The newest version that is known. */
#define PYTHON_NEWEST 0x030f

/*
 * layouts.def and the tables beside it were made from default builds for this machine. Other machines have other
 * layouts.
 */
#define PYTHON_TABLES_OF EM_X86_64

/* -ENOTSUP, and a diag that names a version which strata does not know. */
int python_not_known(const struct elf_file *elf, uint16_t version, struct diag *diag);

/* From the 32-bit form of PY_VERSION_HEX. */
struct python_version python_version_of_hex(uint64_t hex, const char *source);

/*
 * Parses a terminated PY_VERSION text such as "3.8.18" or "3.9.0rc1+" in `size` bytes, which may be followed by
 * anything. False when it is none.
 */
bool python_version_parse(const uint8_t *text, size_t size, struct python_version *ret);

/*
 * Finds the version of an interpreter without _Py_DebugOffsets: Py_Version, the text that Py_GetVersion() refers to, or
 * a search of .rodata. `has_runtime`: the file defines _PyRuntime. False: nothing in the file says it.
 */
bool python_version_find(const struct elf_file *elf, bool has_runtime, struct python_version *ret);

/*
 * Finds a symbol of the C API: among the dynamic ones, which is quick; among all of them only in a file that exports no
 * C API but may contain an interpreter (a program with an interpreter inside, a fully static one).
 */
bool python_find_exported(const struct elf_file *elf, const char *name, uint64_t *vaddr, uint64_t *size);
bool python_exports(const struct elf_file *elf, const char *name);

/* The vaddr of _PyRuntime, by its section or its symbol. False: there is neither. */
bool python_find_runtime(const struct elf_file *elf, uint64_t *ret);

/* True when the bytes at _PyRuntime's vaddr are a _Py_DebugOffsets. */
bool python_offsets_present(const struct elf_file *elf, uint64_t runtime);

/*
 * Fills version, free_threaded, to_prove, layout, layout_source and interp_head of *ret from the _Py_DebugOffsets at
 * `runtime`. -ENOTSUP: the version is unknown, and its structure is not like that of any known version. -EBADMSG: the
 * values are impossible.
 */
int python_offsets_read(const struct elf_file *elf, uint64_t runtime, struct python_interpreter *ret,
			struct diag *diag);

#endif
