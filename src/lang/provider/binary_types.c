// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Types are converted when they are asked for, a record's fields when one of them is. Records that look the same in
 * several compile units are one type here: C has no other notion of what `struct foo` of two files have in common.
 *
 * DWARF may say anything: sizes are checked against each other, types that contain themselves are cut, and nothing is
 * followed deeper than DEPTH_MAX.
 */
#include "lang/provider/binary_types.h"

#include <dwarf.h>
#include <stdio.h>
#include <string.h>
#include <xxhash.h>

#include "base/table.h"
#include "lang/provider/binary.h"

#define DEPTH_MAX   32
#define MEMBERS_MAX 65536

struct binary {
	struct binary *next;
	const char *path;
	struct debug_info *info; /* NULL: there is none */
	const char *why;
	struct elf_file *elf;
	struct foreign_file *file;
	struct types_source source; /* completes its records */
	struct compiler *c;
	struct table made;    /* an entry's address → struct type * */
	struct table records; /* hash of what a record looks like → struct type * */
	struct table names;   /* hash of a name → the text */
	unsigned int nesting; /* of records that are being completed */
};

/* A record, and where it is described. */
struct binary_record {
	struct type type; /* the first member */
	Dwarf_Die die;
	bool is_busy;
};

/* A place in the binary, which decides what unit is asked first. */
struct place {
	struct types_source source;
	struct compiler *c;
	const char *path;
	uint64_t offset;
	struct binary *binary;
	struct debug_unit unit;
	bool is_open, has_unit;
};

static const struct type *convert(struct binary *b, Dwarf_Die *die, const char *alias, unsigned int depth);

static uint64_t hash_of(const void *bytes, size_t size, uint64_t seed)
{
	uint64_t value = XXH3_64bits_withSeed(bytes, size, seed);

	return value ? value : 1;
}

/* One copy of each, so that equal names are equal pointers. */
static const char *intern(struct binary *b, const char *name, uint64_t seed)
{
	uint64_t key, found;
	const char *copy;

	if (!name || !*name)
		return NULL;
	key = hash_of(name, strlen(name), seed);
	if (table_get(&b->names, key, &found))
		return (const char *)(uintptr_t)found;
	copy = arena_strdup(b->c->arena, name, strlen(name));
	if (!copy || table_set(&b->names, key, (uint64_t)(uintptr_t)copy))
		b->c->arena->failed = true;
	return copy;
}

/* --- conversion --- */

static const struct type *convert_base(Dwarf_Die *die)
{
	uint64_t encoding = 0, size = 0;
	const char *name = die_name(die);

	die_number(die, DW_AT_encoding, &encoding);
	if (!die_size(die, &size) || (size != 1 && size != 2 && size != 4 && size != 8))
		return &type_none;
	switch (encoding) {
	case DW_ATE_boolean:
		return size == 1 ? &type_bool : type_integer((uint32_t)size, false);
	case DW_ATE_signed_char:
	case DW_ATE_unsigned_char:
		if (size == 1 && name && !strcmp(name, "char"))
			return &type_char;
		return type_integer((uint32_t)size, encoding == DW_ATE_signed_char);
	case DW_ATE_signed:
		return type_integer((uint32_t)size, true);
	case DW_ATE_unsigned:
	case DW_ATE_address:
	case DW_ATE_UTF:
		return type_integer((uint32_t)size, false);
	default:
		return &type_none;
	}
}

struct enumerators {
	struct binary *b;
	VEC(struct type_value) values;
	bool has_negative;
};

static bool add_enumerator(void *context, Dwarf_Die *child)
{
	struct enumerators *all = context;
	struct type_value value = {};
	uint64_t number;

	if (dwarf_tag(child) != DW_TAG_enumerator || !die_number(child, DW_AT_const_value, &number))
		return true;
	value.name = intern(all->b, die_name(child), 0);
	value.value = (int64_t)number;
	all->has_negative |= value.value < 0;
	if (value.name && vec_push(&all->values, value))
		all->b->c->arena->failed = true;
	return all->values.count < MEMBERS_MAX && !all->b->c->arena->failed;
}

