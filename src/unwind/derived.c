// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * An entry, DIGEST.code or DIGEST.few: how many functions were judged in which way, u32 each; number of rules u32, the
 * rules; number of ranges u32; each range, LEB128: distance from the end of the one before, size, index of its rule.
 */
#include "unwind/derived.h"

#include <elf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "base/cursor.h"
#include "base/table.h"

#define RANGES_MAX (4u << 20)
#define LEB_MAX    5     /* bytes of a u32 */
#define LITTLE     4096u /* bytes of code: followed in 1 ms */

typedef VEC(uint8_t) bytes_t;

struct taken {
	const struct code_arch *arch;
	uint64_t base;
	rule_ranges ranges;
};

static int take_insn(void *context, uint64_t vaddr, const struct code_insn *insn, const struct code_state *state)
{
	struct taken *taken = context;
	struct rule_range range = {.rule = code_rule(taken->arch, state, insn)};

	if (range.rule.kind == UNWIND_NO_RULE)
		return 0;
	range.start = vaddr - taken->base;
	range.end = range.start + insn->length;
	/* While the kernel is in a system call the PC is behind it; nothing may be known to run there, as behind
	 * exit(). */
	if (insn->op == CODE_SYSCALL && (range.rule.kind == UNWIND_SP || range.rule.kind == UNWIND_FP))
		range.end++;
	return vec_push(&taken->ranges, range);
}

bool derived_name(const struct elf_file *elf, char ret[CACHE_NAME_MAX + 1])
{
	uint64_t digest[2];

	*ret = '\0';
	if (!elf_file_digest(elf, DERIVED_FILE_MAX, digest))
		return false;
	snprintf(ret, CACHE_NAME_MAX + 1, "%016llx%016llx.code", (unsigned long long)digest[1],
		 (unsigned long long)digest[0]);
	return true;
}

static void mix(XXH3_state_t *digest, uint64_t number)
{
	XXH3_128bits_update(digest, &number, sizeof(number));
}

/* Of what start files leave, only what is looked at then: code_rules.h. */
static bool mix_arrays(XXH3_state_t *digest, const struct elf_file *elf)
{
	static const char *const sections[] = {".text", ".init_array", ".fini_array", ".rela.dyn"};
	struct elf_section section;
	size_t i;

	for (i = 0; i < sizeof(sections) / sizeof(*sections); i++) {
		if (!elf_file_section_header(elf, sections[i], &section))
			continue;
		mix(digest, i);
		mix(digest, section.vaddr);
		mix(digest, section.size);
		if (!i || section.type == SHT_NOBITS)
			continue;
		if (!elf_file_section(elf, sections[i], &section) || !section.bytes)
			return false;
		XXH3_128bits_update(digest, section.bytes, section.size);
	}
	return true;
}

static bool mix_inputs(XXH3_state_t *digest, const struct derived_code *code)
{
	const struct elf_segment *segments;
	size_t i, count;

	mix(digest, elf_file_machine(code->elf));
	mix(digest, elf_file_type(code->elf));
	mix(digest, elf_file_entry(code->elf));
	segments = elf_file_segments(code->elf, &count);
	for (i = 0; i < count; i++) {
		mix(digest, segments[i].vaddr);
		mix(digest, segments[i].offset);
		mix(digest, segments[i].filesz);
		mix(digest, segments[i].flags);
	}
	for (i = 0; i < code->count; i++) {
		mix(digest, code->spans[i].start);
		mix(digest, code->spans[i].end);
		XXH3_128bits_update(digest, code->spans[i].bytes, code->spans[i].end - code->spans[i].start);
	}
	return mix_arrays(digest, code->elf);
}

/* The name of an entry about CODE_FEW. Nothing is kept if it cannot be told what the rules depend on. */
static void name_few(const struct derived_code *code, char ret[CACHE_NAME_MAX + 1])
{
	XXH3_state_t *digest = XXH3_createState();
	XXH128_hash_t hash;

	if (!digest)
		return;
	XXH3_128bits_reset(digest);
	if (mix_inputs(digest, code)) {
		hash = XXH3_128bits_digest(digest);
		snprintf(ret, CACHE_NAME_MAX + 1, "%016llx%016llx.few", (unsigned long long)hash.high64,
			 (unsigned long long)hash.low64);
	}
	XXH3_freeState(digest);
}

