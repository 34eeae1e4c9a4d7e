// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Where the interpreter loop is.
 *
 * Compilers split _PyEval_EvalFrameDefault(): code that a profile calls cold goes to another section and has an FDE of
 * its own, several of them where post-link optimisers worked, and no symbol when the file is stripped. Which part is
 * the larger one depends on the profile: Alpine's 3.12 and Debian's 3.14 have about a kilobyte of "hot" code and the
 * dispatch in 84 KB of "cold".
 *
 *        .text.unlikely   [ FDE c1 ........ ]          [ FDE c2 ... ]
 *                            ^    |   ^  |                 ^   |
 *               jump out     |    |   |  +-----------------+   |   jumps back, into the middle of a part
 *                            |    v   |                        v
 *        .text            [ FDE of _PyEval_EvalFrameDefault ............ ]
 *
 * So: every direct jump out of a known part leads into some FDE. That FDE is a part of the loop as well when its own
 * code jumps back into a known part, past that part's first byte: nothing but the same function can know an address
 * there. (A jump to the first byte may be anyone's tail call.) It is one, too, when it shares the CFA rule: the frame
 * is as large where the jump lands as where it came from, and larger than a function's at its entry; a tail call has
 * given its frame back before. What a .cold symbol names is taken without that. Repeated until nothing is added.
 *
 * The tail-call interpreter of 3.14 has one function for each instruction, _TAIL_CALL_*: its handlers. They run below
 * the frame of _PyEval_EvalFrameDefault(), in the same run of the loop.
 *
 * Without symbols, or when what they name is too small to be the loop, its messages and the dispatch table tell
 * (eval_search.h).
 *
 * Code is disassembled linearly: x86-64 and AArch64 compilers keep data out of .text.
 */
#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "arch/arch.h"
#include "base/cursor.h"
#include "base/disassembler.h"
#include "base/table.h"
#include "base/vec.h"
#include "runtime/python/eval_search.h"
#include "runtime/python/interpreter.h"
#include "unwind/unwind_table.h"

#define LOOP_NAME        "_PyEval_EvalFrameDefault"
#define TAIL_CALL_NAME   "_TAIL_CALL_"
#define PARTS_MAX        1024        /* parts and candidates; the tail-call interpreter has some 300 */
#define PART_SIZE_MAX    (2u << 20)  /* of one FDE; unoptimised loops have 150 KB */
#define LOOP_SIZE_MIN    (12u << 10) /* a loop with all its instructions: 3.6's has 20 KB when built for size */
#define TAIL_CALLS_SINCE 0x030e

struct jump {
	uint64_t from, to;
};

struct part {
	uint64_t start, end;
	const char *evidence; /* NULL: a candidate */
	bool cold, handler;
	bool followed;          /* its targets' FDEs are among the parts */
	uint32_t indirect;      /* jumps to computed addresses */
	VEC(struct jump) jumps; /* the direct ones that leave it */
};

struct loop {
	const struct elf_file *elf;
	struct disassembler disassembler;
	const struct reference_arch *arch;
	struct unwind_table table; /* compiled when first asked for */
	bool table_tried;
	VEC(struct part) parts;
	struct table seen; /* starts of parts */
};

static int loop_init(struct loop *loop, const struct elf_file *elf, struct diag *diag)
{
	const struct arch *arch = arch_of(elf_file_machine(elf));
	int err = -ENOTSUP;

	*loop = (struct loop){.elf = elf};
	if (arch) {
		loop->arch = arch->references;
		err = disassembler_open(&loop->disassembler, arch->capstone, arch->capstone_mode, false);
	}
	if (!err)
		return 0;
	if (err == -ENOMEM)
		return diag_fail(diag, ENOMEM, "python.memory", "%s: out of memory", elf_file_path(elf));
	return diag_fail(diag, ENOTSUP, "python.machine", "%s: no disassembler for its machine code",
			 elf_file_path(elf));
}

static void loop_deinit(struct loop *loop)
{
	size_t i;

	for (i = 0; i < loop->parts.count; i++)
		vec_free(&loop->parts.at[i].jumps);
	vec_free(&loop->parts);
	table_deinit(&loop->seen);
	unwind_table_deinit(&loop->table);
	disassembler_close(&loop->disassembler);
}

/* The address that a direct jump names last in its operands: "0x401000", "w0, #3, #0x401000". */
static bool jump_target(const char *operands, uint64_t *ret)
{
	const char *address = strrchr(operands, ' ');
	char *end;

	address = address ? address + 1 : operands;
	if (*address == '#')
		address++;
	if (address[0] != '0' || address[1] != 'x')
		return false;
	*ret = strtoull(address, &end, 16);
	return !*end;
}

/* Collects the direct jumps that leave a part. */
static int scan(struct loop *loop, struct part *part)
{
	size_t left = part->end - part->start;
	const uint8_t *code = elf_file_bytes_at(loop->elf, part->start, left);
	const cs_insn *insn = loop->disassembler.insn;
	uint64_t at = part->start, target;

	while (code && left) {
		if (!disassembler_next(&loop->disassembler, &code, &left, &at)) {
			size_t step = left < loop->arch->step ? left : loop->arch->step;

			code += step;
			left -= step;
			at += step;
			continue;
		}
		part->indirect += loop->arch->is_indirect(insn->mnemonic, insn->op_str);
		if (!loop->arch->is_jump(insn->mnemonic) || !jump_target(insn->op_str, &target))
			continue;
		if (target >= part->start && target < part->end)
			continue;
		if (vec_push(&part->jumps, (struct jump){.from = insn->address, .to = target}))
			return -ENOMEM;
	}
	return 0;
}

/* Adds a part, or a candidate when there is no evidence. Ranges that were added before are left as they are. */
static int add(struct loop *loop, uint64_t start, uint64_t end, bool cold, const char *evidence)
{
	struct part part = {.start = start, .end = end, .cold = cold, .evidence = evidence};
	int err;

	if (start >= end || end - start > PART_SIZE_MAX || loop->parts.count >= PARTS_MAX)
		return 0;
	if (table_get(&loop->seen, start + 1, NULL))
		return 0;
	err = scan(loop, &part);
	if (!err)
		err = table_set(&loop->seen, start + 1, loop->parts.count);
	if (!err)
		err = vec_push(&loop->parts, part);
	if (err)
		vec_free(&part.jumps);
	return err;
}

/* Adds the code at a symbol: its FDE, or what the symbol's size says where there is none. */
static int add_symbol(struct loop *loop, uint64_t vaddr, uint64_t size, bool cold, const char *evidence)
{
	uint64_t start, end;

	if (!unwind_find_fde(loop->elf, vaddr, &start, &end) || start != vaddr) {
		start = vaddr;
		end = vaddr + size;
	}
	return add(loop, start, end, cold, evidence);
}

/* A local copy's name may go on: .cold, .cold.3, .lto_priv.0, .constprop.0, .lto_priv.0.cold ... */
static bool is_loop_name(const char *name)
{
	size_t length = strlen(LOOP_NAME);

	return !strncmp(name, LOOP_NAME, length) && (!name[length] || name[length] == '.');
}

static int add_named(struct loop *loop, const char *name, const Elf64_Sym *symbol)
{
	bool cold = strstr(name, ".cold");
	int err;

	if (ELF64_ST_TYPE(symbol->st_info) != STT_FUNC || symbol->st_shndx == SHN_UNDEF)
		return 0;
	if (is_loop_name(name))
		return add_symbol(loop, symbol->st_value, symbol->st_size, cold, cold ? "symbol .cold" : "symbol");
	if (strncmp(name, TAIL_CALL_NAME, strlen(TAIL_CALL_NAME)) != 0)
		return 0;
	err = add_symbol(loop, symbol->st_value, symbol->st_size, cold,
			 cold ? "symbol _TAIL_CALL_ .cold" : "symbol _TAIL_CALL_");
	if (!err && loop->parts.count && loop->parts.at[loop->parts.count - 1].start == symbol->st_value)
		loop->parts.at[loop->parts.count - 1].handler = true;
	return err;
}

/* Adds what the symbol table names, local symbols included. */
static int add_symtab(struct loop *loop)
{
	struct elf_section symbols, names;
	struct cursor c, name;
	const Elf64_Sym *bytes;
	const char *text;
	Elf64_Sym symbol;
	int err = 0;

	if (!elf_file_section(loop->elf, ".symtab", &symbols) || !elf_file_section(loop->elf, ".strtab", &names) ||
	    !symbols.bytes || !names.bytes)
		return 0;
	c = cursor_init(symbols.bytes, symbols.size);
	while (!err && (bytes = (const void *)cursor_take(&c, sizeof(symbol)))) {
		memcpy(&symbol, bytes, sizeof(symbol));
		/* All the names begin with '_': most are ruled out by one look. */
		if (symbol.st_name >= names.size || names.bytes[symbol.st_name] != '_')
			continue;
		name = cursor_init(names.bytes + symbol.st_name, names.size - symbol.st_name);
		text = cursor_string(&name);
		if (text)
			err = add_named(loop, text, &symbol);
	}
	return err;
}

/* Whether a candidate jumps into the middle of a known part; then *handler tells of which kind that is. */
static bool jumps_back(const struct loop *loop, const struct part *candidate, bool *handler)
{
	size_t i, j;

	for (i = 0; i < loop->parts.count; i++) {
		const struct part *part = &loop->parts.at[i];

		if (!part->evidence)
			continue;
		for (j = 0; j < candidate->jumps.count; j++)
			if (candidate->jumps.at[j].to > part->start && candidate->jumps.at[j].to < part->end) {
				*handler = part->handler;
				return true;
			}
	}
	return false;
}

/* The rule in force at an address; of the kind UNWIND_NO_RULE where rows cannot be made. */
static struct unwind_rule rule_at(struct loop *loop, uint64_t vaddr)
{
	if (!loop->table_tried) {
		loop->table_tried = true;
		if (unwind_table_compile(loop->elf, NULL, &loop->table, NULL))
			loop->table = (struct unwind_table){};
	}
	return loop->table.row_count ? unwind_table_lookup(&loop->table, vaddr) : (struct unwind_rule){};
}

/* Does nothing but the call lie on the stack? */
static bool is_entry_rule(const struct loop *loop, const struct unwind_rule *rule)
{
	return rule->kind == UNWIND_SP && rule->cfa_offset == -arch_of(elf_file_machine(loop->elf))->unwind->ra_offset;
}

/*
 * Whether a known part jumps into a candidate, past its first byte or into one that is no function of its own, with the
 * same frame here and there.
 */
static bool shares_cfa(struct loop *loop, const struct part *candidate, bool *handler)
{
	struct unwind_rule start = rule_at(loop, candidate->start), from, to;
	size_t i, j;

	if (start.kind == UNWIND_NO_RULE)
		return false;
	for (i = 0; i < loop->parts.count; i++) {
		const struct part *part = &loop->parts.at[i];

		for (j = 0; part->evidence && j < part->jumps.count; j++) {
			if (part->jumps.at[j].to < candidate->start || part->jumps.at[j].to >= candidate->end ||
			    (part->jumps.at[j].to == candidate->start && is_entry_rule(loop, &start)))
				continue;
			from = rule_at(loop, part->jumps.at[j].from);
			to = rule_at(loop, part->jumps.at[j].to);
			*handler = part->handler;
			if ((from.kind == UNWIND_SP || from.kind == UNWIND_FP) && from.kind == to.kind &&
			    from.cfa_offset == to.cfa_offset && !is_entry_rule(loop, &from))
				return true;
		}
	}
	return false;
}

/* Makes candidates of the FDEs that a part jumps into. */
static int follow(struct loop *loop, size_t index)
{
	uint64_t start = 0, end = 0, target;
	size_t i;
	int err;

	loop->parts.at[index].followed = true;
	for (i = 0; i < loop->parts.at[index].jumps.count; i++) {
		target = loop->parts.at[index].jumps.at[i].to;
		if (target >= start && target < end)
			continue; /* the same FDE as for the jump before */
		if (!unwind_find_fde(loop->elf, target, &start, &end)) {
			start = end = 0;
			continue;
		}
		err = add(loop, start, end, true, NULL);
		if (err)
			return err;
	}
	return 0;
}

/* Adds parts until no jump leads to another one. */
static int close_over_jumps(struct loop *loop)
{
	bool changed = true;
	size_t i;
	int err;

	while (changed) {
		changed = false;
		for (i = 0; i < loop->parts.count; i++) {
			struct part *part = &loop->parts.at[i];

			if (!part->evidence && jumps_back(loop, part, &part->handler))
				part->evidence = "jump into FDE, jumps back";
			else if (!part->evidence && shares_cfa(loop, part, &part->handler))
				part->evidence = "jump into FDE, same CFA";
			if (!part->evidence || part->followed)
				continue;
			err = follow(loop, i);
			if (err)
				return err;
			changed = true;
		}
	}
	return 0;
}

static uint64_t known_size(const struct loop *loop)
{
	uint64_t size = 0;
	size_t i;

	for (i = 0; i < loop->parts.count; i++)
		if (loop->parts.at[i].evidence)
			size += loop->parts.at[i].end - loop->parts.at[i].start;
	return size;
}

/* Takes all parts back. */
static void forget(struct loop *loop)
{
	size_t i;

	for (i = 0; i < loop->parts.count; i++)
		vec_free(&loop->parts.at[i].jumps);
	loop->parts.count = 0;
	table_deinit(&loop->seen);
	loop->seen = (struct table){};
}

/* Whether what is known has enough of the loop's messages, and computes where to go on: the loop, as far as can be
 * told. */
static bool is_loop(const struct loop *loop, const eval_anchors *anchors)
{
	uint32_t messages = 0, indirect = 0;
	size_t i, j;

	for (i = 0; i < loop->parts.count; i++) {
		if (!loop->parts.at[i].evidence)
			continue;
		indirect += loop->parts.at[i].indirect;
		for (j = 0; j < anchors->count; j++)
			if (anchors->at[j].start == loop->parts.at[i].start)
				messages |= anchors->at[j].messages;
	}
	return indirect && __builtin_popcount(messages) >= EVAL_MESSAGES_NEEDED;
}

/* Tries the function of each anchor as the loop. */
static int add_by_messages(struct loop *loop, const eval_anchors *anchors)
{
	struct unwind_rule rule;
	size_t i, j;
	int err;

	for (i = 0; i < anchors->count; i++) {
		err = add(loop, anchors->at[i].start, anchors->at[i].end, false, "messages of the loop");
		if (!err)
			err = close_over_jumps(loop);
		if (err)
			return err;
		if (is_loop(loop, anchors)) {
			for (j = 0; j < loop->parts.count; j++) {
				rule = rule_at(loop, loop->parts.at[j].start);
				if (rule.kind != UNWIND_NO_RULE)
					loop->parts.at[j].cold = !is_entry_rule(loop, &rule);
			}
			return 0;
		}
		forget(loop);
	}
	return 0;
}

/* Adds a function, a handler or the loop itself, unless it is known. */
static int add_function(struct loop *loop, uint64_t vaddr, bool handler, const char *evidence)
{
	uint64_t start, end;
	size_t count = loop->parts.count;
	int err;

	if (!unwind_find_fde(loop->elf, vaddr, &start, &end))
		return 0;
	err = add(loop, start, end, false, evidence);
	if (!err && loop->parts.count > count)
		loop->parts.at[count].handler = handler;
	return err;
}

struct wanted {
	const struct loop *loop;
	uint64_t table;
};

/* The dispatch table, or a handler's first byte. */
static bool is_dispatch(void *context, uint64_t target)
{
	const struct wanted *wanted = context;
	uint64_t index;

	return target == wanted->table ||
	       (table_get(&wanted->loop->seen, target + 1, &index) && wanted->loop->parts.at[index].handler);
}

/*
 * The tail-call interpreter without its symbols: the functions of the dispatch table; those that they jump to, which
 * are what they have in common (labels: a handler ends in a jump to one of them or through the table, and in no other);
 * and the function that calls one of these, or goes through the table, without being one.
 */
static int add_by_dispatch(struct loop *loop, const eval_anchors *anchors)
{
	struct wanted wanted = {.loop = loop};
	eval_addresses functions = {}, places = {};
	size_t i, j;
	int err;

	err = eval_find_dispatch(loop->elf, anchors, &wanted.table, &functions);
	for (i = 0; !err && i < functions.count; i++)
		err = add_function(loop, functions.at[i], true, "dispatch table");
	for (i = 0; !err && wanted.table && i < loop->parts.count; i++)
		for (j = 0; !err && loop->parts.at[i].handler && j < loop->parts.at[i].jumps.count; j++)
			err = add_function(loop, loop->parts.at[i].jumps.at[j].to, true, "jump from a handler");
	if (!err && wanted.table)
		err = eval_find_references(loop->elf, is_dispatch, &wanted, &places);
	for (i = 0; !err && i < places.count; i++)
		err = add_function(loop, places.at[i], false, "enters the dispatch table");
	vec_free(&functions);
	vec_free(&places);
	return err;
}

/* What symbols do not tell. */
static int search(struct loop *loop, uint16_t version)
{
	eval_anchors anchors = {};
	size_t i;
	int err;

	err = eval_find_anchors(loop->elf, &anchors);
	if (!err && !known_size(loop)) {
		forget(loop);
		err = add_by_messages(loop, &anchors);
	} else {
		/* A cold part to which only computed jumps lead. */
		for (i = 0; !err && i < anchors.count; i++)
			if (__builtin_popcount(anchors.at[i].messages) >= EVAL_MESSAGES_NEEDED)
				err = add(loop, anchors.at[i].start, anchors.at[i].end, true, NULL);
		if (!err)
			err = close_over_jumps(loop);
	}
	if (!err && version >= TAIL_CALLS_SINCE && known_size(loop) < LOOP_SIZE_MIN)
		err = add_by_dispatch(loop, &anchors);
	vec_free(&anchors);
	return err;
}

static int compare_ranges(const void *a, const void *b)
{
	const struct python_range *left = a, *right = b;

	return left->start < right->start ? -1 : left->start > right->start;
}

static int collect(const struct loop *loop, struct python_range **ret, size_t *count)
{
	VEC(struct python_range) ranges = {};
	size_t i;

	for (i = 0; i < loop->parts.count; i++) {
		const struct part *part = &loop->parts.at[i];

		if (part->evidence && vec_push(&ranges, (struct python_range){.start = part->start,
									      .end = part->end,
									      .cold = part->cold,
									      .handler = part->handler,
									      .evidence = part->evidence})) {
			vec_free(&ranges);
			return -ENOMEM;
		}
	}
	if (!ranges.count)
		return -ENOENT;
	qsort(ranges.at, ranges.count, sizeof(*ranges.at), compare_ranges);
	*ret = ranges.at;
	*count = ranges.count;
	return 0;
}

int python_eval_ranges(const struct elf_file *elf, const struct python_interpreter *interpreter,
		       struct python_range **ret, size_t *count, struct diag *diag)
{
	uint64_t vaddr, size;
	struct loop loop;
	int err;

	err = loop_init(&loop, elf, diag);
	if (err)
		return err;
	if (elf_file_find_symbol(elf, LOOP_NAME, &vaddr, &size))
		err = add_symbol(&loop, vaddr, size, false, "symbol");
	if (!err)
		err = add_symtab(&loop);
	if (!err)
		err = close_over_jumps(&loop);
	if (!err && known_size(&loop) < LOOP_SIZE_MIN)
		err = search(&loop, interpreter->version);
	if (!err)
		err = collect(&loop, ret, count);
	loop_deinit(&loop);
	if (err == -ENOENT)
		return diag_fail(diag, ENOENT, "python.eval_loop",
				 "%s: the interpreter loop of Python %d.%d was not found", elf_file_path(elf),
				 interpreter->version >> 8, interpreter->version & 0xff);
	if (err)
		return diag_fail(diag, -err, "python.memory", "%s: out of memory", elf_file_path(elf));
	return 0;
}
