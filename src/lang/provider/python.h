/* SPDX-License-Identifier: GPL-2.0-or-later */
/* python: the data of a place of a Python probe, for builtin/python.c, which generates the code that reads it. */
#ifndef STRATA_LANG_PROVIDER_PYTHON_H
#define STRATA_LANG_PROVIDER_PYTHON_H

#include "lang/provider/provider.h"
#include "runtime/python/event_sites.h"
#include "runtime/python/probe_sites.h"

/* attach.own */
struct python_probe {
	struct uprobe_own own;
	enum python_event event;
	const char *arguments;     /* of a marker; NULL: by what the code does */
	struct python_place value; /* gc-start, gc-done, audit without a marker: as struct python_event_site's */
	struct python_place more;  /* likewise */
	struct python_site site;   /* the other events, without a marker: in the interpreter loop */
	struct py_layout layout;
	struct py_objects objects;
};

/* Releases what was found in Pythons. */
void provider_python_close(struct compiler *c);

/*
 * After lowering: in predicates of Python's probes, what compares args.function or args.file with a text becomes a
 * CORE_PYTHON_WANTED, which remembers whether it was ever true, and which names came until then.
 */
void python_want_names(struct compiler *c);

#endif
