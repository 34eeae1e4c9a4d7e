/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * debug_file: the separate file that holds a stripped file's .symtab and DWARF, found by build id or by debug link (GDB
 * manual, "Debugging information in separate files").
 */
#ifndef STRATA_ELF_DEBUG_FILE_H
#define STRATA_ELF_DEBUG_FILE_H

#include <limits.h>

#include "elf/elf_file.h"

/* The identifiers by which a file's debug file is found. */
struct elf_debug_names {
	uint8_t build_id[ELF_BUILD_ID_MAX];
	uint32_t build_id_size; /* 0: it has none */
	uint32_t crc;           /* of the debug link */
	char link[256];         /* .gnu_debuglink; "": it has none. Without a slash */
};

void elf_debug_names(const struct elf_file *elf, struct elf_debug_names *ret);

/*
 * A path where the debug file may be, by number below ELF_DEBUG_PATHS, in the order in which elf_debug_file_open()
 * tries them. `names` may hold anything. False: there is no such path.
 */
#define ELF_DEBUG_PATHS 5
bool elf_debug_path(const struct elf_debug_names *names, const char *elf_path, const char *root, unsigned int which,
		    char path[PATH_MAX]);

/*
 * Opens such a path. A ROOT of "/proc/PID/root" is gone when its process has ended, perhaps since a moment ago: if the
 * path cannot be opened below it, it is opened below this machine's own root. Whether it is the debug file tells its
 * content. `files` may be NULL. As foreign_open().
 */
int elf_debug_open(struct foreign_files *files, const char *path, const char *root, struct foreign_file **ret);

/*
 * Checks a candidate that somebody else has opened: it is the debug file if it has the same build id, or the CRC of the
 * debug link. NULL: it is not. To be closed by the caller.
 */
struct elf_file *elf_debug_file_check(const struct elf_file *elf, struct foreign_file *file);

/*
 * Opens ROOT/usr/lib/debug/.build-id/xx/yyyy.debug, or what debuginfod's client has in its cache (elf/debuginfod.h),
 * which must bear the same build id; else the file named by .gnu_debuglink, beside the ELF file, in .debug/ there, or
 * under ROOT/usr/lib/debug, whose CRC must agree. All are opened by elf_debug_open(). NULL when there is none. To be
 * closed by the caller.
 */
struct elf_file *elf_debug_file_open(const struct elf_file *elf, const char *debug_root);

/* Has it DWARF itself? */
bool elf_file_has_debug_info(const struct elf_file *elf);

/*
 * The separate file with the DWARF: first in `folders` ("DIR:DIR", of which a relative one is below the folder of the
 * ELF file; may be NULL), by the name of the debug link or NAME.debug, where the build id must be the same, or without
 * one the link's CRC must agree; then as elf_debug_file_open(). NULL when there is none. To be closed by the caller.
 */
struct elf_file *elf_debug_info_open(const struct elf_file *elf, const char *debug_root, const char *folders);

/*
 * A new descriptor of a file that `elf` names: an absolute path is below `root`, another one beside it. -1: there is
 * none.
 */
int elf_named_descriptor(const struct elf_file *elf, const char *root, const char *path);

/* A new descriptor of the DWARF package beside the file, NAME.dwp; -1: there is none. */
int elf_debug_package_descriptor(const struct elf_file *elf);

/* A new descriptor to read the file from, for libraries that need one; -1: there is none. */
int elf_file_descriptor(const struct elf_file *elf);
/* Its own descriptor, not to be closed; -1: there is none. */
int elf_file_borrowed(const struct elf_file *elf);

#endif
