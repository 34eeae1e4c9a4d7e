// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A forward dataflow analysis over single instructions. Values are described by what the registers were at the first
 * instruction, the *origin*:
 *
 *   WAY_START   what a register was, plus n
 *   WAY_WORD    the word at that address, as it was, plus `plus`
 *
 * Where a path ends in a return, SP + 8 is the CFA, and FP and BX are the caller's: the *outcome*, in terms of the
 * origin. A state in between, in the same terms, says how to get to the outcome from there.
 */
#include "unwind/way_out.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/table.h"

#define WORD      8
#define NODES_MAX 12000
#define STEPS_MAX 60000
/* Functions that are called are followed only so far: it is for small helpers. */
#define CALLEE_NODES_MAX 1000
#define CALLEE_DEPTH_MAX 2
#define CALLEES_MAX      8
#define INSN_MAX  15
#define ALIGNMENT 16 /* of functions */
#define CALL_BYTES 5 /* of a direct call */
#define SLOTS     8
#define PAGE      4096
#define PAGES     8
#define FRAME_MAX (1 << 30)

enum way_kind { WAY_UNKNOWN, WAY_START, WAY_WORD };

struct way_value {
	uint8_t kind, reg;
	int16_t plus;
	int32_t n;
};

struct way_slot {
	struct way_value at; /* a WAY_START; WAY_UNKNOWN: not in use */
	struct way_value value;
};

/* What lies from `low` to `high`, from what a register was at the origin: is none if both are 0. */
struct way_span {
	int32_t low, high;
};

struct way_state {
	struct way_value registers[CODE_REGISTERS];
	struct way_slot slots[SLOTS]; /* what was written on the way, and may be read again */
	struct way_span by_sp, by_fp; /* what else was written: no more is known of it */
};

struct way_node {
	uint64_t address;
	struct code_insn insn;
	struct way_state in;
	bool queued;
};

struct outcome {
	bool found;
	struct way_value cfa, fp, bx;
};

/* What was found out about a function that is called. */
struct callee {
	uint64_t function;
	bool returns;    /* it comes to a return, with SP as it was */
	uint32_t writes; /* registers that it, or what it calls, writes anywhere, even if it restores them */
};

struct way_page {
	uint64_t start;
	size_t size;
	uint8_t bytes[PAGE + INSN_MAX];
};

struct way_out {
	const struct code_arch *arch;
	const struct way_out_source *source;
	struct code_decoder *decoder;
	VEC(struct way_node) nodes;
	VEC(uint32_t) work;
	struct table at; /* address + 1 -> node */
	struct outcome outcome;
	VEC(struct callee) callees;
	size_t nodes_max;
	uint32_t steps, depth; /* of calls */
	uint32_t written;      /* registers */
	const struct way_out_bounds *bounds; /* NULL: it is followed to its ends */
	VEC(struct way_out_exit) exits;
	bool odd;              /* two ways contradict each other */
	bool left;             /* some way was not followed to its end */
	int err;
	struct way_page *pages;
};

static const struct way_value unknown;

static bool same(struct way_value a, struct way_value b)
{
	return a.kind == b.kind && a.reg == b.reg && a.plus == b.plus && a.n == b.n;
}

static struct way_value add(struct way_value value, int64_t n)
{
	int64_t sum = value.kind == WAY_WORD ? value.plus + n : value.n + n;

	if (value.kind == WAY_UNKNOWN || sum <= -FRAME_MAX || sum >= FRAME_MAX)
		return unknown;
	if (value.kind == WAY_START) {
		value.n = (int32_t)sum;
		return value;
	}
	if (sum < INT16_MIN || sum > INT16_MAX)
		return unknown;
	value.plus = (int16_t)sum;
	return value;
}

static struct way_value get(const struct way_state *state, unsigned int reg)
{
	return reg < CODE_REGISTERS ? state->registers[reg] : unknown;
}

static void set(struct way_state *state, unsigned int reg, struct way_value value)
{
	if (reg < CODE_REGISTERS)
		state->registers[reg] = value;
}

