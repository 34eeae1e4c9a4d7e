// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * BTF: Documentation/bpf/btf.rst of the kernel; structs of uapi/linux/btf.h. Type numbers count from 1, in the order of
 * the section. A first pass notes where each type begins; everything else is looked up from there. The numbers in BTF
 * are checked against the sections' sizes, because the file may as well be a wrong one.
 *
 * A module's BTF goes on where the kernel's ends: its first type has the number behind the kernel's last, its first
 * string the offset behind the kernel's strings. So do those of the next module. To be told apart, the numbers and
 * offsets of each are moved behind those of the modules that were read before, in our copy.
 */
#include "lang/kernel/kernel_types.h"

#include <fcntl.h>
#include <linux/btf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#include "base/table.h"

#define BTF_FOLDER  "/sys/kernel/btf"
#define DEPTH_MAX   32
#define MEMBERS_MAX 65536

/* What one file says. */
struct part {
	const char *name; /* the module; NULL: the kernel itself */
	uint8_t *bytes;
	size_t size;
	const char *strings;
	uint32_t strings_size, first_string; /* the offset by which its first string is known */
	uint32_t *offsets;                   /* of type number first + i + 1, in bytes */
	uint32_t count, first;
};

struct kernel_types {
	struct part kernel;
	VEC(struct part) modules;
	uint32_t count;         /* of types in all */
	struct table made;      /* number → struct type * */
	struct table functions; /* hash of a function's name → number */
	bool tried;
};

static bool read_file(struct part *k, const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat stat;
	size_t at = 0;
	ssize_t got = 1;

	if (fd < 0)
		return false;
	if (!fstat(fd, &stat) && stat.st_size > 0 && stat.st_size < 1 << 28) {
		k->size = (size_t)stat.st_size;
		k->bytes = malloc(k->size);
		while (k->bytes && at < k->size && got > 0) {
			got = read(fd, k->bytes + at, k->size - at);
			at += got > 0 ? (size_t)got : 0;
		}
	}
	close(fd);
	return k->bytes && at == k->size;
}

/* Bytes that follow a struct btf_type. */
static size_t tail(const struct btf_type *type)
{
	uint32_t count = BTF_INFO_VLEN(type->info);

	switch (BTF_INFO_KIND(type->info)) {
	case BTF_KIND_INT:
	case BTF_KIND_VAR:
	case BTF_KIND_DECL_TAG:
		return 4;
	case BTF_KIND_ARRAY:
		return sizeof(struct btf_array);
	case BTF_KIND_STRUCT:
	case BTF_KIND_UNION:
		return count * sizeof(struct btf_member);
	case BTF_KIND_ENUM:
		return count * sizeof(struct btf_enum);
	case BTF_KIND_ENUM64:
		return count * 12ull;
	case BTF_KIND_FUNC_PROTO:
		return count * sizeof(struct btf_param);
	case BTF_KIND_DATASEC:
		return count * sizeof(struct btf_var_secinfo);
	default:
		return 0;
	}
}

static bool index_types(struct part *k)
{
	const struct btf_header *header = (const void *)k->bytes;
	uint64_t at, end;
	uint32_t capacity = 0;

	if (k->size < sizeof(*header) || header->magic != BTF_MAGIC)
		return false;
	at = (uint64_t)header->hdr_len + header->type_off;
	end = at + header->type_len;
	if (end > k->size || (uint64_t)header->hdr_len + header->str_off + header->str_len > k->size ||
	    !header->str_len)
		return false;
	k->strings = (const char *)k->bytes + header->hdr_len + header->str_off;
	k->strings_size = header->str_len;
	if (k->strings[k->strings_size - 1])
		return false;
	while (at + sizeof(struct btf_type) <= end) {
		const struct btf_type *type = (const void *)(k->bytes + at);
		size_t size = sizeof(*type) + tail(type);

		if (at + size > end)
			return false;
		if (k->count == capacity) {
			uint32_t *more = reallocarray(k->offsets, capacity ? capacity * 2 : 1u << 17, sizeof(*more));

			if (!more)
				return false;
			k->offsets = more;
			capacity = capacity ? capacity * 2 : 1u << 17;
		}
		k->offsets[k->count++] = (uint32_t)at;
		at += size;
	}
	return true;
}

