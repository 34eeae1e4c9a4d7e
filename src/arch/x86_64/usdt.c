// SPDX-License-Identifier: GPL-2.0-or-later
/* Operands of static markers, as gcc writes those of x86-64 assembly (AT&T). */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "arch/x86_64/parts.h"

/* Names of each register in its widths: 64, 32, 16, 8 bits, the high byte. By DWARF's numbers. */
static const char *const names[][5] = {
	{"rax", "eax", "ax", "al", "ah"},
	{"rdx", "edx", "dx", "dl", "dh"},
	{"rcx", "ecx", "cx", "cl", "ch"},
	{"rbx", "ebx", "bx", "bl", "bh"},
	{"rsi", "esi", "si", "sil"},
	{"rdi", "edi", "di", "dil"},
	{"rbp", "ebp", "bp", "bpl"},
	{"rsp", "esp", "sp", "spl"},
	{"r8", "r8d", "r8w", "r8b"},
	{"r9", "r9d", "r9w", "r9b"},
	{"r10", "r10d", "r10w", "r10b"},
	{"r11", "r11d", "r11w", "r11b"},
	{"r12", "r12d", "r12w", "r12b"},
	{"r13", "r13d", "r13w", "r13b"},
	{"r14", "r14d", "r14w", "r14b"},
	{"r15", "r15d", "r15w", "r15b"},
	{"rip", "eip", "ip"},
};

static bool find_register(const char **text, uint16_t *offset, uint16_t *shift)
{
	const char *begin = *text + 1, *end = begin;
	size_t i, j;

	if (**text != '%')
		return false;
	while (isalnum((unsigned char)*end))
		end++;
	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		for (j = 0; j < 5 && names[i][j]; j++) {
			const char *name = names[i][j];

			if (strlen(name) != (size_t)(end - begin) || strncmp(name, begin, strlen(name)))
				continue;
			*offset = arch_register_numbered(&x86_64, (unsigned int)i)->context;
			if (shift)
				*shift = j == 4 ? 8 : 0;
			*text = end;
			return true;
		}
	}
	return false;
}

/* OFFSET(%BASE,%INDEX,SCALE) */
static bool memory(const char *at, struct arch_operand *ret)
{
	char *end;

	ret->kind = ARCH_MEMORY;
	ret->value = strtoll(at, &end, 10);
	at = end;
	if (*at++ != '(' || !find_register(&at, &ret->base, NULL))
		return false;
	if (*at == ',') {
		at++;
		ret->has_index = true;
		ret->scale = 1;
		if (!find_register(&at, &ret->index, NULL))
			return false;
		if (*at == ',') {
			ret->scale = (uint32_t)strtoul(at + 1, &end, 10);
			at = end;
		}
	}
	return *at == ')';
}

bool x86_64_usdt_operand(const char *text, struct arch_operand *ret)
{
	char *end;

	*ret = (struct arch_operand){};
	if (*text == '$') {
		ret->kind = ARCH_CONSTANT;
		ret->value = strtoll(text + 1, &end, 10);
		return end != text + 1;
	}
	if (*text == '%') {
		ret->kind = ARCH_REGISTER;
		return find_register(&text, &ret->base, &ret->shift) && (!*text || *text == ' ');
	}
	return memory(text, ret);
}
