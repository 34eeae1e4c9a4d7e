/* SPDX-License-Identifier: GPL-2.0-or-later */
/* SBCL's step in unwind tables. */
#ifndef STRATA_RUNTIME_SBCL_ABI_H
#define STRATA_RUNTIME_SBCL_ABI_H

#include "abi/runtime_id.h"
#include "abi/unwind.h"

enum sbcl_step {
	/*
	 * The function through which C calls Lisp. CFA = *FP + 16, as its CFI says: the frame record that FP points to.
	 * The callee may already have removed that record; then FP is above SP, and CFA = FP + 16.
	 */
	SBCL_ENTRY = UNWIND_STEP(sbcl, 0)
};

#endif
