// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Rows for code that no FDE covers. What is asked, in this order:
 *
 *   fixed      PLT sections: some linkers write no FDE for them. .init and .fini: pieces of several objects make up one
 *              function, so none of them can have its FDE. The entry point: it has no caller.
 *   told       what runtimes say of their code (source.h): Go's own tables
 *   derived    the code itself (code_rules.h): musl's libc, what was built without unwind tables, C in Go's programs
 *   chain      code that a program's own compiler made, such as the builtins of V8 in node: it keeps frame pointers,
 *              which is seen by how often they are set up. Its rule is a chain of frame pointers; the walker looks at
 *              the instructions, whether a function's own frame is not there yet or no longer.
 *   trampoline signal trampolines of C libraries without CFI. Their rule begins a byte early: the return address of a
 *              handler is the trampoline's first byte, and a walker looks for pc - 1.
 */
#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "base/time.h"
#include "unwind/builder.h"
#include "unwind/derived.h"

/* Larger gaps are searched for trampolines; smaller ones are padding between functions. */
#define TRAMPOLINE_MIN 64
/* Bytes of uncovered text that are searched in one file. */
#define SEARCHED_MAX (4u << 20)
#define SEARCH_STEP  1024
/* The same, that are looked at for frame pointers. */
#define LOOKED_MAX (32u << 20)
/* Gaps of this size on may be code with frame pointers, which is decided by how often their first bytes set one up. */
#define FP_CODE_MIN     (16u << 10)
#define FP_CODE_LOOK    (64u << 10)
#define FP_CODE_DENSITY 1024 /* bytes for each */
/* Uncovered code that is analysed: more takes longer than a second. Less than ALL_MIN is what start files leave. */
#define ALL_MIN    256
#define ALIGNMENT  16 /* of functions: less than that before one is padding */
#define PADDING    64 /* up to that, what is between functions may well be padding */
#define DERIVE_MAX (4u << 20)
/* Names are looked up in a file that has no more bytes of them: a library of 350 MB has 90 MB. */
#define NAMES_MAX (32u << 20)
/* Bytes of an entry point to look at. */
#define ENTRY_LOOK 64

bool gap_keeps_frames(const struct elf_file *elf, const struct unwind_arch *arch, uint64_t start, uint64_t size)
{
	size_t look = size < FP_CODE_LOOK ? size : FP_CODE_LOOK;
	/* A copy: there may be thousands. */
	uint8_t *bytes = size < FP_CODE_MIN ? NULL : malloc(look);
	bool ret = bytes && elf_file_copy_at(elf, start, look, bytes) &&
		   arch->count_frame_edges(bytes, look) >= look / FP_CODE_DENSITY;

	free(bytes);
	return ret;
}

/* Most gaps are small, padding, and each in a chunk of the file of its own, whose other bytes nobody asks for. */
static bool is_small_padding(const struct builder *b, const struct code_span *span)
{
	size_t size = span->end - span->start;
	uint8_t bytes[PADDING];

	return size <= sizeof(bytes) && elf_file_copy_at(b->elf, span->start, size, bytes) &&
	       b->arch->code->is_padding(bytes, size);
}

/* The code that is not padding in a part of a gap; false when there is none. */
static bool find_code(const struct builder *b, uint32_t from, uint32_t to, struct code_span *ret)
{
	struct code_span span = {.start = b->table->base + from, .end = b->table->base + to};
	struct elf_section text;

	if (!b->arch->code)
		return false;
	/* Not looked at: its page may not be in memory, and there are thousands. */
	if (to - from < ALIGNMENT && span.end % ALIGNMENT == 0)
		return false;
	if (elf_file_section_header(b->elf, ".text", &text) && text.size) {
		span.start = span.start > text.vaddr ? span.start : text.vaddr;
		span.end = span.end < text.vaddr + text.size ? span.end : text.vaddr + text.size;
	}
	if (span.start >= span.end || is_small_padding(b, &span))
		return false;
	span.bytes = elf_file_bytes_at(b->elf, span.start, span.end - span.start);
	if (!span.bytes || b->arch->code->is_padding(span.bytes, span.end - span.start))
		return false;
	*ret = span;
	return true;
}

