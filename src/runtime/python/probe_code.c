// SPDX-License-Identifier: GPL-2.0-or-later
#include "runtime/python/probe_code.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define NOTHING ((struct probe_value){.node = PROBE_NOTHING})

static int compare_addresses(const void *a, const void *b)
{
	const uint64_t *left = a, *right = b;

	return *left < *right ? -1 : *left > *right;
}

static int compare_insns(const void *a, const void *b)
{
	const struct spot_insn *left = a, *right = b;

	return left->vaddr < right->vaddr ? -1 : left->vaddr > right->vaddr;
}

static int read_range(struct probe_code *code, const struct elf_file *elf, struct spot_decoder *decoder,
		      const struct python_range *range)
{
	size_t size = range->end - range->start, at = 0;
	const uint8_t *bytes = elf_file_bytes_at(elf, range->start, size);
	struct spot_insn insn;
	int err = 0;

	while (bytes && at < size && !err) {
		if (!code->arch->decode(decoder, bytes + at, size - at, range->start + at, &insn)) {
			at++;
			continue;
		}
		at += insn.length;
		err = vec_push(&code->insns, insn);
		if (!err && (insn.op == SPOT_JUMP || insn.op == SPOT_BRANCH))
			err = vec_push(&code->targets, insn.target);
	}
	return err;
}

/* Does an instruction with a local variable's address, or one below the stack pointer, have it from this register? */
static bool is_based_on(const struct spot_insn *insn, uint8_t reg)
{
	return (insn->op == SPOT_LOAD || insn->op == SPOT_STORE || insn->op == SPOT_ADD || insn->op == SPOT_COMPARE) &&
	       insn->b == reg;
}

/* The function ends behind this instruction, on a straight line of nothing but what gives registers back. */
static bool is_at_end(const struct probe_code *code, const struct spot_insn *insn)
{
	unsigned int i;

	for (i = 0; insn && i < 8; i++, insn = probe_code_next(code, insn))
		if (insn->op == SPOT_END)
			return insn->returns;
		else if (insn->op >= SPOT_CALL)
			return false;
	return false;
}

/*
 * The register that local variables are found by: a frame pointer, if one is set from the stack pointer, keeps its
 * value until the function ends, and none is found by the stack pointer; else that.
 */
static uint8_t base_of(const struct probe_code *code)
{
	const uint8_t sp = code->arch->sp;
	uint8_t found = SPOT_NONE;
	size_t i, sets = 0;

	for (i = 0; i < code->insns.count; i++) {
		const struct spot_insn *insn = &code->insns.at[i];

		if (is_based_on(insn, sp))
			return sp;
		if (insn->op == SPOT_MOVE && insn->b == sp && insn->a != sp && !insn->imm && insn->size == 8 && !sets++)
			found = insn->a;
	}
	for (i = 0; i < code->insns.count && sets == 1; i++) {
		const struct spot_insn *insn = &code->insns.at[i];
		bool moves = (insn->op == SPOT_MOVE || insn->op == SPOT_LOAD || insn->op == SPOT_NUMBER ||
			      insn->op == SPOT_SUM) &&
			     insn->a == found;

		if (moves && insn->op == SPOT_MOVE && insn->b == sp)
			continue;
		if (moves || (insn->clobbers & 1u << found && !is_at_end(code, insn)))
			return sp;
	}
	return sets == 1 ? found : sp;
}

