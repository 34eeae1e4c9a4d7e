// SPDX-License-Identifier: GPL-2.0-or-later
#include "runtime/python/coroutines.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/python/lines.h"

#define STACK_MAX  65536u     /* values on a stack */
#define TABLE_MAX  (1u << 20) /* bytes of a line table */
#define YIELD_FROM 72         /* Include/opcode.h, v3.6.15 to v3.10.13 */

static int add_frame(struct py_chain *chain, const char *function, const char *file, int line)
{
	struct runtime_task_frame frame = {
		.function = strdup(function), .file = file ? strdup(file) : NULL, .line = line};

	if (!frame.function || (file && !frame.file) || vec_push(&chain->frames, frame)) {
		free(frame.function);
		free(frame.file);
		return -ENOMEM;
	}
	return 0;
}

void py_chain_deinit(struct py_chain *chain)
{
	size_t i;

	for (i = 0; i < chain->frames.count; i++) {
		free(chain->frames.at[i].function);
		free(chain->frames.at[i].file);
	}
	vec_free(&chain->frames);
}

/* Where the instruction lies that a frame is at, from the start of its bytecode. */
static bool read_position(struct py_reader *reader, uint64_t frame, uint64_t code, int *ret)
{
	const struct py_layout *layout = reader->layout;
	uint64_t at, base = code + layout->code_bytecode, copies;
	int32_t index;

	if (layout->lasti != PY_LASTI_POINTER) {
		if (!py_read(reader, &index, sizeof(index), frame + layout->frame_lasti))
			return false;
		*ret = layout->lasti == PY_LASTI_UNITS ? (int)((uint32_t)index << 1) : index;
		return true;
	}
	if (!py_read_u64(reader, frame + layout->frame_lasti, &at))
		return false;
	if (layout->code_tlbc != PY_NO_OFFSET) {
		if (!py_read(reader, &index, sizeof(index), frame + layout->frame_tlbc_index) ||
		    !py_read_u64(reader, code + layout->code_tlbc, &copies))
			return false;
		if (index > 0 && !py_read_u64(reader, copies + 8 + 8ull * (uint32_t)index, &base))
			return false;
	}
	*ret = (int)(at - base);
	return true;
}

static int read_line(struct py_reader *reader, uint64_t code, int position)
{
	const struct py_layout *layout = reader->layout;
	uint64_t table, size;
	uint8_t *bytes;
	int32_t first;
	int line = 0;

	if (!py_read(reader, &first, sizeof(first), code + layout->code_firstlineno) ||
	    !py_read_u64(reader, code + layout->code_linetable, &table) ||
	    !py_read_u64(reader, table + layout->bytes_size, &size) || size > TABLE_MAX)
		return 0;
	bytes = malloc(size + 1);
	if (bytes && py_read(reader, bytes, size, table + layout->bytes_data))
		line = python_line(layout->version, bytes, size, first, position);
	free(bytes);
	return line;
}

static bool read_code(struct py_reader *reader, uint64_t frame, uint64_t *ret)
{
	const struct py_type *type;
	uint64_t code;

	if (!py_read_u64(reader, frame + reader->layout->frame_code, &code))
		return false;
	code &= ~(uint64_t)reader->layout->code_tag_mask;
	type = py_type_of(reader, code);
	if (!type || type->kind != PY_CODE)
		return false;
	*ret = code;
	return true;
}

static bool ends_with(const char *text, const char *end)
{
	size_t length = strlen(text), size = strlen(end);

	return length >= size && !strcmp(text + length - size, end);
}