static const struct type *convert_enum(struct binary *b, Dwarf_Die *die, const char *alias)
{
	struct type *type = arena_new(b->c->arena, struct type);
	struct enumerators all = {.b = b};
	const char *name = die_name(die);
	struct type_value *values;
	uint64_t size = 0, encoding = 0;
	Dwarf_Die below;

	if (!type || !die_size(die, &size) || (size != 1 && size != 2 && size != 4 && size != 8))
		return &type_none;
	die_children(die, add_enumerator, &all);
	if (!die_number(die, DW_AT_encoding, &encoding) && die_type(die, &below) && die_peel(&below, &below))
		die_number(&below, DW_AT_encoding, &encoding);
	*type = *type_integer((uint32_t)size, encoding ? encoding == DW_ATE_signed || encoding == DW_ATE_signed_char
						       : all.has_negative);
	values = arena_array(b->c->arena, struct type_value, all.values.count + 1);
	if (values && all.values.count)
		memcpy(values, all.values.at, all.values.count * sizeof(*values));
	type->values = values;
	type->value_count = values ? (uint32_t)all.values.count : 0;
	type->name = intern(b, name ? name : alias, DW_TAG_enumeration_type);
	vec_free(&all.values);
	return type;
}

static const struct type *convert_array(struct binary *b, Dwarf_Die *die, unsigned int depth)
{
	uint64_t dimensions[DIE_DIMENSIONS_MAX];
	const struct type *type;
	size_t count, i;
	Dwarf_Die inner;

	if (!die_type(die, &inner))
		return &type_none;
	type = convert(b, &inner, NULL, depth + 1);
	count = die_dimensions(die, dimensions);
	for (i = count; i-- > 0;) {
		if (type->kind == TYPE_NONE || (type->size && dimensions[i] > DIE_SIZE_MAX / type->size))
			return &type_none;
		type = type_array(b->c->arena, type, (uint32_t)dimensions[i]);
	}
	return count ? type : type_array(b->c->arena, type, 0);
}

static uint64_t mix(uint64_t hash, const char *name, uint64_t number)
{
	hash = hash_of(&number, sizeof(number), hash);
	return name ? hash_of(name, strlen(name), hash) : hash;
}

static bool mix_member(void *context, Dwarf_Die *child)
{
	static const unsigned int attributes[] = {DW_AT_data_member_location, DW_AT_data_bit_offset, DW_AT_bit_offset,
						  DW_AT_bit_size};
	uint64_t *hash = context, number, size = 0;
	Dwarf_Die type;
	size_t i;

	*hash = mix(*hash, die_name(child), (uint64_t)dwarf_tag(child));
	for (i = 0; i < sizeof(attributes) / sizeof(attributes[0]); i++)
		*hash = mix(*hash, NULL, die_number(child, attributes[i], &number) ? number : UINT64_MAX);
	if (die_type(child, &type)) {
		die_size(&type, &size);
		*hash = mix(*hash, die_name(&type), (uint64_t)dwarf_tag(&type) << 32 ^ size);
	}
	return true;
}

static const struct type *convert_record(struct binary *b, Dwarf_Die *die, const char *alias)
{
	const char *name = die_name(die);
	struct binary_record *record;
	uint64_t size = 0, hash, found;
	int tag = dwarf_tag(die);

	if (!die_size(die, &size) && !die_flag(die, DW_AT_declaration))
		size = 0;
	name = name ? name : alias;
	hash = mix(size, name, (uint64_t)tag);
	die_children(die, mix_member, &hash);
	if (name && table_get(&b->records, hash, &found))
		return (const struct type *)(uintptr_t)found;
	record = arena_new(b->c->arena, struct binary_record);
	if (!record)
		return &type_none;
	*record = (struct binary_record){.type = {.kind = TYPE_RECORD,
						  .size = (uint32_t)size,
						  .align = 8,
						  .name = intern(b, name, hash),
						  .is_union = tag == DW_TAG_union_type,
						  .is_incomplete = true,
						  .source = &b->source},
					 .die = *die};
	if (name && table_set(&b->records, hash, (uint64_t)(uintptr_t)record))
		b->c->arena->failed = true;
	return &record->type;
}

