// SPDX-License-Identifier: GPL-2.0-or-later
/* SBCL: frames of compiled Lisp on the native stack, made by a convention of its own (bpf/step.h). */
#include "runtime/runtime.h"
#include "runtime/sbcl/abi.h"
#include "unwind/unwind_table.h"

static void adapt(const struct unwind_arch *arch, struct unwind_rule *rule)
{
	if (arch->ra_offset && rule->kind == UNWIND_FP_DEREF && rule->cfa_offset == UNWIND_NUMBERED(0, 2))
		rule->kind = SBCL_ENTRY;
}

static int format(const struct unwind_arch *arch, const struct unwind_rule *rule, char *buffer, size_t size)
{
	struct unwind_rule plain = *rule;

	plain.kind = UNWIND_FP_DEREF; /* as CFI says it */
	return unwind_rule_format(arch, &plain, buffer, size);
}

static const struct unwind_source source = {.adapt = adapt, .format = format};

const struct runtime runtime_sbcl = {.name = "sbcl", .language = "Lisp", .source = &source};
