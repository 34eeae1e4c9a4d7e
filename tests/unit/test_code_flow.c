// SPDX-License-Identifier: GPL-2.0-or-later
/* Rules by the code itself: tests/unit/asm/flow_*.s, where a symbol at_NAME is a place whose rule is asked for. */
#include <errno.h>

#include "assemble.h"
#include "base/table.h"
#include "tap.h"
#include "unwind/code_rules.h"
#include "unwind/derived.h"
#include "unwind/unwind_table.h"

struct found {
	const struct code_arch *arch;
	struct table rules; /* vaddr + 1 -> the rule's bytes */
};

static int take(void *context, uint64_t vaddr, const struct code_insn *insn, const struct code_state *state)
{
	struct found *found = context;
	struct unwind_rule rule = code_rule(found->arch, state, insn);
	uint64_t bytes;

	memcpy(&bytes, &rule, sizeof(bytes));
	return table_set(&found->rules, vaddr + 1, bytes);
}

static void is_at(const struct elf_file *elf, const struct found *found, const char *name, const char *expected)
{
	struct unwind_rule rule = {};
	uint64_t vaddr = 0, size, bytes;
	char text[128] = "no such place", symbol[64];

	snprintf(symbol, sizeof(symbol), "at_%s", name);
	if (elf_file_find_symbol(elf, symbol, &vaddr, &size)) {
		if (table_get(&found->rules, vaddr + 1, &bytes))
			memcpy(&rule, &bytes, sizeof(rule));
		unwind_rule_format(arch_of(elf_file_machine(elf))->unwind, &rule, text, sizeof(text));
	}
	is_str(text, expected, "%s", name);
}

struct expected {
	const char *place, *rule;
};

static void test_code(const struct elf_file *elf, const struct expected *expected, size_t count,
		      struct code_counts *ret)
{
	struct found found = {.arch = arch_of(elf_file_machine(elf))->code};
	struct elf_section text;
	struct code_span span;
	size_t i;

	ok(elf_file_section(elf, ".text", &text), "its code");
	span = (struct code_span){.start = text.vaddr, .end = text.vaddr + text.size, .bytes = text.bytes};
	is_int(code_rules_each(elf, found.arch, &span, 1, CODE_ALL, take, &found, ret), 0, "analysed");
	for (i = 0; i < count; i++)
		is_at(elf, &found, expected[i].place, expected[i].rule);
	table_deinit(&found.rules);
}

static void test_rules(const struct elf_file *elf)
{
	static const struct expected expected[] = {
		{"frames_entry", "cfa=rsp+8 rbp=same"},
		{"frames_pushed", "cfa=rsp+24 rbp=cfa-16 rbx=cfa-24"},
		{"frames_body", "cfa=rsp+64 rbp=cfa-16 rbx=cfa-24"},
		{"frames_popped", "cfa=rsp+8 rbp=same"},
		{"frames_other", "cfa=rsp+64 rbp=cfa-16 rbx=cfa-24"},
		{"vectors_behind", "cfa=rsp+48 rbp=cfa-16 rbx=cfa-24"},
		{"alloca_framed", "cfa=rbp+16 rbp=cfa-16"},
		{"alloca_moved", "cfa=rbp+16 rbp=cfa-16"},
		{"alloca_left", "cfa=rsp+8 rbp=same"},
		{"probe_loop", "cfa=r11+65544 rbp=same"},
		{"probe_body", "cfa=rsp+65544 rbp=same"},
		{"quits_behind", "none"},
		{"switch_one", "cfa=rsp+16 rbp=same rbx=cfa-16"},
		{"switch_two", "cfa=rsp+16 rbp=same rbx=cfa-16"},
		{"torn_entry", "none"},
		{"torn_join", "none"},
		{"block_join", "cfa=rbp+16 rbp=cfa-16 rbx=cfa-24"},
		{"block_left", "cfa=rsp+8 rbp=same"},
		{"unbalanced_entry", "none"},
		{"takes_popped", "cfa=rsp+0 ra=rdx rbp=same"},
		{"takes_pushed", "cfa=rsp+8 rbp=same"},
		{"loses_pushed", "none"},
		{"loses_stopping", "none"},
		{"clones_before", "cfa=rsp+8 rbp=same"},
		{"clones_child", "end"},
		{"clones_started", "end"},
		{"clones_behind", "none"},
		{"clones_parent", "cfa=rsp+8 rbp=same"},
		{"overwrites_saved", "cfa=rsp+16 rbp=same rbx=cfa-16"},
		{"overwrites_lost", "cfa=rsp+16 rbp=same rbx=undefined"},
		{"callback_pushed", "cfa=rsp+16 rbp=same rbx=cfa-16"},
		{"thread_pushed", "cfa=rsp+16 rbp=same rbx=cfa-16"},
		{"not_code", "none"},
		{"label", "none"},
		{"trampoline", "none"},
	};
	struct code_counts counts = {};

	test_code(elf, expected, sizeof(expected) / sizeof(expected[0]), &counts);
	is_int((int64_t)counts.functions[CODE_REFUSED_JOIN], 1, "one refused because its paths disagree");
	is_int((int64_t)counts.functions[CODE_REFUSED_EXIT], 2, "two because of how they end");
}

