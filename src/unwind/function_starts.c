// SPDX-License-Identifier: GPL-2.0-or-later
#include "unwind/function_starts.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>

#include "elf/plt.h"
#include "unwind/builder.h"
#include "unwind/find_fde.h"
#include "unwind/source.h"

/* Largest builtin that is looked for: those of V8 10 to 12 have up to 20 KB. */
#define V8_BUILTIN_MAX (64u << 10)

/* Code that was followed: part of a function. */
struct part {
	uint64_t start, end, function;
};

struct function_starts {
	struct elf_file *elf;
	const struct unwind_arch *arch; /* NULL: nothing is known of this machine's code */
	struct eh_frame frame;
	struct elf_section hdr;
	bool has_frame;
	VEC(struct fde_range) fdes; /* by start, once the table could not tell */
	bool listed;
	const struct unwind_source *source; /* that tells functions; NULL: none does, or not asked yet */
	void *functions;                    /* its own */
	bool source_tried;
	VEC(struct part) parts; /* by start */
	bool followed;
	struct fde_range v8; /* the gap that was looked at last */
	bool is_v8;
	int err; /* -ENOMEM: nothing is told from here on */
};

int function_starts_create(struct elf_file *elf, struct function_starts **ret)
{
	struct function_starts *starts = calloc(1, sizeof(*starts));

	if (!starts) {
		elf_file_close(elf);
		return -ENOMEM;
	}
	starts->elf = elf;
	starts->arch = arch_of(elf_file_machine(elf))->unwind;
	starts->has_frame = elf_file_eh_frame(elf, &starts->frame.section, &starts->hdr);
	if (starts->has_frame)
		starts->frame.hdr_vaddr = starts->hdr.vaddr;
	*ret = starts;
	return 0;
}

void function_starts_destroy(struct function_starts *starts)
{
	if (!starts)
		return;
	if (starts->source)
		starts->source->functions_destroy(starts->functions);
	vec_free(&starts->fdes);
	vec_free(&starts->parts);
	elf_file_close(starts->elf);
	free(starts);
}

/* The executable segment that a vaddr lies in. */
static bool find_segment(const struct elf_file *elf, uint64_t vaddr, struct fde_range *ret)
{
	const struct elf_segment *segments;
	size_t count, i;

	segments = elf_file_segments(elf, &count);
	for (i = 0; i < count; i++) {
		const struct elf_segment *s = &segments[i];

		if (!(s->flags & PF_X) || vaddr < s->vaddr || vaddr - s->vaddr >= s->memsz)
			continue;
		*ret = (struct fde_range){.start = s->vaddr, .end = s->vaddr + s->memsz};
		return true;
	}
	return false;
}

static bool find_by_section(const struct function_starts *starts, uint64_t vaddr, uint64_t *ret)
{
	static const char *const names[] = {".init", ".fini"};
	struct elf_section section;
	size_t i;

	if (elf_plt_stub(starts->elf, vaddr, ret))
		return true;
	for (i = 0; i < sizeof(names) / sizeof(*names); i++) {
		if (!elf_file_section_header(starts->elf, names[i], &section) || vaddr < section.vaddr ||
		    vaddr - section.vaddr >= section.size)
			continue;
		*ret = section.vaddr;
		return true;
	}
	return false;
}

static int by_start(const void *a, const void *b)
{
	const struct fde_range *x = a, *y = b;

	return (x->start > y->start) - (x->start < y->start);
}

static void list_fdes(struct function_starts *starts)
{
	struct eh_cie cie = {.at = UINT32_MAX};
	struct eh_entry entry = {};
	struct fde_range range;

	starts->listed = true;
	while ((entry = eh_entry_at(&starts->frame, entry.next)).kind != EH_END) {
		if (fde_read(&starts->frame, &entry, &cie, &range))
			starts->err = vec_push(&starts->fdes, range);
		if (starts->err)
			break;
		if (entry.kind == EH_TERMINATOR && starts->frame.section.type == SHT_NULL)
			break;
	}
	if (starts->fdes.count)
		qsort(starts->fdes.at, starts->fdes.count, sizeof(starts->fdes.at[0]), by_start);
}

static enum fde_answer find_in_list(struct function_starts *starts, uint64_t vaddr, struct fde_range *ret)
{
	size_t low = 0, high;

	if (!starts->listed)
		list_fdes(starts);
	high = starts->fdes.count;
	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (starts->fdes.at[middle].start <= vaddr)
			low = middle + 1;
		else
			high = middle;
	}
	if (low && starts->fdes.at[low - 1].end > vaddr) {
		*ret = starts->fdes.at[low - 1];
		return FDE_COVERS;
	}
	*ret = (struct fde_range){.start = low ? starts->fdes.at[low - 1].end : 0,
				  .end = low < starts->fdes.count ? starts->fdes.at[low].start : UINT64_MAX};
	return FDE_GAP;
}

static enum fde_answer find_fde(struct function_starts *starts, uint64_t vaddr, struct fde_range *ret)
{
	enum fde_answer answer = FDE_NO_TABLE;

	if (!starts->has_frame) {
		*ret = (struct fde_range){.end = UINT64_MAX};
		return FDE_GAP;
	}
	if (!starts->listed)
		answer = fde_by_table(&starts->frame, &starts->hdr, vaddr, ret);
	return answer == FDE_NO_TABLE ? find_in_list(starts, vaddr, ret) : answer;
}