/* Whether part of a gap is code with frame pointers. */
static bool is_fp_code(struct builder *b, uint32_t start, uint32_t end)
{
	size_t size = end - start;

	if (size < FP_CODE_MIN || b->looked >= LOOKED_MAX)
		return false;
	b->looked += size < FP_CODE_LOOK ? size : FP_CODE_LOOK;
	return gap_keeps_frames(b->elf, b->arch, b->table->base + start, size);
}

/* Its rule. Where a frame is not there yet, or no longer, the walker sees by the instructions: a browser has millions
 * of such places. */
static void add_fp_code(struct builder *b, uint32_t start, uint32_t end)
{
	builder_add_row(b, start, (struct unwind_rule){.kind = UNWIND_FP_CHAIN, .param = UNWIND_CHAIN_OF_FILE});
	b->table->covered_bytes += end - start;
}

/* Part of a gap: rules for signal trampolines found in it, none for the rest. */
static void search_gap(struct builder *b, uint32_t start, uint32_t end)
{
	const struct unwind_rule none = {.kind = UNWIND_NO_RULE};
	const struct unwind_rule trampoline = {.kind = UNWIND_SIGNAL, .cfa_offset = b->arch->sigcontext_at_return};
	uint32_t at = start;
	uint8_t bytes[SEARCH_STEP];

	builder_add_row(b, start, none);
	while (at < end && end - start >= TRAMPOLINE_MIN && b->searched < SEARCHED_MAX) {
		uint32_t size = end - at < SEARCH_STEP ? end - at : SEARCH_STEP;
		size_t found, length;

		b->searched += size;
		if (elf_file_copy_at(b->elf, b->table->base + at, size, bytes) &&
		    b->arch->find_trampoline(bytes, size, &found, &length)) {
			builder_add_row(b, at + (uint32_t)found - !!found, trampoline);
			at += (uint32_t)(found + length);
			if (at < end)
				builder_add_row(b, at, none);
		} else if (size == SEARCH_STEP) {
			at += SEARCH_STEP - 16; /* one may lie across the seam */
		} else {
			break;
		}
	}
}

