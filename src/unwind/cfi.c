// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The virtual machine of call frame instructions.
 *
 * Expressions are not evaluated but recognised, since a rule must say in eight bytes what they mean: `breg` (a register
 * and an offset), `breg; deref`, `breg; deref; plus_uconst`, the one of PLT stubs, and that of libcrypto's Montgomery
 * multiplication, `breg SP; breg; lit8; mul; plus; deref; plus_uconst 8`. In 100 MB of libraries of a distribution
 * nothing else computes a CFA.
 */
#include "unwind/cfi.h"

#include <string.h>

/* DWARF 5, table 7.29, and the extensions of GCC. */
enum {
	CFA_ADVANCE_LOC = 0x40, /* the operand in the low 6 bits, as in the next two */
	CFA_OFFSET = 0x80,
	CFA_RESTORE = 0xc0,
	CFA_NOP = 0x00,
	CFA_SET_LOC = 0x01,
	CFA_ADVANCE_LOC1 = 0x02,
	CFA_ADVANCE_LOC2 = 0x03,
	CFA_ADVANCE_LOC4 = 0x04,
	CFA_OFFSET_EXTENDED = 0x05,
	CFA_RESTORE_EXTENDED = 0x06,
	CFA_UNDEFINED = 0x07,
	CFA_SAME_VALUE = 0x08,
	CFA_REGISTER = 0x09,
	CFA_REMEMBER_STATE = 0x0a,
	CFA_RESTORE_STATE = 0x0b,
	CFA_DEF_CFA = 0x0c,
	CFA_DEF_CFA_REGISTER = 0x0d,
	CFA_DEF_CFA_OFFSET = 0x0e,
	CFA_DEF_CFA_EXPRESSION = 0x0f,
	CFA_EXPRESSION = 0x10,
	CFA_OFFSET_EXTENDED_SF = 0x11,
	CFA_DEF_CFA_SF = 0x12,
	CFA_DEF_CFA_OFFSET_SF = 0x13,
	CFA_VAL_OFFSET = 0x14,
	CFA_VAL_OFFSET_SF = 0x15,
	CFA_VAL_EXPRESSION = 0x16,
	CFA_AARCH64_NEGATE_RA_STATE = 0x2d, /* no operands; GNU_window_save on SPARC */
	CFA_GNU_ARGS_SIZE = 0x2e,
	CFA_GNU_NEGATIVE_OFFSET_EXTENDED = 0x2f,
};

/* DWARF 5, table 7.9. */
enum {
	OP_DEREF = 0x06,
	OP_MUL = 0x1e,
	OP_PLUS = 0x22,
	OP_PLUS_UCONST = 0x23,
	OP_LIT0 = 0x30,
	OP_LIT8 = 0x38,
	OP_LIT31 = 0x4f,
	OP_BREG0 = 0x70,
	OP_BREG31 = 0x8f,
};

/* Compilers nest one deep. */
#define REMEMBERED_MAX 16

struct machine {
	const struct unwind_arch *arch;
	const struct eh_frame *frame;
	const struct eh_cie *cie;
	const struct cfi_state *initial; /* NULL while the CIE itself runs */
	struct cfi_state state;
	struct cfi_state remembered[REMEMBERED_MAX];
	unsigned int remembered_count;
	uint64_t at, end; /* addresses */
	const struct cfi_sink *sink;
};

/* The column of a register; NULL when strata does not keep it. */
static struct cfi_saved *column(const struct unwind_arch *arch, struct cfi_state *state, uint64_t reg)
{
	if (reg == arch->fp)
		return &state->fp;
	if (reg == arch->carried)
		return &state->carried;
	if (reg == arch->ra)
		return &state->ra;
	if (reg == arch->sp)
		return &state->sp;
	return NULL;
}

static void set_column(struct machine *m, uint64_t reg, struct cfi_saved saved)
{
	struct cfi_saved *to = column(m->arch, &m->state, reg);

	if (to)
		*to = saved;
}

