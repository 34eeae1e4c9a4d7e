// SPDX-License-Identifier: GPL-2.0-or-later
/* Follows the code of a Go function that changes stacks: see go_switch_parts.h. */
#include "runtime/go/abi.h"
#include "runtime/go/switch_parts.h"

#define PASSES_MAX 16

#define G_REGISTER 14 /* R14: the g, in Go's calling convention */

static const struct value unknown;

static struct value add(struct value value, int64_t n)
{
	if ((value.kind == VALUE_RETURN || value.kind == VALUE_WORD) && n)
		return unknown;
	if (value.kind == VALUE_UNKNOWN || value.kind == VALUE_RETURN || value.kind == VALUE_WORD)
		return value;
	if (n > INT32_MAX / 2 || n < INT32_MIN / 2 || value.n > INT32_MAX / 2 || value.n < INT32_MIN / 2)
		return unknown;
	value.n += n;
	return value;
}

static struct value load(struct value value, int64_t n)
{
	value = add(value, n);
	if (value.kind != VALUE_PATH || value.count == DEREFS_MAX)
		return unknown;
	value.at[value.count++] = (int32_t)value.n;
	value.n = 0;
	return value;
}

/* The one path's difference that asmcgocall makes: stack.hi of a g that is on the stack, less the depth that is. */
static struct value subtract(struct value a, struct value b)
{
	if (a.kind != VALUE_PATH || b.kind != VALUE_PATH || a.base != BASE_SP || b.base != BASE_SP || a.count != 2 ||
	    b.count != 1 || a.n || b.n)
		return unknown;
	a.kind = VALUE_DEPTH;
	a.at[2] = b.at[0];
	return a;
}

static bool same(const struct value *a, const struct value *b)
{
	size_t i, count = a->kind == VALUE_DEPTH ? 3 : a->count;

	if (a->kind != b->kind || a->base != b->base || a->count != b->count || a->n != b->n || a->got != b->got)
		return false;
	for (i = 0; i < count; i++)
		if (a->at[i] != b->at[i])
			return false;
	return true;
}

struct value *go_flow_sp(const struct go_switch *go, struct state *state)
{
	return &state->registers[go->arch->sp];
}

static struct value value_of(const struct state *state, uint8_t reg)
{
	return reg < CODE_REGISTERS ? state->registers[reg] : unknown;
}

static struct value thread_base(const struct state *state, const struct code_insn *insn)
{
	struct value thread = {.kind = VALUE_PATH, .base = BASE_THREAD}, base = value_of(state, insn->b);

	if (insn->b == CODE_NONE)
		return add(thread, insn->imm);
	if (base.kind == VALUE_WORD) {
		thread.got = base.n;
		return add(thread, insn->imm);
	}
	return base.kind == VALUE_CONSTANT ? add(add(thread, base.n), insn->imm) : unknown;
}

/* Is it g's m? */
static bool is_m(const struct go_switch *go, const struct value *value)
{
	return go->layout.known && value->kind == VALUE_PATH && value->base == BASE_G && value->count == 1 &&
	       !value->n && value->at[0] == go->layout.m * 8;
}

static void clobber(struct state *state, uint32_t registers)
{
	size_t i;

	for (i = 0; i < CODE_REGISTERS; i++)
		if (registers >> i & 1)
			state->registers[i] = unknown;
}

static void set(struct state *state, uint8_t reg, struct value value)
{
	if (reg < CODE_REGISTERS)
		state->registers[reg] = value;
}

/* What a call leaves. Forwards nothing but SP, and what the code that saves SP says: Go's functions preserve nothing.
 */
static uint32_t call_clobbers(const struct go_switch *go, const struct insn *insn, bool forwards)
{
	const struct code_arch *code = go->arch->code;

	if (insn->code.op == CODE_CALL && go->save.name && (uint64_t)insn->code.imm == go->save.start)
		return go->save_clobbers;
	return ~(1u << code->sp | (forwards ? 0 : code->preserved));
}

/* FP is stored at CFA - 16, or is loaded again. */
static void step_fp(const struct go_switch *go, const struct code_insn *code, struct state *state)
{
	struct value to =
		code->op == CODE_PUSH ? add(*go_flow_sp(go, state), -8) : add(value_of(state, code->b), code->imm);

	if ((code->op == CODE_PUSH || (code->op == CODE_STORE && code->size == 8)) && code->a == go->arch->fp) {
		if (to.kind == VALUE_CFA && to.n == -16)
			state->fp_saved = true;
	} else if ((code->op == CODE_POP || code->op == CODE_LOAD) && code->a == go->arch->fp) {
		state->fp_saved = false;
	} else if (code->op == CODE_LEAVE) {
		state->fp_saved = false;
	}
}

