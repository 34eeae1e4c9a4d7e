/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * audit_sites: the functions of a CPython that audit, in its machine code; for event_sites.c only.
 *
 * All audits go through one C function, sys_audit_tstate(tstate, event, ...); in 3.8 PySys_Audit(event, ...). An
 * optimiser makes copies of it: into PySys_Audit(), into _PySys_Audit(), and into variants of that for the formats that
 * are used most. An event goes through one of them. So all of them are needed:
 *
 *   the first   PySys_Audit() is exported. It is a copy itself, or calls one with its own arguments.
 *   its fields  A copy asks at its beginning whether there are hooks: interp->runtime->audit_hooks.head, then
 *               interp->audit_hooks. So the first one gives their offsets.
 *   the others  are the functions whose code has both offsets. In a copy, a call is given the event's name, to make a
 *               string of it, after the question: this shows in which argument the name comes. A function that only
 *               asks, sys.audit(), never loads the list of hooks to walk through it.
 *
 * If a function walks through the hooks and is not understood, the build is refused: its events would be missing.
 *
 * Sources: Python/sysmodule.c of v3.8.18 to v3.15.0.
 */
#ifndef STRATA_PYTHON_AUDIT_SITES_H
#define STRATA_PYTHON_AUDIT_SITES_H

#include "runtime/python/event_sites.h"

/* Appends the site of each copy. 0; -ENOTSUP with a diag that says why not; -ENOMEM. */
int python_audit_find(const struct elf_file *elf, const struct python_interpreter *interpreter, python_event_sites *ret,
		      struct diag *diag);

#endif