/* The return address in a register. */
static void test_links(const struct elf_file *elf)
{
	static const struct expected expected[] = {
		{"frames_entry", "cfa=sp+0 x29=same"},
		{"frames_recorded", "cfa=sp+32 x29=cfa-32 x30=cfa-24"},
		{"frames_body", "cfa=x29+32 x29=cfa-32 x30=cfa-24"},
		{"frames_left", "cfa=sp+0 x29=same"},
		{"frames_other", "cfa=x29+32 x29=cfa-32 x30=cfa-24"},
		{"shrink_entry", "cfa=sp+0 x29=same"},
		{"shrink_saved", "cfa=sp+16 x29=same x30=cfa-16"},
		{"shrink_left", "cfa=sp+0 x29=same"},
		{"alloca_moved", "cfa=x29+16 x29=cfa-16 x30=cfa-8"},
		{"alloca_left", "cfa=sp+0 x29=same"},
		{"large_body", "cfa=sp+20512 x29=cfa-16 x30=cfa-8"},
		{"large_more", "cfa=sp+28704 x29=cfa-16 x30=cfa-8"},
		{"probe_down", "cfa=sp+65536 x29=same"},
		{"probe_up", "cfa=sp+0 x29=same"},
		{"moves_held", "cfa=sp+0 ra=x9 x29=same"},
		{"moves_back", "cfa=sp+0 x29=same"},
		{"loses_lost", "none"},
		{"stops_entry", "none"},
		{"unbalanced", "none"},
		{"astray", "none"},
		{"overwrites_saved", "cfa=sp+16 x29=cfa-16 x30=cfa-8"},
		{"overwrites_lost", "cfa=sp+16 x29=cfa-16"},
		{"begins", "end"},
		{"reads", "cfa=sp+0 x29=same"},
		{"adds_before", "cfa=sp+0 x29=same"},
		{"adds", "none"},
		{"swaps", "none"},
		{"stores", "none"},
		{"advances", "none"},
		{"loads", "none"},
		{"trampoline", "none"},
	};
	struct code_counts counts = {};

	test_code(elf, expected, sizeof(expected) / sizeof(expected[0]), &counts);
	is_int((int64_t)counts.functions[CODE_REFUSED_EXIT], 3, "three refused because of how they end");
}

static void is_in_table(const struct elf_file *elf, const struct unwind_table *table, const char *symbol,
			const char *expected)
{
	struct unwind_rule rule;
	uint64_t vaddr = 0, size;
	char text[128];

	elf_file_find_symbol(elf, symbol, &vaddr, &size);
	rule = unwind_table_lookup(table, vaddr);
	unwind_rule_format(arch_of(EM_X86_64)->unwind, &rule, text, sizeof(text));
	is_str(text, expected, "%s, in the table", symbol);
}

static int follow(void *context, uint64_t code, const uint8_t **bytes, size_t *size)
{
	(void)bytes;
	(void)size;
	*(uint64_t *)context = code;
	return -EDQUOT;
}

