/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The native walk: from the interrupted instruction to the thread's outermost frame, by unwind rules.
 *
 * What one step does, in the usual case:
 *
 *   pc ── memo (this CPU's): where it was the last time, or by hash ─► rule
 *    └─ miss: mapping (last one, else binary search) ─► page entry ─► row in a slab ─► rule, remembered
 *
 *   rule: CFA = SP or FP + offset; return address at CFA - 8; caller's FP at CFA + fp_offset, its BX at CFA - 8 * param
 *
 *         low                             page end
 *   stack  │. [saved BX][saved FP][ret addr] .. │        one read fetches from the lowest slot needed to the end of
 *             └── lo                      CFA   │        the page that holds the return address: the frames that
 *             └───────── window ────────────────┘        follow lie above and are mostly served from the window
 *
 * A helper call costs 65-120 ns whatever its size up to a page, so reads are per page and not per frame; and a
 * window never touches a page that the step did not need, so it cannot fail where the step would not.
 *
 * Which registers are known? SP and FP always. BX is carried from frame to frame like FP, because lazy binding computes
 * its CFA from it. Where it cannot be recovered, it is unknown until a frame restores it. The other registers hold the
 * values of the innermost frame, or of the last frame that a signal interrupted. Farther out, caller-saved registers
 * are assumed to be unchanged, as in debuggers: code that keeps its CFA in one of them across a call (libcrypto's
 * AES-GCM, in RAX) calls only helpers that do not change it, and its CFI says so. R12 to R15 are not known there: any
 * function in between may have saved and changed them.
 *
 * The loop (WALK_LOOP, tables.h) makes NATIVE_UNROLL steps per iteration. Frames are indexed by the loop's own index,
 * and all state is in the map value, so the verifier sees one short body. Rare cases (signal frames, realigned stacks,
 * PLT stubs) are handled by one function that is not inlined and reads 8 bytes at a time.
 *
 * Code without a file, or in a file that is not ELF, is treated as generated code. There the walk follows frame
 * pointers, and names come from /tmp/perf-PID.map. Where a function has just been entered or is about to return, the
 * walk finds the caller from the instructions (arch_code_cfa()).
 */
#ifndef STRATA_BPF_NATIVE_H
#define STRATA_BPF_NATIVE_H

#include "abi/loss.h"
#include "arch/walk.h"
#include "bpf/mapping.h"
#include "bpf/scratch.h"
#include "bpf/shim.h"
#include "bpf/steps.h"
#include "bpf/tables.h"
#include "bpf/time.h"
#include "bpf/uretprobe.h"

/* Estimated costs, for time.h: one iteration of the loop, and one rule that is not in the memo. */
#define NATIVE_TURN_NS   (12 * NATIVE_UNROLL)
#define NATIVE_LOOKUP_NS 200u

/* The index of the rule in force at an address: the slow path, which the memo avoids. */
static __always_inline __u32 native_find_rule(struct scratch *s, __u64 pc)
{
	struct native_walk *walk = &s->native;
	const __u32 *rows;
	const __u64 *page;
	__u64 offset;
	__u32 first, count, wanted, half, at, up;
	int i;

	if (!native_mapping_has(walk, pc) && !WALK_CALL(native_find_mapping, s, pc))
		return RULE_NO_MAPPING;
	if (walk->mapping.kind == MAPPING_RULE)
		return walk->mapping.page_first;
	if (walk->mapping.kind != MAPPING_TABLE && walk->mapping.kind != MAPPING_COMPLETE)
		return walk->mapping.kind == MAPPING_FP_CHAIN     ? RULE_FP_CHAIN
		       : walk->mapping.kind == MAPPING_NO_ANSWER  ? RULE_NO_ANSWER
		       : walk->mapping.kind == MAPPING_TABLE_FULL ? RULE_TABLE_FULL
		       : walk->mapping.kind == MAPPING_UNLEARNT   ? RULE_ABSENT
		       : walk->mapping.kind == MAPPING_FP_KEPT    ? RULE_FP_KEPT
								  : RULE_NO_TABLE;
	offset = pc - walk->mapping.bias;
	if ((offset >> UNWIND_PAGE_SHIFT) >= walk->mapping.page_count)
		return RULE_NONE;
	page = table_page(s, walk->mapping.page_first + (__u32)(offset >> UNWIND_PAGE_SHIFT));
	if (!page)
		return RULE_NONE;
	if (*page == PAGE_ABSENT)
		return RULE_ABSENT;
	if (*page & PAGE_SINGLE_RULE)
		return *page & 0xffff;
	rows = table_block(s, PAGE_SLAB(*page), PAGE_FIRST(*page));
	if (!rows)
		return RULE_NONE;
	first = PAGE_FIRST(*page);
	count = PAGE_COUNT(*page);
	wanted = ROW(offset & ((1u << UNWIND_PAGE_SHIFT) - 1), 0xffff);
	for (i = 0; i < 10 && count > 1; i++) { /* 2^9 rows at most */
		half = count / 2;
		at = first + half;
		walk_opaque(at);
		up = 1 - walk_less(wanted, rows[at & (UNWIND_BLOCK_ROWS - 1)]);
		first += half * up;
		count = half + (count & up);
	}
	walk_forget(s, first);
	return ROW_RULE(rows[first & (UNWIND_BLOCK_ROWS - 1)]);
}

/*
 * The index in the memo of the rule for an address, when it is not where it was expected. NATIVE_MEMO: there is no
 * rule.
 */
static __always_inline __u32 native_remember_in(struct scratch *s, __u64 pc)
{
	struct memo *memo = &s->memo;
	__u64 key = pc ^ s->native.memo_key;
	__u16 *index = &memo->index[key * 0x9e3779b97f4a7c15ull >> MEMO_SHIFT];
	const struct unwind_rule *rule;
	__u32 at = *index & (NATIVE_MEMO - 1);

	if (memo->rules[at].key == key)
		return at;
	s->time.work += NATIVE_LOOKUP_NS;
	at = native_find_rule(s, pc);
	if (at == RULE_NONE && s->native.mapping.kind == MAPPING_COMPLETE)
		at = RULE_UNLEARNT;
	rule = table_rule(s, at);
	if (!rule)
		return NATIVE_MEMO;
	at = memo->newest++ & (NATIVE_MEMO - 1);
	walk_opaque(at);
	at &= NATIVE_MEMO - 1;
	/* Rows that are absent now may be there the next time. So this entry gets a key that no frame has. */
	memo->rules[at].key = rule->kind == UNWIND_ABSENT ? ~key : key;
	memo->rules[at].rule = *rule;
	memo->next[at] = at + 1;
	*index = at;
	return at;
}
WALK_GLOBAL(__u32, native_remember, __u64)

/* The value of a register in the current frame. False when it is not known. */
static __always_inline bool native_register(const struct native_walk *walk, __u32 reg, __u64 *ret)
{
	*ret = walk->registers[reg & (ARCH_REGISTERS - 1)];
	return reg < ARCH_REGISTERS && walk->known >> (reg & (ARCH_REGISTERS - 1)) & 1;
}

static __always_inline int native_read(struct scratch *s, __u64 address, __u64 *ret)
{
	return walk_read_user(s, ret, sizeof(*ret), address);
}

/* The address of the return address, for a rule that does not keep it in a register. */
static __always_inline __u64 native_return_slot(const struct native_walk *walk, const struct unwind_rule *rule,
						__u64 cfa)
{
	if (!ARCH_LINKS)
		return cfa - 8;
	if (rule->param != UNWIND_SLOT_BESIDE_FP)
		return cfa - 8 * (__u64)rule->param;
	return (rule->fp_offset == UNWIND_FP_AT_FP ? walk->fp : cfa + rule->fp_offset) + 8;
}

/*
 * Can a rule of this kind be followed with what is known of SP? A frame record does not say how far below the CFA it
 * lies. So after a step by a frame record SP is unknown, until a frame has a rule that is based on FP.
 */
static __always_inline bool native_sp_known(const struct native_walk *walk, __u32 kind)
{
	return walk->known & REGS_SP || kind == UNWIND_FP || kind == UNWIND_FP_DEREF || kind == UNWIND_FP_CHAIN ||
	       kind == UNWIND_END || kind >= UNWIND_NO_TABLE || kind == UNWIND_NO_RULE || kind == UNWIND_UNSUPPORTED;
}

/* A signal trampoline: the kernel saved every register, and the interrupted instruction is looked up exactly. */
static __noinline int native_step_signal(struct scratch *s, __u64 address)
{
	struct native_walk *walk = &s->native;

	if (walk_read_user(s, walk->signal_registers, sizeof(walk->signal_registers), address))
		return native_end(walk, LOSS_STACK_READ);
	arch_restore_signal(walk->signal_registers, walk->registers, &walk->pc);
	native_take_registers(walk);
	walk->behind = 0;
	walk->known = REGS_ALL;
	return walk->pc ? 0 : native_end(walk, LOSS_STACK_READ);
}

/*
 * Restores the caller's carried register, by a rule that native_step_slow() follows. If it cannot be read, it is
 * unknown: few frames need it.
 */
static __always_inline void native_restore_carried(struct scratch *s, const struct unwind_rule *rule, __u64 cfa)
{
	struct native_walk *walk = &s->native;
	__u64 base = rule->kind == UNWIND_FP_DEREF ? walk->fp : cfa;
	__u32 slot = rule->param;

	if (ARCH_LINKS) { /* it held the return address, and the call has changed it */
		walk->known = REGS_CALLER_SAVED;
		return;
	}
	walk->known = (walk->known & REGS_CARRIED) | REGS_CALLER_SAVED;
	if (slot != UNWIND_SLOT_SAME) {
		walk->known = REGS_CALLER_SAVED;
		if (slot != UNWIND_SLOT_UNDEFINED &&
		    !native_read(s, base - 8 * (__u64)slot, &walk->registers[REG_CARRIED]))
			walk->known = REGS_CALLER_SAVED | REGS_CARRIED;
	}
}

/*
 * A step in code without a table, on machines where a frame is a record of the caller's FP and the return address
 * (AAPCS64 6.4.6). The innermost frame may have no record yet, or no longer; its current instruction tells. A record
 * does not say where the CFA is.
 */
static __always_inline int native_step_record(struct scratch *s)
{
	struct native_walk *walk = &s->native;
	enum arch_record place = ARCH_RECORD_AT_FP;
	__u64 code = 0, to = 0, record = walk->fp;

	if (!walk->behind && !native_read(s, walk->pc, &code))
		place = arch_record_by_code((__u32)code);
	if (place == ARCH_RECORD_NONE) {
		to = walk->registers[REG_CARRIED];
	} else {
		if (place == ARCH_RECORD_AT_SP)
			record = walk->sp;
		if (!record || record < walk->sp)
			return native_end(walk, LOSS_NO_MAPPING);
		if (native_read(s, record, &walk->fp) || native_read(s, record + 8, &to))
			return native_end(walk, LOSS_STACK_READ);
		walk->sp = record + 16;
	}
	walk->known = place == ARCH_RECORD_NONE ? REGS_CALLER_SAVED : REGS_CALLER_SAVED & ~REGS_SP;
	walk->pc = ARCH_CODE_ADDRESS(to);
	walk->behind = 1;
	return walk->pc ? 0 : native_end(walk, LOSS_NONE);
}

/*
 * A step in code with frame pointers and without a table, such as code generated at run time. Where a function has not
 * set up its frame pointer yet, has already restored it, or has none, the CFA is derived from its instructions. For
 * code of a file this is done once, and the memo keeps the result. Global, so that the verifier does not follow its
 * paths through the rest of the step.
 */
static __always_inline int native_step_generated_in(struct scratch *s, __u32 slot)
{
	struct unwind_rule *rule = &s->memo.rules[slot & (NATIVE_MEMO - 1)].rule;
	struct native_walk *walk = &s->native;
	__u64 code = 0, more = 0, cfa, to = 0, fp = walk->fp;
	bool saved = false;
	__s32 offset = -1;

	if (!rule->param)
		walk->trial = walk->count;
	if (ARCH_LINKS)
		return native_step_record(s);
	if (rule->param != UNWIND_CHAIN_OF_FILE && !walk->behind && (0 IN_STACKS(STEP_GENERATED)))
		return 0;
	if (!native_read(s, walk->pc, &code)) {
		if (!walk->behind)
			native_read(s, walk->pc + 8, &more);
		offset = arch_code_cfa(code, more, walk->behind, &saved);
		if (rule->param == UNWIND_CHAIN_OF_FILE)
			*rule = (struct unwind_rule){.kind = offset > 0 ? UNWIND_SP : UNWIND_FP,
						     .cfa_offset = offset > 0 ? offset : 16,
						     .fp_offset = offset > 0 && !saved ? UNWIND_FP_SAME : -16};
	}
	cfa = walk->sp + (__u32)offset;
	if (offset <= 0) {
		if (!fp || fp < walk->sp)
			return native_end(walk, LOSS_NO_MAPPING);
		cfa = fp + 16;
		saved = true;
	}
	if (cfa <= walk->sp)
		return native_end(walk, LOSS_ODD_STACK);
	if (native_read(s, cfa - 8, &to) || (saved && native_read(s, cfa - 16, &fp)))
		return native_end(walk, LOSS_STACK_READ);
	walk->known = REGS_CALLER_SAVED;
	walk->pc = to;
	walk->sp = cfa;
	walk->fp = fp;
	walk->behind = 1;
	return to ? 0 : native_end(walk, LOSS_NONE);
}
WALK_GLOBAL(int, native_step_generated, __u32)

/* The frame of the function that has entered generated code (UNWIND_ENTERED). 0, or as native_end(). */
static __noinline int native_entry_frame(struct scratch *s, __u32 number, __u64 *ret)
{
	struct native_walk *walk = &s->native;
	__u64 pc = walk->pc - walk->behind, state = 0, frame = 0;

	*ret = 0;
	if (!native_mapping_has(walk, pc) && !WALK_CALL(native_find_mapping, s, pc))
		return native_end(walk, LOSS_NO_MAPPING);
	/* Where it fails user space looks again: the code may be that of another state by now. */
	walk->unmapped = 1;
	if (native_read(s, walk->mapping.bias, &state) || native_read(s, state + 8 * (__u64)number, &frame))
		return native_end(walk, LOSS_STACK_READ);
	frame &= ~UNWIND_FRAME_FLAGS;
	if (frame < walk->sp || frame - walk->sp > UNWIND_SPILL_MAX)
		return native_end(walk, LOSS_NO_RULE);
	walk->unmapped = 0;
	*ret = frame;
	return 0;
}

/*
 * One step by the rule in the memo's slot, of any kind, with one read per stack slot: for rules that the fast path does
 * not handle, and for stack that it could not read in one piece.
 */
static __always_inline int native_step_slow_in(struct scratch *s, __u32 slot)
{
	const struct unwind_rule *rule = &s->memo.rules[slot & (NATIVE_MEMO - 1)].rule;
	struct native_walk *walk = &s->native;
	__u64 cfa = 0, return_address = 0, fp = walk->fp, code = 0;
	__s32 fp_offset;
	int stepped;

	if (in_uprobe_page(s, walk->pc)) {
		walk->hash = hash_unmix(walk->hash, walk->pc);
		if (!uretprobe_return(s)) {
			walk->count--;
			return native_end(walk, LOSS_URETPROBE);
		}
		walk->hash = hash_mix(walk->hash, walk->pc);
		s->native_stack.frames[(walk->count - 1) & (NATIVE_FRAMES_MAX - 1)] = walk->pc | 1ull << 63;
		slot = WALK_CALL(native_remember, s, walk->pc - 1);
		if (slot >= NATIVE_MEMO)
			return native_end(walk, LOSS_NO_RULE);
		rule = &s->memo.rules[slot & (NATIVE_MEMO - 1)].rule;
	}
	fp_offset = rule->fp_offset;
	if (ARCH_LINKS && !native_sp_known(walk, rule->kind))
		return native_end(walk, LOSS_BAD_RULE);
	switch (rule->kind) {
	case UNWIND_SP:
		cfa = walk->sp + rule->cfa_offset;
		break;
	case UNWIND_CLONE:
		if (!walk->behind && native_register(walk, REG_RESULT, &code) && !code)
			return native_end(walk, LOSS_NONE);
		cfa = walk->sp + rule->cfa_offset;
		break;
	case UNWIND_FP:
		cfa = walk->fp + rule->cfa_offset;
		break;
	case UNWIND_REGISTER:
		if (!native_register(walk, UNWIND_NUMBER(rule), &cfa))
			return native_end(walk, LOSS_BAD_RULE);
		cfa += UNWIND_OFFSET(rule);
		break;
	case UNWIND_RA_REGISTER:
		/* After a call the register may have been changed, so the return address is not known. */
		if (walk->behind || !native_register(walk, UNWIND_NUMBER(rule), &return_address))
			return native_end(walk, LOSS_BAD_RULE);
		cfa = walk->sp + UNWIND_OFFSET(rule);
		break;
	case UNWIND_FP_DEREF:
	case UNWIND_SP_DEREF:
		cfa = (rule->kind == UNWIND_FP_DEREF ? walk->fp : walk->sp) + UNWIND_OFFSET(rule);
		if (native_read(s, cfa, &cfa))
			return native_end(walk, LOSS_STACK_READ);
		cfa += 8 * UNWIND_NUMBER(rule);
		break;
	case UNWIND_SP_INDEXED:
		if (!native_register(walk, UNWIND_NUMBER(rule), &cfa))
			return native_end(walk, LOSS_BAD_RULE);
		if (native_read(s, walk->sp + 8 * cfa + UNWIND_OFFSET(rule), &cfa))
			return native_end(walk, LOSS_STACK_READ);
		cfa += 8;
		break;
	case UNWIND_ENTERED:
		stepped = native_entry_frame(s, UNWIND_NUMBER(rule), &cfa);
		if (stepped)
			return stepped;
		cfa += UNWIND_OFFSET(rule);
		break;
	case UNWIND_PLT:
		cfa = walk->sp + 8 + ((walk->pc & 15) >= (__u32)rule->cfa_offset ? 8 : 0);
		break;
	case UNWIND_SIGNAL:
		return native_step_signal(s, walk->sp + rule->cfa_offset);
	case UNWIND_END:
		return native_end(walk, LOSS_NONE);
	case UNWIND_FP_CHAIN:
		return WALK_CALL(native_step_generated, s, slot);
	case UNWIND_NO_TABLE:
		return native_end(walk, LOSS_NO_TABLES);
	case UNWIND_NO_ANSWER:
		return native_end(walk, LOSS_NO_ANSWER);
	case UNWIND_TABLE_FULL:
		return native_end(walk, LOSS_TABLE_FULL);
	case UNWIND_OVER_BUDGET:
		return native_end(walk, LOSS_OVER_BUDGET);
	case UNWIND_OTHER_STACK:
		return native_end(walk, LOSS_OTHER_STACK);
	case UNWIND_NO_MAPPING:
		walk->unmapped = 1;
		return native_end(walk, LOSS_NO_MAPPING);
	case UNWIND_UNSUPPORTED:
		return native_end(walk, LOSS_BAD_RULE);
	case UNWIND_ABSENT: /* user space finishes the walk from a copy, and adds the rows */
		walk->unmapped = 1;
		return native_end(walk, LOSS_LATE);
	case UNWIND_NO_RULE:
		walk->unmapped = 1;
		return native_end(walk, LOSS_NO_RULE);
	default:
		if (rule->kind < UNWIND_STEPS)
			return native_end(walk, LOSS_NO_RULE);
		stepped = native_step_of_runtime(s, slot, rule->kind, &cfa);
		if (stepped != STEP_CFA)
			return stepped;
	}
	if (rule->kind == UNWIND_RA_REGISTER || (ARCH_LINKS && rule->param == UNWIND_SLOT_SAME)) {
		/* A call has changed the link register, so the return address is not known. */
		if (rule->kind != UNWIND_RA_REGISTER &&
		    (walk->behind || !native_register(walk, REG_CARRIED, &return_address)))
			return native_end(walk, LOSS_BAD_RULE);
		if (cfa < walk->sp)
			return native_end(walk, LOSS_ODD_STACK);
	} else {
		if (cfa <= walk->sp)
			return native_end(walk, LOSS_ODD_STACK);
		if (ARCH_LINKS && rule->param == UNWIND_SLOT_UNDEFINED)
			return native_end(walk, LOSS_BAD_RULE);
		if (native_read(s, native_return_slot(walk, rule, cfa), &return_address))
			return native_end(walk, LOSS_STACK_READ);
	}
	return_address = ARCH_CODE_ADDRESS(return_address);
	if (fp_offset != UNWIND_FP_SAME && fp_offset != UNWIND_FP_UNDEFINED)
		if (native_read(s, fp_offset == UNWIND_FP_AT_FP ? walk->fp : cfa + fp_offset, &fp))
			return native_end(walk, LOSS_STACK_READ);
	native_restore_carried(s, rule, cfa);
	walk->pc = return_address;
	walk->sp = cfa;
	walk->fp = fp;
	walk->behind = 1;
	return return_address ? 0 : native_end(walk, LOSS_NONE);
}
WALK_GLOBAL(int, native_step_slow, __u32)

/* Fills the window with [low, top) and what follows up to the end of the page. 0 on success. */
static __noinline int native_load_window(struct scratch *s, __u64 low, __u64 top)
{
	struct native_walk *walk = &s->native;
	__u64 end = ((top - 8) | (PAGE_BYTES - 1)) + 1;
	__u64 size;

	low &= ~7ull;
	size = end - low;
	if ((top & 7) || size > PAGE_BYTES + WINDOW_SLACK)
		return -1;
	walk_opaque(size);
	if (size > PAGE_BYTES + WINDOW_SLACK)
		return -1;
	walk->window_start = walk->window_end = 0;
	if (walk_read_user(s, walk->window, (__u32)size, low))
		return -1;
	walk->window_start = low;
	walk->window_end = low + size;
	return 0;
}

static __always_inline __u64 native_window_word(const struct native_walk *walk, __u64 address)
{
	__u64 at = (address - walk->window_start) >> 3;

	walk_opaque(at);
	return walk->window[at & (WINDOW_WORDS - 1)];
}

/* Records the current frame as number `index` and moves to its caller. Not 0 when the walk has ended. */
static __always_inline int native_step(struct scratch *s, __u32 index)
{
	struct native_walk *walk = &s->native;
	const struct unwind_rule *rule;
	/*
	 * Compares the key, not the PC alone: forked processes have the same addresses, each with its own generation.
	 */
	__u64 lookup = walk->pc - walk->behind, key = lookup ^ walk->memo_key;
	__u64 sp = walk->sp, fp = walk->fp, cfa, low, slot, saved, carried;
	__u32 at = walk->memo_at & (NATIVE_MEMO - 1);

	walk_opaque(index);
	s->native_stack.frames[index & (NATIVE_FRAMES_MAX - 1)] = walk->pc | (__u64)walk->behind << 63;
	walk->hash = hash_mix(walk->hash, walk->pc);
	walk->count++;

	if (s->memo.rules[at].key != key) {
		at = WALK_CALL(native_remember, s, lookup);
		if (at >= NATIVE_MEMO)
			return native_end(walk, LOSS_NO_RULE);
		s->memo.next[walk->memo_last & (NATIVE_MEMO - 1)] = at;
	}
	walk->memo_last = at;
	walk->memo_at = s->memo.next[at];
	rule = &s->memo.rules[at].rule;
	if (rule->kind == UNWIND_SP)
		cfa = sp + rule->cfa_offset;
	else if (rule->kind == UNWIND_FP)
		cfa = fp + rule->cfa_offset;
	else
		return WALK_CALL(native_step_slow, s, at);
	if (ARCH_LINKS && (rule->param == UNWIND_SLOT_SAME || (rule->kind == UNWIND_SP && !(walk->known & REGS_SP))))
		return WALK_CALL(native_step_slow, s, at);
	if (cfa <= sp)
		return native_end(walk, LOSS_ODD_STACK);

	if (rule->fp_offset <= UNWIND_FP_AT_FP || rule->param == UNWIND_SLOT_UNDEFINED)
		return WALK_CALL(native_step_slow, s, at);
	low = slot = saved = native_return_slot(walk, rule, cfa);
	if (rule->fp_offset != UNWIND_FP_SAME) {
		slot = cfa + rule->fp_offset;
		if (slot > low || (slot & 7)) /* a window holds aligned words, up to the return address */
			return WALK_CALL(native_step_slow, s, at);
		low = slot;
	}
	carried = ARCH_LINKS ? saved : cfa - 8 * (__u64)rule->param;
	if (carried < low)
		low = carried;
	if (low < walk->window_start || saved + 8 > walk->window_end || (saved & 7))
		if (native_load_window(s, low, saved + 8))
			return WALK_CALL(native_step_slow, s, at);
	walk->pc = ARCH_CODE_ADDRESS(native_window_word(walk, saved));
	if (slot != saved)
		walk->fp = native_window_word(walk, slot);
	if (!ARCH_LINKS && rule->param) {
		walk->registers[REG_CARRIED] = native_window_word(walk, carried);
		walk->known = REGS_CARRIED;
	}
	walk->known = (ARCH_LINKS ? 0 : walk->known & REGS_CARRIED) | REGS_CALLER_SAVED;
	walk->sp = cfa;
	walk->behind = 1;
	return walk->pc ? 0 : native_end(walk, LOSS_NONE);
}

static __always_inline int native_loop_step_in(struct scratch *s, __u32 i)
{
	struct native_walk *walk = &s->native;
	__u32 k;

	i += walk->first;
	s->time.work += NATIVE_TURN_NS;
	if (i >= NATIVE_FRAMES_MAX / NATIVE_UNROLL || walk_stops(s))
		return 1;
	if (!(i & (WALK_CUT_FRAMES / NATIVE_UNROLL - 1))) {
		walk->kept.count = walk->count;
		walk->kept.hash = walk->hash;
	}
#pragma GCC unroll 8
	for (k = 0; k < NATIVE_UNROLL; k++)
		if (native_step(s, i * NATIVE_UNROLL + k))
			return 1;
	return 0;
}
WALK_LOOP(native_loop, NATIVE_FRAMES_MAX / NATIVE_UNROLL)

/*
 * A walk begins with the registers in s->native (pc, sp, fp, registers; the caller also sets `hash` to the process's
 * cookie) and the mappings of `process`.
 */
static __always_inline void native_begin(struct scratch *s, const struct process_entry *process)
{
	struct native_walk *walk = &s->native;
	__u64 key;

	walk->behind = 0;
	walk->hash_seed = walk->hash;
	walk->count = walk->kept.count = 0;
	walk->loss = LOSS_NONE;
	walk->done = 0;
	walk->unmapped = 0;
	walk->trial = 0;
	walk->known = REGS_ALL;
	walk->window_start = walk->window_end = 0;
	walk->memo_at = walk->memo_last = 0;
	IN_STACKS(BEGIN_STEPS)
	key = process->generation * 0x9e3779b97f4a7c15ull;
	if (walk->memo_key != key)
		walk->mapping.start = walk->mapping.end = 0;
	walk->memo_key = key;
	walk->mapping_first = process->mapping_first;
	walk->mapping_count = process->mapping_count;
}

/*
 * Continues a walk to its end, or until its time is over: then it pauses and the result is true (walk_pauses()).
 * Afterwards s->native_stack.frames holds native.count PCs, innermost first, and native.loss is LOSS_NONE when the
 * outermost frame was reached.
 */
static __always_inline bool native_go_on(struct scratch *s)
{
	struct native_walk *walk = &s->native;

	walk->first = walk->count / NATIVE_UNROLL;
	native_loop(s);
	if (!walk->done) {
		if (walk_pauses(s))
			return true;
		walk->loss = LOSS_NATIVE_DEPTH;
		if (walk_is_over(s)) {
			walk->loss = LOSS_TIME_LIMIT;
			if (walk->kept.count) {
				walk->count = walk->kept.count;
				walk->hash = walk->kept.hash;
			}
		}
	}
	uretprobe_cut(s);
	IN_STACKS(END_STEPS)
	return false;
}

/* A whole walk. */
static __always_inline void native_walk(struct scratch *s, const struct process_entry *process)
{
	native_begin(s, process);
	native_go_on(s);
}

/*
 * Has the chain led nowhere from generated code whose frame pointers are on trial? It may have led out of it by one
 * frame.
 */
static __always_inline bool native_fails_trial(const struct native_walk *walk)
{
	return walk->trial && walk->trial + 1 >= walk->count &&
	       (walk->loss == LOSS_NO_MAPPING || walk->loss == LOSS_ODD_STACK);
}

/* The id of the stack that was walked: a hash of its frames, its process, and how it ended. */
static __always_inline __u64 native_stack_id(const struct scratch *s)
{
	__u64 id = hash_mix(s->native.hash, 2 + s->native.loss);

	return id ? id : 1;
}

#endif