/* The word at an address; of what the frame holds, but for SP and FP nothing leads there for sure. */
static struct way_value load(const struct way_out *way, const struct way_state *state, struct way_value at)
{
	const struct way_span *written;
	unsigned int i;

	if (at.kind != WAY_START || (at.reg != way->arch->sp && at.reg != way->arch->fp))
		return unknown;
	for (i = 0; i < SLOTS; i++)
		if (same(state->slots[i].at, at))
			return state->slots[i].value;
	written = at.reg == way->arch->sp ? &state->by_sp : &state->by_fp;
	if (at.n < written->high && at.n + WORD > written->low)
		return unknown;
	return (struct way_value){.kind = WAY_WORD, .reg = at.reg, .n = at.n};
}

static void widen(struct way_span *span, int32_t low, int32_t high)
{
	if (low == high)
		return;
	if (span->low == span->high)
		*span = (struct way_span){low, high};
	span->low = low < span->low ? low : span->low;
	span->high = high > span->high ? high : span->high;
}

static void store(const struct way_out *way, struct way_state *state, struct way_value at, unsigned int size,
		  struct way_value value)
{
	struct way_slot *to = NULL;
	int32_t end = at.n + (int32_t)size;
	unsigned int i;

	if (at.kind != WAY_START || (at.reg != way->arch->sp && at.reg != way->arch->fp))
		return;
	for (i = 0; i < SLOTS; i++) {
		struct way_slot *slot = &state->slots[i];

		if (slot->at.kind == WAY_START && slot->at.reg == at.reg && slot->at.n < end &&
		    slot->at.n + WORD > at.n)
			*slot = (struct way_slot){};
		if (slot->at.kind == WAY_UNKNOWN)
			to = slot;
	}
	if (to && size == WORD && value.kind != WAY_UNKNOWN)
		*to = (struct way_slot){at, value};
	else
		widen(at.reg == way->arch->sp ? &state->by_sp : &state->by_fp, at.n, end);
}

static void push(const struct way_out *way, struct way_state *state, struct way_value value)
{
	struct way_value sp = add(state->registers[way->arch->sp], -WORD);

	set(state, way->arch->sp, sp);
	store(way, state, sp, WORD, value);
}

static struct way_value pop(const struct way_out *way, struct way_state *state)
{
	struct way_value sp = state->registers[way->arch->sp];

	set(state, way->arch->sp, add(sp, WORD));
	return load(way, state, sp);
}

static void clobber(struct way_state *state, uint32_t registers)
{
	unsigned int i;

	for (i = 0; i < CODE_REGISTERS; i++)
		if (registers >> i & 1)
			state->registers[i] = unknown;
}

static uint32_t caller_saved(const struct code_arch *arch)
{
	return ~(arch->preserved | 1u << arch->sp);
}

static int way_out_run(struct way_out *way, uint64_t address, uint32_t registers);
static void way_out_deinit(struct way_out *way);

/* Follows a function that is called. Its code may have rules by now: they do not tell what it writes. */
static struct callee call(struct way_out *way, uint64_t function)
{
	struct way_out inner = {.arch = way->arch,
				.source = way->source,
				.decoder = way->decoder,
				.nodes_max = CALLEE_NODES_MAX,
				.depth = way->depth + 1};
	struct callee ret = {.function = function, .writes = caller_saved(way->arch)};
	const struct way_value *cfa = &inner.outcome.cfa;
	size_t i;

	for (i = 0; i < way->callees.count; i++)
		if (way->callees.at[i].function == function)
			return way->callees.at[i];
	if (inner.depth <= CALLEE_DEPTH_MAX && way->callees.count < CALLEES_MAX) {
		inner.steps = way->steps;
		ret.returns = !way_out_run(&inner, function, ~0u) && inner.outcome.found && !inner.odd &&
			      cfa->kind == WAY_START && cfa->reg == way->arch->sp && cfa->n == WORD;
		if (ret.returns && !inner.left)
			ret.writes = inner.written;
		way->steps = inner.steps;
		way_out_deinit(&inner);
	}
	if (vec_push(&way->callees, ret))
		way->err = -ENOMEM;
	return ret;
}

