/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * limits: the resource limits of this process (getrlimit(2)) that may be why something failed, for the message, and the
 * one of the size of files, which holds for files in memory, too (memfd_create(2)).
 */
#ifndef STRATA_BASE_LIMITS_H
#define STRATA_BASE_LIMITS_H

#include <stddef.h>
#include <stdint.h>

/* Bytes that a file written by this process may have; UINT64_MAX without a limit. */
uint64_t limits_file_size(void);

/*
 * Which limits that are set lead to this errno (positive): "ulimit -n is 20", "ulimit -f is 20 KiB". Returns the
 * length, 0 if there is none.
 */
size_t limits_words(int errnum, char *buffer, size_t size);

/*
 * A descriptor of a new file in memory with these bytes; close-on-exec. -EFBIG if the limit of the size of files is
 * lower, or another negative errno.
 */
int limits_memory_file(const char *name, const void *bytes, size_t size);

#endif
