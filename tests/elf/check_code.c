// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * check_code [-m N] FILE: rules derived from the code of a file that has .eh_frame, against those of .eh_frame.
 *
 * All of the file's text is analysed as if it had no FDE. At each instruction that the analysis covers, what the FDE
 * says must follow from what the analysis knows: the CFA, and where the caller's FP and carried register are. (Two
 * rules may differ in words: a register that was saved and not changed yet is both in its slot and in itself.) One line
 * of counts on stdout, and one for each difference, at most N of them. Status 1 when there is one.
 */
#include <elf.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/table.h"
#include "arch/arch.h"
#include "unwind/code_rules.h"
#include "unwind/unwind_table.h"

struct check {
	const struct code_arch *code;
	struct unwind_table table;
	const struct elf_file *elf;
	struct table unsound; /* FDEs by their start, + 1 */
	uint64_t instructions, bytes, silent, unchecked, excused, differences, limit;
};

static bool holds(struct code_value value, uint8_t kind, int64_t n)
{
	return value.kind == kind && value.n == n;
}

static bool saved(const struct code_state *state, uint8_t reg, int64_t at)
{
	return holds(at ? code_slot(state, at) : state->registers[reg], CODE_ENTRY, reg);
}

/* What an FDE's rule gives for the CFA in a state, as CFA + n; unknown where the state does not know enough. */
static struct code_value cfa_by(const struct check *check, const struct code_state *state,
				const struct unwind_rule *rule)
{
	const struct code_arch *arch = check->code;
	struct code_value value = {}, base;

	switch (rule->kind) {
	case UNWIND_SP:
	case UNWIND_CLONE:
	case UNWIND_RA_REGISTER:
	case UNWIND_SP_DEREF:
		base = state->registers[arch->sp];
		break;
	case UNWIND_FP:
	case UNWIND_FP_DEREF:
		base = state->registers[arch->fp];
		break;
	case UNWIND_REGISTER:
		base = state->registers[UNWIND_NUMBER(rule) % CODE_REGISTERS];
		break;
	default:
		return value;
	}
	if (base.kind != CODE_CFA)
		return value;
	base.n += UNWIND_HAS_NUMBER(rule->kind) ? UNWIND_OFFSET(rule) : rule->cfa_offset;
	if (rule->kind != UNWIND_SP_DEREF && rule->kind != UNWIND_FP_DEREF)
		return base;
	base = code_slot(state, base.n);
	base.n += 8 * UNWIND_NUMBER(rule);
	return base.kind == CODE_CFA ? base : value;
}

enum verdict { AGREE, UNCHECKED, DIFFER };

/* What an FDE says, against what is known of the code; where the analysis claims nothing there is nothing to compare.
 */
static enum verdict judge(const struct check *check, const struct code_state *state, const struct unwind_rule *theirs,
			  const struct unwind_rule *ours)
{
	const struct code_arch *arch = check->code;
	struct code_value cfa = cfa_by(check, state, theirs);

	if (cfa.kind == CODE_UNKNOWN)
		return UNCHECKED;
	if (cfa.n || (theirs->fp_offset > UNWIND_FP_AT_FP && !saved(state, arch->fp, theirs->fp_offset)))
		return DIFFER;
	if (theirs->param == UNWIND_SLOT_UNDEFINED || ours->param == UNWIND_SLOT_UNDEFINED)
		return AGREE;
	if (arch->links && theirs->param == UNWIND_SLOT_BESIDE_FP)
		return saved(state, arch->carried, theirs->fp_offset + 8) ? AGREE : DIFFER;
	return saved(state, arch->carried, -8 * theirs->param) ? AGREE : DIFFER;
}

/*
 * Hand-written code has FDEs that do not fit it: a push is left out, SP is back and the FDE does not say so. Such an
 * FDE contradicts itself: an instruction moves SP by so much, and its rules before and after say otherwise. It is no
 * authority.
 */
static int find_unsound(void *context, uint64_t vaddr, const struct code_insn *insn, const struct code_state *state)
{
	struct check *check = context;
	struct unwind_rule before = unwind_table_lookup(&check->table, vaddr);
	struct unwind_rule after = unwind_table_lookup(&check->table, vaddr + insn->length);
	int64_t at = state->registers[check->code->sp].n - 8, moved = 0, returns = check->code->links ? 0 : 8;
	uint64_t start, end;
	bool wrong = false;

	if (insn->op == CODE_PUSH)
		moved = 8;
	else if (insn->op == CODE_POP)
		moved = -8;
	else if (insn->op == CODE_ADD && insn->a == check->code->sp && insn->b == check->code->sp)
		moved = -insn->imm;
	else if (insn->b == check->code->sp)
		moved = -insn->update;
	if (before.kind == UNWIND_SP && insn->op == CODE_RETURN)
		wrong = before.cfa_offset != returns;
	else if (before.kind == UNWIND_SP && after.kind == UNWIND_SP && moved)
		wrong = after.cfa_offset != before.cfa_offset + moved;
	else if (insn->op == CODE_PUSH && insn->a == check->code->carried)
		wrong = after.kind == UNWIND_REGISTER && after.fp_offset == at;
	else if (insn->op == CODE_PUSH && insn->a == check->code->fp)
		wrong = after.kind == UNWIND_REGISTER && after.param == -at / 8;
	if (wrong && unwind_find_fde(check->elf, vaddr, &start, &end) && vaddr + insn->length <= end)
		return table_set(&check->unsound, start + 1, 1);
	return 0;
}