static bool ready(struct kernel_types *k)
{
	if (!k->tried) {
		k->tried = true;
		if (read_file(&k->kernel, BTF_FOLDER "/vmlinux") && index_types(&k->kernel))
			k->count = k->kernel.count;
	}
	return k->count > 0;
}

static const struct btf_type *type_at(const struct kernel_types *k, uint32_t number)
{
	const struct part *part = &k->kernel;
	size_t i;

	for (i = 0; number > part->first + part->count && i < k->modules.count; i++)
		part = &k->modules.at[i];
	return number && number <= k->count && number <= part->first + part->count
		       ? (const void *)(part->bytes + part->offsets[number - part->first - 1])
		       : NULL;
}

static const char *name_at(const struct kernel_types *k, uint32_t offset)
{
	const struct part *part = &k->kernel;
	size_t i;

	for (i = 0; offset - part->first_string >= part->strings_size && i < k->modules.count; i++)
		part = &k->modules.at[i];
	return offset - part->first_string < part->strings_size ? part->strings + (offset - part->first_string) : "";
}

/* By how much a module's own numbers and strings are moved. */
struct shift {
	uint32_t numbers, strings, first, first_string;
};

static void move_number(const struct shift *shift, uint32_t *number)
{
	*number += *number > shift->first ? shift->numbers : 0;
}

static void move_name(const struct shift *shift, uint32_t *offset)
{
	*offset += *offset >= shift->first_string ? shift->strings : 0;
}

static void move_type(const struct shift *shift, struct btf_type *type)
{
	struct btf_array *array = (void *)(type + 1);
	struct btf_member *members = (void *)(type + 1);
	struct btf_param *parameters = (void *)(type + 1);
	struct btf_var_secinfo *variables = (void *)(type + 1);
	unsigned int kind = BTF_INFO_KIND(type->info);
	uint32_t count = BTF_INFO_VLEN(type->info), i, *words = (void *)(type + 1);

	move_name(shift, &type->name_off);
	switch (kind) {
	case BTF_KIND_PTR:
	case BTF_KIND_TYPEDEF:
	case BTF_KIND_CONST:
	case BTF_KIND_VOLATILE:
	case BTF_KIND_RESTRICT:
	case BTF_KIND_FUNC:
	case BTF_KIND_VAR:
	case BTF_KIND_DECL_TAG:
	case BTF_KIND_TYPE_TAG:
	case BTF_KIND_FUNC_PROTO:
		move_number(shift, &type->type);
		break;
	case BTF_KIND_ARRAY:
		move_number(shift, &array->type);
		move_number(shift, &array->index_type);
		break;
	}
	for (i = 0; i < count; i++) {
		if (kind == BTF_KIND_STRUCT || kind == BTF_KIND_UNION) {
			move_name(shift, &members[i].name_off);
			move_number(shift, &members[i].type);
		} else if (kind == BTF_KIND_FUNC_PROTO) {
			move_name(shift, &parameters[i].name_off);
			move_number(shift, &parameters[i].type);
		} else if (kind == BTF_KIND_DATASEC) {
			move_number(shift, &variables[i].type);
		} else if (kind == BTF_KIND_ENUM || kind == BTF_KIND_ENUM64) {
			move_name(shift, &words[i * (kind == BTF_KIND_ENUM ? 2 : 3)]);
		}
	}
}

static const struct part *module_of(const struct kernel_types *k, const char *name)
{
	size_t i;

	for (i = 0; i < k->modules.count; i++)
		if (!strcmp(k->modules.at[i].name, name))
			return &k->modules.at[i];
	return NULL;
}

static void part_deinit(struct part *part)
{
	free(part->bytes);
	free(part->offsets);
}