static void step(struct way_out *way, const struct code_insn *insn, struct way_state *state)
{
	const struct code_arch *arch = way->arch;
	struct way_value value;

	switch (insn->op) {
	case CODE_SET:
	case CODE_SET_BYTE:
	case CODE_ADD_BOTH:
	case CODE_EXTEND:
	case CODE_MASK:
	case CODE_LOAD_FIXED:
	case CODE_LOAD_THREAD:
	case CODE_SUB_LOAD:
	case CODE_LOAD_OFFSET:
		set(state, insn->a, unknown);
		break;
	case CODE_ADD:
		set(state, insn->a, add(get(state, insn->b), insn->imm));
		break;
	case CODE_LOAD:
		set(state, insn->a, load(way, state, add(get(state, insn->b), insn->imm)));
		break;
	case CODE_STORE:
		store(way, state, add(get(state, insn->b), insn->imm), insn->size, get(state, insn->a));
		break;
	case CODE_PUSH:
		push(way, state, get(state, insn->a));
		break;
	case CODE_POP:
		value = pop(way, state);
		set(state, insn->a, value);
		break;
	case CODE_LEAVE:
		set(state, arch->sp, state->registers[arch->fp]);
		set(state, arch->fp, pop(way, state));
		break;
	case CODE_SYSCALL:
		clobber(state, arch->syscall_clobber);
		break;
	case CODE_CALL:
		clobber(state, caller_saved(arch) & call(way, (uint64_t)insn->imm).writes);
		break;
	case CODE_CALL_INDIRECT:
		clobber(state, caller_saved(arch));
		break;
	default:
		break;
	}
	clobber(state, insn->clobbers);
}

/* What only one of two has written is not known any more. */
static bool forget_slots(const struct way_out *way, struct way_state *from, struct way_state *into,
			 const struct way_state *other)
{
	bool changed = false;
	unsigned int i, k;

	for (i = 0; i < SLOTS; i++) {
		const struct way_slot slot = from->slots[i];

		if (slot.at.kind == WAY_UNKNOWN)
			continue;
		for (k = 0; k < SLOTS; k++)
			if (same(slot.at, other->slots[k].at) && same(slot.value, other->slots[k].value))
				break;
		if (k < SLOTS)
			continue;
		from->slots[i] = (struct way_slot){};
		widen(slot.at.reg == way->arch->sp ? &into->by_sp : &into->by_fp, slot.at.n, slot.at.n + WORD);
		changed = true;
	}
	return changed;
}

/* Reduces *into to what both know. True when it has changed. */
static bool meet(struct way_out *way, struct way_state *into, const struct way_state *other)
{
	struct way_state before, rest;
	bool changed = false;
	unsigned int i;

	if (!same(into->registers[way->arch->sp], other->registers[way->arch->sp])) {
		way->odd = true;
		return false;
	}
	for (i = 0; i < CODE_REGISTERS; i++)
		if (into->registers[i].kind != WAY_UNKNOWN && !same(into->registers[i], other->registers[i])) {
			into->registers[i] = unknown;
			changed = true;
		}
	before = *into;
	rest = *other;
	changed |= forget_slots(way, into, into, other);
	forget_slots(way, &rest, into, into);
	widen(&into->by_sp, other->by_sp.low, other->by_sp.high);
	widen(&into->by_fp, other->by_fp.low, other->by_fp.high);
	changed |= memcmp(&before.by_sp, &into->by_sp, sizeof(before.by_sp)) ||
		   memcmp(&before.by_fp, &into->by_fp, sizeof(before.by_fp));
	return changed;
}