/* The first of the ranges that ends behind an address. */
static size_t first_behind(const rule_ranges *ranges, uint32_t start)
{
	size_t low = 0, high = ranges->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (ranges->at[middle].end <= start)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* Part of a gap that known ranges lie in: rows for them, and for what is between; false when there is none in it. */
static bool add_ranges(struct builder *b, const rule_ranges *ranges, uint32_t start, uint32_t end,
		       void (*between)(struct builder *b, uint32_t start, uint32_t end))
{
	size_t i = first_behind(ranges, start);

	if (i == ranges->count || ranges->at[i].start >= end)
		return false;
	for (; i < ranges->count && ranges->at[i].start < end; i++) {
		const struct rule_range *range = &ranges->at[i];
		uint32_t to = range->end < end ? range->end : end;

		if (range->start > start) {
			between(b, start, range->start);
			start = range->start;
		}
		builder_add_row(b, start, range->rule);
		if (range->rule.kind != UNWIND_NO_RULE)
			b->table->covered_bytes += to - start;
		if (ranges == &b->derived)
			b->table->derived_bytes += to - start;
		start = to;
	}
	if (start < end)
		between(b, start, end);
	return true;
}

/* Part of a gap, that is not Go's. What lies outside of the window only takes part in telling what code it is. */
static void fill_other(struct builder *b, uint32_t start, uint32_t end)
{
	uint32_t from = start > b->window ? start : b->window, to = end < b->window_end ? end : b->window_end;
	struct code_span span;

	if (from >= to || add_ranges(b, &b->derived, from, to, search_gap))
		return;
	if (is_fp_code(b, start, end)) {
		add_fp_code(b, from, to);
		return;
	}
	if (b->is_part && !b->lacks_code)
		b->lacks_code = find_code(b, start, end, &span);
	search_gap(b, from, to);
}

/* Part of a gap. */
static void fill_part(struct builder *b, uint32_t start, uint32_t end)
{
	if (!add_ranges(b, &b->told, start, end, fill_other))
		fill_other(b, start, end);
}

void builder_fill_gap(struct builder *b, uint32_t end)
{
	size_t i;

	/* A trampoline ends with its system call: while the kernel is in rt_sigreturn(), the PC is one past the FDE. */
	if (b->signal && b->done < end)
		b->done++;
	for (i = 0; i < b->fixed.count && b->done < end; i++) {
		const struct rule_range *filler = &b->fixed.at[i];

		if (filler->end <= b->done || filler->start >= end)
			continue;
		if (filler->start > b->done) {
			fill_part(b, b->done, filler->start);
			b->done = filler->start;
		}
		builder_add_row(b, b->done, filler->rule);
		b->done = filler->end < end ? filler->end : end;
	}
	if (b->done < end)
		fill_part(b, b->done, end);
	b->done = end;
}

static int take_told(void *context, uint64_t start, uint64_t end, struct unwind_rule rule)
{
	struct builder *b = context;
	struct rule_range range = {.rule = rule};

	if (start < b->table->base || end > b->table->end)
		return 0;
	range.start = start - b->table->base;
	range.end = end - b->table->base;
	b->telling->rebase(&range.rule, b->table->base);
	return vec_push(&b->told, range);
}

/* Of one source: what has tables of its own is one runtime's. */
static int find_told(struct builder *b)
{
	size_t i;
	int err = 0;

	for (i = 0; !err && !b->told.count && unwind_source_at(i, &b->telling); i++)
		if (b->telling && b->telling->ranges)
			err = b->telling->ranges(b->elf, b->arch, take_told, b);
	return err;
}

static int add_filler(struct builder *b, uint64_t start, uint64_t end, struct unwind_rule rule)
{
	struct rule_range filler = {.rule = rule};
	size_t i;

	if (start < b->table->base || end > b->table->end || start >= end)
		return 0;
	filler.start = start - b->table->base;
	filler.end = end - b->table->base;
	if (vec_push(&b->fixed, filler))
		return -ENOMEM;
	for (i = b->fixed.count - 1; i && b->fixed.at[i - 1].start > filler.start; i--)
		b->fixed.at[i] = b->fixed.at[i - 1];
	b->fixed.at[i] = filler;
	return 0;
}

static int add_section_fillers(struct builder *b)
{
	static const char *const names[] = {".plt", ".plt.sec", ".plt.got", ".iplt", ".init", ".fini"};
	struct unwind_arch_span spans[UNWIND_ARCH_SPANS_MAX];
	struct elf_section section;
	const uint8_t *bytes;
	size_t i, k, count;
	int err = 0;

	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (!elf_file_section_header(b->elf, names[i], &section))
			continue;
		bytes = elf_file_bytes_at(b->elf, section.vaddr, section.size);
		count = bytes ? b->arch->section_spans(names[i], bytes, section.size, spans) : 0;
		for (k = 0; k < count && !err; k++)
			err = add_filler(b, section.vaddr + spans[k].start,
					 section.vaddr + (k + 1 < count ? spans[k + 1].start : section.size),
					 spans[k].rule);
	}
	return err;
}

/*
 * The entry point is the outermost frame. Old linkers give shared libraries one too, the start of .text, which is any
 * function; so unless the file is a program its code must look the part.
 */
static int add_entry_filler(struct builder *b)
{
	uint64_t entry = elf_file_entry(b->elf);
	const uint8_t *bytes = NULL;
	size_t look, size;

	if (!entry || entry < b->table->base || entry >= b->table->end)
		return 0;
	/* It may be the last code of its segment. */
	for (look = ENTRY_LOOK; look; look /= 2) {
		bytes = elf_file_bytes_at(b->elf, entry, look);
		if (bytes)
			break;
	}
	size = bytes ? b->arch->entry_size(bytes, look) : 0;
	if (!size && !elf_file_is_program(b->elf))
		return 0;
	b->has_entry = true;
	b->entry = (uint32_t)(entry - b->table->base);
	return add_filler(b, entry, entry + (size ? size : 1), (struct unwind_rule){.kind = UNWIND_END});
}

struct gaps {
	VEC(struct code_span) spans;
	uint64_t bytes;
};

/*
 * Signal trampolines in code that is to be analysed. A rule begins a byte early: the return address of a handler is the
 * trampoline's first byte, and a walker looks for pc - 1; so C libraries put a NOP there.
 */
static int add_trampolines(struct builder *b, const struct code_span *span)
{
	const struct unwind_rule trampoline = {.kind = UNWIND_SIGNAL, .cfa_offset = b->arch->sigcontext_at_return};
	size_t at = 0, size = span->end - span->start, found, length, start, end;
	int err = 0;

	while (!err && b->arch->find_trampoline(span->bytes + at, size - at, &found, &length)) {
		start = at + found - !!(at + found);
		at += found + length;
		/* While the kernel is in rt_sigreturn(), the PC is one past its end. */
		end = at + (at < size && b->arch->code->is_padding(span->bytes + at, 1));
		err = add_filler(b, span->start + start, span->start + end, trampoline);
	}
	return err;
}

