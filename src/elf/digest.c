// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A digest of the content of a file, without the parts from which nothing is derived: debug information, which is most
 * of it, and comments. The file is read once from one end to the other, and not kept.
 */
#include <stdlib.h>
#include <xxhash.h>

#include "elf/internal.h"

#define AT_ONCE (128u << 10)

static void mix(XXH3_state_t *state, uint64_t number)
{
	XXH3_128bits_update(state, &number, sizeof(number));
}

/* Mixes a part of the file in: where it is, and what it holds. False when it cannot be read. */
static bool mix_part(XXH3_state_t *state, const struct elf_file *elf, uint64_t offset, uint64_t size, uint8_t *buffer)
{
	uint64_t end, step;

	mix(state, offset);
	mix(state, size);
	/* What the file does not have cannot be read by anybody. */
	offset = offset < elf->size ? offset : elf->size;
	end = size < elf->size - offset ? offset + size : elf->size;
	for (; offset < end; offset += step) {
		step = end - offset < AT_ONCE ? end - offset : AT_ONCE;
		if (!elf_file_copy(elf, offset, step, buffer))
			return false;
		XXH3_128bits_update(state, buffer, step);
	}
	return true;
}

/* Is it read by something, and no part of a segment? */
static bool is_input(const struct elf_section *section)
{
	return !(section->flags & SHF_ALLOC) &&
	       (section->type == SHT_SYMTAB || section->type == SHT_STRTAB || !strcmp(section->name, ".gnu_debugdata"));
}

static uint64_t input_bytes(const struct elf_file *elf)
{
	uint64_t bytes = 0;
	size_t i;

	/* Sizes that lie are no larger than the file: so nothing overflows. */
	for (i = 0; i < elf->segments.count; i++)
		bytes += elf->segments.at[i].filesz < elf->size ? elf->segments.at[i].filesz : elf->size;
	for (i = 0; i < elf->sections.count; i++)
		if (is_input(&elf->sections.at[i].section))
			bytes += elf->sections.at[i].section.size < elf->size ? elf->sections.at[i].section.size
									      : elf->size;
	return bytes;
}

static bool mix_file(XXH3_state_t *state, const struct elf_file *elf, uint8_t *buffer)
{
	bool read = true;
	size_t i;

	XXH3_128bits_update(state, &elf->header, sizeof(elf->header));
	for (i = 0; i < elf->other_segments.count; i++)
		XXH3_128bits_update(state, &elf->other_segments.at[i], sizeof(elf->other_segments.at[i]));
	for (i = 0; i < elf->segments.count && read; i++) {
		const struct elf_segment *segment = &elf->segments.at[i];

		mix(state, segment->vaddr);
		mix(state, segment->memsz);
		mix(state, segment->flags);
		read = mix_part(state, elf, segment->offset, segment->filesz, buffer);
	}
	for (i = 0; i < elf->sections.count && read; i++) {
		const struct elf_section_entry *entry = &elf->sections.at[i];
		const struct elf_section *section = &entry->section;

		XXH3_128bits_update(state, section->name, strlen(section->name) + 1);
		mix(state, section->type);
		mix(state, section->flags);
		mix(state, section->vaddr);
		mix(state, section->offset);
		mix(state, section->size);
		mix(state, (uint64_t)entry->link << 32 | entry->info);
		if (is_input(section))
			read = mix_part(state, elf, section->offset, section->size, buffer);
	}
	return read;
}

bool elf_file_digest(const struct elf_file *elf, uint64_t most, uint64_t ret[2])
{
	XXH3_state_t *state;
	XXH128_hash_t hash;
	uint8_t *buffer;
	bool read;

	if (input_bytes(elf) > most)
		return false;
	state = XXH3_createState();
	buffer = malloc(AT_ONCE);
	read = state && buffer;
	if (read) {
		XXH3_128bits_reset(state);
		read = mix_file(state, elf, buffer);
	}
	if (read) {
		hash = XXH3_128bits_digest(state);
		ret[0] = hash.low64;
		ret[1] = hash.high64;
	}
	XXH3_freeState(state);
	free(buffer);
	return read;
}
