// SPDX-License-Identifier: GPL-2.0-or-later
/* Addresses of the network: printed, and made from text. */
#include <arpa/inet.h>
#include <string.h>

#include "lang/builtin/builtin.h"

#define INET_BYTES  16 /* of the address, behind the family's 8 */
#define INET_OFFSET 8

/* The bytes of an array, of which check_value() makes a string where C calls them char. */
static const struct type *bytes_of(struct compiler *c, struct node *node)
{
	const struct type *type = check_value(c, node);

	if (node->kind == NODE_FIELD && node->field && node->field->type->kind == TYPE_ARRAY)
		node->type = type = node->field->type;
	return type;
}

static const struct type *check_ntop(struct compiler *c, struct node *call)
{
	struct node *address = call->kids[call->kid_count - 1];
	const struct type *type = bytes_of(c, address);

	if (call->kid_count > 1) {
		check_value(c, call->kids[0]);
		check_number(c, call->kids[0]);
	}
	if (type->kind != TYPE_INT && (type->kind != TYPE_ARRAY || (type->size != 4 && type->size != INET_BYTES)) &&
	    !(type->kind == TYPE_NONE && !c->final)) {
		report_error(c->report, "type.address", address->span,
			     "ntop() expects an integer or an array of 4 or 16 bytes, and this is of type '%s'",
			     type_describe(c->arena, type));
		report_hint(c->report, "usage: %s", call->builtin->usage);
	}
	return &type_inet;
}

static void place_ntop(struct gen *g, const struct node *call, uint32_t offset)
{
	const struct node *address = call->kids[call->kid_count - 1];

	gen_zero(g, offset, type_inet.size);
	if (address->type->kind == TYPE_INT) {
		gen_scalar(g, address);
		gen_frame_store(g, 4, offset + INET_OFFSET, R0);
	} else {
		gen_into(g, address, address->type, offset + INET_OFFSET);
	}
	if (call->kid_count > 1)
		gen_scalar(g, call->kids[0]);
	else
		code_imm(g->code, R0, address->type->size == INET_BYTES ? AF_INET6 : AF_INET);
	gen_frame_store(g, 8, offset, R0);
}

static const struct type *check_pton(struct compiler *c, struct node *call)
{
	const char *text = check_literal_text(c, call->kids[0], "the address");
	uint8_t bytes[INET_BYTES];
	bool is_six = text && strchr(text, ':');

	if (text && inet_pton(is_six ? AF_INET6 : AF_INET, text, bytes) != 1)
		report_error(c->report, "pton.address", call->kids[0]->span,
			     "pton() expects an IPv4 or IPv6 address, and %s is none", text);
	return type_array(c->arena, &type_uint8, is_six ? INET_BYTES : 4);
}

static void place_pton(struct gen *g, const struct node *call, uint32_t offset)
{
	const struct node *literal = call->kids[0]->kind == NODE_STRING ? call->kids[0] : call->kids[0]->kids[0];
	uint32_t words[INET_BYTES / 4] = {}, i;

	inet_pton(call->type->size == INET_BYTES ? AF_INET6 : AF_INET, literal->text, words);
	for (i = 0; i < call->type->size / 4; i++)
		gen_frame_store_imm(g, 4, offset + 4 * i, (int32_t)words[i]);
}

static const struct type *check_macaddr(struct compiler *c, struct node *call)
{
	const struct type *type = bytes_of(c, call->kids[0]);

	if (type->kind != TYPE_POINTER && type->kind != TYPE_INT &&
	    (type->kind != TYPE_ARRAY || type->size != type_mac.size) && !(type->kind == TYPE_NONE && !c->final)) {
		report_error(c->report, "type.address", call->kids[0]->span,
			     "macaddr() expects an array of 6 bytes or a pointer, and this is of type '%s'",
			     type_describe(c->arena, type));
		report_hint(c->report, "usage: %s", call->builtin->usage);
	}
	return &type_mac;
}

static void place_macaddr(struct gen *g, const struct node *call, uint32_t offset)
{
	const struct node *address = call->kids[0];

	if (address->type->kind == TYPE_ARRAY) {
		gen_into(g, address, address->type, offset);
	} else {
		gen_scalar(g, address);
		gen_read(g, call->span, offset, type_mac.size);
	}
}

const struct builtin builtins_net[] = {
	{"ntop", 1, 2, 0, check_ntop, NULL, place_ntop, "ntop([FAMILY,] ADDRESS)"},
	{"pton", 1, 1, 0, check_pton, NULL, place_pton, "pton(TEXT)"},
	{"macaddr", 1, 1, 0, check_macaddr, NULL, place_macaddr, "macaddr(ARRAY or POINTER)"},
	{},
};
