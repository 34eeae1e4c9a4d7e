// SPDX-License-Identifier: GPL-2.0-or-later
#include "unwind/eh_frame.h"

/* LSB Core 5.0, 10.5.1 "DWARF Exception Header Encoding". */
enum {
	PE_ABSPTR = 0x00,
	PE_ULEB128 = 0x01,
	PE_UDATA2 = 0x02,
	PE_UDATA4 = 0x03,
	PE_UDATA8 = 0x04,
	PE_SLEB128 = 0x09,
	PE_SDATA2 = 0x0a,
	PE_SDATA4 = 0x0b,
	PE_SDATA8 = 0x0c,
	PE_FORMAT = 0x0f,
	PE_PCREL = 0x10,
	PE_TEXTREL = 0x20,
	PE_DATAREL = 0x30,
	PE_FUNCREL = 0x40,
	PE_ALIGNED = 0x50,
	PE_APPLICATION = 0x70,
	PE_OMIT = 0xff,
};

/* CIEs have some 20 bytes. The bound keeps many FDEs with overlapping false CIEs from taking the square of the size. */
#define CIE_SIZE_MAX 1024

static uint64_t pointer_value(struct cursor *c, uint8_t encoding)
{
	switch (encoding & PE_FORMAT) {
	case PE_ABSPTR:
	case PE_UDATA8:
	case PE_SDATA8:
		return cursor_u64(c);
	case PE_ULEB128:
		return cursor_uleb128(c);
	case PE_UDATA2:
		return cursor_u16(c);
	case PE_UDATA4:
		return cursor_u32(c);
	case PE_SLEB128:
		return (uint64_t)cursor_sleb128(c);
	case PE_SDATA2:
		return (uint64_t)(int64_t)cursor_s16(c);
	case PE_SDATA4:
		return (uint64_t)(int64_t)cursor_s32(c);
	default:
		cursor_fail(c);
		return 0;
	}
}

uint64_t eh_pointer(struct cursor *c, uint8_t encoding, uint64_t base_vaddr, uint64_t data_base)
{
	uint64_t vaddr = base_vaddr + cursor_position(c);
	uint64_t value;

	if (encoding == PE_OMIT)
		return 0;
	if ((encoding & PE_APPLICATION) == PE_ALIGNED) {
		cursor_skip(c, -vaddr & 7);
		return cursor_u64(c);
	}
	value = pointer_value(c, encoding);
	switch (encoding & PE_APPLICATION) {
	case PE_PCREL:
		return vaddr + value;
	case PE_DATAREL:
		if (!data_base)
			cursor_fail(c);
		return data_base + value;
	case 0:
	case PE_TEXTREL: /* no text base on the machines strata knows */
		return value;
	default: /* funcrel: a range or address relative to the function cannot begin it */
		cursor_fail(c);
		return 0;
	}
}

struct eh_entry eh_entry_at(const struct eh_frame *frame, uint32_t at)
{
	struct eh_entry entry = {.kind = EH_END, .at = at};
	struct cursor c = cursor_init(frame->section.bytes, frame->section.size);
	uint64_t length, id_at;
	uint32_t id;

	cursor_seek(&c, at);
	length = cursor_u32(&c);
	if (!cursor_ok(&c))
		return entry;
	if (!length) {
		entry.kind = EH_TERMINATOR;
		entry.next = at + 4;
		return entry;
	}
	if (length == UINT32_MAX)
		length = cursor_u64(&c);
	if (length < 4 || length > cursor_left(&c))
		return entry;
	id_at = cursor_position(&c);
	id = cursor_u32(&c); /* 4 bytes in the long format too */
	entry.body = (uint32_t)cursor_position(&c);
	entry.next = (uint32_t)(id_at + length);
	entry.kind = id ? EH_FDE : EH_CIE;
	/* Before the section: an offset no entry has. */
	entry.cie = id <= id_at ? (uint32_t)(id_at - id) : UINT32_MAX;
	return entry;
}

/* The augmentation string says what the augmentation data hold, a letter each. */
static bool parse_augmentation(struct cursor *data, const char *letters, uint64_t vaddr, struct eh_cie *cie)
{
	uint8_t encoding;

	for (; *letters; letters++) {
		switch (*letters) {
		case 'R':
			cie->pointer_encoding = cursor_u8(data);
			break;
		case 'P':
			encoding = cursor_u8(data);
			/* Only to step over it: what the base would be is of no matter. */
			eh_pointer(data, encoding, vaddr, 1);
			break;
		case 'L':
			cursor_skip(data, 1);
			break;
		case 'S':
			cie->signal = true;
			break;
		case 'B': /* AArch64: return addresses are signed with the B key */
		case 'G': /* AArch64: tagged memory */
			break;
		default:
			return false;
		}
	}
	return cursor_ok(data);
}

bool eh_cie_parse(const struct eh_frame *frame, uint32_t at, struct eh_cie *ret)
{
	struct eh_entry entry = eh_entry_at(frame, at);
	struct eh_cie cie = {.at = at};
	const char *augmentation;
	struct cursor c, data;
	uint8_t version;

	if (entry.kind != EH_CIE || entry.next - entry.at > CIE_SIZE_MAX)
		return false;
	c = cursor_init(frame->section.bytes, entry.next);
	cursor_seek(&c, entry.body);
	version = cursor_u8(&c);
	augmentation = cursor_string(&c);
	if (!augmentation || (version != 1 && version != 3 && version != 4))
		return false;
	if (version == 4 && (cursor_u8(&c) != 8 || cursor_u8(&c) != 0)) /* address and segment selector sizes */
		return false;
	cie.code_align = cursor_uleb128(&c);
	cie.data_align = cursor_sleb128(&c);
	cie.ra = version == 1 ? cursor_u8(&c) : (uint32_t)cursor_uleb128(&c);
	if (*augmentation == 'z') {
		uint64_t size = cursor_uleb128(&c);
		size_t data_at = cursor_position(&c);

		cie.has_data = true;
		if (!cursor_skip(&c, size))
			return false;
		data = cursor_init(frame->section.bytes, data_at + size);
		cursor_seek(&data, data_at);
		if (!parse_augmentation(&data, augmentation + 1, frame->section.vaddr, &cie))
			return false;
	} else if (*augmentation) {
		return false;
	}
	cie.instructions = (uint32_t)cursor_position(&c);
	cie.instructions_size = (uint32_t)cursor_left(&c);
	if (!cursor_ok(&c))
		return false;
	*ret = cie;
	return true;
}

bool eh_fde_parse(const struct eh_frame *frame, const struct eh_entry *entry, const struct eh_cie *cie,
		  struct eh_fde *ret)
{
	struct cursor c = cursor_init(frame->section.bytes, entry->next);
	struct eh_fde fde;

	if (cie->pointer_encoding == PE_OMIT)
		return false;
	cursor_seek(&c, entry->body);
	fde.start = eh_pointer(&c, cie->pointer_encoding, frame->section.vaddr, frame->hdr_vaddr);
	fde.size = pointer_value(&c, cie->pointer_encoding);
	if (cie->has_data)
		cursor_skip(&c, cursor_uleb128(&c));
	fde.instructions = (uint32_t)cursor_position(&c);
	fde.instructions_size = (uint32_t)cursor_left(&c);
	if (!cursor_ok(&c) || fde.start + fde.size < fde.start)
		return false;
	*ret = fde;
	return true;
}
