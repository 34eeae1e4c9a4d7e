/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * event_sites: where a CPython begins and ends a garbage collection, audits, imports, and executes a line. The places
 * are its static markers, if it was built with them (--with-dtrace) and they are right. Otherwise they are found in its
 * machine code.
 *
 *   gc-start    gc_collect_main() (up to 3.8 collect(), from 3.14 on _PyGC_Collect()), where it tests whether to print
 *               "gc: collecting generation %d", and where the number is that it would print. A call that finds a
 *               collection already running has returned before that place.
 *   gc-done     the returns after that place, and the value returned; where calls that find a collection running return
 *               by the same instructions, the last place before those, and where the value is there
 *   audit       sys_audit_tstate(), which PySys_Audit() calls with its own arguments, and all copies that the compiler
 *               made of it (audit_sites.h); in 3.8 PySys_Audit() itself. sys.audit() does not reach it while no hook
 *               is set.
 *   import      by markers only; otherwise the function _find_and_load is traced (lang/provider/python.c)
 *   line        by markers, up to 3.11. Without them no place in the code is executed once for each line: of 3.13
 *               to 3.15 the code of all instructions is stopped at (probe_lines.c)
 *
 * Markers that are not right: function__entry of 3.11, which does not fire unless `line` is traced, too.
 *
 * Sources: Modules/gcmodule.c, Python/gc.c, Python/sysmodule.c, Include/pydtrace.d of v3.6.15 to v3.15.0.
 */
#ifndef STRATA_PYTHON_EVENT_SITES_H
#define STRATA_PYTHON_EVENT_SITES_H

#include "base/diag.h"
#include "base/vec.h"
#include "elf/elf_file.h"
#include "runtime/python/interpreter.h"
#include "runtime/python/probe_sites.h"

enum python_event {
	PYTHON_FUNCTION_ENTRY,
	PYTHON_FUNCTION_RETURN,
	PYTHON_LINE,
	PYTHON_GC_START,
	PYTHON_GC_DONE,
	PYTHON_IMPORT_START,
	PYTHON_IMPORT_DONE,
	PYTHON_EXCEPTION,
	PYTHON_AUDIT,
	PYTHON_EVENTS
};

struct python_event_site {
	uint64_t vaddr;
	uint64_t semaphore;        /* vaddr of the marker's; 0: it has none */
	const char *arguments;     /* of a marker, as written in its note; lives as long as the elf_file. NULL: none */
	struct python_place value; /* without a marker: generation, what was collected, the address of the event's
				      name. PYTHON_NOWHERE: the number `add` itself */
	struct python_place more;  /* what was collected, the second part: to be added; PYTHON_NOWHERE: none */
};

typedef VEC(struct python_event_site) python_event_sites;

/* "function-entry" ... */
const char *python_event_name(enum python_event event);
/* "function__entry" ...; "": it never had one. */
const char *python_event_marker(enum python_event event);

/*
 * Appends the sites of the event's marker; none if there is no marker, or if it is not right. 0, or -ENOMEM with a
 * diag.
 */
int python_event_markers(const struct elf_file *elf, const struct python_interpreter *interpreter,
			 enum python_event event, python_event_sites *ret, struct diag *diag);

/*
 * Finds gc-start, gc-done or audit in the machine code and appends their sites. 0; -ENOTSUP with a diag that says why
 * not, also for all other events; -ENOMEM.
 */
int python_event_code(const struct elf_file *elf, const struct python_interpreter *interpreter, enum python_event event,
		      python_event_sites *ret, struct diag *diag);

/* Where the site's value is, in that machine's syntax: "%rsi", "[%rsp+8]", "2". */
void python_event_describe(uint16_t machine, const struct python_event_site *site, char *ret, size_t size);

enum python_source {
	PYTHON_SOURCE_NONE,
	PYTHON_SOURCE_LOOP,   /* the sites of struct python_sites; not appended */
	PYTHON_SOURCE_MARKER, /* as python_event_markers() appends them */
	PYTHON_SOURCE_CODE    /* as python_event_code() does */
};

/*
 * Chooses the source of an event, and appends its sites. Functions and exceptions come from the loop, if it is
 * understood. Other events come from markers if there are any, else imports from the loop, and the rest from the code.
 * `loop` is NULL if it is not understood, or was not looked for. `markers`: they may be used. 0, also for
 * PYTHON_SOURCE_NONE; then the diag says why, or is empty if the loop would have the event. -ENOMEM.
 */
int python_event_find(const struct elf_file *elf, const struct python_interpreter *interpreter,
		      const struct python_sites *loop, bool markers, enum python_event event, python_event_sites *ret,
		      enum python_source *source, struct diag *diag);

#endif
