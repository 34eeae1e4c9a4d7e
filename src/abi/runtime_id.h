/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * runtime_id: the runtimes that are built in. Apart from abi/runtime.h, as what includes this is compiled anew for a
 * build with other runtimes (tests/runtime/toy.t).
 */
#ifndef STRATA_ABI_RUNTIME_ID_H
#define STRATA_ABI_RUNTIME_ID_H

/*
 * Every runtime that is built in has a number, from 1: RUNTIME_ID_python. RUNTIMES(X) is X(name) for each of them, in
 * this order; mk/runtimes.mk writes it.
 */
#include "runtime_names.inc"

#define RUNTIME_NUMBER(name) RUNTIME_ID_##name,
enum runtime_id { RUNTIME_NONE, RUNTIMES(RUNTIME_NUMBER) RUNTIME_IDS };
#undef RUNTIME_NUMBER

#endif