/* Code at an address: how many bytes, INSN_MAX at most. */
static size_t code_at(struct way_out *way, uint64_t address, const uint8_t **ret)
{
	uint64_t start = address & ~(uint64_t)(PAGE - 1);
	struct way_page *page = &way->pages[start / PAGE % PAGES];
	size_t within = address - start;

	if (!page->size || page->start != start) {
		page->start = start;
		page->size = way->source->read(way->source->context, start, page->bytes, sizeof(page->bytes));
	}
	if (within >= page->size) {
		/* A mapping, or a part of a file, may begin within the page. */
		page->size = 0;
		*ret = page->bytes;
		return way->source->read(way->source->context, address, page->bytes, INSN_MAX);
	}
	*ret = page->bytes + within;
	return page->size - within < INSN_MAX ? page->size - within : INSN_MAX;
}

/* Control comes to an address. */
static void enter(struct way_out *way, uint64_t address, const struct way_state *state)
{
	struct way_node node = {.address = address, .in = *state, .queued = true};
	const uint8_t *bytes;
	uint64_t found;
	size_t size;

	if (state->registers[way->arch->sp].kind == WAY_UNKNOWN) {
		way->left = true;
		return;
	}
	if (table_get(&way->at, address + 1, &found)) {
		if (meet(way, &way->nodes.at[found].in, state) && !way->nodes.at[found].queued) {
			way->nodes.at[found].queued = true;
			if (vec_push(&way->work, (uint32_t)found))
				way->err = -ENOMEM;
		}
		return;
	}
	if (way->nodes.count >= way->nodes_max) {
		way->left = true;
		return;
	}
	size = code_at(way, address, &bytes);
	if (!size || !way->arch->decode(way->decoder, bytes, size, address, &node.insn)) {
		way->left = true;
		return;
	}
	if (table_set(&way->at, address + 1, way->nodes.count) || vec_push(&way->nodes, node) ||
	    vec_push(&way->work, (uint32_t)way->nodes.count - 1))
		way->err = -ENOMEM;
}

/* A way has ended: by this the function's caller is known. */
static void end(struct way_out *way, struct way_value cfa, struct way_value fp, struct way_value bx)
{
	struct outcome *outcome = &way->outcome;

	if (cfa.kind == WAY_UNKNOWN)
		return;
	if (!outcome->found) {
		*outcome = (struct outcome){true, cfa, fp, bx};
		return;
	}
	if (!same(outcome->cfa, cfa))
		way->odd = true;
	if (!same(outcome->fp, fp))
		outcome->fp = unknown;
	if (!same(outcome->bx, bx))
		outcome->bx = unknown;
}

/* Control leaves what is not known for code that has a rule. False: it has none, or the code is that of a callee. */
static bool end_in_known(struct way_out *way, uint64_t address, const struct way_state *state)
{
	const struct code_arch *arch = way->arch;
	struct unwind_rule rule;
	struct way_value cfa;

	if (way->depth || !way->source->known(way->source->context, address, &rule))
		return false;
	if (rule.kind == UNWIND_REGISTER)
		cfa = add(get(state, UNWIND_NUMBER(&rule)), UNWIND_OFFSET(&rule));
	else if (rule.kind == UNWIND_SP || rule.kind == UNWIND_FP)
		cfa = add(state->registers[rule.kind == UNWIND_SP ? arch->sp : arch->fp], rule.cfa_offset);
	else
		return true;
	end(way, cfa,
	    rule.fp_offset == UNWIND_FP_SAME        ? state->registers[arch->fp]
	    : rule.fp_offset == UNWIND_FP_UNDEFINED ? unknown
						    : load(way, state, add(cfa, rule.fp_offset)),
	    rule.param == UNWIND_SLOT_SAME        ? state->registers[arch->carried]
	    : rule.param == UNWIND_SLOT_UNDEFINED ? unknown
						  : load(way, state, add(cfa, -WORD * rule.param)));
	return true;
}

static void leave_bounds(struct way_out *way, uint64_t to, const struct way_state *state)
{
	struct way_out_exit exit = {.to = to};
	unsigned int i;

	for (i = 0; i < CODE_REGISTERS; i++)
		if (same(state->registers[i], (struct way_value){.kind = WAY_START, .reg = (uint8_t)i}))
			exit.kept |= 1u << i;
	for (i = 0; i < way->exits.count; i++)
		if (way->exits.at[i].to == to) {
			way->exits.at[i].kept &= exit.kept;
			return;
		}
	if (vec_push(&way->exits, exit))
		way->err = -ENOMEM;
}