int probe_code_init(struct probe_code *code, const struct elf_file *elf, const struct python_range *ranges,
		    size_t count, struct diag *diag)
{
	struct spot_decoder *decoder;
	size_t i;
	int err;

	*code = (struct probe_code){.arch = arch_of(elf_file_machine(elf))->spot};
	if (!code->arch)
		return diag_fail(diag, ENOTSUP, "python.probes",
				 "%s: places for Python's probes are not known on this machine", elf_file_path(elf));
	err = code->arch->create(&decoder);
	for (i = 0; i < count && !err; i++)
		err = read_range(code, elf, decoder, &ranges[i]);
	if (err != -ENOTSUP)
		code->arch->destroy(err == -ENOMEM && !code->insns.count ? NULL : decoder);
	if (err) {
		probe_code_deinit(code);
		return diag_fail(diag, -err, "python.probes", "%s: the interpreter loop cannot be read: %s",
				 elf_file_path(elf), strerror(-err));
	}
	if (code->insns.count)
		qsort(code->insns.at, code->insns.count, sizeof(*code->insns.at), compare_insns);
	if (code->targets.count)
		qsort(code->targets.at, code->targets.count, sizeof(*code->targets.at), compare_addresses);
	code->base = base_of(code);
	return 0;
}

void probe_code_deinit(struct probe_code *code)
{
	vec_free(&code->insns);
	vec_free(&code->targets);
}

const struct spot_insn *probe_code_at(const struct probe_code *code, uint64_t vaddr)
{
	const struct spot_insn key = {.vaddr = vaddr};

	return code->insns.count
		       ? bsearch(&key, code->insns.at, code->insns.count, sizeof(*code->insns.at), compare_insns)
		       : NULL;
}

const struct spot_insn *probe_code_next(const struct probe_code *code, const struct spot_insn *insn)
{
	const struct spot_insn *next = insn + 1;

	if (insn->op == SPOT_JUMP)
		return probe_code_at(code, insn->target);
	if (insn->op == SPOT_INDIRECT || insn->op == SPOT_END || next >= code->insns.at + code->insns.count)
		return NULL;
	return next->vaddr == insn->vaddr + insn->length ? next : NULL;
}

bool probe_code_is_target(const struct probe_code *code, uint64_t vaddr)
{
	return code->targets.count &&
	       bsearch(&vaddr, code->targets.at, code->targets.count, sizeof(vaddr), compare_addresses);
}

static bool is_one_of(uint64_t vaddr, const uint64_t *list, size_t count)
{
	size_t i;

	for (i = 0; i < count && list[i] != vaddr; i++)
		;
	return i < count;
}

uint8_t *probe_code_reach(const struct probe_code *code, const struct spot_insn *from, const uint64_t *stops,
			  size_t stop_count, bool calls, bool *leaves)
{
	uint8_t *reached = calloc(code->insns.count + 1, 1);
	VEC(const struct spot_insn *) open = {};
	int err = reached ? vec_push(&open, from) : -ENOMEM;

	*leaves = false;
	while (!err && open.count) {
		const struct spot_insn *insn = open.at[--open.count];

		while (insn && !err && !is_one_of(insn->vaddr, stops, stop_count) &&
		       !reached[insn - code->insns.at]) {
			reached[insn - code->insns.at] = 1;
			if (insn->op == SPOT_INDIRECT)
				*leaves = true;
			if ((insn->op == SPOT_BRANCH || (calls && insn->op == SPOT_CALL)) &&
			    probe_code_at(code, insn->target))
				err = vec_push(&open, probe_code_at(code, insn->target));
			insn = probe_code_next(code, insn);
		}
	}
	vec_free(&open);
	if (err) {
		free(reached);
		return NULL;
	}
	return reached;
}

static bool ends_block(const struct spot_insn *insn)
{
	return insn->op == SPOT_CALL || insn->op == SPOT_JUMP || insn->op == SPOT_BRANCH || insn->op == SPOT_INDIRECT ||
	       insn->op == SPOT_END;
}

const struct spot_insn *probe_code_block(const struct probe_code *code, const struct spot_insn *insn)
{
	while (insn > code->insns.at && !probe_code_is_target(code, insn->vaddr) && !ends_block(insn - 1) &&
	       insn[-1].vaddr + insn[-1].length == insn->vaddr)
		insn--;
	return insn;
}

/* --- what registers hold --- */

enum sameness { SAME_NOT, SAME_YES, SAME_AS_BEFORE };