int py_chain_add(struct py_reader *reader, uint64_t frame, struct py_chain *chain)
{
	const struct py_layout *layout = reader->layout;
	struct py_text file, function;
	uint64_t code, name;
	int position;

	if (!read_code(reader, frame, &code) || !read_position(reader, frame, code, &position) ||
	    !py_read_u64(reader, code + layout->code_filename, &name) || !py_read_str(reader, name, &file) ||
	    !py_read_u64(reader,
			 code + (layout->code_qualname != PY_NO_OFFSET ? layout->code_qualname : layout->code_name),
			 &name) ||
	    !py_read_str(reader, name, &function))
		return add_frame(chain, "[unreadable function]", NULL, 0);
	if (!ends_with(file.bytes, "/asyncio/futures.py")) {
		chain->teller = chain->frames.count;
		chain->innermost = frame;
		chain->qualname = function;
	}
	return add_frame(chain, function.bytes, file.bytes, read_line(reader, code, position));
}

/* --- what a suspended one awaits --- */

static enum py_coroutine_state state_of(uint16_t version, int8_t state)
{
	/* enum _framestate: Include/internal/pycore_frame.h, v3.11.7, v3.13.0, v3.15.0. */
	int starts = version < 0x030d ? -2 : version < 0x030f ? -3 : 0;
	int runs = version < 0x030f ? 0 : 4;

	if (state == starts)
		return PY_COROUTINE_STARTS;
	if (state == runs)
		return PY_COROUTINE_RUNS;
	return state > starts && state < runs ? PY_COROUTINE_SUSPENDED : PY_COROUTINE_ENDED;
}

/* Up to 3.10: the top of a frame's stack, as far as it is told. */
static bool read_top_old(struct py_reader *reader, uint64_t frame, uint64_t *ret)
{
	const struct py_layout *layout = reader->layout;
	int32_t depth;

	if (layout->version < 0x030a)
		return py_read_u64(reader, frame + layout->frame_stack, ret) && *ret; /* f_stacktop */
	/* f_valuestack is two pointers in front of f_stackdepth. */
	if (!py_read_u64(reader, frame + layout->frame_stack - 16, ret) ||
	    !py_read(reader, &depth, sizeof(depth), frame + layout->frame_stack) || depth <= 0 ||
	    (uint32_t)depth > STACK_MAX)
		return false;
	*ret += 8ull * (uint32_t)depth;
	return true;
}

static uint64_t awaited_old(struct py_reader *reader, uint64_t frame)
{
	const struct py_layout *layout = reader->layout;
	uint64_t code, bytes, top, awaited;
	int position;
	uint8_t next;

	/* co_code, co_consts, co_names, co_varnames */
	if (!read_code(reader, frame, &code) || !read_position(reader, frame, code, &position) || position < 0 ||
	    !py_read_u64(reader, code + reader->objects->code_names - 24, &bytes) ||
	    !py_read(reader, &next, sizeof(next), bytes + layout->bytes_data + (uint32_t)position + 2) ||
	    next != YIELD_FROM || !read_top_old(reader, frame, &top) || !py_read_u64(reader, top - 8, &awaited))
		return 0;
	return awaited;
}

/* 3.11, 3.12: the operand of the RESUME behind the instruction at which it is suspended. */
static bool awaits_by_code(struct py_reader *reader, uint64_t frame)
{
	uint64_t at;
	uint8_t operand;

	return py_read_u64(reader, frame + reader->layout->frame_lasti, &at) &&
	       py_read(reader, &operand, sizeof(operand), at + 3) && (operand & 3) >= 2;
}

static uint64_t awaited_new(struct py_reader *reader, uint64_t frame, int8_t state)
{
	const struct py_objects *objects = reader->objects;
	uint16_t version = reader->layout->version;
	uint64_t top, awaited;
	uint32_t depth;

	if (version < 0x030d   ? !awaits_by_code(reader, frame)
	    : version < 0x030f ? state != -1
			       : state != 2 && state != 3)
		return 0;
	if (version < 0x030e) {
		if (!py_read(reader, &depth, sizeof(depth), frame + objects->frame_top) || !depth || depth > STACK_MAX)
			return 0;
		top = frame + objects->frame_locals + 8ull * depth;
	} else if (!py_read_u64(reader, frame + objects->frame_top, &top) || top < frame + objects->frame_locals ||
		   top - frame > 8ull * STACK_MAX) {
		return 0;
	}
	if (!py_read_u64(reader, top - (version < 0x030f ? 8 : 16), &awaited))
		return 0;
	return awaited & ~(uint64_t)objects->value_tag_mask;
}

