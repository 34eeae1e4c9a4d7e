/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * usdt_arguments: where a static marker's arguments are, as its note describes them: words like "-4@%eax",
 * "8@-8(%rbp)", "8@-16(%rax,%rcx,8)", "4@$7". SystemTap's sys/sdt.h writes them, in the assembler's syntax of the
 * machine: x86-64's here.
 */
#ifndef STRATA_LANG_PROVIDER_USDT_ARGUMENTS_H
#define STRATA_LANG_PROVIDER_USDT_ARGUMENTS_H

#include <stdbool.h>
#include <stdint.h>

enum usdt_kind { USDT_CONSTANT, USDT_REGISTER, USDT_MEMORY };

struct usdt_argument {
	enum usdt_kind kind;
	uint32_t size; /* bytes */
	bool is_signed;
	int64_t value;            /* the constant, or what is added to the register */
	uint16_t register_offset; /* in struct pt_regs */
	uint16_t shift;           /* 8 for %ah and its like */
	bool has_index;
	uint16_t index_offset;
	uint32_t scale;
};

/* Argument number `index`; false when there is none or it is not understood. */
bool usdt_argument_parse(const char *spec, unsigned int index, struct usdt_argument *ret);

#endif