bool kernel_types_add_module(struct types *types, const char *name, const char *path)
{
	struct kernel_types *k = types->source.context;
	struct part part = {.name = arena_strdup(types->arena, name, strlen(name))};
	const struct part *last;
	struct shift shift;
	uint32_t i;

	if (!k || !part.name || !ready(k))
		return false;
	if (module_of(k, name))
		return true;
	last = k->modules.count ? &k->modules.at[k->modules.count - 1] : &k->kernel;
	part.first = k->count;
	part.first_string = last->first_string + last->strings_size;
	shift = (struct shift){.numbers = part.first - k->kernel.count,
			       .strings = part.first_string - k->kernel.strings_size,
			       .first = k->kernel.count,
			       .first_string = k->kernel.strings_size};
	if (!read_file(&part, path) || !index_types(&part) || vec_push(&k->modules, part)) {
		part_deinit(&part);
		return false;
	}
	for (i = 0; i < part.count; i++)
		move_type(&shift, (void *)(part.bytes + part.offsets[i]));
	k->count += part.count;
	return true;
}

bool kernel_types_module(struct types *types, const char *name)
{
	char path[128];

	/* Names of modules are of letters, digits and _. */
	if (strchr(name, '/') || (size_t)snprintf(path, sizeof(path), BTF_FOLDER "/%s", name) >= sizeof(path))
		return false;
	return kernel_types_add_module(types, name, path);
}

/* The first with a number above `from`. */
static uint32_t find_beyond(const struct kernel_types *k, const char *name, uint32_t kinds, uint32_t from)
{
	uint32_t i;

	for (i = from + 1; i <= k->count; i++) {
		const struct btf_type *type = type_at(k, i);

		if ((kinds >> BTF_INFO_KIND(type->info) & 1) && !strcmp(name_at(k, type->name_off), name))
			return i;
	}
	return 0;
}

static uint32_t find_number(const struct kernel_types *k, const char *name, uint32_t kinds)
{
	return find_beyond(k, name, kinds, 0);
}

uint32_t kernel_types_function_number(struct types *types, const char *name)
{
	const struct kernel_types *k = types->source.context;
	uint32_t number = k && ready(types->source.context) ? find_number(k, name, 1u << BTF_KIND_FUNC) : 0;

	return number && number <= k->kernel.count ? number : 0;
}

static uint64_t hash(const char *name)
{
	uint64_t value = XXH3_64bits(name, strlen(name));

	return value ? value : 1;
}

/* Wildcards ask for thousands of them: the first question makes a table. */
static const struct btf_type *find_function(struct kernel_types *k, const char *name)
{
	const struct btf_type *type;
	uint64_t number;
	uint32_t i;

	if (!ready(k))
		return NULL;
	for (i = k->functions.count ? k->kernel.count + 1 : 1; i <= k->kernel.count; i++) {
		type = type_at(k, i);
		if (BTF_INFO_KIND(type->info) == BTF_KIND_FUNC &&
		    table_set(&k->functions, hash(name_at(k, type->name_off)), i))
			return NULL;
	}
	if (!table_get(&k->functions, hash(name), &number))
		return NULL;
	type = type_at(k, type_at(k, (uint32_t)number)->type);
	return type && BTF_INFO_KIND(type->info) == BTF_KIND_FUNC_PROTO ? type : NULL;
}

static const struct btf_type *find_function_of(struct kernel_types *k, const char *module, const char *name)
{
	const struct part *part = ready(k) ? module_of(k, module) : NULL;
	const struct btf_type *type;
	uint32_t i;

	for (i = 0; part && i < part->count; i++) {
		type = (const void *)(part->bytes + part->offsets[i]);
		if (BTF_INFO_KIND(type->info) != BTF_KIND_FUNC || strcmp(name_at(k, type->name_off), name))
			continue;
		type = type_at(k, type->type);
		return type && BTF_INFO_KIND(type->info) == BTF_KIND_FUNC_PROTO ? type : NULL;
	}
	return NULL;
}

static const struct type *convert(struct kernel_types *k, struct types *types, uint32_t number, unsigned int depth);

static const struct type *convert_enum(struct kernel_types *k, struct types *types, const struct btf_type *from)
{
	bool is_wide = BTF_INFO_KIND(from->info) == BTF_KIND_ENUM64;
	uint32_t count = BTF_INFO_VLEN(from->info), i;
	struct type_value *values = arena_array(types->arena, struct type_value, count + 1);
	struct type *type = arena_new(types->arena, struct type);
	const uint32_t *words = (const void *)(from + 1);

	if (!type || !values)
		return &type_uint32;
	for (i = 0; i < count; i++, words += is_wide ? 3 : 2) {
		values[i].name = name_at(k, words[0]);
		values[i].value = is_wide ? (int64_t)((uint64_t)words[2] << 32 | words[1]) : (int32_t)words[1];
	}
	*type = *type_integer(from->size, BTF_INFO_KFLAG(from->info));
	type->name = name_at(k, from->name_off);
	type->values = values;
	type->value_count = count;
	return type;
}

