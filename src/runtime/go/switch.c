// SPDX-License-Identifier: GPL-2.0-or-later
/* Rules for a Go function that changes stacks, of what its code does: see go_switch_parts.h. */
#include "runtime/go/switch.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/go/abi.h"
#include "runtime/go/switch_parts.h"

#define OWN_FRAME_MAX 4096

static bool is_words(int64_t offset, int64_t most)
{
	return offset % 8 == 0 && offset >= 0 && offset / 8 <= most;
}

static struct unwind_rule packed(struct go_rule go)
{
	struct unwind_rule rule;

	memcpy(&rule, &go, sizeof(rule));
	return rule;
}

static uint8_t number_of(struct unwind_rule rule)
{
	struct go_rule go;

	memcpy(&go, &rule, sizeof(go));
	return go.m;
}

/* Where the g is, in a rule. */
static void set_thread(const struct layout *layout, struct go_rule *rule)
{
	uint32_t word = (uint32_t)(layout->got / 8);

	rule->thread = layout->got ? (int16_t)word : layout->thread;
	rule->got = layout->got ? GO_GOT_HIGH(word) : 0;
}

static struct unwind_rule thread_packed(const struct go_switch *go, struct go_rule rule)
{
	set_thread(&go->layout, &rule);
	return packed(rule);
}

void go_switch_rebase(struct unwind_rule *rule, uint64_t base)
{
	struct go_rule go;
	uint32_t word;

	memcpy(&go, rule, sizeof(go));
	if ((go.kind != GO_SYSTEMSTACK && go.kind != GO_MORESTACK && go.kind != GO_CALLBACK && go.kind != GO_VDSO) ||
	    !go.got)
		return;
	word = GO_GOT(&go);
	if (base % 8 || word < base / 8) {
		*rule = (struct unwind_rule){.kind = UNWIND_OTHER_STACK};
		return;
	}
	word -= (uint32_t)(base / 8);
	go.thread = (int16_t)word;
	go.got = GO_GOT_HIGH(word);
	memcpy(rule, &go, sizeof(go));
}

