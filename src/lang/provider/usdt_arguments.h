/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * usdt_arguments: parses where the arguments of a static marker are, from its note: words like "-4@%eax", "8@-8(%rbp)",
 * "8@-16(%rax,%rcx,8)", "4@$7". SystemTap's sys/sdt.h writes them, in the syntax of the machine's assembler
 * (arch/NAME/usdt.c).
 */
#ifndef STRATA_LANG_PROVIDER_USDT_ARGUMENTS_H
#define STRATA_LANG_PROVIDER_USDT_ARGUMENTS_H

#include "arch/arch.h"

struct usdt_argument {
	struct arch_operand operand;
	uint32_t size; /* bytes */
	bool is_signed;
};

/* Argument number `index`; false when there is none or it is not understood. */
bool usdt_argument_parse(const char *spec, unsigned int index, struct usdt_argument *ret);

#endif
