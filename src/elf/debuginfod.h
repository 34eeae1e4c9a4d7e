/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * debuginfod: debug files from servers, by build id, through elfutils' client library.
 *
 * The user names the servers in DEBUGINFOD_URLS; without it no server is asked. The library opens connections and
 * parses what strangers send. So a child process loads it, asks for one file and ends; it may be stopped at any time.
 * The client stores the file in its cache, where elf/debug_file.h finds it, and trusts it no more than any other debug
 * file. The variables of debuginfod_find_debuginfo(3) apply: the place of the cache, time limits. A file has at most
 * DEBUGINFOD_MAXSIZE bytes, or 2 GiB if that is not set.
 *
 * Only this module reads these variables.
 */
#ifndef STRATA_ELF_DEBUGINFOD_H
#define STRATA_ELF_DEBUGINFOD_H

#include <limits.h>
#include <stdbool.h>

/* Whether the user has named servers. */
bool debuginfod_wanted(void);
/* From now on no server is asked, and files that were loaded earlier are not used. */
void debuginfod_decline(void);

/*
 * The path at which the client stores the debug file of a build id, hexadecimal. False: there is no such place, or no
 * servers are named.
 */
bool debuginfod_cache_path(const char *build_id, char path[PATH_MAX]);

/*
 * Lets the client load the debug file of a build id, hexadecimal, into its cache, in at most `seconds`. 0; -ENOENT: no
 * server has it; -ENOTSUP: the library is missing; -ECHILD: a child could not be forked; -ETIMEDOUT; -EINTR: a signal
 * that the caller blocks came; or another negative errno.
 */
int debuginfod_fetch(const char *build_id, double seconds);

#endif
