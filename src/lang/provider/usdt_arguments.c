// SPDX-License-Identifier: GPL-2.0-or-later
#include "lang/provider/usdt_arguments.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* Names of each register in its widths, and its place in struct pt_regs. */
static const struct {
	const char *names[5]; /* 64, 32, 16, 8 bits, the high byte */
	uint16_t offset;
} registers[] = {
	{{"rax", "eax", "ax", "al", "ah"}, 80},
	{{"rbx", "ebx", "bx", "bl", "bh"}, 40},
	{{"rcx", "ecx", "cx", "cl", "ch"}, 88},
	{{"rdx", "edx", "dx", "dl", "dh"}, 96},
	{{"rsi", "esi", "si", "sil"}, 104},
	{{"rdi", "edi", "di", "dil"}, 112},
	{{"rbp", "ebp", "bp", "bpl"}, 32},
	{{"rsp", "esp", "sp", "spl"}, 152},
	{{"r8", "r8d", "r8w", "r8b"}, 72},
	{{"r9", "r9d", "r9w", "r9b"}, 64},
	{{"r10", "r10d", "r10w", "r10b"}, 56},
	{{"r11", "r11d", "r11w", "r11b"}, 48},
	{{"r12", "r12d", "r12w", "r12b"}, 24},
	{{"r13", "r13d", "r13w", "r13b"}, 16},
	{{"r14", "r14d", "r14w", "r14b"}, 8},
	{{"r15", "r15d", "r15w", "r15b"}, 0},
	{{"rip", "eip", "ip"}, 128},
};

static bool find_register(const char **text, uint16_t *offset, uint16_t *shift)
{
	const char *begin = *text + 1, *end = begin;
	size_t i, j;

	if (**text != '%')
		return false;
	while (isalnum((unsigned char)*end))
		end++;
	for (i = 0; i < sizeof(registers) / sizeof(registers[0]); i++) {
		for (j = 0; j < 5 && registers[i].names[j]; j++) {
			const char *name = registers[i].names[j];

			if (strlen(name) != (size_t)(end - begin) || strncmp(name, begin, strlen(name)))
				continue;
			*offset = registers[i].offset;
			if (shift)
				*shift = j == 4 ? 8 : 0;
			*text = end;
			return true;
		}
	}
	return false;
}

/* OFFSET(%BASE,%INDEX,SCALE) */
static bool memory(const char *at, struct usdt_argument *ret)
{
	char *end;

	ret->kind = USDT_MEMORY;
	ret->value = strtoll(at, &end, 10);
	at = end;
	if (*at++ != '(' || !find_register(&at, &ret->register_offset, NULL))
		return false;
	if (*at == ',') {
		at++;
		ret->has_index = true;
		ret->scale = 1;
		if (!find_register(&at, &ret->index_offset, NULL))
			return false;
		if (*at == ',') {
			ret->scale = (uint32_t)strtoul(at + 1, &end, 10);
			at = end;
		}
	}
	return *at == ')';
}

static bool parse(const char *at, struct usdt_argument *ret)
{
	char *end;
	long size = strtol(at, &end, 10);

	*ret = (struct usdt_argument){.is_signed = size < 0, .size = (uint32_t)labs(size)};
	if (end == at || *end != '@' || (ret->size != 1 && ret->size != 2 && ret->size != 4 && ret->size != 8))
		return false;
	at = end + 1;
	if (*at == '$') {
		ret->kind = USDT_CONSTANT;
		ret->value = strtoll(at + 1, &end, 10);
		if (!ret->is_signed && ret->size < 8)
			ret->value &= (1ll << (8 * ret->size)) - 1;
		return end != at + 1;
	}
	if (*at == '%') {
		ret->kind = USDT_REGISTER;
		return find_register(&at, &ret->register_offset, &ret->shift) && (!*at || *at == ' ');
	}
	return memory(at, ret);
}

bool usdt_argument_parse(const char *spec, unsigned int index, struct usdt_argument *ret)
{
	const char *at = spec;

	while (*at == ' ')
		at++;
	for (; index && *at; index--) {
		while (*at && *at != ' ')
			at++;
		while (*at == ' ')
			at++;
	}
	return *at && parse(at, ret);
}