/* The same table when the rules come from the cache; and of another file they do not. */
static void test_cache(const struct elf_file *elf, const struct elf_file *other)
{
	uint64_t asked = 0;
	const struct unwind_options options = {.cache = cache_create(NULL, 1)},
				    bounded = {.cache = options.cache, .follow = follow, .context = &asked};
	struct unwind_table first = {}, again = {}, fresh = {};

	is_int(unwind_table_compile(elf, &bounded, &first, NULL), -EDQUOT, "no more code may be followed");
	ok(asked > 0, "than %llu bytes", (unsigned long long)asked);
	is_int(unwind_table_compile(elf, &options, &first, NULL), 0, "compiled");
	is_int(unwind_table_compile(elf, &options, &again, NULL), 0, "and again");
	asked = 0;
	ok(!unwind_table_compile(elf, &bounded, &fresh, NULL) && !asked, "what is kept need not be followed");
	unwind_table_deinit(&fresh);
	ok(!first.derived_cached && again.derived_cached, "by the cache");
	ok(first.row_count == again.row_count && first.rule_count == again.rule_count &&
		   !memcmp(first.rows, again.rows, first.row_count * sizeof(*first.rows)) &&
		   !memcmp(first.rules, again.rules, first.rule_count * sizeof(*first.rules)) &&
		   !memcmp(&first.derived, &again.derived, sizeof(first.derived)) &&
		   first.derived_bytes == again.derived_bytes,
	   "the same %zu rows", first.row_count);
	is_in_table(elf, &again, "at_ends_in_kernel", "cfa=rsp+16 rbp=same rbx=cfa-16");
	is_in_table(elf, &again, "at_ends_behind", "none");
	ok(!unwind_table_compile(other, &options, &fresh, NULL) && !fresh.derived_cached, "not another file's");
	unwind_table_deinit(&first);
	unwind_table_deinit(&again);
	unwind_table_deinit(&fresh);
	cache_destroy(options.cache);
}

/* Code that another process follows: `found` has what it gave. */
struct elsewhere {
	int err;
	uint8_t *bytes;
	size_t size;
};

static void keep_found(void *context, const void *bytes, size_t size)
{
	struct elsewhere *elsewhere = context;

	elsewhere->bytes = malloc(size);
	memcpy(elsewhere->bytes, bytes, size);
	elsewhere->size = size;
}

static int answer(void *context, uint64_t code, const uint8_t **bytes, size_t *size)
{
	struct elsewhere *elsewhere = context;

	ok(code > 0, "so much code: %llu", (unsigned long long)code);
	*bytes = elsewhere->bytes;
	*size = elsewhere->size;
	return elsewhere->err;
}

static void test_elsewhere(const struct elf_file *elf)
{
	struct elsewhere elsewhere = {};
	const struct unwind_options there = {.found = keep_found, .context = &elsewhere},
				    here = {.follow = answer, .context = &elsewhere};
	struct unwind_table table = {}, other = {};

	is_int(unwind_follow(elf, &there, NULL), 0, "followed");
	ok(elsewhere.size > 0, "with a result");
	is_int(unwind_table_compile(elf, &here, &table, NULL), 0, "which is compiled");
	is_int(unwind_table_compile(elf, NULL, &other, NULL), 0, "and what follows here");
	ok(table.row_count == other.row_count && !memcmp(table.rows, other.rows, table.row_count * sizeof(*table.rows)),
	   "gives the same %zu rows", table.row_count);
	unwind_table_deinit(&table);
	unwind_table_deinit(&other);
	elsewhere.bytes[elsewhere.size - 1] = 0xff;
	is_int(unwind_table_compile(elf, &here, &table, NULL), 0, "one that makes no sense");
	is_in_table(elf, &table, "at_ends_in_kernel", "over budget");
	unwind_table_deinit(&table);
	elsewhere.err = -ECANCELED;
	is_int(unwind_table_compile(elf, &here, &table, NULL), 0, "none");
	is_in_table(elf, &table, "at_ends_in_kernel", "over budget");
	unwind_table_deinit(&table);
	elsewhere.err = -EINPROGRESS;
	is_int(unwind_table_compile(elf, &here, &table, NULL), -EINPROGRESS, "one that is still to come");
	free(elsewhere.bytes);
}

/* What an entry may not hold. */
static void test_decode(void)
{
	struct {
		uint32_t functions[CODE_REFUSALS], rule_count;
		struct unwind_rule rules[1];
		uint32_t count;
		uint8_t ranges[6];
	} __attribute__((packed)) entry = {.functions = {1},
					   .rule_count = 1,
					   .rules = {{.kind = UNWIND_SP, .cfa_offset = 8}},
					   .count = 2,
					   .ranges = {4, 2, 0, 3, 1, 0}};
	struct code_counts counts = {};
	rule_ranges ranges = {};

	ok(derived_decode(&entry, sizeof(entry), &ranges, &counts) && ranges.count == 2 && counts.functions[0] == 1 &&
		   ranges.at[0].start == 4 && ranges.at[0].end == 6 && ranges.at[1].start == 9 &&
		   ranges.at[1].end == 10,
	   "two ranges");
	vec_free(&ranges);
	ok(!derived_decode(&entry, sizeof(entry) - 1, &ranges, &counts), "cut");
	entry.ranges[4] = 0;
	ok(!derived_decode(&entry, sizeof(entry), &ranges, &counts), "an empty range");
	entry.ranges[4] = 1;
	entry.ranges[5] = 1;
	ok(!derived_decode(&entry, sizeof(entry), &ranges, &counts), "a rule that there is not");
	entry.ranges[5] = 0;
	entry.rules[0].kind = 99;
	ok(!derived_decode(&entry, sizeof(entry), &ranges, &counts), "a kind that there is not");
	entry.rules[0].kind = UNWIND_SP;
	entry.count = 0x7fffffff;
	ok(!derived_decode(&entry, sizeof(entry), &ranges, &counts), "too many");
}

