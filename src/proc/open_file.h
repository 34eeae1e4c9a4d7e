/* SPDX-License-Identifier: GPL-2.0-or-later */
/* open_file: opens the file behind a mapping, even if it is in another root, deleted or replaced. */
#ifndef STRATA_PROC_OPEN_FILE_H
#define STRATA_PROC_OPEN_FILE_H

#include "base/foreign.h"
#include "proc/processes.h"

/*
 * 0 or a negative errno, as foreign_open(). `process` and `mapping`, one of that process, may be NULL; so may `files`.
 */
int mapped_file_open(struct foreign_files *files, const struct mapped_file *file, const struct process *process,
		     const struct process_mapping *mapping, struct foreign_file **ret);

#endif
