// SPDX-License-Identifier: GPL-2.0-or-later
/* Types as they are written, and what is made of them: casts, sizeof, offsetof. */
#include <string.h>

#include "lang/dialect/bpftrace/builtin/builtin.h"
#include "lang/dialect/bpftrace/check/expressions.h"

static const struct type *apply_suffixes(struct compiler *c, const struct type_name *name, const struct type *type)
{
	uint32_t i = 0;

	/* Of these types the number is the room, and makes no array. */
	if (name->suffix_count && name->suffixes[0].kind == '[' && type->kind == TYPE_STRING) {
		type = type_string(c->arena, name->suffixes[0].count);
		i = 1;
	} else if (name->suffix_count && name->suffixes[0].kind == '[' && type->kind == TYPE_BUFFER) {
		type = type_buffer(c->arena, name->suffixes[0].count);
		i = 1;
	} else if (name->suffix_count && name->suffixes[0].kind == '[' && type->kind == TYPE_INET) {
		i = 1;
	}
	for (; i < name->suffix_count; i++)
		type = name->suffixes[i].kind == '*' ? type_pointer(c->arena, type)
						     : type_array(c->arena, type, name->suffixes[i].count);
	return type;
}

static const struct type *find_type(struct compiler *c, const char *name)
{
	uint32_t most = (uint32_t)c->numbers[SETTING_MAX_STRLEN];

	if (!strcmp(name, "string"))
		return type_string(c->arena, most);
	if (!strcmp(name, "buffer"))
		return type_buffer(c->arena, most);
	if (!strcmp(name, "inet"))
		return &type_inet;
	if (!strcmp(name, "username_t"))
		return &type_user;
	return types_find(&c->types, name);
}

const struct type *check_type_name(struct compiler *c, const struct type_name *name)
{
	const struct type *type;

	if (!name)
		return &type_none;
	if (name->of)
		return apply_suffixes(c, name, check_type_of(c, name->of));
	type = find_type(c, name->name);
	if (!type || (type->kind == TYPE_RECORD && type->is_incomplete && !name->suffix_count &&
		      !types_complete(&c->types, type))) {
		report_error(c->report, "type.unknown", name->span, "Cannot resolve unknown type \"%s\"", name->name);
		report_hint(c->report,
			    "declare it at the beginning of the script, or use a type of the kernel, or in a "
			    "uprobe one of the binary's debug information");
		return &type_none;
	}
	return apply_suffixes(c, name, type);
}

/* Of a name that no builtin has, the type; NULL: there is none. */
static const struct type *type_of_name(struct compiler *c, const struct ast *node)
{
	return node->kind == AST_NAME && !builtin_find(node->text) ? find_type(c, node->text) : NULL;
}

/* The parser knows the script's types only; of others, a name alone, or with a number behind, is an expression to it.
 */
const struct type *check_type_of(struct compiler *c, struct ast *node)
{
	const struct type *type;

	if (node->kind == AST_TYPE)
		return check_type_name(c, node->type_name);
	type = type_of_name(c, node);
	if (type)
		return type;
	if (node->kind == AST_INDEX && node->kids[1]->kind == AST_INT && node->kids[1]->value <= UINT16_MAX) {
		type = type_of_name(c, node->kids[0]);
		if (type)
			return type_array(c->arena, type, (uint32_t)node->kids[1]->value);
	}
	return check_value(c, node);
}

/* --- casts --- */

/* A cast of an address to one of these reads what is there, as the function does: (string[16])arg0 is str(arg0, 16). */
static const struct {
	enum type_kind kind;
	const char *function;
	bool has_length, needs_length;
} readers[] = {
	{TYPE_STRING, "str", true, false},
	{TYPE_BUFFER, "buf", true, true},
	{TYPE_INET, "ntop", false, false},
};

/* The function that makes a value of this type of the operand; -1: none. A number in the script is no address. */
static int find_reader(const struct type *to, const struct ast *operand)
{
	const struct type *from = operand->type;
	int i;

	for (i = 0; i < (int)(sizeof(readers) / sizeof(readers[0])); i++)
		if (readers[i].kind == to->kind)
			break;
	if (i == sizeof(readers) / sizeof(readers[0]) || from->kind == to->kind)
		return -1;
	if (to->kind == TYPE_INET)
		return from->kind == TYPE_INT || from->kind == TYPE_ARRAY ? i : -1;
	if (from->kind == TYPE_STRING)
		return to->kind == TYPE_BUFFER ? i : -1;
	return (from->kind == TYPE_INT && operand->kind != AST_INT) || from->kind == TYPE_POINTER ||
			       from->kind == TYPE_ARRAY
		       ? i
		       : -1;
}

