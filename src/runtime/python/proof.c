// SPDX-License-Identifier: GPL-2.0-or-later
#include "runtime/python/proof.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/cursor.h"
#include "runtime/python/lines.h"

#define STEPS_MAX   4096u      /* frames and shims of a chain: a deeper one proves nothing */
#define TABLE_MAX   (1u << 20) /* bytes of a line table */
#define UNITS_MAX   (1u << 24) /* code units of a code object */
#define LINE_MAX_IN 10000000   /* no source file has as many lines */
#define TEXT_MAX    512        /* characters of a name that are compared */
#define LENGTH_MAX  65536      /* of a name or path */
#define CODE_UNIT   2

struct proof {
	const struct memory *memory;
	const struct py_layout *layout;
	uint64_t code; /* the last one that holds */
	uint64_t units;
	const char *why;
};

struct text {
	uint64_t length;
	bool ascii;
	char start[TEXT_MAX]; /* of one that is ASCII */
};

static bool fails(struct proof *proof, const char *why)
{
	proof->why = why;
	return false;
}

static bool read_at(const struct proof *proof, void *ret, size_t size, uint64_t address)
{
	return !memory_read(proof->memory, ret, size, address);
}

static bool read_u64(const struct proof *proof, uint64_t address, uint64_t *ret)
{
	return read_at(proof, ret, sizeof(*ret), address);
}

/* Whether the type of an object has this name. */
static bool is_a(const struct proof *proof, uint64_t object, const char *type)
{
	uint64_t at, name;
	char text[16];
	size_t size = strlen(type) + 1;

	return size <= sizeof(text) && read_u64(proof, object + proof->layout->ob_type, &at) &&
	       read_u64(proof, at + proof->layout->type_name, &name) && read_at(proof, text, size, name) &&
	       !memcmp(text, type, size);
}

static bool read_text(const struct proof *proof, uint64_t at, struct text *ret)
{
	const struct py_layout *layout = proof->layout;
	uint64_t object, i;
	uint32_t state, kind;

	if (!read_u64(proof, at, &object) || !is_a(proof, object, "str") ||
	    !read_u64(proof, object + layout->unicode_length, &ret->length) ||
	    !read_at(proof, &state, sizeof(state), object + layout->unicode_state))
		return false;
	kind = state >> layout->unicode_kind_shift & 7;
	if (!ret->length || ret->length > LENGTH_MAX || (kind != 1 && kind != 2 && kind != 4) ||
	    !(state >> layout->unicode_compact_shift & 1))
		return false;
	ret->ascii = state >> (layout->unicode_compact_shift + 1) & 1;
	if (!ret->ascii)
		return true;
	if (kind != 1)
		return false;
	i = ret->length < TEXT_MAX ? ret->length : TEXT_MAX;
	if (!read_at(proof, ret->start, i, object + layout->unicode_ascii_data))
		return false;
	while (i && isprint((unsigned char)ret->start[i - 1]))
		i--;
	return !i;
}

/* Texts of which not all is at hand are not compared. */
static bool ends_with(const struct text *text, const struct text *end)
{
	if (!text->ascii || !end->ascii || text->length > TEXT_MAX || end->length > TEXT_MAX)
		return true;
	return end->length <= text->length &&
	       !memcmp(text->start + (text->length - end->length), end->start, end->length);
}

static bool is_named(const struct text *text, const char *name)
{
	return text->ascii && text->length == strlen(name) && !memcmp(text->start, name, text->length);
}

/* How many code units a location table covers (lines.c draws it). */
static uint64_t units_covered(const uint8_t *table, size_t size)
{
	struct cursor c = cursor_init(table, size);
	uint64_t units = 0;

	while (!cursor_at_end(&c)) {
		uint8_t first = cursor_u8(&c);

		units += first & 0x80 ? (first & 7) + 1u : 0;
	}
	return units;
}

/* Holds a code object's line table against the code, and an instruction's line. */
static bool has_lines(struct proof *proof, uint64_t code, int32_t firstlineno, int64_t lasti)
{
	const struct py_layout *layout = proof->layout;
	uint64_t object, size, covered;
	uint8_t *table;
	int line = 0;
	bool read;

	if (!read_u64(proof, code + layout->code_linetable, &object) || !is_a(proof, object, "bytes") ||
	    !read_u64(proof, object + layout->bytes_size, &size) || !size || size > TABLE_MAX)
		return fails(proof, "a code object has no line table");
	table = malloc(size);
	read = table && read_at(proof, table, size, object + layout->bytes_data);
	covered = read ? units_covered(table, size) : 0;
	if (read)
		line = python_line(layout->version, table, size, firstlineno, (int)lasti);
	free(table);
	if (covered != proof->units)
		return fails(proof, "a line table does not cover its code");
	return (line >= 0 && line <= LINE_MAX_IN) || fails(proof, "a line is out of range");
}

