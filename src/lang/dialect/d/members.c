// SPDX-License-Identifier: GPL-2.0-or-later
/* D's types by name, members of structs, and what is known of both without running. */
#include <string.h>

#include "lang/dialect/d/d.h"

/* --- types --- */

const struct type *d_string_type(struct compiler *c)
{
	return type_string(c->arena, (uint32_t)d_state(c)->options[D_STRSIZE] + 1);
}

/* Declarations may have it, and nothing else: D does not calculate with it. */
static const struct type floating[] = {{.kind = TYPE_RECORD, .size = 4, .align = 4, .name = "float"},
				       {.kind = TYPE_RECORD, .size = 8, .align = 8, .name = "double"},
				       {.kind = TYPE_RECORD, .size = 16, .align = 16, .name = "long double"}};

#define FLOATING (sizeof(floating) / sizeof(floating[0]))

bool d_is_floating(const struct type *type)
{
	return type >= floating && type < floating + FLOATING;
}

const struct type *d_type(struct compiler *c, const char *name, struct span span)
{
	/* D's own names, and those of C that BTF does not have. */
	static const struct {
		const char *name;
		const struct type *type;
	} known[] = {
		{"char", &type_int8},        {"int8_t", &type_int8},      {"uint8_t", &type_uint8},
		{"uchar_t", &type_uint8},    {"int16_t", &type_int16},    {"uint16_t", &type_uint16},
		{"ushort_t", &type_uint16},  {"int32_t", &type_int32},    {"uint32_t", &type_uint32},
		{"uint_t", &type_uint32},    {"int64_t", &type_int64},    {"uint64_t", &type_uint64},
		{"ulong_t", &type_uint64},   {"longlong_t", &type_int64}, {"u_longlong_t", &type_uint64},
		{"size_t", &type_uint64},    {"ssize_t", &type_int64},    {"intptr_t", &type_int64},
		{"uintptr_t", &type_uint64}, {"pid_t", &type_int32},      {"id_t", &type_int32},
		{"uid_t", &type_uint32},     {"gid_t", &type_uint32},     {"hrtime_t", &type_int64},
		{"ptrdiff_t", &type_int64},  {"off_t", &type_int64},      {"_Bool", &type_uint8},
		{"time_t", &type_int64},     {"ipaddr_t", &type_uint32},  {"in_addr_t", &type_uint32},
		{"processorid_t", &type_int32}, {"psetid_t", &type_int32}, {"chipid_t", &type_int32},
		{"lgrp_id_t", &type_int32},  {"taskid_t", &type_int32},   {"dprojid_t", &type_int32},
		{"poolid_t", &type_int32},   {"zoneid_t", &type_int32},
	};
	const struct type *type = NULL;
	const char *mark = strchr(name, '`'), *word = strrchr(name, ' ');
	uint32_t i;

	/* struct D`s, vmlinux`pid_t: all types are in one space here. */
	if (mark)
		name = arena_printf(c->arena, "%.*s%s", word && word < mark ? (int)(word + 1 - name) : 0, name,
				    mark + 1);
	if (!name)
		return &type_int32;
	if (!strcmp(name, "string"))
		return d_string_type(c);
	if (!strcmp(name, "void"))
		return &type_none;
	for (i = 0; i < FLOATING; i++)
		if (!strcmp(floating[i].name, name))
			return &floating[i];
	if (!strcmp(name, "in6_addr_t"))
		type = types_find(&c->types, "struct in6_addr");
	for (i = 0; !type && i < sizeof(known) / sizeof(known[0]); i++)
		if (!strcmp(known[i].name, name))
			type = known[i].type;
	if (!type)
		type = types_find(&c->types, name);
	if (!type)
		type = d_library_type(c, name);
	if (!type && (!strncmp(name, "struct ", 7) || !strncmp(name, "union ", 6)))
		type = types_declare(&c->types, name, *name == 'u');
	if (!type) {
		/* As in dtrace, whose grammar takes a lone name for a type only if it is one. */
		report_error(c->report, strchr(name, ' ') ? "D_TYPE_ERR" : "D_SYNTAX", span,
			     "failed to resolve type %s: Type not found", name);
		report_hint(c->report, "the kernel's types are known if it has BTF (/sys/kernel/btf/vmlinux)");
		return &type_int32;
	}
	return type;
}

/* --- members --- */

/* Of a record, or where a pointer to one points. */
static struct node *member(struct compiler *c, struct node *of, const char *name, struct span span)
{
	const struct type *record = of->type->kind == TYPE_POINTER ? of->type->to : of->type;
	struct type_field *field = arena_new(c->arena, struct type_field);
	struct node *node = node_create(c->arena, NODE_FIELD, span, 1);