/* Two registers behind the instructions from `first` to `last`, a part of a block. */
static enum sameness sameness(const struct probe_code *code, const struct spot_insn *first,
			      const struct spot_insn *last, uint8_t a, uint8_t b)
{
	struct probe_line line;
	struct probe_value *registers = line.registers;

	probe_line_begin(code->arch, &line);
	for (; first <= last; first++)
		probe_line_step(&line, first);
	if (registers[a].node == a && !registers[a].add && registers[b].node == b && !registers[b].add &&
	    !registers[a].narrow && !registers[b].narrow)
		return SAME_AS_BEFORE;
	return registers[a].node != PROBE_NOTHING && registers[a].node == registers[b].node &&
			       registers[a].add == registers[b].add && !registers[a].narrow && !registers[b].narrow
		       ? SAME_YES
		       : SAME_NOT;
}

typedef VEC(const struct spot_insn *) insn_list;

/* The instructions from which control comes to this one, which begins a block. -ENOENT: there are none. */
static int add_ways(const struct probe_code *code, const struct spot_insn *block, insn_list *ret)
{
	const struct spot_insn *before = block - 1;
	bool is_behind = block > code->insns.at && before->vaddr + before->length == block->vaddr &&
			 before->op != SPOT_JUMP && before->op != SPOT_INDIRECT && before->op != SPOT_END;
	size_t count = ret->count, i;
	int err = is_behind ? vec_push(ret, before) : 0;

	for (i = 0; i < code->insns.count && !err && probe_code_is_target(code, block->vaddr); i++)
		if ((code->insns.at[i].op == SPOT_JUMP || code->insns.at[i].op == SPOT_BRANCH) &&
		    code->insns.at[i].target == block->vaddr)
			err = vec_push(ret, &code->insns.at[i]);
	return err ? err : ret->count == count ? -ENOENT : 0;
}

bool probe_code_same_at_jumps(const struct probe_code *code, uint8_t a, uint8_t b, const uint64_t *starts,
			      size_t start_count)
{
	uint8_t *seen = calloc(code->insns.count + 1, 1);
	insn_list open = {};
	bool same = seen && a < SPOT_REGISTERS && b < SPOT_REGISTERS;
	size_t i;

	for (i = 0; i < code->insns.count && same; i++)
		if (code->insns.at[i].op == SPOT_INDIRECT)
			same = !vec_push(&open, &code->insns.at[i]);
	same = same && open.count;
	while (same && open.count) {
		const struct spot_insn *last = open.at[--open.count], *block = probe_code_block(code, last), *start;
		enum sameness is;

		if (seen[last - code->insns.at])
			continue;
		seen[last - code->insns.at] = 1;
		/* A start may lie within a block: where the line begins that leads from there. */
		for (start = last; start > block && !is_one_of(start->vaddr, starts, start_count);)
			start--;
		is = sameness(code, start, last, a, b);
		if (is == SAME_AS_BEFORE) {
			int err = add_ways(code, start, &open);

			same = !err || (err == -ENOENT && is_one_of(start->vaddr, starts, start_count));
		} else {
			same = is == SAME_YES;
		}
	}
	vec_free(&open);
	free(seen);
	return same;
}

void probe_line_begin(const struct spot_arch *arch, struct probe_line *ret)
{
	uint8_t i;

	*ret = (struct probe_line){.arch = arch, .base = arch->sp};
	for (i = 0; i < SPOT_REGISTERS; i++)
		ret->registers[i].node = i;
}

struct probe_value probe_line_register(const struct probe_line *line, uint8_t reg)
{
	return reg < SPOT_REGISTERS ? line->registers[reg] : NOTHING;
}

struct probe_value probe_line_address(const struct probe_line *line, const struct spot_insn *insn)
{
	struct probe_value value = probe_line_register(line, insn->b);

	value.add += insn->imm;
	return value.narrow ? NOTHING : value;
}

/* The slot of the stack with this word; slot_count: none. */
static uint8_t slot_of(const struct probe_line *line, int64_t at)
{
	uint8_t i;

	for (i = 0; i < line->slot_count && line->slots[i].at != at; i++)
		;
	return i;
}

