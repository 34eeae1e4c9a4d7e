// SPDX-License-Identifier: GPL-2.0-or-later
#include "dwarf/source.h"

#include <dwarf.h>

/* Of entries of one function that are looked at, and ranges of addresses. */
#define STEPS_MAX (1u << 16)
#define DEPTH_MAX 128 /* blocks and calls, one in the other */

struct source_search {
	uint64_t vaddr;
	uint32_t left; /* of STEPS_MAX */
};

/* dwarf_haspc(), but for how many ranges that may be. */
static bool has_code_at(struct source_search *search, Dwarf_Die *die)
{
	Dwarf_Addr base, begin, end;
	ptrdiff_t next = 0;

	while (search->left && (next = dwarf_ranges(die, next, &base, &begin, &end)) > 0) {
		search->left--;
		if (search->vaddr >= begin && search->vaddr < end)
			return true;
	}
	return false;
}

/* The block or the inlined call below an entry that has the code. */
static bool find_inner(struct source_search *search, Dwarf_Die *parent, Dwarf_Die *ret)
{
	Dwarf_Die child;

	if (dwarf_child(parent, &child))
		return false;
	do {
		int tag = dwarf_tag(&child);

		if (!search->left)
			return false;
		search->left--;
		if ((tag == DW_TAG_inlined_subroutine || tag == DW_TAG_lexical_block) && has_code_at(search, &child)) {
			*ret = child;
			return true;
		}
	} while (!dwarf_siblingof(&child, &child));
	return false;
}

static const char *function_name(Dwarf_Die *die)
{
	Dwarf_Attribute attribute;
	const char *name = dwarf_formstring(dwarf_attr_integrate(die, DW_AT_linkage_name, &attribute));

	return name ? name : die_name(die);
}

/* Where an inlined function was called: a place in its caller. */
static void take_call(Dwarf_Die *call, struct source_frame *ret)
{
	uint64_t file = 0, line = 0;
	Dwarf_Files *files;
	Dwarf_Die unit; /* the call's own: split DWARF has names of its own */
	size_t count;

	if (die_number(call, DW_AT_call_line, &line) && line <= INT32_MAX)
		ret->line = (uint32_t)line;
	if (die_number(call, DW_AT_call_file, &file) && dwarf_diecu(call, &unit, NULL, NULL) &&
	    !dwarf_getsrcfiles(&unit, &files, &count) && file < count)
		ret->file = dwarf_filesrc(files, file, NULL, NULL);
}

static void take_line(struct debug_unit *unit, uint64_t vaddr, struct source_frame *ret)
{
	Dwarf_Line *at = dwarf_getsrc_die(&unit->skeleton, vaddr);
	int line;

	if (!at)
		return;
	ret->file = dwarf_linesrc(at, NULL, NULL);
	if (!dwarf_lineno(at, &line) && line > 0)
		ret->line = (uint32_t)line;
}

size_t debug_info_source(struct debug_info *info, uint64_t vaddr, struct source_frame ret[SOURCE_FRAMES_MAX])
{
	struct source_search search = {.vaddr = vaddr, .left = STEPS_MAX};
	Dwarf_Die inlined[SOURCE_FRAMES_MAX - 1], at;
	struct debug_unit unit;
	size_t count = 0, i, next = 0;
	unsigned int depth;

	while (debug_info_unit_of(info, vaddr, &next, &unit)) {
		struct source_frame innermost = {};

		take_line(&unit, vaddr, &innermost);
		if (debug_info_function_around(info, &unit, vaddr, &at)) {
			for (depth = 0; depth < DEPTH_MAX && find_inner(&search, &at, &at); depth++)
				if (dwarf_tag(&at) == DW_TAG_inlined_subroutine && count < SOURCE_FRAMES_MAX - 1)
					inlined[count++] = at;
		} else if (!innermost.file) {
			continue;
		}
		/* Each line belongs to the frame around: that of the code to the innermost. */
		ret[0] = innermost;
		for (i = 0; i < count; i++) {
			Dwarf_Die *call = &inlined[count - 1 - i];

			ret[i].function = function_name(call);
			ret[i + 1] = (struct source_frame){};
			take_call(call, &ret[i + 1]);
		}
		return count + 1;
	}
	return 0;
}
