/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * event_sites: where a CPython begins and ends a garbage collection, audits, imports, and executes a line: by its
 * static markers where it was built with them (--with-dtrace) and they are right, else by its machine code.
 *
 *   gc-start    where gc_collect_main() (collect() up to 3.8, _PyGC_Collect() from 3.14 on) asks whether to print "gc:
 *               collecting generation %d", and where the number is that it would print. A call that finds a
 *               collection under way has returned before.
 *   gc-done     the returns behind that place; what is returned. Where both kinds of calls have the same return
 *               instruction, they cannot be told apart, and there is no such probe.
 *   audit       sys_audit_tstate(), which PySys_Audit() calls with its own arguments; in 3.8 PySys_Audit() itself. Not
 *               reached by sys.audit() while nobody has a hook. In 3.14 the compiler makes several copies of it,
 *               so from then on by markers only.
 *   import      by markers only; else by the function _find_and_load (lang/provider/python.c)
 *   line        by markers only, up to 3.11: without, no place in the code executes once a line
 *
 * Markers that are not right: function__entry of 3.11, which is silent while nobody asks for `line` too.
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
	const char *arguments;     /* of a marker, as its note has them; lives as long as the elf_file. NULL: none */
	struct python_place value; /* without a marker: generation, what was collected, the address of the event's
				      name. PYTHON_NOWHERE: the number `add` itself */
};

typedef VEC(struct python_event_site) python_event_sites;

/* "function-entry" ... */
const char *python_event_name(enum python_event event);
/* "function__entry" ...; "": it never had one. */
const char *python_event_marker(enum python_event event);

/*
 * Appends the sites of the event's marker; none where there is none, or where it is not right. 0, or -ENOMEM with a
 * diag.
 */
int python_event_markers(const struct elf_file *elf, const struct python_interpreter *interpreter,
			 enum python_event event, python_event_sites *ret, struct diag *diag);

/*
 * Appends those of gc-start, gc-done or audit by the machine code. 0; -ENOTSUP with a diag that says why not, for these
 * and for all other events; -ENOMEM.
 */
int python_event_code(const struct elf_file *elf, const struct python_interpreter *interpreter, enum python_event event,
		      python_event_sites *ret, struct diag *diag);

/* "%rsi", "[%rsp+8]", "2": the site's value, as it is read on that machine. */
void python_event_describe(uint16_t machine, const struct python_event_site *site, char *ret, size_t size);

enum python_source {
	PYTHON_SOURCE_NONE,
	PYTHON_SOURCE_LOOP,   /* places of struct python_sites, which are not appended */
	PYTHON_SOURCE_MARKER, /* as python_event_markers() appends them */
	PYTHON_SOURCE_CODE    /* as python_event_code() does */
};

/*
 * Which source has the event, and its sites: of functions and exceptions the loop, if it is understood; of others
 * markers, then, of imports, the loop, then the code. `loop` is NULL where it is not understood or was not looked for;
 * `markers`: they may be used. 0, also for PYTHON_SOURCE_NONE, with a diag that says why, or says nothing where the
 * loop would have it; -ENOMEM.
 */
int python_event_find(const struct elf_file *elf, const struct python_interpreter *interpreter,
		      const struct python_sites *loop, bool markers, enum python_event event, python_event_sites *ret,
		      enum python_source *source, struct diag *diag);

#endif