/* Whether the return address is where SP points. */
static bool is_return(const struct state *state, const struct value *sp)
{
	return sp->kind == VALUE_CFA && sp->n == -8 && !state->popped;
}

/* clone() returns twice, and its result tells in which of the two: as long as that is there. */
static void step_clone(const struct go_switch *go, const struct code_insn *code, struct state *state)
{
	uint8_t result = go->arch->code->syscall_number;

	if (code->op == CODE_SYSCALL && go->clones && !state->child)
		state->forked = true;
	else if (state->forked && (code->clobbers >> result & 1 || (code->a == result && code->op != CODE_COMPARE)))
		state->popped = true;
}

/* At a branch by the result, that comes behind its comparison. */
static void branch_clone(const struct go_switch *go, size_t i, bool taken, struct state *state)
{
	const struct code_insn *code = &go->insns[i].code, *before = i ? &go->insns[i - 1].code : NULL;

	if (!state->forked || code->op != CODE_BRANCH || !before || before->op != CODE_COMPARE || before->imm ||
	    before->a != go->arch->code->syscall_number)
		return;
	if (code->condition != CODE_IF_EQUAL && code->condition != CODE_IF_NOT_EQUAL)
		return;
	state->forked = false;
	state->child = taken == (code->condition == CODE_IF_EQUAL);
	if (state->child)
		*go_flow_sp(go, state) = unknown;
}

static void step(const struct go_switch *go, const struct insn *insn, bool forwards, struct state *state)
{
	const struct code_insn *code = &insn->code;
	uint8_t sp = go->arch->sp;
	struct value base;

	step_fp(go, code, state);
	switch (code->op) {
	case CODE_SET:
		set(state, code->a, (struct value){.kind = VALUE_CONSTANT, .n = code->imm});
		break;
	case CODE_ADD:
		set(state, code->a, add(value_of(state, code->b), code->imm));
		break;
	case CODE_LOAD:
		set(state, code->a, load(value_of(state, code->b), code->imm));
		break;
	case CODE_LOAD_FIXED:
		set(state, code->a, (struct value){.kind = VALUE_WORD, .n = code->imm});
		break;
	case CODE_LOAD_THREAD:
		set(state, code->a, load(thread_base(state, code), 0));
		break;
	case CODE_SUB_LOAD:
		set(state, code->a, subtract(value_of(state, code->a), load(value_of(state, code->b), code->imm)));
		break;
	case CODE_SET_BYTE:
	case CODE_ADD_BOTH:
	case CODE_EXTEND:
	case CODE_MASK:
	case CODE_LOAD_OFFSET:
		set(state, code->a, unknown);
		break;
	case CODE_STORE:
		base = value_of(state, code->b);
		if (code->size == 8 && is_m(go, &base) && value_of(state, code->a).kind == VALUE_CFA) {
			state->vdso = (int32_t)code->imm;
			state->vdso_n = (int32_t)value_of(state, code->a).n;
		}
		break;
	case CODE_PUSH:
		base = *go_flow_sp(go, state);
		if (base.kind == VALUE_CFA && !base.n) /* where the return address was */
			state->popped = value_of(state, code->a).kind != VALUE_RETURN;
		set(state, sp, add(base, -8));
		break;
	case CODE_POP:
		base = *go_flow_sp(go, state);
		set(state, code->a, is_return(state, &base) ? (struct value){.kind = VALUE_RETURN} : unknown);
		state->popped |= is_return(state, &base);
		set(state, sp, add(base, 8));
		break;
	case CODE_LEAVE:
		set(state, sp, add(state->registers[go->arch->fp], 8));
		set(state, go->arch->fp, unknown);
		break;
	case CODE_SYSCALL:
		clobber(state, go->arch->code->syscall_clobber);
		break;
	case CODE_CALL:
	case CODE_CALL_INDIRECT:
		clobber(state, call_clobbers(go, insn, forwards));
		break;
	default:
		break;
	}
	clobber(state, code->clobbers);
	step_clone(go, code, state);
}

