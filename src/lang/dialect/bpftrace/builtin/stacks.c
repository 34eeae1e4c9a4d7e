// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * kstack, ustack, pystack and stack. Their values are ids: frames are sent once for each distinct stack
 * (bpf/walks.h), and named by user space when they are printed.
 */
#include <string.h>

#include "lang/dialect/bpftrace/builtin/builtin.h"

static uint32_t parts_of(const char *name)
{
	if (!strcmp(name, "kstack"))
		return STACK_KERNEL;
	if (!strcmp(name, "pystack"))
		return STACK_SECOND;
	if (!strcmp(name, "stack"))
		return STACK_KERNEL | STACK_NATIVE | STACK_SECOND;
	return STACK_NATIVE;
}

static enum stack_style style_of(const char *name, bool *ok)
{
	static const char *const names[] = {"bpftrace", "perf", "raw", "build_id", "folded"};
	size_t i;

	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (!strcmp(names[i], name))
			break;
	*ok = i < sizeof(names) / sizeof(names[0]);
	return (enum stack_style)(i % (sizeof(names) / sizeof(names[0])));
}

static const struct type *check_stack(struct compiler *c, struct ast *call)
{
	enum stack_style style;
	int64_t limit = 0;
	uint32_t i, parts = parts_of(call->text);
	bool ok;

	if (!strcmp(call->text, "dw_ustack"))
		settings_unstable(c, SETTING_UNSTABLE_DW_USTACK, call);
	style = style_of(c->texts[SETTING_STACK_MODE], &ok);
	for (i = 0; i < call->kid_count; i++) {
		struct ast *argument = call->kids[i];

		if (argument->kind == AST_NAME && i == 0) {
			style = style_of(argument->text, &ok);
			if (!ok) {
				report_error(c->report, "stack.mode", argument->span, "Invalid stack mode: '%s'",
					     argument->text);
				report_hint(c->report, "there are bpftrace, perf, raw, build_id and folded");
			}
		} else if (check_literal_number(c, argument, &limit) && (limit < 0 || limit > 65536)) {
			report_error(c->report, "stack.limit", argument->span,
				     "%s([int limit]): limit is 0 to 65536, and not %lld", call->text,
				     (long long)limit);
			limit = 0;
		}
	}
	c->stack_parts |= parts;
	return type_stack(c->arena, parts, (uint32_t)limit, style);
}

const struct builtin builtins_stacks[] = {
	{"kstack", 0, 2, BUILTIN_BARE, check_stack, CORE_STACK, OPERANDS_NONE, "kstack([MODE,] [LIMIT])"},
	{"ustack", 0, 2, BUILTIN_BARE, check_stack, CORE_STACK, OPERANDS_NONE, "ustack([MODE,] [LIMIT])"},
	{"dw_ustack", 0, 2, BUILTIN_BARE, check_stack, CORE_STACK, OPERANDS_NONE, "dw_ustack([MODE,] [LIMIT])"},
	{"pystack", 0, 2, BUILTIN_BARE, check_stack, CORE_STACK, OPERANDS_NONE, "pystack([MODE,] [LIMIT])"},
	{"stack", 0, 2, BUILTIN_BARE, check_stack, CORE_STACK, OPERANDS_NONE, "stack([MODE,] [LIMIT])"},
	{},
};
