// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * check_way_out [-n EVERY] [-a] FILE: rules that the ways out of functions give (way_out.h), against those of
 * .eh_frame.
 *
 * Every EVERY-th instruction that an FDE covers is asked for as if the function that it is in had no FDE; with -a, as
 * if no function had. Where both rules tell the CFA by the same register they must agree, and so must where the
 * caller's rbp and rbx are, unless one says that it does not know or that they are still in the register. One line of
 * counts on stdout, and one for each of the first differences. Status 1 when there is one.
 */
#include <elf.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "arch/arch.h"
#include "unwind/unwind_table.h"
#include "unwind/way_out.h"

#define SHOWN 20

struct check {
	const struct elf_file *elf;
	struct unwind_table table;
	uint64_t start, end; /* of the function at hand */
	bool all;
	uint64_t asked, found, compared, differences;
};

static size_t read_code(void *context, uint64_t address, uint8_t *ret, size_t size)
{
	struct check *check = context;
	const uint8_t *bytes = NULL;

	for (; size && !bytes; size -= !bytes)
		bytes = elf_file_bytes_at(check->elf, address, size);
	if (bytes)
		memcpy(ret, bytes, size);
	return size;
}

static bool known(void *context, uint64_t address, struct unwind_rule *ret)
{
	struct check *check = context;

	*ret = unwind_table_lookup(&check->table, address);
	return !check->all && (address < check->start || address >= check->end) && ret->kind != UNWIND_NO_RULE;
}

static bool saved_agrees(const struct unwind_rule *ours, const struct unwind_rule *theirs)
{
	if (ours->fp_offset != theirs->fp_offset && ours->fp_offset != UNWIND_FP_UNDEFINED &&
	    theirs->fp_offset != UNWIND_FP_UNDEFINED && ours->fp_offset != UNWIND_FP_SAME &&
	    theirs->fp_offset != UNWIND_FP_SAME)
		return false;
	return ours->param == theirs->param || ours->param == UNWIND_SLOT_UNDEFINED ||
	       theirs->param == UNWIND_SLOT_UNDEFINED || !ours->param || !theirs->param;
}

static void compare(struct check *check, uint64_t vaddr)
{
	const struct way_out_source source = {read_code, known, check};
	struct unwind_rule theirs = unwind_table_lookup(&check->table, vaddr), ours = {};
	rule_ranges ranges = {};
	char our_text[64], their_text[64];
	size_t i;

	check->asked++;
	if (way_out_find(arch_of(EM_X86_64)->code, &source, vaddr, true, &ranges)) {
		vec_free(&ranges);
		return;
	}
	check->found++;
	for (i = 0; i < ranges.count; i++)
		if (vaddr >= ranges.at[i].start && vaddr < ranges.at[i].end)
			ours = ranges.at[i].rule;
	vec_free(&ranges);
	if (ours.kind != theirs.kind || (ours.kind != UNWIND_SP && ours.kind != UNWIND_FP))
		return;
	check->compared++;
	if (ours.cfa_offset == theirs.cfa_offset && saved_agrees(&ours, &theirs))
		return;
	unwind_rule_format(arch_of(EM_X86_64)->unwind, &ours, our_text, sizeof(our_text));
	unwind_rule_format(arch_of(EM_X86_64)->unwind, &theirs, their_text, sizeof(their_text));
	if (check->differences++ < SHOWN)
		printf("%#" PRIx64 ": %s, but by .eh_frame %s\n", vaddr, our_text, their_text);
}

static void check_function(struct check *check, struct code_decoder *decoder, uint64_t every)
{
	static uint64_t number;
	struct code_insn insn;
	const uint8_t *bytes;
	uint64_t at, left;

	for (at = check->start; at < check->end; at += insn.length) {
		left = check->end - at < 15 ? check->end - at : 15;
		bytes = elf_file_bytes_at(check->elf, at, left);
		if (!bytes || !arch_of(EM_X86_64)->code->decode(decoder, bytes, left, at, &insn))
			return;
		if (!(++number % every))
			compare(check, at);
	}
}

int main(int argc, char **argv)
{
	struct check check = {};
	struct code_decoder *decoder;
	struct elf_file *elf;
	struct diag diag = {};
	uint64_t every = 1, vaddr, start, end;
	int option, fd;

	while ((option = getopt(argc, argv, "n:a")) != -1) {
		every = option == 'n' ? strtoull(optarg, NULL, 0) : every;
		check.all |= option == 'a';
	}
	fd = optind < argc ? open(argv[optind], O_RDONLY | O_CLOEXEC) : -1;
	if (fd < 0 || elf_file_open(fd, argv[optind], &elf, &diag) ||
	    unwind_table_compile(elf, NULL, &check.table, &diag) || arch_of(EM_X86_64)->code->create(&decoder)) {
		fprintf(stderr, "check_way_out: %s\n", fd < 0 ? "no such file" : diag.text);
		return 2;
	}
	check.elf = elf;
	for (vaddr = check.table.base; vaddr < check.table.end;) {
		if (!unwind_find_fde(elf, vaddr, &start, &end) || end <= vaddr) {
			vaddr++;
			continue;
		}
		check.start = start;
		check.end = end;
		check_function(&check, decoder, every);
		vaddr = end;
	}
	printf("differences %" PRIu64 " compared %" PRIu64 " found %" PRIu64 " asked %" PRIu64 "\n", check.differences,
	       check.compared, check.found, check.asked);
	arch_of(EM_X86_64)->code->destroy(decoder);
	unwind_table_deinit(&check.table);
	elf_file_close(elf);
	close(fd);
	return check.differences ? 1 : 0;
}
