// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * States, what instructions do to them, and the rules that follow from them.
 *
 * Taken for granted, as by every debugger: a callee gives back the stack pointer and the registers that the psABI says
 * are its caller's, and nobody writes to a function's saved registers through a pointer. What a function did itself is
 * followed to the byte.
 */
#include "unwind/code.h"

#define WORD 8

static const struct code_value unknown = {.kind = CODE_UNKNOWN};

static bool same_value(struct code_value a, struct code_value b)
{
	return a.kind == b.kind && a.n == b.n && a.count == b.count;
}

static bool is_entry(struct code_value value, unsigned int reg)
{
	return value.kind == CODE_ENTRY && value.n == reg;
}

static struct code_value constant(int64_t n)
{
	struct code_value value = {.kind = CODE_CONSTANT, .n = n};

	return value.n == n ? value : unknown;
}

/* CFA + n. Frames of more than 1 GiB are not followed. */
static struct code_value at_cfa(int64_t n)
{
	return n > -(1 << 30) && n < 1 << 30 ? (struct code_value){.kind = CODE_CFA, .n = n} : unknown;
}

/* Where a call leaves SP, from the CFA. */
static int32_t sp_at_entry(const struct code_arch *arch)
{
	return arch->links ? 0 : -WORD;
}

void code_state_entry(const struct code_arch *arch, struct code_state *ret)
{
	unsigned int i;

	*ret = (struct code_state){};
	for (i = 0; i < arch->registers; i++)
		if (arch->preserved >> i & 1)
			ret->registers[i] = (struct code_value){.kind = CODE_ENTRY, .n = i};
	ret->registers[arch->sp] = at_cfa(sp_at_entry(arch));
	if (arch->links) {
		ret->registers[arch->carried] = (struct code_value){.kind = CODE_ENTRY, .n = arch->carried};
		return;
	}
	ret->slot_at[0] = -WORD;
	ret->slots[0] = (struct code_value){.kind = CODE_ENTRY, .n = CODE_RA};
}

struct code_value code_slot(const struct code_state *state, int64_t at)
{
	unsigned int i;

	for (i = 0; i < CODE_SLOTS; i++)
		if (state->slot_at[i] && state->slot_at[i] == at)
			return state->slots[i];
	return unknown;
}

/* Whatever lay in [start, end) is gone. */
static void drop_slots(struct code_state *state, int64_t start, int64_t end)
{
	unsigned int i;

	for (i = 0; i < CODE_SLOTS; i++)
		if (state->slot_at[i] && state->slot_at[i] < end && state->slot_at[i] + WORD > start)
			state->slot_at[i] = 0;
}

static void set_slot(struct code_state *state, int64_t at, struct code_value value)
{
	unsigned int i;

	if (at >= 0 || at % WORD || (value.kind != CODE_ENTRY && value.kind != CODE_CFA))
		return;
	for (i = 0; i < CODE_SLOTS; i++)
		if (!state->slot_at[i]) {
			state->slot_at[i] = (int32_t)at;
			state->slots[i] = value;
			return;
		}
}

static void set_register(struct code_state *state, unsigned int reg, struct code_value value)
{
	if (reg >= CODE_REGISTERS)
		return;
	state->registers[reg] = value;
	if (state->compared.reg == reg)
		state->compared.kind = CODE_OTHER;
}

static void clobber(struct code_state *state, uint32_t registers)
{
	for (; registers; registers &= registers - 1)
		set_register(state, (unsigned int)__builtin_ctz(registers), unknown);
}

static struct code_value get_register(const struct code_state *state, unsigned int reg)
{
	return reg < CODE_REGISTERS ? state->registers[reg] : unknown;
}

static struct code_value add(struct code_value value, int64_t n)
{
	if (value.kind == CODE_CFA)
		return at_cfa(value.n + n);
	if (value.kind == CODE_CONSTANT)
		return constant(value.n + n);
	return n ? unknown : value;
}