static bool restore_column(struct machine *m, uint64_t reg)
{
	struct cfi_state initial;
	struct cfi_saved *to = column(m->arch, &m->state, reg);

	if (!m->initial)
		return false;
	initial = *m->initial;
	if (to)
		*to = *column(m->arch, &initial, reg);
	return true;
}

/* offset * data alignment factor; what overflows is damaged. */
static int64_t factored(struct machine *m, struct cursor *c, int64_t offset)
{
	int64_t value;

	if (__builtin_mul_overflow(offset, m->cie->data_align, &value))
		cursor_fail(c);
	return cursor_ok(c) ? value : 0;
}

static uint8_t small_register(uint64_t reg)
{
	return reg < UINT8_MAX ? (uint8_t)reg : UINT8_MAX;
}

static void set_cfa(struct machine *m, uint64_t reg, int64_t offset)
{
	m->state.cfa.kind = CFI_CFA_REGISTER;
	m->state.cfa.reg = small_register(reg);
	m->state.cfa.offset = offset;
	m->state.cfa.plus = 0;
}

/* `breg`, as the head of an expression. */
static bool read_breg(struct cursor *c, uint8_t *reg, int64_t *offset)
{
	uint8_t op = cursor_u8(c);

	*reg = op - OP_BREG0;
	*offset = cursor_sleb128(c);
	return cursor_ok(c) && op >= OP_BREG0 && op <= OP_BREG31;
}

/* What follows `breg SP` in a CFA from an array of words on the stack. */
static bool read_indexed(struct cursor c, uint8_t *ret)
{
	static const uint8_t tail[] = {OP_LIT8, OP_MUL, OP_PLUS, OP_DEREF, OP_PLUS_UCONST, 8};
	int64_t offset;
	uint8_t reg;
	size_t i;

	if (!read_breg(&c, &reg, &offset) || offset)
		return false;
	for (i = 0; i < sizeof(tail); i++)
		if (cursor_u8(&c) != tail[i])
			return false;
	if (!cursor_ok(&c) || !cursor_at_end(&c))
		return false;
	*ret = reg;
	return true;
}

static void set_cfa_expression(struct machine *m, struct cursor expression)
{
	struct cursor c = expression;
	struct unwind_rule plt;
	uint64_t plus = 0;
	uint8_t op;

	m->state.cfa.kind = CFI_CFA_OTHER;
	if (!cursor_ok(&c))
		return;
	if (m->arch->plt_expression(expression.base, expression.size, &plt)) {
		m->state.cfa.kind = CFI_CFA_PLT;
		m->state.cfa.offset = plt.cfa_offset;
		return;
	}
	if (!read_breg(&c, &m->state.cfa.reg, &m->state.cfa.offset))
		return;
	m->state.cfa.plus = 0;
	if (cursor_at_end(&c)) {
		m->state.cfa.kind = CFI_CFA_REGISTER;
		return;
	}
	if (m->state.cfa.reg == m->arch->sp && read_indexed(c, &m->state.cfa.reg)) {
		m->state.cfa.kind = CFI_CFA_INDEXED;
		return;
	}
	if (cursor_u8(&c) != OP_DEREF)
		return;
	op = cursor_at_end(&c) ? 0 : cursor_u8(&c);
	if (op == OP_PLUS_UCONST)
		plus = cursor_uleb128(&c);
	else if (op >= OP_LIT0 && op <= OP_LIT31 && cursor_u8(&c) == OP_PLUS)
		plus = op - OP_LIT0;
	else if (op)
		return;
	if (!cursor_at_end(&c) || !cursor_ok(&c) || plus > UINT8_MAX)
		return;
	m->state.cfa.plus = (uint8_t)plus;
	m->state.cfa.kind = CFI_CFA_DEREF;
}

/* A register saved where an expression says. */
static struct cfi_saved saved_by_expression(struct cursor c)
{
	struct cfi_saved saved = {.kind = CFI_OTHER};

	if (read_breg(&c, &saved.reg, &saved.offset) && cursor_at_end(&c))
		saved.kind = CFI_AT_REGISTER;
	return saved;
}