static const struct type *convert_record(struct kernel_types *k, struct types *types, const struct btf_type *from,
					 uint32_t number)
{
	struct type *type = arena_new(types->arena, struct type);

	if (!type)
		return &type_none;
	/* Its fields are made when they are asked for; until then `count` is its number. */
	*type = (struct type){.kind = TYPE_RECORD,
			      .size = from->size,
			      .align = 8,
			      .name = name_at(k, from->name_off),
			      .is_union = BTF_INFO_KIND(from->info) == BTF_KIND_UNION,
			      .is_incomplete = true,
			      .count = number};
	if (!*type->name)
		type->name = NULL;
	return type;
}

static const struct type *convert_new(struct kernel_types *k, struct types *types, uint32_t number, unsigned int depth)
{
	const struct btf_type *from = type_at(k, number);
	const struct btf_array *array;
	uint32_t encoding, beyond;

	if (!from)
		return &type_none;
	switch (BTF_INFO_KIND(from->info)) {
	case BTF_KIND_INT:
		encoding = *(const uint32_t *)(from + 1);
		if (BTF_INT_ENCODING(encoding) & BTF_INT_BOOL)
			return &type_bool;
		if (from->size == 1 && !strcmp(name_at(k, from->name_off), "char"))
			return &type_char;
		return from->size > 8 ? &type_none
				      : type_integer(from->size, BTF_INT_ENCODING(encoding) & BTF_INT_SIGNED);
	case BTF_KIND_PTR:
		return type_pointer(types->arena, convert(k, types, from->type, depth + 1));
	case BTF_KIND_ARRAY:
		array = (const void *)(from + 1);
		return type_array(types->arena, convert(k, types, array->type, depth + 1), array->nelems & 0xffffff);
	case BTF_KIND_STRUCT:
	case BTF_KIND_UNION:
		return convert_record(k, types, from, number);
	case BTF_KIND_ENUM:
	case BTF_KIND_ENUM64:
		return convert_enum(k, types, from);
	case BTF_KIND_FWD:
		/* The kernel's own BTF may only know of a module's structure that there is one. */
		beyond = find_beyond(k, name_at(k, from->name_off),
				     1u << (BTF_INFO_KFLAG(from->info) ? BTF_KIND_UNION : BTF_KIND_STRUCT),
				     k->kernel.count);
		return beyond ? convert(k, types, beyond, depth + 1) : &type_none;
	case BTF_KIND_TYPEDEF:
	case BTF_KIND_CONST:
	case BTF_KIND_VOLATILE:
	case BTF_KIND_RESTRICT:
	case BTF_KIND_TYPE_TAG:
		return convert(k, types, from->type, depth + 1);
	default:
		return &type_none;
	}
}

static const struct type *convert(struct kernel_types *k, struct types *types, uint32_t number, unsigned int depth)
{
	const struct type *type;
	uint64_t found;

	if (!number || depth > DEPTH_MAX)
		return &type_none;
	if (table_get(&k->made, number, &found))
		return (const struct type *)(uintptr_t)found;
	type = convert_new(k, types, number, depth);
	if (table_set(&k->made, number, (uint64_t)(uintptr_t)type))
		types->arena->failed = true;
	return type;
}

/* Whether the type is a pointer, perhaps with const and volatile of its own. */
static bool is_pointer(const struct kernel_types *k, uint32_t number)
{
	const struct btf_type *type = type_at(k, number);
	unsigned int depth;

	for (depth = 0; type && depth < DEPTH_MAX; depth++, type = type_at(k, type->type)) {
		if (BTF_INFO_KIND(type->info) != BTF_KIND_CONST && BTF_INFO_KIND(type->info) != BTF_KIND_VOLATILE &&
		    BTF_INFO_KIND(type->info) != BTF_KIND_RESTRICT)
			return BTF_INFO_KIND(type->info) == BTF_KIND_PTR;
	}
	return false;
}

