// SPDX-License-Identifier: GPL-2.0-or-later
/* Addresses of the network: printed, and made from text. */
#include <arpa/inet.h>

#include "lang/builtin/builtin.h"
#define INET_OFFSET 8

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

static void place_pton(struct gen *g, const struct node *call, uint32_t offset)
{
	uint32_t words[INET_BYTES / 4] = {}, i;

	inet_pton(call->type->size == INET_BYTES ? AF_INET6 : AF_INET, call->text, words);
	for (i = 0; i < call->type->size / 4; i++)
		gen_frame_store_imm(g, 4, offset + 4 * i, (int32_t)words[i]);
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

const struct builtin_code codes_net[] = {
	{CORE_NTOP, .place = place_ntop},
	{CORE_PTON, .place = place_pton},
	{CORE_MACADDR, .place = place_macaddr},
	{},
};