/* Adds one of the interpreter's own to the chain. */
static int add_coroutine(struct py_reader *reader, uint64_t object, struct py_chain *chain)
{
	const struct py_objects *objects = reader->objects;
	bool is_new = objects->gen_state != PY_NO_OFFSET;
	uint64_t frame = object + objects->gen_frame, name;
	enum py_coroutine_state state;
	int8_t told = 0;
	int32_t lasti;
	int err;

	chain->awaits = 0;
	if (is_new) {
		if (!py_read(reader, &told, sizeof(told), object + objects->gen_state))
			return add_frame(chain, "[unreadable coroutine]", NULL, 0);
		state = state_of(reader->layout->version, told);
	} else {
		if (!py_read_u64(reader, frame, &frame) ||
		    (frame && !py_read(reader, &lasti, sizeof(lasti), frame + reader->layout->frame_lasti)))
			return add_frame(chain, "[unreadable coroutine]", NULL, 0);
		state = !frame ? PY_COROUTINE_ENDED : lasti < 0 ? PY_COROUTINE_STARTS : PY_COROUTINE_SUSPENDED;
	}
	if (!chain->outermost) {
		chain->state = state;
		chain->outermost = state == PY_COROUTINE_ENDED ? 0 : frame;
	}
	if (state == PY_COROUTINE_ENDED)
		return 0;
	err = py_chain_add(reader, frame, chain);
	if (!err && !is_new && chain->teller == chain->frames.count - 1 &&
	    py_read_u64(reader, object + objects->gen_qualname, &name) && !py_read_str(reader, name, &chain->qualname))
		chain->qualname = (struct py_text){};
	if (state == PY_COROUTINE_SUSPENDED)
		chain->awaits = is_new ? awaited_new(reader, frame, told) : awaited_old(reader, frame);
	return err;
}

static int add_unknown(struct py_reader *reader, uint64_t object, struct py_chain *chain)
{
	const struct py_type *type = py_type_of(reader, object);
	char mark[PY_TEXT_MAX + 32];

	snprintf(mark, sizeof(mark), "[%s]", type ? type->name.bytes : "unreadable coroutine");
	return add_frame(chain, mark, NULL, 0);
}

int py_chain_read(struct py_reader *reader, struct py_classes *classes, uint64_t coroutine, struct py_chain *ret)
{
	uint64_t head = reader->layout->bytes_size, object = coroutine;
	unsigned int steps;
	int err = 0;

	*ret = (struct py_chain){.state = PY_COROUTINE_SUSPENDED};
	for (steps = 0; !err && object; steps++) {
		if (steps == 2 * PY_CHAIN_MAX || ret->frames.count == PY_CHAIN_MAX) {
			err = add_frame(ret, "[truncated: too many functions that wait]", NULL, 0);
			break;
		}
		switch (py_class_of(reader, classes, object)) {
		case PY_CLASS_GENERATOR:
			err = add_coroutine(reader, object, ret);
			object = ret->awaits;
			break;
		case PY_CLASS_AWAIT:
			if (!py_read_u64(reader, object + head, &object))
				object = 0;
			break;
		case PY_CLASS_FUTURE_ITER:
			if (!py_read_u64(reader, object + head, &ret->awaits))
				ret->awaits = 0;
			object = 0;
			break;
		default:
			ret->awaits = object;
			if (object == coroutine)
				err = add_unknown(reader, object, ret);
			object = 0;
		}
	}
	return err;
}

uint64_t py_frame_slot(struct py_reader *reader, uint64_t frame, uint32_t slot)
{
	uint64_t value;

	if (!frame || !py_read_u64(reader, frame + reader->objects->frame_locals + 8ull * slot, &value))
		return 0;
	value &= ~(uint64_t)reader->objects->value_tag_mask;
	return value;
}