/* Moves to a later address; false when the FDE ends before. */
static bool advance(struct machine *m, uint64_t to)
{
	if (to > m->end)
		to = m->end;
	if (to > m->at && m->sink)
		m->sink->range(m->sink->context, m->at, to, &m->state);
	m->at = to;
	return to < m->end;
}

static bool advance_by(struct machine *m, uint64_t delta)
{
	uint64_t bytes, to;

	if (__builtin_mul_overflow(delta, m->cie->code_align, &bytes) || __builtin_add_overflow(m->at, bytes, &to))
		to = UINT64_MAX;
	return advance(m, to);
}

/* The instructions about the CFA. False when `op` is another. */
static bool step_cfa(struct machine *m, struct cursor *c, uint8_t op)
{
	uint64_t reg;

	switch (op) {
	case CFA_DEF_CFA:
		reg = cursor_uleb128(c);
		set_cfa(m, reg, (int64_t)cursor_uleb128(c));
		return true;
	case CFA_DEF_CFA_SF:
		reg = cursor_uleb128(c);
		set_cfa(m, reg, factored(m, c, cursor_sleb128(c)));
		return true;
	case CFA_DEF_CFA_REGISTER:
	case CFA_DEF_CFA_OFFSET:
	case CFA_DEF_CFA_OFFSET_SF:
		if (m->state.cfa.kind != CFI_CFA_REGISTER)
			m->state.cfa.kind = CFI_CFA_OTHER; /* DWARF 5, 6.4.2.2: not valid after an expression */
		if (op == CFA_DEF_CFA_REGISTER)
			m->state.cfa.reg = small_register(cursor_uleb128(c));
		else if (op == CFA_DEF_CFA_OFFSET)
			m->state.cfa.offset = (int64_t)cursor_uleb128(c);
		else
			m->state.cfa.offset = factored(m, c, cursor_sleb128(c));
		return true;
	case CFA_DEF_CFA_EXPRESSION:
		set_cfa_expression(m, cursor_sub(c, cursor_uleb128(c)));
		return true;
	}
	return false;
}

/* The instructions about one register, their first operand. False when `op` is another. */
static bool step_register(struct machine *m, struct cursor *c, uint8_t op)
{
	struct cfi_saved saved = {.kind = CFI_OTHER};
	uint64_t reg = cursor_uleb128(c);

	switch (op) {
	case CFA_OFFSET_EXTENDED:
	case CFA_GNU_NEGATIVE_OFFSET_EXTENDED:
		saved = (struct cfi_saved){.kind = CFI_AT_CFA, .offset = factored(m, c, (int64_t)cursor_uleb128(c))};
		if (op == CFA_GNU_NEGATIVE_OFFSET_EXTENDED)
			saved.offset = (int64_t)(0 - (uint64_t)saved.offset);
		break;
	case CFA_OFFSET_EXTENDED_SF:
		saved = (struct cfi_saved){.kind = CFI_AT_CFA, .offset = factored(m, c, cursor_sleb128(c))};
		break;
	case CFA_UNDEFINED:
		saved.kind = CFI_UNDEFINED;
		break;
	case CFA_SAME_VALUE:
		saved.kind = CFI_SAME;
		break;
	case CFA_REGISTER:
		saved = (struct cfi_saved){.kind = CFI_IN_REGISTER, .reg = small_register(cursor_uleb128(c))};
		break;
	case CFA_VAL_OFFSET:
	case CFA_VAL_OFFSET_SF:
		/* SP = CFA + 0 is what it is anyway. */
		if ((op == CFA_VAL_OFFSET ? cursor_uleb128(c) : (uint64_t)cursor_sleb128(c)) == 0 && reg == m->arch->sp)
			saved.kind = CFI_SAME;
		break;
	case CFA_EXPRESSION:
		saved = saved_by_expression(cursor_sub(c, cursor_uleb128(c)));
		break;
	case CFA_VAL_EXPRESSION:
		cursor_skip(c, cursor_uleb128(c));
		break;
	default:
		return false;
	}
	set_column(m, reg, saved);
	return true;
}

