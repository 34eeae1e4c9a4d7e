// SPDX-License-Identifier: GPL-2.0-or-later
/* C declarations at the beginning of a script, and in headers: struct, union and enum types, and typedefs. */
#include <string.h>

#include "lang/dialect/bpftrace/parse/parts.h"

struct layout {
	VEC(struct type_field) fields;
	uint32_t size, align;
	uint32_t bits; /* taken in the current unit of bit fields */
	uint32_t unit; /* where that unit begins */
	uint32_t unit_size;
	uint32_t least_align; /* of __attribute__((aligned)) */
	bool is_union;
};

static const struct type *record(struct parser *p, bool is_union);
static const struct type *enumeration(struct parser *p);
static bool attributes(struct parser *p, struct layout *layout);

/* In a header of the kernel: does its BTF know this type? */
static bool is_kernels(struct parser *p, const char *name)
{
	const struct type *known = p->yields ? types_find(p->types, name) : NULL;

	return known && !(known->kind == TYPE_RECORD && known->is_incomplete);
}

static const struct type *base_type(struct parser *p)
{
	const struct type *type;
	struct type_name *name;
	struct parser saved = *p;

	while (parser_accept_word(p, "const") || parser_accept_word(p, "volatile"))
		;
	if (parser_is_word(p, "struct") || parser_is_word(p, "union")) {
		bool is_union = parser_is_word(p, "union");
		struct token word = parser_take(p);
		struct token name_token = p->token;
		const char *full;

		if (name_token.kind == TOKEN_NAME)
			parser_take(p);
		if (parser_is(p, "{")) {
			parser_rewind(p, &saved);
			while (parser_accept_word(p, "const") || parser_accept_word(p, "volatile"))
				;
			return record(p, is_union);
		}
		full = arena_printf(p->arena, "%s %s", word.text, name_token.text);
		type = full ? types_find(p->types, full) : NULL;
		return type ? type : full ? types_declare(p->types, full, is_union) : &type_none;
	}
	if (parser_is_word(p, "enum"))
		return enumeration(p);
	/* The stars belong to each declarator. */
	name = parse_type_name(p);
	if (!name)
		return &type_none;
	type = types_find(p->types, name->name);
	if (!type && !strcmp(name->name, "float"))
		type = &type_none;
	if (!type) {
		report_error(p->report, "type.unknown", name->span, "%s is no known type", name->name);
		report_hint(p->report, "declare it, or use one of the kernel's");
		type = &type_none;
	}
	{
		uint32_t i;

		for (i = 0; i < name->suffix_count; i++)
			type = type_pointer(p->arena, type);
	}
	return type;
}

static void align_to(struct layout *layout, uint32_t align)
{
	if (!align)
		align = 1;
	if (align > layout->align)
		layout->align = align;
	layout->size = (layout->size + align - 1) & ~(align - 1);
}

static void place(struct parser *p, struct layout *layout, const char *name, const struct type *type)
{
	struct type_field field = {.name = name, .type = type};

	layout->bits = layout->unit_size = 0;
	if (layout->is_union) {
		if (type->align > layout->align)
			layout->align = type->align;
		if (type->size > layout->size)
			layout->size = type->size;
	} else {
		align_to(layout, type->align);
		field.offset = layout->size;
		layout->size += type->size;
	}
	if (vec_push(&layout->fields, field))
		p->arena->failed = true;
	if (layout->size > 1u << 20) {
		report_error(p->report, "type.size", p->token.span, "the type is larger than 1 MiB");
		layout->size = 0;
		p->stop = true;
	}
}

/* Bit fields as gcc lays them out on little-endian machines: in units of their type, which they do not cross. */
static void place_bits(struct parser *p, struct layout *layout, const char *name, const struct type *type,
		       uint64_t bits)
{
	struct type_field field = {.name = name, .type = type, .bit_size = (uint8_t)bits};
	uint32_t unit_bits = type->size * 8, position;

	if (type->kind != TYPE_INT || bits > unit_bits) {
		report_error(p->report, "type.bitfield", p->token.span,
			     "a bit field of %llu bits does not fit its type", (unsigned long long)bits);
		return;
	}
	if (type->align > layout->align)
		layout->align = type->align;
	position = layout->unit_size ? layout->unit * 8 + layout->bits : layout->size * 8;
	if (!bits || position / unit_bits != (position + (uint32_t)bits - 1) / unit_bits)
		position = (position + unit_bits - 1) / unit_bits * unit_bits;
	field.offset = position / unit_bits * type->size;
	field.bit_offset = (uint8_t)(position % unit_bits);
	if (bits && vec_push(&layout->fields, field))
		p->arena->failed = true;
	position += (uint32_t)bits;
	layout->unit = 0;
	layout->bits = position;
	layout->unit_size = 1;
	if ((position + 7) / 8 > layout->size)
		layout->size = (position + 7) / 8;
}

