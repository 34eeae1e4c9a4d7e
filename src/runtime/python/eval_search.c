// SPDX-License-Identifier: GPL-2.0-or-later
#include "runtime/python/eval_search.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "arch/arch.h"
#include "elf/pointers.h"
#include "unwind/unwind_table.h"

#define DISPATCH_MIN  256 /* pointers of a dispatch table */
#define MESSAGE_SITES 32  /* addresses of messages that are looked for */

/*
 * Only the loop has them: Python/ceval.c of v3.6.0 to v3.11.0, RAISE_VARARGS, STORE_NAME, DELETE_NAME, LOAD_BUILD_CLASS
 * and GET_AITER; Python/bytecodes.c of v3.12.0 to v3.14.0, the same instructions.
 */
static const char *const messages[] = {
	"bad RAISE_VARARGS oparg",
	"no locals found when storing %R",
	"no locals when deleting %R",
	"__build_class__ not found",
	"'async for' requires an object with __aiter__ method, got %.100s",
};

struct site {
	uint64_t vaddr;
	uint32_t message;
};

struct sites {
	struct site at[MESSAGE_SITES];
	size_t count;
	uint64_t low, high; /* of all */
};

static void add_sites(struct sites *sites, const uint8_t *bytes, size_t size, uint64_t vaddr, uint32_t message)
{
	size_t length = strlen(messages[message]) + 1;
	const uint8_t *at = bytes, *end = bytes + size;

	while (at < end && sites->count < MESSAGE_SITES &&
	       (at = memmem(at, (size_t)(end - at), messages[message], length))) {
		sites->at[sites->count++] = (struct site){vaddr + (uint64_t)(at - bytes), message};
		at += length;
	}
}

static void find_messages(const struct elf_file *elf, struct sites *ret)
{
	static const char *const sections[] = {".rodata", ".rodata.str", ".text"};
	struct elf_section section;
	uint32_t message;
	size_t i;

	*ret = (struct sites){.low = UINT64_MAX};
	for (i = 0; i < sizeof(sections) / sizeof(*sections) && !ret->count; i++) {
		if (!elf_file_section(elf, sections[i], &section) || !section.bytes)
			continue;
		for (message = 0; message < sizeof(messages) / sizeof(*messages); message++)
			add_sites(ret, section.bytes, section.size, section.vaddr, message);
	}
	for (i = 0; i < ret->count; i++) {
		ret->low = ret->at[i].vaddr < ret->low ? ret->at[i].vaddr : ret->low;
		ret->high = ret->at[i].vaddr > ret->high ? ret->at[i].vaddr : ret->high;
	}
}

static int visit_code(const struct elf_file *elf, reference_visit visit, void *context)
{
	const struct arch *arch = arch_of(elf_file_machine(elf));
	const struct elf_segment *segments;
	size_t count, i;
	int err = 0;

	segments = elf_file_segments(elf, &count);
	for (i = 0; arch && !err && i < count; i++) {
		struct reference_code code = {.size = segments[i].filesz, .vaddr = segments[i].vaddr};

		if (!(segments[i].flags & PF_X))
			continue;
		code.bytes = elf_file_bytes_at(elf, code.vaddr, code.size);
		if (!code.bytes)
			continue;
		err = arch->references->visit(&code, visit, context);
	}
	return err;
}

struct anchor_search {
	const struct elf_file *elf;
	struct sites sites;
	eval_anchors *anchors;
};

static int add_anchor(struct anchor_search *search, uint64_t place, uint32_t message)
{
	struct eval_anchor anchor = {.messages = 1u << message};
	size_t i;

	if (!unwind_find_fde(search->elf, place, &anchor.start, &anchor.end))
		return 0;
	for (i = 0; i < search->anchors->count; i++)
		if (search->anchors->at[i].start == anchor.start) {
			search->anchors->at[i].messages |= anchor.messages;
			return 0;
		}
	return vec_push(search->anchors, anchor);
}

