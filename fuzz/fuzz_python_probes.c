// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The first byte is a minor version of CPython (modulo 10, from 3.6 on), the second how far into the file the loop
 * begins, in 16 bytes; the rest is an ELF file. With bit 7 of the first byte the rest is code, followed on a line.
 */
#include <elf.h>
#include <string.h>

#include "runtime/python/event_sites.h"
#include "runtime/python/probe_code.h"
#include "fuzz.h"

static void follow(const uint8_t *data, size_t size)
{
	const struct spot_arch *arch = arch_of(EM_X86_64)->spot;
	struct spot_decoder *decoder;
	struct probe_line line;
	struct spot_insn insn;
	struct python_place place;
	size_t at = 0;
	unsigned int node;

	if (arch->create(&decoder))
		return;
	probe_line_begin(arch, &line);
	while (at < size) {
		if (!arch->decode(decoder, data + at, size - at, 0x1000 + at, &insn)) {
			at++;
			continue;
		}
		CHECK(insn.length && insn.length <= size - at);
		at += insn.length;
		probe_line_step(&line, &insn);
		for (node = 0; node < 256; node += 5) {
			place = probe_line_place(&line, (uint8_t)node, node & 1);
			CHECK(place.kind <= PYTHON_ON_STACK && (!place.kind || place.reg < SPOT_REGISTERS));
		}
	}
	arch->destroy(decoder);
}

static void find(uint8_t minor, uint64_t skip, const uint8_t *data, size_t size)
{
	struct python_interpreter interpreter;
	const struct elf_segment *segments;
	struct python_range range = {};
	struct python_sites sites;
	enum python_event event;
	struct elf_file *elf;
	size_t count, i;

	if (elf_file_open_memory(data, size, "fuzz", &elf, NULL))
		return;
	memset(&interpreter, 0, sizeof(interpreter));
	interpreter.version = (uint16_t)(0x0300 | minor);
	interpreter.layout = (struct py_layout){.version = interpreter.version,
						.frame_lasti = 56,
						.frame_back = minor < 11 ? 24 : 8,
						.tstate_frame = 24,
						.tstate_interp = 16,
						.frame_entry = 68,
						.code_bytecode = 192};
	segments = elf_file_segments(elf, &count);
	for (i = 0; i < count && !range.end; i++)
		if (segments[i].flags & PF_X)
			range = (struct python_range){.start = segments[i].vaddr + skip,
						      .end = segments[i].vaddr + segments[i].filesz};
	if (range.start < range.end && range.end - range.start < 1 << 16 &&
	    !python_sites_find(elf, &interpreter, &range, 1, &sites, NULL)) {
		for (i = 0; i < sites.at.count; i++)
			CHECK(sites.at.at[i].frame.kind && sites.at.at[i].opcode_count <= PYTHON_SITE_OPCODES);
		python_sites_deinit(&sites);
	}
	for (event = 0; event < PYTHON_EVENTS; event++) {
		python_event_sites found = {};
		enum python_source source;

		if (!python_event_find(elf, &interpreter, NULL, data[0] & 1, event, &found, &source, NULL))
			CHECK(!found.count == (source == PYTHON_SOURCE_NONE));
		vec_free(&found);
	}
	elf_file_close(elf);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size < 2)
		return 0;
	if (*data & 0x80)
		follow(data + 1, size - 1);
	else
		find((uint8_t)(6 + *data % 10), data[1] * 16u, data + 2, size - 2);
	return 0;
}