static const struct type *declarator(struct parser *p, const struct type *type, const char **name)
{
	uint32_t counts[8], count = 0;

	while (parser_accept(p, "*")) {
		type = type_pointer(p->arena, type);
		while (parser_accept_word(p, "const") || parser_accept_word(p, "volatile"))
			;
	}
	if (parser_is(p, "(")) { /* a pointer to a function, or to an array */
		unsigned int depth = 0;

		parser_take(p);
		parser_accept(p, "*");
		*name = p->token.kind == TOKEN_NAME ? parser_take(p).text : NULL;
		parser_expect(p, ")");
		if (parser_is(p, "(")) {
			do {
				depth += parser_is(p, "(");
				depth -= parser_is(p, ")");
				parser_take(p);
			} while (depth && !p->stop && p->token.kind != TOKEN_END);
		}
		return &type_void_pointer;
	}
	*name = p->token.kind == TOKEN_NAME ? parser_take(p).text : NULL;
	while (parser_accept(p, "[")) {
		int64_t elements = 0;

		if (!parser_is(p, "]"))
			parse_constant(p, &elements);
		parser_expect(p, "]");
		if (count == 8 || elements < 0 || elements > 65536) {
			report_error(p->report, "type.array", p->token.span, "an array like this is too large");
			p->stop = true;
			return type;
		}
		counts[count++] = (uint32_t)elements;
	}
	while (count-- > 0)
		type = type_array(p->arena, type, counts[count]);
	return type;
}

static void member(struct parser *p, struct layout *layout)
{
	const struct type *base = base_type(p);

	if (parser_accept(p, ";")) {
		if (base->kind == TYPE_RECORD)
			place(p, layout, NULL, base);
		return;
	}
	do {
		const char *name;
		const struct type *type = declarator(p, base, &name);

		if (parser_accept(p, ":")) {
			int64_t bits;

			if (parse_constant(p, &bits))
				place_bits(p, layout, name, type, (uint64_t)bits);
		} else {
			attributes(p, NULL);
			place(p, layout, name, type);
		}
	} while (!p->stop && parser_accept(p, ","));
	if (!parser_is(p, "}"))
		parser_expect(p, ";");
}

/* __attribute__((packed, aligned(8))), of which there may be several; others do not matter here. */
static bool attributes(struct parser *p, struct layout *layout)
{
	bool packed = false;

	while (parser_accept_word(p, "__attribute__")) {
		unsigned int depth = 0;

		do {
			bool aligned = parser_is_word(p, "aligned") || parser_is_word(p, "__aligned__");
			int64_t value;

			packed |= parser_is_word(p, "packed") || parser_is_word(p, "__packed__");
			depth += parser_is(p, "(");
			depth -= parser_is(p, ")");
			parser_take(p);
			if (!aligned || !layout || !parser_accept(p, "("))
				continue;
			if (parse_constant(p, &value) && value > 0 && value <= 4096 && !(value & (value - 1)))
				layout->least_align = (uint32_t)value;
			parser_expect(p, ")");
		} while (depth && !p->stop && p->token.kind != TOKEN_END);
	}
	return packed;
}

/* Without gaps, also between bit fields. */
static void pack(struct parser *p, struct layout *layout)
{
	uint32_t bits = 0;
	size_t i;

	layout->align = 1;
	for (i = 0; !layout->is_union && i < layout->fields.count; i++) {
		struct type_field *field = &layout->fields.at[i];

		if (!field->bit_size)
			bits = (bits + 7) & ~7u;
		field->offset = bits / 8;
		field->bit_offset = bits % 8;
		if (field->bit_offset + field->bit_size > (int)field->type->size * 8)
			report_error(p->report, "type.bitfield", p->token.span,
				     "a packed bit field reaches over more bytes than its type has");
		bits += field->bit_size ? field->bit_size : field->type->size * 8;
	}
	if (!layout->is_union)
		layout->size = (bits + 7) / 8;
}

