// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A function is decoded, and followed twice:
 *
 *   forwards   from its first instruction, by all ways, with what each register holds. Where SP is the CFA and a
 * number, or another register is, that is the rule. onwards    from one place, straight to the return, with SP there as
 * the start. What SP is at the return, in terms of SP at the start or of the thread pointer, is the rule at that place.
 */
#include "unwind/go_switch.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "unwind/code.h"

#define INSNS_MAX  256
#define DEREFS_MAX 4
#define PASSES_MAX 16

#define OWN_FRAME_MAX 4096

#define G_REGISTER 14 /* R14: the g, in Go's calling convention */

enum value_kind {
	VALUE_UNKNOWN,
	VALUE_CFA,      /* CFA + n */
	VALUE_CONSTANT, /* n */
	VALUE_RETURN,   /* the return address */
	VALUE_WORD,     /* the word at n, which the loader writes */
	VALUE_PATH,     /* [[base + at[0]] + at[1]] ... + n */
	VALUE_DEPTH     /* [[base + at[0]] + at[1]] - [base + at[2]] + n */
};

enum value_base {
	BASE_THREAD,  /* the thread pointer */
	BASE_G,       /* G_REGISTER at the function's entry */
	BASE_SP,      /* SP where one began to follow the code */
	BASE_REGISTER /* the first of the registers there, by number */
};

struct value {
	uint8_t kind; /* enum value_kind */
	uint8_t base; /* enum value_base */
	uint8_t count;
	int32_t at[DEREFS_MAX];
	int64_t n;
	int64_t got; /* BASE_THREAD: not 0: the word there is added to the thread pointer */
};

struct state {
	struct value registers[CODE_REGISTERS];
	bool fp_saved; /* at CFA - 16 */
	bool popped;   /* the return address is not in its place, or that is not known */
	bool forked;   /* clone() has returned, in the parent or in the child */
	bool child;    /* in the child */
	int32_t vdso;  /* offset in m of a word that was set to the CFA + vdso_n; 0: none */
	int32_t vdso_n;
};

struct insn {
	struct code_insn code;
	uint32_t offset;
	bool reached;
	struct state state; /* before it */
};

/* Where is what, in words. */
struct layout {
	int16_t thread;
	int64_t got;
	uint8_t m, curg, g0, sp;
	bool known;
};

struct go_switch {
	const struct elf_file *elf;
	const struct unwind_arch *arch;
	struct code_decoder *decoder;
	struct layout layout;
	struct go_function save;
	uint16_t save_clobbers;
	bool schedules;
	bool clones; /* the function at hand is clone() */
	/* The function at hand. */
	uint64_t start;
	size_t count;
	struct insn insns[INSNS_MAX];
};

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

static struct value *sp_of(const struct go_switch *go, struct state *state)
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

static void clobber(struct state *state, uint16_t registers)
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
static uint16_t call_clobbers(const struct go_switch *go, const struct insn *insn, bool forwards)
{
	const struct code_arch *code = go->arch->code;

	if (insn->code.op == CODE_CALL && go->save.name && (uint64_t)insn->code.imm == go->save.start)
		return go->save_clobbers;
	return (uint16_t) ~(1u << code->sp | (forwards ? 0 : code->preserved));
}

/* FP is stored at CFA - 16, or is loaded again. */
static void step_fp(const struct go_switch *go, const struct code_insn *code, struct state *state)
{
	struct value to = code->op == CODE_PUSH ? add(*sp_of(go, state), -8) : add(value_of(state, code->b), code->imm);

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
		*sp_of(go, state) = unknown;
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
		base = *sp_of(go, state);
		if (base.kind == VALUE_CFA && !base.n) /* where the return address was */
			state->popped = value_of(state, code->a).kind != VALUE_RETURN;
		set(state, sp, add(base, -8));
		break;
	case CODE_POP:
		base = *sp_of(go, state);
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

/* Reads the function's instructions, up to one that is not known. */
static void decode(struct go_switch *go, const struct go_function *function)
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

static bool goes_on(const struct code_insn *code)
{
	return code->op != CODE_JUMP && code->op != CODE_JUMP_REGISTER && code->op != CODE_JUMP_TABLE &&
	       code->op != CODE_JUMP_INDIRECT && code->op != CODE_RETURN && code->op != CODE_STOP;
}

/* All ways from the first instruction on. False when they cannot all be followed. */
static bool flow(struct go_switch *go)
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
			if (goes_on(&insn->code) && i + 1 < go->count && meet(&go->insns[i + 1], &state))
				changed = true;
		}
	}
	return !changed;
}