/* The remaining instructions: restoring, and what is only stepped over. False when unknown or out of place. */
static bool step_other(struct machine *m, struct cursor *c, uint8_t op)
{
	switch (op) {
	case CFA_NOP:
	case CFA_AARCH64_NEGATE_RA_STATE:
		return true;
	case CFA_GNU_ARGS_SIZE:
		cursor_uleb128(c);
		return true;
	case CFA_RESTORE_EXTENDED:
		return restore_column(m, cursor_uleb128(c));
	case CFA_REMEMBER_STATE:
		if (m->remembered_count == REMEMBERED_MAX)
			return false;
		m->remembered[m->remembered_count++] = m->state;
		return true;
	case CFA_RESTORE_STATE:
		if (!m->remembered_count)
			return false;
		m->state = m->remembered[--m->remembered_count];
		return true;
	}
	return false;
}

enum step { STEP_NEXT, STEP_PAST_END, STEP_DAMAGED };

static enum step step_location(struct machine *m, struct cursor *c, uint8_t op)
{
	uint64_t delta;

	switch (op) {
	case CFA_SET_LOC:
		delta = eh_pointer(c, m->cie->pointer_encoding, m->frame->section.vaddr, m->frame->hdr_vaddr);
		if (!cursor_ok(c) || delta < m->at)
			return STEP_DAMAGED;
		return advance(m, delta) ? STEP_NEXT : STEP_PAST_END;
	case CFA_ADVANCE_LOC1:
		delta = cursor_u8(c);
		break;
	case CFA_ADVANCE_LOC2:
		delta = cursor_u16(c);
		break;
	default:
		delta = cursor_u32(c);
		break;
	}
	if (!cursor_ok(c))
		return STEP_DAMAGED;
	return advance_by(m, delta) ? STEP_NEXT : STEP_PAST_END;
}

static enum step step(struct machine *m, struct cursor *c)
{
	uint8_t op = cursor_u8(c);
	uint8_t low = op & 0x3f;

	switch (op & 0xc0) {
	case CFA_ADVANCE_LOC:
		return advance_by(m, low) ? STEP_NEXT : STEP_PAST_END;
	case CFA_OFFSET:
		set_column(
			m, low,
			(struct cfi_saved){.kind = CFI_AT_CFA, .offset = factored(m, c, (int64_t)cursor_uleb128(c))});
		return STEP_NEXT;
	case CFA_RESTORE:
		return restore_column(m, low) ? STEP_NEXT : STEP_DAMAGED;
	}
	if (op >= CFA_SET_LOC && op <= CFA_ADVANCE_LOC4)
		return step_location(m, c, op);
	if (step_cfa(m, c, op))
		return STEP_NEXT;
	if ((op >= CFA_UNDEFINED && op <= CFA_REGISTER) || op == CFA_OFFSET_EXTENDED ||
	    (op >= CFA_EXPRESSION && op <= CFA_VAL_EXPRESSION) || op == CFA_GNU_NEGATIVE_OFFSET_EXTENDED)
		return step_register(m, c, op) ? STEP_NEXT : STEP_DAMAGED;
	return step_other(m, c, op) ? STEP_NEXT : STEP_DAMAGED;
}

static bool run(struct machine *m, uint32_t instructions, uint32_t size)
{
	struct cursor c = cursor_init(m->frame->section.bytes, (size_t)instructions + size);
	enum step last = STEP_NEXT;

	cursor_seek(&c, instructions);
	while (!cursor_at_end(&c) && last == STEP_NEXT)
		last = step(m, &c);
	return last != STEP_DAMAGED && cursor_ok(&c);
}

bool cfi_run_cie(const struct unwind_arch *arch, const struct eh_frame *frame, const struct eh_cie *cie,
		 struct cfi_state *ret)
{
	struct machine m = {.arch = arch, .frame = frame, .cie = cie};

	if (cie->ra != arch->ra || cie->instructions + (uint64_t)cie->instructions_size > frame->section.size)
		return false;
	m.state.cfa.kind = CFI_CFA_OTHER;
	m.end = UINT64_MAX;
	if (!run(&m, cie->instructions, cie->instructions_size) || m.at)
		return false;
	*ret = m.state;
	return true;
}

