// SPDX-License-Identifier: GPL-2.0-or-later
#include "lang/provider/usdt_arguments.h"

#include <stdlib.h>
#include <string.h>

static bool parse(const char *at, struct usdt_argument *ret)
{
	char *end;
	long size = strtol(at, &end, 10);

	*ret = (struct usdt_argument){.is_signed = size < 0, .size = (uint32_t)labs(size)};
	if (end == at || *end != '@' || (ret->size != 1 && ret->size != 2 && ret->size != 4 && ret->size != 8))
		return false;
	at = end + 1;
	if (!arch_here()->usdt_operand(at, &ret->operand))
		return false;
	if (ret->operand.kind == ARCH_CONSTANT && !ret->is_signed && ret->size < 8)
		ret->operand.value &= (1ll << (8 * ret->size)) - 1;
	return true;
}

bool usdt_argument_parse(const char *spec, unsigned int index, struct usdt_argument *ret)
{
	const char *at = spec;
	bool is_inside = false; /* brackets, with blanks in them */

	while (*at == ' ')
		at++;
	for (; index && *at; index--) {
		for (; *at && (*at != ' ' || is_inside); at++)
			is_inside = *at == '[' || (is_inside && *at != ']');
		while (*at == ' ')
			at++;
	}
	return *at && parse(at, ret);
}