static void go(struct way_out *way, uint64_t address, const struct way_state *state)
{
	if (way->bounds && (address < way->bounds->start || address >= way->bounds->end))
		leave_bounds(way, address, state);
	else if (end_in_known(way, address, state))
		way->left = true;
	else
		enter(way, address, state);
}

/* Whether another function may begin behind a call, which then does not return. */
static bool may_begin(struct way_out *way, uint64_t address)
{
	size_t left = -address % ALIGNMENT;
	struct unwind_rule rule;
	const uint8_t *bytes;

	return !left || way->source->known(way->source->context, address, &rule) ||
	       (code_at(way, address, &bytes) >= left && way->arch->is_padding(bytes, left));
}

static void leave(struct way_out *way, const struct way_node *node, struct way_state *state)
{
	const struct code_arch *arch = way->arch;
	uint64_t next = node->address + node->insn.length;

	switch (node->insn.op) {
	case CODE_STOP:
	case CODE_JUMP_REGISTER:
	case CODE_JUMP_TABLE:
	case CODE_JUMP_INDIRECT:
		way->left = true;
		return;
	case CODE_RETURN:
		end(way, add(state->registers[arch->sp], WORD), state->registers[arch->fp],
		    state->registers[arch->carried]);
		return;
	case CODE_JUMP:
		go(way, (uint64_t)node->insn.imm, state);
		return;
	case CODE_BRANCH:
		go(way, (uint64_t)node->insn.imm, state);
		break;
	case CODE_CALL:
	case CODE_CALL_INDIRECT:
		if (may_begin(way, next) &&
		    (node->insn.op != CODE_CALL || !call(way, (uint64_t)node->insn.imm).returns)) {
			way->left = true;
			return;
		}
		break;
	default:
		break;
	}
	go(way, next, state);
}

static void follow(struct way_out *way)
{
	while (way->work.count && !way->err && !way->odd && way->steps++ < STEPS_MAX) {
		uint32_t index = way->work.at[--way->work.count];
		struct way_node node;
		struct way_state state;
		unsigned int i;

		way->nodes.at[index].queued = false;
		node = way->nodes.at[index];
		state = node.in;
		if (node.insn.op != CODE_RETURN)
			step(way, &node.insn, &state);
		for (i = 0; i < CODE_REGISTERS; i++)
			if (!same(node.in.registers[i], state.registers[i]))
				way->written |= 1u << i;
		leave(way, &node, &state);
	}
	way->left |= way->work.count > 0;
}

static struct unwind_rule numbered(struct unwind_rule rule, uint32_t number)
{
	if (rule.cfa_offset > UNWIND_OFFSET_MAX || rule.cfa_offset < -UNWIND_OFFSET_MAX)
		return (struct unwind_rule){.kind = UNWIND_NO_RULE};
	rule.cfa_offset = UNWIND_NUMBERED(rule.cfa_offset, number);
	return rule;
}

/* The CFA by a register of a state, as a rule; UNWIND_NO_RULE: it does not tell. */
static struct unwind_rule cfa_by(const struct way_out *way, const struct way_state *state, unsigned int reg,
				 struct way_value cfa)
{
	struct way_value has = state->registers[reg];
	bool sp = reg == way->arch->sp, fp = reg == way->arch->fp;
	struct unwind_rule rule = {.kind = sp ? UNWIND_SP : fp ? UNWIND_FP : UNWIND_REGISTER};

