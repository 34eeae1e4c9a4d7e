// SPDX-License-Identifier: GPL-2.0-or-later
/* Operands of static markers, as gcc and clang write those of AArch64 assembly: "x0", "w1", "[sp, 12]", "[x0]", "5". */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "arch/aarch64/parts.h"

static bool find_register(const char **text, uint16_t *offset)
{
	const struct arch_register *found;
	char name[8] = "";
	size_t length = 0;

	while (isalnum((unsigned char)(*text)[length]))
		length++;
	if (!length || length >= sizeof(name))
		return false;
	memcpy(name, *text, length);
	if (name[0] == 'w')
		name[0] = name[1] == 's' ? ' ' : 'x'; /* wsp is nowhere */
	found = arch_register_named(&aarch64, name);
	if (!found || found->number >= 32)
		return false;
	*offset = found->context;
	*text += length;
	return true;
}

static const char *skip_blanks(const char *text)
{
	while (*text == ' ')
		text++;
	return text;
}

/* [BASE], [BASE, OFFSET] */
static bool memory(const char *at, struct arch_operand *ret)
{
	char *end;

	ret->kind = ARCH_MEMORY;
	at = skip_blanks(at);
	if (!find_register(&at, &ret->base))
		return false;
	at = skip_blanks(at);
	if (*at == ',') {
		at = skip_blanks(at + 1);
		at += *at == '#';
		ret->value = strtoll(at, &end, 10);
		if (end == at)
			return false;
		at = skip_blanks(end);
	}
	return *at == ']';
}

bool aarch64_usdt_operand(const char *text, struct arch_operand *ret)
{
	char *end;

	*ret = (struct arch_operand){};
	if (*text == '[')
		return memory(text + 1, ret);
	if (*text == '-' || isdigit((unsigned char)*text)) {
		ret->kind = ARCH_CONSTANT;
		ret->value = strtoll(text, &end, 10);
		return end != text;
	}
	ret->kind = ARCH_REGISTER;
	return find_register(&text, &ret->base) && (!*text || *text == ' ');
}