/*
 * The CFA, as what SP is behind the return that the code at `first` comes to, in terms of SP, of the registers that
 * calls of C preserve, and of the thread pointer there. A branch is not taken: either way the function returns, with
 * one SP. A direct call may be one that does not return.
 */
static struct value onwards(const struct go_switch *go, size_t first)
{
	struct state state = {};
	size_t i;

	for (i = 0; i < CODE_REGISTERS; i++)
		if (go->arch->code->preserved >> i & 1)
			state.registers[i] = (struct value){.kind = VALUE_PATH, .base = (uint8_t)(BASE_REGISTER + i)};
	*sp_of(go, &state) = (struct value){.kind = VALUE_PATH, .base = BASE_SP};
	for (i = first; i < go->count; i++) {
		const struct insn *insn = &go->insns[i];

		if (insn->code.op == CODE_RETURN)
			return add(*sp_of(go, &state), 8);
		if (!goes_on(&insn->code) || insn->code.op == CODE_CALL)
			break;
		step(go, insn, false, &state);
	}
	return unknown;
}

static bool is_words(int64_t offset, int64_t most)
{
	return offset % 8 == 0 && offset >= 0 && offset / 8 <= most;
}

static struct unwind_rule packed(struct unwind_go_rule go)
{
	struct unwind_rule rule;

	memcpy(&rule, &go, sizeof(rule));
	return rule;
}

static uint8_t number_of(struct unwind_rule rule)
{
	struct unwind_go_rule go;

	memcpy(&go, &rule, sizeof(go));
	return go.m;
}

/* Where the g is, in a rule. */
static void set_thread(const struct layout *layout, struct unwind_go_rule *rule)
{
	uint32_t word = (uint32_t)(layout->got / 8);

	rule->thread = layout->got ? (int16_t)word : layout->thread;
	rule->got = layout->got ? UNWIND_GO_GOT_HIGH(word) : 0;
}

static struct unwind_rule thread_packed(const struct go_switch *go, struct unwind_go_rule rule)
{
	set_thread(&go->layout, &rule);
	return packed(rule);
}

void go_switch_rebase(struct unwind_rule *rule, uint64_t base)
{
	struct unwind_go_rule go;
	uint32_t word;

	memcpy(&go, rule, sizeof(go));
	if ((go.kind != UNWIND_GO_SYSTEMSTACK && go.kind != UNWIND_GO_MORESTACK && go.kind != UNWIND_GO_CALLBACK &&
	     go.kind != UNWIND_GO_VDSO) ||
	    !go.got)
		return;
	word = UNWIND_GO_GOT(&go);
	if (base % 8 || word < base / 8) {
		*rule = (struct unwind_rule){.kind = UNWIND_OTHER_STACK};
		return;
	}
	word -= (uint32_t)(base / 8);
	go.thread = (int16_t)word;
	go.got = UNWIND_GO_GOT_HIGH(word);
	memcpy(rule, &go, sizeof(go));
}

/* [[[thread + g] + m] + to] + sched.sp: the layout that it tells; `to` in its `curg`. */
static bool thread_path(const struct value *cfa, struct layout *ret)
{
	if (cfa->kind != VALUE_PATH || cfa->base != BASE_THREAD || cfa->count != 4 || cfa->at[0] % 8 ||
	    cfa->at[0] / 8 < INT16_MIN || cfa->at[0] / 8 > INT16_MAX || !is_words(cfa->at[1], UINT8_MAX) ||
	    !is_words(cfa->at[2], UINT8_MAX) || !is_words(cfa->at[3], UINT8_MAX) ||
	    (cfa->got && (cfa->at[0] || !is_words(cfa->got, UNWIND_GO_GOT_MAX - 1))))
		return false;
	*ret = (struct layout){.thread = (int16_t)(cfa->at[0] / 8),
			       .got = cfa->got,
			       .m = (uint8_t)(cfa->at[1] / 8),
			       .curg = (uint8_t)(cfa->at[2] / 8),
			       .sp = (uint8_t)(cfa->at[3] / 8),
			       .known = true};
	return true;
}

static struct unwind_rule thread_rule(const struct go_switch *go, const struct value *cfa)
{
	struct unwind_go_rule rule = {.kind = UNWIND_GO_SYSTEMSTACK};
	struct layout layout;

