// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The FDE that covers one address, without compiling the rest. .eh_frame_hdr has a table of (start, FDE), sorted by
 * start (LSB Core 5.0, 10.6.2): version 1 · three encodings · .eh_frame's address · number of FDEs · the table.
 */
#include "unwind/arch.h"
#include "unwind/eh_frame.h"
#include "unwind/unwind_table.h"

#include <elf.h>

enum { HDR_VERSION = 1, HDR_COUNT_UDATA4 = 0x03, HDR_TABLE_DATAREL_SDATA4 = 0x3b, HDR_ROW = 8 };

/* Whether the entry at an offset is an FDE that covers the vaddr. */
static bool covers(const struct eh_frame *frame, const struct eh_entry *entry, struct eh_cie *cie, uint64_t vaddr,
		   uint64_t *start, uint64_t *end)
{
	struct eh_fde fde;

	/* FDEs of one CIE lie together. */
	if (entry->kind != EH_FDE || (cie->at != entry->cie && !eh_cie_parse(frame, entry->cie, cie)) ||
	    !eh_fde_parse(frame, entry, cie, &fde) || vaddr < fde.start || vaddr - fde.start >= fde.size)
		return false;
	*start = fde.start;
	*end = fde.start + fde.size;
	return true;
}

static uint64_t table_value(const struct elf_section *hdr, struct cursor *c)
{
	return hdr->vaddr + (uint64_t)(int64_t)cursor_s32(c);
}

/* Reads the sorted table for the last FDE that starts at or below vaddr. False when the table is of another form. */
static bool search_hdr(const struct elf_section *hdr, uint64_t vaddr, uint64_t *fde_vaddr)
{
	struct cursor c = cursor_init(hdr->bytes, hdr->bytes ? hdr->size : 0);
	uint8_t version = cursor_u8(&c), pointer = cursor_u8(&c), count_form = cursor_u8(&c), form = cursor_u8(&c);
	uint64_t low = 0, high;
	size_t rows;

	if (version != HDR_VERSION || count_form != HDR_COUNT_UDATA4 || form != HDR_TABLE_DATAREL_SDATA4)
		return false;
	eh_pointer(&c, pointer, hdr->vaddr, hdr->vaddr);
	high = cursor_u32(&c);
	rows = cursor_position(&c);
	while (low < high && cursor_ok(&c)) {
		uint64_t middle = low + (high - low) / 2;

		cursor_seek(&c, rows + middle * HDR_ROW);
		if (table_value(hdr, &c) <= vaddr)
			low = middle + 1;
		else
			high = middle;
	}
	if (!low || !cursor_seek(&c, rows + (low - 1) * HDR_ROW + 4))
		return false;
	*fde_vaddr = table_value(hdr, &c);
	return cursor_ok(&c);
}

bool unwind_find_fde(const struct elf_file *elf, uint64_t vaddr, uint64_t *start, uint64_t *end)
{
	struct eh_cie cie = {.at = UINT32_MAX};
	struct eh_frame frame = {};
	struct eh_entry entry = {};
	struct elf_section hdr;
	uint64_t at;

	if (!elf_file_eh_frame(elf, &frame.section, &hdr))
		return false;
	frame.hdr_vaddr = hdr.vaddr;
	if (search_hdr(&hdr, vaddr, &at) && at >= frame.section.vaddr &&
	    at - frame.section.vaddr < frame.section.size) {
		entry = eh_entry_at(&frame, (uint32_t)(at - frame.section.vaddr));
		if (covers(&frame, &entry, &cie, vaddr, start, end))
			return true;
		/* The table is in order and says where it would be; a gap between functions ends here. */
		if (entry.kind == EH_FDE)
			return false;
	}
	entry = (struct eh_entry){};
	while ((entry = eh_entry_at(&frame, entry.next)).kind != EH_END) {
		if (covers(&frame, &entry, &cie, vaddr, start, end))
			return true;
		if (entry.kind == EH_TERMINATOR && frame.section.type == SHT_NULL)
			return false;
	}
	return false;
}
