// SPDX-License-Identifier: GPL-2.0-or-later
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "arch/arch.h"
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

static int format_go(const struct unwind_arch *arch, const struct unwind_rule *rule, char *buffer, size_t size)
{
	struct unwind_go_rule go;
	char thread[24];
	int m, to, sp, frame;

	memcpy(&go, rule, sizeof(go));
	if (go.got)
		snprintf(thread, sizeof(thread), "+*(%#x)", 8 * UNWIND_GO_GOT(&go));
	else
		snprintf(thread, sizeof(thread), "%+d", go.thread * 8);
	m = go.m * 8;
	to = go.to * 8;
	sp = go.sp * 8;
	frame = go.frame * 8;
	switch (rule->kind) {
	case UNWIND_GO_SYSTEMSTACK:
		return snprintf(buffer, size, "go systemstack cfa=*(*(*(*(thread%s)+%d)+%d)+%d)+%d", thread, m, to, sp,
				frame);
	case UNWIND_GO_MORESTACK:
		return snprintf(buffer, size, "go morestack sp=*(*(*(*(thread%s)+%d)+%d)+%d)", thread, m, to, sp);
	case UNWIND_GO_CALLBACK:
		return snprintf(buffer, size, "go callback cfa=*(*(*(*(thread%s)+%d)+%d)+%d)+%d", thread, m, to, sp,
				frame);
	case UNWIND_GO_CCALL:
		return snprintf(buffer, size, "go ccall cfa=*(*(sp+%d)+8)-*(sp+%d)+%d", m, to, frame);
	case UNWIND_GO_REGISTER:
		return snprintf(buffer, size, "go cfa=%s%+d",
				go.m < arch->register_count ? arch->register_names[go.m] : "?", frame);
	default:
		return snprintf(buffer, size, "go vdso cfa=*(*(*(thread%s)+%d)+%d)+%d", thread, m, to, frame);
	}
}

int unwind_rule_format(const struct unwind_arch *arch, const struct unwind_rule *rule, char *buffer, size_t size)
{
	const char *sp = arch->register_names[arch->sp], *fp = arch->register_names[arch->fp];
	const char *number =
		UNWIND_NUMBER(rule) < arch->register_count ? arch->register_names[UNWIND_NUMBER(rule)] : "?";
	int offset = UNWIND_HAS_NUMBER(rule->kind) ? UNWIND_OFFSET(rule) : rule->cfa_offset;
	int plus = (int)UNWIND_NUMBER(rule) * 8;
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
	case UNWIND_GO_SYSTEMSTACK:
	case UNWIND_GO_MORESTACK:
	case UNWIND_GO_CALLBACK:
	case UNWIND_GO_CCALL:
	case UNWIND_GO_VDSO:
	case UNWIND_GO_REGISTER:
		return format_go(arch, rule, buffer, size);
	case UNWIND_GO_SCHEDULE:
		return snprintf(buffer, size, "go schedule cfa=%s%+d%s", sp, offset, saved);
	}
	return snprintf(buffer, size, "kind %u", rule->kind);
}