static const struct type *record(struct parser *p, bool is_union)
{
	struct layout layout = {.align = 1, .is_union = is_union};
	struct token word = parser_take(p);
	unsigned int errors = p->report->errors;
	struct type *type = NULL;
	struct type_field *fields;
	const char *name = NULL, *full = NULL;

	if (!parser_enter(p))
		return &type_none;
	attributes(p, &layout);
	if (p->token.kind == TOKEN_NAME)
		name = parser_take(p).text;
	if (name)
		full = arena_printf(p->arena, "%s %s", word.text, name);
	if (full && !is_kernels(p, full))
		type = types_declare(p->types, full, is_union);
	else
		type = arena_new(p->arena, struct type);
	parser_expect(p, "{");
	while (!p->stop && !parser_is(p, "}"))
		member(p, &layout);
	parser_expect(p, "}");
	if (attributes(p, &layout))
		pack(p, &layout);
	align_to(&layout, layout.align > layout.least_align ? layout.align : layout.least_align);
	fields = arena_array(p->arena, struct type_field, layout.fields.count + 1);
	if (type && fields && p->report->errors == errors) {
		if (layout.fields.count)
			memcpy(fields, layout.fields.at, layout.fields.count * sizeof(*fields));
		*type = (struct type){.kind = TYPE_RECORD,
				      .size = layout.size,
				      .align = layout.align,
				      .name = name,
				      .fields = fields,
				      .field_count = (uint32_t)layout.fields.count,
				      .is_union = is_union};
	}
	vec_free(&layout.fields);
	parser_leave(p);
	return type ? type : &type_none;
}

static const struct type *enumeration(struct parser *p)
{
	struct type *type = arena_new(p->arena, struct type);
	VEC(struct type_value) values = {};
	const char *name = "(anonymous)", *full;
	int64_t next = 0;

	parser_take(p);
	if (p->token.kind == TOKEN_NAME) {
		const struct type *known;

		name = parser_take(p).text;
		if (!parser_is(p, "{")) {
			known = types_find(p->types, arena_printf(p->arena, "enum %s", name));
			return known ? known : &type_uint32;
		}
	}
	if (!type) {
		p->stop = true;
		return &type_uint32;
	}
	parser_expect(p, "{");
	while (!p->stop && !parser_is(p, "}")) {
		struct type_value value = {.name = parser_expect_name(p, "a constant")};

		if (parser_accept(p, "="))
			parse_constant(p, &next);
		value.value = next++;
		if (vec_push(&values, value))
			p->arena->failed = true;
		types_define_constant(p->types, value.name, value.value, type);
		if (!parser_accept(p, ","))
			break;
	}
	parser_expect(p, "}");
	*type = type_uint64;
	type->name = name;
	type->values = arena_array(p->arena, struct type_value, values.count + 1);
	if (type->values && values.count)
		memcpy((void *)type->values, values.at, values.count * sizeof(*values.at));
	type->value_count = (uint32_t)values.count;
	vec_free(&values);
	full = arena_printf(p->arena, "enum %s", name);
	if (full && !is_kernels(p, full))
		types_define(p->types, full, type);
	return type;
}

static bool type_definition(struct parser *p)
{
	unsigned int errors = p->report->errors;
	const struct type *base;

	parser_take(p);
	base = base_type(p);
	do {
		const char *name;
		const struct type *type = declarator(p, base, &name);

		attributes(p, NULL);
		if (name && p->report->errors == errors && !is_kernels(p, name))
			types_define(p->types, name, type);
	} while (parser_accept(p, ","));
	parser_accept(p, ";");
	return true;
}

bool parse_declaration(struct parser *p)
{
	if (parser_is_word(p, "typedef"))
		return type_definition(p);
	if (parser_is_word(p, "struct") || parser_is_word(p, "union") || parser_is_word(p, "enum")) {
		base_type(p);
		parser_accept(p, ";");
		return true;
	}
	return false;
}