/* Remembers a gap as code to be analysed, with what has a filler: the entry point calls the first function. */
static int add_gap(struct builder *b, struct gaps *gaps, uint32_t from, uint32_t to)
{
	struct code_span span;

	if (is_fp_code(b, from, to) || !find_code(b, from, to, &span))
		return 0;
	gaps->bytes += span.end - span.start;
	return vec_push(&gaps->spans, span);
}

/* What sources leave of a gap: C that Go's linker took in, without its .eh_frame. */
static int add_gap_untold(struct builder *b, struct gaps *gaps, uint32_t from, uint32_t to)
{
	size_t i = first_behind(&b->told, from);
	int err = 0;

	for (; i < b->told.count && b->told.at[i].start < to && !err; i++) {
		if (b->told.at[i].start > from)
			err = add_gap(b, gaps, from, b->told.at[i].start);
		if (b->told.at[i].end > from)
			from = b->told.at[i].end;
	}
	return err || from >= to ? err : add_gap(b, gaps, from, to);
}

/* Reading them would take longer than all else. */
static bool has_many_names(const struct elf_file *elf)
{
	struct elf_section names;

	return elf_file_section_header(elf, ".strtab", &names) && names.size > NAMES_MAX;
}

/* The code that nothing else says something of; none where it cannot be read, or is too much. */
static int find_gaps(struct builder *b, struct gaps *gaps)
{
	uint32_t size = (uint32_t)(b->table->end - b->table->base), done = 0;
	size_t i;
	int err = 0;

	*gaps = (struct gaps){};
	if (!b->arch->code)
		return 0;
	for (i = 0; i <= b->fdes.count && !err; i++) {
		uint32_t start = i < b->fdes.count ? b->fdes.at[i].start : size;

		if (start > done)
			err = add_gap_untold(b, gaps, done, start);
		if (i < b->fdes.count && start + b->fdes.at[i].size > done)
			done = start + b->fdes.at[i].size;
	}
	if (gaps->bytes > DERIVE_MAX)
		gaps->spans.count = 0;
	return err;
}

static enum code_scope scope_of(const struct elf_file *elf, const struct gaps *gaps)
{
	return gaps->bytes < ALL_MIN || has_many_names(elf) ? CODE_FEW : CODE_ALL;
}

/* Rules for code that nothing else says something of. That there are none is no error. */
static int derive(struct builder *b)
{
	uint64_t begin = time_ns(CLOCK_MONOTONIC);
	struct gaps gaps;
	int err = find_gaps(b, &gaps);
	size_t i;

	if (!err && gaps.spans.count) {
		for (i = 0; i < gaps.spans.count && !err; i++)
			err = add_trampolines(b, &gaps.spans.at[i]);
		if (!err)
			err = derived_find(&(struct derived_code){b->elf, b->arch->code, b->table->base, gaps.spans.at,
								  gaps.spans.count, scope_of(b->elf, &gaps)},
					   b->options, &b->derived, &b->table->derived, &b->table->derived_cached);
		b->table->derived_ns = time_ns(CLOCK_MONOTONIC) - begin;
	}
	vec_free(&gaps.spans);
	return err;
}

int builder_find_functions(struct builder *b,
			   int (*visit)(void *context, uint64_t start, uint64_t end, uint64_t function), void *context)
{
	struct gaps gaps = {};
	int err = find_told(b);

	if (!err)
		err = find_gaps(b, &gaps);
	if (!err && gaps.spans.count)
		err = code_rules_functions(b->elf, b->arch->code, gaps.spans.at, gaps.spans.count,
					   scope_of(b->elf, &gaps), visit, context);
	vec_free(&gaps.spans);
	return err;
}

int builder_find_fixed(struct builder *b)
{
	int err = add_section_fillers(b);

	return err ? err : add_entry_filler(b);
}

int builder_find_fillers(struct builder *b)
{
	int err = builder_find_fixed(b);

	if (!err)
		err = find_told(b);
	return err ? err : derive(b);
}