/* Of two, in either order: a constant and what is known of SP; the address of a jump table and a word that was read
 * from it. */
static struct code_value add_both(struct code_value a, struct code_value b)
{
	if (a.kind == CODE_CFA && b.kind == CODE_CONSTANT)
		return add(a, b.n);
	if (a.kind == CODE_CONSTANT && b.kind == CODE_OFFSET)
		return add_both(b, a);
	if (a.kind != CODE_OFFSET || b.kind != CODE_CONSTANT || a.n != b.n)
		return unknown;
	return (struct code_value){.kind = CODE_TARGET, .n = a.n, .count = a.count};
}

static struct code_value extend(struct code_value value)
{
	return value.kind == CODE_BOUND || (value.kind == CODE_CONSTANT && value.n >= 0 && value.n < INT32_MAX)
		       ? value
		       : unknown;
}

static struct code_value load_offset(const struct code_state *state, const struct code_insn *insn)
{
	struct code_value table = add(get_register(state, insn->b), insn->imm);
	struct code_value index = get_register(state, insn->index);

	if (table.kind != CODE_CONSTANT || index.kind != CODE_BOUND)
		return unknown;
	return (struct code_value){.kind = CODE_OFFSET, .n = table.n, .count = index.count};
}

static void push(const struct code_arch *arch, struct code_state *state, struct code_value value)
{
	struct code_value sp = add(state->registers[arch->sp], -WORD);

	set_register(state, arch->sp, sp);
	if (sp.kind != CODE_CFA)
		return;
	drop_slots(state, sp.n, sp.n + WORD);
	set_slot(state, sp.n, value);
}

static struct code_value pop(const struct code_arch *arch, struct code_state *state)
{
	struct code_value sp = state->registers[arch->sp];

	set_register(state, arch->sp, add(sp, WORD));
	return sp.kind == CODE_CFA ? code_slot(state, sp.n) : unknown;
}

static void store(struct code_state *state, const struct code_insn *insn)
{
	struct code_value at = add(get_register(state, insn->b), insn->imm);

	if (at.kind != CODE_CFA)
		return;
	drop_slots(state, at.n, at.n + insn->size);
	if (insn->size == WORD || insn->c != CODE_NONE)
		set_slot(state, at.n, get_register(state, insn->a));
	if (insn->c != CODE_NONE)
		set_slot(state, at.n + WORD, get_register(state, insn->c));
}

/* Whether the caller's FP is nowhere any more. */
static bool fp_lost(const struct code_arch *arch, const struct code_state *state)
{
	unsigned int i;

	for (i = 0; i < arch->registers; i++)
		if (is_entry(state->registers[i], arch->fp))
			return false;
	for (i = 0; i < CODE_SLOTS; i++)
		if (state->slot_at[i] && is_entry(state->slots[i], arch->fp))
			return false;
	return true;
}

static void call(const struct code_arch *arch, struct code_state *state)
{
	struct code_value sp = state->registers[arch->sp];

	clobber(state, ~(arch->preserved | 1u << arch->sp));
	if (sp.kind == CODE_CFA)
		drop_slots(state, INT32_MIN, sp.n);
}

/* The rest of what an instruction does, and all that most do. */
static void step_flags(const struct code_insn *insn, struct code_state *state)
{
	if (insn->op == CODE_COMPARE) {
		state->compared.kind = insn->imm >= 0 && insn->imm < CODE_JUMPS_MAX ? CODE_COMPARE : CODE_OTHER;
		state->compared.reg = insn->a;
		state->compared.imm = (uint32_t)insn->imm;
	} else if (insn->op == CODE_COMPARE_SP) {
		state->compared.kind = CODE_COMPARE_SP;
		state->compared.reg = insn->a;
	} else if (!insn->keeps_flags) {
		state->compared.kind = CODE_OTHER;
	}
}