/* Puts the type as C writes it behind what is in `ret`, without a name: char *[4]; char *const. */
static void spell(const struct kernel_types *k, uint32_t number, unsigned int depth, char *ret, size_t size)
{
	const struct btf_type *type = type_at(k, number);
	const struct btf_array *array = (const void *)(type + 1);
	const char *name = type ? name_at(k, type->name_off) : "void";
	size_t length;

	if (depth > DEPTH_MAX)
		return;
	switch (type ? BTF_INFO_KIND(type->info) : BTF_KIND_UNKN) {
	case BTF_KIND_PTR:
		spell(k, type->type, depth + 1, ret, size);
		length = strlen(ret);
		snprintf(ret + length, size - length, length && ret[length - 1] == '*' ? "*" : " *");
		break;
	case BTF_KIND_ARRAY:
		spell(k, array->type, depth + 1, ret, size);
		length = strlen(ret);
		snprintf(ret + length, size - length, length && ret[length - 1] == ']' ? "[%u]" : " [%u]",
			 array->nelems);
		break;
	case BTF_KIND_CONST:
	case BTF_KIND_VOLATILE:
		name = BTF_INFO_KIND(type->info) == BTF_KIND_CONST ? "const" : "volatile";
		if (is_pointer(k, type->type)) {
			spell(k, type->type, depth + 1, ret, size);
			length = strlen(ret);
			snprintf(ret + length, size - length, "%s%s", length && ret[length - 1] == '*' ? "" : " ",
				 name);
			break;
		}
		snprintf(ret + strlen(ret), size - strlen(ret), "%s ", name);
		spell(k, type->type, depth + 1, ret, size);
		break;
	case BTF_KIND_RESTRICT:
	case BTF_KIND_TYPE_TAG:
		spell(k, type->type, depth + 1, ret, size);
		break;
	case BTF_KIND_FUNC_PROTO:
		spell(k, type->type, depth + 1, ret, size);
		snprintf(ret + strlen(ret), size - strlen(ret), " ()");
		break;
	case BTF_KIND_STRUCT:
	case BTF_KIND_UNION:
	case BTF_KIND_ENUM:
	case BTF_KIND_ENUM64:
	case BTF_KIND_FWD:
		snprintf(ret + strlen(ret), size - strlen(ret), "%s%s%s",
			 BTF_INFO_KIND(type->info) == BTF_KIND_UNION ? "union"
			 : BTF_INFO_KIND(type->info) == BTF_KIND_ENUM || BTF_INFO_KIND(type->info) == BTF_KIND_ENUM64
				 ? "enum"
			 : BTF_INFO_KIND(type->info) == BTF_KIND_FWD && BTF_INFO_KFLAG(type->info) ? "union"
												   : "struct",
			 *name ? " " : "", name);
		break;
	default:
		snprintf(ret + strlen(ret), size - strlen(ret), "%s", name);
	}
}

static const char *spelled(const struct kernel_types *k, struct types *types, uint32_t number)
{
	char text[256] = "";

	spell(k, number, 0, text, sizeof(text));
	return arena_strdup(types->arena, text, strlen(text));
}

static const struct type *find(void *context, struct types *types, const char *name)
{
	static const struct {
		const char *prefix;
		uint32_t kinds;
	} prefixes[] = {
		{"struct ", 1u << BTF_KIND_STRUCT},
		{"union ", 1u << BTF_KIND_UNION},
		{"enum ", 1u << BTF_KIND_ENUM | 1u << BTF_KIND_ENUM64},
		{"", 1u << BTF_KIND_TYPEDEF},
	};
	struct kernel_types *k = context;
	uint32_t number;
	size_t i;

	for (i = 0; strncmp(name, prefixes[i].prefix, strlen(prefixes[i].prefix)); i++)
		;
	if (!ready(k))
		return NULL;
	number = find_number(k, name + strlen(prefixes[i].prefix), prefixes[i].kinds);
	return number ? convert(k, types, number, 0) : NULL;
}

