// SPDX-License-Identifier: GPL-2.0-or-later
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "arch/arch.h"
#include "unwind/source.h"
#include "unwind/unwind_table.h"

static int format_fp(const struct unwind_arch *arch, const struct unwind_rule *rule, char *buffer, size_t size)
{
	const char *fp = arch->register_names[arch->fp];

	if (rule->fp_offset == UNWIND_FP_SAME)
		return snprintf(buffer, size, " %s=same", fp);
	if (rule->fp_offset == UNWIND_FP_UNDEFINED)
		return snprintf(buffer, size, " %s=undefined", fp);
	if (rule->fp_offset == UNWIND_FP_AT_FP)
		return snprintf(buffer, size, " %s=*%s", fp, fp);
	return snprintf(buffer, size, " %s=cfa%+d", fp, rule->fp_offset);
}

/* The carried register, when it is not what it was. */
static void format_carried(const struct unwind_arch *arch, const struct unwind_rule *rule, char *buffer, size_t size)
{
	const char *name = arch->register_names[arch->carried];
	bool beside = rule->param == UNWIND_SLOT_BESIDE_FP && !arch->ra_offset;
	int slot = rule->param * 8;

	if (rule->param == UNWIND_SLOT_UNDEFINED)
		snprintf(buffer, size, " %s=undefined", name);
	else if (beside && rule->fp_offset == UNWIND_FP_AT_FP)
		snprintf(buffer, size, " %s=*(%s+8)", name, arch->register_names[arch->fp]);
	else if (beside)
		snprintf(buffer, size, " %s=cfa%+d", name, rule->fp_offset + 8);
	else if (rule->param != UNWIND_SLOT_SAME)
		snprintf(buffer, size, " %s=%s-%d", name,
			 rule->kind == UNWIND_FP_DEREF ? arch->register_names[arch->fp] : "cfa", slot);
}

int unwind_rule_format(const struct unwind_arch *arch, const struct unwind_rule *rule, char *buffer, size_t size)
{
	const char *sp = arch->register_names[arch->sp], *fp = arch->register_names[arch->fp];
	const char *number =
		UNWIND_NUMBER(rule) < arch->register_count ? arch->register_names[UNWIND_NUMBER(rule)] : "?";
	int offset = UNWIND_HAS_NUMBER(rule->kind) ? UNWIND_OFFSET(rule) : rule->cfa_offset;
	int plus = (int)UNWIND_NUMBER(rule) * 8;
	const struct unwind_source *source;
	char saved[64] = "";
	size_t length = (size_t)format_fp(arch, rule, saved, sizeof(saved));

	format_carried(arch, rule, saved + length, sizeof(saved) - length);
	switch (rule->kind) {
	case UNWIND_NO_RULE:
		return snprintf(buffer, size, "none");
	case UNWIND_SP:
		return snprintf(buffer, size, "cfa=%s%+d%s", sp, offset, saved);
	case UNWIND_CLONE:
		return snprintf(buffer, size, "clone cfa=%s%+d%s", sp, offset, saved);
	case UNWIND_FP:
		return snprintf(buffer, size, "cfa=%s%+d%s", fp, offset, saved);
	case UNWIND_REGISTER:
		return snprintf(buffer, size, "cfa=%s%+d%s", number, offset, saved);
	case UNWIND_RA_REGISTER:
		return snprintf(buffer, size, "cfa=%s%+d ra=%s%s", sp, offset, number, saved);
	case UNWIND_FP_DEREF:
		return snprintf(buffer, size, "cfa=*(%s%+d)%+d%s", fp, offset, plus, saved);
	case UNWIND_SP_DEREF:
		return snprintf(buffer, size, "cfa=*(%s%+d)%+d%s", sp, offset, plus, saved);
	case UNWIND_SP_INDEXED:
		return snprintf(buffer, size, "cfa=*(%s%+d+8*%s)+8%s", sp, offset, number, saved);
	case UNWIND_PLT:
		return snprintf(buffer, size, "cfa=plt(%d)%s", offset, saved);
	case UNWIND_SIGNAL:
		return snprintf(buffer, size, "signal %s%+d", sp, offset);
	case UNWIND_END:
		return snprintf(buffer, size, "end");
	case UNWIND_FP_CHAIN:
		return snprintf(buffer, size, "chain");
	case UNWIND_OTHER_STACK:
		return snprintf(buffer, size, "other stack");
	case UNWIND_UNLEARNT:
		return snprintf(buffer, size, "unlearnt");
	case UNWIND_OVER_BUDGET:
		return snprintf(buffer, size, "over budget");
	case UNWIND_UNSUPPORTED:
		return snprintf(buffer, size, "unsupported");
	}
	source = unwind_source_of(rule->kind);
	if (source)
		return source->format(arch, rule, buffer, size);
	return snprintf(buffer, size, "kind %u", rule->kind);
}