void code_step(const struct code_arch *arch, const struct code_insn *insn, struct code_state *state)
{
	struct code_value value;

	switch (insn->op) {
	case CODE_SET:
		set_register(state, insn->a, constant(insn->imm));
		if (insn->a == arch->fp && !insn->imm && fp_lost(arch, state))
			state->outermost = true;
		break;
	case CODE_SET_BYTE:
		value = get_register(state, insn->a);
		set_register(state, insn->a,
			     value.kind == CODE_CONSTANT ? constant((value.n & ~0xff) | (insn->imm & 0xff)) : unknown);
		break;
	case CODE_ADD:
		set_register(state, insn->a, add(get_register(state, insn->b), insn->imm));
		break;
	case CODE_ADD_BOTH:
		set_register(state, insn->a, add_both(get_register(state, insn->a), get_register(state, insn->b)));
		break;
	case CODE_EXTEND:
		set_register(state, insn->a, extend(get_register(state, insn->b)));
		break;
	case CODE_MASK:
		set_register(state, insn->a,
			     insn->imm >= 0 && insn->imm < CODE_JUMPS_MAX
				     ? (struct code_value){.kind = CODE_BOUND, .count = (uint64_t)insn->imm}
				     : unknown);
		break;
	case CODE_SUB_BOTH:
		value = get_register(state, insn->b);
		set_register(state, insn->a,
			     value.kind == CODE_CONSTANT ? add(get_register(state, insn->a), -value.n) : unknown);
		break;
	case CODE_LOAD:
		value = add(get_register(state, insn->b), insn->imm);
		set_register(state, insn->a, value.kind == CODE_CFA ? code_slot(state, value.n) : unknown);
		if (insn->c != CODE_NONE)
			set_register(state, insn->c,
				     value.kind == CODE_CFA ? code_slot(state, value.n + WORD) : unknown);
		break;
	case CODE_LOAD_FIXED:
	case CODE_LOAD_THREAD:
	case CODE_SUB_LOAD:
		set_register(state, insn->a, unknown);
		break;
	case CODE_LOAD_OFFSET:
		set_register(state, insn->a, load_offset(state, insn));
		break;
	case CODE_STORE:
		store(state, insn);
		break;
	case CODE_PUSH:
		push(arch, state, get_register(state, insn->a));
		break;
	case CODE_POP:
		set_register(state, insn->a, pop(arch, state));
		break;
	case CODE_LEAVE:
		set_register(state, arch->sp, state->registers[arch->fp]);
		set_register(state, arch->fp, pop(arch, state));
		break;
	case CODE_SYSCALL:
		clobber(state, arch->syscall_clobber);
		break;
	case CODE_CALL:
	case CODE_CALL_INDIRECT:
		call(arch, state);
		break;
	default:
		break;
	}
	if (insn->update)
		set_register(state, insn->b, add(get_register(state, insn->b), insn->update));
	clobber(state, insn->clobbers);
	step_flags(insn, state);
}

void code_branch(const struct code_arch *arch, const struct code_insn *insn, bool taken, struct code_state *state)
{
	uint32_t imm = state->compared.imm;
	bool equal, below;

	if (insn->op != CODE_BRANCH)
		return;
	if (state->compared.kind == CODE_COMPARE_SP) {
		/* A loop that touches one page of a large frame after the other, until SP is what another register is.
		 */
		equal = insn->condition == (taken ? CODE_IF_EQUAL : CODE_IF_NOT_EQUAL);
		if (insn->condition == CODE_IF_EQUAL || insn->condition == CODE_IF_NOT_EQUAL)
			state->registers[arch->sp] = equal ? get_register(state, state->compared.reg) : unknown;
		return;
	}
	if (state->compared.kind != CODE_COMPARE || state->compared.reg >= CODE_REGISTERS)
		return;
	below = insn->condition == (taken ? CODE_IF_BELOW : CODE_IF_NOT_BELOW);
	if (below ? imm > 0 : insn->condition == (taken ? CODE_IF_NOT_ABOVE : CODE_IF_ABOVE))
		if (state->registers[state->compared.reg].kind == CODE_UNKNOWN)
			state->registers[state->compared.reg] =
				(struct code_value){.kind = CODE_BOUND, .count = below ? imm - 1 : imm};
}