static const struct type *become_reader(struct compiler *c, struct ast *node, const struct type *to, int reader)
{
	const struct type_name *name = node->type_name;
	uint32_t length = name->suffix_count ? name->suffixes[0].count : 0;
	struct ast *call;

	if (!length && (readers[reader].needs_length || name->of))
		length = to->kind == TYPE_STRING ? to->count : to->size - (uint32_t)sizeof(uint32_t);
	call = ast_create(c->arena, AST_CALL, node->span, length && readers[reader].has_length ? 2 : 1);
	if (c->arena->failed)
		return &type_none;
	call->text = readers[reader].function;
	call->expanded = node->expanded;
	call->kids[0] = node->kids[0];
	if (call->kid_count > 1) {
		call->kids[1] = ast_create(c->arena, AST_INT, name->span, 0);
		call->kids[1]->value = length;
	}
	*node = *call;
	return check_value(c, node);
}

/* Bytes that a cast to another type takes. */
static uint32_t cast_size(const struct type *type)
{
	return type->kind == TYPE_STRING ? type->count : type->size;
}

/* Between arrays and numbers all bytes are taken; a number may be narrower than the array. */
static bool can_cast(const struct type *to, const struct type *from)
{
	bool same = cast_size(to) == cast_size(from);

	if (type_is_scalar(from))
		return type_is_scalar(to) || (to->kind == TYPE_USER && from->kind == TYPE_INT) ||
		       (to->kind == TYPE_ARRAY && (same || (to->size <= 8 && to->size > from->size)));
	if (to->kind == TYPE_BOOL && from->kind == TYPE_STRING)
		return true;
	if (from->kind == TYPE_ARRAY || from->kind == TYPE_STRING)
		return to->kind == from->kind ||
		       (same && (type_is_scalar(to) || to->kind == TYPE_ARRAY) && to->kind != TYPE_BOOL);
	return to->kind == from->kind;
}

/* The array that is as long as what is cast. */
static const struct type *fitting_array(struct compiler *c, const struct type *to, const struct ast *operand)
{
	uint32_t bytes = operand->kind == AST_INT ? 8 : cast_size(operand->type);

	return type_array(c->arena, to->to, bytes / to->to->size);
}

const struct type *check_cast(struct compiler *c, struct ast *node)
{
	const struct type *to = check_type_name(c, node->type_name), *from = check_value(c, node->kids[0]);
	int reader;

	if (type_is_aggregate(from) && check_number(c, node->kids[0]))
		from = node->kids[0]->type;
	if (to->kind == TYPE_NONE || from->kind == TYPE_NONE)
		return to;
	reader = find_reader(to, node->kids[0]);
	if (reader >= 0)
		return become_reader(c, node, to, reader);
	if (to->kind == TYPE_ARRAY && !to->count && to->to->size)
		to = fitting_array(c, to, node->kids[0]);
	if (can_cast(to, from))
		return to;
	report_error(c->report, "type.cast", node->span, "Cannot cast from '%s' to '%s'", type_describe(c->arena, from),
		     type_describe(c->arena, to));
	if (to->kind == TYPE_ARRAY || from->kind == TYPE_ARRAY)
		report_hint(c->report, "they have %u and %u bytes", cast_size(from), cast_size(to));
	return to;
}

/* --- sizeof, offsetof --- */

static const struct type *type_asked_for(struct compiler *c, struct ast *node)
{
	return node->type_name ? check_type_name(c, node->type_name) : check_type_of(c, node->kids[0]);
}

const struct type *check_sizeof(struct compiler *c, struct ast *node)
{
	const struct type *type = type_asked_for(c, node);

	if (type->kind == TYPE_RECORD)
		types_complete(&c->types, type);
	/* The type of an expression may still grow. */
	if (!checker(c)->final && (!node->type_name || node->type_name->of))
		return &type_uint64;
	return check_become_int(node, type->kind == TYPE_STRING ? type->count : type->size, &type_uint64);
}

const struct type *check_offsetof(struct compiler *c, struct ast *node)
{
	const struct type *type = type_asked_for(c, node);
	char *path = arena_strdup(c->arena, node->text, strlen(node->text)), *name;
	uint32_t offset = 0;

	while (path && (name = strsep(&path, "."))) {
		struct type_field field;

		if (type->kind != TYPE_RECORD || !types_field(&c->types, type, name, &field)) {
			report_error(c->report, "type.field", node->span, "%s has no field named '%s'",
				     type_describe(c->arena, type), name);
			return &type_none;
		}
		offset += field.offset;
		type = field.type;
	}
	return check_become_int(node, offset, &type_uint64);
}