void go_flow_read(struct go_switch *go, const struct go_function *function)
{
	size_t size = function->end - function->start, at = 0;
	const uint8_t *bytes = elf_file_bytes_at(go->elf, function->start, size);
	struct insn *insn = go->insns;

	go->start = function->start;
	go->count = 0;
	while (bytes && at < size && go->count < INSNS_MAX) {
		insn->offset = (uint32_t)at;
		insn->reached = false;
		if (!go->arch->code->decode(go->decoder, bytes + at, size - at, go->start + at, &insn->code))
			break;
		at += insn->code.length;
		go->count++;
		insn++;
	}
}

/* The instruction at an address; NULL when none begins there. */
static struct insn *insn_at(struct go_switch *go, int64_t address)
{
	size_t i;

	for (i = 0; i < go->count; i++)
		if ((int64_t)(go->start + go->insns[i].offset) == address)
			return &go->insns[i];
	return NULL;
}

/* What is true whichever way one comes; true when that is news. */
static bool meet(struct insn *insn, const struct state *state)
{
	struct state *into = &insn->state;
	bool changed = false;
	size_t i;

	if (!insn->reached) {
		insn->reached = true;
		*into = *state;
		return true;
	}
	for (i = 0; i < CODE_REGISTERS; i++)
		if (into->registers[i].kind != VALUE_UNKNOWN && !same(&into->registers[i], &state->registers[i])) {
			into->registers[i] = unknown;
			changed = true;
		}
	if (into->fp_saved && !state->fp_saved) {
		into->fp_saved = false;
		changed = true;
	}
	if (!into->popped && state->popped) {
		into->popped = true;
		changed = true;
	}
	if (!into->forked && state->forked) {
		into->forked = true;
		changed = true;
	}
	if (into->child && !state->child) {
		into->child = false;
		changed = true;
	}
	if ((into->vdso != state->vdso || into->vdso_n != state->vdso_n) && into->vdso) {
		into->vdso = 0;
		changed = true;
	}
	return changed;
}

bool go_flow_goes_on(const struct code_insn *code)
{
	return code->op != CODE_JUMP && code->op != CODE_JUMP_REGISTER && code->op != CODE_JUMP_TABLE &&
	       code->op != CODE_JUMP_INDIRECT && code->op != CODE_RETURN && code->op != CODE_STOP;
}

bool go_flow_follow(struct go_switch *go)
{
	struct state entry = {}, state;
	bool changed = go->count;
	size_t i, pass;

	entry.registers[go->arch->sp] = (struct value){.kind = VALUE_CFA, .n = -8};
	entry.registers[G_REGISTER] = (struct value){.kind = VALUE_PATH, .base = BASE_G};
	if (changed)
		meet(&go->insns[0], &entry);
	for (pass = 0; pass < PASSES_MAX && changed; pass++) {
		changed = false;
		for (i = 0; i < go->count; i++) {
			const struct insn *insn = &go->insns[i];
			struct insn *target;

			if (!insn->reached)
				continue;
			state = insn->state;
			step(go, insn, true, &state);
			if (insn->code.op == CODE_BRANCH || insn->code.op == CODE_JUMP) {
				struct state there = state;

				branch_clone(go, i, true, &there);
				target = insn_at(go, insn->code.imm);
				if (target && meet(target, &there))
					changed = true;
				if (!target && insn->code.op == CODE_BRANCH)
					return false;
			}
			branch_clone(go, i, false, &state);
			if (go_flow_goes_on(&insn->code) && i + 1 < go->count && meet(&go->insns[i + 1], &state))
				changed = true;
		}
	}
	return !changed;
}

struct value go_flow_onwards(const struct go_switch *go, size_t first)
{
	struct state state = {};
	size_t i;

	for (i = 0; i < CODE_REGISTERS; i++)
		if (go->arch->code->preserved >> i & 1)
			state.registers[i] = (struct value){.kind = VALUE_PATH, .base = (uint8_t)(BASE_REGISTER + i)};
	*go_flow_sp(go, &state) = (struct value){.kind = VALUE_PATH, .base = BASE_SP};
	for (i = first; i < go->count; i++) {
		const struct insn *insn = &go->insns[i];

		if (insn->code.op == CODE_RETURN)
			return add(*go_flow_sp(go, &state), 8);
		if (!go_flow_goes_on(&insn->code) || insn->code.op == CODE_CALL)
			break;
		step(go, insn, false, &state);
	}
	return unknown;
}