static bool complete(void *context, struct types *types, struct type *record)
{
	struct kernel_types *k = context;
	const struct btf_type *from = ready(k) ? type_at(k, record->count) : NULL;
	const struct btf_member *member;
	struct type_field *fields;
	uint32_t count, i;

	if (!from || !record->count ||
	    (BTF_INFO_KIND(from->info) != BTF_KIND_STRUCT && BTF_INFO_KIND(from->info) != BTF_KIND_UNION))
		return false;
	count = BTF_INFO_VLEN(from->info);
	member = (const void *)(from + 1);
	fields = arena_array(types->arena, struct type_field, count + 1);
	if (!fields || count > MEMBERS_MAX)
		return false;
	for (i = 0; i < count; i++, member++) {
		bool has_bits = BTF_INFO_KFLAG(from->info);
		uint32_t bit = has_bits ? BTF_MEMBER_BIT_OFFSET(member->offset) : member->offset;
		uint32_t bits = has_bits ? BTF_MEMBER_BITFIELD_SIZE(member->offset) : 0;
		const struct type *type = convert(k, types, member->type, 0);

		fields[i] = (struct type_field){.name = name_at(k, member->name_off),
						.type = type,
						.offset = bit / 8,
						.spelled = spelled(k, types, member->type)};
		if (bits && type->size) {
			uint32_t unit = type->size * 8;

			fields[i].offset = bit / unit * type->size;
			fields[i].bit_offset = (uint8_t)(bit % unit);
			fields[i].bit_size = (uint8_t)bits;
		}
	}
	record->fields = fields;
	record->field_count = count;
	record->is_incomplete = false;
	record->count = 0;
	return true;
}

static const struct type *find_constant(void *context, struct types *types, const char *name, int64_t *ret)
{
	struct kernel_types *k = context;
	uint32_t i, j;

	if (!ready(k))
		return NULL;
	for (i = 1; i <= k->count; i++) {
		const struct btf_type *from = type_at(k, i);
		bool is_wide = BTF_INFO_KIND(from->info) == BTF_KIND_ENUM64;
		const uint32_t *words = (const void *)(from + 1);

		if (!is_wide && BTF_INFO_KIND(from->info) != BTF_KIND_ENUM)
			continue;
		for (j = 0; j < BTF_INFO_VLEN(from->info); j++, words += is_wide ? 3 : 2) {
			if (strcmp(name_at(k, words[0]), name))
				continue;
			*ret = is_wide ? (int64_t)((uint64_t)words[2] << 32 | words[1]) : (int32_t)words[1];
			return convert(k, types, i, 0);
		}
	}
	return NULL;
}

void kernel_types_attach(struct types *types)
{
	struct kernel_types *k = calloc(1, sizeof(*k));

	if (k)
		types->source = (struct types_source){k, find, complete, find_constant};
	else
		types->arena->failed = true;
}

void kernel_types_detach(struct types *types)
{
	struct kernel_types *k = types->source.context;
	size_t i;

	if (!k)
		return;
	table_deinit(&k->made);
	table_deinit(&k->functions);
	part_deinit(&k->kernel);
	for (i = 0; i < k->modules.count; i++)
		part_deinit(&k->modules.at[i]);
	vec_free(&k->modules);
	free(k);
	types->source = (struct types_source){};
}

/*
 * The function type of a tracepoint. btf_trace_NAME is a typedef of a pointer to one, whose parameters have no names;
 * they have in the functions that call the programs, by which they are found where those are there
 * (include/linux/tracepoint.h). The first parameter is the tracer's own.
 */
static const struct btf_type *tracepoint_function(struct kernel_types *k, const char *name, uint32_t number)
{
	static const char *const prefixes[] = {"__probestub_", "__traceiter_"};
	const struct btf_type *from;
	char full[256];
	size_t i;

	for (i = 0; i < 2; i++) {
		snprintf(full, sizeof(full), "%s%s", prefixes[i], name);
		from = find_function(k, full);
		if (from)
			return from;
	}
	from = type_at(k, type_at(k, number)->type);
	from = from ? type_at(k, from->type) : NULL;
	return from && BTF_INFO_KIND(from->info) == BTF_KIND_FUNC_PROTO ? from : NULL;
}

static const char *declare(const struct kernel_types *k, struct types *types, uint32_t number, const char *name)
{
	return types->declares ? arena_printf(types->arena, "%s %s", spelled(k, types, number), name) : NULL;
}

