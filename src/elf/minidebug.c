// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * MiniDebugInfo: .gnu_debugdata is an ELF file, compressed by xz, that has .symtab and nothing else of use (GDB manual,
 * "Debugging information in a special section"). A few bytes of xz can unpack to any size, so the output is bounded by
 * itself and by its ratio to the input.
 */
#include <lzma.h>
#include <stdlib.h>

#include "elf/elf_file.h"
#include "elf/internal.h"

#define OUTPUT_MAX     (256u << 20)
#define OUTPUT_FIRST   (1u << 20) /* allowed whatever the ratio */
#define RATIO_MAX      200        /* symbol tables reach about 10 */
#define DECODER_MEMORY (128u << 20)

static size_t output_limit(size_t input_size)
{
	if (input_size > OUTPUT_MAX / RATIO_MAX)
		return OUTPUT_MAX;
	return input_size * RATIO_MAX > OUTPUT_FIRST ? input_size * RATIO_MAX : OUTPUT_FIRST;
}

/* Unpacks a whole xz stream; NULL when it is damaged or too large. The caller frees. */
static uint8_t *unpack(const uint8_t *input, size_t input_size, size_t *ret_size)
{
	size_t limit = output_limit(input_size), capacity = 64u << 10;
	lzma_stream stream = LZMA_STREAM_INIT;
	uint8_t *output = NULL;
	lzma_ret status;

	if (lzma_stream_decoder(&stream, DECODER_MEMORY, 0) != LZMA_OK)
		return NULL;
	stream.next_in = input;
	stream.avail_in = input_size;
	do {
		uint8_t *grown;

		if (output)
			capacity *= 2;
		if (capacity > limit)
			capacity = limit;
		grown = stream.total_out < capacity ? realloc(output, capacity) : NULL;
		if (!grown) {
			status = LZMA_MEM_ERROR;
			break;
		}
		output = grown;
		stream.next_out = output + stream.total_out;
		stream.avail_out = capacity - stream.total_out;
		status = lzma_code(&stream, LZMA_FINISH);
	} while (status == LZMA_OK && !stream.avail_out);
	*ret_size = stream.total_out;
	lzma_end(&stream);
	if (status == LZMA_STREAM_END)
		return output;
	free(output);
	return NULL;
}

const struct elf_file *elf_file_minidebug(const struct elf_file *elf)
{
	struct elf_cache *cache = elf->cache;
	struct elf_section section;
	size_t size;

	if (cache->minidebug_tried)
		return cache->minidebug;
	cache->minidebug_tried = true;
	/* Not inside another one: that would let a file nest for ever. */
	if (!elf_file_section(elf, ".gnu_debugdata", &section) || !section.bytes)
		return NULL;
	cache->minidebug_bytes = unpack(section.bytes, section.size, &size);
	if (!cache->minidebug_bytes ||
	    elf_file_open_memory(cache->minidebug_bytes, size, elf->path, &cache->minidebug, NULL))
		return NULL;
	cache->minidebug->cache->minidebug_tried = true;
	return cache->minidebug;
}