/* Any bytes, followed as code: an end is reached, and every rule is one. */
static void test_any_bytes(const struct code_arch *arch)
{
	struct code_decoder *decoder;
	struct code_state state;
	struct code_insn insn;
	uint64_t seed = 1;
	size_t i, k;

	is_int(arch->create(&decoder), 0, "a decoder");
	for (i = 0; i < 2000; i++) {
		uint8_t bytes[64];
		size_t at = 0;

		for (k = 0; k < sizeof(bytes); k++)
			bytes[k] = (uint8_t)((seed = seed * 6364136223846793005u + 1442695040888963407u) >> 56);
		code_state_entry(arch, &state);
		while (at < sizeof(bytes) &&
		       arch->decode(decoder, bytes + at, sizeof(bytes) - at, 0x1000 + at, &insn)) {
			code_rule(arch, &state, &insn);
			code_step(arch, &insn, &state);
			at += insn.length;
		}
		if (at > sizeof(bytes))
			break;
	}
	is_int((int64_t)i, 2000, "random bytes, %u registers", arch->registers);
	arch->destroy(decoder);
}

/* What some disassemblers do not know. Registers have DWARF's numbers. */
static void test_vectors(void)
{
	static const struct {
		const char *what;
		uint8_t bytes[15], length;
		uint32_t clobbers;
	} cases[] = {
		{"kmovd %esi, %k1", {0xc5, 0xfb, 0x92, 0xce}, 4, 0},
		{"kmovd %k1, %ecx", {0xc5, 0xfb, 0x93, 0xc9}, 4, 1 << 2},
		{"kmovw %k1, %r13d", {0xc5, 0x78, 0x93, 0xe9}, 4, 1 << 13},
		{"kmovq %k1, %rbx", {0xc4, 0xe1, 0xfb, 0x93, 0xd9}, 5, 1 << 3},
		{"kmovw 0x100(%rsi,%rcx,2), %k1", {0xc5, 0xf8, 0x90, 0x8c, 0x4e, 0, 1, 0, 0}, 9, 0},
		{"kshiftrd $0x10, %k4, %k5", {0xc4, 0xe3, 0x79, 0x31, 0xec, 0x10}, 6, 0},
		{"vpconflictd %zmm16, %zmm20", {0x62, 0xa2, 0x7d, 0x48, 0xc4, 0xe0}, 6, 0},
		{"vpermt2d 0x40(%rsi), %zmm16, %zmm17", {0x62, 0xe2, 0x7d, 0x40, 0x7e, 0x4e, 0x01}, 7, 0},
	};
	const struct code_arch *arch = arch_of(EM_X86_64)->code;
	struct code_decoder *decoder;
	struct code_insn insn;
	size_t i;

	is_int(arch->create(&decoder), 0, "a decoder");
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		bool decoded = arch->decode(decoder, cases[i].bytes, sizeof(cases[i].bytes), 0x1000, &insn);

		ok(decoded && insn.op == CODE_OTHER && insn.length == cases[i].length &&
			   insn.clobbers == cases[i].clobbers,
		   "%s: %u bytes, clobbers %#x", cases[i].what, insn.length, insn.clobbers);
	}
	arch->destroy(decoder);
}

int main(void)
{
	struct elf_file *elf, *other;

	if (!can_assemble()) {
		printf("1..0 # SKIP needs clang and lld\n");
		return 0;
	}
	elf = assemble("flow_x86_64", "x86_64");
	ok(elf, "flow_x86_64.s");
	if (elf) {
		test_rules(elf);
		other = assemble("loop_x86_64", "x86_64");
		test_cache(elf, other);
		test_elsewhere(elf);
		elf_file_close(other);
		elf_file_close(elf);
	}
	elf = assemble("flow_aarch64", "aarch64");
	ok(elf, "flow_aarch64.s");
	if (elf)
		test_links(elf);
	elf_file_close(elf);
	test_decode();
	test_vectors();
	test_any_bytes(arch_of(EM_X86_64)->code);
	test_any_bytes(arch_of(EM_AARCH64)->code);
	return tap_done();
}