static const struct type *convert_new(struct binary *b, Dwarf_Die *die, const char *alias, unsigned int depth)
{
	Dwarf_Die inner;

	switch (dwarf_tag(die)) {
	case DW_TAG_base_type:
		return convert_base(die);
	case DW_TAG_pointer_type:
	case DW_TAG_reference_type:
	case DW_TAG_rvalue_reference_type:
		return type_pointer(b->c->arena,
				    die_type(die, &inner) ? convert(b, &inner, NULL, depth + 1) : &type_none);
	case DW_TAG_structure_type:
	case DW_TAG_class_type:
	case DW_TAG_union_type:
		return convert_record(b, die, alias);
	case DW_TAG_enumeration_type:
		return convert_enum(b, die, alias);
	case DW_TAG_array_type:
		return convert_array(b, die, depth);
	case DW_TAG_typedef:
		return die_type(die, &inner) ? convert(b, &inner, die_name(die), depth + 1) : &type_none;
	case DW_TAG_const_type:
	case DW_TAG_volatile_type:
	case DW_TAG_restrict_type:
	case DW_TAG_atomic_type:
		return die_type(die, &inner) ? convert(b, &inner, alias, depth + 1) : &type_none;
	default:
		return &type_none;
	}
}

/* `alias`: the typedef that names a type which has no name. */
static const struct type *convert(struct binary *b, Dwarf_Die *die, const char *alias, unsigned int depth)
{
	uint64_t key = (uint64_t)(uintptr_t)die->addr, found;
	const struct type *type;

	if (!key || depth > DEPTH_MAX)
		return &type_none;
	if (table_get(&b->made, key, &found))
		return (const struct type *)(uintptr_t)found;
	type = convert_new(b, die, alias, depth);
	if (table_set(&b->made, key, (uint64_t)(uintptr_t)type))
		b->c->arena->failed = true;
	return type;
}

const struct type *binary_type(struct compiler *c, struct binary *binary, Dwarf_Die *die)
{
	(void)c;
	return convert(binary, die, NULL, 0);
}

/* --- fields --- */

struct members {
	struct binary *b;
	uint32_t size; /* of the record */
	VEC(struct type_field) fields;
};

/* DWARF 2 has an expression, which adds to the address of the record. */
static bool member_offset(Dwarf_Die *member, uint64_t *ret)
{
	Dwarf_Attribute attribute;
	Dwarf_Op *ops;
	size_t count;

	*ret = 0;
	if (!dwarf_attr_integrate(member, DW_AT_data_member_location, &attribute) ||
	    die_number(member, DW_AT_data_member_location, ret))
		return true;
	if (dwarf_getlocation(&attribute, &ops, &count) || count != 1 || ops[0].atom != DW_OP_plus_uconst)
		return false; /* of a virtual base class: known at run time only */
	*ret = ops[0].number;
	return true;
}

/* Where a bit field begins, in bits from the record's first one. Up to DWARF 3 it is counted from its unit's highest.
 */
static uint64_t first_bit(Dwarf_Die *member, uint64_t offset, uint64_t bits, uint32_t unit)
{
	uint64_t bit, size;

	if (die_number(member, DW_AT_data_bit_offset, &bit))
		return bit;
	if (!die_number(member, DW_AT_bit_offset, &bit))
		return offset * 8;
	if (!die_number(member, DW_AT_byte_size, &size))
		size = unit;
	return offset * 8 + size * 8 - bit - bits;
}

/* As BTF's in lang/kernel/kernel_types.c; one that crosses its type's units is read by a wider one. */
static bool set_bits(struct type_field *field, uint64_t bit, uint64_t bits)
{
	uint32_t unit = field->type->size * 8, size;

	if (!bits || bits > 64 || bit > 8ull * DIE_SIZE_MAX || !type_is_number(field->type) || bits > unit)
		return false;
	field->offset = (uint32_t)(bit / unit * field->type->size);
	field->bit_offset = (uint8_t)(bit % unit);
	field->bit_size = (uint8_t)bits;
	if (bit % unit + bits <= unit)
		return true;
	field->offset = (uint32_t)(bit / 8);
	field->bit_offset = (uint8_t)(bit % 8);
	for (size = 1; size < 8 && bit % 8 + bits > size * 8; size *= 2)
		;
	field->type = type_integer(size, field->type->is_signed);
	return bit % 8 + bits <= 64;
}

static bool complete_record(struct binary *b, struct binary_record *record);

