/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * debuginfod: debug files from servers that give them by build id, by elfutils' client library.
 *
 * The user names the servers in DEBUGINFOD_URLS; without it nothing is asked. The library is loaded by a child process
 * that asks for one file and ends: it opens connections and parses what strangers send, and may be stopped at any time.
 * What it has loaded is in the client's cache, where elf/debug_file.h finds it, and believes it no more than any other
 * debug file. The variables of debuginfod_find_debuginfo(3) hold: the cache's place, time limits. A file is of
 * DEBUGINFOD_MAXSIZE bytes at most, 2 GiB without that.
 *
 * This is the one place where these variables are read.
 */
#ifndef STRATA_ELF_DEBUGINFOD_H
#define STRATA_ELF_DEBUGINFOD_H

#include <limits.h>
#include <stdbool.h>

/* Whether the user has named servers. */
bool debuginfod_wanted(void);
/* From now on they have not: nothing is asked, and what was loaded before is not used. */
void debuginfod_decline(void);

/* Where the client keeps the debug file of a build id, hexadecimal. False: nowhere, or no servers are named. */
bool debuginfod_cache_path(const char *build_id, char path[PATH_MAX]);

/*
 * Has the client load the debug file of a build id, hexadecimal, into its cache, in `seconds` at most. 0; -ENOENT: no
 * server has it; -ENOTSUP: the library is missing; -ECHILD: a child could not be forked; -ETIMEDOUT; -EINTR: a
 * signal that the caller blocks came; or another negative errno.
 */
int debuginfod_fetch(const char *build_id, double seconds);

#endif