bool cfi_run_fde(const struct unwind_arch *arch, const struct eh_frame *frame, const struct eh_cie *cie,
		 const struct cfi_state *initial, const struct eh_fde *fde, const struct cfi_sink *sink)
{
	struct machine m;

	/* Not by an initialiser: that would clear the remembered states of every FDE. */
	m.arch = arch;
	m.frame = frame;
	m.cie = cie;
	m.initial = initial;
	m.state = *initial;
	m.remembered_count = 0;
	m.at = fde->start;
	m.end = fde->start + fde->size;
	m.sink = sink;
	if (!run(&m, fde->instructions, fde->instructions_size))
		return false;
	advance(&m, m.end);
	return true;
}

static int16_t fp_offset(const struct unwind_arch *arch, const struct cfi_saved *fp)
{
	if (fp->kind == CFI_SAME)
		return UNWIND_FP_SAME;
	if (fp->kind == CFI_AT_CFA && fp->offset && fp->offset > UNWIND_FP_AT_FP && fp->offset <= INT16_MAX)
		return (int16_t)fp->offset;
	if (fp->kind == CFI_AT_REGISTER && fp->reg == arch->fp && !fp->offset)
		return UNWIND_FP_AT_FP;
	return UNWIND_FP_UNDEFINED;
}

/* The slot of the caller's carried register below the CFA or, of frames that save it so, below the frame pointer. */
static uint8_t carried_slot(const struct unwind_arch *arch, const struct cfi_state *state)
{
	bool below_fp = state->cfa.kind == CFI_CFA_DEREF && state->cfa.reg == arch->fp;
	const struct cfi_saved *saved = &state->carried, *fp = &state->fp;

	if (saved->kind == CFI_SAME)
		return UNWIND_SLOT_SAME;
	if (arch->ra_offset == 0 && fp_offset(arch, fp) != UNWIND_FP_UNDEFINED && saved->kind == fp->kind &&
	    saved->offset == fp->offset + 8 &&
	    (fp->kind == CFI_AT_CFA || (fp->kind == CFI_AT_REGISTER && fp->reg == arch->fp && saved->reg == fp->reg)))
		return UNWIND_SLOT_BESIDE_FP;
	if (below_fp ? saved->kind != CFI_AT_REGISTER || saved->reg != arch->fp : saved->kind != CFI_AT_CFA)
		return UNWIND_SLOT_UNDEFINED;
	if (saved->offset >= 0 || saved->offset % 8 ||
	    saved->offset < -8 * (arch->ra_offset ? UNWIND_SLOT_MAX : UNWIND_SLOT_BESIDE_FP - 1))
		return UNWIND_SLOT_UNDEFINED;
	return (uint8_t)(-saved->offset / 8);
}

static bool fits_numbered(int64_t offset)
{
	return offset <= UNWIND_OFFSET_MAX && offset >= -UNWIND_OFFSET_MAX;
}

/* A return address that is still, or again, in a register. */
static struct unwind_rule ra_register_rule(const struct unwind_arch *arch, const struct cfi_state *state)
{
	const struct cfi_saved *ra = arch->ra_offset ? &state->ra : &state->carried;
	struct unwind_rule rule = {.kind = UNWIND_RA_REGISTER};

	if (state->cfa.kind != CFI_CFA_REGISTER || state->cfa.reg != arch->sp || state->sp.kind != CFI_SAME ||
	    ra->reg >= arch->register_count || !fits_numbered(state->cfa.offset))
		return (struct unwind_rule){.kind = UNWIND_UNSUPPORTED};
	rule.cfa_offset = UNWIND_NUMBERED((int32_t)state->cfa.offset, ra->reg);
	rule.fp_offset = fp_offset(arch, &state->fp);
	rule.param = carried_slot(arch, state);
	return rule;
}