static bool is_stack(const struct probe_line *line, struct probe_value at)
{
	return at.node == line->base;
}

static struct probe_value load(struct probe_line *line, struct probe_value at, uint8_t size)
{
	const bool stack = is_stack(line, at);
	uint8_t i;

	if (size != 8 && size != 4)
		return NOTHING;
	if (stack && (i = slot_of(line, at.add)) < line->slot_count)
		return size == 8 || line->slots[i].value.narrow ? line->slots[i].value : NOTHING;
	for (i = 0; i < line->load_count; i++) {
		const struct probe_load *old = &line->loads[i];

		if (at.node != PROBE_NOTHING && old->at.node == at.node && old->at.add == at.add && old->size == size &&
		    (stack || old->epoch == line->epoch))
			return (struct probe_value){.node = PROBE_NODE + i, .narrow = size == 4};
	}
	if (line->load_count == PROBE_LOADS)
		return NOTHING;
	line->loads[line->load_count] = (struct probe_load){.at = at, .size = size, .epoch = line->epoch};
	return (struct probe_value){.node = PROBE_NODE + line->load_count++, .narrow = size == 4};
}

static void store(struct probe_line *line, struct probe_value at, struct probe_value value, unsigned int size)
{
	uint8_t i;

	if (!is_stack(line, at)) {
		/* Nobody has the address of a local variable but the line itself. */
		line->epoch++;
		return;
	}
	for (i = 0; i < line->slot_count; i++)
		if (line->slots[i].at < at.add + (int64_t)size && at.add < line->slots[i].at + 8)
			line->slots[i].value = NOTHING;
	i = slot_of(line, at.add);
	if (i == line->slot_count) {
		if (i == PROBE_SLOTS) {
			/* Of what is not kept nothing may be known. */
			for (i = 0; i < SPOT_REGISTERS; i++)
				line->registers[i] = NOTHING;
			return;
		}
		line->slots[line->slot_count++].at = at.add;
	}
	line->slots[i].value = size == 8 || (size == 4 && value.narrow) ? value : NOTHING;
}

void probe_line_step(struct probe_line *line, const struct spot_insn *insn)
{
	struct probe_value value = NOTHING;
	uint8_t i;

	switch (insn->op) {
	case SPOT_MOVE:
		value = line->registers[insn->b];
		value.add += insn->imm;
		value.narrow |= insn->size == 4;
		break;
	case SPOT_LOAD:
		value = load(line, probe_line_address(line, insn), insn->size);
		break;
	case SPOT_STORE:
	case SPOT_ADD:
		value = insn->op == SPOT_STORE ? probe_line_register(line, insn->a) : NOTHING;
		value.narrow |= insn->size == 4;
		store(line, probe_line_address(line, insn), value, insn->size);
		break;
	case SPOT_CALL:
		line->epoch++;
		break;
	default:
		break;
	}
	for (i = 0; i < SPOT_REGISTERS; i++)
		if (insn->clobbers & 1u << i)
			line->registers[i] = NOTHING;
	if (insn->op == SPOT_MOVE || insn->op == SPOT_LOAD)
		line->registers[insn->a] = value;
}

#define READER_BYTES 64 /* of a function that reads a word */

/* Does the function return the word at its first argument, and change nothing? */
static bool is_reader(struct spot_decoder *decoder, const struct spot_arch *arch, const struct elf_file *elf,
		      uint64_t vaddr)
{
	const uint8_t *bytes = NULL;
	struct probe_line line;
	struct spot_insn insn;
	size_t at, size;
	uint8_t base;

	for (size = 2 * READER_BYTES; !bytes && size > 1;)
		bytes = elf_file_bytes_at(elf, vaddr, size /= 2);
	probe_line_begin(arch, &line);
	for (at = 0; bytes && at < size; at += insn.length) {
		if (!arch->decode(decoder, bytes + at, size - at, vaddr + at, &insn))
			return false;
		if (insn.op == SPOT_END)
			return insn.returns && probe_line_is_load(&line, line.registers[arch->result], 0, &base) &&
			       base == arch->arguments[0] && !line.registers[arch->result].narrow;
		if (insn.op >= SPOT_CALL)
			return false;
		if ((insn.op == SPOT_STORE || insn.op == SPOT_ADD) &&
		    !is_stack(&line, probe_line_address(&line, &insn)))
			return false;
		probe_line_step(&line, &insn);
	}
	return false;
}