/*
 * The parameters of a function type from the `first` on, as a record of 8-byte words. A struct that is passed by value
 * takes as many words as it has (kernel/bpf/btf.c, get_ctx_arg_idx()).
 */
static const struct type *parameters_record(struct kernel_types *k, struct types *types, const struct btf_type *proto,
					    uint32_t first, const char *name)
{
	uint32_t count = BTF_INFO_VLEN(proto->info), i;
	const struct btf_param *parameters = (const void *)(proto + 1);
	struct type_field *fields = arena_array(types->arena, struct type_field, count + 1);
	struct type *record = arena_new(types->arena, struct type);

	if (!fields || !record)
		return NULL;
	*record = (struct type){.kind = TYPE_RECORD, .align = 8, .name = name, .fields = fields};
	for (i = first; i < count; i++) {
		const struct type *type = convert(k, types, parameters[i].type, 0);

		fields[record->field_count++] = (struct type_field){
			.name = name_at(k, parameters[i].name_off),
			.type = type,
			.offset = record->size,
			.declaration = declare(k, types, parameters[i].type, name_at(k, parameters[i].name_off))};
		record->size += type->size ? (type->size + 7) & ~7u : 8;
	}
	return record;
}

const struct type *kernel_types_tracepoint(struct types *types, const char *name, bool *is_known)
{
	struct kernel_types *k = types->source.context;
	const struct btf_type *from;
	char full[256];
	uint32_t number;

	if (is_known)
		*is_known = false;
	if (!k || !ready(k) || (size_t)snprintf(full, sizeof(full), "btf_trace_%s", name) >= sizeof(full))
		return NULL;
	number = find_number(k, full, 1u << BTF_KIND_TYPEDEF);
	if (!number)
		return NULL;
	if (is_known)
		*is_known = true;
	from = tracepoint_function(k, name, number);
	return from ? parameters_record(k, types, from, 1, name) : NULL;
}

const struct type *kernel_types_function(struct types *types, const char *module, const char *name,
					 struct type_field *result)
{
	struct kernel_types *k = types->source.context;
	bool is_kernel = !strcmp(module, "vmlinux");
	const struct btf_type *from = !k          ? NULL
				      : is_kernel ? find_function(k, name)
						  : find_function_of(k, module, name);
	const struct type *record = from ? parameters_record(k, types, from, 0, name) : NULL;

	if (record)
		*result = (struct type_field){.name = "retval",
					      .type = convert(k, types, from->type, 0),
					      .offset = record->size,
					      .declaration = declare(k, types, from->type, "retval")};
	return record;
}

uint32_t kernel_types_per_cpu(struct types *types, const char *name, const struct type **ret)
{
	struct kernel_types *k = types->source.context;
	uint32_t section = k && ready(k) ? find_number(k, ".data..percpu", 1u << BTF_KIND_DATASEC) : 0, i;
	const struct btf_type *from = type_at(k, section), *variable;
	const struct btf_var_secinfo *entry = (const void *)(from + 1);

	for (i = 0; from && i < BTF_INFO_VLEN(from->info); i++) {
		variable = type_at(k, entry[i].type);
		if (!variable || strcmp(name_at(k, variable->name_off), name))
			continue;
		*ret = convert(k, types, variable->type, 0);
		return entry[i].type;
	}
	return 0;
}

static void each_name(struct types *types, unsigned int kind, const char *prefix,
		      void (*each)(void *context, const char *name), void *context)
{
	struct kernel_types *k = types->source.context;
	uint32_t i;

	if (!k || !ready(k))
		return;
	for (i = 1; i <= k->count; i++) {
		const struct btf_type *type = type_at(k, i);
		const char *name = name_at(k, type->name_off);

		if (BTF_INFO_KIND(type->info) == kind && !strncmp(name, prefix, strlen(prefix)))
			each(context, name + strlen(prefix));
	}
}

void kernel_types_each_tracepoint(struct types *types, void (*each)(void *context, const char *name), void *context)
{
	each_name(types, BTF_KIND_TYPEDEF, "btf_trace_", each, context);
}

void kernel_types_each_record(struct types *types, const char *prefix, void (*each)(void *context, const char *name),
			      void *context)
{
	each_name(types, BTF_KIND_STRUCT, prefix, each, context);
}