static void put(bytes_t *bytes, const void *from, size_t size)
{
	memcpy(bytes->at + bytes->count, from, size);
	bytes->count += size;
}

static void put_leb(bytes_t *bytes, uint32_t value)
{
	for (; value >= 0x80; value >>= 7)
		bytes->at[bytes->count++] = (uint8_t)(value | 0x80);
	bytes->at[bytes->count++] = (uint8_t)value;
}

/* The distinct rules, and of each range which. */
static int number_rules(const rule_ranges *ranges, uint32_t *numbers, uint64_t *rules, uint32_t *count)
{
	struct table known = {};
	uint64_t rule, number;
	int err = 0;
	size_t i;

	_Static_assert(sizeof(rule) == sizeof(ranges->at[0].rule), "a rule is its own key");
	for (i = 0; i < ranges->count && !err; i++) {
		memcpy(&rule, &ranges->at[i].rule, sizeof(rule));
		if (!table_get(&known, rule + 1, &number)) {
			number = *count;
			rules[(*count)++] = rule;
			err = table_set(&known, rule + 1, number);
		}
		numbers[i] = (uint32_t)number;
	}
	table_deinit(&known);
	return err;
}

static int encode(const rule_ranges *ranges, const struct code_counts *counts, bytes_t *ret)
{
	uint32_t *numbers = malloc((ranges->count + 1) * sizeof(*numbers)), rule_count = 0, end = 0, number;
	uint64_t *rules = malloc((ranges->count + 1) * sizeof(*rules));
	int err = numbers && rules ? number_rules(ranges, numbers, rules, &rule_count) : -ENOMEM;
	size_t i;

	if (!err)
		err = vec_reserve(ret,
				  4 * (CODE_REFUSALS + 2) + sizeof(*rules) * rule_count + 3 * LEB_MAX * ranges->count);
	for (i = 0; i < CODE_REFUSALS && !err; i++) {
		number = (uint32_t)counts->functions[i];
		put(ret, &number, 4);
	}
	if (!err) {
		put(ret, &rule_count, 4);
		put(ret, rules, sizeof(*rules) * rule_count);
		number = (uint32_t)ranges->count;
		put(ret, &number, 4);
	}
	for (i = 0; i < ranges->count && !err; i++) {
		put_leb(ret, ranges->at[i].start - end);
		put_leb(ret, ranges->at[i].end - ranges->at[i].start);
		put_leb(ret, numbers[i]);
		end = ranges->at[i].end;
	}
	free(numbers);
	free(rules);
	return err;
}

static bool is_rule(const struct unwind_rule *rule)
{
	return rule->kind == UNWIND_SP || rule->kind == UNWIND_FP || rule->kind == UNWIND_REGISTER ||
	       rule->kind == UNWIND_END || rule->kind == UNWIND_RA_REGISTER;
}

static bool decode_range(struct cursor *c, const uint8_t *rules, uint32_t rule_count, uint64_t *end,
			 struct rule_range *ret)
{
	uint64_t distance = cursor_uleb128(c), size = cursor_uleb128(c), number = cursor_uleb128(c);

	if (distance > UINT32_MAX || !size || size > UINT32_MAX || number >= rule_count ||
	    *end + distance + size > UINT32_MAX)
		return false;
	ret->start = *end + distance;
	ret->end = ret->start + size;
	memcpy(&ret->rule, rules + number * sizeof(ret->rule), sizeof(ret->rule));
	*end = ret->end;
	return is_rule(&ret->rule);
}