/* [[[thread + g] + m] + to] + sched.sp: the layout that it tells; `to` in its `curg`. */
static bool thread_path(const struct value *cfa, struct layout *ret)
{
	if (cfa->kind != VALUE_PATH || cfa->base != BASE_THREAD || cfa->count != 4 || cfa->at[0] % 8 ||
	    cfa->at[0] / 8 < INT16_MIN || cfa->at[0] / 8 > INT16_MAX || !is_words(cfa->at[1], UINT8_MAX) ||
	    !is_words(cfa->at[2], UINT8_MAX) || !is_words(cfa->at[3], UINT8_MAX) ||
	    (cfa->got && (cfa->at[0] || !is_words(cfa->got, GO_GOT_MAX - 1))))
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
	struct go_rule rule = {.kind = GO_SYSTEMSTACK};
	struct layout layout;

	if (!go->layout.known || !thread_path(cfa, &layout) || layout.thread != go->layout.thread ||
	    layout.got != go->layout.got || layout.m != go->layout.m || layout.sp != go->layout.sp ||
	    !is_words(cfa->n, UINT8_MAX))
		return (struct unwind_rule){.kind = UNWIND_OTHER_STACK};
	if (layout.curg == go->layout.g0)
		rule.kind = GO_CALLBACK;
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
	struct value cfa = go_flow_onwards(go, first);
	int64_t frame = cfa.n;

	if (!is_words(frame, UINT8_MAX) || !frame)
		return (struct unwind_rule){.kind = UNWIND_OTHER_STACK};
	if (cfa.kind == VALUE_PATH && cfa.base == BASE_SP && !cfa.count)
		return (struct unwind_rule){
			.kind = UNWIND_SP, .cfa_offset = (int32_t)frame, .fp_offset = fp_offset(frame)};
	if (cfa.kind == VALUE_PATH && cfa.base == BASE_SP && cfa.count == 1 && frame / 8 <= UNWIND_NUMBER_MAX)
		return (struct unwind_rule){.kind = UNWIND_SP_DEREF,
					    .cfa_offset = UNWIND_NUMBERED(cfa.at[0], frame / 8),
					    .fp_offset = fp_offset(frame)};
	if (cfa.kind == VALUE_PATH && cfa.base == BASE_REGISTER + go->arch->fp && !cfa.count)
		return (struct unwind_rule){
			.kind = UNWIND_FP, .cfa_offset = (int32_t)frame, .fp_offset = fp_offset(frame)};
	if (cfa.kind == VALUE_PATH && cfa.base >= BASE_REGISTER && !cfa.count)
		return packed((struct go_rule){
			.kind = GO_REGISTER, .m = (uint8_t)(cfa.base - BASE_REGISTER), .frame = (uint8_t)(frame / 8)});
	/* stack.hi is the second word of a g. */
	if (cfa.kind == VALUE_DEPTH && is_words(cfa.at[0], UINT8_MAX) && cfa.at[1] == 8 &&
	    is_words(cfa.at[2], UINT8_MAX))
		return packed((struct go_rule){.kind = GO_CCALL,
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
			return packed((struct go_rule){
				.kind = GO_REGISTER, .m = i, .frame = (uint8_t)(-state->registers[i].n / 8)});
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
						    .cfa_offset = UNWIND_NUMBERED(0, i),
						    .fp_offset = insn->state.fp_saved ? -16 : UNWIND_FP_SAME};
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
	if ((rule.kind == GO_CCALL || rule.kind == UNWIND_SP_DEREF) && !(i && is_call(&go->insns[i - 1])))
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
	if (rule.kind != UNWIND_OTHER_STACK && (rule.kind != GO_REGISTER || number_of(rule) == go->arch->carried))
		return rule;
	if (insn->state.vdso && is_words(insn->state.vdso, UINT8_MAX) && is_words(-insn->state.vdso_n, UINT8_MAX))
		return thread_packed(go, (struct go_rule){.kind = GO_VDSO,
							  .m = go->layout.m,
							  .to = (uint8_t)(insn->state.vdso / 8),
							  .frame = (uint8_t)(-insn->state.vdso_n / 8)});
	return (struct unwind_rule){.kind = UNWIND_OTHER_STACK};
}

/* What holds where SP is another stack's, in functions of which the code behind the call does not tell. */
static struct unwind_rule rule_by_name(const struct go_switch *go, const char *name)
{
	const struct layout *layout = &go->layout;

	/* mcall() begins the scheduler's stack anew: nothing below it goes on. gogo(), of which newer versions have a
	 * part in a function named just so, leaves it for a goroutine's. */
	if (!strcmp(name, "runtime.mcall") || !strcmp(name, "runtime.gogo") || !strcmp(name, "gogo"))
		return (struct unwind_rule){.kind = UNWIND_END};
	if (strcmp(name, "runtime.morestack"))
		return (struct unwind_rule){.kind = UNWIND_NO_RULE};
	if (!layout->known || !go->schedules)
		return (struct unwind_rule){.kind = UNWIND_OTHER_STACK};
	return thread_packed(
		go, (struct go_rule){.kind = GO_MORESTACK, .m = layout->m, .to = layout->curg, .sp = layout->sp});
}

/* systemstack's way there leads by g0, and its way back by curg. */
static void find_layout(struct go_switch *go, const struct go_function *systemstack)
{
	struct layout there = {}, back = {};
	size_t i, switched = 0;

	if (!systemstack->name)
		return;
	go_flow_read(go, systemstack);
	if (!go_flow_follow(go))
		return;
	for (i = 0; i + 1 < go->count; i++) {
		struct insn *insn = &go->insns[i];
		struct value value;

		if (!insn->reached)
			continue;
		if (!switched && thread_path(go_flow_sp(go, &insn->state), &there))
			switched = i;
		if (!switched || insn->code.op != CODE_CALL_INDIRECT)
			continue;
		value = go_flow_onwards(go, i + 1);
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
	go_flow_read(go, save);
	for (i = 0; i < go->count; i++) {
		const struct code_insn *insn = &go->insns[i].code;

		if (insn->op != CODE_STORE && insn->op != CODE_COMPARE && insn->a < CODE_REGISTERS)
			go->save_clobbers |= 1u << insn->a;
		go->save_clobbers |= insn->clobbers;
	}
	go->save_clobbers &= ~(1u << code->sp);
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

	return go_flow_goes_on(code) && !moves && (code->a != go->arch->sp || code->op == CODE_STORE) &&
	       !(code->clobbers >> go->arch->sp & 1);
}

/* A rule that needs no register but SP, and only words that the function has done with. */
static bool stays(const struct unwind_rule *rule)
{
	return rule->kind == GO_SYSTEMSTACK || rule->kind == GO_CALLBACK || rule->kind == GO_CCALL ||
	       rule->kind == UNWIND_SP_DEREF;
}

int go_switch_ranges(struct go_switch *go, const struct go_function *function,
		     int (*range)(void *context, uint64_t start, uint64_t end, struct unwind_rule rule), void *context)
{
	struct unwind_rule other = {.kind = UNWIND_OTHER_STACK}, switched = rule_by_name(go, function->name), rule = {};
	struct unwind_rule before;
	uint64_t start;
	size_t i;
	int err = 0;

	go_flow_read(go, function);
	go->clones = !strcmp(function->name, "runtime.clone");
	if (!go_flow_follow(go))
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
