// SPDX-License-Identifier: GPL-2.0-or-later
#include "lang/core/types.h"

#include <string.h>

#include "lang/core/syscalls.h"

void types_init(struct types *types, struct arena *arena)
{
	*types = (struct types){.arena = arena};
}

void types_deinit(struct types *types)
{
	vec_free(&types->named);
	vec_free(&types->constants);
}

const struct type *types_builtin(const char *name)
{
	static const struct {
		const char *name;
		const struct type *type;
	} all[] = {
		{"uint8", &type_uint8},      {"int8", &type_int8},       {"uint16", &type_uint16},
		{"int16", &type_int16},      {"uint32", &type_uint32},   {"int32", &type_int32},
		{"uint64", &type_uint64},    {"int64", &type_int64},     {"bool", &type_bool},
		{"void", &type_none},        {"char", &type_char},       {"short", &type_int16},
		{"int", &type_int32},        {"long", &type_int64},      {"unsigned", &type_uint32},
		{"signed", &type_int32},     {"uint8_t", &type_uint8},   {"int8_t", &type_int8},
		{"uint16_t", &type_uint16},  {"int16_t", &type_int16},   {"uint32_t", &type_uint32},
		{"int32_t", &type_int32},    {"uint64_t", &type_uint64}, {"int64_t", &type_int64},
		{"size_t", &type_uint64},    {"ssize_t", &type_int64},   {"__u8", &type_uint8},
		{"__s8", &type_int8},        {"__u16", &type_uint16},    {"__s16", &type_int16},
		{"__u32", &type_uint32},     {"__s32", &type_int32},     {"__u64", &type_uint64},
		{"__s64", &type_int64},      {"u8", &type_uint8},        {"s8", &type_int8},
		{"u16", &type_uint16},       {"s16", &type_int16},       {"u32", &type_uint32},
		{"s32", &type_int32},        {"u64", &type_uint64},      {"s64", &type_int64},
		{"uintptr_t", &type_uint64}, {"intptr_t", &type_int64},  {"_Bool", &type_bool},
	};
	size_t i;

	for (i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		if (!strcmp(all[i].name, name))
			return all[i].type;
	return NULL;
}

static struct named_type *find_named(struct types *types, const char *name)
{
	size_t i;

	for (i = types->named.count; i-- > 0;)
		if (!strcmp(types->named.at[i].name, name))
			return &types->named.at[i];
	return NULL;
}

static void add_named(struct types *types, const char *name, struct type *type, bool is_found)
{
	const char *copy = arena_strdup(types->arena, name, strlen(name));

	if (!copy || vec_push(&types->named, (struct named_type){copy, type, is_found}))
		types->arena->failed = true;
}

const struct type *types_find(struct types *types, const char *name)
{
	struct named_type *named = find_named(types, name);
	const struct type *type = named ? named->type : types_builtin(name), *found = NULL;

	if (type && !(named && named->is_found) && !(type->kind == TYPE_RECORD && type->is_incomplete))
		return type;
	if (types->local)
		found = types->local->find(types->local->context, types, name);
	if (found)
		return found;
	if (type && named && named->is_found)
		return type;
	if (types->source.find) {
		found = types->source.find(types->source.context, types, name);
		/* Declared here by name only: what the source knows takes its place. */
		if (found && named)
			*named = (struct named_type){named->name, (struct type *)found, true};
		else if (found)
			add_named(types, name, (struct type *)found, true);
		if (found)
			return found;
	}
	return type;
}

struct type *types_declare(struct types *types, const char *name, bool is_union)
{
	const struct named_type *named = find_named(types, name);
	struct type *type;

	if (named && named->type->kind == TYPE_RECORD && named->type->is_incomplete)
		return named->type;
	type = arena_new(types->arena, struct type);
	name = arena_strdup(types->arena, name, strlen(name));
	if (!type || !name)
		return NULL;
	*type = (struct type){.kind = TYPE_RECORD,
			      .align = 1,
			      .name = strchr(name, ' ') ? strchr(name, ' ') + 1 : name,
			      .is_union = is_union,
			      .is_incomplete = true};
	add_named(types, name, type, false);
	return type;
}

void types_define(struct types *types, const char *name, const struct type *type)
{
	struct named_type *named = find_named(types, name);

	if (named)
		*named = (struct named_type){named->name, (struct type *)type, false};
	else
		add_named(types, name, (struct type *)type, false);
}

void types_define_constant(struct types *types, const char *name, int64_t value, const struct type *type)
{
	if (vec_push(&types->constants, (struct named_constant){name, value, type}))
		types->arena->failed = true;
}

/* An enum's constant, as 64 bits. */
static struct named_constant *ask_source(struct types *types, const struct types_source *source, const char *name)
{
	struct named_constant *found;
	const struct type *type;
	struct type *wide;
	int64_t value;

	type = source->find_constant ? source->find_constant(source->context, types, name, &value) : NULL;
	wide = type ? arena_new(types->arena, struct type) : NULL;
	if (!wide)
		return NULL;
	*wide = *type;
	wide->size = wide->align = 8;
	found = arena_new(types->arena, struct named_constant);
	if (found)
		*found = (struct named_constant){name, value, wide};
	return found;
}

const struct named_constant *types_constant(struct types *types, const char *name)
{
	struct named_constant *found;
	int64_t value;
	size_t i;

	for (i = types->constants.count; i-- > 0;)
		if (!strcmp(types->constants.at[i].name, name))
			return &types->constants.at[i];
	/* Numbers of system calls and of errors are macros, which BTF does not have. */
	if (!strncmp(name, "__NR_", 5) && (value = syscall_number(name + 5)) >= 0) {
		types_define_constant(types, name, value, type_of_number((uint64_t)value, false));
		return types->constants.count ? &types->constants.at[types->constants.count - 1] : NULL;
	}
	for (i = 1; *name == 'E' && i < 134; i++) {
		const char *error = strerrorname_np((int)i);

		if (error && !strcmp(error, name)) {
			types_define_constant(types, name, (int64_t)i, type_of_number(i, false));
			return types->constants.count ? &types->constants.at[types->constants.count - 1] : NULL;
		}
	}
	found = types->local ? ask_source(types, types->local, name) : NULL;
	if (found)
		return found;
	found = ask_source(types, &types->source, name);
	if (found)
		types_define_constant(types, name, found->value, found->type);
	return found;
}

bool types_complete(struct types *types, const struct type *record)
{
	const struct types_source *source = record->source ? record->source : &types->source;

	if (record->kind != TYPE_RECORD || !record->is_incomplete)
		return record->kind == TYPE_RECORD;
	return source->complete && source->complete(source->context, types, (struct type *)record);
}

static bool find_field(struct types *types, const struct type *record, const char *name, struct type_field *ret,
		       unsigned int depth)
{
	uint32_t i;

	if (depth > 8 || !types_complete(types, record))
		return false;
	for (i = 0; i < record->field_count; i++) {
		const struct type_field *field = &record->fields[i];

		if (field->name && *field->name) {
			if (strcmp(field->name, name))
				continue;
			*ret = *field;
			return true;
		}
		if (field->type->kind == TYPE_RECORD && find_field(types, field->type, name, ret, depth + 1)) {
			ret->offset += field->offset;
			return true;
		}
	}
	return false;
}

bool types_field(struct types *types, const struct type *record, const char *name, struct type_field *ret)
{
	return find_field(types, record, name, ret, 0);
}