	if (!go->layout.known || !thread_path(cfa, &layout) || layout.thread != go->layout.thread ||
	    layout.got != go->layout.got || layout.m != go->layout.m || layout.sp != go->layout.sp ||
	    !is_words(cfa->n, UINT8_MAX))
		return (struct unwind_rule){.kind = UNWIND_OTHER_STACK};
	if (layout.curg == go->layout.g0)
		rule.kind = UNWIND_GO_CALLBACK;
	else if (layout.curg != go->layout.curg)
		return (struct unwind_rule){.kind = UNWIND_OTHER_STACK};
	set_thread(&layout, &rule);
	rule.m = layout.m;
	rule.to = layout.curg;
	rule.sp = layout.sp;
	rule.frame = (uint8_t)(cfa->n / 8);
	return packed(rule);
}

/* FP is saved right below the return address, if there is more than that in the frame. */
static int16_t fp_offset(int64_t frame)
{
	return frame >= 16 ? -16 : UNWIND_FP_SAME;
}

static struct unwind_rule rule_onwards(const struct go_switch *go, size_t first)
{
	struct value cfa = onwards(go, first);
	int64_t frame = cfa.n;

	if (!is_words(frame, UINT8_MAX) || !frame)
		return (struct unwind_rule){.kind = UNWIND_OTHER_STACK};
	if (cfa.kind == VALUE_PATH && cfa.base == BASE_SP && !cfa.count)
		return (struct unwind_rule){
			.kind = UNWIND_SP, .cfa_offset = (int32_t)frame, .fp_offset = fp_offset(frame)};
	if (cfa.kind == VALUE_PATH && cfa.base == BASE_SP && cfa.count == 1 && frame / 8 <= UNWIND_NUMBER_MAX)
		return (struct unwind_rule){.kind = UNWIND_SP_DEREF,
					    .cfa_offset = cfa.at[0],
					    .fp_offset = fp_offset(frame),
					    .param = UNWIND_PARAM(frame / 8, UNWIND_BX_SAME)};
	if (cfa.kind == VALUE_PATH && cfa.base == BASE_REGISTER + go->arch->fp && !cfa.count)
		return (struct unwind_rule){
			.kind = UNWIND_FP, .cfa_offset = (int32_t)frame, .fp_offset = fp_offset(frame)};
	if (cfa.kind == VALUE_PATH && cfa.base >= BASE_REGISTER && !cfa.count)
		return packed((struct unwind_go_rule){.kind = UNWIND_GO_REGISTER,
						      .m = (uint8_t)(cfa.base - BASE_REGISTER),
						      .frame = (uint8_t)(frame / 8)});
	/* stack.hi is the second word of a g. */
	if (cfa.kind == VALUE_DEPTH && is_words(cfa.at[0], UINT8_MAX) && cfa.at[1] == 8 &&
	    is_words(cfa.at[2], UINT8_MAX))
		return packed((struct unwind_go_rule){.kind = UNWIND_GO_CCALL,
						      .m = (uint8_t)(cfa.at[0] / 8),
						      .to = (uint8_t)(cfa.at[2] / 8),
						      .frame = (uint8_t)(frame / 8)});
	return thread_rule(go, &cfa);
}

/* By a register that holds the CFA and a number. */
static struct unwind_rule register_rule(const struct go_switch *go, const struct state *state)
{
	uint8_t i;

	for (i = 0; i < CODE_REGISTERS; i++)
		if (i != go->arch->sp && i != go->arch->fp && state->registers[i].kind == VALUE_CFA &&
		    is_words(-state->registers[i].n, UINT8_MAX))
			return packed((struct unwind_go_rule){
				.kind = UNWIND_GO_REGISTER, .m = i, .frame = (uint8_t)(-state->registers[i].n / 8)});
	return (struct unwind_rule){.kind = UNWIND_NO_RULE};
}

static bool is_call(const struct insn *insn)
{
	return insn->code.op == CODE_CALL || insn->code.op == CODE_CALL_INDIRECT;
}

static bool is_own_stack(const struct go_switch *go, const struct insn *insn)
{
	const struct value *sp = &insn->state.registers[go->arch->sp];

	return sp->kind == VALUE_CFA && sp->n <= -8 && sp->n >= -OWN_FRAME_MAX && !insn->state.popped;
}

/* The return address is in a register. */
static struct unwind_rule popped_rule(const struct go_switch *go, const struct insn *insn)
{
	struct value sp = insn->state.registers[go->arch->sp];
	uint8_t i;

