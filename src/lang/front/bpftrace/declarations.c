// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * C declarations at the beginning of a script: struct, union and enum types, typedefs and #define of constants. An
 * #include of a kernel header is passed over: the kernel's types come from its BTF.
 */
#include <string.h>
#include <unistd.h>

#include "lang/front/bpftrace/parts.h"

struct layout {
	VEC(struct type_field) fields;
	uint32_t size, align;
	uint32_t bits; /* taken in the current unit of bit fields */
	uint32_t unit; /* where that unit begins */
	uint32_t unit_size;
	bool is_union;
};

static const struct type *record(struct parser *p, bool is_union);
static const struct type *enumeration(struct parser *p);

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
		uint64_t elements = 0;

		if (p->token.kind == TOKEN_NUMBER)
			elements = parser_take(p).value;
		parser_expect(p, "]");
		if (count == 8 || elements > 65536) {
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
			uint64_t bits = p->token.kind == TOKEN_NUMBER ? p->token.value : 0;

			parser_take(p);
			place_bits(p, layout, name, type, bits);
		} else {
			place(p, layout, name, type);
		}
	} while (!p->stop && parser_accept(p, ","));
	if (!parser_is(p, "}"))
		parser_expect(p, ";");
}

/* __attribute__((packed)), of which there may be several; others than packed do not matter here. */
static bool attributes(struct parser *p)
{
	bool packed = false;

	while (parser_accept_word(p, "__attribute__")) {
		unsigned int depth = 0;

		do {
			depth += parser_is(p, "(");
			depth -= parser_is(p, ")");
			packed |= parser_is_word(p, "packed") || parser_is_word(p, "__packed__");
			parser_take(p);
		} while (depth && !p->stop && p->token.kind != TOKEN_END);
	}
	return packed;
}

static void pack(struct parser *p, struct layout *layout)
{
	size_t i;

	layout->align = 1;
	for (i = 0; i < layout->fields.count; i++) {
		struct type_field *field = &layout->fields.at[i];

		if (field->bit_size)
			report_error(p->report, "type.bitfield", p->token.span,
				     "a packed struct has no bit fields here");
		if (!i && !layout->is_union)
			layout->size = 0;
		if (layout->is_union)
			continue;
		field->offset = layout->size;
		layout->size += field->type->size;
	}
}

static const struct type *record(struct parser *p, bool is_union)
{
	struct layout layout = {.align = 1, .is_union = is_union};
	struct token word = parser_take(p);
	struct type *type;
	struct type_field *fields;
	const char *name = NULL;

	if (!parser_enter(p))
		return &type_none;
	if (p->token.kind == TOKEN_NAME)
		name = parser_take(p).text;
	if (name)
		type = types_declare(p->types, arena_printf(p->arena, "%s %s", word.text, name), is_union);
	else
		type = arena_new(p->arena, struct type);
	parser_expect(p, "{");
	while (!p->stop && !parser_is(p, "}"))
		member(p, &layout);
	parser_expect(p, "}");
	if (attributes(p))
		pack(p, &layout);
	align_to(&layout, layout.align);
	fields = arena_array(p->arena, struct type_field, layout.fields.count + 1);
	if (type && fields) {
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
	const char *name = "(anonymous)";
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

		if (parser_accept(p, "=")) {
			bool minus = parser_accept(p, "-");

			next = p->token.kind == TOKEN_NUMBER ? (int64_t)p->token.value : 0;
			next = minus ? (int64_t)(0 - (uint64_t)next) : next;
			parser_take(p);
		}
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
	types_define(p->types, arena_printf(p->arena, "enum %s", name), type);
	return type;
}

/* Headers are not read. One that is nowhere is a mistake all the same; those of the kernel need not be there. */
static bool header_exists(const struct parser *p, const char *name, bool is_quoted)
{
	static const char *const kernel[] = {"linux", "asm",   "asm-generic", "uapi",   "net",   "crypto",
					     "drm",   "kvm",   "media",       "scsi",   "sound", "soc",
					     "trace", "video", "xen",         "rdma",   "acpi",  "block",
					     "keys",  "misc",  "ras",         "target", "vdso",  "generated"};
	static const char *const folders[] = {"/usr/include", "/usr/local/include", "/usr/include/x86_64-linux-gnu"};
	size_t length = strcspn(name, "/"), i;
	const char *slash = p->path ? strrchr(p->path, '/') : NULL;
	char path[512];

	for (i = 0; name[length] && i < sizeof(kernel) / sizeof(kernel[0]); i++)
		if (strlen(kernel[i]) == length && !strncmp(kernel[i], name, length))
			return true;
	for (i = 0; i < sizeof(folders) / sizeof(folders[0]); i++) {
		snprintf(path, sizeof(path), "%s/%s", folders[i], name);
		if (!access(path, F_OK))
			return true;
	}
	snprintf(path, sizeof(path), "%.*s%s", slash ? (int)(slash + 1 - p->path) : 0, slash ? p->path : "", name);
	return is_quoted && !access(path, F_OK);
}

static void include(struct parser *p, const char *line, struct span span)
{
	char quote, name[256];

	if (sscanf(strstr(line, "include") + 7, " %c%255[^\">\n]", &quote, name) != 2 ||
	    header_exists(p, name, quote == '"'))
		return;
	report_error(p->report, "parse.include", span, "'%s' file not found", name);
	report_hint(p->report, "headers are not read: types of the kernel are there without, others must be declared");
}

/* #define NAME NUMBER, #include; anything else is passed over up to the line's end. */
static void directive(struct parser *p)
{
	const char *source = p->report->source;
	uint32_t begin = p->token.span.begin, end = begin, at;
	char name[128], word[16];
	long long value;

	while (end < p->lexer.end && source[end] != '\n')
		end += source[end] == '\\' && end + 1 < p->lexer.end ? 2 : 1;
	if (end > p->lexer.end)
		end = p->lexer.end;
	{
		char *line = arena_strdup(p->arena, source + begin, end - begin);

		if (line && sscanf(line, "#%*[ \t]%15s", word) != 1 && sscanf(line, "#%15s", word) != 1)
			word[0] = '\0';
		if (line && !strcmp(word, "define") &&
		    sscanf(strstr(line, "define") + 6, " %127[A-Za-z0-9_] %lli", name, &value) == 2)
			types_define_constant(p->types, arena_strdup(p->arena, name, strlen(name)), value,
					      type_of_number((uint64_t)value, false));
		else if (line && !strcmp(word, "include"))
			include(p, line, (struct span){begin, end});
		else if (line && !strcmp(word, "define") &&
			 sscanf(strstr(line, "define") + 6, " %127[A-Za-z0-9_] %1s", name, word) == 2)
			report_warning(p->report, "parse.define", (struct span){begin, end},
				       "only constants can be defined; this line is passed over");
	}
	at = p->lexer.at;
	p->lexer.at = end > at ? end : at;
	p->lexer.at = end;
	parser_take(p);
}

static bool type_definition(struct parser *p)
{
	const struct type *type;
	const char *name;

	parser_take(p);
	type = base_type(p);
	type = declarator(p, type, &name);
	if (name)
		types_define(p->types, name, type);
	parser_accept(p, ";");
	return true;
}

bool parse_declaration(struct parser *p)
{
	if (parser_is(p, "#")) {
		directive(p);
		return true;
	}
	if (parser_is_word(p, "typedef"))
		return type_definition(p);
	if (parser_is_word(p, "struct") || parser_is_word(p, "union") || parser_is_word(p, "enum")) {
		base_type(p);
		parser_accept(p, ";");
		return true;
	}
	return false;
}