static int compare(void *context, uint64_t vaddr, const struct code_insn *insn, const struct code_state *state)
{
	struct check *check = context;
	struct unwind_rule theirs = unwind_table_lookup(&check->table, vaddr),
			   ours = code_rule(check->code, state, insn);
	uint64_t start = 0, end;
	char left[128], right[128];
	enum verdict verdict;

	if (ours.kind == UNWIND_NO_RULE)
		return 0;
	check->bytes += insn->length;
	if (theirs.kind == UNWIND_NO_RULE || theirs.kind == UNWIND_END) {
		check->silent++;
		return 0;
	}
	check->instructions++;
	verdict = judge(check, state, &theirs, &ours);
	check->unchecked += verdict == UNCHECKED;
	if (verdict != DIFFER)
		return 0;
	if (unwind_find_fde(check->elf, vaddr, &start, &end) && table_get(&check->unsound, start + 1, NULL)) {
		check->excused++;
		return 0;
	}
	if (check->differences++ < check->limit) {
		unwind_rule_format(arch_of(elf_file_machine(check->elf))->unwind, &ours, left, sizeof(left));
		unwind_rule_format(arch_of(elf_file_machine(check->elf))->unwind, &theirs, right, sizeof(right));
		printf("%" PRIx64 ": %s, .eh_frame says %s\n", vaddr, left, right);
	}
	return 0;
}

static double cpu_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static int check_file(const struct elf_file *elf, struct check *check)
{
	struct code_counts counts = {};
	struct elf_section text;
	struct code_span span;
	const size_t *by = counts.functions;
	double started, ms;
	int err;

	if (!elf_file_section(elf, ".text", &text) || !text.bytes)
		return -1;
	span = (struct code_span){.start = text.vaddr, .end = text.vaddr + text.size, .bytes = text.bytes};
	started = cpu_ms();
	err = code_rules_each(elf, check->code, &span, 1, CODE_ALL, find_unsound, check, &counts);
	ms = cpu_ms() - started;
	if (!err)
		err = code_rules_each(elf, check->code, &span, 1, CODE_ALL, compare, check, &counts);
	printf("differences %" PRIu64 " instructions %" PRIu64 " covered %.2f text %" PRIu64 " unchecked %" PRIu64
	       " silent %" PRIu64 " unsound %zu excused %" PRIu64
	       " functions %zu join %zu exit %zu bytes %zu table %zu trial %zu ms %.0f\n",
	       check->differences, check->instructions, 100.0 * (double)check->bytes / (double)text.size, text.size,
	       check->unchecked, check->silent, check->unsound.count, check->excused, by[CODE_ACCEPTED],
	       by[CODE_REFUSED_JOIN], by[CODE_REFUSED_EXIT], by[CODE_REFUSED_BYTES], by[CODE_REFUSED_TABLE],
	       by[CODE_REFUSED_TRIAL], ms);
	return err;
}

int main(int argc, char **argv)
{
	struct check check = {.limit = 10};
	struct elf_file *elf;
	struct diag diag = {};
	int fd, err;

	if (argc == 4 && !strcmp(argv[1], "-m"))
		check.limit = strtoul(argv[2], NULL, 10);
	else if (argc != 2)
		return 2;
	fd = open(argv[argc - 1], O_RDONLY | O_CLOEXEC);
	if (fd < 0 || elf_file_open(fd, argv[argc - 1], &elf, &diag)) {
		fprintf(stderr, "%s: %s\n", argv[argc - 1], diag.text);
		return 2;
	}
	check.elf = elf;
	check.code = arch_of(elf_file_machine(elf))->code;
	err = unwind_table_compile(elf, NULL, &check.table, &diag);
	if (!err)
		err = check_file(elf, &check);
	if (err)
		fprintf(stderr, "%s: %d %s\n", argv[argc - 1], err, diag.text);
	unwind_table_deinit(&check.table);
	table_deinit(&check.unsound);
	elf_file_close(elf);
	close(fd);
	return err ? 2 : check.differences > 0;
}