static bool is_code(struct proof *proof, uint64_t code)
{
	const struct py_layout *layout = proof->layout;
	struct text name, qualname, filename;
	int32_t firstlineno;

	if (!is_a(proof, code, "code"))
		return fails(proof, "what a frame runs is no code object");
	if (!read_text(proof, code + layout->code_name, &name) ||
	    !read_text(proof, code + layout->code_qualname, &qualname) ||
	    !read_text(proof, code + layout->code_filename, &filename))
		return fails(proof, "a name does not decode");
	if (!ends_with(&qualname, &name))
		return fails(proof, "a name is not that of its qualified name");
	if (!read_u64(proof, code + layout->bytes_size, &proof->units) || !proof->units || proof->units > UNITS_MAX)
		return fails(proof, "a code object has no code");
	/* What a module's code starts with is told by Python/compile.c: line 1. */
	if (!read_at(proof, &firstlineno, sizeof(firstlineno), code + layout->code_firstlineno) || firstlineno < 1 ||
	    firstlineno > LINE_MAX_IN || (is_named(&name, "<module>") && firstlineno != 1))
		return fails(proof, "a code object's first line is out of range");
	return has_lines(proof, code, firstlineno, 0);
}

/* Where the bytecode begins that the frame points into: see python_bytecode() of runtime/python/bpf/walk.h. */
static bool find_bytecode(const struct proof *proof, uint64_t frame, uint64_t code, uint64_t *ret)
{
	const struct py_layout *layout = proof->layout;
	uint64_t entries;
	int32_t copy = 0;

	*ret = code + layout->code_bytecode;
	if (layout->code_tlbc == PY_NO_OFFSET)
		return true;
	if (!read_at(proof, &copy, sizeof(copy), frame + layout->frame_tlbc_index))
		return false;
	return copy <= 0 || (read_u64(proof, code + layout->code_tlbc, &entries) &&
			     read_u64(proof, entries + 8 + 8 * (uint64_t)copy, ret));
}

static bool is_frame(struct proof *proof, uint64_t frame)
{
	const struct py_layout *layout = proof->layout;
	uint64_t code, instruction, bytecode;
	int32_t firstlineno;
	int64_t lasti;

	if (!read_u64(proof, frame + layout->frame_code, &code) ||
	    !read_u64(proof, frame + layout->frame_lasti, &instruction))
		return fails(proof, "a frame cannot be read");
	code &= ~(uint64_t)layout->code_tag_mask;
	if (code != proof->code && !is_code(proof, code))
		return false;
	proof->code = code;
	if (!find_bytecode(proof, frame, code, &bytecode))
		return fails(proof, "a frame's bytecode cannot be read");
	lasti = (int64_t)(instruction - bytecode);
	if (lasti < -CODE_UNIT || lasti >= (int64_t)proof->units * CODE_UNIT || lasti % CODE_UNIT)
		return fails(proof, "an instruction is not in its code");
	return read_at(proof, &firstlineno, sizeof(firstlineno), code + layout->code_firstlineno) &&
	       has_lines(proof, code, firstlineno, lasti);
}

/* What a chain ends with: nothing, or a base frame, which has no previous one. */
static bool is_end(struct proof *proof, uint64_t frame, uint64_t base)
{
	uint64_t previous = 0;

	if (frame != base || (base && (!read_u64(proof, base + proof->layout->frame_back, &previous) || previous)))
		return fails(proof, "a chain of frames does not end");
	return true;
}

bool python_proof(const struct memory *memory, const struct py_layout *layout, uint64_t tstate, size_t *frames,
		  const char **why)
{
	struct proof proof = {.memory = memory, .layout = layout};
	uint64_t frame = 0, base = 0;
	size_t count = 0, steps, shims = 0;
	bool holds = read_u64(&proof, tstate + layout->tstate_frame, &frame);
	uint8_t owner;

	if (layout->tstate_base_frame != PY_NO_OFFSET)
		holds = holds && read_u64(&proof, tstate + layout->tstate_base_frame, &base) && base;
	if (!holds)
		fails(&proof, "a thread state cannot be read");
	for (steps = 0; holds && frame && frame != base; steps++) {
		holds = steps < STEPS_MAX && !(frame & 7) &&
			read_at(&proof, &owner, sizeof(owner), frame + layout->frame_entry);
		if (!holds) {
			fails(&proof, "a chain of frames does not end");
			break;
		}
		shims = owner >= layout->shim_owner ? shims + 1 : 0;
		count += !shims;
		holds = shims || is_frame(&proof, frame);
		if (holds && !read_u64(&proof, frame + layout->frame_back, &frame))
			holds = fails(&proof, "a frame cannot be read");
	}
	holds = holds && is_end(&proof, frame, base);
	if (holds && count && shims != 1)
		holds = fails(&proof, "a thread's oldest frame is not the first of a loop");
	*frames = count;
	*why = holds ? NULL : proof.why;
	return holds && count;
}