	if (c->arena->failed)
		return node;
	if (record->kind != TYPE_RECORD) {
		if (!c->report->errors)
			report_error(c->report, "D_OP_SOU", span,
				     "operator -> cannot be applied to pointer to type \"%s\"; must be applied to a "
				     "struct or union pointer",
				     d_type_name(c, record));
		return d_int(c, 0, &type_int32);
	}
	if (record->is_incomplete && !types_complete(&c->types, record)) {
		if (!c->report->errors)
			report_error(c->report, "D_OP_INCOMPLETE", span,
				     "operator %s cannot be applied to a forward declaration: no %s definition is "
				     "available",
				     of->type->kind == TYPE_POINTER ? "->" : ".", type_describe(c->arena, record));
		return d_int(c, 0, &type_int32);
	}
	if (!types_field(&c->types, record, name, field)) {
		if (!c->report->errors)
			report_error(c->report, "D_TYPE_MEMBER", span, "%s is not a member of %s", name,
				     type_describe(c->arena, record));
		return d_int(c, 0, &type_int32);
	}
	node->kids[0] = of;
	node->field = field;
	node->type = field->type;
	return node;
}

struct node *d_as_text(struct compiler *c, struct node *node)
{
	if (node->kind == NODE_UNARY && node->op == OP_DEREFERENCE && node->type->kind == TYPE_ARRAY &&
	    node->type->to->size == 1) {
		struct node *text = d_call(c, CORE_STR, d_string_type(c), node->span, 1);

		if (!c->arena->failed)
			text->kids[0] = node->kids[0];
		return text;
	}
	if (node->kind == NODE_FIELD && node->type->kind == TYPE_ARRAY && node->type->to->kind == TYPE_INT &&
	    node->type->to->size == 1 && node->type->count)
		node->type = type_string(c->arena, node->type->count);
	return node;
}

struct node *d_field(struct compiler *c, struct node *of, const char *name, struct span span)
{
	return d_as_text(c, member(c, of, name, span));
}

struct node *d_member(struct compiler *c, struct node *of, const struct d_expr *expr)
{
	bool is_pointer = of->type->kind == TYPE_POINTER;

	if (!c->report->errors && expr->is_arrow && !is_pointer)
		report_error(c->report, "D_OP_PTR", expr->span, "operator -> must be applied to a pointer");
	else if (!c->report->errors && !expr->is_arrow && is_pointer)
		report_error(c->report, "D_OP_SOU", expr->span,
			     "operator . cannot be applied to type \"struct %s *\"; must be applied to a struct or "
			     "union",
			     of->type->to->name ? of->type->to->name : "");
	return member(c, of, expr->text, expr->span);
}

struct node *d_size_of(struct compiler *c, const struct d_expr *expr)
{
	struct node *node = expr->kids[0] ? d_place(c, expr->kids[0]) : NULL;
	const struct type *type = node ? node->type : expr->type_name.type;

	if (type->is_incomplete)
		types_complete(&c->types, type);
	/* NULL is an int. */
	if (expr->kids[0] && expr->kids[0]->kind == D_VARIABLE && d_is_null(c, expr->kids[0]))
		return d_int(c, 4, &type_uint64);
	if (node && node->kind == NODE_FIELD && node->field->bit_size && !c->report->errors)
		report_error(c->report, "D_SIZEOF_BITFIELD", expr->span, "cannot apply sizeof to a bit-field");
	if ((type->kind == TYPE_NONE || (type->kind == TYPE_RECORD && type->is_incomplete)) && !c->report->errors)
		report_error(c->report, "D_SIZEOF_TYPE", expr->span,
			     "cannot apply sizeof to an operand of unknown size");
	/* The terminator of a string of the program does not count. */
	if (type->kind == TYPE_STRING && type->count == d_state(c)->options[D_STRSIZE] + 1)
		return d_int(c, (int64_t)d_state(c)->options[D_STRSIZE], &type_uint64);
	return d_int(c, type_bytes(type), &type_uint64);
}

struct node *d_offset_of(struct compiler *c, const struct d_expr *expr)
{
	const struct type *type = expr->type_name.type;
	struct type_field field = {};
	const char *tag = NULL, *what = "";

	if (type->kind != TYPE_RECORD || d_is_floating(type)) {
		tag = "D_OFFSETOF_TYPE";
		what = "offsetof operand must be a struct or union type";
	} else if (type->is_incomplete && !types_complete(&c->types, type)) {
		tag = "D_OFFSETOF_TYPE";
		what = "offsetof operand must be a struct or union type";
	} else if (!types_field(&c->types, type, expr->text, &field)) {
		report_error(c->report, "D_UNKNOWN", expr->span,
			     "failed to determine offset of %s: Member name not found", expr->text);
		return d_int(c, 0, &type_uint64);
	} else if (field.bit_size) {
		tag = "D_OFFSETOF_BITFIELD";
		what = "cannot take offset of a bit-field: ";
	}
	if (tag) {
		if (!c->report->errors)
			report_error(c->report, tag, expr->span, "%s%s", what, field.bit_size ? expr->text : "");
		return d_int(c, 0, &type_uint64);
	}
	return d_int(c, field.offset, &type_uint64);
}
