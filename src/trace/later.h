/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * later: Pythons whose files appear while a script with python:EVENT runs: a copy in a virtual environment, the root of
 * a container, a prefix that was moved, a program with a libpython of its own. Their files are in no folder that was
 * looked through when the script was compiled. They get its probes as soon as a process has mapped them.
 *
 *   perf's side-band: a process has mapped a file to execute            kernel/sideband.h
 *     └─ was such a file mapped before?  yes ─► nothing
 *          └─ opened as the process has mapped it: in its root, deleted  proc/open_file.h
 *               └─ is it a Python?  no ─► nothing                        lang/provider/python.h
 *                    └─ is it a file that has its probes already?  yes ─► nothing
 *                         └─ has it the content of one that has?         lang/provider/python.h
 *                              ├─ yes ─► the programs of that one are attached to it
 *                              └─ no ──► where its probes are is found by a confined process, and the script is
 *                                        compiled once more, for this file; its programs use the maps of the first
 *
 * What a Python's probes read, and where, is compiled into their programs: they fit where the content is the same to
 * the byte. So a file of a new build takes a compilation, and a load; a copy only takes the attaching, of which the
 * kernel's wait for a grace period is the most: 10 to 15 ms. Two files that are one below (overlays of two containers)
 * get one breakpoint, as the kernel puts it into both.
 *
 * The files are anybody's. What strata itself reads of them is what sampling reads in the loop that drains the ring,
 * too: whether a file is a Python, its markers, and a digest. Its machine code is searched by a confined process
 * (engine/analyser.h), as kept in the cache of all commands. What that may cost is shared between users
 * (base/budget.h); LATER_FILES_MAX files are attached, LATER_BUILDS_MAX compiled for at most. A process that changes
 * the content of its file meanwhile has breakpoints in this file of its own where it does not expect them.
 *
 * When the side-band has lost records, all processes are looked at again.
 *
 * Not thread-safe.
 */
#ifndef STRATA_TRACE_LATER_H
#define STRATA_TRACE_LATER_H

#include <stdio.h>

#include "trace/run.h"

#define LATER_FILES_MAX  256
#define LATER_BUILDS_MAX 32

struct later;

/* Does the script have probes for Pythons that start later? Then run->files is needed. */
bool later_wanted(const struct compiler *c);

/*
 * When all probes are attached: begins, and looks for files that appeared since the script was compiled. `run` is
 * borrowed; links are added to its attachment.
 */
int later_create(struct run *run, struct later **ret, struct diag *diag);
void later_destroy(struct later *later); /* may be NULL */

/* Becomes readable when there is something for later_tend(). */
int later_fd(const struct later *later);
/* To be called at least ten times a second. */
void later_tend(struct later *later);

/* At the end: how many got their probes, how soon, and what is missing. */
void later_tell(const struct later *later, FILE *out);

#endif
