// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Go: frames on the native stack, and several native stacks: those of goroutines, and the threads' own. They are
 * unwound by the tables that Go's linker writes (code.h), and by steps between the stacks (switch.h, bpf/step.h).
 */
#include <stdio.h>
#include <string.h>

#include "runtime/go/abi.h"
#include "runtime/go/code.h"
#include "runtime/go/switch.h"
#include "runtime/runtime.h"
#include "unwind/unwind_table.h"

/* What else is in it is as in any other rule. */
static int format_schedule(const struct unwind_arch *arch, struct unwind_rule rule, char *buffer, size_t size)
{
	char plain[96];

	rule.kind = UNWIND_SP;
	unwind_rule_format(arch, &rule, plain, sizeof(plain));
	return snprintf(buffer, size, "go schedule %s", plain);
}

static int go_format(const struct unwind_arch *arch, const struct unwind_rule *rule, char *buffer, size_t size)
{
	struct go_rule go;
	char thread[24];
	int m, to, sp, frame;

	memcpy(&go, rule, sizeof(go));
	if (go.got)
		snprintf(thread, sizeof(thread), "+*(%#x)", 8 * GO_GOT(&go));
	else
		snprintf(thread, sizeof(thread), "%+d", go.thread * 8);
	m = go.m * 8;
	to = go.to * 8;
	sp = go.sp * 8;
	frame = go.frame * 8;
	switch (rule->kind) {
	case GO_SCHEDULE:
		return format_schedule(arch, *rule, buffer, size);
	case GO_SYSTEMSTACK:
		return snprintf(buffer, size, "go systemstack cfa=*(*(*(*(thread%s)+%d)+%d)+%d)+%d", thread, m, to, sp,
				frame);
	case GO_MORESTACK:
		return snprintf(buffer, size, "go morestack sp=*(*(*(*(thread%s)+%d)+%d)+%d)", thread, m, to, sp);
	case GO_CALLBACK:
		return snprintf(buffer, size, "go callback cfa=*(*(*(*(thread%s)+%d)+%d)+%d)+%d", thread, m, to, sp,
				frame);
	case GO_CCALL:
		return snprintf(buffer, size, "go ccall cfa=*(*(sp+%d)+8)-*(sp+%d)+%d", m, to, frame);
	case GO_REGISTER:
		return snprintf(buffer, size, "go cfa=%s%+d",
				go.m < arch->register_count ? arch->register_names[go.m] : "?", frame);
	default:
		return snprintf(buffer, size, "go vdso cfa=*(*(*(thread%s)+%d)+%d)+%d", thread, m, to, frame);
	}
}

static void *functions_create(const struct elf_file *elf, const struct unwind_arch *arch)
{
	return go_functions_create(elf, arch);
}

static void functions_destroy(void *functions)
{
	go_functions_destroy(functions);
}

static bool functions_find(const void *functions, uint64_t vaddr, uint64_t *ret)
{
	return go_functions_find(functions, vaddr, ret);
}

static const struct unwind_source source = {.ranges = go_code_ranges,
					    .rebase = go_switch_rebase,
					    .functions_create = functions_create,
					    .functions_destroy = functions_destroy,
					    .functions_find = functions_find,
					    .format = go_format};

const struct runtime runtime_go = {.name = "go", .language = "Go", .source = &source};