/* The FDE of a signal trampoline begins a byte early, at a NOP, as walkers look for pc - 1. */
static uint64_t start_of(const struct function_starts *starts, const struct fde_range *fde)
{
	uint8_t byte;

	return fde->start + (fde->signal && starts->arch && starts->arch->code &&
			     elf_file_copy_at(starts->elf, fde->start, 1, &byte) &&
			     starts->arch->code->is_padding(&byte, 1));
}

static void find_source(struct function_starts *starts)
{
	const struct unwind_source *source;
	size_t i;

	for (i = 0; !starts->functions && unwind_source_at(i, &source); i++) {
		if (source && source->functions_create)
			starts->functions = source->functions_create(starts->elf, starts->arch);
		if (starts->functions)
			starts->source = source;
	}
	starts->source_tried = true;
}

static bool find_by_source(struct function_starts *starts, uint64_t vaddr, uint64_t *ret)
{
	if (!starts->source_tried)
		find_source(starts);
	return starts->source && starts->source->functions_find(starts->functions, vaddr, ret);
}

static int take_part(void *context, uint64_t start, uint64_t end, uint64_t function)
{
	struct function_starts *starts = context;

	return vec_push(&starts->parts, (struct part){.start = start, .end = end, .function = function});
}

static int by_part(const void *a, const void *b)
{
	const struct part *x = a, *y = b;

	return (x->start > y->start) - (x->start < y->start);
}

static bool find_in_code(struct function_starts *starts, uint64_t vaddr, uint64_t *ret)
{
	size_t low = 0, high;

	if (!starts->followed) {
		starts->followed = true;
		starts->err = unwind_code_functions(starts->elf, take_part, starts);
		if (starts->parts.count)
			qsort(starts->parts.at, starts->parts.count, sizeof(starts->parts.at[0]), by_part);
	}
	high = starts->parts.count;
	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (starts->parts.at[middle].start <= vaddr)
			low = middle + 1;
		else
			high = middle;
	}
	if (!low || starts->parts.at[low - 1].end <= vaddr)
		return false;
	*ret = starts->parts.at[low - 1].function;
	return true;
}

/* In code that keeps frame pointers, and that no table knows. */
static bool find_in_v8(struct function_starts *starts, const struct fde_range *gap, uint64_t vaddr, uint64_t *ret)
{
	uint64_t step = starts->arch->v8_alignment, at;
	uint8_t bytes[2];

	if (!step)
		return false;
	if (starts->v8.start != gap->start || starts->v8.end != gap->end) {
		starts->v8 = *gap;
		starts->is_v8 = gap_keeps_frames(starts->elf, starts->arch, gap->start, gap->end - gap->start);
	}
	for (at = vaddr - vaddr % step; starts->is_v8 && vaddr - at < V8_BUILTIN_MAX; at -= step) {
		if (at <= gap->start || !elf_file_copy_at(starts->elf, at - 1, 2, bytes))
			return false;
		if (bytes[0] != starts->arch->v8_filling || bytes[1] == starts->arch->v8_filling)
			continue;
		*ret = at;
		return true;
	}
	return false;
}

/* The part of a range that lies in another one. */
static struct fde_range cut(const struct fde_range *range, uint64_t start, uint64_t end)
{
	return (struct fde_range){.start = range->start > start ? range->start : start,
				  .end = range->end < end ? range->end : end};
}

/* In what is between FDEs, within the code of that segment. */
static bool find_in_gap(struct function_starts *starts, const struct fde_range *gap, const struct fde_range *segment,
			uint64_t vaddr, uint64_t *ret)
{
	struct fde_range range = cut(gap, segment->start, segment->end);
	struct elf_section text;

	if (elf_file_section_header(starts->elf, ".text", &text) && text.size)
		range = cut(&range, text.vaddr, text.vaddr + text.size);
	if (!starts->arch || vaddr < range.start || vaddr >= range.end)
		return false;
	return find_by_source(starts, vaddr, ret) || find_in_v8(starts, &range, vaddr, ret) ||
	       find_in_code(starts, vaddr, ret);
}

static bool find(struct function_starts *starts, const struct fde_range *segment, uint64_t vaddr, uint64_t *ret)
{
	struct fde_range fde;

	if (find_by_section(starts, vaddr, ret))
		return true;
	if (find_fde(starts, vaddr, &fde) == FDE_GAP)
		return find_in_gap(starts, &fde, segment, vaddr, ret);
	*ret = start_of(starts, &fde);
	return true;
}

int function_starts_find(struct function_starts *starts, uint64_t vaddr, uint64_t *ret)
{
	struct fde_range segment, other;
	uint64_t start = 0;
	bool found;

	if (starts->err)
		return starts->err;
	if (!find_segment(starts->elf, vaddr, &segment))
		return -ENOENT;
	found = find(starts, &segment, vaddr, &start);
	if (!starts->err)
		starts->err = elf_file_starved(starts->elf);
	if (starts->err)
		return starts->err;
	if (!found || !find_segment(starts->elf, start, &other) || other.start != segment.start)
		return -ENOENT;
	*ret = start;
	return 0;
}
