/* SPDX-License-Identifier: GPL-2.0-or-later */
/* binary: finds the ELF files that attach points name, and their functions. */
#ifndef STRATA_LANG_PROVIDER_BINARY_H
#define STRATA_LANG_PROVIDER_BINARY_H

#include "elf/elf_file.h"
#include "lang/core/compiler.h"

/* What separates the path of a ZIP archive from that of a library in it. */
#define BINARY_ARCHIVE_MARK "!/"

/*
 * The files that a name means: a path, perhaps with wildcards, as the process of -p sees it; libraries that are stored
 * uncompressed in a ZIP archive ("ARCHIVE!/LIBRARY", whose path is then the archive's); a program in $PATH, and
 * its own library (python3: libpython3.11.so.1.0), for which many programs are no more than a start; a library
 * ("libc", "libssl.so.3") in the usual folders; or, for "*" and "", all files that the process has mapped to execute.
 * Calls back for each; the number of files.
 */
unsigned int binary_each(struct compiler *c, const char *name,
			 void (*each)(void *context, const char *path, const struct elf_file *elf), void *context);

/* What tells mapped files apart. `device` as in /proc/PID/maps: major << 32 | minor. */
static inline uint64_t binary_mapped_key(uint64_t device, uint64_t inode)
{
	return ((device >> 32) << 52 ^ (device & UINT32_MAX) << 44 ^ inode) | 1ull << 63;
}

/* The files that any process has mapped to execute, each once. c->mapped has them from then on. */
unsigned int binary_each_mapped(struct compiler *c,
				void (*each)(void *context, const char *path, const struct elf_file *elf),
				void *context);

/*
 * If the first file in $PATH with this name is a script, it is not known what it executes, unless
 * compile_options.program says it. Then binary_each() finds nothing, and this returns the script. Otherwise NULL.
 */
const char *binary_script(struct compiler *c, const char *name);

/* The program that -c runs. For a script, such as pyenv's, the program of the same name that it executes. */
const char *binary_command_program(struct compiler *c);

/*
 * The interpreter that the first line of -c's script names. NULL: it is no script, or env looks for the interpreter.
 */
const char *binary_command_interpreter(struct compiler *c);

/* Opens a file that an attach point names. 0 or a negative errno; -ETIMEDOUT, and a warning, if it does not answer. */
int binary_open(struct compiler *c, const char *path, struct foreign_file **ret);

/* Is there code at this address? */
bool binary_is_code(const struct elf_file *elf, uint64_t vaddr);

/* The offset in the file of an address of its text; false when no segment holds it. */
bool binary_offset(const struct elf_file *elf, uint64_t vaddr, uint64_t *ret);

#endif
