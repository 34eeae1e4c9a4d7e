// SPDX-License-Identifier: GPL-2.0-or-later
#include "unwind/find_fde.h"

#include <elf.h>

#include "unwind/unwind_table.h"

enum { HDR_VERSION = 1, HDR_COUNT_UDATA4 = 0x03, HDR_TABLE_DATAREL_SDATA4 = 0x3b, HDR_ROW = 8 };

/* The table: where its rows begin, and how many there are. */
struct fde_table {
	const struct elf_section *hdr;
	size_t rows;
	uint64_t count;
};

bool fde_read(const struct eh_frame *frame, const struct eh_entry *entry, struct eh_cie *cie, struct fde_range *ret)
{
	struct eh_fde fde;

	/* FDEs of one CIE lie together. */
	if (entry->kind != EH_FDE || (cie->at != entry->cie && !eh_cie_parse(frame, entry->cie, cie)) ||
	    !eh_fde_parse(frame, entry, cie, &fde))
		return false;
	*ret = (struct fde_range){.start = fde.start, .end = fde.start + fde.size, .signal = cie->signal};
	return true;
}

static bool covers(const struct fde_range *range, uint64_t vaddr)
{
	return vaddr >= range->start && vaddr < range->end;
}

static uint64_t table_value(const struct elf_section *hdr, struct cursor *c)
{
	return hdr->vaddr + (uint64_t)(int64_t)cursor_s32(c);
}

/* False when the table is of another form, or cut. */
static bool open_table(const struct elf_section *hdr, struct fde_table *ret)
{
	struct cursor c = cursor_init(hdr->bytes, hdr->bytes ? hdr->size : 0);
	uint8_t version = cursor_u8(&c), pointer = cursor_u8(&c), count_form = cursor_u8(&c), form = cursor_u8(&c);

	if (version != HDR_VERSION || count_form != HDR_COUNT_UDATA4 || form != HDR_TABLE_DATAREL_SDATA4)
		return false;
	eh_pointer(&c, pointer, hdr->vaddr, hdr->vaddr);
	*ret = (struct fde_table){.hdr = hdr, .count = cursor_u32(&c)};
	ret->rows = cursor_position(&c);
	return cursor_ok(&c) && ret->count && ret->count <= cursor_left(&c) / HDR_ROW;
}

/* A row's start, and where its FDE is. */
static uint64_t row_at(const struct fde_table *table, uint64_t index, uint64_t *fde_vaddr)
{
	struct cursor c = cursor_init(table->hdr->bytes, table->hdr->size);
	uint64_t start;

	cursor_seek(&c, table->rows + index * HDR_ROW);
	start = table_value(table->hdr, &c);
	if (fde_vaddr)
		*fde_vaddr = table_value(table->hdr, &c);
	return start;
}

enum fde_answer fde_by_table(const struct eh_frame *frame, const struct elf_section *hdr, uint64_t vaddr,
			     struct fde_range *ret)
{
	struct eh_cie cie = {.at = UINT32_MAX};
	struct fde_range found = {};
	uint64_t low = 0, high, at = 0;
	struct fde_table table;
	struct eh_entry entry;

	if (!open_table(hdr, &table))
		return FDE_NO_TABLE;
	high = table.count;
	while (low < high) {
		uint64_t middle = low + (high - low) / 2;

		if (row_at(&table, middle, NULL) <= vaddr)
			low = middle + 1;
		else
			high = middle;
	}
	if (low) {
		row_at(&table, low - 1, &at);
		if (at < frame->section.vaddr || at - frame->section.vaddr >= frame->section.size)
			return FDE_NO_TABLE;
		entry = eh_entry_at(frame, (uint32_t)(at - frame->section.vaddr));
		if (!fde_read(frame, &entry, &cie, &found) || found.start > vaddr)
			return FDE_NO_TABLE;
		if (covers(&found, vaddr)) {
			*ret = found;
			return FDE_COVERS;
		}
	}
	/* The table is in order and says where it would be. */
	*ret = (struct fde_range){.start = found.end,
				  .end = low < table.count ? row_at(&table, low, NULL) : UINT64_MAX};
	return FDE_GAP;
}

bool unwind_find_fde(const struct elf_file *elf, uint64_t vaddr, uint64_t *start, uint64_t *end)
{
	struct eh_cie cie = {.at = UINT32_MAX};
	struct eh_frame frame = {};
	struct eh_entry entry = {};
	struct fde_range range;
	struct elf_section hdr;
	enum fde_answer answer;

	if (!elf_file_eh_frame(elf, &frame.section, &hdr))
		return false;
	frame.hdr_vaddr = hdr.vaddr;
	answer = fde_by_table(&frame, &hdr, vaddr, &range);
	while (answer == FDE_NO_TABLE && (entry = eh_entry_at(&frame, entry.next)).kind != EH_END) {
		if (fde_read(&frame, &entry, &cie, &range) && covers(&range, vaddr))
			answer = FDE_COVERS;
		else if (entry.kind == EH_TERMINATOR && frame.section.type == SHT_NULL)
			break;
	}
	if (answer != FDE_COVERS)
		return false;
	*start = range.start;
	*end = range.end;
	return true;
}