/* FP is what compilers call the frame pointer: the caller's is saved where it points. */
static bool has_frame_pointer(const struct code_arch *arch, const struct code_state *state)
{
	struct code_value fp = state->registers[arch->fp];

	if (arch->links)
		return fp.kind == CODE_CFA && is_entry(code_slot(state, fp.n), arch->fp) &&
		       is_entry(code_slot(state, fp.n + WORD), arch->carried);
	return fp.kind == CODE_CFA && fp.n == -2 * WORD && is_entry(code_slot(state, -2 * WORD), arch->fp);
}

bool code_meet(const struct code_arch *arch, struct code_state *into, const struct code_state *other, bool *changed)
{
	struct code_value sp = into->registers[arch->sp], other_sp = other->registers[arch->sp];
	bool differs = false;
	unsigned int i;

	for (i = 0; i < arch->registers; i++)
		if (into->registers[i].kind != CODE_UNKNOWN && !same_value(into->registers[i], other->registers[i])) {
			into->registers[i] = unknown;
			differs = true;
		}
	for (i = 0; i < CODE_SLOTS; i++)
		if (into->slot_at[i] && !same_value(into->slots[i], code_slot(other, into->slot_at[i]))) {
			into->slot_at[i] = 0;
			differs = true;
		}
	if (into->compared.kind != CODE_OTHER &&
	    (into->compared.kind != other->compared.kind || into->compared.reg != other->compared.reg ||
	     into->compared.imm != other->compared.imm)) {
		into->compared.kind = CODE_OTHER;
		differs = true;
	}
	if (into->outermost && !other->outermost) {
		into->outermost = false;
		differs = true;
	}
	*changed |= differs;
	return sp.kind != CODE_CFA || other_sp.kind != CODE_CFA || sp.n == other_sp.n || has_frame_pointer(arch, into);
}

enum code_exit code_exit_of(const struct code_arch *arch, const struct code_state *state)
{
	struct code_value sp = state->registers[arch->sp];
	unsigned int i;

	if (sp.kind != CODE_CFA)
		return CODE_EXIT_UNKNOWN;
	if (sp.n != sp_at_entry(arch))
		return CODE_EXIT_UNBALANCED;
	for (i = 0; i < arch->registers; i++)
		if (i != arch->sp && arch->preserved >> i & 1 && !is_entry(state->registers[i], i))
			return CODE_EXIT_UNBALANCED;
	if (arch->links)
		return is_entry(state->registers[arch->carried], arch->carried) ? CODE_EXIT_CLEAN
										: CODE_EXIT_UNBALANCED;
	return is_entry(code_slot(state, -WORD), CODE_RA) ? CODE_EXIT_CLEAN : CODE_EXIT_UNKNOWN;
}

/* The slot that holds what a register held at entry, not below SP if that is known; 0: none. */
static int32_t saved_at(const struct code_arch *arch, const struct code_state *state, unsigned int reg)
{
	struct code_value sp = state->registers[arch->sp];
	int32_t best = 0;
	unsigned int i;

	for (i = 0; i < CODE_SLOTS; i++)
		if (state->slot_at[i] && is_entry(state->slots[i], reg) &&
		    (sp.kind != CODE_CFA || state->slot_at[i] >= sp.n) && (!best || state->slot_at[i] > best))
			best = state->slot_at[i];
	return best;
}

/* How to find the CFA; UNWIND_NO_RULE: not at all. Registers but SP, FP are good in an innermost frame only. */
static struct unwind_rule cfa_rule(const struct code_arch *arch, const struct code_state *state, bool innermost)
{
	const struct code_value *registers = state->registers;
	struct unwind_rule rule = {};
	unsigned int i;

