// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * DIGEST.code: how many functions were judged in which way, u32 each; number of rules u32, the rules; number of ranges
 * u32; each range, LEB128: distance from the end of the one before, size, index of its rule.
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
#define LEB_MAX    5           /* bytes of a u32 */
#define DIGEST_MAX (64u << 20) /* a file of more takes as long to read as the code, of 4 MiB at most, to follow */

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

static bool mix_inputs(XXH3_state_t *digest, const struct elf_file *elf, const struct code_span *spans, size_t count,
		       enum code_scope scope)
{
	const struct elf_segment *segments;
	uint64_t file[2];
	size_t i, segment_count;

	mix(digest, scope);
	mix(digest, elf_file_machine(elf));
	mix(digest, elf_file_type(elf));
	mix(digest, elf_file_entry(elf));
	segments = elf_file_segments(elf, &segment_count);
	for (i = 0; i < segment_count; i++) {
		mix(digest, segments[i].vaddr);
		mix(digest, segments[i].offset);
		mix(digest, segments[i].filesz);
		mix(digest, segments[i].flags);
	}
	for (i = 0; i < count; i++) {
		mix(digest, spans[i].start);
		mix(digest, spans[i].end);
		XXH3_128bits_update(digest, spans[i].bytes, spans[i].end - spans[i].start);
	}
	if (scope == CODE_FEW)
		return mix_arrays(digest, elf);
	if (!elf_file_digest(elf, DIGEST_MAX, file))
		return false;
	XXH3_128bits_update(digest, file, sizeof(file));
	return true;
}

/* False when it cannot be told what the answer depends on: then nothing is kept. */
static bool entry_name(const struct elf_file *elf, const struct code_span *spans, size_t count, enum code_scope scope,
		       char name[static CACHE_NAME_MAX + 1])
{
	XXH3_state_t *digest = XXH3_createState();
	XXH128_hash_t hash;
	bool ret;

	if (!digest)
		return false;
	XXH3_128bits_reset(digest);
	ret = mix_inputs(digest, elf, spans, count, scope);
	hash = XXH3_128bits_digest(digest);
	XXH3_freeState(digest);
	snprintf(name, CACHE_NAME_MAX + 1, "%016llx%016llx.code", (unsigned long long)hash.high64,
		 (unsigned long long)hash.low64);
	return ret;
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

/* What another process found: 1; else, all of it is code that cannot be followed: 0, or -ENOMEM. */
static int take_answer(const uint8_t *bytes, size_t size, uint64_t base, const struct code_span *spans, size_t count,
		       rule_ranges *ret, struct code_counts *counts)
{
	rule_ranges ranges = {};
	size_t i;
	int err = 0;

	if (bytes && derived_decode(bytes, size, ret, counts))
		return 1;
	for (i = 0; i < count && !err; i++)
		err = vec_push(&ranges, ((struct rule_range){.start = spans[i].start - base,
							     .end = spans[i].end - base,
							     .rule = {.kind = UNWIND_OVER_BUDGET}}));
	if (err)
		vec_free(&ranges);
	else
		*ret = ranges;
	return err;
}

/* Keeps it, and tells it. What cannot be kept is found again the next time. */
static void keep(const struct unwind_options *options, struct cache *cache, const char *name, const rule_ranges *ranges,
		 const struct code_counts *counts)
{
	bytes_t bytes = {};

	if ((cache || options->found) && !encode(ranges, counts, &bytes)) {
		if (cache)
			cache_put(cache, name, bytes.at, bytes.count);
		if (options->found)
			options->found(options->context, name, bytes.at, bytes.count);
	}
	vec_free(&bytes);
}

static uint64_t bytes_of(const struct code_span *spans, size_t count)
{
	uint64_t bytes = 0;
	size_t i;

	for (i = 0; i < count; i++)
		bytes += spans[i].end - spans[i].start;
	return bytes;
}

int derived_find(const struct elf_file *elf, const struct code_arch *arch, uint64_t base, const struct code_span *spans,
		 size_t count, enum code_scope scope, const struct unwind_options *options, rule_ranges *ret,
		 struct code_counts *counts, bool *cached)
{
	struct taken taken = {.arch = arch, .base = base};
	struct code_counts found = {};
	struct cache *cache = options->cache;
	char name[CACHE_NAME_MAX + 1] = "";
	const uint8_t *content, *answer = NULL;
	size_t size;
	int err = 0;

	if ((cache || options->follow || options->found) && !entry_name(elf, spans, count, scope, name)) {
		*name = '\0';
		cache = NULL;
	}
	*cached = cache && cache_get(cache, name, &content, &size) && derived_decode(content, size, ret, counts);
	if (*cached)
		return 0;
	if (options->follow)
		err = options->follow(options->context, name, bytes_of(spans, count), &answer, &size);
	if (err && err != -ECANCELED)
		return err;
	if (err || answer) {
		err = take_answer(answer, size, base, spans, count, ret, counts);
		if (err == 1 && cache)
			cache_put(cache, name, answer, size);
		return err == 1 ? 0 : err;
	}
	err = code_rules_each(elf, arch, spans, count, scope, take_insn, &taken, &found);
	if (err == -ENOMEM) {
		vec_free(&taken.ranges);
		return err;
	}
	if (err) {
		vec_free(&taken.ranges);
		found = (struct code_counts){};
	}
	rule_ranges_tidy(&taken.ranges);
	keep(options, err ? NULL : cache, name, &taken.ranges, &found);
	*ret = taken.ranges;
	*counts = found;
	return 0;
}