/* The CFA's kind, offset and number. */
static struct unwind_rule cfa_rule(const struct unwind_arch *arch, const struct cfi_state *state)
{
	struct unwind_rule rule = {.kind = UNWIND_UNSUPPORTED, .cfa_offset = (int32_t)state->cfa.offset};
	uint8_t reg = state->cfa.reg, number = reg;

	if (state->cfa.kind == CFI_CFA_PLT)
		rule.kind = UNWIND_PLT;
	else if (state->cfa.kind == CFI_CFA_REGISTER && (reg == arch->sp || reg == arch->fp))
		rule.kind = reg == arch->sp ? UNWIND_SP : UNWIND_FP;
	else if (state->cfa.kind == CFI_CFA_REGISTER && reg < arch->register_count)
		rule.kind = UNWIND_REGISTER;
	else if (state->cfa.kind == CFI_CFA_INDEXED && reg < arch->register_count)
		rule.kind = UNWIND_SP_INDEXED;
	else if (state->cfa.kind == CFI_CFA_DEREF && (reg == arch->sp || reg == arch->fp) && !(state->cfa.plus % 8))
		rule.kind = reg == arch->sp ? UNWIND_SP_DEREF : UNWIND_FP_DEREF;
	if (!UNWIND_HAS_NUMBER(rule.kind))
		return rule;
	if (!fits_numbered(rule.cfa_offset))
		return (struct unwind_rule){.kind = UNWIND_UNSUPPORTED};
	if (state->cfa.kind == CFI_CFA_DEREF)
		number = state->cfa.plus / 8;
	rule.cfa_offset = UNWIND_NUMBERED(rule.cfa_offset, number);
	return rule;
}

/* Is the return address where a call leaves it, or where the carried register is? */
static bool finds_return(const struct unwind_arch *arch, const struct cfi_state *state)
{
	if (arch->ra_offset)
		return state->ra.kind == CFI_AT_CFA && state->ra.offset == arch->ra_offset;
	return carried_slot(arch, state) != UNWIND_SLOT_UNDEFINED;
}

struct unwind_rule cfi_rule(const struct unwind_arch *arch, const struct cfi_state *state, bool signal)
{
	const struct unwind_rule unsupported = {.kind = UNWIND_UNSUPPORTED};
	struct unwind_rule rule = {.cfa_offset = (int32_t)state->cfa.offset};
	uint8_t reg = state->cfa.reg;

	if (state->ra.kind == CFI_UNDEFINED || (!arch->ra_offset && state->carried.kind == CFI_UNDEFINED))
		return (struct unwind_rule){.kind = UNWIND_END};
	/* Such a frame's CFI restores FP and LR only. What is marked so is the trampoline: SP is at the signal's frame.
	 */
	if (signal && !arch->ra_offset)
		return (struct unwind_rule){.kind = UNWIND_SIGNAL, .cfa_offset = arch->sigcontext_at_return};
	if (state->cfa.kind == CFI_CFA_OTHER || state->cfa.offset != rule.cfa_offset)
		return unsupported;
	/* A signal frame's CFA is the interrupted SP, its return address the interrupted PC: both in struct sigcontext.
	 */
	if (signal && state->cfa.kind == CFI_CFA_DEREF && reg == arch->sp && !state->cfa.plus &&
	    state->ra.kind == CFI_AT_REGISTER && state->ra.reg == arch->sp &&
	    state->ra.offset == state->cfa.offset - arch->sigcontext_sp + arch->sigcontext_pc)
		return (struct unwind_rule){.kind = UNWIND_SIGNAL, .cfa_offset = rule.cfa_offset - arch->sigcontext_sp};
	if ((arch->ra_offset ? state->ra : state->carried).kind == CFI_IN_REGISTER)
		return ra_register_rule(arch, state);
	if (!finds_return(arch, state) || state->sp.kind != CFI_SAME)
		return unsupported;
	rule = cfa_rule(arch, state);
	if (rule.kind == UNWIND_UNSUPPORTED)
		return unsupported;
	rule.fp_offset = fp_offset(arch, &state->fp);
	rule.param = carried_slot(arch, state);
	return rule;
}
