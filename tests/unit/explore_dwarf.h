/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Asks everything of an image's DWARF, whatever its bytes are, for tests and the fuzz target: answers must agree. */
#ifndef STRATA_TESTS_EXPLORE_DWARF_H
#define STRATA_TESTS_EXPLORE_DWARF_H

#include <dwarf.h>
#include <string.h>

#include "dwarf/lines.h"
#include "dwarf/parameters.h"
#include "dwarf/source.h"
#include "lang/compile.h"
#include "lang/provider/binary_types.h"

#define EXPLORE_UNITS     8u
#define EXPLORE_FUNCTIONS 64u

struct exploration {
	struct compiler c;
	struct arena arena;
	struct report report;
	struct compile_options options;
	struct debug_info *info;
	struct binary *binary;
	struct debug_unit unit;
	uint32_t functions, parameters, fields, lines;
	bool is_wrong; /* an answer contradicts itself */
};

/* Each field lies in its record. */
static void explore_type(struct exploration *x, const struct type *type, unsigned int depth)
{
	uint32_t i;

	while (type->kind == TYPE_POINTER || type->kind == TYPE_ARRAY) {
		if (++depth > 40)
			return;
		if (type->kind == TYPE_ARRAY && type->to->size && type->count &&
		    type->size / type->count != type->to->size)
			x->is_wrong = true;
		type = type->to;
	}
	if (type->kind != TYPE_RECORD || depth > 6 || !types_complete(&x->c.types, type))
		return;
	for (i = 0; i < type->field_count && x->fields < 4096; i++) {
		const struct type_field *field = &type->fields[i];

		x->fields++;
		x->is_wrong |= (uint64_t)field->offset + field->type->size > type->size;
		x->is_wrong |= field->bit_size && field->bit_offset + field->bit_size > field->type->size * 8;
		explore_type(x, field->type, depth + 1);
	}
}

/* All inlined frames of a function's first bytes. */
static void explore_source(struct exploration *x, uint64_t vaddr)
{
	struct source_frame frames[SOURCE_FRAMES_MAX];
	size_t count, i;
	uint64_t at;

	for (at = vaddr; at < vaddr + 64; at += 7) {
		count = debug_info_source(x->info, at, frames);
		x->is_wrong |= count > SOURCE_FRAMES_MAX || (count && frames[count - 1].function);
		for (i = 0; i < count; i++)
			x->is_wrong |= frames[i].line > INT32_MAX;
	}
}

static bool explore_entry(void *context, Dwarf_Die *die)
{
	struct formal_parameter parameters[PARAMETERS_MAX];
	struct exploration *x = context;
	struct debug_unit unit;
	Dwarf_Addr entry = 0;
	Dwarf_Die function;
	size_t count, i;

	switch (dwarf_tag(die)) {
	case DW_TAG_structure_type:
	case DW_TAG_union_type:
	case DW_TAG_class_type:
	case DW_TAG_typedef:
	case DW_TAG_enumeration_type:
	case DW_TAG_array_type:
		explore_type(x, binary_type(&x->c, x->binary, die), 0);
		x->is_wrong |= !*binary_type_text(&x->c, die);
		return !x->arena.failed;
	case DW_TAG_subprogram:
		break;
	default:
		return true;
	}
	if (x->functions++ > EXPLORE_FUNCTIONS)
		return false;
	if (!dwarf_entrypc(die, &entry)) {
		debug_info_function(x->info, entry, &unit, &function);
		explore_source(x, entry);
	}
	count = debug_info_parameters(&x->unit, die, entry, x->functions % 3, parameters);
	for (i = 0; i < count; i++) {
		x->parameters++;
		x->is_wrong |= parameters[i].place == PLACE_MISSING && !parameters[i].missing;
		x->is_wrong |= parameters[i].place == PLACE_REGISTERS &&
			       (!parameters[i].register_count || parameters[i].register_count > 2);
		if (parameters[i].has_type)
			explore_type(x, binary_type(&x->c, x->binary, &parameters[i].type), 0);
	}
	return true;
}

static void explore_lines(struct exploration *x)
{
	static const char *const files[] = {"callees.c", "a.c", "/x/y.h"};
	struct line_place place;
	uint32_t line;
	size_t i;

	for (i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		for (line = 1; line < 40; line += 6) {
			enum line_answer answer = debug_info_line(x->info, files[i], line, line % 2, &place);

			x->lines += answer == LINE_FOUND;
			x->is_wrong |= answer == LINE_FOUND && (!place.vaddr || !place.file);
			x->is_wrong |= answer == LINE_AMBIGUOUS && (!place.other || !place.file);
		}
	}
}

/* False when libdw finds no DWARF there. `bytes` may be changed. */
static bool explore_dwarf(struct exploration *x, void *bytes, size_t size)
{
	static const char *const names[] = {"struct node", "union node", "enum colour", "named", "struct x"};
	struct debug_unit unit;
	Dwarf_Die die;
	uint64_t at = 0;
	int64_t value;
	uint32_t i;

	memset(x, 0, sizeof(*x));
	if (debug_info_open_memory(bytes, size, &x->info, NULL))
		return false;
	report_init(&x->report, &x->arena, "explore", "", 0);
	compiler_init(&x->c, &x->arena, &x->report, &x->options);
	x->binary = binary_of(&x->c, "explore", x->info);
	for (i = 0; x->binary && i < EXPLORE_UNITS && debug_info_unit(x->info, &at, &x->unit); i++) {
		die_children(&x->unit.die, explore_entry, x);
		debug_info_constant(&x->unit, "GREEN", &die, &value);
		debug_info_function_named(&x->unit, "main", &die);
	}
	for (i = 0; x->binary && i < sizeof(names) / sizeof(names[0]); i++)
		if (debug_info_type(x->info, NULL, names[i], &die))
			explore_type(x, binary_type(&x->c, x->binary, &die), 0);
	debug_info_function(x->info, 0x1000, &unit, &die);
	explore_lines(x);
	compiler_deinit(&x->c);
	report_deinit(&x->report);
	arena_deinit(&x->arena);
	return true;
}

#endif