bool derived_decode(const void *bytes, size_t size, rule_ranges *ret, struct code_counts *counts)
{
	struct cursor c = cursor_init(bytes, size);
	uint32_t functions[CODE_REFUSALS], rule_count, count, i;
	const uint8_t *rules;
	rule_ranges ranges = {};
	uint64_t end = 0;

	for (i = 0; i < CODE_REFUSALS; i++)
		functions[i] = cursor_u32(&c);
	rule_count = cursor_u32(&c);
	rules = cursor_take(&c, sizeof(struct unwind_rule) * (size_t)rule_count);
	count = cursor_u32(&c);
	if (!cursor_ok(&c) || count > RANGES_MAX || count > cursor_left(&c) || vec_reserve(&ranges, count))
		return false;
	for (i = 0; i < count; i++)
		if (!decode_range(&c, rules, rule_count, &end, &ranges.at[i]))
			break;
	if (i < count || !cursor_ok(&c) || !cursor_at_end(&c)) {
		vec_free(&ranges);
		return false;
	}
	ranges.count = count;
	for (i = 0; i < CODE_REFUSALS; i++)
		counts->functions[i] = functions[i];
	*ret = ranges;
	return true;
}

/* What another process found; else, all of it is code that cannot be followed. 0 or -ENOMEM. */
static int take_answer(const uint8_t *bytes, size_t size, const struct derived_code *code, rule_ranges *ret,
		       struct code_counts *counts)
{
	rule_ranges ranges = {};
	size_t i;
	int err = 0;

	if (bytes && derived_decode(bytes, size, ret, counts))
		return 0;
	for (i = 0; i < code->count && !err; i++)
		err = vec_push(&ranges, ((struct rule_range){.start = code->spans[i].start - code->base,
							     .end = code->spans[i].end - code->base,
							     .rule = {.kind = UNWIND_OVER_BUDGET}}));
	if (err)
		vec_free(&ranges);
	else
		*ret = ranges;
	return err;
}

/* Keeps it, and tells it. What cannot be kept is found again the next time. */
static void keep(const struct unwind_options *options, const char *name, const rule_ranges *ranges,
		 const struct code_counts *counts)
{
	bytes_t bytes = {};

	if ((*name || options->found) && !encode(ranges, counts, &bytes)) {
		if (*name)
			cache_put(options->cache, name, bytes.at, bytes.count);
		if (options->found)
			options->found(options->context, bytes.at, bytes.count);
	}
	vec_free(&bytes);
}

/* Follows it here. 0 or -ENOMEM. */
static int follow(const struct derived_code *code, const struct unwind_options *options, const char *name,
		  rule_ranges *ret, struct code_counts *counts)
{
	struct taken taken = {.arch = code->arch, .base = code->base};
	struct code_counts found = {};
	int err = code_rules_each(code->elf, code->arch, code->spans, code->count, code->scope, take_insn, &taken,
				  &found);

	if (err) {
		vec_free(&taken.ranges);
		found = (struct code_counts){};
	}
	if (err == -ENOMEM)
		return err;
	rule_ranges_tidy(&taken.ranges);
	keep(options, err ? "" : name, &taken.ranges, &found);
	*ret = taken.ranges;
	*counts = found;
	return 0;
}

static uint64_t bytes_of(const struct derived_code *code)
{
	uint64_t bytes = 0;
	size_t i;

	for (i = 0; i < code->count; i++)
		bytes += code->spans[i].end - code->spans[i].start;
	return bytes;
}

int derived_find(const struct derived_code *code, const struct unwind_options *options, rule_ranges *ret,
		 struct code_counts *counts, bool *cached)
{
	const uint64_t bytes = bytes_of(code);
	char name[CACHE_NAME_MAX + 1] = "";
	const uint8_t *content, *answer = NULL;
	size_t size;
	int err = 0;

	*cached = false;
	if (options->cache && code->scope == CODE_FEW)
		name_few(code, name);
	else if (options->cache)
		derived_name(code->elf, name);
	*cached = *name && cache_get(options->cache, name, &content, &size) &&
		  derived_decode(content, size, ret, counts);
	if (*cached)
		return 0;
	if (options->follow && code->scope != CODE_FEW && bytes > LITTLE)
		err = options->follow(options->context, bytes, &answer, &size);
	if (err && err != -ECANCELED)
		return err;
	return err || answer ? take_answer(answer, size, code, ret, counts)
			     : follow(code, options, name, ret, counts);
}