	for (i = 0; i < CODE_REGISTERS && sp.kind == VALUE_CFA && !sp.n; i++)
		if (insn->state.registers[i].kind == VALUE_RETURN)
			return (struct unwind_rule){.kind = UNWIND_RA_REGISTER,
						    .fp_offset = insn->state.fp_saved ? -16 : UNWIND_FP_SAME,
						    .param = UNWIND_PARAM(i, UNWIND_BX_SAME)};
	return (struct unwind_rule){.kind = UNWIND_OTHER_STACK};
}

/* What holds at an instruction that is interrupted. */
static struct unwind_rule rule_at(const struct go_switch *go, size_t i, struct unwind_rule switched)
{
	const struct insn *insn = &go->insns[i];
	struct unwind_rule rule;

	if (!insn->reached)
		return (struct unwind_rule){.kind = UNWIND_NO_RULE};
	if (insn->state.child)
		return (struct unwind_rule){.kind = UNWIND_END};
	if (is_own_stack(go, insn))
		return (struct unwind_rule){.kind = insn->state.forked ? UNWIND_CLONE : UNWIND_SP,
					    .cfa_offset = (int32_t)-insn->state.registers[go->arch->sp].n,
					    .fp_offset = insn->state.fp_saved ? -16 : UNWIND_FP_SAME};
	if (switched.kind != UNWIND_NO_RULE)
		return switched;
	if (insn->state.popped)
		return popped_rule(go, insn);
	rule = register_rule(go, &insn->state);
	if (rule.kind != UNWIND_NO_RULE)
		return rule;
	rule = rule_onwards(go, i);
	/* Words on the stack are there once a call was made. */
	if ((rule.kind == UNWIND_GO_CCALL || rule.kind == UNWIND_SP_DEREF) && !(i && is_call(&go->insns[i - 1])))
		rule = (struct unwind_rule){.kind = UNWIND_OTHER_STACK};
	return rule;
}

/* What holds while a call is under way: by what is done behind it. */
static struct unwind_rule rule_in_call(const struct go_switch *go, size_t i, struct unwind_rule switched)
{
	const struct insn *insn = &go->insns[i];
	struct unwind_rule rule;

	if (!insn->reached || switched.kind != UNWIND_NO_RULE || insn->state.child || insn->state.popped ||
	    is_own_stack(go, insn))
		return rule_at(go, i, switched);
	rule = rule_onwards(go, i + 1);
	/* Of the registers only BX is known in outer frames. */
	if (rule.kind != UNWIND_OTHER_STACK && (rule.kind != UNWIND_GO_REGISTER || number_of(rule) == go->arch->bx))
		return rule;
	if (insn->state.vdso && is_words(insn->state.vdso, UINT8_MAX) && is_words(-insn->state.vdso_n, UINT8_MAX))
		return thread_packed(go, (struct unwind_go_rule){.kind = UNWIND_GO_VDSO,
								 .m = go->layout.m,
								 .to = (uint8_t)(insn->state.vdso / 8),
								 .frame = (uint8_t)(-insn->state.vdso_n / 8)});
	return (struct unwind_rule){.kind = UNWIND_OTHER_STACK};
}

/* What holds where SP is another stack's, in functions of which the code behind the call does not tell. */
static struct unwind_rule rule_by_name(const struct go_switch *go, const char *name)
{
	const struct layout *layout = &go->layout;

	/* mcall() begins the scheduler's stack anew: nothing below it goes on. */
	if (!strcmp(name, "runtime.mcall"))
		return (struct unwind_rule){.kind = UNWIND_END};
	if (strcmp(name, "runtime.morestack"))
		return (struct unwind_rule){.kind = UNWIND_NO_RULE};
	if (!layout->known || !go->schedules)
		return (struct unwind_rule){.kind = UNWIND_OTHER_STACK};
	return thread_packed(
		go, (struct unwind_go_rule){
			    .kind = UNWIND_GO_MORESTACK, .m = layout->m, .to = layout->curg, .sp = layout->sp});
}