static bool add_member(void *context, Dwarf_Die *child)
{
	struct members *members = context;
	struct type_field field = {};
	uint64_t offset, bits;
	Dwarf_Die type;
	int tag = dwarf_tag(child);

	if ((tag != DW_TAG_member && tag != DW_TAG_inheritance) || die_flag(child, DW_AT_external) ||
	    die_flag(child, DW_AT_declaration) || !die_type(child, &type))
		return true;
	field.name = tag == DW_TAG_member ? intern(members->b, die_name(child), 0) : NULL;
	field.type = convert(members->b, &type, NULL, 0);
	/* A record that would hold itself, or something larger, has no value. */
	if (field.type->kind == TYPE_RECORD && field.type->is_incomplete &&
	    !complete_record(members->b, (struct binary_record *)field.type))
		field.type = &type_none;
	if (!member_offset(child, &offset) || offset > members->size)
		return true;
	field.offset = (uint32_t)offset;
	if ((die_number(child, DW_AT_bit_size, &bits) &&
	     !set_bits(&field, first_bit(child, offset, bits, field.type->size), bits)) ||
	    field.type->size > members->size || field.offset > members->size - field.type->size)
		field = (struct type_field){.name = field.name, .type = &type_none};
	if (vec_push(&members->fields, field))
		members->b->c->arena->failed = true;
	return members->fields.count < MEMBERS_MAX && !members->b->c->arena->failed;
}

/* Of what is only declared in its unit the definition is looked for in the others. */
static bool find_definition(struct binary *b, struct binary_record *record)
{
	const char *name = record->type.name, *full;
	uint64_t size;

	if (!die_flag(&record->die, DW_AT_declaration))
		return true;
	full = name ? arena_printf(b->c->arena, "%s %s", record->type.is_union ? "union" : "struct", name) : NULL;
	if (!full || !debug_info_type(b->info, NULL, full, &record->die) || !die_size(&record->die, &size))
		return false;
	record->type.size = (uint32_t)size;
	return true;
}

static bool complete_record(struct binary *b, struct binary_record *record)
{
	struct members members = {.b = b};
	struct type_field *fields;

	if (!record->type.is_incomplete)
		return true;
	if (record->is_busy || b->nesting >= DEPTH_MAX || !b->info || !find_definition(b, record))
		return false;
	record->is_busy = true;
	b->nesting++;
	members.size = record->type.size;
	die_children(&record->die, add_member, &members);
	b->nesting--;
	record->is_busy = false;
	fields = arena_array(b->c->arena, struct type_field, members.fields.count + 1);
	if (fields && members.fields.count)
		memcpy(fields, members.fields.at, members.fields.count * sizeof(*fields));
	record->type.fields = fields;
	record->type.field_count = fields ? (uint32_t)members.fields.count : 0;
	record->type.is_incomplete = false;
	vec_free(&members.fields);
	return true;
}

static bool complete(void *context, struct types *types, struct type *record)
{
	(void)types;
	return complete_record(context, (struct binary_record *)record);
}

/* --- as text --- */

static const char *text_of(struct compiler *c, Dwarf_Die *die, unsigned int depth)
{
	static const struct {
		int tag;
		const char *before, *behind;
	} forms[] = {
		{DW_TAG_pointer_type, "", "*"},           {DW_TAG_reference_type, "", "&"},
		{DW_TAG_rvalue_reference_type, "", "&&"}, {DW_TAG_const_type, "const ", ""},
		{DW_TAG_volatile_type, "volatile ", ""},  {DW_TAG_restrict_type, "", " restrict"},
		{DW_TAG_atomic_type, "_Atomic ", ""},     {DW_TAG_array_type, "", "[]"},
	};
	const char *name = die_name(die), *prefix = "", *inner = "void";
	int tag = dwarf_tag(die);
	Dwarf_Die type;
	size_t i;

	if (depth > DEPTH_MAX)
		return "...";
	for (i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
		if (forms[i].tag != tag)
			continue;
		if (die_type(die, &type))
			inner = text_of(c, &type, depth + 1);
		/* A pointer that is constant, as against a pointer to what is. */
		if (tag == DW_TAG_const_type && inner[0] && inner[strlen(inner) - 1] == '*')
			return arena_printf(c->arena, "%s const", inner);
		return arena_printf(c->arena, "%s%s%s", forms[i].before, inner, forms[i].behind);
	}
	if (tag == DW_TAG_structure_type)
		prefix = "struct ";
	else if (tag == DW_TAG_union_type)
		prefix = "union ";
	else if (tag == DW_TAG_enumeration_type)
		prefix = "enum ";
	else if (tag == DW_TAG_class_type)
		prefix = "class ";
	else if (tag == DW_TAG_subroutine_type)
		return "function";
	return arena_printf(c->arena, "%s%s", prefix, name && *name ? name : "<anonymous>");
}

