// SPDX-License-Identifier: GPL-2.0-or-later
#include "unwind/memory_frames.h"

#include <elf.h>
#include <errno.h>
#include <string.h>

#include "arch/arch.h"
#include "unwind/cfi.h"
#include "unwind/find_fde.h"

#define DEBUG_CIE 0xffffffffu /* CIE_id of .debug_frame */
#define RULES_MAX 65536       /* of one FDE */

static uint32_t get_u32(const uint8_t *bytes)
{
	uint32_t value;

	memcpy(&value, bytes, sizeof(value));
	return value;
}

size_t memory_frames_from_debug(uint8_t *bytes, size_t size)
{
	size_t at = 0;

	while (size - at >= 8) {
		uint32_t length = get_u32(bytes + at), id = get_u32(bytes + at + 4);

		if (length < 4 || length >= 0xfffffff0u || length > size - at - 4)
			break;
		/* Of an FDE an offset in the section, then a distance back. */
		id = id == DEBUG_CIE ? 0 : (uint32_t)at + 4 - id;
		memcpy(bytes + at + 4, &id, sizeof(id));
		at += 4 + (size_t)length;
	}
	return at;
}

bool memory_frames_extent(const struct elf_section *section, uint64_t *start, uint64_t *end)
{
	const struct eh_frame frame = {.section = *section};
	struct eh_cie cie = {.at = UINT32_MAX};
	struct eh_entry entry = {};
	struct fde_range range;
	bool any = false;

	while ((entry = eh_entry_at(&frame, entry.next)).kind != EH_END) {
		if (!fde_read(&frame, &entry, &cie, &range) || range.end <= range.start)
			continue;
		*start = any && *start < range.start ? *start : range.start;
		*end = any && *end > range.end ? *end : range.end;
		any = true;
	}
	return any;
}

struct taken {
	const struct unwind_arch *arch;
	rule_ranges *ranges;
	size_t most;
	int err;
};

static bool is_stated(const struct unwind_rule *rule)
{
	return rule->kind == UNWIND_SP || rule->kind == UNWIND_FP || rule->kind == UNWIND_REGISTER ||
	       rule->kind == UNWIND_SP_DEREF || rule->kind == UNWIND_FP_DEREF;
}

static void take_range(void *context, uint64_t start, uint64_t end, const struct cfi_state *state)
{
	struct taken *taken = context;
	const struct rule_range range = {start, end, cfi_rule(taken->arch, state, false)};

	if (taken->err || start >= end || !is_stated(&range.rule))
		return;
	taken->err = taken->ranges->count >= taken->most ? -E2BIG : vec_push(taken->ranges, range);
}

static int run(const struct eh_frame *frame, const struct eh_entry *entry, const struct eh_cie *cie, rule_ranges *ret)
{
	struct taken taken = {.arch = arch_here()->unwind, .ranges = ret, .most = ret->count + RULES_MAX};
	const struct cfi_sink sink = {take_range, &taken};
	const size_t before = ret->count;
	struct cfi_state initial;
	struct eh_fde fde;
	bool ok = !cie->signal && cfi_run_cie(taken.arch, frame, cie, &initial) &&
		  eh_fde_parse(frame, entry, cie, &fde) && cfi_run_fde(taken.arch, frame, cie, &initial, &fde, &sink);

	if (!ok || taken.err)
		ret->count = before;
	if (taken.err == -ENOMEM)
		return taken.err;
	return ret->count > before ? 0 : -ENOENT;
}

int memory_frames_rules(const struct elf_section *section, uint64_t address, rule_ranges *ret, uint64_t *start,
			uint64_t *end)
{
	const struct eh_frame frame = {.section = *section};
	struct eh_cie cie = {.at = UINT32_MAX};
	struct eh_entry entry = {};
	struct fde_range range;

	while ((entry = eh_entry_at(&frame, entry.next)).kind != EH_END) {
		if (!fde_read(&frame, &entry, &cie, &range) || address < range.start || address >= range.end)
			continue;
		if (start && end) {
			*start = range.start;
			*end = range.end;
		}
		return run(&frame, &entry, &cie, ret);
	}
	return -ENOENT;
}