/* systemstack's way there leads by g0, and its way back by curg. */
static void find_layout(struct go_switch *go, const struct go_function *systemstack)
{
	struct layout there = {}, back = {};
	size_t i, switched = 0;

	if (!systemstack->name)
		return;
	decode(go, systemstack);
	if (!flow(go))
		return;
	for (i = 0; i + 1 < go->count; i++) {
		struct insn *insn = &go->insns[i];
		struct value value;

		if (!insn->reached)
			continue;
		if (!switched && thread_path(sp_of(go, &insn->state), &there))
			switched = i;
		if (!switched || insn->code.op != CODE_CALL_INDIRECT)
			continue;
		value = onwards(go, i + 1);
		if (thread_path(&value, &back) && there.thread == back.thread && there.got == back.got &&
		    there.m == back.m && there.sp == back.sp && there.curg != back.curg) {
			go->layout = back;
			go->layout.g0 = there.curg;
		}
		return;
	}
}

/* Which registers the code that saves SP changes. It is a leaf, but for what aborts. */
static void find_clobbers(struct go_switch *go, const struct go_function *save)
{
	const struct code_arch *code = go->arch->code;
	size_t i;

	if (!save->name)
		return;
	decode(go, save);
	for (i = 0; i < go->count; i++) {
		const struct code_insn *insn = &go->insns[i].code;

		if (insn->op != CODE_STORE && insn->op != CODE_COMPARE && insn->a < CODE_REGISTERS)
			go->save_clobbers |= (uint16_t)(1u << insn->a);
		go->save_clobbers |= insn->clobbers;
	}
	go->save_clobbers &= (uint16_t) ~(1u << code->sp);
	go->save = *save;
}

int go_switch_create(const struct elf_file *elf, const struct unwind_arch *arch, const struct go_function *systemstack,
		     const struct go_function *save, bool schedules, struct go_switch **ret)
{
	struct go_switch *go = arch->code ? calloc(1, sizeof(*go)) : NULL;
	int err;

	if (!go)
		return arch->code ? -ENOMEM : -ENOTSUP;
	go->elf = elf;
	go->arch = arch;
	go->schedules = schedules;
	err = arch->code->create(&go->decoder);
	if (err) {
		free(go);
		return err;
	}
	find_clobbers(go, save);
	find_layout(go, systemstack);
	*ret = go;
	return 0;
}

void go_switch_destroy(struct go_switch *go)
{
	if (!go)
		return;
	go->arch->code->destroy(go->decoder);
	free(go);
}

/* An instruction behind which SP is what it was, and that the next one follows. */
static bool keeps_sp(const struct go_switch *go, const struct insn *insn)
{
	const struct code_insn *code = &insn->code;
	bool moves = code->op == CODE_PUSH || code->op == CODE_POP || code->op == CODE_LEAVE || is_call(insn);

	return goes_on(code) && !moves && (code->a != go->arch->sp || code->op == CODE_STORE) &&
	       !(code->clobbers >> go->arch->sp & 1);
}

/* A rule that needs no register but SP, and only words that the function has done with. */
static bool stays(const struct unwind_rule *rule)
{
	return rule->kind == UNWIND_GO_SYSTEMSTACK || rule->kind == UNWIND_GO_CALLBACK ||
	       rule->kind == UNWIND_GO_CCALL || rule->kind == UNWIND_SP_DEREF;
}

int go_switch_ranges(struct go_switch *go, const struct go_function *function,
		     int (*range)(void *context, uint64_t start, uint64_t end, struct unwind_rule rule), void *context)
{
	struct unwind_rule other = {.kind = UNWIND_OTHER_STACK}, switched = rule_by_name(go, function->name), rule = {};
	struct unwind_rule before;
	uint64_t start;
	size_t i;
	int err = 0;

	decode(go, function);
	go->clones = !strcmp(function->name, "runtime.clone");
	if (!flow(go))
		return range(context, function->start, function->end, other);
	for (i = 0; i < go->count && !err; i++) {
		const struct insn *insn = &go->insns[i];

		start = go->start + insn->offset;
		before = rule;
		rule = rule_at(go, i, switched);
		/* The registers that lead there are loaded in parts; what it is by stays until SP is changed. */
		if (rule.kind == UNWIND_OTHER_STACK && i && keeps_sp(go, &insn[-1]) && stays(&before))
			rule = before;
		err = range(context, start, start + 1, rule);
		if (!err && insn->code.length > 1)
			err = range(context, start + 1, start + insn->code.length,
				    is_call(insn) ? rule_in_call(go, i, switched) : rule);
	}
	start = go->count ? go->start + go->insns[go->count - 1].offset + go->insns[go->count - 1].code.length
			  : function->start;
	if (!err && start < function->end)
		err = range(context, start, function->end, other);
	return err;
}