	if (has.kind == cfa.kind && has.kind != WAY_UNKNOWN && has.reg == cfa.reg &&
	    (has.kind == WAY_START || has.n == cfa.n)) {
		rule.cfa_offset = has.kind == WAY_START ? cfa.n - has.n : cfa.plus - has.plus;
		return sp || fp ? rule : numbered(rule, reg);
	}
	/* The word at SP or FP + n. */
	if (has.kind == WAY_START && cfa.kind == WAY_WORD && has.reg == cfa.reg && (sp || fp) && cfa.plus >= 0 &&
	    !(cfa.plus % WORD) && cfa.plus / WORD <= UNWIND_NUMBER_MAX) {
		rule.kind = sp ? UNWIND_SP_DEREF : UNWIND_FP_DEREF;
		rule.cfa_offset = cfa.n - has.n;
		return numbered(rule, (uint32_t)(cfa.plus / WORD));
	}
	return (struct unwind_rule){.kind = UNWIND_NO_RULE};
}

/* Where a value lies in the frame, in bytes from the CFA; 0: nowhere that is known. */
static int64_t place_of(const struct way_state *state, struct way_value value, struct way_value cfa)
{
	unsigned int i;

	if (value.kind == WAY_WORD && !value.plus && cfa.kind == WAY_START && cfa.reg == value.reg)
		return value.n - cfa.n;
	for (i = 0; i < SLOTS && value.kind != WAY_UNKNOWN; i++)
		if (state->slots[i].at.kind == WAY_START && same(state->slots[i].value, value) &&
		    cfa.kind == WAY_START && cfa.reg == state->slots[i].at.reg)
			return state->slots[i].at.n - cfa.n;
	return 0;
}

static void add_saved(const struct way_out *way, const struct way_state *state, const struct outcome *outcome,
		      struct unwind_rule *rule)
{
	uint8_t slot = UNWIND_SLOT_UNDEFINED;
	int64_t at = place_of(state, outcome->fp, outcome->cfa);
	struct way_value fp = state->registers[way->arch->fp];

	rule->fp_offset = UNWIND_FP_UNDEFINED;
	if (outcome->fp.kind != WAY_UNKNOWN && same(fp, outcome->fp))
		rule->fp_offset = UNWIND_FP_SAME;
	else if (at < 0 && at > UNWIND_FP_AT_FP)
		rule->fp_offset = (int16_t)at;
	else if (outcome->fp.kind == WAY_WORD && !outcome->fp.plus && fp.kind == WAY_START &&
		 fp.reg == outcome->fp.reg && fp.n == outcome->fp.n)
		rule->fp_offset = UNWIND_FP_AT_FP;
	at = place_of(state, outcome->bx, outcome->cfa);
	if (outcome->bx.kind != WAY_UNKNOWN && same(state->registers[way->arch->carried], outcome->bx))
		slot = UNWIND_SLOT_SAME;
	else if (at < 0 && !(at % WORD) && -at / WORD <= UNWIND_SLOT_MAX && rule->kind != UNWIND_FP_DEREF)
		slot = (uint8_t)(-at / WORD);
	rule->param = slot;
}

/*
 * The rule at an instruction. Behind a call only SP, FP and BX are known, and what the function that is called does not
 * write: the walk goes by the other registers' values in the innermost frame (bpf/native.h).
 */
static struct unwind_rule rule_at(struct way_out *way, const struct way_node *node, const struct outcome *outcome)
{
	const struct code_arch *arch = way->arch;
	const unsigned int first[] = {arch->sp, arch->fp, arch->carried};
	struct unwind_rule rule = {.kind = UNWIND_NO_RULE};
	uint32_t lost = 0;
	unsigned int i;

	if (node->insn.op == CODE_CALL)
		lost = call(way, (uint64_t)node->insn.imm).writes | arch->preserved;
	else if (node->insn.op == CODE_CALL_INDIRECT)
		lost = ~0u;
	for (i = 0; i < sizeof(first) / sizeof(*first) && rule.kind == UNWIND_NO_RULE; i++)
		rule = cfa_by(way, &node->in, first[i], outcome->cfa);
	for (i = 0; i < CODE_REGISTERS && rule.kind == UNWIND_NO_RULE; i++)
		if (!(lost >> i & 1))
			rule = cfa_by(way, &node->in, i, outcome->cfa);
	if (rule.kind != UNWIND_NO_RULE)
		add_saved(way, &node->in, outcome, &rule);
	return rule;
}

