/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * fake_native: unwind tables of abi/tables.h made by hand, and the native walk over a fake_memory. Tables are written
 * the plain way, a rule for each byte of text, so that they owe nothing to src/kernel/tables.c.
 */
#ifndef STRATA_TESTS_FAKE_NATIVE_H
#define STRATA_TESTS_FAKE_NATIVE_H

#include "bpf/native.h"
#include "fake_memory.h"
#include "tap.h"

#define FAKE_PAGE (1u << UNWIND_PAGE_SHIFT)

struct fake_native {
	struct fake_memory memory;
	struct walk_host host;
	struct scratch *s;
	struct mapping_entry
		*mappings; /* each array as large as the walker may ask for; the system gives pages on demand */
	__u64 *pages;
	__u32 *slab;
	const __u32 *slabs[UNWIND_SLABS_MAX];
	struct unwind_rule *rules;
	__u32 page_count, row_count, rule_count;
	struct process_entry process;
};

static inline struct fake_native *fake_native_create(void)
{
	struct fake_native *fake = calloc(1, sizeof(*fake));

	fake->s = calloc(1, sizeof(*fake->s));
	fake->mappings = calloc(MAPPINGS_MAX, sizeof(*fake->mappings));
	fake->pages = calloc(UNWIND_PAGES_MAX, sizeof(*fake->pages));
	fake->slab = calloc(UNWIND_SLAB_ROWS, sizeof(*fake->slab));
	fake->rules = calloc(UNWIND_RULES_MAX, sizeof(*fake->rules));
	if (!fake->s || !fake->mappings || !fake->pages || !fake->slab || !fake->rules)
		abort();
	fake->slabs[0] = fake->slab;
	fake->rules[RULE_FP_CHAIN].kind = UNWIND_FP_CHAIN;
	fake->rules[RULE_FP_KEPT] = (struct unwind_rule){.kind = UNWIND_FP_CHAIN, .param = UNWIND_CHAIN_KEPT};
	fake->rules[RULE_NO_TABLE].kind = UNWIND_NO_TABLE;
	fake->rules[RULE_TABLE_FULL].kind = UNWIND_TABLE_FULL;
	fake->rules[RULE_NO_MAPPING].kind = UNWIND_NO_MAPPING;
	fake->rule_count = RULE_FIRST_FREE;
	fake->process.generation = 1;
	fake->host = (struct walk_host){
		.context = &fake->memory,
		.read = fake_read,
		.mappings = fake->mappings,
		.pages = fake->pages,
		.slabs = fake->slabs,
		.rules = fake->rules,
	};
	fake->s->host = &fake->host;
	return fake;
}

static inline void fake_native_destroy(struct fake_native *fake)
{
	fake_memory_deinit(&fake->memory);
	free(fake->rules);
	free(fake->slab);
	free(fake->pages);
	free(fake->mappings);
	free(fake->s);
	free(fake);
}

static inline __u32 fake_rule(struct fake_native *fake, int kind, int cfa_offset, int fp_offset, int param)
{
	fake->rules[fake->rule_count] = (struct unwind_rule){
		.kind = (__u8)kind, .cfa_offset = cfa_offset, .fp_offset = (__s16)fp_offset, .param = (__u8)param};
	return fake->rule_count++;
}

/* Writes the page index of a text whose byte N has the rule by_byte[N]; the first page's index. */
static inline __u32 fake_pages(struct fake_native *fake, const __u16 *by_byte, __u32 size)
{
	__u32 first = fake->page_count, at, i;

	for (at = 0; at < size; at += FAKE_PAGE) {
		__u32 row = fake->row_count;

		for (i = 0; i < FAKE_PAGE && at + i < size; i++)
			if (!i || by_byte[at + i] != by_byte[at + i - 1])
				fake->slab[fake->row_count++] = ROW(i, by_byte[at + i]);
		if (fake->row_count == row + 1) {
			fake->row_count = row;
			fake->pages[fake->page_count++] = PAGE_SINGLE_RULE | by_byte[at];
		} else {
			fake->pages[fake->page_count++] = PAGE_ROWS(0ull, row, fake->row_count - row);
		}
	}
	return first;
}

/* Adds a mapping behind the ones there are; its text starts `bias_offset` bytes into the page index at page_first. */
static inline void fake_mapping(struct fake_native *fake, __u64 start, __u64 end, int kind, __u32 page_first,
				__u32 page_count, __u64 bias_offset)
{
	fake->mappings[fake->process.mapping_count++] = (struct mapping_entry){
		.start = start,
		.end = end,
		.bias = start - bias_offset,
		.page_first = page_first,
		.page_count = page_count,
		.kind = (__u8)kind,
	};
}

/* A mapping of whole pages, each byte with the same rule. */
static inline void fake_function(struct fake_native *fake, __u64 start, __u32 size, __u32 rule)
{
	__u32 first = fake->page_count, i;

	for (i = 0; i < size; i += FAKE_PAGE)
		fake->pages[fake->page_count++] = PAGE_SINGLE_RULE | rule;
	fake_mapping(fake, start, start + size, MAPPING_TABLE, first, fake->page_count - first, 0);
}

/* Walks; native.registers other than SP and FP stay as they are. */
static inline void fake_native_walk(struct fake_native *fake, __u64 pc, __u64 sp, __u64 fp)
{
	struct native_walk *walk = &fake->s->native;

	walk->pc = pc;
	walk->sp = walk->registers[REG_SP] = sp;
	walk->fp = walk->registers[REG_FP] = fp;
	walk->hash = 1;
	fake->memory.reads = fake->memory.failed = 0;
	native_walk(fake->s, &fake->process);
}

/* The walk ended with `loss`, and these are its frames, innermost first. */
#define frames_are(fake, loss, name, ...)                                                                              \
	do {                                                                                                           \
		const __u64 expected_[] = {__VA_ARGS__};                                                               \
		check_frames(fake, loss, expected_, sizeof(expected_) / sizeof(*expected_), name);                     \
	} while (0)

static inline void check_frames(struct fake_native *fake, __u32 loss, const __u64 *expected, size_t count,
				const char *name)
{
	const __u64 *got = fake->s->native_stack.frames;
	__u32 i;

	if (ok(fake->s->native.loss == loss && fake->s->native.count == count && !memcmp(got, expected, count * 8),
	       "%s", name))
		return;
	printf("# loss %u, not %u; frames:", fake->s->native.loss, loss);
	for (i = 0; i < fake->s->native.count && i < 16; i++)
		printf(" %#llx", (unsigned long long)got[i]);
	printf("\n");
}

#endif
