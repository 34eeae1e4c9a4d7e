/* SPDX-License-Identifier: GPL-2.0-or-later */
/* python: a place of Python's probes, for who writes its program (builtin/python.c). */
#ifndef STRATA_LANG_PROVIDER_PYTHON_H
#define STRATA_LANG_PROVIDER_PYTHON_H

#include "lang/provider/provider.h"
#include "runtime/python/probe_sites.h"

/* attach.own */
struct python_probe {
	struct uprobe_own own;
	struct python_site site;
	struct py_layout layout;
};

#endif