	/* Where compilers keep a frame pointer it is what their CFI uses, too; and SP may have moved by what is not
	 * seen. */
	if (has_frame_pointer(arch, state))
		return (struct unwind_rule){.kind = UNWIND_FP, .cfa_offset = (int32_t)-registers[arch->fp].n};
	if (registers[arch->sp].kind == CODE_CFA)
		return (struct unwind_rule){.kind = UNWIND_SP, .cfa_offset = (int32_t)-registers[arch->sp].n};
	if (registers[arch->fp].kind == CODE_CFA)
		return (struct unwind_rule){.kind = UNWIND_FP, .cfa_offset = (int32_t)-registers[arch->fp].n};
	for (i = 0; i < arch->registers && innermost; i++)
		if (registers[i].kind == CODE_CFA && registers[i].n >= -UNWIND_OFFSET_MAX &&
		    registers[i].n <= UNWIND_OFFSET_MAX)
			return (struct unwind_rule){.kind = UNWIND_REGISTER,
						    .cfa_offset = UNWIND_NUMBERED((int32_t)-registers[i].n, i)};
	return rule;
}

/* The return address: at its place, or else in a register (then *rule says so). False when it is lost. */
static bool find_return_address(const struct code_arch *arch, const struct code_state *state, bool innermost,
				struct unwind_rule *rule)
{
	struct code_value sp = state->registers[arch->sp];
	unsigned int i, is = arch->links ? arch->carried : CODE_RA;

	if (arch->links && (saved_at(arch, state, is) || (innermost && is_entry(state->registers[is], is))))
		return true;
	/* Popped, it is still there, until a signal's frame or a forked child's lies over it. */
	if (is_entry(code_slot(state, -WORD), CODE_RA) && (sp.kind != CODE_CFA || sp.n <= -WORD))
		return true;
	if (!innermost || rule->kind != UNWIND_SP || rule->cfa_offset < 0 || rule->cfa_offset > UNWIND_OFFSET_MAX)
		return false;
	for (i = 0; i < arch->registers; i++)
		if (is_entry(state->registers[i], is)) {
			rule->kind = UNWIND_RA_REGISTER;
			rule->cfa_offset = UNWIND_NUMBERED(rule->cfa_offset, i);
			return true;
		}
	return false;
}

/* The first instruction of a thread, on its own stack: what came before, clone(), ran on its parent's. */
static bool clears_fp(const struct code_arch *arch, const struct code_state *state, const struct code_insn *insn)
{
	struct code_state after = *state;

	if (insn->op != CODE_SET || insn->a != arch->fp || insn->imm)
		return false;
	set_register(&after, arch->fp, unknown);
	return fp_lost(arch, &after);
}

struct unwind_rule code_rule(const struct code_arch *arch, const struct code_state *state, const struct code_insn *insn)
{
	const struct unwind_rule none = {.kind = UNWIND_NO_RULE};
	bool innermost = insn->op != CODE_CALL && insn->op != CODE_CALL_INDIRECT;
	struct unwind_rule rule = cfa_rule(arch, state, innermost);
	uint32_t slot;
	int32_t at;

	if (state->outermost || clears_fp(arch, state, insn))
		return (struct unwind_rule){.kind = UNWIND_END};
	if (rule.kind == UNWIND_NO_RULE || !find_return_address(arch, state, innermost, &rule))
		return none;
	at = saved_at(arch, state, arch->fp);
	if (at > INT16_MIN + 16 && at < 0)
		rule.fp_offset = (int16_t)at;
	else if (!is_entry(state->registers[arch->fp], arch->fp))
		return none;
	at = saved_at(arch, state, arch->carried);
	slot = (uint32_t)-at / WORD;
	if (arch->links) {
		if (at && at == rule.fp_offset + WORD)
			slot = UNWIND_SLOT_BESIDE_FP;
		else if (slot >= UNWIND_SLOT_BESIDE_FP)
			return none;
	} else if (slot > UNWIND_SLOT_MAX || (!slot && !is_entry(state->registers[arch->carried], arch->carried))) {
		slot = UNWIND_SLOT_UNDEFINED;
	}
	rule.param = (uint8_t)slot;
	return rule;
}
