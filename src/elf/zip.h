/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * zip: files that are stored uncompressed in a ZIP archive, so that the kernel can map them from the archive, as
 * Android does with the libraries of its packages. Every byte of an archive is hostile.
 */
#ifndef STRATA_ELF_ZIP_H
#define STRATA_ELF_ZIP_H

#include <stdint.h>

#include "base/foreign.h"

struct zip_entry {
	const char *name;      /* as the archive has it, without a slash before it */
	uint64_t offset, size; /* of its bytes, in the archive */
};

/*
 * Calls back for each file that is stored uncompressed and not encrypted, in the order of the archive's directory, with
 * bytes that lie in the archive. 0; -ENOEXEC when it is no ZIP archive or its directory is damaged (what stands before
 * the damage was called for); -ENOTSUP when it is a ZIP64 one, of more than 4 GiB or 65,534 files; or another negative
 * errno of reading it.
 */
int zip_each(struct foreign_file *file, void (*each)(void *context, const struct zip_entry *entry), void *context);

#endif