static int take(struct way_out *way, uint64_t address, bool innermost, rule_ranges *ret)
{
	const struct outcome *outcome = &way->outcome;
	rule_ranges ranges = {};
	bool has_address = false;
	size_t i;
	int err = 0;

	if (!outcome->found || way->odd)
		return -ENOENT;
	for (i = 0; i < way->nodes.count && !err; i++) {
		const struct way_node *node = &way->nodes.at[i];
		struct rule_range range = {node->address, node->address + node->insn.length,
					   rule_at(way, node, outcome)};

		/* A return address is looked up by the byte before it: what seems to begin there is a part of the call.
		 */
		if (node->address == address && !innermost)
			range.start--;
		else if (node->address == address - 1 && !innermost)
			continue;
		if (range.rule.kind == UNWIND_NO_RULE)
			continue;
		has_address |= node->address == address;
		err = vec_push(&ranges, range);
	}
	if (!err && !has_address)
		err = -ENOENT;
	rule_ranges_tidy(&ranges);
	for (i = 0; i < ranges.count && !err; i++)
		err = vec_push(ret, ranges.at[i]);
	vec_free(&ranges);
	return err;
}

/* From an address on, where these registers have the values by which the others are described. */
static int way_out_run(struct way_out *way, uint64_t address, uint32_t registers)
{
	struct way_state state = {};
	unsigned int i;

	way->pages = calloc(PAGES, sizeof(*way->pages));
	if (!way->pages)
		return -ENOMEM;
	for (i = 0; i < CODE_REGISTERS; i++)
		if (registers >> i & 1)
			state.registers[i] = (struct way_value){.kind = WAY_START, .reg = (uint8_t)i};
	enter(way, address, &state);
	follow(way);
	return way->err;
}

static void way_out_deinit(struct way_out *way)
{
	vec_free(&way->nodes);
	vec_free(&way->work);
	vec_free(&way->callees);
	vec_free(&way->exits);
	table_deinit(&way->at);
	free(way->pages);
}

/* The registers whose values are known at a return address. */
static uint32_t known_behind(struct way_out *way, uint64_t address)
{
	uint32_t known = way->arch->preserved | 1u << way->arch->sp;
	uint64_t at = address - CALL_BYTES;
	uint8_t bytes[CALL_BYTES];
	struct code_insn insn;

	if (way->source->read(way->source->context, at, bytes, sizeof(bytes)) == sizeof(bytes) &&
	    way->arch->decode(way->decoder, bytes, sizeof(bytes), at, &insn) && insn.op == CODE_CALL &&
	    insn.length == CALL_BYTES)
		known |= ~call(way, (uint64_t)insn.imm).writes;
	return known;
}

int way_out_find(const struct code_arch *arch, const struct way_out_source *source, uint64_t address, bool innermost,
		 rule_ranges *ret)
{
	struct way_out way = {.arch = arch, .source = source, .nodes_max = NODES_MAX};
	int err = arch->links ? -ENOTSUP : arch->create(&way.decoder);

	if (err)
		return err;
	err = way_out_run(&way, address, innermost ? ~0u : known_behind(&way, address));
	if (!err)
		err = take(&way, address, innermost, ret);
	arch->destroy(way.decoder);
	way_out_deinit(&way);
	return err;
}

int way_out_exits(const struct code_arch *arch, const struct way_out_source *source, uint64_t address,
		  const struct way_out_bounds *bounds, struct way_out_exit *ret, size_t max)
{
	struct way_out way = {.arch = arch, .source = source, .nodes_max = NODES_MAX, .bounds = bounds};
	int err = arch->links ? -ENOTSUP : arch->create(&way.decoder);
	size_t count = 0;

	if (err)
		return err;
	err = way_out_run(&way, address, ~0u);
	if (!err && !way.outcome.found && !way.odd)
		for (; count < way.exits.count && count < max; count++)
			ret[count] = way.exits.at[count];
	arch->destroy(way.decoder);
	way_out_deinit(&way);
	return err ? err : (int)count;
}
