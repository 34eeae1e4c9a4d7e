// SPDX-License-Identifier: GPL-2.0-or-later
/* Addresses of the network: printed, and made from text. */
#include <arpa/inet.h>
#include <string.h>

#include "lang/dialect/bpftrace/builtin/builtin.h"

/* The bytes of an array, of which check_value() makes a string where C calls them char. */
static const struct type *bytes_of(struct compiler *c, struct ast *node)
{
	const struct type *type = check_value(c, node);

	if (node->kind == AST_FIELD && node->field && node->field->type->kind == TYPE_ARRAY)
		node->type = type = node->field->type;
	return type;
}

static const struct type *check_ntop(struct compiler *c, struct ast *call)
{
	struct ast *address = call->kids[call->kid_count - 1];
	const struct type *type = bytes_of(c, address);

	if (call->kid_count > 1) {
		check_value(c, call->kids[0]);
		check_number(c, call->kids[0]);
	}
	if (type->kind != TYPE_INT && (type->kind != TYPE_ARRAY || (type->size != 4 && type->size != INET_BYTES)) &&
	    !(type->kind == TYPE_NONE && !checker(c)->final)) {
		report_error(c->report, "type.address", address->span,
			     "ntop() expects an integer or an array of 4 or 16 bytes, and this is of type '%s'",
			     type_describe(c->arena, type));
		report_hint(c->report, "usage: %s", call->builtin->usage);
	}
	return &type_inet;
}

static const struct type *check_pton(struct compiler *c, struct ast *call)
{
	const char *text = check_literal_text(c, call->kids[0], "the address");
	uint8_t bytes[INET_BYTES];
	bool is_six = text && strchr(text, ':');

	call->literal = text;

	if (text && inet_pton(is_six ? AF_INET6 : AF_INET, text, bytes) != 1)
		report_error(c->report, "pton.address", call->kids[0]->span,
			     "pton() expects an IPv4 or IPv6 address, and %s is none", text);
	return type_array(c->arena, &type_uint8, is_six ? INET_BYTES : 4);
}

static const struct type *check_macaddr(struct compiler *c, struct ast *call)
{
	const struct type *type = bytes_of(c, call->kids[0]);

	if (type->kind != TYPE_POINTER && type->kind != TYPE_INT &&
	    (type->kind != TYPE_ARRAY || type->size != type_mac.size) &&
	    !(type->kind == TYPE_NONE && !checker(c)->final)) {
		report_error(c->report, "type.address", call->kids[0]->span,
			     "macaddr() expects an array of 6 bytes or a pointer, and this is of type '%s'",
			     type_describe(c->arena, type));
		report_hint(c->report, "usage: %s", call->builtin->usage);
	}
	return &type_mac;
}

const struct builtin builtins_net[] = {
	{"ntop", 1, 2, 0, check_ntop, CORE_NTOP, 0, "ntop([FAMILY,] ADDRESS)"},
	{"pton", 1, 1, 0, check_pton, CORE_PTON, OPERANDS_NONE, "pton(TEXT)"},
	{"macaddr", 1, 1, 0, check_macaddr, CORE_MACADDR, 0, "macaddr(ARRAY or POINTER)"},
	{},
};