const char *binary_type_text(struct compiler *c, Dwarf_Die *die)
{
	const char *text = text_of(c, die, 0);

	return text ? text : "";
}

/* --- files, and places in them --- */

/* That of another mount namespace's process, where the file is one of its. */
static const char *root_of(struct compiler *c, const char *path)
{
	int pid, length = 0;

	if (sscanf(path, "/proc/%d/root%n", &pid, &length) != 1 || !length || path[length] != '/')
		return "";
	return arena_strdup(c->arena, path, (size_t)length);
}

static void open_info(struct compiler *c, struct binary *b)
{
	const struct debug_info_options options = {.root = root_of(c, b->path), .folders = c->options->debug_folders};
	struct diag diag = {};

	if (binary_open(c, b->path, &b->file) || elf_file_open_foreign(b->file, b->path, &b->elf, &diag)) {
		b->elf = NULL;
		b->why = "the file cannot be read";
		return;
	}
	if (debug_info_open(b->elf, &options, &b->info, &diag)) {
		b->info = NULL;
		b->why = arena_strdup(c->arena, diag.text, strlen(diag.text));
	}
}

struct binary *binary_of(struct compiler *c, const char *path, struct debug_info *info)
{
	struct binary *b = arena_new(c->arena, struct binary); /* its records refer to it, also when it is closed */

	if (!b)
		return NULL;
	*b = (struct binary){
		.next = c->binaries, .path = path, .info = info, .c = c, .source = {b, NULL, complete, NULL}};
	c->binaries = b;
	return b;
}

static struct binary *find_binary(struct compiler *c, const char *path)
{
	struct binary *b;

	for (b = c->binaries; b; b = b->next)
		if (!strcmp(b->path, path))
			return b;
	b = binary_of(c, path, NULL);
	if (b)
		open_info(c, b);
	return b;
}

struct binary *binary_debug_info(struct compiler *c, const char *path, uint64_t *vaddr, const char **why)
{
	struct binary *b = find_binary(c, path);

	if (b && b->info) {
		if (vaddr && !elf_file_vaddr_of_offset(b->elf, *vaddr, vaddr))
			*vaddr = 0;
		return b;
	}
	if (why)
		*why = b && b->why ? b->why : "out of memory";
	return NULL;
}

struct debug_info *binary_info(struct binary *binary)
{
	return binary->info;
}

static bool open_place(struct place *place)
{
	Dwarf_Die function;
	uint64_t vaddr = place->offset;

	if (!place->is_open) {
		place->is_open = true;
		place->binary = binary_debug_info(place->c, place->path, &vaddr, NULL);
		place->has_unit =
			place->binary && (debug_info_function(place->binary->info, vaddr, &place->unit, &function) ||
					  place->unit.die.addr);
	}
	return place->binary && place->binary->info;
}

static const struct type *find(void *context, struct types *types, const char *name)
{
	struct place *place = context;
	Dwarf_Die die;

	(void)types;
	if (!open_place(place) ||
	    !debug_info_type(place->binary->info, place->has_unit ? &place->unit : NULL, name, &die))
		return NULL;
	return convert(place->binary, &die, NULL, 0);
}

static const struct type *find_constant(void *context, struct types *types, const char *name, int64_t *ret)
{
	struct place *place = context;
	Dwarf_Die die;

	(void)types;
	if (!open_place(place) || !place->has_unit || !debug_info_constant(&place->unit, name, &die, ret))
		return NULL;
	return convert(place->binary, &die, NULL, 0);
}

const struct types_source *binary_types(struct compiler *c, const char *path, uint64_t offset)
{
	struct place *place = arena_new(c->arena, struct place);

	if (!place)
		return NULL;
	*place = (struct place){.source = {place, find, NULL, find_constant}, .c = c, .path = path, .offset = offset};
	return &place->source;
}

void binary_types_close(struct compiler *c)
{
	struct binary *b;

	for (b = c->binaries; b; b = b->next) {
		debug_info_close(b->info);
		b->info = NULL;
		if (b->elf)
			elf_file_close(b->elf);
		foreign_close(b->file);
		table_deinit(&b->made);
		table_deinit(&b->records);
		table_deinit(&b->names);
	}
	c->binaries = NULL;
}