bool probe_line_step_reader(struct probe_line *line, const struct elf_file *elf, const struct spot_insn *call)
{
	struct spot_decoder *decoder;
	struct probe_value value;
	bool reads;

	if (call->op != SPOT_CALL || !call->target || line->arch->create(&decoder))
		return false;
	reads = is_reader(decoder, line->arch, elf, call->target);
	line->arch->destroy(decoder);
	if (!reads)
		return false;
	value = load(line, probe_line_register(line, line->arch->arguments[0]), 8);
	probe_line_step(line, call);
	line->registers[line->arch->result] = value;
	return true;
}

struct probe_value probe_line_known(struct probe_line *line, const struct python_place *place)
{
	if (place->kind == PYTHON_IN_REGISTER && !place->add)
		return (struct probe_value){.node = place->reg};
	if (place->kind != PYTHON_ON_STACK)
		return NOTHING;
	return load(line, (struct probe_value){.node = line->base, .add = place->add}, 8);
}

bool probe_line_origin(const struct probe_line *line, uint8_t node, struct python_place *ret)
{
	if (node == PROBE_NOTHING)
		return false;
	if (node < SPOT_REGISTERS) {
		*ret = (struct python_place){.kind = PYTHON_IN_REGISTER, .reg = node};
		return true;
	}
	if (!is_stack(line, line->loads[node - PROBE_NODE].at) || line->loads[node - PROBE_NODE].size != 8)
		return false;
	*ret = (struct python_place){
		.kind = PYTHON_ON_STACK, .reg = line->base, .add = (int32_t)line->loads[node - PROBE_NODE].at.add};
	return true;
}

bool probe_line_is_load(const struct probe_line *line, struct probe_value value, int64_t offset, uint8_t *base)
{
	const struct probe_load *from;

	if (value.node < PROBE_NODE || value.node - PROBE_NODE >= line->load_count || value.add)
		return false;
	from = &line->loads[value.node - PROBE_NODE];
	if (from->at.add != offset)
		return false;
	*base = from->at.node;
	return true;
}

struct python_place probe_line_place(const struct probe_line *line, uint8_t node, bool narrow)
{
	const struct probe_value *sp = &line->registers[line->base];
	const struct probe_load *from;
	uint8_t i;

	for (i = 0; i < SPOT_REGISTERS; i++)
		if (line->registers[i].node == node && i != line->base && i != line->arch->sp &&
		    (narrow || !line->registers[i].narrow))
			return (struct python_place){
				.kind = PYTHON_IN_REGISTER, .reg = i, .add = (int32_t)-line->registers[i].add};
	for (i = 0; i < line->slot_count && sp->node == line->base; i++)
		if (line->slots[i].value.node == node && !line->slots[i].value.add &&
		    (narrow || !line->slots[i].value.narrow))
			return (struct python_place){.kind = PYTHON_ON_STACK,
						     .reg = line->base,
						     .add = (int32_t)(line->slots[i].at - sp->add)};
	if (node < PROBE_NODE || node - PROBE_NODE >= line->load_count || sp->node != line->base)
		return (struct python_place){};
	from = &line->loads[node - PROBE_NODE];
	if (!is_stack(line, from->at) || from->size != 8 || slot_of(line, from->at.add) < line->slot_count)
		return (struct python_place){};
	return (struct python_place){
		.kind = PYTHON_ON_STACK, .reg = line->base, .add = (int32_t)(from->at.add - sp->add)};
}