static int visit_message(void *context, uint64_t place, uint64_t target)
{
	struct anchor_search *search = context;
	size_t i;

	if (target < search->sites.low || target > search->sites.high)
		return 0;
	for (i = 0; i < search->sites.count; i++)
		if (search->sites.at[i].vaddr == target)
			return add_anchor(search, place, search->sites.at[i].message);
	return 0;
}

int eval_find_anchors(const struct elf_file *elf, eval_anchors *ret)
{
	struct anchor_search search = {.elf = elf, .anchors = ret};

	find_messages(elf, &search.sites);
	return search.sites.count ? visit_code(elf, visit_message, &search) : 0;
}

struct reference_search {
	bool (*wanted)(void *context, uint64_t target);
	void *context;
	eval_addresses *places;
};

static int visit_wanted(void *context, uint64_t place, uint64_t target)
{
	struct reference_search *search = context;

	return search->wanted(search->context, target) ? vec_push(search->places, place) : 0;
}

int eval_find_references(const struct elf_file *elf, bool (*wanted)(void *context, uint64_t target), void *context,
			 eval_addresses *ret)
{
	struct reference_search search = {.wanted = wanted, .context = context, .places = ret};

	return visit_code(elf, visit_wanted, &search);
}

/* The functions of one run of pointers to code. */
struct run {
	uint64_t start, next; /* vaddr of its first pointer; of the one behind its last */
	eval_addresses targets;
};

struct dispatch_search {
	const struct elf_file *elf;
	const eval_anchors *anchors;
	struct run run;
	uint64_t table;
	eval_addresses *ret;
};

static bool is_code(const struct elf_file *elf, uint64_t vaddr)
{
	const struct elf_segment *segments;
	size_t count, i;

	segments = elf_file_segments(elf, &count);
	for (i = 0; i < count; i++)
		if ((segments[i].flags & PF_X) && vaddr >= segments[i].vaddr &&
		    vaddr - segments[i].vaddr < segments[i].filesz)
			return true;
	return false;
}

static int compare_addresses(const void *a, const void *b)
{
	const uint64_t *left = a, *right = b;

	return *left < *right ? -1 : *left > *right;
}

/* Judges the run that has ended. */
static int end_run(struct dispatch_search *search)
{
	eval_addresses *targets = &search->run.targets;
	uint32_t messages_seen = 0;
	size_t i, j;
	int err = 0;

	if (targets->count >= DISPATCH_MIN && !search->table) {
		for (i = 0; i < search->anchors->count; i++)
			for (j = 0; j < targets->count; j++)
				if (targets->at[j] == search->anchors->at[i].start)
					messages_seen |= search->anchors->at[i].messages;
		if (__builtin_popcount(messages_seen) >= EVAL_MESSAGES_NEEDED) {
			search->table = search->run.start;
			qsort(targets->at, targets->count, sizeof(*targets->at), compare_addresses);
			for (i = 0; i < targets->count && !err; i++)
				if (!i || targets->at[i] != targets->at[i - 1])
					err = vec_push(search->ret, targets->at[i]);
		}
	}
	targets->count = 0;
	return err;
}

/* 1: there is no more to look for. */
static int add_pointer(void *context, uint64_t place, uint64_t target)
{
	struct dispatch_search *search = context;
	struct run *run = &search->run;
	int err = 0;

	if (run->targets.count && place != run->next)
		err = end_run(search);
	if (!err && search->table)
		return 1;
	if (err || !is_code(search->elf, target))
		return err;
	if (!run->targets.count)
		run->start = place;
	run->next = place + 8;
	return vec_push(&run->targets, target);
}

int eval_find_dispatch(const struct elf_file *elf, const eval_anchors *anchors, uint64_t *table, eval_addresses *ret)
{
	struct dispatch_search search = {.elf = elf, .anchors = anchors, .ret = ret};
	const struct arch *arch = arch_of(elf_file_machine(elf));
	int err = arch ? elf_pointers_each(elf, arch->relative, add_pointer, &search) : 0;

	if (!err)
		err = end_run(&search);
	vec_free(&search.run.targets);
	*table = search.table;
	return err < 0 ? err : 0;
}
